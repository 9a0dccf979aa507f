"""Sizes: a comment that GitHub refuses is no comment."""

from __future__ import annotations

import io
import re

import pytest
from report_samples import alloc, many

from stallscope.gates import evaluate, parse_condition
from stallscope.reporters.budgeted import Section, fit
from stallscope.reporters.gh_summary import MAX_BYTES, GithubSummaryReporter, already_written
from stallscope.reporters.markdown import MAX_CHARACTERS, MarkdownReporter, gate_headline


def rendered(made: MarkdownReporter | GithubSummaryReporter) -> str:
    out = io.StringIO()
    made.render(many(), out)
    return out.getvalue()


def test_comment_fits_and_says_what_it_left_out() -> None:
    text = rendered(MarkdownReporter())
    assert len(text) <= MAX_CHARACTERS
    assert "Left out to stay under 60,000 characters: evidence of findings" in text
    assert "ledgers of devices (8)" in text
    assert text.rstrip().endswith("Reproduce: `stallscope analyze many.sqlite`")


@pytest.mark.parametrize("limit", [2_000, 10_000, 30_000])
def test_smaller_limits_hold_and_keep_the_headline(limit: int) -> None:
    text = rendered(MarkdownReporter(limit=limit))
    assert len(text) <= limit
    assert "### stallscope: 8 GPUs wait 20.0 % of 100 ms each; 300 findings" in text


def test_sections_fall_from_the_bottom_only() -> None:
    sections = [Section("first", "a" * 40), Section("big", "b" * 400), Section("last", "c")]
    text = fit(sections, "end", 300)
    assert text.startswith("a" * 40)
    assert "b" not in text.replace("big", "")
    assert "Left out to stay under 300 characters: big, last." in text
    assert text.endswith("end")
    assert fit(sections, "end", 3_000) == "\n".join(["a" * 40, "b" * 400, "c", "end"])


def test_summary_leaves_room_for_what_other_steps_wrote() -> None:
    text = rendered(GithubSummaryReporter(written_bytes=MAX_BYTES - 20_000))
    assert len(text.encode()) <= 20_000
    assert len(rendered(GithubSummaryReporter(written_bytes=0)).encode()) <= MAX_BYTES


def test_size_of_the_summary_file_is_read_from_the_environment(tmp_path: object) -> None:
    file = tmp_path / "summary.md"  # type: ignore[operator]
    file.write_text("x" * 77)
    assert already_written({"GITHUB_STEP_SUMMARY": str(file)}) == 77
    assert already_written({}) == 0


def test_headline_is_computed_from_the_rows() -> None:
    gates = evaluate(alloc(), [parse_condition(text) for text in ("alloc.sync>5%", "alloc.sync>50%", "nothing.x>1ns")])
    assert gate_headline(gates) == "1 exceeded, 1 inconclusive, 1 within budget"
    out = io.StringIO()
    MarkdownReporter(gates).render(alloc(), out)
    states = re.findall(r"^\| (\*\*over\*\*|unclear|within) \|", out.getvalue(), re.MULTILINE)
    assert states == ["**over**", "unclear", "within"]
