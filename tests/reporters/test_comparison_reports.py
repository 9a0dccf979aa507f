"""Text and Markdown of a comparison and of the numerics gate."""

from __future__ import annotations

import re

import msgspec
import pytest

from stallscope.model.comparison import Comparison, Delta, Judgement, KernelDelta, Noise, Reason, Side
from stallscope.numerics.report import NumericsReport, TensorResult
from stallscope.reporters.comparison_markdown import comparison_markdown
from stallscope.reporters.comparison_text import comparison_text, delta_text, relative_text
from stallscope.reporters.numerics_text import numerics_text

HOSTILE = (
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b[0m",
    "a | b | c",
    "`code` ```fence",
    "\u202egnp.exe",
    "[link](javascript:alert(1))",
    "@everyone #1",
    "x" * 100_000,
)


def delta(base: int, head: int, verdict: str = "improved") -> Delta:
    change = head - base
    return Delta(
        base_ns=base, head_ns=head, delta_ns=change, low_ns=change - 10, high_ns=change + 10,
        relative=change / base if base else 0.0, verdict=verdict,  # type: ignore[arg-type]
    )  # fmt: skip


def comparison(name: str = "kernel") -> Comparison:
    return Comparison(
        verdict="improved",
        headline="step improved: 150 µs → 105 µs; improved: launch.gap",
        base=Side(runs=3, steps=120, step_name=name, step_basis="nvtx", environment={"gpu": name}),
        head=Side(runs=3, steps=120, step_name=name, step_basis="nvtx", environment={"gpu": name}),
        step=delta(150_000, 105_000),
        waits={
            "launch.gap": delta(50_000, 5_000),
            "ok.compute": delta(100_000, 100_100, "unchanged"),
            "sync.device": delta(0, 0, "unchanged"),
            "host.busy": delta(0, 9_000, "regressed"),
        },
        kernels=(
            KernelDelta(
                kernel=name, signature="0", nvtx=(name,), base_launches=10, head_launches=5, base_ns=9_000,
                head_ns=4_000, delta_ns=-5_000,
            ),
        ),
        predictions=(
            Judgement(
                finding="F-1", wait="launch.gap", experiment=name, verdict="confirmed", predicted_low_ns=1,
                predicted_high_ns=2, measured_low_ns=1, measured_high_ns=2, reason=name,
            ),
        ),
        untested=("F-2",),
        reasons=(Reason(id="valid.environment", message=name),),
        noise=Noise(
            basis="runs", band_ns=1_500, base_samples=3, head_samples=3, confidence=0.995, paired=False,
            message="interval from 3 against 3 runs",
        ),
    )  # fmt: skip


def test_text_tells_the_verdict_first_and_hides_what_is_zero_on_both_sides() -> None:
    lines = comparison_text(comparison(), width=100).splitlines()
    assert lines[0] == "step improved: 150 µs → 105 µs; improved: launch.gap"
    rows = [line.split()[0] for line in lines if line.rstrip().endswith(("improved", "regressed", "unchanged"))]
    assert rows == ["step", "host.busy", "launch.gap", "ok.compute"]
    assert not any("sync.device" in line for line in lines)
    assert any("not tested by this change: F-2" in line for line in lines)


def test_numbers_carry_sign_and_interval() -> None:
    assert delta_text(delta(150_000, 105_000)) == "-45.0 µs (-45.0 µs … -45.0 µs)"
    assert relative_text(delta(150_000, 105_000)) == "-30.0 %"
    assert relative_text(delta(0, 9_000)) == "new"


def test_markdown_folds_what_did_not_change() -> None:
    text = comparison_markdown(comparison(), key="train")
    assert text.startswith("<!-- stallscope:train -->\n### stallscope: step improved")
    table, _, rest = text.partition("<details>")
    assert "`host.busy`" in table
    assert "`ok.compute`" not in table
    assert "1 unchanged" in rest


def test_not_comparable_prints_reasons_and_no_number() -> None:
    bare = msgspec.structs.replace(
        comparison(), verdict="not comparable", headline="not comparable: other GPU", step=None, waits={}, kernels=(),
        predictions=(), untested=(), noise=None,
    )  # fmt: skip
    for text in (comparison_text(bare), comparison_markdown(bare)):
        assert "not comparable" in text
        assert "µs" not in text


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_harmless(name: str) -> None:
    terminal = comparison_text(comparison(name), width=80)
    assert "\x1b" not in terminal
    assert "\u202e" not in terminal
    assert max(map(len, terminal.splitlines())) <= 80
    markdown = comparison_markdown(comparison(name))
    assert len(markdown) <= 60_000
    assert "\u202e" not in markdown
    active = re.sub(r"`[^`]*`|<code>.*?</code>", "", markdown)  # nothing acts inside inline code
    assert "<script" not in active
    assert "](javascript" not in active
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {4, 7}  # kernels have three columns, deltas six


def test_long_comparison_stays_inside_the_limit() -> None:
    many = {f"wait.{i}": delta(100_000 + i, 5_000) for i in range(2_000)}
    text = comparison_markdown(msgspec.structs.replace(comparison(), waits=many), limit=20_000)
    assert len(text) <= 20_000
    assert "Left out" in text


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_gate_report_names_failures_first_and_harmlessly(name: str) -> None:
    results = [
        TensorResult(name="good", dtype="float32", shape=(4,), passed=True, elements=4),
        TensorResult(
            name=name, dtype="float32", shape=(4, 4), passed=False, elements=16, different=2, id="valid.race",
            reason="2 of 16 elements differ", largest_error=0.5,
        ),
    ]  # fmt: skip
    report = NumericsReport(
        passed=False, gate="bit-identical", base="b.npz", head=(name,), tensors=tuple(results), reasons=(name,)
    )
    lines = numerics_text(report, width=80).splitlines()
    assert lines[0] == "numerics gate FAILED (bit-identical)"
    assert "\x1b" not in "".join(lines)
    assert max(map(len, lines)) <= 80
    failed = next(i for i, line in enumerate(lines) if line.endswith("valid.race"))
    assert failed < next(i for i, line in enumerate(lines) if line.endswith("same bits"))
