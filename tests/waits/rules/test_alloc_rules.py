"""alloc.retry, alloc.pinned, alloc.map, alloc.pool_trim and alloc.relocate."""

from __future__ import annotations

from build import US, TraceBuilder
from diagnose import charges, finding, waits

from stallscope.model.events import CopyKind, MemoryEvents, MemoryKind


def between_kernels(calls: list[tuple[str, int, int, int]], *, thread: int = 1, gap_us: int = 12_000) -> TraceBuilder:
    """Two 10 ms kernels with the calls (name, offset, duration, result) in the gap between them."""
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(5, 10_005, correlation=1)
    for name, offset, duration, result in calls:
        build.call(name, 10_005 + offset, 10_005 + offset + duration, result=result, thread=thread)
    build.launch(10_005 + gap_us - 15, 10_005 + gap_us - 5, correlation=2)
    build.kernel(10_005 + gap_us, 20_005 + gap_us, correlation=2)
    return build


def test_failed_allocation_then_frees_then_allocation_is_a_retry() -> None:
    """pytorch#135837: cudaFree of cached blocks, then cudaMalloc, in the middle of a step."""
    calls = [("cudaMalloc", 0, 100, 2)]
    calls += [("cudaFree", 100 + 900 * i, 900, 0) for i in range(12)]
    calls += [("cudaMalloc", 100 + 900 * 12, 700, 0)]
    build = between_kernels(calls)
    found = charges(build)
    assert found["alloc.retry"] == 11_600
    assert "alloc.sync" not in found
    assert waits(build)[0] == "alloc.retry"


def test_frees_and_an_allocation_without_a_failure_are_no_retry() -> None:
    calls = [("cudaFree", 900 * i, 900, 0) for i in range(12)] + [("cudaMalloc", 900 * 12, 700, 0)]
    found = charges(between_kernels(calls))
    assert "alloc.retry" not in found
    assert found["alloc.sync"] == 11_500


def cycles(frees: int, allocations: int, count: int = 4) -> TraceBuilder:
    """Steps of 10 ms; before each but the first the thread frees and allocates this many blocks, none failing."""
    build = TraceBuilder()
    t = 0
    for step in range(count + 1):
        calls = ["cudaFree"] * frees + ["cudaMalloc"] * allocations if step else []
        for i, name in enumerate(calls):
            build.call(name, t + 300 * i, t + 300 * (i + 1))
        t += 300 * len(calls)
        build.launch(t, t + 5, correlation=step + 1)
        build.kernel(t + 10, t + 10_000, correlation=step + 1)
        t += 10_000
    return build


def test_a_cache_given_back_again_and_again_for_one_block_is_a_retry_without_a_failure() -> None:
    """PyTorch's memory fraction is checked without calling CUDA."""
    build = cycles(frees=3, allocations=1)
    found = charges(build)
    assert found["alloc.retry"] == 4 * 4 * 300
    assert "alloc.sync" not in found
    assert finding(build, "alloc.retry").evidence_level == "indicated"


def test_buffers_freed_and_allocated_anew_in_every_step_are_no_retry() -> None:
    assert "alloc.retry" not in charges(cycles(frees=3, allocations=3))
    assert "alloc.retry" not in charges(cycles(frees=1, allocations=1))


def test_the_end_of_a_phase_is_no_retry() -> None:
    assert "alloc.retry" not in charges(cycles(frees=6, allocations=1, count=2))


def test_pinning_on_the_launching_thread_is_alloc_pinned() -> None:
    assert charges(between_kernels([("cudaHostAlloc", 0, 11_000, 0)]))["alloc.pinned"] == 11_000


def test_threads_that_pin_at_once_hold_up_the_launching_thread() -> None:
    """vllm#37006: pin_memory() in 24 threads, a lock in the driver."""
    build = between_kernels([])
    for thread in range(2, 26):
        build.call("cudaHostAlloc", 10_000, 22_000, thread=thread)
    found = charges(build)
    assert found["alloc.pinned"] >= 11_000
    assert finding(build, "alloc.pinned").evidence_level == "indicated"


def test_one_thread_that_pins_does_not_explain_a_host_that_is_elsewhere() -> None:
    build = between_kernels([])
    build.call("cudaHostAlloc", 10_000, 22_000, thread=2)
    assert charges(build).get("alloc.pinned", 0) <= 10


