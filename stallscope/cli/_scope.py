"""`--range A:B`: a part of the trace by its clock."""

from __future__ import annotations

import re

import click

UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|)", re.IGNORECASE)
_LATEST_NS = (1 << 63) - 1


def time_range(_ctx: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """`1.2s:1.5s`, `500ms:`, `:2s` as a half-open span; without a unit a number is nanoseconds, as in the JSON report.

    A callback of a click option. Raises `click.BadParameter`.
    """
    if value is None:
        return None
    begin, separator, end = value.partition(":")
    if not separator:
        raise click.BadParameter(f"{value!r} has no ':'; write it like 1.2s:1.5s")
    first = _time_ns(begin) if begin.strip() else 0
    last = _time_ns(end) if end.strip() else _LATEST_NS
    if first >= last:
        raise click.BadParameter(f"{value!r} ends before it begins")
    return first, last


def _time_ns(text: str) -> int:
    found = _TIME.fullmatch(text.strip())
    if found is None or ("." in found[1] and not found[2]):
        raise click.BadParameter(f"{text!r} is not a time; use ns, us, ms or s, like 1.2s")
    return round(float(found[1]) * UNITS_NS[found[2].lower()]) if found[2] else int(found[1])
