"""kernel.mem.l1: the L1 data path limits the kernel.

L1 and shared memory share one data pipe of 128 bytes a cycle and SM; each operand is loaded for too few operations.
"""

from __future__ import annotations

from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage
from stallscope.kernels.ceilings import L1_UNITS, Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.reuse import REFUTED_IF, REUSE_NEEDS, REUSE_USES, larger_tile, reloading
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

META = KernelRuleMeta(
    id="kernel.mem.l1",
    title="The L1 data path limits the kernel",
    stage=Stage.THROUGHPUT,
    needs=REUSE_NEEDS,
    uses=REUSE_USES,
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when the level is the busiest and at three quarters of its peak."""
    assumes = "loaded values are used again from registers (a larger tile a thread)"
    return reloading(k, ceilings, L1_UNITS, "l1 reloads", assumes)


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """More operations for each loaded value."""
    return (
        larger_tile(knobs, "l1tex__data_pipe_lsu_wavefronts.avg"),
        Experiment(
            title="Load wider",
            change="One 16-byte load instead of four: a quarter of the requests for the same bytes",
            apply=("float4 / ld.shared.v4", "ldmatrix"),
            measure=measured(knobs, "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed"),
            refuted_if=REFUTED_IF,
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
