"""dep.*, env.shared_gpu and launch.queue_full: queued work that something holds back."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import charges, evidence, finding, outcome, waits

from stallscope.model.events import HostCallbacks, StreamFlag, Streams, SyncKind, Syncs


def queued(gap_us: int = 500, *, waits_for_event: bool = False, devices: int = 1, pid: int = 1) -> TraceBuilder:
    """Two kernels launched early; the second starts `gap_us` after the first ended."""
    build = TraceBuilder(devices=devices)
    build.launch(0, 2, correlation=1)
    build.kernel(5, 1000, correlation=1, stream=7)
    if waits_for_event:
        build.call("cudaStreamWaitEvent", 2, 3)
        build.row(
            Syncs,
            start_ns=2 * US,
            end_ns=3 * US,
            device=0,
            process=0,
            context=1,
            stream=8,
            correlation=0,
            kind=SyncKind.STREAM_WAIT_EVENT,
            event=1,
            event_sync=0,
        )
    build.launch(4, 6, correlation=2, pid=pid, thread=pid)
    build.kernel(1000 + gap_us, 3000, correlation=2, stream=8, pid=pid)
    return build.collected(Syncs)


def test_queued_work_behind_an_event_wait_is_dep_stream_wait() -> None:
    assert charges(queued(waits_for_event=True)) == {"dep.stream_wait": 500}


def test_a_long_gap_before_queued_work_without_a_cause_stays_unattributed() -> None:
    assert charges(queued()) == {"unknown.unattributed": 500}


def copied_behind(held_us: int, *, wait: bool = True) -> TraceBuilder:
    """A launch that reaches the idle device late, and a blocking copy behind it in the same stream.

    sglang's overlapped scheduler on an MI300X, in small: the copy call lasts as long as the kernel before it is held.
    """
    build = TraceBuilder()
    build.launch(-10, -5, correlation=1)
    build.kernel(0, 100, correlation=1, stream=7)
    if wait:
        build.call("hipStreamWaitEvent", 120, 125)
    build.launch(130, 140, correlation=2)
    build.call("hipMemcpyWithStream", 150, 155 + held_us, correlation=3)
    build.kernel(140 + held_us, 145 + held_us, correlation=2, stream=8)
    build.copy(145 + held_us, 150 + held_us, correlation=3, stream=8)
    return build


def test_work_that_an_event_holds_is_not_blamed_on_the_copy_call_behind_it() -> None:
    build = copied_behind(400_000)
    assert charges(build) == {"launch.gap": 40, "dep.stream_wait": 400_000, "copy.exposed": 5}
    found = finding(build, "dep.stream_wait")
    assert found.evidence_level == "indicated"
    assert "Neither the stream nor the event" in found.caveats[0]
    assert found.where[0].api == "cudaLaunchKernel"
    assert waits(build) == ["dep.stream_wait"]


def test_work_that_nothing_visible_holds_stays_unattributed() -> None:
    assert charges(copied_behind(400_000, wait=False)) == {
        "launch.gap": 40,
        "unknown.unattributed": 400_000,
        "copy.exposed": 5,
    }


def test_latency_of_a_launch_is_still_its_own() -> None:
    assert charges(copied_behind(80)) == {"launch.gap": 120, "copy.exposed": 5}


def test_a_microsecond_before_queued_work_is_launch_drain_and_a_note() -> None:
    build = queued(gap_us=1)
    assert charges(build) == {"launch.drain": 1}
    assert waits(build) == []


def test_event_wait_released_by_another_device_is_dep_other_device() -> None:
    build = queued(waits_for_event=True, devices=2)
    build.kernel(10, 1498, device=1, stream=3)
    assert charges(build) == {"dep.other_device": 500}


def test_host_function_of_the_stream_is_dep_host_callback() -> None:
    build = queued()
    build.row(HostCallbacks, start_ns=1000 * US, end_ns=1490 * US, process=0, context=1, stream=8)
    assert charges(build) == {"dep.host_callback": 490, "unknown.unattributed": 10}


def host_functions(*, holds: int, waits_for_event: bool = False, steps: int = 6) -> TraceBuilder:
    """Steps of two queued kernels with a host function submitted in between; the second stands still in `holds`."""
    build = TraceBuilder()
    for i in range(steps):
        at, t = 20 * i, 1_000 + 2_000 * i
        build.launch(at, at + 2, correlation=2 * i + 1)
        build.call("cudaLaunchHostFunc", at + 5, at + 7)
        if waits_for_event:
            build.row(
                Syncs, start_ns=(at + 8) * US, end_ns=(at + 9) * US, device=0, process=0, context=1, stream=7,
                correlation=0, kind=SyncKind.STREAM_WAIT_EVENT, event=1, event_sync=0,
            )  # fmt: skip
        build.launch(at + 10, at + 12, correlation=2 * i + 2)
        pause = 500 if i < holds else 1
        build.kernel(t, t + 700, correlation=2 * i + 1)
        build.kernel(t + 700 + pause, t + 1_999, correlation=2 * i + 2)
    return build.collected(Syncs)


def test_standstill_behind_the_submission_of_a_host_function_is_inferred() -> None:
    build = host_functions(holds=6)
    assert charges(build)["dep.host_callback"] == 6 * 500
    found = finding(build, "dep.host_callback")
    assert found.evidence_level == "indicated"
    assert "Inferred" in found.caveats[0]


def test_a_host_function_of_another_stream_does_not_hold_this_one() -> None:
    assert "dep.host_callback" not in charges(host_functions(holds=2))


def test_an_event_wait_in_between_explains_the_standstill() -> None:
    found = charges(host_functions(holds=6, waits_for_event=True))
    assert "dep.host_callback" not in found
    assert found["dep.stream_wait"] == 6 * 500


def test_queued_work_of_another_process_is_a_shared_gpu() -> None:
    build = queued(pid=2)
    assert charges(build) == {"env.shared_gpu": 500}
    assert finding(build, "env.shared_gpu").severity == "note"


def alternating(flag: StreamFlag, blocks: int = 64, *, count: int = 20, gap_us: float = 1) -> TraceBuilder:
    """Kernels of 49 µs of two streams, all launched early, strictly one after the other."""
    build = TraceBuilder()
    for i in range(count):
        at = 100 + (49 + gap_us) * i
        build.launch(i, i + 0.5, correlation=i + 1)
        build.kernel(at, at + 49, correlation=i + 1, stream=7 if i % 2 else 13, blocks=blocks)
    for stream, kind in ((7, StreamFlag.NULL), (13, flag)):
        build.row(Streams, process=0, context=1, stream=stream, flag=kind, priority=0)
    return build


def test_small_kernels_held_by_the_default_stream_are_told_beside_the_ledger() -> None:
    build = alternating(StreamFlag.BLOCKING)
    found = finding(build, "dep.default_stream")
    assert not found.ledger
    assert found.count == 19
    assert "dep.default_stream" not in charges(build)


def test_held_kernels_state_their_number_wait_and_streams() -> None:
    """Each waits the 51 µs from the end of its stream's kernel before; the first, from the window's start, 50 µs."""
    build = alternating(StreamFlag.BLOCKING)
    assert [(e.value, e.unit) for e in finding(build, "dep.default_stream").evidence] == [
        (19, "count"),
        (51 * US, "ns"),
        (2, "count"),
    ]
    found = finding(build, "dep.default_stream")
    assert (found.wait_ns, found.evidence_level, found.recoverable_ns.low) == ((18 * 51 + 50) * US, "supported", 0)
    assert "This wait lies behind a busy device: it is not part of the ledger." in found.caveats


@pytest.mark.parametrize(("count", "gap_us", "found"), [(9, 1, True), (8, 1, False), (20, 5, True), (20, 5.001, False)])
def test_eight_kernels_are_held_each_within_5_us_of_what_held_it(count: int, gap_us: float, *, found: bool) -> None:
    build = alternating(StreamFlag.BLOCKING, count=count, gap_us=gap_us)
    assert (outcome(build, "dep.default_stream")[0] == "found") is found


def test_kernels_of_another_process_hold_nobody_here() -> None:
    build = TraceBuilder()
    for i in range(20):
        pid, stream = (1, 7) if i % 2 else (2, 13)
        build.launch(i, i + 0.5, correlation=i + 1, pid=pid)
        build.kernel(100 + 50 * i, 149 + 50 * i, correlation=i + 1, stream=stream, blocks=64, pid=pid)
    for pid, stream, kind in ((1, 7, StreamFlag.NULL), (2, 13, StreamFlag.BLOCKING)):
        build.row(Streams, process=build.process(pid), context=1, stream=stream, flag=kind, priority=0)
    assert outcome(build, "dep.default_stream")[0] == "clean"


def test_non_blocking_streams_and_kernels_that_fill_the_device_are_not_held() -> None:
    assert "dep.default_stream" not in waits(alternating(StreamFlag.NON_BLOCKING))
    assert "dep.default_stream" not in waits(alternating(StreamFlag.BLOCKING, blocks=4000))


def test_launch_calls_that_block_on_a_full_queue_are_a_note() -> None:
    """iree#10678: the launch call blocks because 1,024 launches are queued; the device is the limit."""
    build = TraceBuilder()
    t = 0.0
    for i in range(1030):
        blocked = i >= 1024
        build.launch(t, t + (4_990 if blocked else 3), correlation=i + 1)
        build.kernel(10 + 5_000 * i, 5_010 + 5_000 * i, correlation=i + 1)
        t = t + 5_000 if blocked else t + 3
    assert charges(build) == {}
    assert waits(build) == []
    note = finding(build, "launch.queue_full")
    assert (note.severity, note.ledger, note.count) == ("note", False, 6)
    assert note.recoverable_ns.high == 0


