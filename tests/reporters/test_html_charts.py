"""Shapes of the kernel charts: places on logarithmic axes, shares that fill a bar."""

from __future__ import annotations

import itertools

import pytest
from report_samples import kernels

from stallscope.model.analysis import Analysis
from stallscope.reporters.html_charts import HEIGHT, WIDTH, RoofChart, _Scale, roof_chart, state_legend, state_rows
from stallscope.views.roofline import roofline


def chart() -> RoofChart:
    made = roof_chart(kernels())
    assert made is not None
    return made


def test_points_lie_inside_the_box_and_under_their_roof() -> None:
    made = chart()
    assert [point.number for point in made.points] == [1, 2]
    assert all(0 < point.x < WIDTH and 0 < point.y < HEIGHT for point in made.points)
    for point, line in zip(made.points, made.lines, strict=True):
        highest = min(float(place.split(",")[1]) for place in line.points.split())
        assert point.y > highest


def test_scale_puts_a_decade_at_equal_distances() -> None:
    scale = _Scale.of(roofline(kernels()))
    ticks = [tick.at for tick in chart().x_ticks]
    steps = {round(b - a, 1) for a, b in itertools.pairwise(ticks)}
    assert len(steps) == 1
    assert scale.x(scale.x_low) < scale.x(scale.x_high)
    assert scale.y(scale.y_low) > scale.y(scale.y_high)


def test_values_are_those_of_the_kernel() -> None:
    first, second = chart().points
    assert (first.intensity, first.rate, first.reached) == ("0.5", "1 TFLOP/s", "50.0 % of fp32")
    assert (second.intensity, second.rate, second.reached) == ("500", "500 TFLOP/s", "50.0 % of tensor")
    assert first.radius > second.radius


def test_warp_states_fill_their_bar_and_name_the_waits() -> None:
    (row,) = state_rows(kernels())
    assert sum(part.width for part in row.parts) == pytest.approx(100)
    assert [part.at for part in row.parts] == sorted(part.at for part in row.parts)
    assert row.reasons == "long_scoreboard 80.0 %, barrier 10.0 %, wait 5.0 %"
    assert state_legend((row,))[0] == (0, "issuing")


def test_analysis_without_counters_has_no_charts() -> None:
    assert roof_chart(Analysis()) is None
    assert state_rows(Analysis()) == ()
