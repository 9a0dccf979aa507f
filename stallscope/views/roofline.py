"""Roofline of the profiled kernels: operations a second over operations a DRAM byte, under their roofs."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stallscope.model.analysis import Analysis, Intensity, KernelCauses
from stallscope.model.units import duration, share
from stallscope.views.names import short_kernel
from stallscope.views.text import printable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LONGEST_NAME = 48
DECADES_BESIDE = 1.0
MARKER_PIXELS = (7, 28)


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One kernel: FLOP a DRAM byte, FLOP a second, the roof above it (FLOP/s) and how much of that it reaches."""

    kernel: str
    cause: str
    pipe: str
    flop_per_byte: float
    flop_per_s: float
    roof_flop_per_s: float
    reached: float
    time_ns: int
    share: float


@dataclass(frozen=True, slots=True)
class Roof:
    """One pipe's roof: memory-bound below the ridge (FLOP a byte), flat above it."""

    pipe: str
    peak_flop_per_s: float
    peak_bytes_per_s: float

    @property
    def ridge(self) -> float:
        """FLOP a byte from which the pipe, not DRAM, is the roof."""
        return self.peak_flop_per_s / self.peak_bytes_per_s

    def at(self, flop_per_byte: float) -> float:
        """Height of the roof, FLOP/s."""
        return min(self.peak_flop_per_s, flop_per_byte * self.peak_bytes_per_s)


@dataclass(frozen=True, slots=True)
class Roofline:
    """Kernels that compute something, by time, and one roof a pipe. `without` counts kernels without the metrics."""

    points: tuple[RooflinePoint, ...]
    roofs: tuple[Roof, ...]
    without: int


def roofline(analysis: Analysis) -> Roofline:
    """The chart's data; kernels that only move data have no place in it and count as `without`."""
    placed = [(kernel, kernel.intensity) for kernel in analysis.kernels]
    known = [(kernel, point) for kernel, point in placed if point is not None and _drawable(point)]
    roofs: dict[str, Roof] = {}
    for _, point in known:
        roof = Roof(point.pipe, point.peak_flop_per_s, point.peak_bytes_per_s)
        best = roofs.get(point.pipe, roof)
        roofs[point.pipe] = max(best, roof, key=lambda one: one.peak_flop_per_s)
    return Roofline(
        points=tuple(_point(kernel, point) for kernel, point in known),
        roofs=tuple(roofs[pipe] for pipe in sorted(roofs)),
        without=len(placed) - len(known),
    )


def _drawable(point: Intensity) -> bool:
    values = (point.flop_per_s, point.bytes_per_s, point.peak_flop_per_s, point.peak_bytes_per_s)
    return all(value > 0 and math.isfinite(value) for value in values)


def _point(kernel: KernelCauses, point: Intensity) -> RooflinePoint:
    intensity = point.flop_per_s / point.bytes_per_s
    roof = Roof(point.pipe, point.peak_flop_per_s, point.peak_bytes_per_s).at(intensity)
    return RooflinePoint(
        kernel=short_kernel(kernel.kernel, LONGEST_NAME),
        cause=kernel.cause,
        pipe=point.pipe,
        flop_per_byte=intensity,
        flop_per_s=point.flop_per_s,
        roof_flop_per_s=roof,
        reached=point.flop_per_s / roof,
        time_ns=kernel.time_ns,
        share=kernel.share,
    )


def roofline_figure(data: Roofline) -> Figure:
    """A plotly figure; both axes logarithmic, a marker's area is the kernel's share of the time."""
    import plotly.graph_objects as go

    figure = go.Figure()
    low, high = _extent(data)
    for roof in data.roofs:
        x = sorted({low, min(max(roof.ridge, low), high), high})
        style = {"mode": "lines", "name": f"roof: {roof.pipe}", "hoverinfo": "skip"}
        figure.add_trace(go.Scatter(x=x, y=[roof.at(value) for value in x], **style))
    figure.add_trace(
        go.Scatter(
            x=[point.flop_per_byte for point in data.points],
            y=[point.flop_per_s for point in data.points],
            mode="markers",
            name="kernels",
            marker={"size": [_pixels(point, data) for point in data.points]},
            text=[_text(point) for point in data.points],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    figure.update_layout(**_layout())
    return figure


def _extent(data: Roofline) -> tuple[float, float]:
    """A decade beside the points and ridges on both sides."""
    values = [point.flop_per_byte for point in data.points] + [roof.ridge for roof in data.roofs] or [1.0]
    return 10 ** (math.log10(min(values)) - DECADES_BESIDE), 10 ** (math.log10(max(values)) + DECADES_BESIDE)


def _pixels(point: RooflinePoint, data: Roofline) -> float:
    least, most = MARKER_PIXELS
    largest = max(one.share for one in data.points)
    return least + (most - least) * math.sqrt(point.share / largest) if largest else least


def _text(point: RooflinePoint) -> str:
    lines = (
        html.escape(printable(point.kernel)),
        html.escape(printable(point.cause)),
        f"{point.flop_per_byte:.3g} FLOP/byte, {point.flop_per_s / 1e12:.3g} TFLOP/s",
        f"{share(point.reached)} of its {point.pipe} roof",
        f"{duration(point.time_ns)}, {share(point.share)} of the window",
    )
    return "<br>".join(lines)


def _layout() -> dict[str, Any]:
    return {
        "xaxis": {"type": "log", "title": {"text": "operations a DRAM byte"}},
        "yaxis": {"type": "log", "title": {"text": "operations a second"}},
        "legend": {"orientation": "h"},
        "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
    }
