"""The account of a selected range: exact time of every class in every lane, from the prefix sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stallscope.views.lanes import LaneTable


@dataclass(frozen=True, slots=True)
class ClassTime:
    """Time of one class."""

    kind: str
    label: str
    family: str
    time_ns: int


@dataclass(frozen=True, slots=True)
class LaneAccount:
    """What one lane did in the range, largest class first."""

    group: str
    label: str
    times: tuple[ClassTime, ...]


def range_account(table: LaneTable, low_ns: int, high_ns: int) -> tuple[LaneAccount, ...]:
    """One account a device: its charges between the two instants, to the nanosecond."""
    edges = np.array([low_ns, high_ns], np.int64)
    labels = {group.key: group.label for group in table.groups}
    accounts = []
    for number, lane in enumerate(table.lanes):
        if lane.kind != "waits":
            continue
        times = []
        for cover in table.covers[number]:
            before, until = table.covered_before(cover, edges)
            kind = table.classes[cover.kind]
            times.append(ClassTime(kind.key, kind.label, kind.family, int(until - before)))
        shown = tuple(sorted((t for t in times if t.time_ns), key=lambda t: -t.time_ns))
        accounts.append(LaneAccount(labels[lane.group], lane.label, shown))
    return tuple(accounts)
