"""Filtering, sorting and paging over every charge: the table behind the waits page and its CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stallscope.views.families import is_wait
from stallscope.views.lanes import NOWHERE, Int64Array, LaneTable
from stallscope.views.text import printable

BoolArray = npt.NDArray[np.bool_]
Operator = Literal["contains", "notContains", "equals", "startsWith", "greaterThan", "lessThan"]

TEXT_COLUMNS = ("wait", "device", "before", "after", "call", "nvtx", "thread")
NUMBER_COLUMNS = ("duration_us", "start_ms", "outside_us")
COLUMNS = ("wait", "duration_us", "start_ms", "device", "before", "after", "call", "outside_us", "nvtx", "thread")
LONGEST_FIRST = ("duration_us", True)
_SCALE = {"duration_us": 1e3, "start_ms": 1e6, "outside_us": 1e3}


@dataclass(frozen=True, slots=True)
class Condition:
    """One filter: numbers are in the unit of the column's name."""

    column: str
    operator: Operator
    value: str


@dataclass(frozen=True, slots=True)
class ChargeQuery:
    """Which charges, in which order.

    `sort` is a column and whether it descends; `wait` is an id, or the part of ids before the dot.
    """

    wait: str = ""
    device: str = ""
    text: str = ""
    low_ns: int | None = None
    high_ns: int | None = None
    conditions: tuple[Condition, ...] = ()
    sort: tuple[str, bool] = LONGEST_FIRST


@dataclass(frozen=True, slots=True)
class WaitTotal:
    """Charges of one id in a table: how many, how long together."""

    wait: str
    count: int
    total_ns: int


