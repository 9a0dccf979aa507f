"""What limits the trust in a profile: locked clocks, cold caches, thin samples. Notes for the report, never causes."""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.readings import Readings, value_of
from stallscope.model.analysis import CaptureNote
from stallscope.model.counters import KernelCounters
from stallscope.model.units import size

SLOW_CLOCK = 0.70
"""SM clock as a part of the device's highest; ncu locks to the base clock unless told --clock-control none."""
_CLOCK_KHZ = "device__attribute_clock_rate"
_L2_BYTES = "device__attribute_l2_cache_size"


def notes_on(readings: tuple[Readings, ...]) -> tuple[CaptureNote, ...]:
    """What a reader must know before comparing the numbers."""
    notes = []
    slow = [ratio for one in readings if (ratio := clock_ratio(one.kernel)) is not None and ratio < SLOW_CLOCK]
    if slow:
        notes.append(
            CaptureNote(
                id="env.clock",
                message=f"{len(slow)} kernels ran at {min(slow):.0%}-{max(slow):.0%} of the highest SM clock (ncu "
                "locks the base clock unless told --clock-control none): do not compare durations with the timeline's",
            )
        )
    doubtful = sum(one.stalls is not None and not one.stalls.trusted for one in readings)
    if doubtful:
        message = f"warp stalls of {doubtful} kernels do not add up between replay passes: their evidence is weaker"
        notes.append(CaptureNote(id="ncu.passes_differ", message=message))
    return tuple(notes)


def clock_ratio(kernel: KernelCounters) -> float | None:
    """SM clock during the measurement as a part of the device's highest."""
    clock, highest = value_of(kernel, m.SM_CLOCK), kernel.value(_CLOCK_KHZ)
    return None if clock is None or not highest else clock / (highest * 1e3)


def cold_cache_caveat(kernel: KernelCounters) -> str:
    """The caveat of a kernel whose DRAM reads would fit L2: ncu flushes the caches before each pass; else empty."""
    read, l2 = value_of(kernel, m.DRAM_READ), kernel.value(_L2_BYTES)
    passes = value_of(kernel, m.REPLAY_PASSES) or 0.0
    if read is None or not l2 or passes < 2 or read > l2 / 2:
        return ""
    return (
        f"the {size(read)} it reads from DRAM fit the L2 of {size(l2)}: ncu flushes caches before each pass, in the "
        "program they may be warm (profile again with --cache-control none)"
    )
