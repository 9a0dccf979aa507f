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


def test_images_loaded_in_the_steady_state_are_recompilation() -> None:
    """torchtune#1402: recompiled by guard mismatches, every step."""
    build = steps("cuModuleLoadData", at=tuple(range(1, 20)))
    found = charges(build)
    assert found["init.jit"] == 19 * 500
    assert "init.lazy_load" not in found


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


def test_a_context_created_inside_the_window_is_init_context() -> None:
    assert charges(steps("cuCtxCreate", at=(4,)))["init.context"] == 500


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