def test_mapping_calls_are_alloc_map() -> None:
    calls = [("cuMemCreate", 0, 300, 0), ("cuMemMap", 300, 50, 0), ("cuMemSetAccess", 350, 400, 0)]
    found = charges(between_kernels(calls, gap_us=800))
    assert found["alloc.map"] == 750
    assert "alloc.sync" not in found


def pool(sizes: list[int]) -> TraceBuilder:
    build = TraceBuilder()
    for i, size in enumerate(sizes):
        t = 1000 * i
        build.call("cudaMallocAsync", t, t + 200)
        build.launch(t + 205, t + 210, correlation=i + 1)
        build.kernel(t + 212, t + 900, correlation=i + 1)
        build.call("cudaStreamSynchronize", t + 220, t + 905)
        build.row(
            MemoryEvents,
            time_ns=(t + 200) * US,
            process=0,
            device=0,
            address=1,
            bytes=size,
            kind=MemoryKind.DEVICE,
            is_free=False,
            correlation=0,
            pool=99,
            pool_threshold_bytes=0,
            pool_bytes=size,
            pool_used_bytes=size,
        )
    return build


def test_slow_stream_ordered_allocations_around_syncs_are_pool_trim() -> None:
    build = pool([64, 32, 64, 32, 64])
    assert charges(build)["alloc.pool_trim"] == 4 * 200
    assert finding(build, "alloc.pool_trim").evidence_level == "supported"
    shrinks = {e.label: e.value for e in finding(build, "alloc.pool_trim").evidence}["times a pool shrank"]
    assert shrinks == 2
    assert finding(pool([64] * 5), "alloc.pool_trim").evidence_level == "indicated"
    emptied = finding(pool([64, 0, 64, 64, 64]), "alloc.pool_trim")
    assert {e.label: e.value for e in emptied.evidence}["times a pool shrank"] == 1


def test_stream_ordered_allocations_out_of_the_pool_cost_nothing() -> None:
    build = TraceBuilder()
    for i in range(5):
        t = 1000 * i
        build.call("cudaMallocAsync", t, t + 2)
        build.launch(t + 4, t + 6, correlation=i + 1)
        build.kernel(t + 8, t + 1000, correlation=i + 1)
    assert "alloc.pool_trim" not in charges(build)


def copies(sizes: list[int]) -> TraceBuilder:
    build = TraceBuilder()
    t = 0
    for size in sizes:
        build.copy(t, t + size // 1000, size=size * 100, kind=CopyKind.DEVICE_TO_DEVICE, source=MemoryKind.DEVICE)
        build.kernel(t + size // 1000, t + size // 1000 + 50)
        t += size // 1000 + 50
    return build


def test_device_copies_that_grow_step_by_step_are_a_relocation() -> None:
    build = copies([10_000 * (i + 1) for i in range(16)])
    assert charges(build) == {"alloc.relocate": sum(10 * (i + 1) for i in range(16))}
    assert waits(build) == ["alloc.relocate"]


def test_device_copies_of_one_size_or_of_mixed_sizes_are_none() -> None:
    assert "alloc.relocate" not in charges(copies([80_000] * 16))
    assert "alloc.relocate" not in charges(copies([90_000, 20_000, 70_000, 10_000, 50_000, 30_000, 80_000, 40_000] * 2))


def test_growth_that_starts_again_with_every_sequence_beside_copies_of_the_new_part_is_a_relocation() -> None:
    grows = [10_000 * (i + 2) for i in range(12)]
    new = 10_000
    build = copies([size for whole in (*grows[8:], *grows) for size in (whole, new)])
    found = charges(build)
    assert found["alloc.relocate"] == sum(size // 1000 for size in (*grows[8:], *grows))
    assert found["copy.exposed"] == 16 * new // 1000


def test_the_same_few_rising_sizes_in_every_step_are_none() -> None:
    assert "alloc.relocate" not in charges(copies([10_000, 20_000, 30_000, 40_000, 50_000] * 6))


def test_concatenation_kernels_that_grow_are_indicated_only() -> None:
    build = TraceBuilder()
    t = 0
    for i in range(16):
        build.kernel(t, t + 10 * (i + 1), name="CatArrayBatchedCopy")
        build.kernel(t + 10 * (i + 1), t + 10 * (i + 1) + 50, name="attention")
        t += 10 * (i + 1) + 50
    assert finding(build, "alloc.relocate").evidence_level == "indicated"
