"""init.*: code loading, compilation, graph building and contexts inside the window."""

from __future__ import annotations

from build import TraceBuilder
from diagnose import charges, finding, outcome

from stallscope.model.events import OverheadKind, Overheads


def steps(call: str, *, at: tuple[int, ...]) -> TraceBuilder:
    """Twenty steps of 1 ms; in those of `at` the call takes 500 µs before the launch."""
    build = TraceBuilder()
    for i in range(20):
        t = 1000 * i
        if i in at:
            build.call(call, t, t + 500)
        build.launch(t + 505, t + 510, correlation=i + 1)
        build.kernel(t + 512, t + 1000, correlation=i + 1)
    return build


def test_modules_loaded_at_first_use_are_lazy_loading() -> None:
    build = steps("cuLibraryLoadData", at=(1, 2))
    assert charges(build)["init.lazy_load"] == 1000
    assert outcome(build, "init.jit")[0] == "clean"


def test_images_built_in_the_steady_state_are_recompilation() -> None:
    """torchtune#1402: recompiled by guard mismatches, every step. The compiler ran on the host before the load."""
    build = TraceBuilder()
    for i in range(20):
        t = 10_000 * i
        build.call("cuModuleLoadData", t + 8_000, t + 8_500)
        build.launch(t + 8_505, t + 8_510, correlation=i + 1)
        build.kernel(t + 8_512, t + 10_000, correlation=i + 1)
    found = charges(build)
    assert found["init.jit"] == 19 * 500
    assert "init.lazy_load" not in found


def test_ptx_compiled_inside_the_load_call_in_every_step_is_recompilation() -> None:
    build = TraceBuilder()
    for i in range(20):
        t = 10_000 * i
        build.call("cuModuleLoadData", t, t + 6_000)
        build.launch(t + 6_005, t + 6_010, correlation=i + 1)
        build.kernel(t + 6_012, t + 10_000, correlation=i + 1)
    assert charges(build)["init.jit"] == 19 * 6_000


def test_machine_code_loaded_in_every_step_is_not_compiled() -> None:
    found = charges(steps("cuModuleLoadData", at=tuple(range(1, 20))))
    assert found["init.lazy_load"] == 19 * 500
    assert "init.jit" not in found


def test_compiling_calls_are_jit() -> None:
    assert charges(steps("nvrtcCompileProgram", at=(3,)))["init.jit"] == 500


def test_driver_records_tell_lazy_loading_inside_a_launch_call() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(6, 20, correlation=1)
    build.launch(30, 830, correlation=2)
    build.span(Overheads, 40, 820, kind=OverheadKind.LAZY_LOADING, correlation=2)
    build.kernel(832, 900, correlation=2)
    found = charges(build)
    assert found["init.lazy_load"] == 780
    assert found["launch.gap"] == 32


def loads_beside_work(*, waits: bool) -> TraceBuilder:
    """Steps whose host loads kernels for 100 µs while the device works, and then launches five kernels, each late."""
    build = TraceBuilder()
    for i in range(10):
        t = 1_000 * i
        build.span(Overheads, t + 20, t + 120, kind=OverheadKind.UNNAMED, correlation=0)
        if waits:
            build.call("cudaStreamSynchronize", t + 150, t + 405)
        for k in range(5):
            at = t + 450 + 100 * k
            build.launch(at, at + 5, correlation=10 * i + k + 1)
            build.kernel(at + 10, at + (60 if k < 4 else 550), correlation=10 * i + k + 1)
    return build


def test_loading_beside_a_busy_device_costs_the_late_launches_behind_it() -> None:
    """Records of nsys 2023.4, which has no name for the driver's lazy loading."""
    assert charges(loads_beside_work(waits=False))["init.lazy_load"] == 9 * 100


def test_a_host_that_has_waited_for_the_device_since_has_lost_nothing_by_loading() -> None:
    assert "init.lazy_load" not in charges(loads_beside_work(waits=True))


def test_unnamed_records_of_a_launch_call_beside_a_busy_device_are_a_full_queue() -> None:
    build = TraceBuilder(devices=2)
    build.kernel(0, 2_000, device=1, stream=9)
    build.launch(0, 5, correlation=1)
    build.kernel(6, 20, correlation=1)
    build.launch(30, 830, correlation=2)
    build.span(Overheads, 40, 820, kind=OverheadKind.UNNAMED, correlation=2)
    build.kernel(832, 900, correlation=2)
    assert "init.lazy_load" not in charges(build)


def test_a_context_created_inside_the_window_is_init_context() -> None:
    assert charges(steps("cuCtxCreate", at=(4,)))["init.context"] == 500


def frees(*lengths_ms: float, thread: int = 1) -> TraceBuilder:
    """One step after another, each with a call to free memory on an idle device before its launch."""
    build = TraceBuilder()
    build.launch(-10, -5, correlation=1)
    build.kernel(0, 100, correlation=1)
    t = 200.0
    for i, length in enumerate(lengths_ms, start=2):
        build.call("cudaFree", t, t + 1000 * length, thread=thread)
        t += 1000 * length
        build.launch(t, t + 5, correlation=i, thread=thread)
        build.kernel(t + 8, t + 108, correlation=i)
        t += 200
    return build


