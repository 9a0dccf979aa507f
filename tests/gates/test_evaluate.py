from __future__ import annotations

from stallscope.gates import GateResult, evaluate, exit_code, parse_condition
from stallscope.gates.budgets import Budget, Limit
from stallscope.model.analysis import Analysis, Capture, CaptureNote, DeviceLedger, KernelCauses, Step
from stallscope.model.findings import Check, Evidence, Finding, Place, Recoverable


def finding(wait: str, wait_ns: int, *places: Place, level: str = "supported", ledger: bool = True) -> Finding:
    return Finding(
        id="F-1",
        wait=wait,
        title="",
        severity="warning",
        evidence_level=level,  # type: ignore[arg-type]
        devices=("GPU 0",),
        count=1,
        wait_ns=wait_ns,
        share=wait_ns / 1000,
        recoverable_ns=Recoverable(low=0, high=wait_ns, assumes=""),
        evidence=(Evidence(label="", value=1, unit="count", source=""),),
        where=places,
        ledger=ledger,
    )


FORWARD = Place(nvtx=("step", "fwd"), wait_ns=30)
BACKWARD = Place(nvtx=("step", "bwd"), wait_ns=20)
NO_FAULTS = Check(wait="uvm.fault_gpu", outcome="not_applicable", reason="add --cuda-um-gpu-page-faults=true")


def device(**charges: int) -> DeviceLedger:
    named = {key.replace("__", "."): value for key, value in charges.items()}
    idle = sum(named.values())
    return DeviceLedger(
        device="GPU 0", uuid="", name="", window_ns=1000, busy_ns=1000 - idle, idle_ns=idle,
        ledger={**named, "ok.compute": 1000 - idle},
    )  # fmt: skip


def analysis(**parts: object) -> Analysis:
    known: dict[str, object] = {
        "devices": (device(launch__gap=50, alloc__sync=20),),
        "capture": Capture(collected={"nvtx": "yes"}),
        "findings": (
            finding("launch.gap", 50, Place(nvtx=("step", "fwd"), wait_ns=30), Place(nvtx=("step", "bwd"), wait_ns=20)),
        ),
        "checks": (Check(wait="launch.gap", outcome="found"), Check(wait="alloc.sync", outcome="clean")),
    }
    return Analysis(**{**known, **parts})  # type: ignore[arg-type]


def judge(condition: str, document: Analysis | None = None) -> GateResult:
    return evaluate(document or analysis(), [parse_condition(condition)])[0]


def ranged(limit_ns: float, nvtx: str, document: Analysis) -> GateResult:
    return evaluate(document, [Budget(wait="launch.gap", limit=Limit(limit_ns, "ns"), nvtx=nvtx)])[0]


def test_budget_passes_up_to_its_limit_and_fails_one_nanosecond_above() -> None:
    assert judge("launch.gap>50ns").state == "pass"
    assert judge("launch.gap>49ns").state == "fail"
    assert judge("launch.gap>5%").state == "pass"
    assert judge("launch.gap>4.9%").state == "fail"


def test_ledger_time_below_the_reporting_threshold_counts() -> None:
    assert judge("alloc.sync>19ns").state == "fail"


def test_pattern_sums_its_ids_and_idle_sums_the_devices() -> None:
    both = analysis(devices=(device(alloc__sync=20, alloc__map=7), device(alloc__sync=1)))
    assert judge("alloc.*>27ns", both).value == 28
    assert judge("idle>1%", both).value == 28 / 2000


def test_rule_that_could_not_look_is_inconclusive_and_never_green() -> None:
    blind = analysis(checks=(NO_FAULTS,))
    result = judge("uvm.fault_gpu>0ns", blind)
    assert result.state == "inconclusive"
    assert "--cuda-um-gpu-page-faults=true" in result.reason
    failed = analysis(checks=(Check(wait="alloc.sync", outcome="failed", reason="KeyError"),))
    assert judge("alloc.sync>50%", failed).state == "inconclusive"
    assert judge("alloc.sync>1ns", failed).state == "fail"


def test_id_that_the_report_does_not_know_is_inconclusive_with_a_hint() -> None:
    result = judge("launch.gaps>5%")
    assert (result.state, "did you mean launch.gap?" in result.reason) == ("inconclusive", True)


def test_idle_of_graph_level_trace_is_inconclusive() -> None:
    hidden = Capture(notes=(CaptureNote(id="env.graph_level_trace", message="graph replays are invisible"),))
    assert judge("idle>90%", analysis(capture=hidden)).reason == "graph replays are invisible"


def test_range_counts_only_its_places() -> None:
    assert ranged(30, "fwd", analysis()).state == "pass"
    assert ranged(29, "fwd", analysis()).state == "fail"
    assert ranged(0, "optimizer", analysis()).state == "pass"


def test_range_is_inconclusive_where_places_are_not_all_listed() -> None:
    partial = analysis(findings=(finding("launch.gap", 50, FORWARD),))
    assert ranged(29, "fwd", partial).state == "fail"
    assert ranged(40, "fwd", partial).state == "inconclusive"
    assert ranged(50, "fwd", partial).state == "pass"


def test_range_without_nvtx_is_inconclusive() -> None:
    assert ranged(1000, "fwd", analysis(capture=Capture(collected={"nvtx": "no"}))).state == "inconclusive"


def test_weak_evidence_cannot_fail_a_gate_that_asks_for_more() -> None:
    weak = analysis(findings=(finding("launch.gap", 50, level="indicated"),))
    budget = Budget(wait="launch.gap", limit=Limit(10, "ns"), evidence="supported")
    result = evaluate(weak, [budget])[0]
    assert (result.state, result.reason) == ("inconclusive", "between 0 ns and 50 ns: part of it is not yet supported")


def test_per_step_divides_by_the_steps_of_that_name() -> None:
    steps = analysis(steps=(Step(name="step", durations_ns=(100,) * 10),))
    per = Budget(wait="launch.gap", limit=Limit(5, "ns"), per="step")
    assert (evaluate(steps, [per])[0].state, evaluate(steps, [per])[0].value) == ("pass", 5)
    assert evaluate(analysis(), [per])[0].state == "inconclusive"


def test_waits_beside_the_ledger_and_inside_kernels_are_counted() -> None:
    beside = analysis(findings=(finding("dep.default_stream", 300, ledger=False),), checks=())
    assert judge("dep.default_stream>299ns", beside).state == "fail"
    kernel = KernelCauses(
        kernel="k", grid=(1, 1, 1), block=(1, 1, 1), launches=1, time_ns=40, share=0.04,
        cause="kernel.mem.spill", evidence_level="supported",
    )  # fmt: skip
    inside = analysis(kernels=(kernel,))
    assert judge("kernel.mem.spill>39ns", inside).state == "fail"


def test_share_without_a_window_is_inconclusive() -> None:
    assert judge("launch.gap>5%", Analysis()).state == "inconclusive"


def test_exit_code_puts_failure_first_and_doubt_only_under_strict() -> None:
    passed, failed, unsure = judge("launch.gap>50ns"), judge("launch.gap>1ns"), judge("nothing.here>1ns")
    assert exit_code([passed]) == exit_code([passed], strict=True) == 0
    assert exit_code([passed, unsure]) == 0
    assert exit_code([passed, unsure], strict=True) == 5
    assert exit_code([passed, unsure, failed], strict=True) == 1
