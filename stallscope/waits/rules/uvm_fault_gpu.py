"""uvm.fault_gpu: kernels wait for managed memory that is not on the device.

A kernel that touches a page of unified memory on the host stalls until the driver has moved it. The kernel row is long,
the work inside is short. Explicit prefetches (cause: user) are copies, not faults.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import CopyKind, GpuFaults, Kernels, Migrations
from stallscope.timeline.intervals import union
from stallscope.waits.base import Claims, Detection, Fact, Rule, RuleMeta, View
from stallscope.waits.unified_memory import EXPLICIT, ON_DEMAND, PREFETCH, claim_in_kernels, migrations

META = RuleMeta(
    id="uvm.fault_gpu",
    title="Kernels wait for managed memory to migrate to the device",
    layer="kernel",
    needs=(Kernels, Migrations),
    uses=(GpuFaults,),
)


def detect(view: View) -> Detection | None:
    """Claim kernel time under fault service, or under on-demand migrations where faults were not traced."""
    moved = view[Migrations]
    rows = migrations(view, CopyKind.HOST_TO_DEVICE, ON_DEMAND)
    faults = view.find(GpuFaults)
    if not len(rows) and not (faults is not None and len(faults)):
        return None
    parts = []
    for window in view.windows:
        mine = rows[moved.device[rows] == window.device]
        starts, ends = [moved.start_ns[mine]], [moved.end_ns[mine]]
        if faults is not None:
            served = faults.device == window.device
            starts.append(faults.start_ns[served])
            ends.append(faults.end_ns[served])
        parts.append(claim_in_kernels(view, window.device, union(np.concatenate(starts), np.concatenate(ends))))
    claims = Claims.joined(parts)
    if not len(claims):
        return None
    facts = [
        Fact("on-demand migrations to the device", len(rows), "count", Migrations),
        Fact("bytes they moved", int(moved.bytes[rows].sum()), "bytes", Migrations),
    ]
    if faults is not None:
        facts.append(Fact("GPU fault groups", len(faults), "count", GpuFaults))
        facts.append(Fact("page faults in them", int(faults.faults.sum()), "count", GpuFaults))
    return Detection(
        claims=claims,
        level="supported" if faults is not None and len(faults) else "indicated",
        assumes="the pages are on the device before the kernel; moving them still takes bytes over link bandwidth",
        low_ratio=0.5,
        facts=tuple(facts),
        caveats=("Fault tracing slows fault service (up to 70 %): trust the share, re-measure the time without it.",)
        if faults is not None
        else ("Faults were not traced: only the migrations inside kernels are counted, the stall around them is not.",),
    )


RULE = Rule(META, detect, (PREFETCH, EXPLICIT))
