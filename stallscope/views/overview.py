"""What stands below the headline of the first page: sums, one account a device, the strip of steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from stallscope.model.analysis import UNATTRIBUTED, Analysis, DeviceLedger, Step
from stallscope.model.findings import EvidenceLevel, Finding
from stallscope.views.families import is_wait
from stallscope.views.headline import waiting_ns

EVIDENCE_STEPS: dict[EvidenceLevel, int] = {"indicated": 1, "supported": 2, "confirmed": 3}
SLOW_STEP = 1.2
MAX_STEPS = 320


@dataclass(frozen=True, slots=True)
class Sums:
    """Over all devices, in device time (8 GPUs × 1 s = 8 s)."""

    devices: int
    window_ns: int
    busy_ns: int
    waiting_ns: int
    unattributed_ns: int

    def share(self, time_ns: int) -> float:
        """Share of device time; 0 when there is none."""
        return time_ns / self.window_ns if self.window_ns else 0.0


@dataclass(frozen=True, slots=True)
class Segment:
    """Time of one id on one device."""

    wait: str
    time_ns: int
    share: float


@dataclass(frozen=True, slots=True)
class Account:
    """One device's window, split completely: the segments' times sum to `window_ns`."""

    device: DeviceLedger
    segments: tuple[Segment, ...]

    @property
    def title(self) -> str:
        """`rank 3 · GPU 0`, or the device alone when there is one rank."""
        rank = self.device.rank
        return self.device.device if rank is None else f"rank {rank} · {self.device.device}"


@dataclass(frozen=True, slots=True)
class StepBar:
    """Time of one step, or of the slowest of several that share a bar."""

    first: int
    last: int
    time_ns: int
    slow: bool


@dataclass(frozen=True, slots=True)
class StepStrip:
    """Durations of a repeated range, at most MAX_STEPS bars."""

    name: str
    count: int
    median_ns: float
    slowest_ns: int
    bars: tuple[StepBar, ...]

    @property
    def slow_count(self) -> int:
        """Bars longer than SLOW_STEP × the median."""
        return sum(bar.slow for bar in self.bars)


def sums(analysis: Analysis) -> Sums:
    """The figures under the headline."""
    devices = analysis.devices
    return Sums(
        devices=len(devices),
        window_ns=sum(d.window_ns for d in devices),
        busy_ns=sum(d.busy_ns for d in devices),
        waiting_ns=sum(waiting_ns(d) for d in devices),
        unattributed_ns=sum(d.ledger.get(UNATTRIBUTED, 0) for d in devices),
    )


def accounts(analysis: Analysis) -> tuple[Account, ...]:
    """Every device's ledger with work first, then waits by size over all devices, so that bars line up."""
    order = [wait for wait, _ in totals(analysis)]
    return tuple(_account(device, order) for device in analysis.devices)


def totals(analysis: Analysis) -> tuple[tuple[str, int], ...]:
    """Time of every id over all devices: work first, then waits, each by size; unattributed time last."""
    sums: dict[str, int] = {}
    for device in analysis.devices:
        for wait, ns in device.ledger.items():
            sums[wait] = sums.get(wait, 0) + ns
    rows = ((wait, ns) for wait, ns in sums.items() if ns)
    return tuple(sorted(rows, key=lambda row: (is_wait(row[0]), row[0] == UNATTRIBUTED, -row[1], row[0])))


def _account(device: DeviceLedger, order: Iterable[str]) -> Account:
    window = device.window_ns or 1
    segments = (
        Segment(wait, device.ledger[wait], device.ledger[wait] / window) for wait in order if device.ledger.get(wait)
    )
    return Account(device, tuple(segments))


def ranked(analysis: Analysis) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Findings that cost something and notes that only explain, each in the document's order."""
    costly = tuple(f for f in analysis.findings if f.severity != "note")
    return costly, tuple(f for f in analysis.findings if f.severity == "note")


def step_strip(step: Step) -> StepStrip:
    """Bars of one step range; long runs share bars and show the slowest step of each."""
    durations = step.durations_ns
    middle = median(durations) if durations else 0.0
    width = -(-len(durations) // MAX_STEPS) or 1
    bars = []
    for first in range(0, len(durations), width):
        slowest = max(durations[first : first + width])
        last = min(first + width, len(durations)) - 1
        bars.append(StepBar(first, last, slowest, slowest > SLOW_STEP * middle))
    return StepStrip(step.name, len(durations), middle, max(durations, default=0), tuple(bars))
