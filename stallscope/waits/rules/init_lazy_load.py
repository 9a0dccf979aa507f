"""init.lazy_load: modules and kernels are loaded at first use, inside the window."""

from __future__ import annotations

from stallscope.model.events import ApiCalls, OverheadKind, Overheads
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.loading import PROFILED_LOADS, Loading, loading_detection

LOADING = Loading(
    records=(OverheadKind.MODULE_LOADING, OverheadKind.LAZY_LOADING, OverheadKind.UNNAMED),
    calls="module and kernel loading calls",
    assumes="code is loaded before the measured part",
    low_ratio=PROFILED_LOADS,
)

META = RuleMeta(
    id="init.lazy_load",
    title="GPU code is loaded at first use, inside the measured window",
    layer="idle",
    needs=(ApiCalls,),
    uses=(Overheads,),
)

EXPERIMENTS = (
    Experiment(
        title="Load eagerly, or warm up",
        change="Load all modules at start, or run one step before measuring or serving",
        apply=("CUDA_MODULE_LOADING=EAGER",),
        measure=measure(),
        refuted_if="the loading calls move before the first step and the step takes as long",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time under these calls and under the driver's own records of it."""
    return loading_detection(view, (view.calls.kind == CallKind.MODULE_LOAD) & ~view.recompiles, LOADING)


RULE = Rule(META, detect, EXPERIMENTS)
