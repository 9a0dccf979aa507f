"""One analyzed run, reduced to what a comparison needs, with counts and times per step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stallscope.experiments.bootstrap import FloatArray
from stallscope.model.analysis import Analysis
from stallscope.model.workload import StepSeries, Workload

WARM_UP_SHARE = 0.2
"""Warm-up is looked for in this leading part of the steps."""
WARM_UP_FACTOR = 2.0
"""A leading step this much longer than the median ends the warm-up behind it."""


@dataclass(frozen=True)
class Run:
    """One analysis. Without steps the whole window stands for a single step."""

    analysis: Analysis

    @cached_property
    def workload(self) -> Workload:
        """The recorded workload, empty for documents from before it was recorded."""
        return self.analysis.workload or Workload()

    @property
    def steps(self) -> StepSeries | None:
        """Device time of the steps."""
        return self.workload.steps

    @property
    def environment(self) -> Mapping[str, str]:
        """Machine and tracing, as far as recorded."""
        known = dict(self.workload.environment)
        gpus = sorted({device.name for device in self.analysis.devices if device.name})
        if gpus:
            known.setdefault("gpu", ", ".join(gpus))
        if self.analysis.sources:
            known["format"] = self.analysis.sources[0].format.split("-")[0]  # nsys-rep and nsys-sqlite are one method
        return known

    @property
    def label(self) -> str:
        """Names of its files."""
        return "+".join(source.name for source in self.analysis.sources) or "memory"

    @property
    def identity(self) -> tuple[str, ...]:
        """Content hashes of its files."""
        return tuple(source.sha256 for source in self.analysis.sources)

    @property
    def hides_graphs(self) -> bool:
        """CUDA-graph replays happened and their kernels are invisible."""
        if any(note.id == "env.graph_level_trace" for note in self.analysis.capture.notes):
            return True
        replays = any(name.endswith("GraphLaunch") for name in self.workload.api_calls)
        return replays and self.analysis.capture.collected.get("graph_trace") == "graph"

    @cached_property
    def step_count(self) -> int:
        """Steps that kernel counts and times are divided by."""
        return len(self.steps.durations_ns) * self.steps.group if self.steps else 1

    @cached_property
    def launches(self) -> dict[str, float]:
        """Launches a step by kernel signature; for a program that only copies, bytes a step by direction."""
        found: dict[str, float] = {}
        for kernel in self.workload.kernels:
            if kernel.step_launches:
                found[kernel.signature] = found.get(kernel.signature, 0.0) + kernel.step_launches / self.step_count
        if found:
            return found
        for copy in self.workload.copies:
            found[copy.direction] = found.get(copy.direction, 0.0) + copy.bytes / self.step_count
        return found

    @cached_property
    def kernel_ns(self) -> dict[str, float]:
        """Kernel time (copy time for a program that only copies) a step, with the keys of `launches`."""
        found: dict[str, float] = {}
        for kernel in self.workload.kernels:
            if kernel.step_launches:
                found[kernel.signature] = found.get(kernel.signature, 0.0) + kernel.step_time_ns / self.step_count
        if found:
            return found
        for copy in self.workload.copies:
            found[copy.direction] = found.get(copy.direction, 0.0) + copy.time_ns / self.step_count
        return found

    @cached_property
    def kernel_names(self) -> frozenset[str]:
        """Short names of the kernels inside the steps."""
        return frozenset(kernel.kernel for kernel in self.workload.kernels if kernel.step_launches)

    def durations(self) -> FloatArray:
        """Device time of every step; of the whole window when the run has no steps."""
        if self.steps is not None:
            return np.array(self.steps.durations_ns, np.float64)
        windows = [device.window_ns for device in self.analysis.devices]
        return np.array([sum(windows) / len(windows)] if windows else [], np.float64)

    def charged(self, wait: str) -> FloatArray:
        """Charge of a wait id in every step, aligned with `durations`."""
        if self.steps is not None:
            values = self.steps.waits_ns.get(wait)
            return np.array(values, np.float64) if values else np.zeros(len(self.steps.durations_ns))
        totals = [device.ledger.get(wait, 0) for device in self.analysis.devices]
        return np.array([sum(totals) / len(totals)] if totals else [], np.float64)

    @cached_property
    def charged_ids(self) -> frozenset[str]:
        """Wait ids that any ledger charges."""
        if self.steps is not None:
            return frozenset(self.steps.waits_ns)
        return frozenset(wait for device in self.analysis.devices for wait, ns in device.ledger.items() if ns)


def distinct(analyses: Sequence[Analysis]) -> tuple[Run, ...]:
    """One run a capture, in order; the same capture again is no repeat."""
    runs: dict[object, Run] = {}
    for analysis in analyses:
        run = Run(analysis)
        runs.setdefault(run.identity or id(analysis), run)
    return tuple(runs.values())


def warm_up(runs: Sequence[Run]) -> int:
    """How many leading steps to leave out on *every* run, so that no side keeps a start-up that another lacks."""
    return max((_warm_up(run.durations()) for run in runs), default=0)


def _warm_up(durations: FloatArray) -> int:
    leading = int(len(durations) * WARM_UP_SHARE)
    if not leading:
        return 0
    slow = np.flatnonzero(durations[:leading] > WARM_UP_FACTOR * np.median(durations))
    return int(slow[-1]) + 1 if len(slow) else 0
