"""input.wait, host.busy, host.gil and host.blocked: what the launching thread did before it launched."""

from __future__ import annotations

import pytest
from build import TraceBuilder
from diagnose import charges, finding, outcome, waits

from stallscope.model.events import GilSpans, NvtxRanges, OsCalls, SchedSpans


def slow_host(host_us: int = 5_000) -> TraceBuilder:
    """Four steps: the thread does something for `host_us`, launches, the kernel runs 1 ms."""
    build = TraceBuilder()
    for i in range(4):
        t = i * (host_us + 1_000)
        build.launch(t + host_us - 15, t + host_us - 5, correlation=i + 1)
        build.kernel(t + host_us, t + host_us + 1_000, correlation=i + 1)
    return build


HOST_PART = 3 * 4_985


def test_unexplained_host_time_is_host_busy() -> None:
    build = slow_host()
    assert charges(build) == {"host.busy": 15_000}
    assert finding(build, "host.busy").evidence_level == "indicated"


def test_the_range_around_the_host_work_is_named() -> None:
    build = slow_host()
    for i in range(4):
        build.nvtx("tokenize", 6_000 * i - 10, 6_000 * i + 4_980)
    assert finding(build, "host.busy").where[0].nvtx == ("tokenize",)


@pytest.mark.parametrize(
    "text",
    [
        "data",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "load_batch",
        "step/data",
        "get_batch",
        "train_load_batch",
    ],
)
def test_host_time_in_a_range_that_fetches_data_is_input_wait(text: str) -> None:
    build = slow_host()
    for i in range(1, 4):
        build.nvtx(text, 6_000 * i, 6_000 * i + 4_900)
    assert charges(build)["input.wait"] == 3 * 4_900
    assert waits(build)[0] == "input.wait"


@pytest.mark.parametrize(
    "text",
    [
        "data_parallel",
        "metadata",
        "batch_norm",
        "DistributedDataParallel.forward",
        "update",
        "## all2all_tw_data:init ##",
        "## all2all_id_list_score_data:init ##",
    ],
)
def test_ranges_that_only_sound_like_data_are_not_input(text: str) -> None:
    build = slow_host()
    for i in range(1, 4):
        build.nvtx(text, 6_000 * i, 6_000 * i + 4_900)
    assert "input.wait" not in charges(build)


def test_file_reads_of_the_launching_thread_are_input_wait_and_other_calls_are_blocked() -> None:
    build = slow_host()
    for i in range(1, 4):
        build.span(OsCalls, 6_000 * i, 6_000 * i + 2_000, name="read")
        build.span(OsCalls, 6_000 * i + 2_000, 6_000 * i + 4_000, name="pthread_mutex_lock")
    found = charges(build)
    assert found["input.wait"] == 3 * 2_000
    assert found["host.blocked"] == 3 * 2_000


def test_blocking_of_another_thread_is_not_the_launching_threads() -> None:
    build = slow_host()
    for i in range(1, 4):
        build.span(OsCalls, 6_000 * i, 6_000 * i + 4_000, name="pthread_cond_wait", thread=2)
    assert charges(build) == {"host.busy": 15_000}


def test_system_calls_inside_a_cuda_call_belong_to_the_call() -> None:
    build = slow_host()
    for i in range(1, 4):
        build.call("cudaMalloc", 6_000 * i, 6_000 * i + 4_000)
        build.span(OsCalls, 6_000 * i + 10, 6_000 * i + 3_990, name="ioctl")
    found = charges(build)
    assert found["alloc.sync"] == 3 * 4_000
    assert "host.blocked" not in found


def test_off_cpu_time_is_host_blocked() -> None:
    build = slow_host()
    for i in range(1, 4):
        build.span(SchedSpans, 6_000 * i, 6_000 * i + 4_000)
    assert charges(build)["host.blocked"] == 3 * 4_000


def test_waiting_for_the_gil_is_told_from_holding_it() -> None:
    build = slow_host()
    for i in range(1, 4):
        build.span(GilSpans, 6_000 * i, 6_000 * i + 3_000, waiting=True)
        build.span(GilSpans, 6_000 * i + 3_000, 6_000 * i + 4_900, waiting=False)
    assert charges(build)["host.gil"] == 3 * 3_000


def test_without_the_tables_the_rules_say_what_to_collect() -> None:
    build = slow_host()
    assert outcome(build, "host.blocked")[0] == "not_applicable"
    assert "osrt" in outcome(build, "host.blocked")[1]
    assert outcome(build, "host.gil")[0] == "not_applicable"
    assert outcome(build, "input.wait")[0] == "not_applicable"
    assert outcome(slow_host().collected(NvtxRanges), "input.wait")[0] == "clean"


def test_gaps_without_any_call_are_the_hosts() -> None:
    """grudge#146: big gaps with no call inside: the host, cause unknown."""
    build = TraceBuilder()
    for i in range(5):
        build.launch(2_100 * i, 2_100 * i + 5, correlation=i + 1)
        build.kernel(2_100 * i + 10, 2_100 * i + 110, correlation=i + 1)
    assert set(charges(build)) == {"host.busy"}
