"""From a kernel's verdict to the document: KernelCauses for every kernel, a Finding for each that is worth telling."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Fact, Stage
from stallscope.kernels.causes import UNKNOWN, Found, Verdict
from stallscope.kernels.intensity import intensity_of
from stallscope.kernels.join import InTrace
from stallscope.kernels.readings import value_of
from stallscope.kernels.tile_facts import tile_facts
from stallscope.kernels.tiles import knobs_of
from stallscope.kernels.trust import cold_cache_caveat
from stallscope.model.analysis import KernelCauseItem, KernelCauses, KernelGain, VendorEstimate
from stallscope.model.counters import KernelCounters, RuleEstimate
from stallscope.model.findings import Evidence, Finding, Place, Recoverable

ERROR_SHARE = 0.10
LOW_OF_LIKELY = {"supported": 0.5, "indicated": 0.2}
"""Low end of a gain as a part of the likely one, by evidence: the least that a fix reached on the tuning pairs."""
DRAM_WAITS = frozenset({"kernel.mem.dram", "kernel.latency.long_scoreboard", "kernel.unfused", "ok.memory_bound"})
WITHOUT_A_TRACE = (
    "times are those of the profiled launches under ncu: give the nsys trace as well to weigh them by the step"
)
MEMORY = ("kernel.mem.", "kernel.latency.long_scoreboard", "kernel.compute.tensor_idle", "kernel.unfused", "pipe.")
"""Causes whose evidence includes how the kernel uses its bytes."""
SHOWN_STALLS = 12


@dataclass(frozen=True, slots=True)
class Weighed:
    """A kernel's verdict with its weight: launches, time and window of the trace, or of the profile itself."""

    verdict: Verdict
    launches: int
    time_ns: int
    exposed_ns: int
    window_ns: int
    joined: bool

    @property
    def kernel(self) -> KernelCounters:
        """The launch the verdict is about."""
        return self.verdict.readings.kernel

    @property
    def share(self) -> float:
        """Exposed time as a part of the window."""
        return self.exposed_ns / self.window_ns if self.window_ns else 0.0


def weigh(verdict: Verdict, launches: int, profiled_ns: int, window_ns: int, traced: InTrace | None) -> Weighed:
    """The verdict with the trace's launches and times where the kernel was found there."""
    if traced is None:
        return Weighed(verdict, launches, profiled_ns, profiled_ns, window_ns, joined=False)
    return Weighed(verdict, traced.launches, traced.time_ns, traced.exposed_ns, window_ns, joined=True)


def gain_of(found: Found) -> KernelGain:
    """The interval of a cause."""
    high = min(1.0, max(0.0, found.cause.bound.gain))
    likely = min(high, max(0.0, found.cause.likely))
    low = likely * LOW_OF_LIKELY.get(found.cause.level, 0.0)
    return KernelGain(low=round(low, 4), high=round(high, 4), likely=round(likely, 4))


def causes_of(weighed: Weighed) -> KernelCauses:
    """The document's row of one kernel."""
    kernel, verdict = weighed.kernel, weighed.verdict
    stalls = verdict.readings.stalls
    shares = sorted(stalls.shares.items(), key=lambda pair: -pair[1])[:SHOWN_STALLS] if stalls else []
    return KernelCauses(
        kernel=kernel.name,
        grid=kernel.grid,
        block=kernel.block,
        launches=weighed.launches,
        time_ns=weighed.time_ns,
        share=round(weighed.share, 6),
        cause=verdict.cause,
        evidence_level=verdict.ranked[0].cause.level if verdict.cause != UNKNOWN else "indicated",
        causes=tuple(
            KernelCauseItem(
                wait=found.wait,
                kernel_gain=gain_of(found),
                ceiling=found.cause.bound.ceiling,
                evidence_level=found.cause.level,
                message=found.cause.message,
            )
            for found in verdict.ranked
        ),
        profiled_ns=round(value_of(kernel, m.DURATION_NS) or 0),
        stalls={reason: round(share, 4) for reason, share in shares},
        intensity=intensity_of(kernel),
        estimates=tuple(
            VendorEstimate(rule=e.rule, kind=e.kind, ratio=round(e.percent / 100, 4)) for e in kernel.estimates
        ),
    )


