"""Parts of the memory traffic that a fix would remove, by unit; shared by the rules that find such waste."""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.ceilings import L1_UNITS, L2_UNITS, Unit
from stallscope.kernels.metrics import Quantity
from stallscope.kernels.readings import Readings

SECTOR_BYTES = 32
SECTORS_A_LINE = 4

LOCAL_USES = (
    *(m.LOCAL_ACCESSES, m.LOCAL_SECTORS, m.LOCAL_LOAD_MISSES, m.LOCAL_STORE_SECTORS, m.GLOBAL_SECTORS),
    *(m.L2_FROM_L1, m.L2_READS, m.L2_WRITES, m.INSTRUCTIONS, m.DRAM_READ, m.DRAM_WRITTEN),
    *(m.GLOBAL_LOADS, m.GLOBAL_STORES, m.REGISTERS),
)
COALESCING_USES = (
    *(m.THEORETICAL_SECTORS, m.IDEAL_SECTORS, m.L2_FROM_L1, m.L2_TAGS, m.L2_CYCLES, m.DRAM_READ, m.DRAM_WRITTEN),
    *(m.LOCAL_SECTORS, m.LOCAL_STORE_SECTORS, m.LOCAL_LOAD_MISSES),
)


def local_relief(k: Readings) -> dict[Unit, float]:
    """Demand of local memory (spills, stack arrays) on each unit, as parts of the unit's whole demand.

    L1 keeps local lines for loads; stores are written through to L2 (H200: L2 writes equal local stores to 0.1 %).
    """
    local, stores, misses = (k.get(q) or 0.0 for q in (m.LOCAL_SECTORS, m.LOCAL_STORE_SECTORS, m.LOCAL_LOAD_MISSES))
    in_l1 = _part(local, local + (k.get(m.GLOBAL_SECTORS) or 0.0))
    in_l2 = _part(stores + misses, k.get(m.L2_FROM_L1))
    freed = dict.fromkeys(L1_UNITS, in_l1) | dict.fromkeys(L2_UNITS, in_l2)
    freed |= dict.fromkeys((Unit.L2_IN, Unit.L1_OUT), _part(stores, k.get(m.L2_WRITES)) or in_l2)
    freed |= dict.fromkeys((Unit.L2_OUT, Unit.L1_IN), _part(misses, k.get(m.L2_READS)) or in_l2)
    freed[Unit.DRAM] = _part((stores + misses) * SECTOR_BYTES, dram_bytes(k))
    issued = _part(k.get(m.LOCAL_ACCESSES) or 0.0, k.get(m.INSTRUCTIONS))
    return freed | dict.fromkeys((Unit.ISSUE, Unit.SM, Unit.ALU), issued)


def coalescing_relief(k: Readings) -> dict[Unit, float]:
    """Demand of sectors that are moved and not used.

    The sectors that remain are the ideal ones; what L1 merged or local memory added is not excess. DRAM is relieved
    only of bytes beyond the ideal: where caches merge the accesses, it moves no more than for a coalesced kernel.
    """
    asked, ideal = k[m.THEORETICAL_SECTORS], k[m.IDEAL_SECTORS]
    moved = k.get(m.L2_FROM_L1) or asked
    local = (k.get(m.LOCAL_STORE_SECTORS) or 0.0) + (k.get(m.LOCAL_LOAD_MISSES) or 0.0)
    excess = max(0.0, min(asked, moved - local) - ideal)
    freed = dict.fromkeys((Unit.L2, Unit.L2_IN, Unit.L2_OUT, Unit.L1_OUT, Unit.L1_IN), _part(excess, moved))
    in_l1 = _part(asked - ideal, asked + (k.get(m.LOCAL_SECTORS) or 0.0))
    freed |= dict.fromkeys((Unit.L1_DATA, Unit.L1_WRITEBACK), in_l1)
    tags, cycles = k.get(m.L2_TAGS), k.get(m.L2_CYCLES)
    looked_up = tags * cycles if tags and cycles else moved
    freed[Unit.L2_TAGS] = max(freed[Unit.L2], 1 - _part((moved - excess) / SECTORS_A_LINE, looked_up))
    dram = dram_bytes(k)
    if dram:
        freed[Unit.DRAM] = min(_part(excess, moved), 1 - _part(ideal * SECTOR_BYTES, dram))
    return freed


def dram_bytes(k: Readings) -> float | None:
    """Bytes read from and written to DRAM; None when neither was collected."""
    read, written = k.get(m.DRAM_READ), k.get(m.DRAM_WRITTEN)
    return None if read is None and written is None else (read or 0.0) + (written or 0.0)


def load_share(k: Readings) -> float:
    """Global loads as a part of all instructions."""
    return _part(k.get(m.GLOBAL_LOADS) or 0.0, k.get(m.INSTRUCTIONS))


def part(numerator: Quantity, denominator: Quantity, k: Readings) -> float:
    """`numerator / denominator`, between 0 and 1; 0 when one was not collected."""
    return _part(k.get(numerator) or 0.0, k.get(denominator))


def _part(top: float, bottom: float | None) -> float:
    return min(1.0, top / bottom) if bottom else 0.0
