"""How well a tile uses the bytes it moves: operations a byte, bytes against the least that is needed, L2 residency."""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Fact
from stallscope.kernels.intensity import intensity_of
from stallscope.kernels.readings import value_of
from stallscope.kernels.tiles import is_matrix_product
from stallscope.kernels.traffic import SECTOR_BYTES
from stallscope.model.analysis import Intensity
from stallscope.model.counters import KernelCounters

_ELEMENT_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}
MATRICES = 3


def tile_facts(kernel: KernelCounters) -> tuple[Fact, ...]:
    """What is known of the kernel's bytes, as evidence beside its cause; empty without DRAM counters."""
    read, written = value_of(kernel, m.DRAM_READ), value_of(kernel, m.DRAM_WRITTEN)
    if read is None or written is None:
        return ()
    moved = read + written
    facts = [Fact("DRAM bytes", moved, "bytes", m.DRAM_READ.metrics[0])]
    point = intensity_of(kernel)
    if point is not None and point.bytes_per_s:
        facts.append(
            Fact(f"{point.pipe} operations a DRAM byte", point.flop_per_s / point.bytes_per_s, "ratio", "dram__bytes")
        )
        ridge = point.peak_flop_per_s / point.peak_bytes_per_s
        facts.append(Fact(f"{point.pipe} operations a byte at the ridge", ridge, "ratio", "dram__bytes"))
    asked = value_of(kernel, m.L2_FROM_L1)
    if asked:
        label = "DRAM bytes for each byte the SMs asked L2 for"
        facts.append(Fact(label, moved / (asked * SECTOR_BYTES), "ratio", m.L2_FROM_L1.metrics[0]))
    least = least_product_bytes(kernel, point)
    if least:
        facts.append(
            Fact("DRAM bytes against the least for a product of this size", moved / least, "ratio", "dram__bytes")
        )
    hits = value_of(kernel, m.L2_HIT_RATE)
    if hits is not None:
        facts.append(Fact("L2 hit rate", hits, "ratio", m.L2_HIT_RATE.metrics[0]))
    return tuple(facts)


def least_product_bytes(kernel: KernelCounters, point: Intensity | None) -> float | None:
    """Lower bound of the bytes a matrix product of that many operations must move, whatever its shape.

    With F = 2·M·N·K operations M·N + N·K + K·M is least for M = N = K: 3·(F/2)^(2/3) elements. None for other kernels.
    """
    duration = value_of(kernel, m.DURATION_NS)
    if point is None or not duration or not (point.pipe.startswith("tensor") or is_matrix_product(kernel.name)):
        return None
    element = _ELEMENT_BYTES.get(point.pipe.removeprefix("tensor "))
    operations = point.flop_per_s * duration / 1e9
    return None if element is None else MATRICES * (operations / 2) ** (2 / 3) * element