def turns(*, blocks: int = 48, both_ways: bool = True, side_by_side: bool = False) -> TraceBuilder:
    """Twenty pairs of 300 µs kernels on two streams, all launched early; the second waits for an event of the first."""
    build = TraceBuilder()
    for i in range(20):
        for k, stream in enumerate((13, 17)):
            at, t = 40 * i + 20 * k, 1_000 + 602 * i + 301 * k
            if k or both_ways:
                build.row(
                    Syncs, start_ns=at * US, end_ns=(at + 1) * US, device=0, process=0, context=1, stream=stream,
                    correlation=0, kind=SyncKind.STREAM_WAIT_EVENT, event=1, event_sync=0,
                )  # fmt: skip
            build.launch(at + 5, at + 7, correlation=2 * i + k + 1)
            long = 300 if k or not side_by_side or i % 2 else 500
            build.kernel(t, t + long, correlation=2 * i + k + 1, stream=stream, blocks=blocks)
    return build.collected(Syncs)


def test_streams_that_take_turns_by_events_wait_behind_a_busy_device() -> None:
    build = turns()
    found = finding(build, "dep.stream_wait")
    assert not found.ledger
    assert found.evidence_level == "indicated"
    assert found.recoverable_ns.low == 0
    assert 19 * 300 * US <= found.wait_ns <= 20 * 302 * US
    assert "dep.stream_wait" not in charges(build)


