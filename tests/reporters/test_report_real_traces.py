"""Every format over every bundled capture: complete, within its size, the same bytes twice."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from stallscope.api import Examination, examine_trace
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.analysis import Analysis
from stallscope.reporters.base import reporter
from stallscope.reporters.formats import format_names
from stallscope.reporters.html import MAX_BYTES, HtmlReporter
from stallscope.reporters.markdown import MAX_CHARACTERS
from stallscope.views.report_timeline import tiles_of

TRACES = sorted((Path(__file__).resolve().parents[2] / "sample_traces/h200").glob("*.sqlite"))


@cache
def examined(trace: Path) -> Examination:
    return examine_trace(open_trace(trace, OpenOptions(use_cache=False)))


def rendered(name: str, analysis: Analysis) -> str:
    out = io.StringIO()
    reporter(name).render(analysis, out)
    return out.getvalue()


def test_captures_are_there() -> None:
    assert len(TRACES) >= 15


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.stem)
def test_every_format_renders_the_capture(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    analysis = examined(trace).analysis
    texts = {name: rendered(name, analysis) for name in format_names()}
    assert texts == {name: rendered(name, analysis) for name in format_names()}
    assert len(texts["md"]) <= MAX_CHARACTERS
    assert json.loads(texts["sarif"])["version"] == "2.1.0"
    assert int(ET.fromstring(texts["junit"]).attrib["failures"]) == 0  # noqa: S314 - our own document
    assert len(list(csv.reader(io.StringIO(texts["csv"], newline="")))) == 1 + len(analysis.findings)
    for finding in analysis.findings:
        assert finding.wait in texts["md"]
        assert finding.id in texts["html"]
    assert Analysis.from_json(texts["json"]) == analysis


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.stem)
def test_page_with_its_timeline_is_small_and_exact(trace: Path) -> None:
    found = examined(trace)
    tiles = tiles_of(found.timeline, found.charges, found.analysis)
    out = io.StringIO()
    HtmlReporter(tiles=tiles).render(found.analysis, out)
    assert tiles.exact
    assert len(out.getvalue().encode()) < MAX_BYTES / 10
