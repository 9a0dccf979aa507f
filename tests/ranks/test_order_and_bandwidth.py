from __future__ import annotations

import numpy as np
import pytest

from stallscope.timeline.collectives import CollectiveKind, CollectiveLog, CollectiveOps, Communicator
from stallscope.timeline.intervals import IntervalSet
from stallscope.waits.ranks import bandwidth, order
from stallscope.waits.ranks.base import Ranks, RankSummary, listed
from stallscope.waits.ranks.runner import RULES, compare

A, B = Communicator("tp"), Communicator("dp")


def rank(number: int, rows: list[tuple[int, int, int]], *, size: int = -1, window: int = 10_000_000) -> RankSummary:
    """Rows are (start, end, communicator) in ns; all of it is exposed."""
    rows = sorted(rows)
    starts, ends, groups = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    count = len(rows)
    ops = CollectiveOps.of(
        start_ns=starts,
        end_ns=ends,
        device=[0] * count,
        kind=[CollectiveKind.ALL_REDUCE] * count,
        communicator=groups,
        sequence=[int((groups[:i] == groups[i]).sum()) for i in range(count)],
        bytes=[size] * count,
        group_size=[2] * count,
        source=[-1] * count,
        target=[-1] * count,
    )
    everything = IntervalSet(np.array([0], np.int64), np.array([window], np.int64))
    return RankSummary(
        number, f"rank {number}", "GPU 0", "kernel", 0, window, CollectiveLog(ops, (A, B)), everything, {}
    )


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
