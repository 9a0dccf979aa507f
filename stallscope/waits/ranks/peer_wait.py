"""comm.peer_wait: ranks spend time in a collective because another rank has not arrived yet.

A synchronizing collective ends everywhere at the same moment, so the rank that spent the least time in it arrived last
and its time is the transfer; what the others spent beyond it is waiting. The rank to blame is the one that is late more
than chance allows, and the reason is what its own ledger shows in the stretch before its arrival beyond what the
ledgers of the others show there.
"""

from __future__ import annotations

import hashlib

import numpy as np

from stallscope.model.experiments import Experiment, Prediction
from stallscope.model.findings import Check, Evidence, EvidenceLevel, Finding, Recoverable, Severity
from stallscope.model.units import duration
from stallscope.waits.base import DEFAULT_LOW_RATIO
from stallscope.waits.findings import ERROR_SHARE, MIN_SHARE
from stallscope.waits.ranks.arrivals import Arrivals, comparable
from stallscope.waits.ranks.base import RankOutcome, Ranks, listed
from stallscope.waits.ranks.causes import Cause, causes_of
from stallscope.waits.ranks.stragglers import Lateness, lateness

WAIT = "comm.peer_wait"
MAX_SPANS = 50


def detect(ranks: Ranks, *, everything: bool = False) -> RankOutcome:
    """Compare the ranks; needs two participants that share at least one synchronizing collective."""
    instances = comparable(ranks.instances)
    if len(ranks.summaries) < 2 or not len(instances):
        return RankOutcome((Check(wait=WAIT, outcome="not_applicable", reason=_missing(ranks)),))
    waits = Arrivals.of(ranks, instances)
    worth_ns = 0.0 if everything else MIN_SHARE * ranks.window_ns / len(ranks.summaries)
    late = lateness(waits.duration_ns, worth_ns)
    causes = causes_of(ranks, waits.instances, late)
    waiting = waits.exposed_waiting()
    found = _finding(ranks, waits, late, causes)
    if found is None or not (everything or found.share >= MIN_SHARE):
        check = Check(wait=WAIT, outcome="clean", reason=_clean(waits, late))
        return RankOutcome((check,), moved=waiting)
    traced = tuple((int(p), wait) for p in late.blamed for wait, _ in causes[:1])
    return RankOutcome((Check(wait=WAIT, outcome="found"),), (found,), waiting, traced)


def _finding(ranks: Ranks, waits: Arrivals, late: Lateness, causes: list[Cause]) -> Finding | None:
    total = sum(waiting.total_ns() for waiting in waits.exposed_waiting().values())
    if not total:
        return None
    blamed = late.blamed
    _, saved = waits.saved_ns(late)
    high = min(saved, total)
    named = [ranks.summaries[p].label for p in blamed] if high else []
    share = total / ranks.window_ns
    return Finding(
        id=_stable_id(ranks),
        wait=WAIT,
        title=_title(_held_up(waits, late), named, causes, late),
        severity=_severity(share, bool(named)),
        evidence_level=_level(ranks, waits, bool(named)),
        devices=ranks.devices,
        count=int((waits.exposed_ns > 0).sum()),
        wait_ns=total,
        share=round(share, 6),
        recoverable_ns=Recoverable(low=int(high * DEFAULT_LOW_RATIO), high=high, assumes=_assumes(named)),
        evidence=tuple(_evidence(ranks, waits, late, causes)),
        spans=_spans(ranks, waits),
        experiments=tuple(_experiments(named, causes, high)),
        caveats=tuple(_caveats(ranks, waits)),
        docs=f"waits/{WAIT}",
    )


def _held_up(waits: Arrivals, late: Lateness) -> int:
    """How many others take part in the collectives at which somebody to blame was late."""
    delayed = (late.excess_ns > 0).any(axis=1)
    taking_part = waits.instances.present[delayed].any(axis=0)
    return int(taking_part.sum()) - len(late.blamed)


def _title(waiting: int, named: list[str], causes: list[Cause], late: Lateness) -> str:
    if not named:
        return "Ranks wait for each other in collectives by turns; no rank stands out"
    if len(named) > waiting and not len(late.persistent):
        return f"Pauses of {len(named)} ranks by turns hold up all the others{_because(causes)}"
    return f"{_ranks(waiting)} in collectives for {listed(named)}{_because(causes)}"


def _ranks(count: int) -> str:
    return "1 rank waits" if count == 1 else f"{count} ranks wait"


def _because(causes: list[Cause]) -> str:
    if not causes:
        return ""
    what = causes[0][0]
    return ", busy computing longer than the others" if what == "ok.compute" else f", held up there by {what}"


def _evidence(ranks: Ranks, waits: Arrivals, late: Lateness, causes: list[Cause]) -> list[Evidence]:
    table = ranks.summaries[0].table
    errors = ranks.clocks.error_ns[np.isfinite(ranks.clocks.error_ns)]
    rows = [
        Evidence(label="collectives compared", value=len(waits.instances), unit="count", source=table),
        Evidence(label="waiting for late ranks, all ranks", value=int(waits.wait_ns.sum()), unit="ns", source=table),
        Evidence(label="noise of one arrival (1 sigma)", value=round(late.noise_ns), unit="ns", source=table),
    ]
    if len(errors):
        label = "clock alignment error (1 sigma)"
        rows.append(Evidence(label=label, value=round(float(np.median(errors))), unit="ns", source=table))
    for p in late.blamed[:4].tolist():
        name = ranks.summaries[p].label
        arrivals = late.late_ns[late.excess_ns[:, p] > 0, p]
        last = int((waits.wait_ns[:, p] == 0)[~np.isnan(waits.duration_ns[:, p])].sum())
        rows.append(
            Evidence(
                label=f"{name} arrives late by (mean)",
                value=round(float(np.nanmean(arrivals))),
                unit="ns",
                source=table,
            )
        )
        rows.append(Evidence(label=f"{name} arrives last", value=last, unit="count", source=table))
    who = listed([ranks.summaries[p].label for p in late.blamed]) if len(late.blamed) else ""
    rows.extend(
        Evidence(label=f"{who}: {wait} beyond the others before arriving", value=value, unit="ns", source="ledger")
        for wait, value in causes
    )
    return rows


