"""SARIF: results only where a trace names a line of the repository."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from report_samples import TOOL, evidence, finding

from stallscope.model.analysis import Analysis
from stallscope.model.findings import Place
from stallscope.reporters.sarif import FINGERPRINT, CodePlace, SarifReporter, code_place


def log(*places: Place, **changes: Any) -> dict[str, Any]:
    out = io.StringIO()
    found = finding("sync.scalar", where=places, evidence=(evidence(),), title="A [scalar] is read back", **changes)
    SarifReporter().render(Analysis(tool=TOOL, findings=(found,)), out)
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("train.py:212", CodePlace("train.py", 212)),
        ("loss src/model/loss.py:7 .item()", CodePlace("src/model/loss.py", 7)),
        ("kernels/gemm.cu:44", CodePlace("kernels/gemm.cu", 44)),
        ("/home/user/train.py:212", None),
        ("C:\\work\\train.py:212", None),
        ("../train.py:212", None),
        ("src/../../train.py:212", None),
        ("~/train.py:212", None),
        ("http://evil.example/x.py:3", None),
        ("train.py:0", None),
        ("train.py", None),
        ("model.bin:12", None),
        ("", None),
    ],
)
def test_line_of_code_in_a_range(text: str, place: CodePlace | None) -> None:
    assert code_place(Place(nvtx=("step", text))) == place


def test_innermost_line_wins() -> None:
    assert code_place(Place(nvtx=("outer.py:1", "inner.py:2"))) == CodePlace("inner.py", 2)


def test_finding_with_a_line_becomes_a_complete_result() -> None:
    document = log(Place(nvtx=("train.py:212",), api="cudaMemcpyAsync", count=3, wait_ns=4_000_000))
    assert document["version"] == "2.1.0"
    run = document["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["sync.scalar"]
    (result,) = run["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 212}
    assert (result["ruleId"], result["level"]) == ("sync.scalar", "warning")
    assert "\\[scalar\\]" in result["message"]["text"]
    assert "4.00 ms in 3 waits" in result["message"]["text"]


def test_fingerprint_survives_another_run_and_another_line() -> None:
    first = log(Place(nvtx=("train.py:212",), api="cudaMemcpyAsync", wait_ns=4))
    moved = log(Place(nvtx=("train.py:230",), api="cudaMemcpyAsync", wait_ns=9), id="F-other")
    other = log(Place(nvtx=("train.py:212",), api="cudaFree", wait_ns=4))
    prints = [doc["runs"][0]["results"][0]["partialFingerprints"][FINGERPRINT] for doc in (first, moved, other)]
    assert prints[0] == prints[1] != prints[2]


def test_finding_without_a_line_leaves_a_valid_empty_run() -> None:
    run = log(Place(nvtx=("step",)))["runs"][0]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
