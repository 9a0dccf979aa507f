"""Overview, health, ranks: figures of the first pages from an analysis alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
from build import TraceBuilder
from lane_samples import burst_build, examined

from stallscope.model.analysis import Analysis, Capture, DeviceLedger, Step
from stallscope.views.families import FAMILIES, family_of, is_wait
from stallscope.views.health import KINDS, checks_by_outcome, health
from stallscope.views.overview import MAX_STEPS, accounts, ranked, step_strip, sums, totals
from stallscope.views.rank_skew import skew
from stallscope.views.text import printable


def ledger(device: str, rank: int, **times: int) -> DeviceLedger:
    account = {name.replace("_", "."): ns for name, ns in times.items()}
    window = sum(account.values())
    return DeviceLedger(
        device=device, uuid="", name="H200", window_ns=window, busy_ns=account.get("ok.compute", 0),
        idle_ns=window - account.get("ok.compute", 0), ledger=account, rank=rank,
    )  # fmt: skip


def test_sums_and_totals_agree_with_the_ledgers() -> None:
    analysis = examined(burst_build()).analysis
    whole = sums(analysis)
    (device,) = analysis.devices
    assert (whole.window_ns, whole.busy_ns) == (device.window_ns, device.busy_ns)
    assert sum(ns for _, ns in totals(analysis)) == whole.window_ns
    assert sum(ns for wait, ns in totals(analysis) if is_wait(wait)) == whole.waiting_ns


def test_segments_of_every_account_add_up_and_keep_one_order() -> None:
    devices = (ledger("GPU 0", 0, ok_compute=50, launch_gap=30), ledger("GPU 1", 1, ok_compute=70, sync_stream=10))
    first, second = accounts(Analysis(devices=devices))
    assert [s.wait for s in first.segments] == ["ok.compute", "launch.gap"]
    assert [s.wait for s in second.segments] == ["ok.compute", "sync.stream"]
    assert sum(s.share for s in first.segments) == 1.0


def test_long_runs_share_bars_and_the_slowest_step_shows() -> None:
    durations = [100] * 1_000
    durations[777] = 900
    strip = step_strip(Step(name="step", durations_ns=tuple(durations)))
    assert len(strip.bars) <= MAX_STEPS
    slow = [bar for bar in strip.bars if bar.slow]
    assert len(slow) == 1
    assert slow[0].first <= 777 <= slow[0].last
    assert (strip.slowest_ns, strip.median_ns) == (900, 100)


def test_no_steps_and_no_devices_are_no_errors() -> None:
    assert step_strip(Step(name="step", durations_ns=())).bars == ()
    assert sums(Analysis()).share(0) == 0.0


def test_notes_are_apart_from_what_costs() -> None:
    costly, notes = ranked(examined(burst_build()).analysis)
    assert all(f.severity != "note" for f in costly)
    assert all(f.severity == "note" for f in notes)


def test_missing_kinds_come_first_with_their_flag() -> None:
    collected = {"kernels": "yes", "osrt": "no", "graph_trace": "graph", "nvtx": "unknown", "future": "no"}
    analysis = Analysis(capture=Capture(collected=collected))  # type: ignore[arg-type]
    rows = health(analysis)
    assert [(r.key, r.state) for r in rows] == [
        ("osrt", "missing"),
        ("graph_trace", "missing"),
        ("future", "missing"),
        ("nvtx", "unknown"),
        ("kernels", "recorded"),
    ]
    assert rows[0].flag == KINDS["osrt"].flag
    assert rows[4].flag == ""


def test_every_kind_a_reader_reports_is_known(repository: Path) -> None:
    analysis = Analysis.from_json((repository / "sample_traces/h200/py_gpt_train.json").read_bytes())
    assert "host_callbacks" in analysis.capture.collected
    assert analysis.capture.collected.keys() <= KINDS.keys()


def test_clean_and_could_not_look_stay_apart() -> None:
    groups = checks_by_outcome(examined(TraceBuilder()).analysis)
    assert set(groups) <= {"found", "clean", "not_applicable", "failed"}
    assert "not_applicable" in groups


def test_the_straggler_stands_out_of_the_ranks() -> None:
    devices = [ledger("GPU 0", rank, ok_compute=80, launch_gap=20) for rank in range(3)]
    devices.append(ledger("GPU 0", 3, ok_compute=50, launch_gap=50))
    found = skew(Analysis(devices=tuple(reversed(devices))))
    assert [row.rank for row in found.rows] == [0, 1, 2, 3]
    column = found.waits.index("launch.gap")
    assert [round(row.cells[column].excess, 3) for row in found.rows] == [0, 0, 0, 0.3]
    assert found.largest_share == 0.8


def test_every_family_has_its_own_letter_and_colours() -> None:
    assert len({f.letter for f in FAMILIES}) == len(FAMILIES)
    assert len({f.dark for f in FAMILIES}) == len(FAMILIES)
    assert family_of("alloc.sync").key == "alloc"
    assert family_of("something.new").key == "unknown"


def test_text_of_strangers_becomes_one_printable_line() -> None:
    assert printable("a\tb\u202ec\x00d") == "a b\ufffdc\ufffdd"
    assert printable("x" * 50, 10) == "x" * 9 + "…"
    assert msgspec.json.encode(printable("\ud800")) == b'"\xef\xbf\xbd"'