def _spans(ranks: Ranks, waits: Arrivals) -> tuple[tuple[int, int], ...]:
    """The longest waits of the participant that waits most, on its own trace clock."""
    most = int(waits.exposed_ns.sum(axis=0).argmax())
    order = np.argsort(-waits.exposed_ns[:, most], kind="stable")[:MAX_SPANS]
    order = order[waits.exposed_ns[order, most] > 0]
    start = waits.instances.start_ns[order, most] - ranks.summaries[most].origin_ns
    return tuple(sorted(zip(start.tolist(), (start + waits.wait_ns[order, most]).tolist(), strict=True)))


def _severity(share: float, named: bool) -> Severity:  # noqa: FBT001 - read as a word where it is called
    if not named:
        return "note"
    return "error" if share >= ERROR_SHARE else "warning"


def _level(ranks: Ranks, waits: Arrivals, named: bool) -> EvidenceLevel:  # noqa: FBT001
    """Two witnesses: durations say who came last, and aligned starts or sequence numbers agree."""
    if not named:
        return "indicated"
    if waits.instances.by_sequence.all():
        return "supported"
    started = np.where(waits.instances.present, ranks.clocks.common(waits.instances.start_ns), -np.inf)
    agrees = (started.argmax(axis=1) == np.nanargmin(waits.duration_ns, axis=1)).mean()
    return "supported" if agrees > 0.5 else "indicated"


def _assumes(named: list[str]) -> str:
    if not named:
        return "arrival noise stays"
    return f"{listed(named)} {_arrive(named)} with the others; the transfer itself stays"


def _arrive(named: list[str]) -> str:
    return "arrives" if len(named) == 1 else "arrive"


def _caveats(ranks: Ranks, waits: Arrivals) -> list[str]:
    caveats = []
    instances = waits.instances
    missing = _absent(waits)
    if missing > 0:
        caveats.append(
            f"{missing} of the group's ranks are not among the traces: the last to arrive may be one of them, and the "
            "waiting is at least what is shown"
        )
    if not instances.by_sequence.all():
        caveats.append("collectives were matched by their order, because the traces hold no sequence numbers")
    if len(np.unique(ranks.clocks.component)) > 1:
        caveats.append("not all ranks share a collective: only ranks that do are compared")
    caveats.append(f"spans are on the clock of {_most_waiting(ranks, waits)}")
    return caveats


def _absent(waits: Arrivals) -> int:
    """Ranks that the records of a communicator count but no trace shows."""
    instances, most = waits.instances, 0
    for communicator in np.unique(instances.communicator):
        rows = instances.communicator == communicator
        seen = int(instances.present[rows].any(axis=0).sum())
        most = max(most, int(instances.expected[rows].max()) - seen)
    return most


def _most_waiting(ranks: Ranks, waits: Arrivals) -> str:
    return ranks.summaries[int(waits.exposed_ns.sum(axis=0).argmax())].label


def _experiments(named: list[str], causes: list[Cause], high: int) -> list[Experiment]:
    if not named:
        return []
    who = listed(named)
    cause = causes[0][0] if causes else "unknown.unattributed"
    measure = "stallscope analyze after/*  # compare the comm.peer_wait line"
    expect = Prediction(metric="comm.peer_wait", low=int(high * DEFAULT_LOW_RATIO), high=high)
    if cause == "ok.compute":
        change, apply = "Give every rank the same amount of work", ("balance batch, sequence or expert load per rank",)
    else:
        change, apply = f"Remove {cause} on {who}", (f"stallscope explain {cause}",)
    return [
        Experiment(
            title=f"Bring {who} in line with the others",
            change=change,
            apply=apply,
            measure=measure,
            refuted_if=f"{who} {_arrive(named)} on time and the others still wait",
            numerics="bit-identical" if cause != "ok.compute" else "fp64-gate",
            expect=expect,
        ),
        Experiment(
            title="Move the work of that rank to another machine",
            change=f"Swap the host of {who} with another one: a lateness that moves with the host is the machine's",
            apply=("reorder the host list of the launcher",),
            measure=measure,
            refuted_if="the same rank number stays late on the other machine (then it is the program's share of work)",
            numerics="bit-identical",
            effort="flag",
        ),
    ]


def _missing(ranks: Ranks) -> str:
    if len(ranks.summaries) < 2:
        return "needs the traces of several ranks: stallscope analyze ranks/*"
    return "no synchronizing collective was found on two ranks"


def _clean(waits: Arrivals, late: Lateness) -> str:
    return f"{len(waits.instances)} collectives compared; arrivals differ by {duration(late.noise_ns)} (1 sigma)"


def _stable_id(ranks: Ranks) -> str:
    text = "\0".join(f"{s.rank}{s.device}{s.window_ns}{len(s.log.ops)}" for s in ranks.summaries)
    return f"F-{hashlib.sha256(f'{text}{WAIT}'.encode()).hexdigest()[:6]}"