def test_kernels_that_fill_the_device_lose_nothing_by_waiting() -> None:
    assert "dep.stream_wait" not in waits(turns(blocks=1056))


def test_a_consumer_that_waits_for_its_producer_is_no_finding() -> None:
    assert "dep.stream_wait" not in waits(turns(both_ways=False))


def test_streams_that_also_run_side_by_side_are_no_finding() -> None:
    assert "dep.stream_wait" not in waits(turns(side_by_side=True))


def test_a_full_queue_states_how_many_calls_blocked_and_the_longest() -> None:
    build = TraceBuilder()
    for i in range(10):
        build.launch(10 * i, 10 * i + 5, correlation=i + 1)
    for i, length in enumerate((300, 700)):
        build.launch(200 + 400 * i, 200 + 400 * i + length, correlation=11 + i)
    for i in range(12):
        build.kernel(5 + 1000 * i, 1005 + 1000 * i, correlation=i + 1)
    table = "CUPTI_ACTIVITY_KIND_RUNTIME"
    assert evidence(build, "launch.queue_full") == {
        "launch calls that blocked while the device was busy": (2, "count", table),
        "longest of them": (700 * US, "ns", table),
    }
    found = finding(build, "launch.queue_full")
    assert found.spans == ((200 * US, 500 * US), (600 * US, 1_300 * US))
    assert found.evidence_level == "indicated"
