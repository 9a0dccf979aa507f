"""Roofline and warp-state charts of the profiled kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallscope.ingest.ncu_open import open_counters
from stallscope.kernels.runner import diagnose
from stallscope.model.analysis import Analysis, Intensity, KernelCauses
from stallscope.views.roofline import Roof, roofline, roofline_figure
from stallscope.views.warp_states import warp_states, warp_states_figure


def kernel(name: str, intensity: Intensity | None = None, stalls: dict[str, float] | None = None) -> KernelCauses:
    """A kernel of 1 ms and half of the window."""
    return KernelCauses(
        kernel=name,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        launches=1,
        time_ns=1_000_000,
        share=0.5,
        cause="kernel.mem.dram",
        evidence_level="supported",
        intensity=intensity,
        stalls=stalls or {},
    )


def at(flop: float, byte: float) -> Intensity:
    """A point on a device of 60 TFLOP/s and 4 TB/s."""
    return Intensity(pipe="fp32", flop_per_s=flop, bytes_per_s=byte, peak_flop_per_s=60e12, peak_bytes_per_s=4e12)


def test_a_point_lies_under_its_roof() -> None:
    data = roofline(Analysis(kernels=(kernel("a(int)", at(1e12, 2e12)), kernel("b(int)", at(30e12, 1e12)))))
    first, second = data.points
    assert (first.flop_per_byte, first.roof_flop_per_s, first.reached) == (0.5, 2e12, 0.5)
    assert (second.flop_per_byte, second.roof_flop_per_s, second.reached) == (30.0, 60e12, 0.5)
    assert data.roofs == (Roof("fp32", 60e12, 4e12),)
    assert data.roofs[0].ridge == 15.0


def test_kernels_without_operations_are_counted_not_drawn() -> None:
    data = roofline(Analysis(kernels=(kernel("copy(int)"), kernel("zero(int)", at(0, 1e12)))))
    assert (data.points, data.without) == ((), 2)
    assert len(roofline_figure(data).data) == 1


def test_the_figure_has_a_line_a_roof_and_a_marker_a_kernel() -> None:
    figure = roofline_figure(roofline(Analysis(kernels=(kernel("void ns::f<int>(int)", at(1e12, 2e12)),))))
    roof, markers = figure.data
    assert list(roof.y)[-1] == 60e12
    assert list(markers.x) == [0.5]
    assert "25.0 %" not in markers.text[0]
    assert "50.0 % of its fp32 roof" in markers.text[0]


def test_names_of_a_file_are_no_markup() -> None:
    evil = kernel("<img src=x onerror=alert(1)>\x1b[31m", at(1e12, 2e12), {"selected": 1.0})
    document = Analysis(kernels=(evil,))
    for figure in (roofline_figure(roofline(document)), warp_states_figure(warp_states(document))):
        assert "<img" not in figure.to_json()
        assert "\\u001b" not in figure.to_json()


def test_reasons_are_grouped_and_sum_to_one() -> None:
    stalls = {"long_scoreboard": 0.5, "lg_throttle": 0.1, "selected": 0.2, "wait": 0.15}
    (row,) = warp_states(Analysis(kernels=(kernel("a(int)", stalls=stalls),)))
    assert row.groups == pytest.approx(
        {"issuing": 0.2, "global and local memory": 0.6, "arithmetic": 0.15, "other": 0.05}
    )
    assert next(iter(row.reasons)) == "long_scoreboard"


def test_kernels_without_warp_states_have_no_bar() -> None:
    assert warp_states(Analysis(kernels=(kernel("a(int)"),))) == ()
    assert len(warp_states_figure(()).data) == 0


def test_charts_of_real_kernels(repository: Path) -> None:
    said = diagnose(open_counters([repository / "sample_traces" / "ncu" / "h200" / "triton.raw.csv.gz"]))
    document = Analysis.from_json(Analysis(kernels=said.kernels).to_json())
    data = roofline(document)
    best = max((point for point in data.points if point.pipe == "tensor bf16"), key=lambda point: point.reached)
    assert 0.7 < best.reached < 0.9
    assert all(0 < point.reached < 1.05 for point in data.points)
    assert len(roofline_figure(data).data) == len(data.roofs) + 1
    rows = warp_states(document)
    assert all(sum(row.groups.values()) == pytest.approx(1, abs=0.001) for row in rows)
    assert len(warp_states_figure(rows).data) >= 5
