from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from build import TraceBuilder
from one_report import one_report
from rank_simulation import Run, simulate
from straggler_score import analyzed, named_ranks

from stallscope.api import analyze_trace, examine_apart, examine_trace
from stallscope.errors import InputError
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.analysis import Analysis
from stallscope.model.findings import Finding
from stallscope.ranks import across_devices, compare_ranks


def the(analysis: Analysis, wait: str) -> Finding:
    found = [finding for finding in analysis.findings if finding.wait == wait]
    assert len(found) == 1
    return found[0]


def evidence(finding: Finding) -> dict[str, float]:
    return {item.label: item.value for item in finding.evidence}


def test_a_rank_held_up_by_its_data_is_named_with_that_wait() -> None:
    analysis = analyzed(simulate(Run(late={5: 2_000_000}, cause="input")))
    finding = the(analysis, "comm.peer_wait")
    assert finding.title == "7 ranks wait in collectives for rank 5, held up there by input.wait"
    assert finding.evidence_level == "supported"
    facts = evidence(finding)
    assert facts["rank 5 arrives last"] == 30
    assert facts["rank 5 arrives late by (mean)"] == pytest.approx(2_000_000, rel=0.02)
    # The first step begins before the window.
    assert facts["rank 5: input.wait beyond the others before arriving"] == pytest.approx(29 * 2_000_000, rel=0.02)
    assert facts["clock alignment error (1 sigma)"] < 3_000
    assert "most on rank 5" in the(analysis, "input.wait").title
    assert finding.where[0].nvtx[-1].startswith("enumerate(DataLoader)")


def test_a_rank_that_computes_longer_is_told_so() -> None:
    analysis = analyzed(simulate(Run(late={2: 1_000_000}, drift_ppm=40, offset_ns=10**12)))
    finding = the(analysis, "comm.peer_wait")
    assert finding.title == "7 ranks wait in collectives for rank 2, busy computing longer than the others"
    # Without rank 2's lateness the last of the seven others is waited for: 1.35 sigma of 50 µs.
    assert finding.recoverable_ns.high == pytest.approx(7 * 30 * (1_000_000 - 67_000), rel=0.03)
    assert finding.wait_ns >= finding.recoverable_ns.high


def test_ledgers_still_sum_to_their_windows_and_the_waiting_left_the_exposed_part() -> None:
    analysis = analyzed(simulate(Run(late={5: 2_000_000})))
    for device in analysis.devices:
        assert sum(device.ledger.values()) == device.window_ns
    waiting = sum(device.ledger.get("comm.peer_wait", 0) for device in analysis.devices)
    assert the(analysis, "comm.peer_wait").wait_ns == waiting
    exposed = sum(device.ledger["comm.exposed"] for device in analysis.devices)
    assert exposed == pytest.approx(8 * 30 * 300_000, rel=0.01)
    assert the(analysis, "comm.exposed").wait_ns == exposed
    assert the(analysis, "comm.exposed").devices == tuple(f"rank {r} GPU 0" for r in range(8))
    assert [device.device for device in analysis.devices] == ["GPU 0"] * 8
    assert [device.rank for device in analysis.devices] == list(range(8))


def test_pauses_of_one_rank_and_of_all_ranks_are_told_apart() -> None:
    one = the(analyzed(simulate(Run(pauses={(10, 3): 30_000_000}))), "comm.peer_wait")
    assert "for rank 3" in one.title
    everyone = {(3 * r + 2, r): 30_000_000 for r in range(8)}
    assert the(analyzed(simulate(Run(pauses=everyone))), "comm.peer_wait").title.startswith(
        "Pauses of 8 ranks by turns"
    )


def test_a_pause_without_a_name_on_one_rank_is_its_host_work() -> None:
    """torchtitan: Python's collector stops one rank for 234 to 327 ms while the others sit in the next collective."""
    run = Run(pauses={(10, 3): 300_000_000, (20, 3): 250_000_000}, garbage=True)
    analysis = analyzed(simulate(run))
    finding = the(analysis, "comm.peer_wait")
    assert finding.title == "7 ranks wait in collectives for rank 3, held up there by host.busy"
    assert evidence(finding)["rank 3: host.busy beyond the others before arriving"] > 500e6
    assert the(analysis, "host.busy").title.endswith("rank 3)")


def test_a_pause_of_all_ranks_at_once_makes_nobody_wait_for_another() -> None:
    """Collections that all ranks run at the same step cost host time everywhere and no waiting."""
    run = Run(pauses={(step, rank): 100_000_000 for step in (10, 20) for rank in range(8)}, garbage=True)
    analysis = analyzed(simulate(run))
    assert not any(f.wait == "comm.peer_wait" and f.severity != "note" for f in analysis.findings)
    assert the(analysis, "host.busy").title.endswith("(all 8 ranks)")
    assert the(analysis, "host.busy").wait_ns > 8 * 150_000_000


