"""kernel.unfused: element-wise kernels in a row write to DRAM what the next one reads back.

Each runs at the DRAM roof and cannot be made faster; together they move the intermediate twice for nothing.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact
from stallscope.kernels.ceilings import Bound, Ceilings, Unit, ceilings_of
from stallscope.kernels.proposals import measured, short_name
from stallscope.kernels.readings import Readings, value_of
from stallscope.kernels.tiles import Knobs, is_matrix_product
from stallscope.kernels.traffic import dram_bytes
from stallscope.model.counters import KernelCounters
from stallscope.model.experiments import Experiment

STREAMING = 0.60
SAME_BYTES = 0.85
L2_KEEPS = 0.15
"""Bytes still in L2 at the end of a kernel do not show in its DRAM writes: reads and writes may differ by this."""
META = KernelRuleMeta(
    id="kernel.unfused",
    title="Element-wise kernels in a row pass data through DRAM",
    stage=Stage.PLACEMENT,
    needs=(m.DRAM, m.DRAM_READ, m.DRAM_WRITTEN),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when a streaming kernel's neighbour in the same run streams the same bytes on."""
    mine = _streamed(k.kernel)
    if mine is None:
        return None
    ahead, behind = _streamed(k.before), _streamed(k.after)
    saved = 0.0
    if k.before is not None and ahead is not None and _passes_on(ahead[1], mine[0]) and _alike(k.kernel, k.before):
        saved += mine[0]
    if k.after is not None and behind is not None and _passes_on(mine[1], behind[0]) and _alike(k.kernel, k.after):
        saved += mine[1]
    if not saved:
        return None
    part = min(1.0, saved / sum(mine))
    others = ", ".join(short_name(other.name) for other in (k.before, k.after) if other is not None)
    return (
        Cause(
            likely=part,
            bound=Bound(part, Unit.DRAM.value),
            level="indicated",
            message=f"{part:.0%} of its bytes only pass data between it and its neighbours ({others})",
            facts=(
                fact(k, m.DRAM),
                Fact("DRAM bytes", dram_bytes(k) or 0.0, "bytes", m.DRAM_READ.metrics[0]),
                Fact("bytes passed through DRAM", saved, "bytes", m.DRAM_WRITTEN.metrics[0]),
            ),
            assumes="the neighbour reads what this kernel wrote, and one kernel can do the work of both",
            caveats=("the counters show sizes, not addresses: check that the data is the same",),
        )
        if ceilings.of_ceiling(Unit.DRAM) >= STREAMING
        else None
    )


def _streamed(kernel: KernelCounters | None) -> tuple[float, float] | None:
    """Bytes read and written by a kernel that only streams; None for any other."""
    if kernel is None or is_matrix_product(kernel.name):
        return None
    read, written = value_of(kernel, m.DRAM_READ), value_of(kernel, m.DRAM_WRITTEN)
    if not read or not written or ceilings_of(kernel).of_ceiling(Unit.DRAM) < STREAMING:
        return None
    return read, written


def _passes_on(written: float, read: float) -> bool:
    """Whether the bytes written and the bytes read next are the same within what L2 keeps."""
    return min(written, read) >= (SAME_BYTES - L2_KEEPS) * max(written, read)


def _alike(one: KernelCounters, two: KernelCounters) -> bool:
    """Element-wise kernels over the same data launch about as many threads; a repeat of one kernel is no chain."""
    threads = [k.grid[0] * k.grid[1] * k.grid[2] * k.block[0] * k.block[1] * k.block[2] for k in (one, two)]
    return one.name != two.name and 0 < max(threads) <= 4 * min(threads)


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """One kernel."""
    return (
        Experiment(
            title="Fuse the element-wise kernels",
            change="One kernel that keeps the intermediate in registers",
            apply=("torch.compile", "one Triton kernel", "an epilogue of the producing matrix product"),
            measure=measured(knobs, "dram__bytes_write.sum"),
            refuted_if="the intermediate is gone and the sum of the kernels' times is as before",
            numerics="fp64-gate",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
