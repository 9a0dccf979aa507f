"""Two analyses without what may differ between two writings of one capture: file hash, finding ids, clock origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stallscope.api import Options
from stallscope.ingest.open import OpenOptions
from stallscope.model.analysis import Analysis

EVERYTHING = Options(opening=OpenOptions(use_cache=False), everything=True)
"""Small findings too: a small change of them is a change."""

Document = dict[str, Any]


def document(analysis: Analysis, *, shift_ns: int = 0, thread: Callable[[int], int] = int) -> Document:
    """The whole analysis; times moved back by the shift, thread ids as the other writing has them."""
    plain = analysis.to_dict()
    del plain["sources"]
    wait_of = {finding["id"]: finding["wait"] for finding in plain["findings"]}
    for finding in plain["findings"]:
        del finding["id"]
        finding["spans"] = [[start - shift_ns, end - shift_ns] for start, end in finding["spans"]]
        for place in finding["where"]:
            place["thread"] = None if place["thread"] is None else thread(place["thread"])
    for device in plain["devices"]:
        device["start_ns"] -= shift_ns
    if plain["replay"]:
        plain["replay"]["joint"] = [wait_of[finding] for finding in plain["replay"]["joint"]]
    return plain


def without_host_counts(found: Document) -> Document:
    """The document without the two numbers that count calls of all processes."""
    found["workload"]["api_calls"] = {}
    if found["replay"]:
        found["replay"]["host_waits"] = 0
    return found


def differences(one: Any, two: Any, place: str = "") -> Iterator[str]:
    """Every place at which two documents differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in sorted(one.keys() | two.keys()):
            yield from differences(one.get(key), two.get(key), f"{place}.{key}")
    elif isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)) and len(one) == len(two):
        for index, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from differences(left, right, f"{place}[{index}]")
    elif one != two:
        yield f"{place}: {one!r:.200} is now {two!r:.200}"
