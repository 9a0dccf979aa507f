"""The timeline of a report: small enough for one HTML file, exact wherever somebody will look.

Sparse lanes travel whole. Of dense lanes (more intervals than the size limit allows) the report carries the covered
share of every class in bins at three resolutions, and every single interval around the spans of findings.

The payload is base64 of a zlib stream: uint32 length of a JSON header, the header, then columns of all intervals as
byte planes (all lowest bytes first, so that they compress): `gap` to the end of the previous interval of its segment,
`length`, `kind`, `name`, and `link` (position of the causing interval plus 1, 0 for none, as a difference to the
previous one).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.views.families import FAMILIES
from stallscope.views.lanes import NOWHERE, Int64Array, Lane, LaneTable
from stallscope.views.text import printable

LIMIT_BYTES = 3_000_000
MAX_LANES = 64
MAX_THREAD_LANES = 24
MAX_INTERVALS = 240_000
LEVELS = (2_048, 8_192, 32_768)
WINDOW_INTERVALS = 3_000
WINDOWS = 48
MIN_WINDOW_NS = 200_000
MAX_NAME_BYTES = 400_000
NAME_LENGTH = 120

_SATURATED = 0xFFFF_FFFF
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tiles:
    """What a page needs to draw. `exact` says that every interval of every lane is there.

    `omitted` counts lanes that are not shown, `omitted_threads` host threads whose lanes were not even laid out.
    """

    data: str
    exact: bool
    omitted: int
    intervals: int
    omitted_threads: int = 0


@dataclass(frozen=True, slots=True)
class _Segment:
    """Rows `[first, after)` of the table, complete for the lane within [low_ns, high_ns)."""

    lane: int
    first: int
    after: int
    low_ns: int
    high_ns: int


def build(table: LaneTable, spans: Iterable[Span] = (), *, limit_bytes: int = LIMIT_BYTES) -> Tiles:
    """Tiles of at most `limit_bytes`; `spans` are shown exactly, the most important first."""
    lanes = _chosen(table)
    wanted = list(spans)
    budget = MAX_INTERVALS
    while True:
        tiles = _pack(table, lanes, wanted, budget)
        if len(tiles.data) <= limit_bytes or budget < WINDOW_INTERVALS:
            return tiles
        budget //= 2


def _chosen(table: LaneTable) -> list[int]:
    """Lanes of devices first, then of the busiest threads, as they are ordered in the table."""
    devices = {group.key for group in table.groups if group.kind == "device"}
    of_devices = [i for i, lane in enumerate(table.lanes) if lane.group in devices]
    of_threads = [i for i, lane in enumerate(table.lanes) if lane.group not in devices]
    room = max(MAX_THREAD_LANES, MAX_LANES - len(of_devices))
    return (of_devices[: MAX_LANES - min(MAX_THREAD_LANES, len(of_threads))] + of_threads[:room])[:MAX_LANES]


def _pack(table: LaneTable, lanes: Sequence[int], spans: Sequence[Span], budget: int) -> Tiles:
    low, high = _extent(table, lanes)
    whole = _whole(table, lanes, budget)
    dense = [i for i in lanes if i not in whole]
    segments = [_Segment(i, table.lanes[i].first, table.lanes[i].after, low, high) for i in lanes if i in whole]
    left = budget - sum(segment.after - segment.first for segment in segments)
    segments += _windows(table, dense, spans, left) if dense else []
    rows = _rows(segments)
    blocks = _Blocks()
    columns, exceptions = _columns(table, segments, rows, low, blocks)
    names, name_column = _names(table, rows)
    columns["name"] = blocks.add(_planes(name_column))
    header = {
        "low": low,
        "high": high,
        "count": len(rows),
        "groups": [[group.key, printable(group.label, NAME_LENGTH), group.kind, group.note] for group in table.groups],
        "lanes": [_lane_header(table.lanes[i]) for i in lanes],
        "classes": [[c.key, printable(c.label, NAME_LENGTH), c.family] for c in table.classes],
        "families": [[f.key, f.letter, f.pattern, f.light, f.dark] for f in FAMILIES],
        "names": names,
        "segments": [[lanes.index(s.lane), s.after - s.first, s.low_ns, s.high_ns] for s in segments],
        "columns": columns,
        "exceptions": exceptions,
        "levels": list(LEVELS),
        "bins": [entry for i in dense for entry in _bins(table, i, lanes.index(i), (low, high), blocks)],
        "sums": [entry for i in dense for entry in _sums(table, i, lanes.index(i), (low, high), blocks)],
    }
    data = zlib.compress(_framed(header, blocks), 6)
    return Tiles(base64.b64encode(data).decode("ascii"), not dense, len(table.lanes) - len(lanes), len(rows))


def _extent(table: LaneTable, lanes: Sequence[int]) -> Span:
    filled = [table.lanes[i] for i in lanes if table.lanes[i].after > table.lanes[i].first]
    if not filled:
        return 0, 1
    low = min(int(table.intervals.start_ns[lane.first]) for lane in filled)
    high = max(int(table.intervals.end_ns[lane.after - 1]) for lane in filled)
    return low, max(high, low + 1)


def _whole(table: LaneTable, lanes: Sequence[int], budget: int) -> set[int]:
    """Lanes that travel whole: the sparsest ones first, for as long as half of the budget is left for windows."""
    sizes = {i: table.lanes[i].after - table.lanes[i].first for i in lanes}
    if sum(sizes.values()) <= budget:
        return set(lanes)
    chosen, spent = set(), 0
    for i in sorted(lanes, key=lambda i: sizes[i]):
        spent += sizes[i]
        if spent > budget // 2:
            break
        chosen.add(i)
    return chosen


def _windows(table: LaneTable, dense: Sequence[int], spans: Sequence[Span], budget: int) -> list[_Segment]:
    """Segments of the dense lanes around spans, within the budget; windows that meet become one."""
    chosen: list[Span] = []
    for span in spans[: WINDOWS * 4]:
        if len(chosen) >= WINDOWS or budget <= 0:
            break
        if any(low <= span[0] and span[1] <= high for low, high in chosen):
            continue
        window, count = _around(table, dense, span, min(budget, WINDOW_INTERVALS))
        if count:
            budget -= count
            chosen.append(window)
    segments = []
    for i in dense:
        lane = table.lanes[i]
        for low, high in _merged(chosen):
            first, after = table.inside(lane, low, high)
            segments.append(_Segment(i, first, after, low, high))
    return segments


def _around(table: LaneTable, dense: Sequence[int], span: Span, limit: int) -> tuple[Span, int]:
    """The widest window around a span (up to 16 times its length) with at most `limit` intervals; (span, 0) if none."""
    middle = (span[0] + span[1]) // 2
    width = max(16 * (span[1] - span[0]), MIN_WINDOW_NS)
    while width >= span[1] - span[0]:
        low, high = middle - width // 2, middle + (width + 1) // 2
        count = sum(after - first for first, after in (table.inside(table.lanes[i], low, high) for i in dense))
        if count <= limit:
            return (low, high), count
        width //= 2
    return span, 0


def _merged(windows: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for low, high in sorted(windows):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _rows(segments: Sequence[_Segment]) -> Int64Array:
    parts = [np.arange(s.first, s.after, dtype=np.int64) for s in segments]
    return np.concatenate([np.empty(0, np.int64), *parts])


class _Blocks:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, data: bytes) -> int:
        """Append; answer the offset from the first block."""
        offset = self.size
        self.parts.append(data)
        self.size += len(data)
        return offset


def _columns(
    table: LaneTable, segments: Sequence[_Segment], rows: Int64Array, low: int, blocks: _Blocks
) -> tuple[dict[str, int], dict[str, list[list[int]]]]:
    intervals = table.intervals
    start, end = intervals.start_ns[rows], intervals.end_ns[rows]
    heads = np.cumsum([0, *(s.after - s.first for s in segments)])[:-1]
    heads = heads[[s.after > s.first for s in segments]] if segments else heads
    previous = np.concatenate((np.zeros(1, np.int64), end))[: len(rows)]
    previous[heads] = low
    gap, length = start - previous, end - start
    exceptions = {name: _exceptions(values) for name, values in (("gap", gap), ("length", length))}
    columns = {
        "gap": blocks.add(_planes(np.minimum(gap, _SATURATED).astype(np.uint32))),
        "length": blocks.add(_planes(np.minimum(length, _SATURATED).astype(np.uint32))),
        "kind": blocks.add(intervals.kind[rows].tobytes()),
        "link": blocks.add(_planes(_links(table, rows))),
    }
    return columns, exceptions


def _exceptions(values: Int64Array) -> list[list[int]]:
    """Values too large for 32 bits, as [position, value]."""
    return [[int(i), int(values[i])] for i in np.flatnonzero(values >= _SATURATED)]


def _links(table: LaneTable, rows: Int64Array) -> npt.NDArray[np.uint32]:
    """Position + 1 of the interval each one points to, 0 where that is not in the payload; stored as differences."""
    position = np.zeros(len(table) + 1, np.int64)
    position[rows] = np.arange(1, len(rows) + 1)
    link = table.intervals.link[rows]
    target = np.where(link == NOWHERE, 0, position[link])
    return np.diff(target, prepend=0).astype(np.int64).astype(np.uint32)


def _planes(values: npt.NDArray[np.uint32]) -> bytes:
    return np.ascontiguousarray(values.astype("<u4").view(np.uint8).reshape(-1, 4).T).tobytes()


def _names(table: LaneTable, rows: Int64Array) -> tuple[list[str], npt.NDArray[np.uint32]]:
    """Texts in the order of their use, the most frequent first; rare ones beyond the size limit share one text."""
    used, which, counts = np.unique(table.intervals.name[rows], return_inverse=True, return_counts=True)
    texts, room = ["(name left out)"], MAX_NAME_BYTES
    number = np.zeros(len(used), np.uint32)
    for i in np.argsort(-counts, kind="stable"):
        text = printable(table.names[used[i]], NAME_LENGTH)
        room -= len(text.encode("utf-8", "replace"))
        if room < 0:
            break
        number[i] = len(texts)
        texts.append(text)
    return texts, number[which.reshape(-1)]


def _lane_header(lane: Lane) -> list[Any]:
    return [lane.key, printable(lane.label, NAME_LENGTH), lane.group, lane.kind, lane.depth, lane.after - lane.first]


def _bins(table: LaneTable, position: int, number: int, extent: Span, blocks: _Blocks) -> list[list[int]]:
    """[lane, level, class, offset] of each class's covered share, one byte a bin, at least 1 where anything is."""
    found = []
    for level, pixels in enumerate(LEVELS):
        edges = _edges(extent, pixels)
        widths = np.maximum(np.diff(edges), 1)
        for cover in table.covers[position]:
            covered = np.diff(table.covered_before(cover, edges))
            share = np.ceil(covered * (255 / widths)).clip(0, 255).astype(np.uint8)
            found.append([number, level, cover.kind, blocks.add(share.tobytes())])
    return found


def _sums(table: LaneTable, position: int, number: int, extent: Span, blocks: _Blocks) -> list[list[int]]:
    """[lane, class, unit_ns, offset] of each wait's time in the coarsest bins, exact: totals match the ledger."""
    if table.lanes[position].kind != "waits":
        return []
    edges = _edges(extent, LEVELS[0])
    unit = int(np.diff(edges).max()) // _SATURATED + 1
    found = []
    for cover in table.covers[position]:
        covered = np.diff(table.covered_before(cover, edges)) // unit
        found.append([number, cover.kind, unit, blocks.add(_planes(covered.astype(np.uint32)))])
    return found


def _edges(extent: Span, bins: int) -> Int64Array:
    whole, rest = divmod(extent[1] - extent[0], bins)
    steps = np.arange(bins + 1, dtype=np.int64)
    edges: Int64Array = extent[0] + steps * whole + steps * rest // bins
    return edges


def _framed(header: dict[str, Any], blocks: _Blocks) -> bytes:
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return len(text).to_bytes(4, "little") + text + b"".join(blocks.parts)
