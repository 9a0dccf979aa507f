"""uvm.fault_cpu: the device is idle while the CPU faults managed memory back."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import CopyKind, CpuFaults, Migrations
from stallscope.timeline.intervals import union
from stallscope.waits.base import Claims, Detection, Fact, Rule, RuleMeta, View
from stallscope.waits.unified_memory import EXPLICIT, ON_DEMAND, PREFETCH, claim_idle, clusters, migrations

APART_NS = 2_000_000
"""Faults closer than this belong to one pass of the CPU over managed memory (p99 of such a pass is 0.4-0.6 ms)."""

META = RuleMeta(
    id="uvm.fault_cpu",
    title="The CPU faults managed memory back while the device is idle",
    layer="idle",
    needs=(Migrations,),
    uses=(CpuFaults,),
)


def detect(view: View) -> Detection | None:
    """Claim the host part of gaps in which the CPU faults and pages move to the host."""
    moved = view[Migrations]
    rows = migrations(view, CopyKind.DEVICE_TO_HOST, ON_DEMAND)
    faults = view.find(CpuFaults)
    if not len(rows) and not (faults is not None and len(faults)):
        return None
    times = [moved.start_ns[rows], moved.end_ns[rows]]
    if faults is not None:
        times.append(faults.time_ns)
    passes = clusters(np.concatenate(times), APART_NS)
    passes = union(
        np.concatenate((passes.starts, moved.start_ns[rows])), np.concatenate((passes.ends, moved.end_ns[rows]))
    )
    claims = Claims.joined(claim_idle(view, window.device, passes) for window in view.windows)
    if not len(claims):
        return None
    facts = [
        Fact("on-demand migrations to the host", len(rows), "count", Migrations),
        Fact("bytes they moved", int(moved.bytes[rows].sum()), "bytes", Migrations),
    ]
    if faults is not None:
        facts.append(Fact("CPU page faults", len(faults), "count", CpuFaults))
    return Detection(
        claims=claims,
        level="supported" if faults is not None and len(faults) and len(rows) else "indicated",
        assumes="the CPU finds its pages at home, or its pass runs beside the device; its own work stays",
        facts=tuple(facts),
        caveats=("The CPU's own work on the data is inside this time and stays when the faults are gone.",),
    )


RULE = Rule(META, detect, (PREFETCH, EXPLICIT))
