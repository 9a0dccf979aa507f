"""Joining profiled kernels with a trace: same kernel, exposed time, refusal of another program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_samples import counters, m

from stallscope.ingest.ncu_open import open_counters
from stallscope.ingest.open import open_trace
from stallscope.kernels.join import exposed_ns, join, normalised, occurrences
from stallscope.kernels.runner import diagnose
from stallscope.model.analysis import Source
from stallscope.model.counters import CounterSet
from stallscope.model.events import Kernels
from stallscope.model.names import Names
from stallscope.model.trace import CaptureInfo, Device, Trace

NAMES = Names(("", "kernel(float *)", "other(int)", "void ns::mm<(int)4, true>(float *)"))
SPILLING = {
    m.SPILLS: 2e6,
    m.LOCAL_ACCESSES: 2e6,
    m.LOCAL_SECTORS: 8e6,
    m.LOCAL_STORE_SECTORS: 4e6,
    m.LOCAL_LOAD_MISSES: 4e6,
    m.L2_FROM_L1: 10e6,
    m.L2_WRITES: 5e6,
    m.L2_READS: 5e6,
    m.L2_IN: 0.90,
    m.GLOBAL_SECTORS: 2e6,
}


def launches(
    *spans: tuple[int, int], name: Sequence[int] | int = 1, registers: int = 32, shared: int = 0, device: int = 0
) -> Kernels:
    """Launches of the sample kernel's shape at the given times."""
    count = len(spans)
    fixed = {"grid_x": 1056, "grid_y": 1, "grid_z": 1, "block_x": 256, "block_y": 1, "block_z": 1}
    names = np.full(count, name) if isinstance(name, int) else np.array(name)
    zero = dict.fromkeys(("process", "context", "stream", "correlation", "local_bytes", "graph_node"), np.zeros(count))
    return Kernels.of(
        start_ns=np.array([start for start, _ in spans]),
        end_ns=np.array([end for _, end in spans]),
        device=np.full(count, device),
        name=names,
        full_name=names,
        registers=np.full(count, registers),
        shared_bytes=np.full(count, shared),
        **{key: np.full(count, value) for key, value in fixed.items()},
        **zero,
    )


def trace(kernels: Kernels) -> Trace:
    """A trace with these kernels only."""
    source = Source(name="trace.sqlite", sha256="", format="nsys-sqlite")
    return Trace(source, (Device("GPU 0", "", "H200"),), (), (), NAMES, CaptureInfo(), {Kernels: kernels})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("void ns::mm<(int)4, (bool)1>(float *, int)", "ns::mm<4,1>(float*, int)"),
        ("void at::<unnamed>::f<float>(T1)", "void at::(anonymous namespace)::f<float>(T1)"),
        ("void g<(unsigned long)4>(int)", "void g<4ul>(int)"),
        ("mm", "mm"),
        (
            "void at::<unnamed>::layer_norm<c10::BFloat16, float, 0>(int, T2)",
            "void at::native::<unnamed>::layer_norm<c10::BFloat16, float, (bool)0>(int, T2)",
        ),
        (
            "void at::f<4, void templates::g<at::G *>(at::B)::[lambda() (instance 1)]>(int)",
            "void at::native::f<(int)4, void at::native::templates::cuda::g<at::G *>(at::B)::[lambda() (instance 1)]>",
        ),
        ("void h<[lambda(float) (instance 1)]>(int)", "void h<[lambda(float) (instance 1)]>(int)"),
    ],
)
def test_names_of_both_tools_are_the_same_kernel(one: str, two: str) -> None:
    assert normalised(one) == normalised(two)


def test_real_names_of_torch_kernels_agree_between_the_tools(repository: Path) -> None:
    profile = open_counters([repository / "sample_traces" / "ncu" / "h200" / "triton.raw.csv.gz"])
    train = open_trace(repository / "sample_traces" / "h200" / "py_gpt_train.sqlite")
    in_trace = {normalised(name) for name in train.names}
    torch = {normalised(kernel.name) for kernel in profile.kernels if " at::" in kernel.name}
    shared_kernels = {name for name in torch if name.split("<")[0] != "distribution_elementwise_grid_stride_kernel"}
    assert len(shared_kernels) == 3
    assert shared_kernels <= in_trace


