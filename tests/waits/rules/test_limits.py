"""Limits of rules and what they state, on both sides of each limit."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import charges, evidence, finding, outcome, waits
from long_launch import long_launch
from test_alloc_rules import between_kernels, cycles, pool
from test_copy_engine_queue import BULK, WORK
from test_dep_rules import alternating, host_functions, queued
from test_init_rules import frees

from stallscope.model.events import (
    ContextSwitches,
    CopyKind,
    HostCallbacks,
    MemoryKind,
    OverheadKind,
    Overheads,
    StreamFlag,
    Streams,
    SyncKind,
    Syncs,
)

NS = 0.001
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"


@pytest.mark.parametrize(
    ("holds", "steps", "found"), [(3, 3, True), (2, 2, False), (3, 6, True), (3, 7, False), (4, 8, True)]
)
def test_a_host_function_holds_three_times_and_half_of_the_time(holds: int, steps: int, *, found: bool) -> None:
    build = host_functions(holds=holds, steps=steps)
    assert charges(build).get("dep.host_callback", 0) == (500 * holds if found else 0)
    if found:
        assert evidence(build, "dep.host_callback") == {
            "queued operations held behind the submission of a host function": (holds, "count", RUNTIME)
        }


def test_host_functions_of_two_processes_hold_the_work_of_their_own() -> None:
    build = queued()
    build.launch(5_000, 5_005, correlation=3, pid=2)
    build.kernel(5_100, 5_200, correlation=3, pid=2)
    for start, pid in ((1_000, 1), (1_100, 1), (1_200, 2)):
        build.row(
            HostCallbacks,
            start_ns=start * US,
            end_ns=(start + 50) * US,
            process=build.process(pid),
            context=1,
            stream=8,
        )
    found = finding(build, "dep.host_callback")
    assert (found.wait_ns, found.count) == (100 * US, 2)
    assert [e.value for e in found.evidence] == [3]
    assert found.evidence_level == "supported"


@pytest.mark.parametrize(
    ("ends_us", "found"), [(1_500.0, True), (1_490.0, True), (1_490 - NS, False), (1_500 + NS, False)]
)
def test_another_device_releases_what_starts_within_10_us_of_its_end(ends_us: float, *, found: bool) -> None:
    build = queued(waits_for_event=True, devices=2)
    build.kernel(10, ends_us, device=1, stream=3)
    assert charges(build) == {"dep.other_device" if found else "dep.stream_wait": 500}
    told = finding(build, "dep.other_device" if found else "dep.stream_wait")
    assert (told.recoverable_ns.low, told.recoverable_ns.high) == (0, 500 * US)


def test_a_shared_device_states_its_gaps_and_context_switches() -> None:
    assert outcome(queued(), "env.shared_gpu") == ("clean", "")
    build = queued(pid=2)
    assert [(e.label, e.value) for e in finding(build, "env.shared_gpu").evidence] == [
        ("gaps between two processes' work", 1)
    ]
    assert finding(build, "env.shared_gpu").evidence_level == "indicated"
    build.collected(ContextSwitches)
    assert [e.value for e in finding(build, "env.shared_gpu").evidence] == [1, 0]
    assert finding(build, "env.shared_gpu").evidence_level == "indicated"


@pytest.mark.parametrize(("count", "found"), [(3, True), (2, False)])
def test_three_times_a_cache_given_back_without_a_failure_are_a_steady_state(count: int, *, found: bool) -> None:
    build = cycles(frees=3, allocations=1, count=count)
    assert charges(build).get("alloc.retry", 0) == (count * 4 * 300 if found else 0)
    if found:
        assert [e.value for e in finding(build, "alloc.retry").evidence] == [0, count, 3 * count]
        assert finding(build, "alloc.retry").caveats[0].startswith("No allocation failed")


@pytest.mark.parametrize(("length_us", "held_us"), [(100.0, 100), (100 - NS, 0)])
def test_pinning_of_two_other_threads_holds_the_launch_up_from_100_us_on(length_us: float, held_us: int) -> None:
    build = between_kernels([])
    for thread in (2, 3):
        build.call("cudaHostAlloc", 12_000, 12_000 + length_us, thread=thread)
    assert charges(build).get("alloc.pinned", 0) == held_us


def test_the_longest_pinning_call_is_the_one_to_blame() -> None:
    build = between_kernels([])
    build.call("cudaHostAlloc", 12_000, 13_000, thread=2)
    build.call("cudaHostRegister", 14_000, 14_500, thread=3)
    found = finding(build, "alloc.pinned")
    assert (found.wait_ns, [p.api for p in found.where]) == (1_500 * US, ["cudaHostAlloc"])
    assert found.caveats[0] == "Some of these calls run on other threads; they are blamed for the lock they hold."


def test_pool_trims_state_their_allocations() -> None:
    facts = evidence(pool([64, 32, 64]), "alloc.pool_trim")
    assert facts["stream-ordered allocations of at least 50 µs that leave the device idle"][:2] == (2, "count")
    assert facts["host time in these calls"][:2] == (400 * US, "ns")


def short_behind_long(*, count: int, long_us: float, pause_us: float = 2, ready_us: float = 0) -> TraceBuilder:
    """Copies of 4 µs that start `pause_us` after one of `long_us` on another stream; their streams are free."""
    build = TraceBuilder()
    for i in range(count):
        host, t = 100 * i, 10_000 + 1_500 * i
        build.call("cudaMemcpyAsync", host, host + 2, correlation=3 * i + 1)
        late = t + long_us + pause_us - ready_us - 2 if ready_us else host + 10
        build.call("cudaMemcpyAsync", late, late + 2, correlation=3 * i + 2)
        build.launch(late + 3, late + 4, correlation=3 * i + 3)
        build.copy(t, t + long_us, correlation=3 * i + 1, stream=BULK)
        build.copy(t + long_us + pause_us, t + long_us + pause_us + 4, size=65_536, correlation=3 * i + 2, stream=WORK)
        build.kernel(t + long_us + 20, t + 1_499, correlation=3 * i + 3, stream=WORK)
    for stream in (BULK, WORK):
        build.row(Streams, process=0, context=1, stream=stream, flag=StreamFlag.NON_BLOCKING, priority=0)
    return build.collected(Syncs)


@pytest.mark.parametrize(
    ("of", "found"),
    [
        ({"count": 4, "long_us": 600}, True),
        ({"count": 3, "long_us": 600}, False),
        ({"count": 4, "long_us": 16}, True),
        ({"count": 4, "long_us": 16 - NS}, False),
        ({"count": 4, "long_us": 600, "pause_us": 5}, True),
        ({"count": 4, "long_us": 600, "pause_us": 5 + NS}, False),
        ({"count": 4, "long_us": 600, "ready_us": 5}, True),
        ({"count": 4, "long_us": 600, "ready_us": 5 - NS}, False),
    ],
)
def test_four_copies_wait_5_us_behind_one_four_times_as_long(of: dict[str, float], *, found: bool) -> None:
    build = short_behind_long(**of)  # type: ignore[arg-type]
    assert (outcome(build, "copy.engine_queue")[0] == "found") is found


def test_copies_behind_the_engine_state_their_number_wait_and_length() -> None:
    found = finding(short_behind_long(count=4, long_us=600), "copy.engine_queue")
    assert [(e.label, e.value, e.unit) for e in found.evidence] == [
        ("short copies held by a long one", 4, "count"),
        ("median wait from ready to start", 602 * US, "ns"),
        ("median length of the held copies", 4 * US, "ns"),
    ]
    assert (found.wait_ns, found.ledger) == (4 * 602 * US, False)


def test_a_copy_whose_event_wait_stands_for_longer_work_waits_for_that_first() -> None:
    """Each short copy waits for an event behind a kernel of 300 µs: only what comes after is the engine's."""
    build = short_behind_long(count=4, long_us=600)
    for i in range(4):
        t = 10_000 + 1_500 * i
        host = 100 * i - 60
        build.launch(host, host + 1, correlation=1_000 + i)
        build.kernel(t, t + 300, correlation=1_000 + i, stream=30)
        build.row(
            Syncs, start_ns=(host + 10) * US, end_ns=(host + 11) * US, device=0, process=0, context=1, stream=WORK,
            correlation=0, kind=SyncKind.STREAM_WAIT_EVENT, event=1, event_sync=0,
        )  # fmt: skip
    assert finding(build, "copy.engine_queue").wait_ns == 4 * 302 * US


