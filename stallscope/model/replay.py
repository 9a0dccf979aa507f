"""What the dependency replay says about a run: whether it explains it, what bounds it, what all waits together cost."""

from __future__ import annotations

from typing import Literal

import msgspec

Bound = Literal["host", "launch", "compute", "copy", "comm", "dependency"]
BOUNDS: tuple[Bound, ...] = ("host", "launch", "compute", "copy", "comm", "dependency")


class CriticalPath(msgspec.Struct, frozen=True, kw_only=True):
    """Time on the path that decides when the last operation ends, by what it is spent on.

    `host` is time of host threads outside launch calls (also the return from a synchronization), `launch` launch calls
    and the way to the device, `dependency` the hand-over between streams. `per_step_ns[bound][k]` is the part in step
    k; above a size limit `group` consecutive steps are averaged.
    """

    total_ns: int
    parts_ns: dict[Bound, int]
    per_step_ns: dict[Bound, tuple[int, ...]] = {}
    group: int = 1

    @property
    def bound_by(self) -> Bound:
        """What most of the path is spent on."""
        return max(BOUNDS, key=lambda bound: self.parts_ns.get(bound, 0))

    def steps_bound_by(self) -> dict[Bound, int]:
        """How many steps each bound dominates."""
        counts: dict[Bound, int] = {}
        steps = max((len(values) for values in self.per_step_ns.values()), default=0)
        nothing = (0,) * steps
        for step in zip(*(self.per_step_ns.get(bound, nothing) for bound in BOUNDS), strict=True):
            most = BOUNDS[step.index(max(step))]
            counts[most] = counts.get(most, 0) + 1
        return counts


class ReplaySummary(msgspec.Struct, frozen=True, kw_only=True):
    """The dependency model of one run.

    `error` is the largest relative miss of a device's window when the model is replayed with the measured durations;
    above 5 % `explains` is false and no gain comes from it. `joint_ns` is what removing all of `joint` (finding ids)
    together would give at most; single gains do not add up to it.
    """

    operations: int
    host_waits: int
    error: float
    explains: bool
    message: str
    joint: tuple[str, ...] = ()
    joint_ns: int = 0
    recorded_events: int = 0
    inferred_events: int = 0
    merged_threads: bool = False
    critical_path: CriticalPath | None = None