def test_another_real_program_is_refused(repository: Path) -> None:
    profile = open_counters([repository / "sample_traces" / "ncu" / "h200" / "kern.raw.csv.gz"])
    said = diagnose(profile, open_trace(repository / "sample_traces" / "h200" / "cu_queue.sqlite"))
    assert said.join is not None
    assert said.join.refused


def test_different_template_arguments_are_different_kernels() -> None:
    assert normalised("void mm<(int)4>(float *)") != normalised("void mm<(int)8>(float *)")


def test_time_of_the_trace_weighs_the_gain_of_the_profile() -> None:
    profiled = CounterSet(
        Source(name="k.csv", sha256="x", format="ncu-csv"), (counters(SPILLING, {"lg_throttle": 0.6}),)
    )
    kernels = launches((0, 100), (200, 300), (300, 800), name=(1, 1, 2))
    said = diagnose(profiled, trace(kernels), window_ns=1000)
    row = said.kernels[0]
    assert (row.launches, row.time_ns, row.share) == (2, 200, 0.2)
    finding = said.findings[0]
    gain = row.causes[0].kernel_gain
    assert finding.wait_ns == round(200 * gain.high)
    assert finding.share == pytest.approx(0.2 * gain.high, abs=0.001)
    assert finding.recoverable_ns.low == round(200 * gain.low)
    assert not any("give the nsys trace" in caveat for caveat in finding.caveats)
    assert [note.message for note in said.notes if note.id == "ncu.joined"] == [
        "29% of the trace's kernel time was profiled with ncu"
    ]


def test_only_exposed_time_counts_for_the_step() -> None:
    profiled = CounterSet(
        Source(name="k.csv", sha256="x", format="ncu-csv"), (counters(SPILLING, {"lg_throttle": 0.6}),)
    )
    said = diagnose(profiled, trace(launches((0, 100), (0, 80), name=(1, 2))), window_ns=1000)
    assert (said.kernels[0].time_ns, said.kernels[0].share) == (100, 0.02)


def test_without_a_trace_the_profiled_time_is_the_window_and_that_is_said() -> None:
    profiled = CounterSet(
        Source(name="k.csv", sha256="x", format="ncu-csv"), (counters(SPILLING, {"lg_throttle": 0.6}),)
    )
    said = diagnose(profiled)
    assert (said.kernels[0].time_ns, said.kernels[0].share) == (1_000_000, 1.0)
    assert any("profiled launches under ncu" in caveat for caveat in said.findings[0].caveats)
    assert said.join is None


def test_another_program_is_refused() -> None:
    profiled = CounterSet(
        Source(name="k.csv", sha256="x", format="ncu-csv"), (counters(SPILLING, {"lg_throttle": 0.6}),)
    )
    said = diagnose(profiled, trace(launches((0, 100), name=2)), window_ns=1000)
    assert said.join is not None
    assert said.join.refused
    note = next(note for note in said.notes if note.id == "ncu.join_refused")
    assert "0% of the profiled kernel time, below 80 %" in note.message
    assert "kernel(float *)" in note.message
    assert said.kernels[0].share == 1.0


@pytest.mark.parametrize(
    ("registers", "shared", "found"), [(32, 0, True), (40, 0, False), (32, 48 << 10, False), (0, 0, True)]
)
def test_the_resources_must_fit(registers: int, shared: int, found: bool) -> None:  # noqa: FBT001
    kernel = counters({m.REGISTERS: 32, m.STATIC_SHARED: 0, m.DYNAMIC_SHARED: 0})
    joined = join((kernel,), launches((0, 10), registers=registers, shared=shared), NAMES, 100)
    assert (kernel.signature in joined.kernels) is found


def test_equal_counts_pair_the_kth_launch_with_the_kth_launch() -> None:
    profiled = tuple(counters({}, order=order) for order in range(2))
    assert occurrences(profiled, launches((50, 60), (70, 80)), NAMES) == {0: 0, 1: 1}
    assert occurrences(profiled, launches((50, 60), (70, 80), (90, 95)), NAMES) == {}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=8))
def test_exposed_time_equals_the_count_instant_by_instant(spans: list[tuple[int, int]]) -> None:
    ranges = sorted((start, start + length) for start, length in spans)
    expected = [
        sum(sum(s <= instant < e for s, e in ranges) == 1 for instant in range(start, end)) for start, end in ranges
    ]
    assert exposed_ns(launches(*ranges)).tolist() == expected
