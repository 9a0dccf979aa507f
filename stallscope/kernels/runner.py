"""Diagnoses every profiled kernel and, where a trace is given, weighs it by its exposed share of the window."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from stallscope.kernels import metrics as m
from stallscope.kernels.base import MIN_GAIN, KernelRule, Stage
from stallscope.kernels.catalogue import all_kernel_rules
from stallscope.kernels.causes import Result, Verdict, judge
from stallscope.kernels.findings import Weighed, causes_of, finding_of, weigh
from stallscope.kernels.join import Join, join
from stallscope.kernels.readings import readings_of, value_of
from stallscope.kernels.trust import notes_on
from stallscope.model.analysis import CaptureNote, KernelCauses
from stallscope.model.counters import CounterSet
from stallscope.model.events import Kernels
from stallscope.model.findings import Check, Finding
from stallscope.model.trace import Trace

MIN_SHARE = 0.01
SHOWN = 3


@dataclass(frozen=True, slots=True)
class KernelDiagnosis:
    """What the kernel rules concluded: one row a kernel, findings, one check a rule, notes on the data.

    `join` is None without a trace.
    """

    kernels: tuple[KernelCauses, ...]
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    notes: tuple[CaptureNote, ...]
    join: Join | None = None


def diagnose(
    counters: CounterSet, trace: Trace | None = None, window_ns: int = 0, *, everything: bool = False
) -> KernelDiagnosis:
    """Causes of every profiled kernel.

    With a `trace` of the same program, a kernel's gain is scaled by its exposed share of `window_ns` (default: from the
    first kernel's start to the last one's end, summed over devices); without one, by its share of the profiled time.
    A trace that holds less than 80 % of the profiled time is not the same program and is left out with a note.
    `everything` keeps findings below 1 % of the window.
    """
    rules = all_kernel_rules()
    verdicts = tuple(judge(one, rules) for one in readings_of(counters.kernels))
    joined = _joined(counters, trace, window_ns)
    rows = _weighed(verdicts, joined if joined is not None and not joined.refused else None)
    findings = [finding for row in rows if (finding := finding_of(row, counters.source.sha256)) is not None]
    told = [finding for finding in findings if everything or finding.share >= MIN_SHARE]
    return KernelDiagnosis(
        kernels=tuple(causes_of(row) for row in rows),
        findings=tuple(sorted(told, key=lambda f: (-f.recoverable_ns.high, -f.wait_ns, f.wait, f.id))),
        checks=_checks(verdicts, rules),
        notes=(*counters.notes, *notes_on(tuple(one.readings for one in verdicts)), *_join_notes(joined)),
        join=joined,
    )


def _joined(counters: CounterSet, trace: Trace | None, window_ns: int) -> Join | None:
    table = trace.table(Kernels) if trace is not None else None
    if trace is None or table is None or not len(table):
        return None
    return join(counters.kernels, table, trace.names, window_ns or _span(table))


def _span(kernels: Kernels) -> int:
    """First start to last end of each device, summed over devices."""
    devices = {int(device) for device in kernels.device}
    spans = [
        (kernels.start_ns[rows].min(), kernels.end_ns[rows].max()) for rows in (kernels.device == d for d in devices)
    ]
    return int(sum(end - start for start, end in spans))


def _weighed(verdicts: tuple[Verdict, ...], joined: Join | None) -> list[Weighed]:
    """One row a kernel signature, longest first; the launch of middle duration speaks for the others."""
    groups: dict[object, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.readings.kernel.signature].append(verdict)
    profiled = {key: sum(_spent_ns(one) for one in group) for key, group in groups.items()}
    window_ns = joined.window_ns if joined else sum(profiled.values())
    rows = []
    for key, group in groups.items():
        kernel = group[0].readings.kernel
        traced = joined.kernels.get(kernel.signature) if joined else None
        if joined is not None and traced is None:
            continue
        middle = sorted(group, key=_spent_ns)[len(group) // 2]
        launches = sum(one.readings.kernel.launches for one in group)
        rows.append(weigh(middle, launches, profiled[key], window_ns, traced))
    return sorted(rows, key=lambda row: (-row.time_ns, row.kernel.signature))


def _spent_ns(verdict: Verdict) -> int:
    kernel = verdict.readings.kernel
    return round((value_of(kernel, m.DURATION_NS) or 0.0) * kernel.launches)


def _checks(verdicts: tuple[Verdict, ...], rules: tuple[KernelRule, ...]) -> tuple[Check, ...]:
    by_rule: dict[str, list[Result]] = defaultdict(list)
    for verdict in verdicts:
        for result in verdict.results:
            by_rule[result.rule.meta.id].append(result)
    return tuple(_check(rule, by_rule[rule.meta.id]) for rule in rules)


def _check(rule: KernelRule, results: list[Result]) -> Check:
    """One rule over all kernels: found on one, broken, without data, or clean (and on how many it could not look)."""
    outcomes = Counter(result.outcome for result in results)
    if any(_tells(rule, result) for result in results):
        return Check(wait=rule.meta.id, outcome="found", reason=f"{outcomes['found']} of {len(results)} kernels")
    if outcomes["failed"]:
        errors = sorted({result.error for result in results if result.error})
        return Check(wait=rule.meta.id, outcome="failed", reason="; ".join(errors[:SHOWN]))
    missing = sorted({quantity.collect for result in results for quantity in result.missing})
    advice = f"profile with ncu {' '.join(missing)} (or --set full)" if missing else ""
    if outcomes["not_applicable"] == len(results):
        names = sorted({quantity.name for result in results for quantity in result.missing})
        return Check(wait=rule.meta.id, outcome="not_applicable", reason=f"{', '.join(names)} not collected: {advice}")
    skipped = outcomes["not_applicable"]
    reason = f"{skipped} of {len(results)} kernels lack its metrics: {advice}" if skipped else ""
    return Check(wait=rule.meta.id, outcome="clean", reason=reason)


def _tells(rule: KernelRule, result: Result) -> bool:
    """Whether the rule has something to say: a kernel that is fine, or a cause that is worth its while."""
    if result.cause is None:
        return False
    return rule.meta.stage in (Stage.OK, Stage.TRUST) or result.cause.likely >= MIN_GAIN


def _join_notes(joined: Join | None) -> tuple[CaptureNote, ...]:
    if joined is None:
        return ()
    missing = ", ".join(joined.unmatched_names[:SHOWN])
    if joined.refused:
        message = (
            f"the trace holds {joined.matched:.0%} of the profiled kernel time, below 80 %: not joined, it is another "
            f"program or another configuration (not found: {missing})"
        )
        return (CaptureNote(id="ncu.join_refused", message=message),)
    message = f"{joined.profiled:.0%} of the trace's kernel time was profiled with ncu"
    if missing:
        message += f"; {1 - joined.matched:.0%} of the profiled time is not in the trace ({missing})"
    return (CaptureNote(id="ncu.joined", message=message),)
