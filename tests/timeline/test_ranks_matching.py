from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.model.columns import NO_ROW
from stallscope.timeline.clocks import align_clocks
from stallscope.timeline.collectives import CollectiveKind, CollectiveLog, CollectiveOps, Communicator, kind_of
from stallscope.timeline.order import order_shift
from stallscope.timeline.ranks import Instances, Participant, match_collectives

WORLD = Communicator("0")


def log(
    starts: list[int],
    ends: list[int],
    *,
    sequence: list[int] | None = None,
    kind: int | list[int] = CollectiveKind.ALL_REDUCE,
    group: int | list[int] = 0,
    communicators: tuple[Communicator, ...] = (WORLD,),
    source: list[int] | None = None,
    target: list[int] | None = None,
) -> CollectiveLog:
    n = len(starts)
    none = [-1] * n
    ops = CollectiveOps.of(
        start_ns=starts,
        end_ns=ends,
        device=[0] * n,
        kind=np.broadcast_to(kind, n),
        communicator=np.broadcast_to(group, n),
        sequence=none if sequence is None else sequence,
        bytes=[1000] * n,
        group_size=[2] * n,
        source=none if source is None else source,
        target=none if target is None else target,
    )
    return CollectiveLog(ops, communicators)


def pairs(found: Instances) -> list[list[int]]:
    return found.row.tolist()  # type: ignore[no-any-return]


def test_sequence_numbers_match_whatever_the_order() -> None:
    left = Participant(0, log([0, 100, 200], [10, 110, 210], sequence=[5, 6, 7]))
    right = Participant(1, log([0, 100, 200], [10, 110, 210], sequence=[7, 6, 9]))
    found = match_collectives([left, right])
    assert sorted(pairs(found)) == [[1, 1], [2, 0]]
    assert found.by_sequence.all()
    assert found.expected.tolist() == [2, 2]


def test_kernels_of_one_coalesced_collective_share_a_number() -> None:
    one = Participant(0, log([0, 10], [5, 15], sequence=[3, 3]))
    other = Participant(1, log([1, 11], [5, 15], sequence=[3, 3]))
    assert pairs(match_collectives([one, other])) == [[0, 0], [1, 1]]


def test_communicators_are_kept_apart_by_name_and_members() -> None:
    groups = (Communicator("1", (0, 1)), Communicator("1", (2, 3)))
    a = Participant(0, log([0], [9], sequence=[1], communicators=groups[:1]))
    b = Participant(1, log([1], [9], sequence=[1], communicators=groups[:1]))
    c = Participant(2, log([2], [9], sequence=[1], communicators=groups[1:]))
    d = Participant(3, log([3], [9], sequence=[1], communicators=groups[1:]))
    found = match_collectives([a, b, c, d])
    assert sorted(pairs(found)) == [[NO_ROW, NO_ROW, 0, 0], [0, 0, NO_ROW, NO_ROW]]
    assert found.expected.tolist() == [2, 2]


def test_point_to_point_transfers_match_by_their_peers() -> None:
    kinds = [CollectiveKind.SEND_RECV] * 2
    a = Participant(0, log([0, 20], [9, 29], kind=kinds, source=[0, 1], target=[1, 0], sequence=[1, 1]))
    b = Participant(1, log([1, 21], [9, 29], kind=kinds, source=[1, 0], target=[0, 1], sequence=[1, 1]))
    assert sorted(pairs(match_collectives([a, b]))) == [[0, 1], [1, 0]]


def test_without_numbers_the_order_counts_shifted_to_where_the_captures_meet() -> None:
    random = np.random.default_rng(1)
    ends = np.cumsum(random.integers(900_000, 1_100_000, 40))
    whole = Participant(0, log((ends - 100).tolist(), ends.tolist()))
    later = (ends[7:] + 5_000_000_000 + random.integers(-900, 900, 33)).tolist()
    late = Participant(1, log([e - 50 for e in later], later))
    found = match_collectives([whole, late])
    assert pairs(found) == [[row, row - 7] for row in range(7, 40)]
    assert not found.by_sequence.any()


def test_periodic_steps_do_not_invite_a_shift() -> None:
    ends = np.arange(1, 30) * 1_000_000
    token = np.zeros(29, np.int64)
    assert order_shift((token, ends), (token, ends + 77)) == 0


def test_orders_that_contradict_each_other_are_not_shifted() -> None:
    ends = np.cumsum(np.random.default_rng(2).integers(900_000, 1_100_000, 20))
    assert order_shift((np.arange(20), ends), (100 + np.arange(20), ends)) == 0


def test_one_rank_alone_matches_nothing() -> None:
    found = match_collectives([Participant(0, log([0], [1])), Participant(1, log([], []))])
    assert len(found) == 0
    assert np.isinf(align_clocks(found).error_ns).all()


@given(
    offsets=st.lists(st.integers(-(10**17), 10**17), min_size=2, max_size=6),
    drift=st.floats(-5e-5, 5e-5),
    seed=st.integers(0, 1000),
)
def test_clocks_are_recovered_to_the_noise_of_the_ends(offsets: list[int], drift: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    true = np.cumsum(random.integers(900_000, 1_100_000, 60))
    ranks = []
    for rank, offset in enumerate(offsets):
        rate = drift if rank == 1 else 0.0
        noise = np.rint(random.normal(0, 1_000, 60)).astype(np.int64)
        ends = np.rint(true * (1 + rate)).astype(np.int64) + offset + noise
        ranks.append(Participant(rank, log((ends - 100).tolist(), ends.tolist(), sequence=list(range(60)))))
    clocks = align_clocks(found := match_collectives(ranks))
    common = clocks.common(found.end_ns)
    assert np.abs(common - np.median(common, axis=1, keepdims=True)).max() < 10_000
    assert (clocks.error_ns < 3_000).all()
    assert (clocks.component == 0).all()


def test_ranks_without_a_common_collective_are_told_apart() -> None:
    groups = (Communicator("a"), Communicator("b"))
    make = lambda rank, group: Participant(rank, log([0, 50], [9, 59], sequence=[1, 2], communicators=(groups[group],)))  # noqa: E731
    clocks = align_clocks(match_collectives([make(0, 0), make(1, 1), make(2, 0), make(3, 1)]))
    assert clocks.component.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", CollectiveKind.ALL_REDUCE),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_float", CollectiveKind.REDUCE_SCATTER),
        ("_allgather_base", CollectiveKind.ALL_GATHER),
        ("nccl:all_to_all", CollectiveKind.ALL_TO_ALL),
        ("all_to_allv", CollectiveKind.ALL_TO_ALL),
        ("ncclDevKernel_SendRecv", CollectiveKind.SEND_RECV),
        ("ncclDevKernel_Broadcast_RING_LL", CollectiveKind.BROADCAST),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", CollectiveKind.REDUCE),
        ("ncclDevKernel_Generic", CollectiveKind.UNKNOWN),
        ("cross_device_reduce_1stage", CollectiveKind.ALL_REDUCE),
    ],
)
def test_kinds_from_every_spelling(text: str, kind: CollectiveKind) -> None:
    assert kind_of(text) == kind
