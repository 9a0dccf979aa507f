"""comm.peer_wait: ranks spend time in a collective because another rank has not arrived yet.

A synchronizing collective ends everywhere at the same moment, so the rank that spent the least time in it arrived last
and its time is the transfer; what the others spent beyond it is waiting. The rank to blame is the one that is late more
than chance allows, and the reason is what its own ledger shows in the stretch before its arrival beyond what the others'
ledgers show there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.experiments import Experiment, Prediction
from stallscope.model.findings import Check, Evidence, EvidenceLevel, Finding, Recoverable, Severity
from stallscope.model.units import duration
from stallscope.timeline.collectives import SYNCHRONIZING
from stallscope.timeline.intervals import Int64Array, intersect, union
from stallscope.timeline.ranks import Instances
from stallscope.waits.base import DEFAULT_LOW_RATIO
from stallscope.waits.findings import ERROR_SHARE, MIN_SHARE
from stallscope.waits.ranks.base import RankOutcome, Ranks, listed
from stallscope.waits.ranks.stragglers import MIN_COLLECTIVES, Lateness, lateness

WAIT = "comm.peer_wait"
SETUP_FACTOR = 5
"""A communicator's first collective that takes this many times its median also built the connections."""
MAX_SPANS = 50
MAX_CAUSES = 3
LEAST_CAUSE = 0.15
"""A wait of the late rank counts as a cause from this part of its lateness on."""


def detect(ranks: Ranks, *, everything: bool = False) -> RankOutcome:
    """Compare the ranks; needs two participants that share at least one synchronizing collective."""
    instances = _comparable(ranks.instances)
    if len(ranks.summaries) < 2 or not len(instances):
        return RankOutcome((Check(wait=WAIT, outcome="not_applicable", reason=_missing(ranks)),))
    waits = _Waits.of(ranks, instances)
    late = lateness(waits.duration_ns)
    found = _finding(ranks, waits, late)
    told = found is not None and (everything or found.share >= MIN_SHARE)
    check = Check(wait=WAIT, outcome="found" if told else "clean", reason="" if told else _clean(waits, late))
    return RankOutcome((check,), (found,) if told and found else (), waits.exposed_total())


def _comparable(instances: Instances) -> Instances:
    """Synchronizing collectives without those that set a communicator up."""
    chosen = np.isin(instances.kind, SYNCHRONIZING)
    longest = np.where(instances.present, instances.duration_ns, 0).max(axis=1, initial=0)
    for communicator in range(len(instances.communicators)):
        rows = np.flatnonzero(chosen & (instances.communicator == communicator))
        if len(rows) >= MIN_COLLECTIVES and longest[rows[0]] > SETUP_FACTOR * np.median(longest[rows]):
            chosen[rows[0]] = False
    return instances.take(np.flatnonzero(chosen))


