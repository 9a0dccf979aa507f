"""How many host threads a report shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from stallscope.timeline.timeline import Timeline
from stallscope.views import report_timeline


class Calls(SimpleNamespace):
    """Calls by thread; a test needs nothing else of them."""

    thread: np.ndarray[tuple[int], np.dtype[np.int32]]

    def __len__(self) -> int:
        return len(self.thread)


@pytest.mark.parametrize(
    ("calls", "shown", "left_out"),
    [
        ([], 12, 0),
        ([5], 1, 0),
        ([5, 3, 2], 3, 0),
        ([5, 0, 6], 1, 1),
        ([50], 1, 0),
        ([1] * 14, 10, 4),
    ],
)
def test_busiest_threads_are_shown_up_to_ten_calls(
    calls: list[int], shown: int, left_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_timeline, "MAX_CALLS", 10)
    thread = np.repeat(np.arange(len(calls), dtype=np.int32), calls)
    timeline = cast("Timeline", SimpleNamespace(calls=Calls(thread=thread)))
    assert report_timeline._threads(timeline) == (shown, left_out)
