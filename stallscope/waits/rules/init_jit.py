"""init.jit: code is compiled (PTX JIT, nvrtc, nvJitLink) or rebuilt over and over in the steady state."""

from __future__ import annotations

from stallscope.model.events import ApiCalls, OverheadKind, Overheads
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.loading import Loading, loading_detection

LOADING = Loading(
    records=(OverheadKind.JIT,),
    calls="compiling and image-loading calls",
    assumes="no kernel is compiled in the steady state",
    low_ratio=0.8,
)

META = RuleMeta(
    id="init.jit",
    title="GPU code is compiled while the program runs",
    layer="idle",
    needs=(ApiCalls,),
    uses=(Overheads,),
)

EXPERIMENTS = (
    Experiment(
        title="Find what recompiles",
        change="Let torch name the guard that fails, then mark the dimension dynamic or pad to a few shapes",
        apply=(
            "TORCH_LOGS=recompiles,guards",
            "torch._dynamo.mark_dynamic(x, 0)",
        ),
        measure=measure(),
        refuted_if="no recompilation is logged after warm-up and images are still loaded every step",
        numerics="bit-identical",
        effort="lines",
    ),
    Experiment(
        title="Ship machine code for this GPU",
        change="Build for the device's compute capability so that the driver compiles no PTX",
        apply=(
            "nvcc -gencode arch=compute_90,code=sm_90",
            "TORCH_CUDA_ARCH_LIST=9.0",
        ),
        measure=measure("-- ./program"),
        refuted_if="no JIT record is left and the step takes as long",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time under these calls and under the driver's own records of it."""
    return loading_detection(view, (view.calls.kind == CallKind.JIT) | view.recompiles, LOADING)


RULE = Rule(META, detect, EXPERIMENTS)
