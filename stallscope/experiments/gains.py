"""Puts the replay's answers into the analysis: upper ends of recoverable intervals, joint gain, critical path."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stallscope.experiments.counterfactual import Counterfactuals, has_counterfactual
from stallscope.model.analysis import Analysis, CaptureNote
from stallscope.model.columns import NO_ROW
from stallscope.model.findings import Finding, Recoverable
from stallscope.model.replay import BOUNDS, Bound, CriticalPath, ReplaySummary
from stallscope.model.units import share
from stallscope.timeline.calls import SYNCS
from stallscope.timeline.critical_path import Path, critical_path
from stallscope.timeline.host_waits import ALLOCATOR
from stallscope.timeline.intervals import is_one_of
from stallscope.timeline.step_bounds import step_bounds
from stallscope.timeline.timeline import Timeline
from stallscope.timeline.workload import MAX_STEPS, Charges

MAX_OPERATIONS = 500_000
"""Above this size the replay, which takes about as long as the rest of the analysis, is left out and a note says so."""

MAX_LOOKUPS = 30_000_000
"""A wait for a whole device is looked up on every stream of its process."""
CALLS_A_LOOKUP = 1_000
"""Looking up one call takes about as long as looking up a thousand at once."""

CONTENTION = (
    "Upper bound from replaying the dependency graph without this wait: work that moves together competes for memory, "
    "links and multiprocessors, and gains of several findings do not add up."
)


def with_replay(analysis: Analysis, timeline: Timeline, charges: Charges) -> Analysis:
    """The analysis with gains bounded by replay; unchanged where the trace cannot be replayed.

    That is a trace without API calls, one that hides the work of CUDA graphs, one restricted to a part of its time,
    and one of more than MAX_OPERATIONS or MAX_LOOKUPS (the analysis then carries a note).
    """
    scope = timeline.scope
    if scope.nvtx is not None or scope.range_ns is not None or timeline.hides_graphs:
        return analysis
    if not len(timeline.calls) or not len(timeline.operations):
        return analysis
    if len(timeline.operations) > MAX_OPERATIONS:
        return _with_note(analysis, f"{len(timeline.operations):,} device operations", MAX_OPERATIONS)
    lookups = _lookups(timeline)
    if lookups > MAX_LOOKUPS:
        return _with_note(analysis, f"{lookups:,} pairs of a waiting call and a stream", MAX_LOOKUPS)
    model = Counterfactuals(timeline, charges)
    findings = analysis.findings
    if model.explains:
        findings = tuple(sorted((_bounded(f, model) for f in findings), key=_rank))
    return msgspec.structs.replace(analysis, findings=findings, replay=_summary(model, findings))


def _lookups(timeline: Timeline) -> int:
    streams = len(timeline.stream_order.keys)
    waiting = int(is_one_of(timeline.calls.kind, (*SYNCS, *ALLOCATOR)).sum())
    return streams * (waiting + CALLS_A_LOOKUP)


def _with_note(analysis: Analysis, size: str, limit: int) -> Analysis:
    message = (
        f"the trace has {size} and its dependencies are replayed up to {limit:,}: "
        "recoverable intervals come from the ledger alone"
    )
    notes = (*analysis.capture.notes, CaptureNote(id="replay.skipped", message=message))
    return msgspec.structs.replace(analysis, capture=msgspec.structs.replace(analysis.capture, notes=notes))


def _rank(finding: Finding) -> tuple[int, int, str]:
    return -finding.recoverable_ns.high, -finding.wait_ns, finding.wait


def _bounded(finding: Finding, model: Counterfactuals) -> Finding:
    """The finding with at most what the replay gains without its wait."""
    if not _replayable(finding) or not model.knows(finding.wait):
        return finding
    old = finding.recoverable_ns
    high = min(old.high, model.gain_ns((finding.wait,)))
    recoverable = Recoverable(low=old.low * high // old.high, high=high, assumes=old.assumes)
    return msgspec.structs.replace(finding, recoverable_ns=recoverable, caveats=(*finding.caveats, CONTENTION))


def _replayable(finding: Finding) -> bool:
    return finding.severity != "note" and finding.recoverable_ns.high > 0 and has_counterfactual(finding.wait)


def _summary(model: Counterfactuals, findings: Sequence[Finding]) -> ReplaySummary:
    graph = model.graph
    joint = [finding for finding in findings if _replayable(finding)] if model.explains else []
    return ReplaySummary(
        operations=int((graph.operation != NO_ROW).sum()),
        host_waits=int((graph.operation == NO_ROW).sum()),
        error=round(model.error, 6),
        explains=model.explains,
        message=_message(model),
        joint=tuple(finding.id for finding in joint),
        joint_ns=_joint_ns(model, joint),
        recorded_events=graph.recorded_events,
        inferred_events=graph.inferred_events,
        merged_threads=graph.merged_threads,
        critical_path=_path(model) if model.explains else None,
    )


def _joint_ns(model: Counterfactuals, joint: Sequence[Finding]) -> int:
    """What removing all the findings together gives, never more than they waited."""
    if not joint:
        return 0
    return min(model.gain_ns(tuple(f.wait for f in joint)), sum(f.wait_ns for f in joint))


def _message(model: Counterfactuals) -> str:
    missed = f"replaying the dependencies misses the measured time by {share(model.error)}"
    if model.explains:
        return missed
    return f"{missed}: the model does not explain this run, so no gain comes from it"


def _path(model: Counterfactuals) -> CriticalPath:
    path = critical_path(model.timeline, model.graph, model.baseline)
    parts = path.parts_ns()
    per_step, group = _per_step(model.timeline, path)
    return CriticalPath(total_ns=sum(parts.values()), parts_ns=parts, per_step_ns=per_step, group=group)


def _per_step(timeline: Timeline, path: Path) -> tuple[dict[Bound, tuple[int, ...]], int]:
    """Parts of the path in every step of the device on which the path ends."""
    bounds = step_bounds(timeline)
    if bounds is None or not bounds.count:
        return {}, 1
    edges = next(iter(bounds.edges.values()))[: bounds.count + 1]
    group = -(-bounds.count // MAX_STEPS)
    whole = bounds.count // group * group
    per_step: dict[Bound, tuple[int, ...]] = {}
    for bound in BOUNDS:
        covered = path.spans[bound].covered(edges[:whole], edges[1 : whole + 1])
        if covered.any():
            per_step[bound] = tuple((covered.reshape(-1, group).sum(axis=1) // group).tolist())
    return per_step, group
