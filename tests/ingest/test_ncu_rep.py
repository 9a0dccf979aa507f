"""`.ncu-rep` files: read by the published description, refused clearly where it does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ncu_mutations import mutate
from ncu_pages import PAGES, page, read
from ncu_reports import device, estimate, kernel_result, number, report, varint

from stallscope.errors import InputError
from stallscope.ingest.ncu_rep import read_ncu_rep, unit_of
from stallscope.ingest.ncu_wire import WireError, fields
from stallscope.model.analysis import Source
from stallscope.model.counters import CounterSet

STRINGS = (
    "gpu__time_duration.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "launch__func",
    "dram__bytes_read.sum",
)
SOURCE = Source(name="kernels.ncu-rep", sha256="", format="ncu-rep")
CORPUS = {
    "c07-mojo/profile": 1052,
    "c02-jaxtoolbox/ncu_report_cuda_graph_pdl_stream_capture": 7287,
}


def opened(data: bytes) -> CounterSet:
    """Read from memory."""
    return read_ncu_rep(data, SOURCE)


def test_a_kernel_with_its_metrics_shape_and_ranges() -> None:
    kernel = kernel_result("mm", {0: 5184, 1: 12.5, 2: "CachePreferNone"}, ranges=("step", "layer"))
    found = opened(report(STRINGS, kernel)).kernels[0]
    assert (found.name, found.mangled_name, found.grid, found.block) == ("mm(float *)", "_Zmm", (64, 2, 1), (128, 1, 1))
    assert (found.process, found.order, found.nvtx) == (7, 0, ("step", "layer"))
    assert found.value("gpu__time_duration.sum") == 5184
    assert found.metrics["gpu__time_duration.sum"].unit == "ns"
    assert found.metrics["sm__throughput.avg.pct_of_peak_sustained_elapsed"].unit == "%"
    assert found.texts == {"launch__func": "CachePreferNone"}


def test_a_metric_without_a_value_is_absent_not_zero() -> None:
    found = opened(report(STRINGS, kernel_result("mm", {0: 1, 3: None}))).kernels[0]
    assert found.value("dram__bytes_read.sum") is None


def test_values_that_are_no_numbers_are_absent() -> None:
    found = opened(report(STRINGS, kernel_result("mm", {0: 1, 1: float("nan"), 3: float("inf")}))).kernels[0]
    assert set(found.metrics) == {"gpu__time_duration.sum"}


def test_device_attributes_join_their_kernels_and_nothing_else_of_the_session() -> None:
    session = device({"compute_capability_major": 9, "compute_capability_minor": 0, "display_name": "NVIDIA H200"})
    found = opened(report(STRINGS, kernel_result("mm", {0: 1}), session=session))
    assert found.kernels[0].compute_capability == "9.0"
    assert found.kernels[0].texts["device__attribute_display_name"] == "NVIDIA H200"
    assert "secret" not in repr(found)


def test_estimates_of_nvidia_s_rules_are_kept() -> None:
    rules = (estimate("CPIStall", 2, 34.5), estimate("IssueSlotUtilization", 1, 90.0))
    found = opened(report(STRINGS, kernel_result("mm", {0: 1}, rules=rules))).kernels[0].estimates
    assert [(e.rule, e.kind, e.percent) for e in found] == [
        ("CPIStall", "global", 34.5),
        ("IssueSlotUtilization", "local", 90.0),
    ]


@given(
    values=st.lists(
        st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**64 - 1), min_size=1, max_size=4
    )
)
def test_numbers_come_back_exactly(values: list[float]) -> None:
    metrics = dict(enumerate(values))
    found = opened(report(STRINGS, kernel_result("mm", metrics))).kernels[0]
    assert [found.value(STRINGS[key]) for key in metrics] == values


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no NVR header"),
        (b"\x97\0\0\0\x08\0", "no NVR header"),
        (b"NVR\0", "cut at the size"),
        (report(STRINGS, version=8), "version 8 is not known"),
        (report(STRINGS), "no kernel with counters"),
        (report(STRINGS, ranges=2), "2 range results"),
        (report(STRINGS, kernel_result("mm", {0: None})), "no kernel with counters"),
        (report(STRINGS, kernel_result("mm", {0: 1}))[:-3], "larger than the file"),
    ],
)
def test_a_file_without_counters_is_refused_with_the_way_out(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        opened(data)
    assert refusal.value.file == "kernels.ncu-rep"
    assert "ncu -i" in (refusal.value.next_step or "")


def test_one_damaged_result_does_not_cost_the_others() -> None:
    found = opened(report(STRINGS, b"\x0a\xff\x01", kernel_result("mm", {0: 1})))
    assert len(found.kernels) == 1
    assert "1 kernel results that are damaged" in found.notes[0].message


@given(data=st.binary(max_size=200))
def test_any_bytes_are_fields_or_an_error(data: bytes) -> None:
    try:
        list(fields(memoryview(data)))
    except WireError:
        return


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(WireError, match="too long"):
        list(fields(memoryview(varint(8) + b"\xff" * 11)))
    assert next(iter(fields(memoryview(number(1, 2**64 - 1))))).integer == 2**64 - 1


def answer(data: bytes) -> str:
    """`read`, `refused`, or empty for an answer that is neither."""
    try:
        counters = opened(data)
    except InputError as refusal:
        return "refused" if refusal.next_step else ""
    return "read" if counters.kernels and all(kernel.metrics for kernel in counters.kernels) else ""


def test_damaged_reports_are_read_or_refused() -> None:
    kernels = [
        kernel_result(f"k{i}", {0: 1000 + i, 1: 12.5, 2: "text"}, rules=(estimate("R", 2, 5.0),)) for i in range(4)
    ]
    original = report(STRINGS, *kernels, session=device({"compute_capability_major": 9}))
    answers = [answer(mutate(original, seed)) for seed in range(400)]
    assert all(answers), answers.index("")
    assert {"read", "refused"} <= set(answers)


def test_units_by_name() -> None:
    names = (
        "gpu__time_duration.sum",
        "dram__bytes_read.sum",
        "dram__bytes.sum.per_second",
        "gpc__cycles_elapsed.avg.per_second",
    )
    assert [unit_of(name) for name in names] == ["ns", "byte", "byte/s", "hz"]
    assert unit_of("sm__maximum_warps_per_active_cycle_pct") == "%"
    assert unit_of("smsp__inst_executed.sum") == ""


@pytest.mark.parametrize("name", CORPUS)
def test_public_reports_equal_the_csv_pages_of_ncu(shared: Path, name: str) -> None:
    ours = opened((shared / "corpus" / f"{name}.ncu-rep").read_bytes())
    theirs = read((shared / "corpus" / f"{name}.raw.csv").read_bytes())
    compared = 0
    for one, two in zip(ours.kernels, theirs.kernels, strict=True):
        assert (one.signature, one.compute_capability) == (two.signature, two.compute_capability)
        assert one.metrics.keys() == two.metrics.keys()
        for metric, printed in two.metrics.items():
            tolerance = 1.01 * printed.resolution + 1e-9 * abs(printed.value)
            assert abs(one.metrics[metric].value - printed.value) <= tolerance, metric
            compared += 1
    assert compared == CORPUS[name]


def test_units_by_name_agree_with_the_units_ncu_prints() -> None:
    printed = read(page(PAGES / "kern.raw.base.csv.gz")).kernels[0].metrics
    by_name = {name: unit_of(name) for name in printed if unit_of(name)}
    assert {name for name, unit in by_name.items() if printed[name].unit not in {unit, ""}} == set()
