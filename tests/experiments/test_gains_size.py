"""A trace too large to replay says so."""

from __future__ import annotations

import pytest
from build import TraceBuilder

from stallscope.api import analyze_trace
from stallscope.experiments import gains


def test_a_trace_above_the_limit_carries_a_note_and_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    build = TraceBuilder()
    for i in range(4):
        build.launch(100 * i, 100 * i + 5, correlation=i + 1)
        build.kernel(100 * i + 6, 100 * i + 20, correlation=i + 1)
    assert analyze_trace(build.trace()).replay is not None
    monkeypatch.setattr(gains, "MAX_OPERATIONS", 3)
    found = analyze_trace(build.trace())
    assert found.replay is None
    assert [note.id for note in found.capture.notes] == ["replay.skipped"]
