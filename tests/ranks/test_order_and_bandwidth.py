from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rank_rows import rank, unnumbered

from stallscope.timeline.collectives import CollectiveKind
from stallscope.waits.ranks import bandwidth, order, peer_wait
from stallscope.waits.ranks.base import Ranks, listed
from stallscope.waits.ranks.runner import RULES, compare


def crossed(count: int) -> Ranks:
    """Rank 0 runs A then B, rank 1 B then A: each waits 40 µs in its first one for the other's second."""
    first = [(100_000 * i, 100_000 * i + 50_000, 0) for i in range(count)]
    first += [(100_000 * i + 50_000, 100_000 * i + 60_000, 1) for i in range(count)]
    second = [(100_000 * i + 10_000, 100_000 * i + 30_000, 1) for i in range(count)]
    second += [(100_000 * i + 40_000, 100_000 * i + 50_000, 0) for i in range(count)]
    return Ranks((rank(0, first, window=100_000 * count), rank(1, second, window=100_000 * count)))


def test_crossed_communicators_are_found() -> None:
    outcome = order.detect(crossed(20))
    assert outcome.checks[0].outcome == "found"
    finding = outcome.findings[0]
    assert finding.count == 40
    assert not finding.ledger
    assert "dp and tp" in finding.title
    # Rank 0 waits 40 µs in A, rank 1 waits 10 µs in B, in each of 20 rounds.
    assert finding.wait_ns == 20 * (40_000 + 10_000)


def test_one_order_on_all_ranks_is_clean() -> None:
    rows = [(100_000 * i + 50_000 * g, 100_000 * i + 50_000 * g + 20_000, g) for i in range(20) for g in (0, 1)]
    late = [(start + 5_000 * (n % 2), end, group) for n, (start, end, group) in enumerate(rows)]
    assert order.detect(Ranks((rank(0, rows), rank(1, late)))).checks[0].outcome == "clean"
    only = [row for row in rows if row[2] == 0]
    assert order.detect(Ranks((rank(0, only), rank(1, only)))).checks[0].outcome == "not_applicable"


def transfers(slow: int) -> Ranks:
    """32 MiB in 100 µs (335 GB/s bus bandwidth for two ranks), `slow` of 40 in 400 µs."""
    rows = [(1_000_000 * i, 1_000_000 * i + (400_000 if i < slow else 100_000), 0) for i in range(40)]
    return Ranks(tuple(rank(r, rows, size=32 << 20, window=40_000_000) for r in range(2)))


def test_slow_transfers_stand_out_against_the_runs_own_best() -> None:
    finding = bandwidth.detect(transfers(8)).findings[0]
    assert finding.count == 8
    assert finding.wait_ns == 2 * 8 * 300_000
    assert finding.evidence_level == "indicated"
    values = {item.label: item.value for item in finding.evidence}
    assert values["bus bandwidth of the slow ones (median)"] == pytest.approx((32 << 20) / 400e-6, rel=1e-6)
    assert values["bus bandwidth of the run's own best transfers"] == pytest.approx((32 << 20) / 100e-6, rel=1e-6)
    assert bandwidth.detect(transfers(0)).checks[0].outcome == "clean"


def test_a_calibrated_link_judges_all_transfers() -> None:
    finding = bandwidth.detect(transfers(0), link_bytes_per_s=900e9).findings[0]
    assert finding.count == 40
    assert finding.evidence_level == "supported"


def test_without_sizes_the_bandwidth_cannot_be_told() -> None:
    rows = [(100_000 * i, 100_000 * i + 50_000, 0) for i in range(40)]
    check = bandwidth.detect(Ranks((rank(0, rows), rank(1, rows)))).checks[0]
    assert check.outcome == "not_applicable"
    assert "recorded size" in check.reason


def test_a_broken_rule_is_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise ValueError("no")

    monkeypatch.setitem(RULES, "comm.order", broken)  # type: ignore[arg-type]
    checks = {check.wait: check for check in compare(crossed(5)).checks}
    assert (checks["comm.order"].outcome, checks["comm.order"].reason) == ("failed", "ValueError: no")
    assert checks["comm.peer_wait"].outcome in ("found", "clean")


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["rank 3"], "rank 3"),
        (["rank 3", "rank 5"], "ranks 3 and 5"),
        (["rank 0 GPU 1", "rank 1 GPU 0"], "rank 0 GPU 1 and rank 1 GPU 0"),
        ([f"rank {r}" for r in range(6)], "ranks 0, 1, 2, 3 and 2 others"),
    ],
)
def test_lists_of_ranks(labels: list[str], text: str) -> None:
    assert listed(labels) == text


