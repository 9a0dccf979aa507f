"""comm.peer_wait: what the finding says of late ranks, of pauses, of noise, and how sure it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rank_rows import rank, taking_part, unnumbered

from stallscope.model.experiments import Prediction
from stallscope.model.findings import Finding
from stallscope.waits.ranks import peer_wait
from stallscope.waits.ranks.base import Ranks

Durations = list[list[int | None]]
TRANSFER = 20_000


def late_by(*rows: list[int], count: int = 1) -> Durations:
    """Time in collectives from how late every rank was against the first to come."""
    return [[max(row) - late + TRANSFER for late in row] for row in rows] * count


def told(ranks: Ranks, *, everything: bool = True) -> Finding:
    return peer_wait.detect(ranks, everything=everything).findings[0]


@pytest.mark.parametrize(("late_ns", "outcome"), [(15_000, "found"), (14_999, "clean")])
def test_waiting_is_told_from_1_percent_of_all_windows(late_ns: int, outcome: str) -> None:
    ranks = taking_part(late_by([0, 0, late_ns], count=20))
    assert peer_wait.detect(ranks).checks[0].outcome == outcome
    assert peer_wait.detect(ranks, everything=True).checks[0].outcome == "found"


@pytest.mark.parametrize(("pause_ns", "named"), [(600_000, True), (599_999, False)])
def test_pauses_count_from_1_percent_of_one_window(pause_ns: int, *, named: bool) -> None:
    """Forty collectives in which the three ranks are 12 µs late by turns, and one pause."""
    turns = [[12_000 * (i % 3 == p) for p in range(3)] for i in range(40)]
    found = told(taking_part(late_by(*turns, [0, 0, pause_ns]), window=60_000_000), everything=False)
    assert ("rank 2" in found.title) is named
    if named:
        values = {e.label: e.value for e in found.evidence}
        assert values["rank 2 arrives late by (mean)"] == 600_000


def test_a_nanosecond_is_late_too_and_without_a_ledger_there_is_no_cause() -> None:
    found = told(taking_part(late_by([0, 0, 1], count=20)))
    assert found.title == "2 ranks wait in collectives for rank 2"
    assert (found.wait_ns, found.count, len(found.spans)) == (40, 40, 20)
    assert (found.recoverable_ns.low, found.recoverable_ns.high) == (12, 40)
    assert [(e.label, e.value, e.unit, e.source) for e in found.evidence] == [
        ("collectives compared", 20, "count", "kernel"),
        ("waiting for late ranks, all ranks", 40, "ns", "kernel"),
        ("noise of one arrival (1 sigma)", 0, "ns", "kernel"),
        ("clock alignment error (1 sigma)", 0, "ns", "kernel"),
        ("rank 2 arrives late by (mean)", 1, "ns", "kernel"),
        ("rank 2 arrives last", 20, "count", "kernel"),
    ]
    first, second = found.experiments
    assert first.title == "Bring rank 2 in line with the others"
    assert first.change == "Remove unknown.unattributed on rank 2"
    assert first.expect == Prediction(metric="comm.peer_wait", low=12, high=40)
    assert (first.numerics, second.numerics, second.effort) == ("bit-identical", "bit-identical", "flag")
    assert second.change.startswith("Swap the host of rank 2 with another one")


def test_ranks_that_are_late_by_turns_are_noise_and_a_note() -> None:
    turns = [[5_000 * (i % 3 == p) for p in range(3)] for i in range(30)]
    found = told(taking_part(late_by(*turns), window=60_000_000))
    assert found.title == "Ranks wait for each other in collectives by turns; no rank stands out"
    assert (found.severity, found.evidence_level, found.experiments) == ("note", "indicated", ())
    assert (found.recoverable_ns.high, found.recoverable_ns.assumes) == (0, "arrival noise stays")
    assert found.wait_ns == 30 * 2 * 5_000
    assert len(found.spans) == 20  # the rank that waits most, where it waits at all


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([[0, 0, 9_000], [9_000, 0, 0]], "Pauses of 2 ranks by turns hold up all the others"),
        ([[0, 0, 9_000]], "2 ranks wait in collectives for rank 2"),
        ([[0, 9_000]], "1 rank waits in collectives for rank 1"),
        ([[0, 0, 9_000, 0], [9_000, 0, 0, 0]], "2 ranks wait in collectives for ranks 0 and 2"),
    ],
)
def test_pauses_of_more_ranks_than_wait_are_told_as_such(rows: list[list[int]], title: str) -> None:
    found = told(taking_part(late_by(*rows) + late_by([0] * len(rows[0]), count=30)))
    assert found.title == title


def test_two_stragglers_of_three_are_no_pauses_by_turns() -> None:
    found = told(taking_part(late_by([0, 50_000, 80_000], count=20)))
    assert found.title == "1 rank waits in collectives for ranks 2 and 1"
    assert found.wait_ns == 20 * (80_000 + 30_000)
    assert found.recoverable_ns.high == 20 * (40_000 + 30_000)  # then rank 1 is the last, 40 late
    assert found.recoverable_ns.assumes == "ranks 2 and 1 arrive with the others; the transfer itself stays"


def test_a_rank_that_misses_some_collectives_waits_in_the_others() -> None:
    rows = late_by([0, 0, 0, 70_000], count=20)
    rows[3] = [None, *rows[3][1:]]
    found = told(taking_part(rows))
    assert found.title == "3 ranks wait in collectives for rank 3"
    assert found.wait_ns == 59 * 70_000


def test_at_most_four_late_ranks_are_described_one_by_one() -> None:
    found = told(taking_part(late_by([0] * 12 + [50_000] * 5, count=20)))
    assert sum("arrives last" in e.label for e in found.evidence) == 4
    assert "ranks 12, 13, 14, 15 and 1 other" in found.title


def test_the_fifty_longest_waits_are_shown_on_the_clock_of_the_rank_that_waits_most() -> None:
    ranks = taking_part(late_by(*[[0, 0, 30_000 + i] for i in range(60)]), window=60_000_000)
    origin = 10**12
    ranks = Ranks((replace(ranks.summaries[0], origin_ns=origin, table="other"), *ranks.summaries[1:]))
    found = told(ranks)
    starts = [1_000_000 * (i + 1) - 50_000 - i for i in range(10, 60)]
    assert found.spans == tuple((start, start + 30_000 + i) for i, start in enumerate(starts, start=10))
    assert found.caveats[-1] == "spans are on the clock of rank 0"
    assert {e.source for e in found.evidence} == {"other"}


def overlapping() -> Ranks:
    """Two communicators at the same time: rank 1 is late in both, and rank 0 waits in both at once."""
    spans = [(1_000_000 * i, 1_000_000 * i + 100_000, g) for i in range(20) for g in (0, 1)]
    late = [(start + 80_000, end, g) for start, end, g in spans]
    return Ranks((rank(0, spans, window=20_000_000), rank(1, late, window=20_000_000)))


def test_waiting_in_two_collectives_at_once_is_worth_its_time_once() -> None:
    found = told(overlapping())
    assert found.wait_ns == found.recoverable_ns.high == 20 * 80_000
    assert found.count == 40


@pytest.mark.parametrize(("hidden", "caveats"), [((), 0), ((1,), 1), ((0, 1), 1)])
def test_one_communicator_without_numbers_is_a_caveat(hidden: tuple[int, ...], caveats: int) -> None:
    ranks = unnumbered(overlapping(), *hidden) if hidden else overlapping()
    assert sum("matched by their order" in c for c in told(ranks).caveats) == caveats


def test_a_rank_that_takes_no_part_starts_last_nowhere() -> None:
    rows: Durations = [[*row, None] for row in late_by([0, 0, 50_000], count=20)]
    rows += [[TRANSFER, None, None, TRANSFER]]
    found = told(unnumbered(taking_part(rows)))
    assert found.evidence_level == "supported"


@pytest.mark.parametrize(("group", "missing"), [(3, False), (4, True)])
def test_one_rank_without_a_trace_may_be_the_late_one(group: int, *, missing: bool) -> None:
    rows = [[(1_000_000 * i, 1_000_000 * i + d, 0) for i in range(20)] for d in (90_000, 90_000, 20_000)]
    found = told(Ranks(tuple(rank(r, own, group=group, window=20_000_000) for r, own in enumerate(rows))))
    assert any(c.startswith("1 of the group's ranks are not among the traces") for c in found.caveats) is missing


def test_the_largest_cause_names_the_experiment_and_traces_the_blame() -> None:
    rows = late_by([0, 0, 50_000], count=20)
    before = {2: {"host.busy": [20_000] * 20, "input.wait": [30_000] * 20}}
    outcome = peer_wait.detect(taking_part(rows, before=before))
    found = outcome.findings[0]
    assert outcome.traced == ((2, "input.wait"),)
    assert found.title.endswith("for rank 2, held up there by input.wait")
    assert [(e.label, e.value) for e in found.evidence if e.source == "ledger"] == [
        ("rank 2: input.wait beyond the others before arriving", 600_000),
        ("rank 2: host.busy beyond the others before arriving", 400_000),
    ]
    first = found.experiments[0]
    assert (first.change, first.apply) == ("Remove input.wait on rank 2", ("stallscope explain input.wait",))
    assert first.numerics == "bit-identical"


def test_a_rank_that_computes_longer_has_more_work_and_balancing_changes_results() -> None:
    rows = late_by([0, 0, 50_000], count=20)
    found = told(taking_part(rows, before={2: {"ok.compute": [50_000] * 20}}))
    assert found.title.endswith("for rank 2, busy computing longer than the others")
    first = found.experiments[0]
    assert first.change == "Give every rank the same amount of work"
    assert first.apply == ("balance batch, sequence or expert load per rank",)
    assert (first.numerics, first.expect) == (
        "fp64-gate",
        Prediction(metric="comm.peer_wait", low=600_000, high=2_000_000),
    )


def test_the_id_of_a_finding_is_six_digits_of_its_ranks() -> None:
    one, other = (told(taking_part(late_by([0, 0, 50_000], count=count))) for count in (20, 21))
    assert len(one.id) == len("F-") + 6
    assert one.id != other.id
    assert one.devices == ("GPU 0",) * 3
    assert one.share == round(40 * 50_000 / 60_000_000, 6) == 0.033333