def finding_of(weighed: Weighed, source_hash: str) -> Finding | None:
    """The finding of a kernel's own cause; None for a kernel that is fine, too short or unexplained."""
    verdict, kernel = weighed.verdict, weighed.kernel
    if verdict.cause == UNKNOWN or verdict.ranked[0].rule.meta.stage in (Stage.OK, Stage.TRUST):
        return None
    first = verdict.ranked[0]
    gain = gain_of(first)
    wait_ns = round(weighed.exposed_ns * gain.high)
    if not wait_ns:
        return None
    share = wait_ns / weighed.window_ns
    return Finding(
        id=_stable_id(source_hash, first.wait, kernel),
        wait=first.wait,
        title=first.rule.meta.title,
        severity="error" if share >= ERROR_SHARE else "warning",
        evidence_level=first.cause.level,
        devices=(f"GPU {kernel.device or 0}",),
        count=weighed.launches,
        wait_ns=wait_ns,
        share=round(share, 6),
        recoverable_ns=Recoverable(
            low=min(wait_ns, round(weighed.exposed_ns * gain.low)),
            high=wait_ns,
            assumes=f"{first.cause.assumes}; {first.cause.bound.ceiling} stops it",
        ),
        evidence=_evidence(weighed, first.cause.facts),
        where=(Place(nvtx=kernel.nvtx, kernel=kernel.name, count=weighed.launches, wait_ns=wait_ns),),
        experiments=first.rule.propose(knobs_of(kernel)),
        caveats=_caveats(weighed, first),
        docs=first.rule.meta.docs,
        ledger=False,
    )


def _evidence(weighed: Weighed, facts: tuple[Fact, ...]) -> tuple[Evidence, ...]:
    kernel = weighed.kernel
    if weighed.verdict.cause.startswith(MEMORY):
        facts = (*facts, *tile_facts(kernel))
    items = [Evidence(label=f.label, value=_plain(f.value), unit=f.unit, source=f.metric) for f in facts]
    duration = value_of(kernel, m.DURATION_NS)
    if duration is not None:
        source = m.DURATION_NS.metrics[0]
        items.append(Evidence(label="duration under ncu", value=round(duration), unit="ns", source=source))
    items += [_vendor(estimate) for estimate in _largest(kernel.estimates)]
    return tuple(items)


def _vendor(estimate: RuleEstimate) -> Evidence:
    of = "of the run time" if estimate.kind == "global" else "of one unit's efficiency"
    label = f"NVIDIA's rule {estimate.rule} estimates ({of})"
    return Evidence(label=label, value=_plain(estimate.percent / 100), unit="ratio", source=estimate.rule)


def _largest(estimates: tuple[RuleEstimate, ...]) -> list[RuleEstimate]:
    """The largest estimate about the run time: what a reader of NVIDIA's report would act on first."""
    of_time = [estimate for estimate in estimates if estimate.kind == "global"]
    return sorted(of_time, key=lambda estimate: -estimate.percent)[:1]


def _caveats(weighed: Weighed, first: Found) -> tuple[str, ...]:
    caveats = list(first.cause.caveats)
    cold = cold_cache_caveat(weighed.kernel)
    if cold and first.wait in DRAM_WAITS:
        caveats.append(cold)
    if not weighed.joined:
        caveats.append(WITHOUT_A_TRACE)
    return tuple(caveats)


def _plain(value: float) -> int | float:
    return round(value) if abs(value) >= 1e4 or value == round(value) else round(value, 4)


def _stable_id(source_hash: str, wait: str, kernel: KernelCounters) -> str:
    """The same file, cause and kernel give the same id in every run."""
    text = f"{source_hash}\0{wait}\0{kernel.signature}"
    return f"F-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
