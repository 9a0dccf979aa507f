from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from stallscope_probes.catalogue import discover
from stallscope_probes.gains import Timing, gain, paired_difference
from stallscope_probes.gatekeeping import judge_results
from stallscope_probes.samples import label_of, load_expected
from stallscope_probes.scoreboard import FILE, CaptureRow, Scoreboard, capture_row
from stallscope_probes.scoreboard_page import page
from stallscope_probes.verdicts import (
    Label,
    Verdict,
    analyze_file,
    confusions,
    decoy_alarms,
    false_alarms,
    macro_f1,
    missed,
    scores,
    verdict_of,
)

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
BOARD = msgspec.json.decode((SAMPLES / FILE).read_bytes(), type=Scoreboard)
EXPECTED = load_expected(SAMPLES)
LABELS = {label.file: label for expected in EXPECTED for label in expected.captures}
AGAIN = (
    "run `stallscope probe score sample_traces --page docs/scoreboard.md` when the change is meant, and read the diff"
)


@pytest.mark.parametrize("row", BOARD.captures, ids=lambda row: row.file)
def test_verdict_on_a_committed_capture_is_the_recorded_one(row: CaptureRow) -> None:
    found = capture_row(LABELS[row.file], verdict_of(row.file, analyze_file(SAMPLES / row.file)))
    assert set(found.alarms) == set(row.alarms), AGAIN
    assert (found.missed, found.false_alarms) == (row.missed, row.false_alarms), AGAIN


def test_committed_labels_are_those_of_the_families() -> None:
    for expected in EXPECTED:
        family = next(family for family in discover() if family.name == expected.family)
        for label in expected.captures:
            assert label == label_of(family, family.variant(label.variant), label.repeats), label.file


def test_every_labelled_capture_is_scored() -> None:
    assert {row.file for row in BOARD.captures} == set(LABELS)
    assert len({label.family for label in LABELS.values()}) >= 20


def test_validation_verdicts_are_the_recorded_ones() -> None:
    found = [row for expected in EXPECTED for row in judge_results(SAMPLES, expected)]
    assert [(row.family, row.variant, row.found) for row in found] == [
        (row.family, row.variant, row.found) for row in BOARD.results
    ], AGAIN


def test_page_is_generated_from_the_committed_score() -> None:
    assert (ROOT / "docs" / "scoreboard.md").read_text(encoding="utf-8") == page(BOARD), AGAIN


def test_totals_follow_from_the_rows() -> None:
    assert sum(row.missed for row in BOARD.ids) == sum(len(row.missed) for row in BOARD.captures)
    assert sum(row.false_alarms for row in BOARD.ids) == sum(len(row.false_alarms) for row in BOARD.captures)
    assert sum(row.contained for row in BOARD.gains) == BOARD.gains_contained
    assert pytest.approx(sum(row.f1 for row in BOARD.ids) / len(BOARD.ids), abs=1e-3) == BOARD.macro_f1


def test_every_missed_gain_has_its_reason() -> None:
    assert [f"{row.family}/{row.bad}" for row in BOARD.gains if not row.contained and not row.reason] == []


def label(file: str, role: str, *expect: str, must_not: tuple[str, ...] = (), may: tuple[str, ...] = ()) -> Label:
    return Label(
        file=file, family="f", variant=file, role=role, expect=expect, must_not=must_not, may=may, fix="x", repeats=10
    )


def verdict(file: str, alarms: dict[str, float], notes: dict[str, float] | None = None) -> Verdict:
    bounds = dict.fromkeys(alarms, (1000, 3000))
    return Verdict(file=file, alarms=alarms, notes=notes or {}, unattributed_of_idle=0.0, recoverable_ns=bounds)


SMALL = [
    (label("a", "bad", "launch.gap"), verdict("a", {"launch.gap": 0.5, "host.busy": 0.1})),
    (label("b", "bad", "launch.gap", "launch.drain"), verdict("b", {"sync.device": 0.5}, {"launch.drain": 0.2})),
    (
        label("c", "decoy", must_not=("launch.gap",), may=("host.busy",)),
        verdict("c", {"launch.gap": 0.02, "host.busy": 1}),
    ),
    (label("d", "fixed"), verdict("d", {"env.shared_gpu": 0.5})),
]


def test_missed_and_false_alarms_of_small_cases() -> None:
    assert [missed(*pair) for pair in SMALL] == [(), ("launch.gap",), (), ()]
    assert [false_alarms(*pair) for pair in SMALL] == [("host.busy",), ("sync.device",), ("launch.gap",), ()]


def test_precision_recall_and_f1_by_hand() -> None:
    rows = {row.wait: row for row in scores(SMALL)}
    gap = rows["launch.gap"]
    assert (gap.found, gap.missed, gap.false_alarms) == (1, 1, 1)
    assert (gap.precision, gap.recall, gap.f1) == (0.5, 0.5, 0.5)
    assert rows["launch.drain"].f1 == 1.0
    assert rows["host.busy"].f1 == rows["sync.device"].f1 == 0.0
    assert macro_f1(rows.values()) == pytest.approx((0.5 + 1.0) / 4)


def test_confusions_and_decoys_by_hand() -> None:
    assert confusions(SMALL) == {("launch.gap", "sync.device"): 1}
    assert decoy_alarms(SMALL) == (("c", "launch.gap"),)


def test_difference_is_paired_block_by_block() -> None:
    middle, (low, high) = paired_difference([110, 210, 310], [100, 200, 300])
    assert (middle, low, high) == (10, 10, 10)


@pytest.mark.parametrize(("bad_ns", "word"), [(350, "inside"), (90, "below"), (460, "above")])
def test_gain_is_inside_when_the_intervals_meet(bad_ns: int, word: str) -> None:
    timing = Timing(family="f", bad="a", fixed="x", bad_ns=(bad_ns,) * 12, fixed_ns=(100,) * 12)
    found = gain(label("a", "bad", "launch.gap"), verdict("a", {"launch.gap": 0.5}), timing)
    assert (found.predicted_low_ns, found.predicted_high_ns) == (100, 300 * 10 // 9)
    assert found.measured_ns == bad_ns - 100
    assert found.contained is (word == "inside")


def test_what_the_label_allows_counts_at_the_high_end_and_time_behind_a_busy_device_once() -> None:
    timing = Timing(family="f", bad="a", fixed="x", bad_ns=(300,) * 12, fixed_ns=(100,) * 12)
    said = Verdict(
        file="a",
        alarms={},
        notes={},
        unattributed_of_idle=0.0,
        recoverable_ns={"copy.engine_queue": (0, 900), "copy.exposed": (90, 450), "launch.gap": (90, 90)},
        wait_ns={"copy.engine_queue": 900, "copy.exposed": 1800, "launch.gap": 90},
        beside=frozenset({"copy.engine_queue"}),
    )
    known = msgspec.structs.replace(label("a", "bad", "copy.engine_queue"), may=("copy.exposed",), repeats=10)
    found = gain(known, said, timing)
    assert (found.predicted_low_ns, found.predicted_high_ns) == (0, 100)
    assert found.wait_ns == 200
    assert found.width == 0.5