def alike(lengths: list[int], *, size: int = 4 << 20, window: int = 40_000_000, **of: object) -> Ranks:
    """Two ranks that run the same transfers of these lengths in ns, a millisecond apart."""
    rows = [(1_000_000 * i, 1_000_000 * i + length, 0) for i, length in enumerate(lengths)]
    return Ranks(tuple(rank(r, rows, size=size, window=window, **of) for r in range(2)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "count", "outcome"),
    [(4 << 20, 10, "found"), ((4 << 20) - 1, 10, "not_applicable"), (4 << 20, 9, "not_applicable")],
)
def test_ten_transfers_of_4_mib_are_compared(size: int, count: int, outcome: str) -> None:
    ranks = alike([100_000] * count, size=size)
    assert bandwidth.detect(ranks, link_bytes_per_s=900e9).checks[0].outcome == outcome


@pytest.mark.parametrize(("slow_ns", "count"), [(200_000, 0), (200_010, 1)])
def test_slow_is_below_half_of_the_best(slow_ns: int, count: int) -> None:
    found = bandwidth.detect(alike([slow_ns] + [100_000] * 39), everything=True).findings
    assert sum(f.count for f in found) == count


@pytest.mark.parametrize(("lost_ns", "outcome"), [(400_000, "found"), (399_999, "clean")])
def test_slow_transfers_are_told_from_1_percent_of_all_windows(lost_ns: int, outcome: str) -> None:
    ranks = alike([100_000 + lost_ns] + [100_000] * 39)
    checks = bandwidth.detect(ranks).checks
    assert checks[0].outcome == outcome
    assert checks[0].reason == ("" if outcome == "found" else "40 transfers compared")
    assert bandwidth.detect(ranks, everything=True).checks[0].outcome == "found"


