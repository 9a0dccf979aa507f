"""comm.bandwidth: the transfer part of a collective is slower than the link allows.

The transfer is the time of the rank that arrived last; everything longer on other ranks is waiting and belongs to
comm.peer_wait. The link is what the user calibrated (bus bandwidth of nccl-tests), else the run's own best transfers of
the same operation.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from stallscope.model.experiments import Experiment
from stallscope.model.findings import Check, Evidence, Finding, Recoverable
from stallscope.timeline.collectives import CollectiveKind
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.ranks import Instances
from stallscope.waits.base import DEFAULT_LOW_RATIO
from stallscope.waits.findings import MIN_SHARE
from stallscope.waits.ranks.arrivals import comparable
from stallscope.waits.ranks.base import RankOutcome, Ranks

WAIT = "comm.bandwidth"
LEAST_BYTES = 4 << 20
"""Below this a collective is bound by latency, not by the link."""
SLOW = 0.5
"""A transfer below this part of the reference is slow."""
BEST = 0.95
"""The run's own reference: this quantile of the bus bandwidth of an operation."""
MIN_COLLECTIVES = 10

_FACTORS = {
    CollectiveKind.ALL_REDUCE: lambda n: 2 * (n - 1) / n,
    CollectiveKind.ALL_GATHER: lambda n: (n - 1) / n,
    CollectiveKind.REDUCE_SCATTER: lambda n: (n - 1) / n,
    CollectiveKind.ALL_TO_ALL: lambda n: (n - 1) / n,
}
"""Bus bandwidth = payload / time × factor, as nccl-tests defines it (doc/PERFORMANCE.md)."""


def detect(ranks: Ranks, *, link_bytes_per_s: float | None = None, everything: bool = False) -> RankOutcome:
    """Compare every large transfer with the link, or with the run's own best."""
    instances = comparable(ranks.instances)
    large = np.isin(instances.kind, list(_FACTORS)) & (instances.bytes >= LEAST_BYTES)
    instances = instances.take(np.flatnonzero(large))
    if len(instances) < MIN_COLLECTIVES:
        reason = "too few collectives of 4 MiB or more with a recorded size on two ranks"
        return RankOutcome((Check(wait=WAIT, outcome="not_applicable", reason=reason),))
    transfer = _transfer_ns(instances)
    speed = _bus_bytes_per_s(instances, transfer)
    reference = _reference(instances, speed, link_bytes_per_s)
    slow = speed < SLOW * reference
    lost = np.where(slow, transfer * (1 - speed / reference), 0).astype(np.int64)
    ranks_each = instances.present.sum(axis=1)
    total = int((lost * ranks_each).sum())
    share = total / ranks.window_ns
    if not total or not (everything or share >= MIN_SHARE):
        return RankOutcome((Check(wait=WAIT, outcome="clean", reason=f"{len(instances)} transfers compared"),))
    finding = _finding(ranks, instances, speed, reference, lost, calibrated=link_bytes_per_s is not None)
    return RankOutcome((Check(wait=WAIT, outcome="found"),), (finding,))


def _transfer_ns(instances: Instances) -> Int64Array:
    taken = np.where(instances.present, instances.duration_ns, np.iinfo(np.int64).max)
    return np.asarray(np.maximum(taken.min(axis=1), 1))


def _bus_bytes_per_s(instances: Instances, transfer: Int64Array) -> npt.NDArray[np.float64]:
    members = np.maximum(instances.expected, instances.present.sum(axis=1))
    factor = np.array([_FACTORS[CollectiveKind(k)](int(n)) for k, n in zip(instances.kind, members, strict=True)])
    return np.asarray(instances.bytes * factor / (transfer * 1e-9))


def _reference(
    instances: Instances, speed: npt.NDArray[np.float64], link_bytes_per_s: float | None
) -> npt.NDArray[np.float64]:
    if link_bytes_per_s is not None:
        return np.full(len(speed), link_bytes_per_s)
    found = np.empty(len(speed))
    for kind in np.unique(instances.kind):
        for communicator in np.unique(instances.communicator):
            rows = (instances.kind == kind) & (instances.communicator == communicator)
            if rows.any():
                found[rows] = np.quantile(speed[rows], BEST)
    return found


def _finding(  # noqa: PLR0913 - one call, all of it measured above
    ranks: Ranks,
    instances: Instances,
    speed: npt.NDArray[np.float64],
    reference: npt.NDArray[np.float64],
    lost: Int64Array,
    *,
    calibrated: bool,
) -> Finding:
    slow = lost > 0
    total = min(int((lost * instances.present.sum(axis=1)).sum()), ranks.window_ns)
    table = ranks.summaries[0].table
    basis = "the calibrated link" if calibrated else "the run's own best transfers"
    digest = hashlib.sha256(f"{ranks.window_ns}{len(instances)}{WAIT}".encode()).hexdigest()
    return Finding(
        id=f"F-{digest[:6]}",
        wait=WAIT,
        title=f"Collectives move data at less than half the speed of {basis}",
        severity="warning",
        evidence_level="supported" if calibrated else "indicated",
        devices=ranks.devices,
        count=int(slow.sum()),
        wait_ns=total,
        share=round(total / ranks.window_ns, 6),
        recoverable_ns=Recoverable(
            low=int(total * DEFAULT_LOW_RATIO), high=total, assumes=f"the slow transfers reach {basis}"
        ),
        evidence=(
            Evidence(label="slow transfers", value=int(slow.sum()), unit="count", source=table),
            Evidence(
                label="bus bandwidth of the slow ones (median)",
                value=round(float(np.median(speed[slow]))),
                unit="bytes/s",
                source=table,
            ),
            Evidence(
                label=f"bus bandwidth of {basis}",
                value=round(float(np.median(reference[slow]))),
                unit="bytes/s",
                source=table,
            ),
        ),
        experiments=_EXPERIMENTS,
        caveats=(
            *(() if calibrated else ("the link was not calibrated: run nccl-tests on the same machines",)),
            "a transfer that shares the link or the SMs with other work is slow without any fault of the link",
        ),
        docs=f"waits/{WAIT}",
        ledger=False,
    )


_EXPERIMENTS = (
    Experiment(
        title="Calibrate the link",
        change="Measure the bus bandwidth of the same operation and size on the same machines, with nothing beside it",
        apply=("all_reduce_perf -b 4M -e 1G -f 2 -g 8",),
        measure="compare its busbw column with the evidence of this finding",
        refuted_if="the calibrated bandwidth is as low: the path is the limit (NCCL_DEBUG=INFO, nvidia-smi topo -m)",
        numerics="bit-identical",
        effort="flag",
    ),
)