def compute_beside_communication(*, instances: int, beside_us: float) -> TraceBuilder:
    build = TraceBuilder()
    for i in range(instances):
        build.kernel(3_000 * i, 3_000 * i + 1_000, name="gemm")
        t = 60_000 + 3_000 * i
        build.kernel(t, t + beside_us, name="gemm")
        build.kernel(t - 5, t + 2_085, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=20, blocks=24)
    return build


@pytest.mark.parametrize(
    ("instances", "beside_us", "found"), [(4, 1_150, True), (3, 1_150, False), (4, 1_150 - NS, False)]
)
def test_four_instances_15_percent_slower_are_interference(instances: int, beside_us: float, *, found: bool) -> None:
    build = compute_beside_communication(instances=instances, beside_us=beside_us)
    assert (outcome(build, "comm.interference")[0] == "found") is found
    if found:
        assert [e.value for e in finding(build, "comm.interference").evidence] == [4, 1_000 * US, 1_150 * US, 1.15]
        exposed = finding(build, "comm.exposed")
        assert exposed.recoverable_ns.low == 0
        assert exposed.wait_ns == 4 * (2_090 - 1_150) * US


@pytest.mark.parametrize(
    ("lengths_ms", "setups"),
    [
        ((50,), 1),
        ((50 - 0.000001,), 0),
        ((100, 10), 1),
        ((100, 10.000001), 0),
        ((100,) * 4, 4),
        ((100,) * 5, 0),
    ],
)
def test_a_library_set_up_takes_50_ms_ten_times_the_others_and_happens_four_times_at_most(
    lengths_ms: tuple[float, ...], setups: int
) -> None:
    assert charges(frees(*lengths_ms)).get("init.context", 0) == pytest.approx(sum(lengths_ms[:setups]) * 1000)


