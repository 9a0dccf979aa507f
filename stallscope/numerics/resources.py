"""What fits on a streaming multiprocessor: occupancy of a kernel, and which limit binds.

Limits per compute capability are those of the CUDA Programming Guide, appendix *Compute Capabilities*; allocation
granularities those of NVIDIA's occupancy calculator.
"""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
MAX_REGISTERS_PER_THREAD = 255
MAX_THREADS_PER_BLOCK = 1024
_REGISTER_UNIT = 256
_WARP_UNIT = 4
_SHARED_UNIT_BYTES = 128
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Resources of one multiprocessor. `reserved_bytes` of shared memory go to the system in every block."""

    registers: int
    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    reserved_bytes: int = _KIB


_AMPERE_DATACENTRE = Limits(65_536, 64, 32, 164 * _KIB, 163 * _KIB)
_CONSUMER = (100 * _KIB, 99 * _KIB)

LIMITS: dict[str, Limits] = {
    "7.0": Limits(65_536, 64, 32, 96 * _KIB, 96 * _KIB, 0),
    "7.5": Limits(65_536, 32, 16, 64 * _KIB, 64 * _KIB, 0),
    "8.0": _AMPERE_DATACENTRE,
    "8.6": Limits(65_536, 48, 16, *_CONSUMER),
    "8.7": Limits(65_536, 48, 16, 164 * _KIB, 163 * _KIB),
    "8.9": Limits(65_536, 48, 24, *_CONSUMER),
    "9.0": Limits(65_536, 64, 32, 228 * _KIB, 227 * _KIB),
    "10.0": Limits(65_536, 64, 32, 228 * _KIB, 227 * _KIB),
    "10.3": Limits(65_536, 64, 32, 228 * _KIB, 227 * _KIB),
    "12.0": Limits(65_536, 48, 24, *_CONSUMER),
    "12.1": Limits(65_536, 48, 24, *_CONSUMER),
}


@dataclass(frozen=True, slots=True)
class Resources:
    """What one block of a kernel needs; `registers` a thread, `shared_bytes` static plus dynamic."""

    threads: int
    registers: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks a multiprocessor holds at once, the limits that bind, and the share of its warps they fill."""

    blocks: int
    binding: tuple[str, ...]
    warps_share: float


def occupancy(need: Resources, compute_capability: str) -> Occupancy | None:
    """Achieved blocks an SM = the least of four limits; None for an unknown capability or unknown registers."""
    limits = LIMITS.get(compute_capability)
    if limits is None or need.threads <= 0:
        return None
    warps = -(-need.threads // WARP)
    by_limit = {
        "blocks": limits.blocks,
        "warps": limits.warps // warps,
        "registers": _blocks_by_registers(need, warps, limits),
        "shared memory": _blocks_by_shared_memory(need, limits),
    }
    blocks = min(by_limit.values())
    return Occupancy(
        blocks=blocks,
        binding=tuple(name for name, count in by_limit.items() if count == blocks),
        warps_share=blocks * warps / limits.warps,
    )


def violations(need: Resources, compute_capability: str) -> tuple[str, ...]:
    """Why the kernel cannot be launched there at all; empty when it can."""
    limits = LIMITS.get(compute_capability)
    if limits is None:
        return ()
    found = []
    if need.threads > MAX_THREADS_PER_BLOCK:
        found.append(f"{need.threads} threads a block, {MAX_THREADS_PER_BLOCK} allowed")
    if need.registers > MAX_REGISTERS_PER_THREAD:
        found.append(f"{need.registers} registers a thread, {MAX_REGISTERS_PER_THREAD} allowed")
    if need.registers and _blocks_by_registers(need, -(-need.threads // WARP), limits) < 1:
        found.append(f"{need.registers} registers × {need.threads} threads exceed {limits.registers}")
    if need.shared_bytes > limits.shared_bytes_per_block:
        found.append(f"{need.shared_bytes} bytes of shared memory a block, {limits.shared_bytes_per_block} allowed")
    return tuple(found)


def _blocks_by_registers(need: Resources, warps: int, limits: Limits) -> int:
    """Registers are given out to whole warps in units of 256, warps in units of four."""
    if not need.registers:
        return limits.blocks
    per_warp = -(-need.registers * WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    warps_that_fit = limits.registers // per_warp // _WARP_UNIT * _WARP_UNIT
    return warps_that_fit // warps


def _blocks_by_shared_memory(need: Resources, limits: Limits) -> int:
    taken = need.shared_bytes + limits.reserved_bytes
    if not taken:
        return limits.blocks
    return limits.shared_bytes // (-(-taken // _SHARED_UNIT_BYTES) * _SHARED_UNIT_BYTES)
