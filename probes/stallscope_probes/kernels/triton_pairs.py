"""Before/after pairs written in Triton, a script for a machine with a GPU: `triton_pairs.py time [repeats] | once`."""

# ruff: noqa: ANN001, ANN201, D103, N803, PLR0913, PLR0917 (Triton kernels: untyped arguments, constants in capitals)
from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

SIDE = 2048


@triton.jit
def matmul_tile(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * n + inner[None, :]
    right = b + inner[:, None] * n + columns[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, n, BK):
        acc = tl.dot(tl.load(left), tl.load(right), acc, input_precision=PRECISION)
        left += BK
        right += BK * n
    tl.store(c + rows[:, None] * n + columns[None, :], acc)


@triton.jit
def tri_stages_before(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "tf32")


@triton.jit
def tri_stages_after(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "tf32")


@triton.jit
def tri_spill_before(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "tf32")


@triton.jit
def tri_spill_after(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "tf32")


@triton.jit
def tri_small_tile_before(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "tf32")


@triton.jit
def tri_small_tile_after(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "tf32")


@triton.jit
def tri_ieee_gemm_before(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "ieee")


@triton.jit
def tri_ieee_gemm_after(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul_tile(a, b, c, n, BM, BN, BK, "tf32")


@triton.jit
def tri_column_scale_before(x, y, n, BLOCK: tl.constexpr):
    at = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)) * n + tl.program_id(0)
    tl.store(y + at, tl.load(x + at) * 2.0)


@triton.jit
def tri_column_scale_after(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) * 2.0)


@triton.jit
def tri_unfused_before_exp(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.exp(tl.load(x + at)))


@triton.jit
def tri_unfused_before_scale(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) * 0.5)


@triton.jit
def tri_unfused_after(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.exp(tl.load(x + at)) * 0.5)


@dataclass(frozen=True)
class Case:
    """One pair: two launchers that write `out`, and how far their results may differ (relative to the largest)."""

    name: str
    before: Callable[[], object]
    after: Callable[[], object]
    out: torch.Tensor
    tolerance: float


def matmul(
    kernel: Any, tensors: tuple[torch.Tensor, ...], tile: tuple[int, int, int], **knobs: int
) -> Callable[[], object]:
    """A launcher of one tiling."""
    bm, bn, bk = tile
    grid = (triton.cdiv(SIDE, bm), triton.cdiv(SIDE, bn))
    return lambda: kernel[grid](*tensors, SIDE, bm, bn, bk, **knobs)


def cases() -> list[Case]:
    """All pairs on their tensors."""
    torch.manual_seed(1)
    a, b = (torch.rand(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    f, g = (torch.rand(SIDE, SIDE, device="cuda") for _ in range(2))
    c = torch.empty(SIDE, SIDE, device="cuda")
    big, out = torch.rand(8192, 8192, device="cuda"), torch.empty(8192, 8192, device="cuda")
    flat = big.numel() // 1024

    def chain() -> None:
        tri_unfused_before_exp[(flat,)](big, out, 1024)
        tri_unfused_before_scale[(flat,)](out, out, 1024)

    half, single, wide = (a, b, c), (f, g, c), (128, 128, 64)
    return [
        Case("tri_stages", matmul(tri_stages_before, half, wide, num_stages=1, num_warps=4),
             matmul(tri_stages_after, half, wide, num_stages=4, num_warps=4), c, 0.0),
        Case("tri_spill", matmul(tri_spill_before, half, (256, 256, 32), num_stages=2, num_warps=4),
             matmul(tri_spill_after, half, (256, 256, 32), num_stages=2, num_warps=8), c, 1e-5),
        Case("tri_small_tile", matmul(tri_small_tile_before, half, (32, 32, 32), num_stages=2, num_warps=4),
             matmul(tri_small_tile_after, half, wide, num_stages=3, num_warps=4), c, 1e-5),
        Case("tri_ieee_gemm", matmul(tri_ieee_gemm_before, single, (64, 64, 32), num_stages=3, num_warps=4),
             matmul(tri_ieee_gemm_after, single, (64, 64, 32), num_stages=3, num_warps=4), c, 2e-3),
        Case("tri_column_scale", lambda: tri_column_scale_before[(8192, 8)](big, out, 8192, 1024),
             lambda: tri_column_scale_after[(8192, 8)](big, out, 8192, 1024), out, 0.0),
        Case("tri_unfused", chain, lambda: tri_unfused_after[(flat,)](big, out, 1024), out, 1e-6),
    ]  # fmt: skip


def result(launch: Callable[[], object], out: torch.Tensor) -> torch.Tensor:
    """What one side writes over a poisoned output."""
    out.fill_(float("nan"))
    launch()
    return out.clone()


def nanoseconds(launch: Callable[[], object]) -> float:
    """Device time of one run."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    launch()
    stop.record()
    stop.synchronize()
    milliseconds: float = start.elapsed_time(stop)
    return milliseconds * 1e6


def measured(case: Case, repeats: int) -> dict[str, Any]:
    """Interleaved times of both sides and the numerics gate."""
    one, two = result(case.before, case.out), result(case.after, case.out)
    error = float((one - two).abs().max() / one.abs().max()) if torch.isfinite(one).all() else 1e30
    times = [(nanoseconds(case.before), nanoseconds(case.after)) for _ in range(repeats + 3)][3:]
    return {
        "pair": case.name,
        "error": error,
        "tolerance": case.tolerance,
        "valid": error <= case.tolerance,
        "before_ns": [round(before, 1) for before, _ in times],
        "after_ns": [round(after, 1) for _, after in times],
    }


def main() -> None:
    """Run every pair in the mode of the first argument."""
    mode, repeats = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 25
    for case in cases():
        if mode == "time":
            sys.stdout.write(json.dumps(measured(case, repeats)) + "\n")
        else:
            case.before()
            case.after()
            torch.cuda.synchronize()


if __name__ == "__main__":
    main()
