"""kernel.compute.tensor_idle: a matrix product leaves the tensor cores idle.

Either it does not use them (FP32 FMAs: inputs not TF32, misaligned, or written by hand), or it starves them: loads are
not hidden, tiles are small, too little is in flight.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, stall_fact, unit_fact
from stallscope.kernels.ceilings import Ceilings, Unit
from stallscope.kernels.coupling import chip_of, coupled
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs, is_matrix_product
from stallscope.model.experiments import Experiment

UNUSED = 0.05
STARVED = 0.60
FMA_WORK = 0.20
TENSOR_REACHED = 0.6
META = KernelRuleMeta(
    id="kernel.compute.tensor_idle",
    title="A matrix product leaves the tensor cores idle",
    stage=Stage.LATENCY,
    needs=(m.TENSOR,),
    uses=(m.FMA, m.STALLS, m.ISSUE_ACTIVE),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires for FMA work under a matrix product's name, or for tensor work below 60 % of the pipe."""
    tensor = ceilings.of_ceiling(Unit.TENSOR)
    if UNUSED <= tensor < STARVED:
        return _starved(k, ceilings, tensor)
    fma = k.get(m.FMA) or 0.0
    if tensor >= UNUSED or fma < FMA_WORK or not is_matrix_product(k.kernel.name):
        return None
    bound = ceilings.bound(dict.fromkeys(coupled("matrix product", chip_of(k.kernel.compute_capability)), 1.0))
    return Cause(
        likely=TENSOR_REACHED * bound.gain,
        bound=bound,
        level="supported",
        message=f"a matrix product on the FMA pipe ({fma:.0%} busy) with the tensor cores idle",
        facts=(unit_fact(ceilings, Unit.TENSOR), unit_fact(ceilings, Unit.FMA)),
        assumes="the precision of the tensor cores is enough",
        caveats=("TF32 and BF16 inputs round: a decision about numerics, not a free win",),
    )


def _starved(k: Readings, ceilings: Ceilings, tensor: float) -> Cause | None:
    if k.stalls is None or k.get(m.ISSUE_ACTIVE) is None:
        return None
    bound = ceilings.bound(dict.fromkeys(coupled("reloads", chip_of(k.kernel.compute_capability)), 1.0))
    waiting = k.stalls.sum("long_scoreboard", "short_scoreboard", "barrier", "lg_throttle", "mio_throttle", "gmma")
    return Cause(
        likely=min(bound.gain, 1 - tensor / STARVED) * waiting,
        bound=bound,
        level="indicated",
        message=f"the tensor cores are busy {tensor:.0%} of the time; warps wait for {k.stalls.leading}",
        facts=(unit_fact(ceilings, Unit.TENSOR), stall_fact(k, k.stalls.leading)),
        assumes="loads are hidden behind the tensor work",
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """The tensor path, and enough in flight for it."""
    return (
        Experiment(
            title="Put the product on the tensor cores",
            change="Allow TF32, or cast the inputs to BF16/FP16; sizes and leading dimensions multiples of 8 (16 "
            "bytes)",
            apply=(
                "torch.set_float32_matmul_precision('high')",
                'tl.dot(a, b, input_precision="tf32")',
                "wmma / mma.sync / wgmma",
            ),
            measure=measured(knobs, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"),
            refuted_if="the tensor pipe is busy and the kernel takes as long as before",
            numerics="fp64-gate",
            effort="flag" if knobs.author in ("torch", "cublas", "triton", "inductor") else "rewrite",
        ),
        Experiment(
            title="Keep more tiles in flight",
            change="More pipeline stages and larger tiles, until shared memory or registers stop it",
            apply=("num_stages=3 or 4", "BLOCK_K=64", "cp.async multistage, TMA with warp specialisation"),
            measure=measured(knobs, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"),
            refuted_if="long_scoreboard and barrier stalls fall and the tensor pipe is as idle as before",
            numerics="bit-identical",
            effort="flag" if knobs.in_triton else "rewrite",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
