"""Hardware counters of profiled kernels, as read from Nsight Compute. A metric that was not collected is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from stallscope.model.analysis import CaptureNote, Source

Dim3 = tuple[int, int, int]
EstimateKind = Literal["global", "local", "unknown"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One counter in base units (ns, byte, hz, %, …).

    `resolution` is the smallest difference the export could show (0.005 for a cell with two decimals): half the last
    printed digit, in base units; 0 = exact.
    """

    value: float
    unit: str = ""
    resolution: float = 0.0
    instances: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class RuleEstimate:
    """What NVIDIA's own rule expects, in percent: of the run time (`global`) or of one unit's efficiency (`local`)."""

    rule: str
    kind: EstimateKind
    percent: float


@dataclass(frozen=True, slots=True)
class KernelCounters:
    """One profiled launch, or the average of `launches` launches of a per-kernel summary.

    `order` is the position among the profiled launches of its run, not among all launches of the program.
    """

    name: str
    grid: Dim3
    block: Dim3
    order: int
    run: int = 0
    device: int | None = None
    compute_capability: str = ""
    process: int | None = None
    launches: int = 1
    nvtx: tuple[str, ...] = ()
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    estimates: tuple[RuleEstimate, ...] = ()
    mangled_name: str = ""

    def value(self, metric: str) -> float | None:
        """The metric in base units, or None when it was not collected."""
        found = self.metrics.get(metric)
        return None if found is None else found.value

    @property
    def signature(self) -> tuple[str, Dim3, Dim3]:
        """What makes two launches the same kernel for a diagnosis."""
        return self.name, self.grid, self.block

    def merged(self, other: KernelCounters) -> KernelCounters:
        """Add what only the other page of the same report knows."""
        return replace(
            self,
            metrics={**other.metrics, **self.metrics},
            texts={**other.texts, **self.texts},
            estimates=self.estimates or other.estimates,
            nvtx=self.nvtx or other.nvtx,
            mangled_name=self.mangled_name or other.mangled_name,
        )


@dataclass(frozen=True, slots=True)
class CounterSet:
    """Everything read from one or several pages of one profiling job; `notes` limit what may be claimed."""

    source: Source
    kernels: tuple[KernelCounters, ...]
    notes: tuple[CaptureNote, ...] = ()