@pytest.mark.parametrize(
    ("kind", "group", "factor"),
    [
        (CollectiveKind.ALL_REDUCE, 2, 1.0),
        (CollectiveKind.ALL_REDUCE, 8, 1.75),
        (CollectiveKind.ALL_GATHER, 8, 0.875),
        (CollectiveKind.REDUCE_SCATTER, 8, 0.875),
        (CollectiveKind.ALL_TO_ALL, 4, 0.75),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(kind: CollectiveKind, group: int, factor: float) -> None:
    finding = bandwidth.detect(alike([100_000] * 10, kind=kind, group=group), link_bytes_per_s=900e9).findings[0]
    assert finding.evidence[1].value == round((4 << 20) * factor / 100e-6)


def test_a_slow_link_states_its_evidence_and_worth() -> None:
    own, link = bandwidth.detect(transfers(8)).findings[0], bandwidth.detect(transfers(0), link_bytes_per_s=1e12)
    assert [(e.value, e.unit, e.source) for e in own.evidence] == [
        (8, "count", "kernel"),
        (83_886_080_000, "bytes/s", "kernel"),
        (335_544_320_000, "bytes/s", "kernel"),
    ]
    assert (own.severity, own.share, own.ledger) == ("warning", 0.06, False)
    assert (own.recoverable_ns.low, own.recoverable_ns.high) == (1_440_000, 4_800_000)
    assert "run nccl-tests" in own.caveats[0]
    assert len(link.findings[0].caveats) == 1
    assert "calibrated link" in link.findings[0].title
    assert [e.value for e in link.findings[0].evidence] == [40, 335_544_320_000, 1_000_000_000_000]


def one_late(*, count: int = 20, late_ns: int = 80_000, window: int = 20_000_000, group: int = 3) -> Ranks:
    """Three ranks in collectives of 20 µs; the last comes `late_ns` after the others, held up by its input."""
    length = late_ns + 20_000
    first = [(1_000_000 * i, 1_000_000 * i + length, 0) for i in range(count)]
    last = [(start + late_ns, end, 0) for start, end, _ in first]
    ranks = [rank(r, first if r < 2 else last, window=window, group=group) for r in range(3)]
    ranks[2] = replace(ranks[2], before={"input.wait": np.full(count, late_ns)})
    return Ranks(tuple(ranks))


def test_a_late_rank_is_named_with_what_the_others_wait_and_why() -> None:
    outcome = peer_wait.detect(one_late())
    found = outcome.findings[0]
    assert found.title == "2 ranks wait in collectives for rank 2, held up there by input.wait"
    assert (found.wait_ns, found.count, found.share) == (2 * 20 * 80_000, 40, round(3.2 / 60, 6))
    assert (found.recoverable_ns.low, found.recoverable_ns.high) == (960_000, 3_200_000)
    assert found.recoverable_ns.assumes == "rank 2 arrives with the others; the transfer itself stays"
    assert (found.severity, found.evidence_level) == ("warning", "supported")
    assert found.spans == tuple((1_000_000 * i, 1_000_000 * i + 80_000) for i in range(20))
    assert found.caveats == ("spans are on the clock of rank 0",)
    facts = {e.label: (e.value, e.unit, e.source) for e in found.evidence}
    assert facts["collectives compared"] == (20, "count", "kernel")
    assert facts["waiting for late ranks, all ranks"] == (3_200_000, "ns", "kernel")
    assert facts["rank 2 arrives late by (mean)"] == (80_000, "ns", "kernel")
    assert facts["rank 2 arrives last"] == (20, "count", "kernel")
    assert facts["rank 2: input.wait beyond the others before arriving"] == (1_600_000, "ns", "ledger")
    assert outcome.traced == ((2, "input.wait"),)
    assert {p: spans.total_ns() for p, spans in outcome.moved.items()} == {0: 1_600_000, 1: 1_600_000, 2: 0}
    assert [e.expect.high for e in found.experiments if e.expect] == [3_200_000]


@pytest.mark.parametrize(("late_ns", "severity"), [(150_000, "error"), (149_999, "warning")])
def test_waiting_for_a_rank_is_an_error_from_a_tenth_of_all_windows(late_ns: int, severity: str) -> None:
    assert peer_wait.detect(one_late(late_ns=late_ns)).findings[0].severity == severity


def test_ranks_that_no_trace_shows_are_counted() -> None:
    assert peer_wait.detect(one_late(group=8)).findings[0].caveats[0].startswith("5 of the group's ranks are not")


def test_at_most_fifty_waits_are_shown_and_one_rank_alone_is_not_compared() -> None:
    assert len(peer_wait.detect(one_late(count=60, window=60_000_000)).findings[0].spans) == 50
    alone = peer_wait.detect(Ranks(one_late().summaries[:1])).checks[0]
    assert (alone.outcome, alone.reason) == (
        "not_applicable",
        "needs the traces of several ranks: stallscope analyze ranks/*",
    )


def test_ranks_that_arrive_together_are_clean() -> None:
    outcome = peer_wait.detect(one_late(late_ns=0))
    assert (outcome.checks[0].outcome, outcome.findings) == ("clean", ())
    assert outcome.checks[0].reason.startswith("20 collectives compared")


def test_the_transfer_is_the_time_of_the_rank_that_came_last() -> None:
    rows = [(1_000_000 * i, 1_000_000 * i + 100_000, 0) for i in range(10)]
    early = [(start - 400_000, end, 0) for start, end, _ in rows[1:]]
    ranks = Ranks((rank(0, rows[1:] + rows[:1], size=4 << 20), rank(1, rows[:1] + early, size=4 << 20)))
    finding = bandwidth.detect(ranks, link_bytes_per_s=900e9).findings[0]
    assert finding.evidence[1].value == round((4 << 20) / 100e-6)


def test_ranks_that_overlap_two_communicators_are_in_no_order() -> None:
    """Rank 0 ends A before B, rank 1 runs both at once: nothing is crossed."""
    first = [(100_000 * i + 50_000 * g, 100_000 * i + 50_000 * g + 20_000, g) for i in range(20) for g in (0, 1)]
    second = [(100_000 * i, 100_000 * i + 70_000, g) for i in range(20) for g in (0, 1)]
    assert order.detect(Ranks((rank(0, first), rank(1, second)))).checks[0].outcome == "clean"


def test_crossed_communicators_state_their_number_and_worth() -> None:
    found = order.detect(crossed(20)).findings[0]
    assert (found.severity, found.evidence_level, found.share) == ("warning", "indicated", 0.25)
    assert found.evidence[0].value == 40
    assert 0 <= found.recoverable_ns.low <= found.recoverable_ns.high <= found.wait_ns


def test_without_sequence_numbers_starts_that_agree_with_durations_support_the_verdict() -> None:
    """The last rank spends least, and on the common clock it also starts last: two witnesses."""
    found = peer_wait.detect(unnumbered(one_late())).findings[0]
    assert any("matched by their order" in caveat for caveat in found.caveats)
    assert found.evidence_level == "supported"
