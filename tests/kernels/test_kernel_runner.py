"""The diagnosis as a document: every row, finding and check a reader may rely on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from kernel_samples import counters, m

from stallscope.ingest.ncu_open import open_counters
from stallscope.kernels.base import KernelRule, KernelRuleMeta, Stage
from stallscope.kernels.causes import judge
from stallscope.kernels.ceilings import Ceilings
from stallscope.kernels.readings import Readings, readings_of
from stallscope.kernels.runner import KernelDiagnosis, diagnose
from stallscope.model.analysis import Analysis, Source
from stallscope.model.counters import CounterSet, KernelCounters, Metric, RuleEstimate

WAITING = {"long_scoreboard": 0.9}


def said(*kernels: KernelCounters, everything: bool = False) -> KernelDiagnosis:
    """The diagnosis of a run of kernels."""
    return diagnose(CounterSet(Source(name="k.csv", sha256="x", format="ncu-csv"), kernels), everything=everything)


@pytest.fixture(scope="module")
def real() -> KernelDiagnosis:
    """Raw and details page of nine kernels on an H200."""
    folder = Path(__file__).resolve().parents[2] / "sample_traces" / "ncu" / "h200"
    return diagnose(open_counters([folder / "kern.raw.csv.gz", folder / "kern.details.csv.gz"]))


def test_findings_are_ordered_by_what_they_can_give_back(real: KernelDiagnosis) -> None:
    highs = [finding.recoverable_ns.high for finding in real.findings]
    assert highs == sorted(highs, reverse=True)
    assert len(highs) >= 6


def test_the_same_file_gives_the_same_bytes(real: KernelDiagnosis) -> None:
    folder = Path(__file__).resolve().parents[2] / "sample_traces" / "ncu" / "h200"
    again = diagnose(open_counters([folder / "kern.raw.csv.gz", folder / "kern.details.csv.gz"]))
    assert [finding.id for finding in again.findings] == [finding.id for finding in real.findings]
    document = Analysis(findings=real.findings, checks=real.checks, kernels=real.kernels)
    assert Analysis.from_json(document.to_json()) == document
    assert Analysis(findings=again.findings, checks=again.checks, kernels=again.kernels).to_json() == document.to_json()


def test_a_finding_says_what_stops_the_gain_and_what_nvidia_s_rule_expects(real: KernelDiagnosis) -> None:
    conflict = next(finding for finding in real.findings if finding.wait == "kernel.mem.bank_conflict")
    assert conflict.recoverable_ns.assumes.endswith("dram stops it")
    vendor = [item for item in conflict.evidence if item.label.startswith("NVIDIA's rule")]
    assert len(vendor) == 1
    assert vendor[0].value > 0.8
    assert conflict.experiments[0].measure.startswith("ncu --set full -k regex:transpose_conflict ")
    assert conflict.docs == "waits/kernel.mem.bank_conflict"
    assert not conflict.ledger


def test_a_kernel_carries_its_stalls_its_roofline_point_and_vendor_estimates(real: KernelDiagnosis) -> None:
    spill = next(kernel for kernel in real.kernels if kernel.kernel.startswith("spill_regs"))
    assert next(iter(spill.stalls)) == "long_scoreboard"
    assert spill.profiled_ns == 1_723_424
    assert spill.intensity is not None
    assert spill.intensity.pipe == "fp32"
    assert spill.intensity.bytes_per_s == pytest.approx(2.78e12, rel=0.01)
    assert spill.intensity.peak_bytes_per_s == pytest.approx(4.81e12, rel=0.01)
    assert spill.intensity.peak_flop_per_s == pytest.approx(66.9e12, rel=0.01)
    assert {estimate.kind for estimate in spill.estimates} == {"global", "local"}


def test_nothing_of_the_host_or_its_paths_is_in_the_document(real: KernelDiagnosis) -> None:
    text = msgspec.json.encode((real.kernels, real.findings, real.checks, real.notes)).decode()
    assert "127.0.0.1" not in text
    assert "sample_traces" not in text


def test_launches_of_one_kernel_are_one_row_judged_by_the_middle_one() -> None:
    fast, middle, slow = (
        counters({m.DURATION_NS: ns, m.DRAM: dram}, WAITING) for ns, dram in ((1e5, 0.1), (2e5, 0.9), (3e5, 0.1))
    )
    kernels = tuple(replace(kernel, order=order) for order, kernel in enumerate((slow, middle, fast)))
    rows = said(*kernels).kernels
    assert [(row.launches, row.time_ns, row.cause) for row in rows] == [(3, 600_000, "ok.memory_bound")]


def test_small_shares_are_told_on_request_only() -> None:
    tiny = counters({m.GRID_SIZE: 4, m.DURATION_NS: 20_000}, name="tiny(int)", grid=(4, 1, 1))
    large = counters({m.DURATION_NS: 100e6, m.DRAM: 0.9}, WAITING, order=1)
    assert said(tiny, large).findings == ()
    assert [finding.wait for finding in said(tiny, large, everything=True).findings] == ["kernel.latency.small_grid"]


def test_a_healthy_kernel_has_no_finding_and_says_why() -> None:
    document = said(counters({m.TENSOR: 0.8}, {"barrier": 0.3}, name="mm"))
    assert document.findings == ()
    assert document.kernels[0].cause == "ok.compute_bound"


def test_an_unexplained_kernel_is_said_to_be() -> None:
    assert said(counters({}, {"wait": 0.1})).kernels[0].cause == "unknown.unattributed"


def test_checks_tell_found_clean_and_what_to_collect_apart() -> None:
    without = counters({m.SHARED_CONFLICTS: None, m.GRID_SIZE: 4})
    checks = {check.wait: check for check in said(without, counters({}, name="b(int)", order=1)).checks}
    assert checks["kernel.latency.small_grid"].outcome == "found"
    assert checks["kernel.latency.small_grid"].reason == "1 of 2 kernels"
    conflict = checks["kernel.mem.bank_conflict"]
    assert conflict.outcome == "clean"
    assert conflict.reason.startswith(
        "1 of 2 kernels lack its metrics: profile with ncu --section MemoryWorkloadAnalysis_Tables"
    )
    assert checks["kernel.latency.barrier"].outcome == "not_applicable"


def test_a_report_with_other_metrics_only_asks_for_all_of_them() -> None:
    bare = replace(counters(), metrics={"smsp__inst_executed.sum": Metric(1.0)})
    document = said(bare)
    assert document.kernels[0].cause == "unknown.unattributed"
    assert {check.outcome for check in document.checks} == {"not_applicable"}
    assert all("--s" in check.reason or "--metrics" in check.reason for check in document.checks)


def test_a_broken_rule_costs_only_itself() -> None:
    def broken(_k: Readings, _ceilings: Ceilings) -> None:
        raise ZeroDivisionError("oops")

    rule = KernelRule(KernelRuleMeta(id="x.y", title="", stage=Stage.WASTE), broken)
    verdict = judge(readings_of((counters(),))[0], (rule,))
    assert (verdict.results[0].outcome, verdict.results[0].error) == ("failed", "ZeroDivisionError: oops")


def test_a_rule_sees_only_what_it_declared() -> None:
    def curious(k: Readings, _ceilings: Ceilings) -> None:
        k.get(m.DRAM)

    rule = KernelRule(KernelRuleMeta(id="x.y", title="", stage=Stage.WASTE, needs=(m.SM_COUNT,)), curious)
    verdict = judge(readings_of((counters(),))[0], (rule,))
    assert "is not declared" in verdict.results[0].error


def test_locked_clocks_and_differing_passes_are_noted() -> None:
    kernel = counters({m.WARP_LATENCY: 30.0, m.SM_CLOCK: 1.1e9}, WAITING)
    kernel = replace(kernel, metrics={**kernel.metrics, "device__attribute_clock_rate": Metric(1_980_000)})
    notes = {note.id: note.message for note in said(kernel).notes}
    assert "56%-56% of the highest SM clock" in notes["env.clock"]
    assert "do not add up" in notes["ncu.passes_differ"]


def test_data_that_fits_l2_is_a_caveat_of_a_dram_diagnosis() -> None:
    small = counters({m.DRAM: 0.65, m.DRAM_READ: 10e6, m.REPLAY_PASSES: 38}, WAITING)
    small = replace(small, metrics={**small.metrics, "device__attribute_l2_cache_size": Metric(60 << 20)})
    assert any("--cache-control none" in caveat for caveat in said(small).findings[0].caveats)
    assert not any(
        "--cache-control" in caveat for caveat in said(counters({m.DRAM: 0.65}, WAITING)).findings[0].caveats
    )


def test_only_estimates_of_the_run_time_are_set_beside_the_gain() -> None:
    kernel = replace(
        counters({m.GRID_SIZE: 4}), estimates=(RuleEstimate("A", "local", 99.0), RuleEstimate("B", "global", 40.0))
    )
    labels = [item.label for item in said(kernel).findings[0].evidence]
    assert [label for label in labels if "rule" in label] == ["NVIDIA's rule B estimates (of the run time)"]