@pytest.mark.parametrize(("gap_us", "found"), [(1.0, True), (5.0, True)])
def test_the_default_stream_holds_small_kernels_only(gap_us: float, *, found: bool) -> None:
    for blocks, small in ((131, True), (132, False)):
        build = alternating(StreamFlag.BLOCKING, blocks=blocks, gap_us=gap_us)
        assert (outcome(build, "dep.default_stream")[0] == "found") is (found and small)


def test_copies_state_their_streams_bytes_and_rate() -> None:
    build = TraceBuilder()
    build.call("cudaMemcpyAsync", 0, 1, correlation=1)
    build.copy(10, 110, size=1_000_000, correlation=1, stream=7)
    build.copy(200, 300, size=3_000_000, stream=8, source=MemoryKind.PINNED, kind=CopyKind.DEVICE_TO_HOST)
    build.kernel(400, 500, stream=7)
    found = finding(build, "copy.exposed")
    assert [(e.value, e.unit) for e in found.evidence] == [
        (2, "count"),
        (1, "count"),
        (4_000_000, "bytes"),
        (2e10, "bytes/s"),
    ]
    assert (found.evidence_level, found.recoverable_ns.low, found.wait_ns) == ("supported", 0, 200 * US)
    assert found.caveats[0] == "A copy on the stream of its kernels cannot overlap them, pinned or not."


def test_records_of_a_full_command_buffer_support_the_note() -> None:
    build = long_launch(700, usual_us=5)
    build.span(Overheads, 310, 990, kind=OverheadKind.COMMAND_BUFFER_FULL, correlation=11)
    found = finding(build, "launch.queue_full")
    assert [e.value for e in found.evidence] == [1, 700 * US, 1]
    assert found.evidence_level == "supported"
    assert waits(build) == []
