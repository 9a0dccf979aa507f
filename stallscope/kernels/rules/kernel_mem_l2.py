"""kernel.mem.l2: L2 bandwidth limits the kernel.

L2 or its crossbar is the busiest unit: the SMs load the same lines again and again.
"""

from __future__ import annotations

from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage
from stallscope.kernels.ceilings import L2_UNITS, Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.reuse import REFUTED_IF, REUSE_NEEDS, REUSE_USES, larger_tile, reloading
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

META = KernelRuleMeta(
    id="kernel.mem.l2",
    title="L2 bandwidth limits the kernel",
    stage=Stage.THROUGHPUT,
    needs=REUSE_NEEDS,
    uses=REUSE_USES,
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when the level is the busiest and at three quarters of its peak."""
    assumes = "loaded values are used again from shared memory, registers or multicast"
    return reloading(k, ceilings, L2_UNITS, "reloads", assumes)


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """More operations for each loaded value."""
    return (
        larger_tile(knobs, "lts__t_sectors_srcunit_tex.sum"),
        Experiment(
            title="Share loads between blocks",
            change="A cluster with TMA multicast loads a tile once for several SMs (compute capability 9.0)",
            apply=("cluster of 2 along the shared operand", "grouped program ids for L2 hits"),
            measure=measured(knobs, "lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed"),
            refuted_if=REFUTED_IF,
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
