"""Charts of profiled kernels as shapes in an SVG: what their warps did, and where they stand under the roofline."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from stallscope.model.analysis import Analysis
from stallscope.model.units import duration, share
from stallscope.reporters.escape import MAX_NAME, visible
from stallscope.views.roofline import Roof, Roofline, RooflinePoint, roofline
from stallscope.views.warp_states import GROUPS, OTHER, WarpStates, warp_states

WIDTH, HEIGHT = 720.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 16.0, 14.0, 40.0
RADIUS = (5.0, 14.0)
MAX_POINTS = 40
TOP_REASONS = 3
_GROUPS = (*GROUPS, OTHER)
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class StatePart:
    """One group of stall reasons in a bar, in percent."""

    group: int
    at: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class StateRow:
    """One kernel's warp time; `reasons` names the largest ones."""

    kernel: str
    cause: str
    share: str
    parts: tuple[StatePart, ...]
    reasons: str


@dataclass(frozen=True, slots=True)
class RoofLine:
    """The roof of one pipe as the points of a polyline, with the place of its name."""

    pipe: str
    points: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """One kernel: a circle with the number of its row."""

    number: int
    x: float
    y: float
    radius: float
    kernel: str
    cause: str
    intensity: str
    rate: str
    reached: str
    time: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A gridline with its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class RoofChart:
    """The whole roofline chart in a box of WIDTH × HEIGHT. `without` counts kernels it has no place for."""

    lines: tuple[RoofLine, ...]
    points: tuple[RoofPoint, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    without: int


def state_legend(rows: tuple[StateRow, ...]) -> tuple[tuple[int, str], ...]:
    """The groups that occur, by number."""
    seen = {part.group for row in rows for part in row.parts}
    return tuple((number, name) for number, name in enumerate(_GROUPS) if number in seen)


def state_rows(analysis: Analysis) -> tuple[StateRow, ...]:
    """One bar a kernel with warp states, longest kernel first."""
    return tuple(_state_row(row) for row in warp_states(analysis))


def roof_chart(analysis: Analysis) -> RoofChart | None:
    """The chart, or None when no kernel was measured for it."""
    data = roofline(analysis)
    if not data.points:
        return None
    scale = _Scale.of(data)
    largest = max(point.share for point in data.points) or 1.0
    return RoofChart(
        lines=tuple(_line(roof, scale) for roof in data.roofs),
        points=tuple(_point(n, point, scale, largest) for n, point in enumerate(data.points[:MAX_POINTS], 1)),
        x_ticks=tuple(Tick(scale.x(value), f"{value:g}") for value in _decades(scale.x_low, scale.x_high)),
        y_ticks=tuple(Tick(scale.y(value), _rate(value)) for value in _decades(scale.y_low, scale.y_high)),
        without=data.without + max(0, len(data.points) - MAX_POINTS),
    )


def _state_row(row: WarpStates) -> StateRow:
    parts, at = [], 0.0
    for number, name in enumerate(_GROUPS):
        part = row.groups.get(name, 0.0)
        if part > 0:
            parts.append(StatePart(number, round(100 * at, 3), round(100 * part, 3), f"{name} {share(part)}"))
            at += part
    waits = [(reason, part) for reason, part in row.reasons.items() if reason not in {"selected", "not_selected"}]
    reasons = ", ".join(f"{reason} {share(part)}" for reason, part in waits[:TOP_REASONS])
    return StateRow(_text(row.kernel), _text(row.cause), share(row.share), tuple(parts), _text(reasons))


@dataclass(frozen=True, slots=True)
class _Scale:
    """Both logarithmic axes, from values to places in the box."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    @classmethod
    def of(cls, data: Roofline) -> _Scale:
        xs = [point.flop_per_byte for point in data.points] + [roof.ridge for roof in data.roofs]
        ys = [point.flop_per_s for point in data.points] + [roof.peak_flop_per_s for roof in data.roofs]
        return cls(_floor(min(xs)), _ceil(max(xs) * 2), _floor(min(ys)), _ceil(max(ys) * 1.2))

    def x(self, value: float) -> float:
        part = math.log(value / self.x_low) / math.log(self.x_high / self.x_low)
        return round(LEFT + part * (WIDTH - LEFT - RIGHT), 2)

    def y(self, value: float) -> float:
        part = math.log(value / self.y_low) / math.log(self.y_high / self.y_low)
        return round(HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM), 2)


def _line(roof: Roof, scale: _Scale) -> RoofLine:
    """The memory slope from where it enters the box, the ridge, the flat part to the right edge."""
    begin = max(scale.x_low, scale.y_low / roof.peak_bytes_per_s)
    values = [begin, max(begin, min(roof.ridge, scale.x_high)), scale.x_high]
    places = [(scale.x(value), scale.y(max(roof.at(value), scale.y_low))) for value in values]
    points = " ".join(f"{x},{y}" for x, y in places)
    return RoofLine(_text(roof.pipe), points, WIDTH - RIGHT, round(places[-1][1] - 5, 2))


def _point(number: int, point: RooflinePoint, scale: _Scale, largest: float) -> RoofPoint:
    least, most = RADIUS
    return RoofPoint(
        number=number,
        x=scale.x(point.flop_per_byte),
        y=scale.y(point.flop_per_s),
        radius=round(least + (most - least) * math.sqrt(max(point.share, 0.0) / largest), 2),
        kernel=_text(point.kernel),
        cause=_text(point.cause),
        intensity=f"{point.flop_per_byte:.3g}",
        rate=f"{_rate(point.flop_per_s)}FLOP/s",
        reached=f"{share(point.reached)} of {_text(point.pipe)}",
        time=f"{duration(point.time_ns)}, {share(point.share)}",
    )


def _decades(low: float, high: float) -> Iterator[float]:
    exponent = math.ceil(math.log10(low) - 1e-9)
    while 10.0**exponent <= high * (1 + 1e-9):
        yield 10.0**exponent
        exponent += 1


def _floor(value: float) -> float:
    return 10.0 ** math.floor(math.log10(value) - 1e-9)


def _ceil(value: float) -> float:
    return 10.0 ** math.ceil(math.log10(value) + 1e-9)


def _rate(value: float) -> str:
    scale, prefix = next(((scale, prefix) for scale, prefix in _PREFIXES if value >= scale * (1 - 1e-9)), (1.0, ""))
    return f"{value / scale:.3g} {prefix}"


def _text(text: str) -> str:
    return visible(text, MAX_NAME)
