"""Cells of one Nsight Compute page → metrics in base units; what cannot be read is counted and said, never guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from stallscope.ingest.numbers import (
    contradicts,
    decimal_mark,
    is_absent,
    parse_instanced,
    parse_number,
    parse_unit,
    resolution,
)
from stallscope.model.analysis import CaptureNote
from stallscope.model.counters import Metric

_unit = lru_cache(maxsize=1 << 10)(parse_unit)
_mark = lru_cache(maxsize=1 << 16)(decimal_mark)
_SHOWN = 4


@lru_cache(maxsize=1 << 16)
def _read(text: str, marks: frozenset[str]) -> tuple[float | int | None, float, bool, bool]:
    """Value, resolution, whether the cell says that there is none, whether it fits two locales; most cells repeat."""
    if is_absent(text):
        return None, 0.0, True, False
    return parse_number(text), resolution(text.strip()), False, contradicts(text, marks)


class Cells:
    """Turns cells into metrics and remembers what it refused."""

    def __init__(self) -> None:
        self._unknown_units: Counter[str] = Counter()
        self._ambiguous: Counter[str] = Counter()
        self._marks: frozenset[str] = frozenset()
        self._without_units = False

    def begin(self, values: Iterable[str]) -> None:
        """A new table: learn from its value cells which decimal mark it uses."""
        self._marks = frozenset(mark for mark in map(_mark, values) if mark)

    def units_printed(self, printed: bool) -> None:  # noqa: FBT001
        """Did this table name units? An exporter older than the report leaves them out and then cannot scale."""
        self._without_units |= not printed

    def put(self, metrics: dict[str, Metric], texts: dict[str, str], cell: tuple[str, str, str]) -> None:
        """Store (metric, unit, printed value): as a number, as a text, or not at all when it says there is none."""
        name, unit_text, text = cell
        value, half_digit, absent, ambiguous = _read(text, self._marks)
        if absent:
            return
        unit = _unit(unit_text)
        if unit is None:
            if not unit_text.startswith("%/"):  # occupancy curves, whose scaled unit ncu itself gets wrong
                self._unknown_units[unit_text] += 1
            return
        if ambiguous:
            self._ambiguous[name] += 1
            return
        if value is not None:
            metrics[name] = Metric(value * unit.scale, unit.base, half_digit * unit.scale)
            return
        instanced = parse_instanced(text)
        if instanced is not None:
            scaled = tuple((key, one * unit.scale) for key, one in instanced.instances)
            metrics[name] = Metric(instanced.value * unit.scale, unit.base, 0.0, scaled)
        else:
            texts[name] = text.strip()

    def notes(self) -> list[CaptureNote]:
        """What a reader of the diagnosis must know about the numbers."""
        notes = []
        if self._unknown_units:
            what = ", ".join(repr(unit) for unit, _ in self._unknown_units.most_common(_SHOWN))
            notes.append(CaptureNote(id="ncu.unknown_unit", message=f"metrics in unknown units were left out: {what}"))
        if self._ambiguous:
            what = ", ".join(name for name, _ in self._ambiguous.most_common(_SHOWN))
            notes.append(
                CaptureNote(id="ncu.ambiguous_number", message=f"cells that fit two locales were left out: {what}")
            )
        if self._without_units:
            message = (
                "the table prints no units: values are taken in base units (ns, byte, hz), as such exporters print"
            )
            notes.append(CaptureNote(id="ncu.no_units", message=message))
        return notes
