"""Clocks of ranks on small matches: every number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from stallscope.model.columns import NO_ROW
from stallscope.timeline.clocks import MIN_FOR_DRIFT, align_clocks
from stallscope.timeline.collectives import CollectiveKind, Communicator
from stallscope.timeline.ranks import Instances


def instances(
    ends: Sequence[Sequence[int | None]], kind: CollectiveKind | list[CollectiveKind] = CollectiveKind.ALL_REDUCE
) -> Instances:
    """One row a collective, one end a participant; None is absent."""
    present = np.array([[end is not None for end in row] for row in ends])
    end = np.array([[end or 0 for end in row] for row in ends], np.int64)
    n = len(ends)
    return Instances(
        row=np.where(present, np.arange(n)[:, None], NO_ROW),
        start_ns=np.where(present, end - 10, 0),
        end_ns=end,
        kind=np.broadcast_to(np.array(kind, np.int8), n),
        bytes=np.zeros(n, np.int64),
        expected=np.full(n, 2),
        by_sequence=np.ones(n, np.bool_),
        communicator=np.zeros(n, np.int64),
        communicators=(Communicator("0"),),
    )


def test_constant_offsets_are_exact() -> None:
    """Clock 1 is 500 ns ahead and clock 2 a day behind; clock 0 is the common one."""
    day = 86_400 * 10**9
    ends = [[t, t + 500, t - day] for t in (day + 7_000, day + 8_000, day + 9_500)]
    found = align_clocks(instances(ends))
    assert found.offset_ns.tolist() == [0, 500, -day]
    assert found.zero_ns == day + 7_000
    assert found.drift.tolist() == [0, 0, 0]
    assert found.error_ns.tolist() == [0, 0, 0]
    assert found.component.tolist() == [0, 0, 0]
    assert found.common(np.array(ends)).tolist() == [[0, 0, 0], [1_000] * 3, [2_500] * 3]


def test_offsets_are_chained_through_ranks_that_share_a_collective() -> None:
    """0 and 2 meet only through 1; 3 and 4 meet nobody else; 5 took part in nothing."""
    ends: list[list[int | None]] = [
        [1_000, 1_100, None, None, None, None],
        [None, 2_100, 2_130, None, None, None],
        [None, None, None, 50, 90, None],
    ]
    found = align_clocks(instances(ends))
    assert found.component.tolist() == [0, 0, 0, 3, 3, 5]
    assert found.offset_ns.tolist() == [0, 100, 130, 0, 40, 0]
    assert found.error_ns.tolist() == [0, 0, 0, 0, 0, np.inf]


def test_collectives_that_do_not_synchronize_tell_nothing() -> None:
    kinds = [CollectiveKind.ALL_REDUCE, CollectiveKind.BROADCAST, CollectiveKind.SEND_RECV]
    found = align_clocks(instances([[100, 130], [200, 9_000], [300, 8_000]], kinds))
    assert found.offset_ns.tolist() == [0, 30]
    none = align_clocks(instances([[100, 130]], CollectiveKind.BROADCAST))
    assert (none.zero_ns, none.offset_ns.tolist()) == (0, [0, 0])
    assert np.isinf(none.error_ns).all()


@pytest.mark.parametrize(("count", "drift"), [(MIN_FOR_DRIFT, 40), (MIN_FOR_DRIFT - 1, 0)])
def test_a_drift_takes_twelve_collectives(count: int, drift: float) -> None:
    """Clock 1 runs 40 ppm fast; against the median of two clocks each drifts by half of it, with the other sign."""
    ends = [[10**9 * k, 10**9 * k + 40_000 * k] for k in range(1, count + 1)]
    found = align_clocks(instances(ends))
    assert (found.drift[1] - found.drift[0]) * 1e6 == pytest.approx(drift, abs=0.01)
    common = found.common(np.array(ends))
    assert np.abs(common[:, 1] - common[:, 0]).max() < (2 if drift else 250_000)


@pytest.mark.parametrize(("ppm", "drift"), [(900, 9e-4), (2_500, 0)])
def test_a_clock_that_is_off_by_more_than_a_thousandth_does_not_drift(ppm: int, drift: float) -> None:
    ends = [[10**6 * k, 10**6 * k, 10**6 * k + ppm * k] for k in range(1, 20)]
    found = align_clocks(instances(ends))
    assert found.drift.tolist() == pytest.approx([0, 0, drift])


def test_the_error_is_the_spread_of_the_ends() -> None:
    """Rank 2 leaves 0, 30, -30, … ns apart from the two others: median deviation 30, one sigma 44.478 ns."""
    spread = [0, 30, -30, 30, -30]
    found = align_clocks(instances([[1_000 * k, 1_000 * k, 1_000 * k + s] for k, s in enumerate(spread, start=1)]))
    assert found.error_ns.tolist() == pytest.approx([0, 0, 1.4826 * 30])
    assert found.offset_ns.tolist() == [0, 0, 0]


def test_offsets_settle_at_the_median_difference() -> None:
    """Clock 1 is 10 and 30 ns ahead; the tree of offsets begins with 30. Clock 0 misses the third collective."""
    found = align_clocks(instances([[1_000, 1_010, None], [2_000, 2_030, None], [None, 3_020, 3_020]]))
    assert found.offset_ns.tolist()[0] == 0
    assert found.offset_ns.tolist()[1:] == pytest.approx([20, 20], abs=1)
    assert found.error_ns.tolist()[:2] == pytest.approx([1.4826 * 5, 1.4826 * 5], abs=1.5)
