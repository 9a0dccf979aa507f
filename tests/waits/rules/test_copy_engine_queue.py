"""copy.engine_queue: which short copies a copy engine holds, and which wait for something else."""

from __future__ import annotations

from build import US, TraceBuilder
from diagnose import charges, finding, outcome, waits

from stallscope.model.events import CopyKind, StreamFlag, Streams, SyncKind, Syncs

BULK, WORK = 13, 17


def steps(
    *,
    long_us: int = 600,
    other: CopyKind = CopyKind.HOST_TO_DEVICE,
    kernel: bool = True,
    ordered: bool = False,
    bulk_flag: StreamFlag = StreamFlag.NON_BLOCKING,
) -> TraceBuilder:
    """Eight steps: a bulk copy, a copy of 4 µs right behind it on another stream, a kernel behind that one."""
    build = TraceBuilder()
    for i in range(8):
        host, t = 100 * i, 1_000 + 1_500 * i
        build.call("cudaMemcpyAsync", host, host + 2, correlation=3 * i + 1)
        if ordered:
            build.row(
                Syncs, start_ns=(host + 5) * US, end_ns=(host + 6) * US, device=0, process=0, context=1, stream=WORK,
                correlation=0, kind=SyncKind.STREAM_WAIT_EVENT, event=1, event_sync=0,
            )  # fmt: skip
        build.call("cudaMemcpyAsync", host + 10, host + 12, correlation=3 * i + 2)
        build.launch(host + 20, host + 22, correlation=3 * i + 3)
        build.copy(t, t + long_us, kind=other, correlation=3 * i + 1, stream=BULK)
        build.copy(t + long_us + 2, t + long_us + 6, size=65_536, correlation=3 * i + 2, stream=WORK)
        if kernel:
            build.kernel(t + long_us + 8, t + 1_499, correlation=3 * i + 3, stream=WORK)
    for stream, flag in ((BULK, bulk_flag), (WORK, StreamFlag.NON_BLOCKING)):
        build.row(Streams, process=0, context=1, stream=stream, flag=flag, priority=0)
    return build.collected(Syncs)


def test_a_short_copy_behind_a_bulk_copy_waits_for_the_engine() -> None:
    build = steps()
    found = finding(build, "copy.engine_queue")
    assert found.wait_ns == 8 * 602 * US
    assert not found.ledger
    assert found.recoverable_ns.low == 0
    assert "copy.engine_queue" not in charges(build)
    assert "copy.engine_queue" in waits(build)


def test_the_other_direction_has_an_engine_of_its_own() -> None:
    assert "copy.engine_queue" not in waits(steps(other=CopyKind.DEVICE_TO_HOST))


def test_copies_of_about_one_size_take_turns() -> None:
    assert "copy.engine_queue" not in waits(steps(long_us=12))


def test_an_event_wait_behind_the_launch_of_the_bulk_copy_may_have_ordered_the_two() -> None:
    assert "copy.engine_queue" not in waits(steps(ordered=True))


def test_nobody_waits_for_a_short_copy_without_work_behind_it() -> None:
    assert "copy.engine_queue" not in waits(steps(kernel=False))


def test_the_legacy_default_stream_holds_for_another_reason() -> None:
    assert "copy.engine_queue" not in waits(steps(bulk_flag=StreamFlag.NULL))


def test_without_creation_flags_nothing_is_said() -> None:
    build = TraceBuilder()
    build.call("cudaMemcpyAsync", 0, 1, correlation=1)
    build.copy(2, 3, correlation=1)
    assert outcome(build, "copy.engine_queue")[0] == "not_applicable"
