"""The timeline payload of a report: what goes in comes out, within the size limit, exact where it says so."""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.views import timeline_tiles
from stallscope.views.lanes import (
    NOWHERE,
    ClassCover,
    Covers,
    Group,
    IntervalClass,
    Intervals,
    Lane,
    LaneTable,
)
from stallscope.views.timeline_tiles import LEVELS, Tiles, build

CLASSES = (IntervalClass("launch.gap", "launch.gap", "launch"), IntervalClass("ok.compute", "ok.compute", "work"))

Rows = list[tuple[int, int, int]]


def table(*lanes: Rows, names: tuple[str, ...] = ("first", "second"), links: dict[int, int] | None = None) -> LaneTable:
    """Lanes of (start, end, class); the first one is a waits lane."""
    rows = [row for lane in lanes for row in lane]
    start, end, kind = (np.array([row[c] for row in rows], np.int64) for c in range(3))
    edges = np.cumsum([0, *(len(lane) for lane in lanes)]).tolist()
    covers, cover_rows = [], []
    for first, after in itertools.pairwise(edges):
        entries = []
        for which in np.unique(kind[first:after]).tolist():
            mine = first + np.flatnonzero(kind[first:after] == which)
            entries.append(ClassCover(which, len(cover_rows), len(cover_rows) + len(mine)))
            before = np.cumsum(end[mine] - start[mine]) - (end[mine] - start[mine])
            cover_rows += list(zip(start[mine].tolist(), (end - start)[mine].tolist(), before.tolist(), strict=True))
        covers.append(tuple(entries))
    link = np.full(len(rows), NOWHERE, np.int32)
    for row, target in (links or {}).items():
        link[row] = target
    columns = [np.array([row[c] for row in cover_rows], np.int64) for c in range(3)]
    return LaneTable(
        lanes=tuple(
            Lane(f"gpu0/{n}", f"lane {n}", "gpu0", "waits" if n == 0 else "stream", 0, edges[n], edges[n + 1])
            for n in range(len(lanes))
        ),
        groups=(Group("gpu0", "GPU 0", "device", "NVIDIA H200"),),
        classes=(
            IntervalClass("launch.gap", "launch.gap", "launch"),
            IntervalClass("ok.compute", "ok.compute", "work"),
        ),
        names=names,
        intervals=Intervals(
            start_ns=start,
            end_ns=end,
            name=(np.arange(len(rows)) % len(names)).astype(np.int32),
            kind=kind.astype(np.uint8),
            detail=np.zeros(len(rows), np.uint8),
            row=np.zeros(len(rows), np.int32),
            link=link,
        ),
        covers=tuple(covers),
        cover=Covers(*columns),
        details={},
        charges=None,  # type: ignore[arg-type]  # tiles do not look at them
    )


@dataclass(frozen=True)
class Decoded:
    header: dict[str, Any]
    body: bytes

    def words(self, offset: int, count: int) -> npt.NDArray[np.uint32]:
        planes = np.frombuffer(self.body, np.uint8, 4 * count, offset).reshape(4, count)
        return np.ascontiguousarray(planes.T).view("<u4").ravel()

    def column(self, name: str) -> npt.NDArray[np.int64]:
        values = self.words(self.header["columns"][name], self.header["count"]).astype(np.int64)
        for at, value in self.header["exceptions"].get(name, []):
            values[at] = value
        return values

    def lane_rows(self, lane: int) -> list[tuple[int, int]]:
        gap, length = self.column("gap"), self.column("length")
        found, first = [], 0
        for number, count, _, _ in self.header["segments"]:
            time = self.header["low"]
            for i in range(first, first + count):
                start = time + int(gap[i])
                time = start + int(length[i])
                if number == lane:
                    found.append((start, time))
            first += count
        return found

    @property
    def links(self) -> list[int]:
        column = self.words(self.header["columns"]["link"], self.header["count"]).astype(np.uint32)
        return (np.cumsum(column.astype(np.int64)) & 0xFFFFFFFF).tolist()


def decoded(tiles: Tiles) -> Decoded:
    data = zlib.decompress(base64.b64decode(tiles.data))
    length = int.from_bytes(data[:4], "little")
    return Decoded(json.loads(data[4 : 4 + length]), data[4 + length :])


