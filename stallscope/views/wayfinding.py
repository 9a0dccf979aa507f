"""Finding places on a timeline: the interval under a pixel, the next wait of a class, names and their occurrences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stallscope.views.lanes import LaneTable
from stallscope.views.text import SHORT_NAME, printable

MAX_MATCHES = 40
Position = tuple[int, int]
"""Lane, and index within it."""


@dataclass(frozen=True, slots=True)
class Match:
    """A name that matches a search, how often it occurs and for how long in total."""

    name: int
    text: str
    count: int
    total_ns: int


def longest_inside(table: LaneTable, lane: int, low_ns: int, high_ns: int) -> Position | None:
    """The longest interval of the lane that touches the window."""
    first, after = table.inside(table.lanes[lane], low_ns, high_ns)
    if first == after:
        return None
    lengths = table.intervals.end_ns[first:after] - table.intervals.start_ns[first:after]
    return lane, first + int(np.argmax(lengths)) - table.lanes[lane].first


def next_wait(table: LaneTable, wait: str, time_ns: int, *, forward: bool) -> Position | None:
    """The nearest wait of that id that begins after (or before) the time, on any device."""
    kinds = [number for number, kind in enumerate(table.classes) if kind.key == wait]
    lanes = [number for number, lane in enumerate(table.lanes) if lane.kind == "waits"]
    return _nearest(table, lanes, "kind", kinds, time_ns, forward=forward)


def next_occurrence(table: LaneTable, name: int, time_ns: int, *, forward: bool) -> Position | None:
    """The nearest interval of that name that begins after (or before) the time, in any lane."""
    return _nearest(table, range(len(table.lanes)), "name", [name], time_ns, forward=forward)


def _nearest(  # noqa: PLR0913 - one question in six words
    table: LaneTable, lanes: Iterable[int], column: str, values: list[int], time_ns: int, *, forward: bool
) -> Position | None:
    best: tuple[int, Position] | None = None
    wanted = getattr(table.intervals, column)
    for number in lanes:
        lane = table.lanes[number]
        starts = table.intervals.start_ns[lane.first : lane.after]
        here = np.flatnonzero(np.isin(wanted[lane.first : lane.after], values))
        place = int(np.searchsorted(starts[here], time_ns, side="right" if forward else "left"))
        index = place if forward else place - 1
        if 0 <= index < len(here):
            distance = abs(int(starts[here[index]]) - time_ns)
            if best is None or distance < best[0]:
                best = distance, (number, int(here[index]))
    return best[1] if best else None


def search(table: LaneTable, text: str) -> tuple[Match, ...]:
    """Names that contain the text, whatever the case, the ones that took longest first."""
    wanted = text.casefold()
    hits = [number for number, name in enumerate(table.names) if name and wanted in name.casefold()]
    if not wanted or not hits:
        return ()
    length = table.intervals.end_ns - table.intervals.start_ns
    count = np.bincount(table.intervals.name, minlength=len(table.names))
    total = np.bincount(table.intervals.name, weights=length, minlength=len(table.names))
    found = sorted((number for number in hits if count[number]), key=lambda number: -total[number])[:MAX_MATCHES]
    return tuple(
        Match(number, printable(table.names[number], SHORT_NAME), int(count[number]), int(total[number]))
        for number in found
    )
