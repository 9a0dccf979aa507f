"""Numbers as people read them; the only place that scales nanoseconds and bytes."""

from __future__ import annotations

_TIMES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def duration(ns: float) -> str:
    """`1_530_000` → `1.53 ms`; three significant digits."""
    for scale, unit in _TIMES:
        if abs(ns) >= scale:
            return f"{_three(ns / scale)} {unit}"
    return f"{round(ns)} ns"


def size(count: float) -> str:
    """`67_108_864` → `64.0 MiB`."""
    for scale, unit in _SIZES:
        if abs(count) >= scale:
            return f"{_three(count / scale)} {unit}"
    return f"{round(count)} B"


def share(ratio: float) -> str:
    """`0.153` → `15.3 %`; a share that is not zero never reads as zero."""
    if 0 < ratio < 0.001:
        return "< 0.1 %"
    return f"{100 * ratio:.1f} %"


def quantity(value: float, unit: str) -> str:
    """A value with its unit, as a finding's evidence prints it."""
    match unit:
        case "ns":
            return duration(value)
        case "bytes":
            return size(value)
        case "bytes/s":
            return f"{_three(value / 1e9)} GB/s"
        case "ratio":
            return f"{value:.3g}"
        case _:
            return f"{value:,}"


def _three(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"