def spans_of(table: LaneTable, lane: int) -> list[tuple[int, int]]:
    part = slice(table.lanes[lane].first, table.lanes[lane].after)
    starts, ends = table.intervals.start_ns[part], table.intervals.end_ns[part]
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def laid_out(parts: list[tuple[int, int, int]]) -> Rows:
    """(gap before, length, class) to disjoint intervals."""
    rows, time = [], 0
    for gap, length, kind in parts:
        rows.append((time + gap, time + gap + length, kind))
        time += gap + length
    return rows


part = st.tuples(st.integers(0, 2**34), st.integers(1, 2**34), st.integers(0, 1))
disjoint = st.lists(part, max_size=20).map(laid_out)


@given(st.lists(disjoint, min_size=1, max_size=4))
def test_small_trace_travels_whole(lanes: list[Rows]) -> None:
    made = table(*lanes)
    tiles = build(made)
    assert (tiles.exact, tiles.intervals, tiles.omitted) == (True, len(made), 0)
    for number in range(len(lanes)):
        assert decoded(tiles).lane_rows(number) == spans_of(made, number)


def test_links_and_names_point_to_the_same_rows() -> None:
    made = table([(0, 10, 0), (10, 20, 1)], [(12, 18, 1)], links={0: 2, 2: 1})
    found = decoded(build(made))
    assert found.links == [3, 0, 2]
    texts = [found.header["names"][n] for n in found.column("name")]
    assert texts == ["first", "second", "first"]


def dense(count: int = 20_000) -> LaneTable:
    return table([(n * 1_000, n * 1_000 + 250 + n % 500, n % 2) for n in range(count)], [(0, count * 1_000, 1)])


def test_dense_lane_is_exact_around_spans_and_shares_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_tiles, "MAX_INTERVALS", 8_000)
    made = dense()
    tiles = build(made, [(5_000_000, 5_000_400)])
    found = decoded(tiles)
    assert not tiles.exact
    assert tiles.intervals < 8_000
    inside = [span for span in spans_of(made, 0) if 4_950_000 < span[0] < 5_050_000]
    assert set(inside) <= set(found.lane_rows(0))
    assert found.lane_rows(1) == spans_of(made, 1)


def test_shares_and_sums_are_the_covered_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_tiles, "MAX_INTERVALS", 3_000)
    made = dense()
    found = decoded(build(made))
    totals = {
        kind: sum(e - s for (s, e), k in zip(spans_of(made, 0), made.intervals.kind[:20_000], strict=True) if k == kind)
        for kind in (0, 1)
    }
    for lane, kind, unit, offset in found.header["sums"]:
        assert (lane, unit) == (0, 1)
        assert int(found.words(offset, LEVELS[0]).sum()) == totals[kind]
    for _, level, kind, offset in found.header["bins"]:
        share = np.frombuffer(found.body, np.uint8, LEVELS[level], offset) / 255
        width = (found.header["high"] - found.header["low"]) / LEVELS[level]
        assert share.sum() * width == pytest.approx(totals[kind], rel=0.02)


def test_payload_stays_below_its_limit_whatever_the_trace() -> None:
    rng = np.random.default_rng(7)
    edges = np.cumsum(rng.integers(1, 2**30, 120_000))
    made = table([(int(a), int(b), int(n % 2)) for n, (a, b) in enumerate(zip(edges[::2], edges[1::2], strict=True))])
    tiles = build(made, [(int(edges[1_000]), int(edges[1_001]))], limit_bytes=200_000)
    assert len(tiles.data) <= 200_000
    assert not tiles.exact


def test_lanes_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_tiles, "MAX_LANES", 3)
    tiles = build(table(*[[(0, 5, 1)] for _ in range(10)]))
    assert tiles.omitted == 7
    assert len(decoded(tiles).header["lanes"]) == 3


def test_empty_table_makes_an_empty_timeline() -> None:
    tiles = build(table([]))
    assert (tiles.intervals, decoded(tiles).header["low"]) == (0, 0)


def test_names_beyond_their_size_share_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_tiles, "MAX_NAME_BYTES", 8)
    found = decoded(build(table([(0, 1, 0), (2, 3, 0), (4, 5, 0)], names=("often", "a longer one"))))
    assert found.header["names"] == ["(name left out)", "often"]
    assert found.column("name").tolist() == [1, 0, 1]
