"""Every sample trace gives its committed analysis, names its planted fault first, and never a look-alike."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stallscope import Analysis, analyze
from stallscope.model.analysis import UNATTRIBUTED, Tool

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SAMPLES = Path(__file__).resolve().parent.parent / "sample_traces"
TRACES: list[dict[str, Any]] = tomllib.loads((SAMPLES / "MANIFEST.toml").read_text("utf-8"))["trace"]
REFUSED = "env.graph_level_trace"

every_trace = pytest.mark.parametrize("entry", TRACES, ids=[t["file"] for t in TRACES])


@cache
def analysis_of(file: str) -> Analysis:
    return analyze(SAMPLES / file)


@every_trace
def test_the_analysis_is_the_committed_one(entry: dict[str, Any]) -> None:
    """Run tools/golden.py when a verdict is meant to change, and read the difference."""
    golden = Analysis.from_json((SAMPLES / entry["file"]).with_suffix(".json").read_bytes())
    found = analysis_of(entry["file"])
    assert msgspec.structs.replace(found, tool=Tool()) == msgspec.structs.replace(golden, tool=Tool())


@every_trace
def test_the_planted_fault_is_the_first_finding_and_no_look_alike_is_named(entry: dict[str, Any]) -> None:
    found = [f.wait for f in analysis_of(entry["file"]).findings if f.severity != "note"]
    assert set(entry["expect"]) <= set(found)
    assert not set(entry["must_not"]) & set(found)
    if entry["expect"]:
        assert found[0] in entry["expect"]


@every_trace
def test_every_nanosecond_is_accounted_for(entry: dict[str, Any]) -> None:
    found = analysis_of(entry["file"])
    for device in found.devices:
        assert sum(device.ledger.values()) == device.window_ns
        assert device.busy_ns + device.idle_ns == device.window_ns
        if not any(note.id == REFUSED for note in found.capture.notes):
            assert device.ledger[UNATTRIBUTED] <= 0.1 * device.idle_ns


def test_graph_level_traces_are_refused_and_say_why() -> None:
    found = analysis_of("h200/py_launch_gaps_graph.sqlite")
    assert any(note.id == REFUSED for note in found.capture.notes)
    idle = [check for check in found.checks if check.wait in ("launch.gap", "host.busy", "sync.device")]
    assert all(check.outcome == "not_applicable" and REFUSED in check.reason for check in idle)


@pytest.mark.parametrize("capture", ["before", "after"])
def test_a_busy_multi_gpu_run_has_no_host_sync_finding(capture: str, shared: Path) -> None:
    found = analyze(shared / f"corpus/n15-nsysai/mfu_2gpu_{capture}.sqlite")
    assert not [f for f in found.findings if f.wait.startswith("sync.")]
    assert len(found.devices) == 2
