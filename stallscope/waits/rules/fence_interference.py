"""fence.interference: a kernel's completion waits for another kernel's writes to remote memory.

A kernel ends when all writes visible to it are performed. In one memory-synchronization domain that includes the writes
a concurrent kernel streams to host or peer memory, over a slow link. The victim then takes a constant time longer, tens
of microseconds on an H200, however short it is. A neighbour that competes for SMs or bandwidth slows in proportion.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import Kernels
from stallscope.model.experiments import Experiment
from stallscope.model.trace import Device
from stallscope.timeline.intervals import is_one_of
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, UndecidableError, View, measure
from stallscope.waits.slowdown import Slowdown, claim_excess, slowdowns

MIN_INSTANCES = 8
MIN_RATIO = 2.0
MIN_EXCESS_NS = 3_000
MAX_EXCESS_NS = 500_000
"""Fence waits measured on an H200 are 34-100 µs; what takes far longer is something else."""
SM_SHARE = 0.25
"""A neighbour on at most this part of the SMs can neither take half of them away nor fill the memory bandwidth."""
DOMAINS_FROM = 9
"""Compute capability from which memory-synchronization domains exist. The constant wait was measured there only."""
NO_DOMAINS = (
    "the device has no memory-synchronization domains (compute capability 9.0+), and durations alone do not tell a "
    "fence from shared SMs and bandwidth: what kernels lose beside communication is comm.interference"
)

META = RuleMeta(
    id="fence.interference",
    title="Kernels wait at their end for another kernel's remote writes",
    layer="kernel",
    needs=(Kernels,),
)

EXPERIMENTS = (
    Experiment(
        title="Put the writer into its own memory-synchronization domain",
        change="Launch the communication kernel in the remote domain (compute capability 9.0+, CUDA 12+). NCCL does so "
        "by default: check that NCCL_MEM_SYNC_DOMAIN is not 0; NVSHMEM, custom all-reduce and zero-copy writers do not",
        apply=(
            "cudaLaunchAttributeMemSyncDomain = cudaLaunchMemSyncDomainRemote on the writer's stream",
            "unset NCCL_MEM_SYNC_DOMAIN",
        ),
        measure=measure("-- ./program"),
        refuted_if="the writer runs in another domain and the kernels beside it take as long; NCCL_MEM_SYNC_DOMAIN=0 "
        "must make it worse for the diagnosis to hold",
        numerics="bit-identical",
    ),
    Experiment(
        title="Move the writer away in time",
        change="Serialise the writer with the small kernels once: their excess time is what interference costs",
        apply=("torch.cuda.current_stream().wait_stream(comm_stream)  # for the test only",),
        measure=measure(),
        refuted_if="the small kernels are as slow with the writer out of the way",
        numerics="bit-identical",
    ),
)

_KERNELS = (OperationKind.COMPUTE, OperationKind.COMMUNICATION)


def detect(view: View) -> Detection | None:
    """Claim what kernels beside a small long-running neighbour take longer than the same kernels alone."""
    capable = [window for window in view.windows if _has_domains(view.devices[window.device])]
    if view.windows and not capable:
        raise UndecidableError(NO_DOMAINS)
    found: list[Slowdown] = []
    neighbour = _small_neighbours(view)
    for window in capable:
        found += [s for s in slowdowns(view, neighbour, window, MIN_INSTANCES) if _looks_like_a_fence(s)]
    if not found:
        return None
    excess = [s.excess_ns for s in found]
    return Detection(
        claims=claim_excess(view, found),
        level="supported" if len(found) > 1 and max(excess) <= 2 * min(excess) else "indicated",
        assumes="the writer runs in another memory-synchronization domain, which removed a fifth on an H200 where the "
        "kernels fence themselves and nothing where they do not, or its writes are staged in device memory",
        low_ratio=0.0,
        facts=(
            Fact("instances beside the writer", sum(len(s.beside) for s in found), "count", Kernels),
            Fact("median alone", found[0].alone_ns, "ns", Kernels),
            Fact("median beside the writer", found[0].beside_ns, "ns", Kernels),
            Fact("times longer", round(found[0].ratio, 2), "ratio", Kernels),
            Fact("kernels affected (name, grid, block)", len(found), "count", Kernels),
        ),
        caveats=(
            "The capture does not show where the neighbour writes or its domain: confirm with the first experiment.",
        ),
    )


def _has_domains(device: Device) -> bool:
    """Memory-synchronization domains exist; a device that does not tell its capability is given the benefit."""
    major = device.compute_capability.partition(".")[0]
    return not device.name.startswith("AMD") and (not major.isdecimal() or int(major) >= DOMAINS_FROM)


def _looks_like_a_fence(s: Slowdown) -> bool:
    return s.ratio >= MIN_RATIO and MIN_EXCESS_NS <= s.excess_ns <= MAX_EXCESS_NS


def _small_neighbours(view: View) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Kernels that occupy few SMs and run much longer than the kernels beside them."""
    operations = view.operations
    found = np.zeros(len(operations), np.bool_)
    for window in view.windows:
        mine = slice(window.first, window.after)
        ran = window.first + np.flatnonzero(is_one_of(operations.kind[mine], _KERNELS))
        if not len(ran):  # copies and memsets alone
            continue
        length = operations.end_ns[ran] - operations.start_ns[ran]
        long = ran[length >= 10 * float(np.median(length))]
        found[long] = view.blocks(long) <= SM_SHARE * view.multiprocessors[window.device]
    return found


RULE = Rule(META, detect, EXPERIMENTS)
