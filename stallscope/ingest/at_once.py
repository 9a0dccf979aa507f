"""Several long columns made at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Made = TypeVar("Made")

_LONG = 1_000_000


def at_once(rows: int, *columns: Callable[[], Made]) -> list[Made]:
    """What the functions make of so many rows, two at a time where they are long."""
    if rows < _LONG:
        return [make() for make in columns]
    with ThreadPoolExecutor(2) as pool:
        return [made.result() for made in [pool.submit(make) for make in columns]]
