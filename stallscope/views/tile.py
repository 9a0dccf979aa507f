"""One window of some lanes as bytes for a canvas.

Layout, little-endian: uint32 length of a JSON header, the header padded with spaces to a multiple of 8, then the blocks
it lists, each aligned to 8 bytes. A lane with at most one interval for two pixels comes as `intervals` (start, length
in ns from the window's start as float64, class uint8, name uint32; `index` is the position of the first one in its
lane), a denser one as `bins` (one uint16 a pixel and class, 65535 = covered throughout; a covered nanosecond gives 1 or
more).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.views.lanes import Int64Array, Lane, LaneTable
from stallscope.views.text import SHORT_NAME, printable

FULL = 65_535
_ALIGN = 8
PIXELS_AN_INTERVAL = 2
MAX_LANES = 96
MAX_PIXELS = 8_192


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span of the trace clock, seen through `pixels` columns."""

    low_ns: int
    high_ns: int
    pixels: int

    def edges(self) -> Int64Array:
        """The `pixels + 1` instants between the columns."""
        steps = np.arange(self.pixels + 1, dtype=np.int64)
        span = self.high_ns - self.low_ns
        whole, rest = divmod(span, self.pixels)
        return self.low_ns + steps * whole + steps * rest // self.pixels


class _Blocks:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, array: npt.NDArray[Any]) -> int:
        """Append an array, padded; answer its offset from the first block."""
        offset = self.size
        data = np.ascontiguousarray(array).tobytes()
        padding = -len(data) % _ALIGN
        self.parts.append(data + b"\0" * padding)
        self.size += len(data) + padding
        return offset


def encode(table: LaneTable, lanes: list[int], window: Window) -> bytes:
    """The bytes described above for the lanes at these positions."""
    blocks = _Blocks()
    names: set[int] = set()
    edges = window.edges()
    entries = [_lane(table, position, window, edges, blocks, names) for position in lanes]
    header = {
        "low": window.low_ns,
        "high": window.high_ns,
        "pixels": window.pixels,
        "lanes": entries,
        "names": {name: printable(table.names[name], SHORT_NAME) for name in sorted(names)},
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % _ALIGN)
    return len(text).to_bytes(4, "little") + text + b"".join(blocks.parts)


def _lane(  # noqa: PLR0913, PLR0917 - the two collectors are what this fills
    table: LaneTable, position: int, window: Window, edges: Int64Array, blocks: _Blocks, names: set[int]
) -> dict[str, Any]:
    lane = table.lanes[position]
    first, after = table.inside(lane, window.low_ns, window.high_ns)
    entry: dict[str, Any] = {"lane": position, "count": after - first}
    if PIXELS_AN_INTERVAL * (after - first) > window.pixels:
        return entry | {"bins": _bins(table, position, edges, blocks)}
    names.update(np.unique(table.intervals.name[first:after]).tolist())
    return entry | {"intervals": _intervals(table, lane, (first, after), window, blocks)}


def _bins(table: LaneTable, position: int, edges: Int64Array, blocks: _Blocks) -> list[dict[str, int]]:
    widths = np.maximum(np.diff(edges), 1)
    found = []
    for cover in table.covers[position]:
        covered = np.diff(table.covered_before(cover, edges))
        if covered.any():
            share = np.ceil(covered * (FULL / widths)).clip(0, FULL).astype(np.uint16)
            found.append({"kind": cover.kind, "at": blocks.add(share)})
    return found


def _intervals(table: LaneTable, lane: Lane, rows: tuple[int, int], window: Window, blocks: _Blocks) -> dict[str, int]:
    part = slice(*rows)
    starts = table.intervals.start_ns[part]
    return {
        "start": blocks.add((starts - window.low_ns).astype(np.float64)),
        "length": blocks.add((table.intervals.end_ns[part] - starts).astype(np.float64)),
        "name": blocks.add(table.intervals.name[part].astype(np.uint32)),
        "kind": blocks.add(table.intervals.kind[part]),
        "index": rows[0] - lane.first,
    }
