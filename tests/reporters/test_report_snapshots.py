"""What users see: every text format over every sample analysis, as files a reviewer can read."""

from __future__ import annotations

import io

import pytest
from report_samples import samples
from syrupy.assertion import SnapshotAssertion

from stallscope.gates import evaluate, parse_condition
from stallscope.reporters.base import reporter
from stallscope.reporters.junit import JunitReporter
from stallscope.reporters.markdown import MarkdownReporter

READABLE = ("healthy", "alloc", "kernels", "hostile")
GATES = ("alloc.sync>5%", "launch.gap>5ms", "uvm.fault_gpu>0ns")


def rendered(name: str, sample: str) -> str:
    out = io.StringIO()
    reporter(name).render(samples()[sample], out)
    return out.getvalue().replace("\r\n", "\n")


@pytest.fixture(autouse=True)
def no_summary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.mark.parametrize("sample", READABLE)
@pytest.mark.parametrize("name", ["md", "gh-summary", "csv", "sarif", "junit"])
def test_report_reads_as_before(name: str, sample: str, report: SnapshotAssertion) -> None:
    assert rendered(name, sample) == report


@pytest.mark.parametrize("kind", [MarkdownReporter, JunitReporter])
def test_budgets_read_as_before(kind: type[MarkdownReporter | JunitReporter], report: SnapshotAssertion) -> None:
    analysis = samples()["alloc"]
    out = io.StringIO()
    kind(evaluate(analysis, [parse_condition(text) for text in GATES])).render(analysis, out)
    assert out.getvalue() == report


@pytest.mark.parametrize("sample", list(samples()))
@pytest.mark.parametrize("name", ["md", "gh-summary", "csv", "sarif", "junit"])
def test_same_analysis_gives_the_same_bytes(name: str, sample: str) -> None:
    assert rendered(name, sample) == rendered(name, sample)
