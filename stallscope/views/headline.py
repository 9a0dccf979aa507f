"""The one sentence of a report: how long the devices waited, or why nobody can tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from stallscope.model.analysis import UNATTRIBUTED, Analysis, DeviceLedger
from stallscope.model.findings import Finding
from stallscope.model.units import duration, share

WAITS_IN_KERNELS = frozenset(
    ("uvm.thrash", "uvm.evict", "uvm.fault_gpu", "fence.interference", "comm.interference", "link.zero_copy")
)
WAITS_ON_TRANSFERS = frozenset(
    ("comm.peer_wait", "comm.exposed", "alloc.relocate", "copy.pageable", "offload.exposed", "copy.exposed")
)
TELLING_SHARE = 0.01
"""Share of the window from which a finding is told, and from which unexplained time is no detail."""
FEW = 10
"""Fewer device operations than this are no program to judge."""
LOST_EVENTS = "env.dropped_events"
REFUSES_IDLE_CLAIMS = "env.graph_level_trace"
REFUSAL = "Cannot tell how long the GPU waited: CUDA graph replays are not in this trace, so idle time may be work"


class Part(Enum):
    """What an id of the ledger says about the device at that moment."""

    WORK = "working"
    KERNEL_WAIT = "kernels waiting"
    TRANSFER = "copies or communication"
    IDLE = "idle"
    UNEXPLAINED = "unexplained"


class Verdict(Enum):
    """What a reader may conclude."""

    WAITS = "waits"
    HEALTHY = "healthy"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    KERNELS_ONLY = "kernels only"
    NO_ACTIVITY = "no GPU activity"


@dataclass(frozen=True, slots=True)
class Headline:
    """Verdict and sentence; `waiting_ns` is summed over devices and None where it cannot be told."""

    verdict: Verdict
    sentence: str
    waiting_ns: int | None = None


def part_of(wait: str) -> Part:
    """The part of the account an id belongs to."""
    if wait.startswith("ok."):
        return Part.WORK
    if wait == UNATTRIBUTED:
        return Part.UNEXPLAINED
    if wait in WAITS_IN_KERNELS:
        return Part.KERNEL_WAIT
    return Part.TRANSFER if wait in WAITS_ON_TRANSFERS else Part.IDLE


def is_inside_kernels(wait: str) -> bool:
    """Whether a finding's kernel is the one that waits, and not the one that ran after the wait."""
    return wait in WAITS_IN_KERNELS or wait.startswith(("kernel.", "pipe.", "comm."))


def waiting_ns(device: DeviceLedger) -> int:
    """Time in which the device did no useful work: everything the ledger does not charge to an `ok` id."""
    return sum(ns for wait, ns in device.ledger.items() if part_of(wait) is not Part.WORK)


def problems(analysis: Analysis) -> tuple[Finding, ...]:
    """Findings that ask for action; notes only explain."""
    return tuple(finding for finding in analysis.findings if finding.severity != "note")


def headline(analysis: Analysis) -> Headline:
    """What the whole report comes down to."""
    if not analysis.devices:
        return _without_devices(analysis)
    if any(note.id == REFUSES_IDLE_CLAIMS for note in analysis.capture.notes):
        sentence = (
            "Cannot tell how long the GPU waited: CUDA graph replays are not in this trace, so idle time may be work"
        )
        return Headline(Verdict.REFUSED, sentence)
    waiting = sum(waiting_ns(device) for device in analysis.devices)
    sentence = _sentence(analysis, waiting)
    if problems(analysis):
        return Headline(Verdict.WAITS, sentence, waiting)
    doubt = _doubt(analysis)
    if doubt:
        return Headline(Verdict.INCOMPLETE, f"{sentence}. No finding, but {doubt}", waiting)
    return Headline(Verdict.HEALTHY, f"{sentence}. Healthy: no removable wait of 1 % or more was found", waiting)


def _without_devices(analysis: Analysis) -> Headline:
    if analysis.kernels:
        measured = f"{len(analysis.kernels)} kernel{'s' if len(analysis.kernels) > 1 else ''}"
        return Headline(Verdict.KERNELS_ONLY, f"Counters of {measured}, no timeline: what happens inside the kernels")
    return Headline(Verdict.NO_ACTIVITY, "No GPU activity in this trace, so nothing can be said about waits")


def _sentence(analysis: Analysis, waiting: int) -> str:
    window = sum(device.window_ns for device in analysis.devices)
    count = len(analysis.devices)
    who = f"{analysis.devices[0].device} waits" if count == 1 else f"{count} GPUs wait"
    span = duration(window / count)
    return f"{who} {share(waiting / window if window else 0)} of {span}{'' if count == 1 else ' each'}"


def _doubt(analysis: Analysis) -> str:
    """Why the absence of findings is no health certificate; empty when it is one."""
    failed = sum(check.outcome == "failed" for check in analysis.checks)
    if failed:
        return f"{failed} rule{'s' if failed > 1 else ''} failed"
    missing = [table for table in ("kernels", "api") if analysis.capture.collected.get(table) != "yes"]
    if missing:
        return f"the trace lacks what the rules need: {', '.join(missing)}"
    if any(note.id == LOST_EVENTS for note in analysis.capture.notes):
        return "the profiler lost events"
    unexplained = sum(device.ledger.get(UNATTRIBUTED, 0) for device in analysis.devices)
    ratio = unexplained / max(1, sum(device.window_ns for device in analysis.devices))
    if ratio >= TELLING_SHARE:
        return f"{share(ratio)} is idle for reasons that the trace does not show"
    operations = _operations(analysis)
    if operations is None or operations >= FEW:
        return ""
    counted = {0: "no kernel and no copy is", 1: "1 device operation is"}.get(operations)
    return f"{counted or f'{operations} device operations are'} too few to judge"


def _operations(analysis: Analysis) -> int | None:
    """Kernels and copies in the window; None when the document does not count them."""
    if analysis.workload is None:
        return None
    launches = sum(kernel.launches for kernel in analysis.workload.kernels)
    return launches + sum(copy.copies for copy in analysis.workload.copies)