def test_a_late_rank_holds_up_its_own_group_only() -> None:
    """Two tensor-parallel groups of four: what rank 6 is late by says nothing of ranks 0 to 3."""
    groups = [
        *simulate(Run(ranks=4, group="tp0", seed=1)),
        *simulate(Run(ranks=4, group="tp1", seed=2, first_rank=4, late={2: 2_000_000}, cause="input")),
    ]
    analysis = analyzed(groups)
    finding = the(analysis, "comm.peer_wait")
    assert finding.title == "3 ranks wait in collectives for rank 6, held up there by input.wait"
    assert any("not all ranks share a collective" in caveat for caveat in finding.caveats)
    waiting = {d.rank: d.ledger.get("comm.peer_wait", 0) for d in analysis.devices}
    assert min(waiting[rank] for rank in (4, 5, 7)) > 10 * max(waiting[rank] for rank in (0, 1, 2, 3, 6))


def test_no_straggler_leaves_at_most_a_note() -> None:
    analysis = analyzed(simulate(Run(noise_ns=80_000)))
    finding = the(analysis, "comm.peer_wait")
    assert finding.severity == "note"
    assert finding.recoverable_ns.high == 0
    assert "no rank stands out" in finding.title
    assert not any(f.wait == "comm.peer_wait" for f in analyzed(simulate(Run(noise_ns=1_000))).findings)


@pytest.mark.parametrize("noise", ["normal", "exponential"])
def test_planted_stragglers_are_found_and_none_is_invented(noise: str) -> None:
    right = named = 0
    for seed in range(10):
        base = Run(ranks=6, seed=seed, noise=noise, drift_ppm=50, offset_ns=10**12, sequences=seed % 2 == 0)  # type: ignore[arg-type]
        right += named_ranks(simulate(replace(base, late={seed % 6: 100_000}))) == {seed % 6}
        named += bool(named_ranks(simulate(base)))
    assert (right, named) == (10, 0)


def test_captures_that_began_later_still_match() -> None:
    run = Run(late={5: 2_000_000}, sequences=False, first_step={2: 6, 7: 3})
    finding = the(analyzed(simulate(run)), "comm.peer_wait")
    assert "for rank 5" in finding.title
    assert any("matched by their order" in caveat for caveat in finding.caveats)
    assert not any("not among the traces" in caveat for caveat in finding.caveats)


def test_missing_ranks_are_a_caveat() -> None:
    finding = the(analyzed(simulate(Run(late={5: 2_000_000}, dropped=frozenset({0, 1})))), "comm.peer_wait")
    assert "for rank 5" in finding.title
    assert any("2 of the group's ranks" in caveat for caveat in finding.caveats)


def test_a_rank_that_fails_is_a_note_and_the_rest_is_analyzed() -> None:
    traces = {f"rank{rank}.json": trace for rank, trace in enumerate(simulate(Run(ranks=4, late={2: 2_000_000})))}

    def examine(path: Path) -> object:
        if path.name == "rank1.json":
            raise InputError("broken JSON at line 3", file=path.name)
        if path.name == "rank3.json":
            raise ZeroDivisionError("oops")
        return examine_trace(traces[path.name])

    analysis = compare_ranks([Path(name) for name in traces], examine, workers=1)  # type: ignore[arg-type]
    notes = [note.message for note in analysis.capture.notes if note.id == "env.failed_rank"]
    assert notes == [
        "rank1.json (trace 2) was left out: broken JSON at line 3",
        "rank3.json (trace 4) was left out: ZeroDivisionError: oops",
    ]
    assert {device.rank for device in analysis.devices} == {0, 2}
    assert "for rank 2" in the(analysis, "comm.peer_wait").title


def test_all_ranks_failing_is_an_error() -> None:
    def examine(path: Path) -> object:
        raise InputError("unreadable", file=path.name, next_step="look")

    with pytest.raises(InputError, match="unreadable"):
        compare_ranks([Path("a"), Path("b")], examine, workers=1)  # type: ignore[arg-type]


def test_equal_ranks_are_numbered_in_the_order_given() -> None:
    traces = [replace(t, source=replace_rank(t.source, 0)) for t in simulate(Run(ranks=3, late={1: 2_000_000}))]
    by_path = {Path(f"t{index}.json"): trace for index, trace in enumerate(traces)}
    analysis = compare_ranks(list(by_path), lambda path: examine_trace(by_path[path]), workers=1)
    assert [source.rank for source in analysis.sources] == [0, 1, 2]
    assert any(note.id == "env.rank_order" for note in analysis.capture.notes)
    assert "for rank 1" in the(analysis, "comm.peer_wait").title


