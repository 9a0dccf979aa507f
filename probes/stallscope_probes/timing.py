"""How much the repair of a probe is worth: unprofiled, paired, interleaved."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from stallscope_probes.contract import Family, Variant, Workload
from stallscope_probes.device.machine import Machine, UnavailableError
from stallscope_probes.guards import require
from stallscope_probes.run import WARM_UP, repeat

BLOCKS = 12


@dataclass
class PairTiming:
    """Nanoseconds a repeat, one value a block; block i of both sides ran next to each other, in alternating order."""

    family: str
    bad: str
    fixed: str
    status: str = "ok"
    reason: str = ""
    bad_ns: list[int] = field(default_factory=list)
    fixed_ns: list[int] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def time_pair(machine: Machine, family: Family, bad: Variant, fixed: Variant) -> PairTiming:
    """Time both sides of one repair; a refusal becomes the status."""
    timing = PairTiming(family.name, bad.name, fixed.name)
    built: list[Workload] = []
    try:
        for variant in (bad, fixed):
            require(machine, family, variant)
            workload = variant.build(machine, variant.params)
            built.append(workload)
            repeat(machine, workload, 0, WARM_UP)
        _interleave(machine, timing, built, family.block_repeats)
    except UnavailableError as reason:
        timing.status, timing.reason = "skipped", str(reason)
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        timing.status, timing.reason = "failed", f"{type(error).__name__}: {error}"
    finally:
        for workload in built:
            workload.close()
    return timing


def _interleave(machine: Machine, timing: PairTiming, workloads: list[Workload], repeats: int) -> None:
    sides = [(workloads[0], timing.bad_ns), (workloads[1], timing.fixed_ns)]
    for block in range(BLOCKS):
        for workload, values in sides if block % 2 == 0 else reversed(sides):
            started = time.perf_counter_ns()
            repeat(machine, workload, WARM_UP + block * repeats, repeats)
            values.append((time.perf_counter_ns() - started) // repeats)