def test_a_cudafree_far_longer_than_any_other_sets_a_library_up() -> None:
    """AlexNet on an A100: cudaFree(0) of cuDNN and of its first convolution, then releases of 1 to 4 ms."""
    build = frees(6008, 525, 0.002, 1.25, 4.0, 1.3)
    found = charges(build)
    assert found["init.context"] == 6008_000 + 525_000
    assert found["alloc.sync"] == 2 + 1250 + 4000 + 1300
    context = finding(build, "init.context")
    assert context.evidence_level == "indicated"
    assert "cudaFree" in context.caveats[0]


def test_a_lone_long_cudafree_on_an_idle_device_is_set_up() -> None:
    assert charges(frees(300))["init.context"] == 300_000


def test_releases_in_a_loop_stay_allocation_however_long_they_take() -> None:
    """hipFree on an MI300X takes 24 to 70 ms, again and again."""
    for lengths in ((24.1, 24.1, 70, 24.2, 31), (60,) * 6, (300, 290, 310, 0.1, 305, 300), (60, 8, 12)):
        found = charges(frees(*lengths))
        assert "init.context" not in found
        assert found["alloc.sync"] >= sum(lengths) * 1000 - 1


def test_a_cudafree_that_waits_for_the_device_is_no_set_up() -> None:
    build = TraceBuilder()
    build.launch(-10, -5, correlation=1)
    build.kernel(0, 300_000, correlation=1)
    build.call("cudaFree", 10, 300_010)
    build.launch(300_500, 300_505, correlation=2)
    build.kernel(300_508, 300_600, correlation=2)
    assert charges(build) == {"alloc.sync": 508}


def test_capture_and_instantiation_are_graph_building_and_replays_are_not() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(6, 20, correlation=1)
    build.call("cudaStreamBeginCapture", 30, 35)
    build.launch(100, 105, correlation=2)
    build.call("cudaStreamEndCapture", 300, 305)
    build.call("cudaGraphInstantiate", 305, 800)
    build.call("cudaGraphLaunch", 810, 900, correlation=3)
    build.kernel(905, 1000, correlation=3)
    build.call("cudaGraphLaunch", 1010, 1020, correlation=4)
    build.kernel(1025, 1100, correlation=4)
    found = charges(build)
    assert found["init.graph"] == (305 - 30) + (800 - 305) + (900 - 810)
    assert found["launch.gap"] == 25
    assert found["host.busy"] == 10 + 10 + 5


def test_first_allocation_before_the_first_kernel_is_outside_the_window() -> None:
    build = TraceBuilder()
    build.call("cudaMalloc", 0, 400_000)
    build.launch(400_010, 400_015, correlation=1)
    build.kernel(400_020, 401_020, correlation=1)
    assert charges(build) == {}


def test_profiler_records_are_a_note_and_take_the_time_from_others() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(6, 20, correlation=1)
    build.span(Overheads, 30, 5_000, kind=OverheadKind.PROFILER, correlation=0)
    build.launch(5_010, 5_015, correlation=2)
    build.kernel(5_020, 5_100, correlation=2)
    assert charges(build)["env.profiler_overhead"] == 4_970
    assert finding(build, "env.profiler_overhead").severity == "note"


def test_replays_traced_node_by_node_pay_the_profilers_price() -> None:
    build = TraceBuilder(graph_trace="node").collected(Overheads)
    for i in range(4):
        t = 1000 * i
        build.call("cudaGraphLaunch", t, t + 400, correlation=i + 1)
        build.kernel(t + 405, t + 990, correlation=i + 1)
    assert charges(build) == {"env.profiler_overhead": 3 * 405, "launch.gap": 30} or charges(build) == {
        "env.profiler_overhead": 3 * 405,
        "launch.drain": 30,
    }


def captured(*, end_thread: int = 1, closed: bool = True) -> TraceBuilder:
    """A capture from 30 to 305 µs, ended by a thread or not at all."""
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(6, 20, correlation=1)
    build.call("cudaStreamBeginCapture", 30, 35)
    if closed:
        build.call("cudaStreamEndCapture", 300, 305, thread=end_thread)
    build.launch(400, 405, correlation=2)
    build.kernel(410, 500, correlation=2)
    return build


def test_a_capture_lasts_until_its_own_thread_ends_it() -> None:
    assert charges(captured())["init.graph"] == 275
    assert charges(captured(closed=False))["init.graph"] == 5
    assert charges(captured(end_thread=2))["init.graph"] == 5


def test_graph_building_states_its_calls_and_captures() -> None:
    found = finding(captured(), "init.graph")
    assert [(e.value, e.unit, e.source) for e in found.evidence] == [
        (2, "count", "CUPTI_ACTIVITY_KIND_RUNTIME"),
        (1, "count", "CUPTI_ACTIVITY_KIND_RUNTIME"),
    ]
    assert found.evidence_level == "supported"
    assert found.recoverable_ns.assumes == "the graph is built before the measured part"
    assert found.spans == ((30_000, 305_000),)


def test_graphs_of_a_process_without_device_work_hold_nobody_up() -> None:
    build = steps("cudaMalloc", at=())
    build.call("cudaGraphInstantiate", 1_100, 1_500, thread=2, pid=2)
    assert outcome(build, "init.graph")[0] == "clean"
