"""alloc.sync: device memory allocated or freed between kernels.

`cudaFree` waits until the device has drained; `cudaMalloc` may. Both are charged by what the trace shows, never by
name: the device is idle while the launching thread is inside the call, or it drained under the call and stays idle
behind it.
"""

from __future__ import annotations

from stallscope.model.events import ApiCalls
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.timeline.intervals import is_one_of
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import blocked_detection, claim_blocked_by
from stallscope.waits.library_setup import setup_calls

META = RuleMeta(
    id="alloc.sync",
    title="Device memory is allocated and freed between kernels",
    layer="idle",
    needs=(ApiCalls,),
)

EXPERIMENTS = (
    Experiment(
        title="Use PyTorch's stream-ordered allocator",
        change="Let torch allocate through cudaMallocAsync, or switch its caching allocator on again",
        apply=("PYTORCH_ALLOC_CONF=backend:cudaMallocAsync", "unset PYTORCH_NO_CUDA_MEMORY_CACHING"),
        measure=measure(),
        refuted_if="cudaMalloc and cudaFree are gone from the steps and the step time stays the same",
        numerics="bit-identical",
        effort="flag",
    ),
    Experiment(
        title="Allocate stream-ordered, keep the pool",
        change="Replace cudaMalloc/cudaFree in the loop by cudaMallocAsync/cudaFreeAsync and set the pool's release "
        "threshold to UINT64_MAX",
        apply=(
            "cudaMallocAsync(&p, bytes, stream); cudaFreeAsync(p, stream);",
            "uint64_t keep = UINT64_MAX; cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);",
        ),
        measure=measure("-- ./program"),
        refuted_if="the calls return in microseconds and the device is idle as long as before",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time inside and behind cudaMalloc and cudaFree; cudaFree(0) is init.context."""
    assumes = "allocation leaves the loop or becomes stream-ordered; kernels and their order stay the same"
    wanted = is_one_of(view.calls.kind, (CallKind.ALLOC, CallKind.FREE, CallKind.ALLOC_MANAGED))
    wanted[setup_calls(view)] = False
    return blocked_detection(view, claim_blocked_by(view, wanted), "cudaMalloc/cudaFree calls", assumes)


RULE = Rule(META, detect, EXPERIMENTS)
