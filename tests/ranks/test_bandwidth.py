"""comm.bandwidth: references by operation and communicator, absent ranks, what is stated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rank_rows import rank

from stallscope.timeline.collectives import CollectiveKind
from stallscope.waits.ranks import bandwidth
from stallscope.waits.ranks.base import Ranks

MIB = 1 << 20


def transfers(lengths: list[int], groups: list[int], *, ranks: int = 2, window: int = 42_000_001) -> Ranks:
    rows = [(1_000_000 * i, 1_000_000 * i + n, g) for i, (n, g) in enumerate(zip(lengths, groups, strict=True))]
    found = [rank(p, rows, size=4 * MIB, window=window) for p in range(ranks)]
    return Ranks((replace(found[0], table="other"), *found[1:]))


def test_a_slow_communicator_is_measured_by_its_own_best() -> None:
    """Between nodes four times slower than within one: none is slow for its kind of link."""
    lengths, groups = [100_000, 400_000] * 10, [0, 1] * 10
    assert bandwidth.detect(transfers(lengths, groups)).checks[0].outcome == "clean"
    lengths[19] = 1_600_000
    found = bandwidth.detect(transfers(lengths, groups), everything=True).findings[0]
    assert (found.count, found.wait_ns) == (1, 2 * 1_200_000)
    assert [e.value for e in found.evidence][2] == round(4 * MIB / 400e-6)
    assert {e.source for e in found.evidence} == {"other"}


def test_operations_have_bests_of_their_own() -> None:
    gathers = [(1_000_000 * i, 1_000_000 * i + 400_000, 0) for i in range(10)]
    reduces = [(1_000_000 * i, 1_000_000 * i + 100_000, 1) for i in range(10, 20)]
    ranks = []
    for p in range(2):
        whole = rank(p, gathers + reduces, size=4 * MIB, window=40_000_000)
        kinds = [CollectiveKind.ALL_GATHER] * 10 + [CollectiveKind.ALL_REDUCE] * 10
        columns = {name: whole.log.ops.array(name) for name in whole.log.ops.COLUMNS}
        ops = type(whole.log.ops).of(**{**columns, "kind": kinds, "communicator": [0] * 20})
        ranks.append(replace(whole, log=replace(whole.log, ops=ops)))
    assert bandwidth.detect(Ranks(tuple(ranks)), everything=True).checks[0].outcome == "clean"


def test_a_rank_that_takes_no_part_was_not_the_fastest() -> None:
    pair = transfers([100_000] * 9 + [400_000], [0] * 10)
    third = rank(2, [(20_000_000, 20_100_000, 1)], size=4 * MIB)
    found = bandwidth.detect(Ranks((*pair.summaries, third)), everything=True).findings[0]
    assert (found.count, found.wait_ns) == (1, 2 * 300_000)


def test_a_transfer_of_three_nanoseconds_has_a_speed_and_one_of_a_nanosecond_loses_nothing() -> None:
    found = bandwidth.detect(transfers([3] * 10, [0] * 10), link_bytes_per_s=1e30, everything=True).findings[0]
    assert found.evidence[1].value == pytest.approx(4 * MIB / 3e-9)
    short = bandwidth.detect(transfers([1] * 10, [0] * 10), link_bytes_per_s=1e30, everything=True)
    assert short.checks[0].outcome == "clean"


def test_the_share_is_rounded_to_a_millionth() -> None:
    found = bandwidth.detect(transfers([100_000] * 19 + [700_000], [0] * 20)).findings[0]
    assert found.share == round(1_200_000 / 84_000_002, 6) == 0.014286
    assert len(found.id) == len("F-") + 6
