"""One finding a wait class over all ranks, saying which ranks it holds for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from stallscope.model.analysis import Analysis, DeviceLedger
from stallscope.model.findings import Evidence, Finding, Place, Recoverable
from stallscope.waits.findings import ERROR_SHARE, MIN_SHARE
from stallscope.waits.ranks.base import EXPOSED, listed

MAX_PLACES = 10
MAX_NAMED = 4
STANDS_OUT = 2.0
"""One rank stands out when its wait is this many times the median of the affected ranks."""

Ledgers = Mapping[int, tuple[DeviceLedger, ...]]
Own = tuple[int, Finding]
"""A rank and its finding."""


def merge_findings(analyses: Mapping[int, Analysis], ledgers: Ledgers, *, everything: bool) -> list[Finding]:
    """Group the ranks' findings by wait id."""
    groups: dict[str, list[Own]] = {}
    for rank, analysis in analyses.items():
        for finding in analysis.findings:
            kept = without_waiting(finding, ledgers[rank], everything=everything)
            if kept is not None:
                groups.setdefault(finding.wait, []).append((rank, kept))
    return [_merged(own, ledgers) for own in groups.values()]


def without_waiting(finding: Finding, ledgers: Sequence[DeviceLedger], *, everything: bool) -> Finding | None:
    """Exposed communication without the part that turned out to be waiting for late ranks."""
    if finding.wait != EXPOSED:
        return finding
    left = sum(ledger.ledger.get(EXPOSED, 0) for ledger in ledgers)
    window = sum(ledger.window_ns for ledger in ledgers)
    if left >= finding.wait_ns:
        return finding
    if not left or (left / window < MIN_SHARE and not everything):
        return None
    ratio = left / finding.wait_ns
    low, high = (min(int(v * ratio), left) for v in (finding.recoverable_ns.low, finding.recoverable_ns.high))
    return msgspec.structs.replace(
        finding,
        wait_ns=left,
        where=tuple(msgspec.structs.replace(place, wait_ns=int(place.wait_ns * ratio)) for place in finding.where),
        share=round(left / window, 6),
        recoverable_ns=Recoverable(low=low, high=high, assumes=finding.recoverable_ns.assumes),
    )


def _merged(own: list[Own], ledgers: Ledgers) -> Finding:
    worst_rank, worst = max(own, key=lambda item: (item[1].wait_ns, -item[0]))
    total = sum(f.wait_ns for _, f in own)
    devices = tuple(f"rank {rank} {device}" for rank, f in own for device in f.devices)
    share = total / max(sum(_window_ns(f, ledgers[rank]) for rank, f in own), 1)
    low, high = (sum(getattr(f.recoverable_ns, end) for _, f in own) for end in ("low", "high"))
    return msgspec.structs.replace(
        worst,
        id=_stable_id(own),
        title=f"{worst.title} ({_who(own, len(ledgers))})",
        severity=worst.severity if worst.severity == "note" else "error" if share >= ERROR_SHARE else "warning",
        devices=devices,
        count=sum(f.count for _, f in own),
        wait_ns=total,
        share=round(share, 6),
        recoverable_ns=Recoverable(low=low, high=high, assumes=worst.recoverable_ns.assumes),
        evidence=tuple(_evidence(own, worst_rank, worst)),
        where=places_of([place for _, f in own for place in f.where]),
        caveats=tuple(_caveats(own, worst_rank)),
    )


def _window_ns(finding: Finding, ledgers: Sequence[DeviceLedger]) -> int:
    return sum(ledger.window_ns for ledger in ledgers if ledger.device in finding.devices)


def _who(own: list[Own], ranks: int) -> str:
    labels = [f"rank {rank}" for rank, _ in own]
    waits = sorted(f.wait_ns for _, f in own)
    worst_rank, worst = max(own, key=lambda item: (item[1].wait_ns, -item[0]))
    stands_out = len(own) > 1 and worst.wait_ns >= STANDS_OUT * waits[(len(waits) - 1) // 2]
    where = f"all {ranks} ranks" if len(own) == ranks and ranks > 1 else listed(labels, MAX_NAMED)
    return f"{where}, most on rank {worst_rank}" if stands_out else where


def _evidence(own: list[Own], worst_rank: int, worst: Finding) -> list[Evidence]:
    """Numbers of the rank that waits most, and how the wait is spread."""
    rows = [msgspec.structs.replace(e, label=f"rank {worst_rank}: {e.label}") for e in worst.evidence]
    if len(own) > 1:
        rows.append(Evidence(label="ranks with this wait", value=len(own), unit="count", source="ledger"))
        largest = sorted(own, key=lambda item: (-item[1].wait_ns, item[0]))[:MAX_NAMED]
        rows += [Evidence(label=f"rank {r}: waits", value=f.wait_ns, unit="ns", source="ledger") for r, f in largest]
    return rows


def places_of(places: Sequence[Place]) -> tuple[Place, ...]:
    """The same place of the program on several ranks is one place."""
    found: dict[tuple[object, ...], Place] = {}
    for place in places:
        key = (place.nvtx, place.nvtx_by, place.api, place.kernel)
        known = found.get(key)
        if known is not None:
            place = msgspec.structs.replace(  # noqa: PLW2901 - the sum takes the place of its parts
                place,
                thread=place.thread if place.thread == known.thread else None,
                count=place.count + known.count,
                wait_ns=place.wait_ns + known.wait_ns,
            )
        found[key] = place
    return tuple(sorted(found.values(), key=lambda p: (-p.wait_ns, p.nvtx))[:MAX_PLACES])


def _caveats(own: list[Own], worst_rank: int) -> list[str]:
    caveats = list(dict.fromkeys(caveat for _, f in own for caveat in f.caveats))
    if len(own) > 1:
        caveats.append(f"spans are those of rank {worst_rank}, on its own clock")
    return caveats


def _stable_id(own: list[Own]) -> str:
    """Made of the ranks' own ids, which are stable."""
    text = "\0".join(f"{rank}{finding.id}" for rank, finding in own)
    return f"F-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
