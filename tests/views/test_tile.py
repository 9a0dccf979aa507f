"""Tiles: what the canvas gets is exact, at every zoom, for any window."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lane_samples import HOSTILE, burst_build, lanes_of

from stallscope.views.lanes import LaneTable
from stallscope.views.tile import FULL, PIXELS_AN_INTERVAL, Window, encode

TABLE = lanes_of(burst_build(steps=3))


def decoded(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def slow_share(table: LaneTable, lane: int, kind: int, low: int, high: int) -> float:
    one = table.lanes[lane]
    part = slice(one.first, one.after)
    mine = table.intervals.kind[part] == kind
    starts, ends = table.intervals.start_ns[part][mine], table.intervals.end_ns[part][mine]
    return float(np.clip(np.minimum(ends, high) - np.maximum(starts, low), 0, None).sum()) / max(high - low, 1)


@given(st.integers(-100_000, 3_000_000), st.integers(1, 3_000_000), st.integers(1, 64))
def test_bins_hold_the_exact_covered_share_of_every_column(low: int, width: int, pixels: int) -> None:
    window = Window(low, low + width, pixels)
    edges = window.edges()
    assert edges[0] == low
    assert edges[-1] == low + width
    header, blocks = decoded(encode(TABLE, list(range(len(TABLE.lanes))), window))
    for entry in header["lanes"]:
        for bin_ in entry.get("bins", ()):
            found = np.frombuffer(blocks, np.uint16, pixels, bin_["at"])
            shares = [slow_share(TABLE, entry["lane"], bin_["kind"], int(a), int(b)) for a, b in pairwise(edges)]
            assert np.all(np.abs(found / FULL - shares) <= 1 / FULL + 1e-9)
            assert np.array_equal(found > 0, np.array(shares) > 0)


@given(st.integers(-100_000, 3_000_000), st.integers(1, 3_000_000))
def test_sparse_lanes_come_whole(low: int, width: int) -> None:
    window = Window(low, low + width, 4_000)
    header, blocks = decoded(encode(TABLE, list(range(len(TABLE.lanes))), window))
    for entry in header["lanes"]:
        one = TABLE.lanes[entry["lane"]]
        starts, ends = TABLE.intervals.start_ns[one.first : one.after], TABLE.intervals.end_ns[one.first : one.after]
        touching = np.flatnonzero((ends > low) & (starts < low + width))
        assert entry["count"] == len(touching)
        at = entry["intervals"]
        assert (
            np.frombuffer(blocks, np.float64, len(touching), at["start"]).tolist() == (starts[touching] - low).tolist()
        )
        lengths = (ends - starts)[touching].tolist()
        assert np.frombuffer(blocks, np.float64, len(touching), at["length"]).tolist() == lengths
        if len(touching):
            assert at["index"] == touching[0]
        names = np.frombuffer(blocks, np.uint32, len(touching), at["name"])
        assert {str(n) for n in names.tolist()} <= set(header["names"])


def test_a_lane_changes_form_at_the_limit() -> None:
    stream = TABLE.positions["gpu0/p0c1s7"]
    low, high = TABLE.span_ns
    count = TABLE.lanes[stream].after - TABLE.lanes[stream].first
    forms = [
        set(decoded(encode(TABLE, [stream], Window(low, high, pixels)))[0]["lanes"][0]) - {"lane", "count"}
        for pixels in (PIXELS_AN_INTERVAL * count - 1, PIXELS_AN_INTERVAL * count)
    ]
    assert forms == [{"bins"}, {"intervals"}]


def test_every_block_is_aligned_for_the_browsers_typed_arrays() -> None:
    data = encode(TABLE, list(range(len(TABLE.lanes))), Window(*TABLE.span_ns, 4_000))
    length = int.from_bytes(data[:4], "little")
    assert (4 + length) % 8 == 0
    header, _ = decoded(data)
    offsets = [v for e in header["lanes"] for k, v in e["intervals"].items() if k != "index"]
    assert all(offset % 8 == 0 for offset in offsets)


@pytest.mark.parametrize("character", ["\u202e", "\x07", "\n"])
def test_names_arrive_printable(character: str) -> None:
    table = lanes_of(burst_build(steps=1, kernel=f"{HOSTILE}{character}"))
    header, _ = decoded(encode(table, list(range(len(table.lanes))), Window(*table.span_ns, 4_000)))
    assert not any(character in text for text in header["names"].values())
