"""The only orchestration: open, derive, run the rules, write down what they concluded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import stallscope
from stallscope.errors import UsageError
from stallscope.experiments.expectations import with_step_expectations
from stallscope.experiments.gains import with_replay
from stallscope.ingest.identify import is_ncu
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.ingest.paths import rank_files
from stallscope.model.analysis import Analysis, Capture, Step, Tool
from stallscope.model.scope import WHOLE, Scope
from stallscope.model.trace import Trace
from stallscope.timeline.intervals import IntervalSet
from stallscope.timeline.scope import require_scope
from stallscope.timeline.side_by_side import both, derive
from stallscope.timeline.timeline import Timeline
from stallscope.timeline.workload import count_work, with_steps
from stallscope.waits.catalogue import all_rules
from stallscope.waits.runner import diagnose


@dataclass(frozen=True, slots=True)
class Options:
    """How to analyze: the part of the trace, how it is opened, and whether small findings are kept.

    `scheduler` is the address of a Dask scheduler for many ranks.
    """

    scope: Scope = WHOLE
    opening: OpenOptions = field(default_factory=OpenOptions)
    everything: bool = False
    scheduler: str | None = None


def analyze(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: Options | None = None
) -> Analysis:
    """Diagnose a trace, several traces (or a folder of them) as the ranks of one run, or kernel counters.

    Raises `stallscope.errors.InputError` for what cannot be read, `ToolMissingError` when a report needs nsys.
    """
    chosen = options or Options()
    given = [Path(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    profiles = [path for path in given if is_ncu(path)]
    if profiles:
        return _with_profiles([path for path in given if path not in profiles], profiles, chosen)
    files = rank_files(given)
    if len(files) == 1:
        return analyze_one(files[0], chosen)
    from stallscope.ranks import analyze_ranks

    return analyze_ranks(files, chosen)


def _with_profiles(traces: Sequence[Path], profiles: Sequence[Path], options: Options) -> Analysis:
    """Nsight Compute files alone, or joined with the one trace of the same program."""
    from stallscope.ingest.ncu_open import open_counters
    from stallscope.kernels.document import with_kernels
    from stallscope.kernels.runner import diagnose as diagnose_kernels

    if len(traces) > 1:
        raise UsageError("kernel counters join one trace", next_step="give one rank's trace with the counters")
    counters = open_counters(profiles)
    if not traces:
        bare = Analysis(tool=Tool(version=stallscope.__version__))
        return with_kernels(bare, diagnose_kernels(counters, everything=options.everything), counters.source)
    trace = open_trace(traces[0], options.opening)
    analysis = analyze_trace(trace, options.scope, everything=options.everything)
    window_ns = sum(device.window_ns for device in analysis.devices)
    diagnosis = diagnose_kernels(counters, trace, window_ns, everything=options.everything)
    return with_kernels(analysis, diagnosis, counters.source)


def analyze_one(path: Path, options: Options) -> Analysis:
    """Diagnose one trace file or export folder."""
    return analyze_trace(open_trace(path, options.opening), options.scope, everything=options.everything)


@dataclass(frozen=True, slots=True)
class Examination:
    """An analysis with what it was derived from; `charges` are the settled intervals by device and id."""

    analysis: Analysis
    timeline: Timeline
    charges: Mapping[int, Mapping[str, IntervalSet]]


def analyze_trace(trace: Trace, scope: Scope = WHOLE, *, everything: bool = False) -> Analysis:
    """Diagnose one opened trace."""
    return examine_trace(trace, scope, everything=everything).analysis


def examine_trace(trace: Trace, scope: Scope = WHOLE, *, everything: bool = False) -> Examination:
    """Diagnose one opened trace and keep the timeline, for reports and exports that draw it.

    Several devices in it are compared as ranks of each other.
    """
    examined = examine_apart(trace, scope, everything=everything)
    if len(examined.analysis.devices) < 2:
        return examined
    from stallscope.ranks.devices import across_devices

    return across_devices(examined, everything=everything)


def examine_apart(trace: Trace, scope: Scope = WHOLE, *, everything: bool = False) -> Examination:
    """Diagnose one opened trace, every device by itself: what is to be compared with other ranks starts from here."""
    timeline = Timeline(trace, scope)
    require_scope(timeline)
    derive(timeline, ("launch",), ("steps", "kernel_shapes"))  # what both of these look at
    diagnosis, counted = both(
        timeline,
        lambda: diagnose(timeline, all_rules(), everything=everything),
        lambda: count_work(timeline),
    )
    steps = timeline.steps
    analysis = Analysis(
        tool=Tool(version=stallscope.__version__),
        sources=(trace.source,),
        capture=Capture(
            collected={**trace.capture.collected, "graph_trace": trace.capture.graph_trace}, notes=trace.capture.notes
        ),
        devices=diagnosis.ledgers,
        steps=(Step(name=trace.names[steps.name], durations_ns=tuple((steps.ends - steps.starts).tolist())),)
        if steps
        else (),
        findings=diagnosis.findings,
        checks=diagnosis.checks,
        workload=with_steps(counted, timeline, diagnosis.charges),
    )
    analysis = with_step_expectations(with_replay(analysis, timeline, diagnosis.charges))
    return Examination(analysis, timeline, diagnosis.charges)
