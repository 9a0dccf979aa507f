"""A trace in which one launch call takes longer than the others."""

from __future__ import annotations

from build import TraceBuilder


def long_launch(length_us: float, usual_us: int) -> TraceBuilder:
    """Ten launch calls of usual length and one of this, beside a device that is at work all the time."""
    build = TraceBuilder()
    for i in range(10):
        build.launch(20 * i, 20 * i + usual_us, correlation=i + 1)
    build.launch(300, 300 + length_us, correlation=11)
    for i in range(11):
        build.kernel(5 + 1000 * i, 1005 + 1000 * i, correlation=i + 1)
    return build