@dataclass(eq=False)
class ChargeRows:
    """All charges of one run, ready to be asked."""

    table: LaneTable
    _texts: dict[str, tuple[npt.NDArray[np.object_], Int64Array]] = field(default_factory=dict)

    def totals(self) -> tuple[WaitTotal, ...]:
        """Every wait id, the one that cost most first; work is left out."""
        charges = self.table.charges
        count = np.bincount(charges.wait, minlength=len(charges.waits))
        total = np.bincount(charges.wait, weights=charges.end_ns - charges.start_ns, minlength=len(charges.waits))
        rows = [
            WaitTotal(w, int(count[i]), int(total[i])) for i, w in enumerate(charges.waits) if is_wait(w) and count[i]
        ]
        return tuple(sorted(rows, key=lambda row: -row.total_ns))

    @lru_cache(maxsize=8)  # noqa: B019 - a run's rows live as long as the process
    def matching(self, query: ChargeQuery) -> Int64Array:
        """Rows of the table that the query keeps, in its order."""
        keep = self._owner(query) & self._inside(query)
        if query.device:
            keep &= self._text_mask("device", "equals", query.device)
        if query.text:
            keep &= np.logical_or.reduce([self._text_mask(c, "contains", query.text) for c in TEXT_COLUMNS])
        for condition in query.conditions:
            keep &= self._condition(condition)
        rows = np.flatnonzero(keep)
        return rows[self._order(query.sort, rows)]

    def time_ns(self, rows: Int64Array) -> int:
        """Time of the given rows together."""
        charges = self.table.charges
        return int((charges.end_ns[rows] - charges.start_ns[rows]).sum())

    def page(self, rows: Int64Array) -> list[dict[str, Any]]:
        """The given rows as JSON for a table; `lane` and `index` lead to the timeline."""
        charges, table = self.table.charges, self.table
        found = []
        for row in rows.tolist():
            entry: dict[str, Any] = {c: self._cell(c, row) for c in COLUMNS}
            at = int(charges.at[row])
            lane = table.lane_of(at) if at != NOWHERE else None
            entry["id"] = str(row)
            entry["place"] = f"{table.lanes[lane].key}:{at - table.lanes[lane].first}" if lane is not None else ""
            entry["span"] = [int(charges.start_ns[row]), int(charges.end_ns[row])]
            found.append(entry)
        return found

    def _cell(self, column: str, row: int) -> str | float:
        if column in NUMBER_COLUMNS:
            return round(float(self._number(column)[row]), 3)
        texts, codes = self._text(column)
        return str(texts[codes[row]])

    def _owner(self, query: ChargeQuery) -> BoolArray:
        waits = self.table.charges.waits
        if query.wait:
            wanted = [w == query.wait or w.startswith(f"{query.wait}.") for w in waits]
        else:
            wanted = [is_wait(w) for w in waits]
        return np.array(wanted, np.bool_)[self.table.charges.wait]

    def _inside(self, query: ChargeQuery) -> BoolArray:
        charges = self.table.charges
        keep = np.ones(len(charges), np.bool_)
        if query.low_ns is not None:
            keep &= charges.end_ns > query.low_ns
        if query.high_ns is not None:
            keep &= charges.start_ns < query.high_ns
        return keep

    def _condition(self, condition: Condition) -> BoolArray:
        if condition.column in TEXT_COLUMNS:
            return self._text_mask(condition.column, condition.operator, condition.value)
        values, limit = self._number(condition.column), float(condition.value)
        if condition.operator == "greaterThan":
            return values > limit
        return values < limit if condition.operator == "lessThan" else values == limit

    def _number(self, column: str) -> npt.NDArray[np.float64]:
        charges = self.table.charges
        if column == "duration_us":
            values = charges.end_ns - charges.start_ns
        elif column == "start_ms":
            values = charges.start_ns - self.table.span_ns[0]
        else:
            values = charges.outside_ns
        return values / _SCALE[column]

    def _text(self, column: str) -> tuple[npt.NDArray[np.object_], Int64Array]:
        """Distinct texts of a column and the number of each row's text."""
        found = self._texts.get(column)
        if found is None:
            found = self._texts[column] = self._read_text(column)
        return found

    def _read_text(self, column: str) -> tuple[npt.NDArray[np.object_], Int64Array]:
        charges, table = self.table.charges, self.table
        if column in {"before", "after", "call"}:
            at = getattr(charges, column)
            names = np.where(at == NOWHERE, -1, table.intervals.name[at]) if len(table) else at
            distinct, codes = np.unique(names, return_inverse=True)
            texts = [printable(table.names[n]) if n >= 0 else "" for n in distinct.tolist()]
            return np.array(texts, np.object_), codes.reshape(-1)
        known = {
            "wait": (charges.waits, charges.wait),
            "device": (charges.devices, charges.device),
            "nvtx": (charges.paths, charges.path),
            "thread": (("", *charges.threads), charges.thread + 1),
        }
        texts_of, codes_of = known[column]
        return np.array([printable(text) for text in texts_of] or [""], np.object_), codes_of.astype(np.int64)

    def _text_mask(self, column: str, operator: Operator, value: str) -> BoolArray:
        texts, codes = self._text(column)
        wanted = value.casefold()
        tests: dict[str, Callable[[str], bool]] = {
            "contains": lambda text: wanted in text,
            "notContains": lambda text: wanted not in text,
            "equals": lambda text: wanted == text,
            "startsWith": lambda text: text.startswith(wanted),
        }
        test = tests[operator]
        return np.array([test(str(text).casefold()) for text in texts], np.bool_)[codes]

    def _order(self, sort: tuple[str, bool], rows: Int64Array) -> Int64Array:
        column, descending = sort
        if column in NUMBER_COLUMNS:
            keys: npt.NDArray[Any] = self._number(column)[rows]
        else:
            texts, codes = self._text(column)
            rank = np.empty(len(texts), np.int64)
            rank[np.argsort(texts.astype(str), kind="stable")] = np.arange(len(texts))
            keys = rank[codes[rows]]
        return np.argsort(-keys if descending else keys, kind="stable")


def parse_query(parameters: Mapping[str, str], conditions: tuple[Condition, ...] = ()) -> ChargeQuery:
    """The query of a URL's parameters; words it does not know are ignored."""
    column, _, direction = parameters.get("sort", "").partition(":")
    return ChargeQuery(
        wait=parameters.get("wait", ""),
        device=parameters.get("device", ""),
        text=parameters.get("q", ""),
        low_ns=_whole(parameters.get("from")),
        high_ns=_whole(parameters.get("to")),
        conditions=conditions,
        sort=(column, direction == "desc") if column in COLUMNS else LONGEST_FIRST,
    )


def conditions_of(model: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Conditions of an AG Grid filter model (one condition a column); what does not fit is ignored."""
    found = []
    for column, entry in model.items():
        value = str(entry.get("filter", "")) if isinstance(entry, Mapping) else ""
        operator = entry.get("type") if isinstance(entry, Mapping) else None
        is_text = column in TEXT_COLUMNS and operator in {"contains", "notContains", "equals", "startsWith"}
        is_number = column in NUMBER_COLUMNS and operator in {"greaterThan", "lessThan", "equals"} and _is_number(value)
        if value and (is_text or is_number):
            found.append(Condition(column, operator, value))  # type: ignore[arg-type]
    return tuple(found)


def _whole(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
