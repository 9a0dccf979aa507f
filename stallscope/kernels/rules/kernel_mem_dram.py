"""kernel.mem.dram: DRAM bandwidth is the unit that limits the kernel.

Below the roof, more bytes in flight raise the bandwidth. At the roof only fewer bytes help; bytes that L2 fetched more
often than the SMs asked for are waste, bytes they asked for may still be avoidable (fusion, reuse, narrower types).
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import REACHED_OF_BOUND, Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact, stall_fact
from stallscope.kernels.ceilings import BINDING, Ceilings, Unit
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import SECTOR_BYTES, dram_bytes
from stallscope.model.experiments import Experiment

AT_THE_ROOF = 0.85
"""Share of the attainable bandwidth from which only fewer bytes help."""
OVERFETCH = 1.25
META = KernelRuleMeta(
    id="kernel.mem.dram",
    title="DRAM bandwidth limits the kernel",
    stage=Stage.THROUGHPUT,
    needs=(m.DRAM,),
    uses=(m.L2_FROM_L1, m.DRAM_READ, m.DRAM_WRITTEN, m.STALLS, m.L2_HIT_RATE),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when DRAM is the most utilised unit and at 60 % of what it can reach."""
    used = ceilings.of_ceiling(Unit.DRAM)
    if used < BINDING or ceilings.top[0] is not Unit.DRAM:
        return None
    facts = (fact(k, m.DRAM), *((stall_fact(k, "long_scoreboard"),) if k.stalls else ()))
    over = _overfetch(k)
    fewer = ceilings.bound({Unit.DRAM: 1.0})
    if over > 0:
        bound = ceilings.bound({Unit.DRAM: over})
        return Cause(
            likely=REACHED_OF_BOUND * bound.gain,
            bound=bound,
            level="supported",
            message=f"{used:.0%} of attainable DRAM bandwidth, and {over:.0%} of its bytes were fetched again",
            facts=(*facts, Fact("bytes beyond what the SMs asked for", over, "ratio", m.DRAM_READ.metrics[0])),
            assumes="L2 keeps what is used again",
        )
    if used >= AT_THE_ROOF:
        return Cause(
            likely=0.0,
            bound=fewer,
            level="indicated",
            message=f"{used:.0%} of attainable DRAM bandwidth: only fewer bytes help (fusion, reuse, narrower types)",
            facts=facts,
            assumes=f"the kernel can do its work with fewer bytes; {fewer.ceiling} becomes the limit",
            caveats=(
                "the counters do not tell how many bytes the algorithm needs: compare with the sizes of its tensors",
            ),
        )
    return Cause(
        likely=1 - used,
        bound=fewer,
        level="supported" if k.stalls is None or k.stalls["long_scoreboard"] > 0.3 else "indicated",
        message=f"DRAM is its busiest unit, at {used:.0%} of attainable bandwidth",
        facts=facts,
        assumes="more bytes in flight bring DRAM to its roof",
    )


def _overfetch(k: Readings) -> float:
    """Part of the DRAM bytes that the SMs did not ask L2 for; 0 when it is small or unknown."""
    moved, asked = dram_bytes(k), k.get(m.L2_FROM_L1)
    if not moved or not asked or moved < OVERFETCH * asked * SECTOR_BYTES:
        return 0.0
    return 1 - asked * SECTOR_BYTES / moved


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Fewer bytes, or more of them in flight."""
    tile = "larger BLOCK sizes until registers spill" if knobs.in_triton else "a larger tile a block"
    return (
        Experiment(
            title="Fuse with the neighbour that reads its output",
            change="One kernel instead of two keeps the intermediate in registers",
            apply=("torch.compile", "an epilogue of the producer"),
            measure=measured(knobs, "dram__bytes_read.sum"),
            refuted_if="the bytes fall by the predicted share and the time does not",
            numerics="fp64-gate",
        ),
        Experiment(
            title="Reuse what was loaded",
            change=f"Raise the arithmetic intensity: {tile}; order the blocks so that neighbours share L2 lines",
            apply=("grouped/swizzled program ids", "accessPolicyWindow for data read again"),
            measure=measured(knobs, "dram__bytes_read.sum"),
            refuted_if="the bytes fall by the predicted share and the time does not",
            numerics="fp64-gate",
        ),
        Experiment(
            title="Move more bytes a request",
            change="16-byte loads and several of them in flight a thread",
            apply=("float4 / ld.global.v4", "#pragma unroll 4", "cp.async or TMA with 3–4 stages"),
            measure=measured(knobs, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
            refuted_if="the bandwidth does not rise although more loads are in flight",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
