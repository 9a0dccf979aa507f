"""What travels from a rank to the comparison of ranks, and what a rule over ranks sees and says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from stallscope.model.findings import Check, Finding
from stallscope.timeline.clocks import Clocks, align_clocks
from stallscope.timeline.collectives import CollectiveLog, CollectiveOps, collective_log
from stallscope.timeline.intervals import EMPTY, Int64Array, IntervalSet
from stallscope.timeline.ranks import Instances, Participant, match_collectives
from stallscope.timeline.timeline import Timeline

Charges = Mapping[int, Mapping[str, IntervalSet]]
"""What the ledger charged: device index → wait id → disjoint intervals."""

EXPOSED = "comm.exposed"
UNNUMBERED = -1
"""Rank of a summary whose number is known only when all ranks are."""


@dataclass(frozen=True, slots=True)
class RankSummary:
    """One device of one rank: its collectives and the account around them. Kilobytes, whatever the trace holds.

    `before[id][k]` is what the ledger charged to `id` between the end of the collectives before the k-th one and its
    start: what the rank did instead of arriving.
    """

    rank: int
    label: str
    device: str
    table: str
    origin_ns: int
    window_ns: int
    log: CollectiveLog
    exposed: IntervalSet
    before: Mapping[str, Int64Array]


def summarize(timeline: Timeline, charges: Charges, *, table: str) -> tuple[RankSummary, ...]:
    """One summary a device with a window, not yet numbered; `table` is where a user finds the kernels."""
    log = collective_log(timeline)
    found = []
    for window in timeline.windows:
        device = timeline.trace.devices[window.device].label
        ops = log.ops.take(log.ops.device == window.device)
        charged = charges.get(window.device, {})
        found.append(
            RankSummary(
                rank=UNNUMBERED,
                label=device,
                device=device,
                table=table,
                origin_ns=timeline.trace.origin_ns,
                window_ns=window.window_ns,
                log=CollectiveLog(ops, log.communicators),
                exposed=charged.get(EXPOSED, EMPTY),
                before=_before(ops, charged),
            )
        )
    return tuple(found)


def _before(ops: CollectiveOps, charged: Mapping[str, IntervalSet]) -> dict[str, Int64Array]:
    """Ledger of the stretch from the last end of an earlier collective (or the window's start) to each start."""
    if not len(ops):
        return {}
    begin = min((int(i.starts[0]) for i in charged.values() if len(i.starts)), default=int(ops.start_ns[0]))
    ended = np.concatenate((np.array([begin]), np.maximum.accumulate(ops.end_ns)[:-1]))
    stretch = np.minimum(ended, ops.start_ns)
    account = {wait: intervals.covered(stretch, ops.start_ns) for wait, intervals in charged.items()}
    return {wait: values for wait, values in account.items() if values.any()}


@dataclass(frozen=True)
class Ranks:
    """All ranks of a run, with what is derived from them once."""

    summaries: tuple[RankSummary, ...]

    @cached_property
    def instances(self) -> Instances:
        """The same collective on every rank."""
        return match_collectives([Participant(s.rank, s.log, s.origin_ns) for s in self.summaries])

    @cached_property
    def clocks(self) -> Clocks:
        """The ranks' clocks against a common one."""
        return align_clocks(self.instances)

    @property
    def window_ns(self) -> int:
        """Sum of the windows of all devices."""
        return sum(s.window_ns for s in self.summaries)

    @property
    def devices(self) -> tuple[str, ...]:
        """Labels of all devices."""
        return tuple(s.device for s in self.summaries)


@dataclass(frozen=True, slots=True)
class RankOutcome:
    """Findings and checks of one rule.

    `moved[p]` leaves `comm.exposed` for the rule's own id in participant p's ledger. `traced` names the participants
    to blame with the wait id of their own that explains it.
    """

    checks: tuple[Check, ...]
    findings: tuple[Finding, ...] = ()
    moved: Mapping[int, IntervalSet] = field(default_factory=dict)
    traced: tuple[tuple[int, str], ...] = ()


def listed(labels: list[str], limit: int = 4) -> str:
    """`rank 3`, `ranks 3 and 5`, `ranks 1, 2, 3, 4 and 9 others`."""
    if len(labels) == 1:
        return labels[0]
    plain = all(label.startswith("rank ") and label[5:].isdecimal() for label in labels)
    words = [label[5:] if plain else label for label in labels]
    head = words[:limit] if len(words) > limit else words[:-1]
    more = len(words) - limit
    rest = words[-1] if more <= 0 else "1 other" if more == 1 else f"{more} others"
    return ("ranks " if plain else "") + ", ".join(head) + " and " + rest