@dataclass(frozen=True, slots=True)
class _Waits:
    """Waiting part of every collective on every participant, and how much of it nothing else covered."""

    instances: Instances
    duration_ns: npt.NDArray[np.float64]
    wait_ns: Int64Array
    exposed_ns: Int64Array
    ranks: Ranks

    @classmethod
    def of(cls, ranks: Ranks, instances: Instances) -> _Waits:
        present = instances.present
        taken = instances.duration_ns
        floor = np.where(present, taken, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
        wait = np.where(present, taken - floor, 0)
        exposed = np.zeros_like(wait)
        for p, summary in enumerate(ranks.summaries):
            start = instances.start_ns[:, p] - summary.origin_ns
            exposed[:, p] = np.where(present[:, p], summary.exposed.covered(start, start + wait[:, p]), 0)
        return cls(instances, np.where(present, taken.astype(np.float64), np.nan), wait, exposed, ranks)

    def exposed_total(self) -> dict[int, int]:
        """Waiting time of every participant that nothing else covered, each nanosecond once."""
        total = {}
        for p, summary in enumerate(self.ranks.summaries):
            start = self.instances.start_ns[:, p] - summary.origin_ns
            waiting = union(start, start + self.wait_ns[:, p])
            total[p] = intersect(waiting, summary.exposed).total_ns()
        return total

    def saved_ns(self, late: Lateness) -> tuple[int, int]:
        """Waiting (all, exposed) that goes away when nobody is late beyond noise."""
        arrival = np.where(np.isnan(self.duration_ns), -np.inf, -self.duration_ns)
        moved = np.where(np.isnan(self.duration_ns), -np.inf, arrival - late.excess_ns)
        saved = np.maximum(arrival.max(axis=1) - moved.max(axis=1), 0)
        part = np.minimum(self.wait_ns, saved[:, None])
        share = np.divide(self.exposed_ns, self.wait_ns, out=np.zeros(part.shape), where=self.wait_ns > 0)
        return int(part.sum()), int((part * share).sum())


def _finding(ranks: Ranks, waits: _Waits, late: Lateness) -> Finding | None:
    total = sum(waits.exposed_total().values())
    if not total:
        return None
    blamed = late.blamed
    _, saved = waits.saved_ns(late)
    high = min(saved, total)
    named = [ranks.summaries[p].label for p in blamed] if high else []
    causes = _causes(ranks, waits.instances, late) if named else []
    share = total / ranks.window_ns
    return Finding(
        id=_stable_id(ranks),
        wait=WAIT,
        title=_title(ranks, named, causes, late),
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


Cause = tuple[str, int]
"""A wait id (or `ok.compute`) of the late ranks and how much of their lateness it explains, ns."""


def _causes(ranks: Ranks, instances: Instances, late: Lateness) -> list[Cause]:
    """What the late ranks' ledgers hold before their late arrivals beyond the mean of the others' ledgers."""
    excess: dict[str, float] = {}
    accounts = [_account(summary.before, instances.row[:, p]) for p, summary in enumerate(ranks.summaries)]
    ids = sorted({wait for account in accounts for wait in account})
    for p in late.blamed.tolist():
        chosen = (late.excess_ns[:, p] > 0) & (np.nan_to_num(late.late_ns[:, p]) > 0)
        present = instances.present[chosen].copy()
        present[:, late.blamed] = False
        others = np.maximum(present.sum(axis=1), 1)
        for wait in ids:
            own = accounts[p].get(wait, _nothing(instances))[chosen]
            rest = sum(
                np.where(present[:, q], accounts[q].get(wait, _nothing(instances))[chosen], 0)
                for q in range(len(accounts))
            )
            excess[wait] = excess.get(wait, 0.0) + float((own - rest / others).sum())
    total = sum(value for value in excess.values() if value > 0)
    ranked = sorted(((wait, int(value)) for wait, value in excess.items()), key=lambda cause: (-cause[1], cause[0]))
    return [cause for cause in ranked[:MAX_CAUSES] if cause[1] > LEAST_CAUSE * total]


def _account(before: object, row: Int64Array) -> dict[str, Int64Array]:
    """The ledger before every matched collective, 0 where the participant was absent."""
    known = np.maximum(row, 0)
    found: dict[str, Int64Array] = {}
    for wait, values in dict(before).items():  # type: ignore[call-overload]
        found[wait] = np.where(row == NO_ROW, 0, values[known])
    return found


def _nothing(instances: Instances) -> Int64Array:
    return np.zeros(len(instances), np.int64)


def _title(ranks: Ranks, named: list[str], causes: list[Cause], late: Lateness) -> str:
    waiting = len(ranks.summaries) - len(named)
    if not named:
        return "Ranks wait for each other in collectives by turns; no rank stands out"
    if len(named) > len(ranks.summaries) // 2 and not len(late.persistent):
        return f"Pauses of {len(named)} ranks by turns hold up all the others{_because(causes)}"
    return f"{_ranks(waiting)} in collectives for {listed(named)}{_because(causes)}"


def _ranks(count: int) -> str:
    return "1 rank waits" if count == 1 else f"{count} ranks wait"


def _because(causes: list[Cause]) -> str:
    if not causes:
        return ""
    what = causes[0][0]
    return ", busy computing longer than the others" if what == "ok.compute" else f", held up there by {what}"


def _evidence(ranks: Ranks, waits: _Waits, late: Lateness, causes: list[Cause]) -> list[Evidence]:
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


def _spans(ranks: Ranks, waits: _Waits) -> tuple[tuple[int, int], ...]:
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


def _level(ranks: Ranks, waits: _Waits, named: bool) -> EvidenceLevel:  # noqa: FBT001
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
    return f"{listed(named)} arrives with the others; the transfer itself stays"


def _caveats(ranks: Ranks, waits: _Waits) -> list[str]:
    caveats = []
    instances = waits.instances
    missing = int((instances.expected - instances.present.sum(axis=1)).max(initial=0))
    if missing > 0:
        caveats.append(
            f"{missing} ranks of the group are not among the traces: the last to arrive may be one of them, and the "
            "waiting is at least what is shown"
        )
    if not instances.by_sequence.all():
        caveats.append("collectives were matched by their order, because the traces hold no sequence numbers")
    if len(np.unique(ranks.clocks.component)) > 1:
        caveats.append("not all ranks share a collective: only ranks that do are compared")
    caveats.append(f"spans are on the clock of {_most_waiting(ranks, waits)}")
    return caveats


def _most_waiting(ranks: Ranks, waits: _Waits) -> str:
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
            refuted_if=f"{who} arrives on time and the others still wait",
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


def _clean(waits: _Waits, late: Lateness) -> str:
    return f"{len(waits.instances)} collectives compared; arrivals differ by {duration(late.noise_ns)} (1 sigma)"


def _stable_id(ranks: Ranks) -> str:
    text = "\0".join(f"{s.rank}{s.device}{s.window_ns}{len(s.log.ops)}" for s in ranks.summaries)
    return f"F-{hashlib.sha256(f'{text}{WAIT}'.encode()).hexdigest()[:6]}"
