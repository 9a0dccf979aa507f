"""Independent parts of one analysis in two threads, which are mostly inside numpy, polars or compiled loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from stallscope.timeline.timeline import Timeline

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")

MIN_EVENTS = 500_000
"""Below this many operations and calls the threads wait for the interpreter more than they gain."""
MAX_THREADS = 2
"""Beyond two, memory is the limit."""


def side_by_side(timeline: Timeline, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`[function(item) for item in items]`, in threads when the trace is large; the results do not depend on it."""
    every = list(items)
    if len(every) < MAX_THREADS or not _pays(timeline):
        return [function(item) for item in every]
    with ThreadPoolExecutor(MAX_THREADS) as pool:
        return list(pool.map(function, every))


def both(timeline: Timeline, first: Callable[[], Result], second: Callable[[], Other]) -> tuple[Result, Other]:
    """The results of two independent parts, computed at once when the trace is large."""
    if not _pays(timeline):
        return first(), second()
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(second)
        return first(), later.result()


def derive(timeline: Timeline, *groups: tuple[str, ...]) -> None:
    """Compute properties of a large timeline before several threads ask for the same; the groups are independent."""
    if _pays(timeline):
        side_by_side(timeline, partial(_read, timeline), groups)


def _read(timeline: Timeline, names: tuple[str, ...]) -> None:
    # What breaks here breaks again in the rule that asks for it, and the report says so.
    with suppress(Exception):
        for name in names:
            getattr(timeline, name)


def _pays(timeline: Timeline) -> bool:
    return (os.cpu_count() or 1) > 1 and len(timeline.operations) + len(timeline.calls) >= MIN_EVENTS