def replace_rank(source: object, rank: int) -> object:
    import msgspec

    return msgspec.structs.replace(source, rank=rank)  # type: ignore[type-var]


def test_the_merged_document_round_trips_and_progress_is_told() -> None:
    traces = {Path(t.source.name): t for t in simulate(Run(ranks=3))}
    heard: list[tuple[str, float | None]] = []
    analysis = compare_ranks(
        list(traces),
        lambda path: examine_trace(traces[path]),
        workers=1,
        progress=lambda stage, share: heard.append((stage, share)),
    )
    assert Analysis.from_json(analysis.to_json()) == analysis
    assert [stage for stage, _ in heard] == ["rank0.json (1 of 3)", "rank1.json (2 of 3)", "rank2.json (3 of 3)"]
    assert heard[-1][1] == 1.0
    assert analysis.workload is not None
    assert {k.kernel: k.launches for k in analysis.workload.kernels}["gemm"] == 3 * 30 * 4
    assert analysis.workload.steps is not None
    assert analysis.workload.steps.devices == 3
    assert [c.outcome for c in analysis.checks if c.wait == "comm.bandwidth"] == ["clean"]
    assert [c.outcome for c in analysis.checks if c.wait == "comm.order"] == ["not_applicable"]


def test_one_device_gets_the_reason_and_nothing_else() -> None:
    examined = examine_apart(simulate(Run(ranks=2))[0])
    analysis = across_devices(examined).analysis
    assert analysis.devices == examined.analysis.devices
    assert analysis.findings == examined.analysis.findings
    reasons = {check.wait: check.reason for check in analysis.checks if check.outcome == "not_applicable"}
    assert reasons["comm.peer_wait"].startswith("needs the traces of several ranks")


def test_ranks_in_one_report_are_compared_by_the_usual_analysis() -> None:
    trace = one_report(simulate(Run(ranks=4, late={2: 2_000_000}, cause="input")))
    examined, apart = examine_trace(trace), examine_apart(trace)
    finding = the(examined.analysis, "comm.peer_wait")
    assert finding.title == "3 ranks wait in collectives for GPU 2, held up there by input.wait"
    assert "most on" not in finding.title
    for number, device in enumerate(examined.analysis.devices):
        assert sum(device.ledger.values()) == device.window_ns
        charged = {wait: times.total_ns() for wait, times in examined.charges[number].items()}
        assert {wait: ns for wait, ns in charged.items() if ns} == {w: ns for w, ns in device.ledger.items() if ns}
        whole = apart.analysis.devices[number].ledger["comm.exposed"]
        assert whole == device.ledger["comm.exposed"] + device.ledger.get("comm.peer_wait", 0)
    assert the(apart.analysis, "comm.exposed").wait_ns > the(examined.analysis, "comm.exposed").wait_ns


def test_devices_that_arrive_together_are_not_blamed() -> None:
    analysis = analyze_trace(one_report(simulate(Run(ranks=4, noise_ns=1_000))))
    assert not [f for f in analysis.findings if f.wait == "comm.peer_wait"]
    assert [c.outcome for c in analysis.checks if c.wait == "comm.peer_wait"] == ["clean"]


def test_devices_without_common_collectives_are_told_so() -> None:
    build = TraceBuilder(devices=2)
    for device in range(2):
        build.kernel(0, 100, device=device)
        build.kernel(150, 300, device=device)
    checks = {check.wait: check for check in analyze_trace(build.trace()).checks}
    assert checks["comm.peer_wait"].outcome == "not_applicable"
    assert "no synchronizing collective" in checks["comm.peer_wait"].reason


def test_devices_of_one_trace_are_ranks_of_each_other(shared: Path) -> None:
    trace = open_trace(shared / "corpus" / "n15-nsysai" / "mfu_2gpu_before.sqlite", OpenOptions(use_cache=False))
    examined, analysis = examine_apart(trace), analyze_trace(trace)
    finding = the(analysis, "comm.peer_wait")
    assert "in collectives for GPU 1" in finding.title
    assert (
        evidence(finding)["clock alignment error (1 sigma)"] < 10_000
    )  # one clock: what is left is the ends' own spread
    for before, after in zip(examined.analysis.devices, analysis.devices, strict=True):
        assert sum(after.ledger.values()) == after.window_ns
        moved = after.ledger.get("comm.peer_wait", 0)
        assert before.ledger["comm.exposed"] == after.ledger["comm.exposed"] + moved
