"""What a finding says whatever its rule: places, spans, ids, shares, order; and the detections of rules alone."""

from __future__ import annotations

import numpy as np
import pytest
from build import US, TraceBuilder
from diagnose import analysis, finding

from stallscope.model.events import CopyKind, MemoryKind
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import DEFAULT_LOW_RATIO, DEFAULT_SMS, Detection, View, measure
from stallscope.waits.catalogue import all_rules


def detected(build: TraceBuilder, wait: str) -> Detection | None:
    """What a rule claims before the ledger decides between rules."""
    rule = next(rule for rule in all_rules() if rule.meta.id == wait)
    return rule.detect(View(Timeline(build.trace()), rule.meta))


def claimed_us(build: TraceBuilder, wait: str) -> list[tuple[float, float]]:
    found = detected(build, wait)
    if found is None:
        return []
    spans = zip(found.claims.start_ns.tolist(), found.claims.end_ns.tolist(), strict=True)
    return sorted((start / US, end / US) for start, end in spans)


def one_step(call: str, *, size: int = 0, length_us: float = 50.0) -> TraceBuilder:
    """A kernel, a call in the gap behind it, and another kernel."""
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(2, 100, correlation=1)
    build.call(call, 110, 110 + length_us, correlation=2)
    if size:
        build.copy(
            120, 130, size=size, kind=CopyKind.DEVICE_TO_HOST, source=MemoryKind.DEVICE, target=MemoryKind.PAGEABLE,
            correlation=2,
        )  # fmt: skip
    build.launch(120 + length_us, 121 + length_us, correlation=3)
    build.kernel(125 + length_us, 200 + length_us, correlation=3)
    return build


@pytest.mark.parametrize(
    ("call", "size", "wait", "claims"),
    [
        ("cudaStreamSynchronize", 0, "sync.stream", [(110, 160)]),
        ("cudaEventSynchronize", 0, "sync.event", [(110, 160)]),
        ("cudaDeviceSynchronize", 0, "sync.device", [(110, 160)]),
        ("cudaStreamSynchronize", 0, "sync.event", []),
        ("cudaMalloc", 0, "alloc.sync", [(110, 160)]),
        ("cuMemMap", 0, "alloc.map", [(110, 160)]),
        ("cudaMallocAsync", 0, "alloc.pool_trim", [(110, 160)]),
        ("cuCtxCreate", 0, "init.context", [(110, 160)]),
        ("nvrtcCompileProgram", 0, "init.jit", [(110, 160)]),
        ("cuModuleLoadData", 0, "init.lazy_load", [(110, 160)]),
        ("cudaMemcpy", 65, "copy.blocking", [(110, 120), (130, 160), (160, 170)]),
        ("cudaMemcpy", 64, "copy.blocking", []),
        ("cudaMemcpy", 64, "sync.scalar", [(110, 120), (130, 160), (160, 170)]),
        ("cudaMemcpy", 65, "sync.scalar", []),
    ],
)
def test_a_rule_claims_the_idle_time_of_its_own_calls_alone(
    call: str, size: int, wait: str, claims: list[tuple[float, float]]
) -> None:
    assert claimed_us(one_step(call, size=size), wait) == claims


def test_a_read_back_that_is_waited_for_is_no_stream_wait_and_a_set_up_no_free() -> None:
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(2, 100, correlation=1)
    build.call("cudaMemcpyAsync", 3, 5, correlation=2)
    build.copy(101, 102, size=4, kind=CopyKind.DEVICE_TO_HOST, source=MemoryKind.DEVICE, correlation=2)
    build.call("cudaStreamSynchronize", 6, 110, correlation=9)
    build.launch(120, 121, correlation=3)
    build.kernel(125, 200, correlation=3)
    assert claimed_us(build, "sync.stream") == []
    assert claimed_us(build, "sync.scalar") == [(102, 110), (110, 125)]
    setup = one_step("cudaFree", length_us=60_000.0)
    assert claimed_us(setup, "alloc.sync") == []
    assert claimed_us(setup, "init.context") == [(110, 60_110)]


def scattered(names: int, count: int) -> TraceBuilder:
    """Waits of 20, 21, … µs, the n-th under the n-th range, each time the host launches late."""
    build = TraceBuilder()
    t = 0.0
    for i in range(count):
        gap = 20 + i
        build.launch(t + gap - 5, t + gap - 4, correlation=i + 1)
        build.kernel(t + gap, t + gap + 500, correlation=i + 1)
        build.nvtx(f"part {i % names}", t - 1, t + gap + 1)
        t += gap + 500
    return build


def test_the_ten_places_that_cost_most_are_told_largest_first() -> None:
    where = finding(scattered(13, 13), "launch.gap").where
    assert [place.nvtx for place in where] == [(f"part {i}",) for i in range(12, 2, -1)]
    assert [(place.wait_ns, place.count) for place in where] == [((20 + i) * US, 1) for i in range(12, 2, -1)]
    assert [(p.api, p.kernel, p.thread, p.nvtx_by) for p in where] == [("cudaLaunchKernel", "kernel", 1, "thread")] * 10


def test_places_of_one_name_are_added_up() -> None:
    where = finding(scattered(2, 7), "launch.gap").where
    assert [(p.nvtx, p.wait_ns, p.count) for p in where] == [
        (("part 0",), (22 + 24 + 26) * US, 3),
        (("part 1",), (21 + 23 + 25) * US, 3),
    ]


@pytest.mark.parametrize(("gaps", "shown"), [(50, 50), (51, 50), (49, 49)])
def test_the_fifty_largest_spans_are_shown_in_time_order(gaps: int, shown: int) -> None:
    spans = finding(scattered(1, gaps + 1), "launch.gap").spans
    assert len(spans) == shown
    assert spans == tuple(sorted(spans))
    assert min(end - start for start, end in spans) == (20 + gaps - shown + 1) * US


def test_an_id_is_six_digits_of_file_and_wait_and_the_share_is_rounded_to_a_millionth() -> None:
    build = scattered(1, 7)
    found = {f.wait: f for f in analysis(build).findings}
    gap = found["launch.gap"]
    window = analysis(build).devices[0].window_ns
    assert gap.wait_ns == 141 * US
    assert gap.share == round(gap.wait_ns / window, 6) != gap.wait_ns / window
    assert len(gap.id) == len("F-") + 6
    assert gap.docs == "waits/launch.gap"
    assert {e.measure for e in gap.experiments} == {measure(), measure("-- ./program")}
    assert (
        measure("-- x")
        == "stallscope run -o after.nsys-rep -- x && stallscope diff before.nsys-rep --to after.nsys-rep"
    )


def test_findings_come_most_recoverable_first() -> None:
    findings = analysis(scattered(1, 60)).findings
    highs = [f.recoverable_ns.high for f in findings]
    assert highs == sorted(highs, reverse=True)


def test_the_device_account_adds_up() -> None:
    device = analysis(scattered(1, 7)).devices[0]
    assert (device.busy_ns, device.idle_ns, device.window_ns) == (7 * 500 * US, 141 * US, 7 * 500 * US + 141 * US)
    assert device.start_ns == 20 * US


def test_defaults_of_a_rule() -> None:
    assert (DEFAULT_LOW_RATIO, DEFAULT_SMS) == (0.3, 100)
    ids = [rule.meta.id for rule in all_rules()]
    assert ids == sorted(ids)
    assert len(ids) == len(np.unique(ids))
