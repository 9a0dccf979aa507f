"""What a kernel's name and launch say about its tile, stages and author, and which knobs that author offers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from stallscope.model.counters import KernelCounters

Author = Literal["triton", "inductor", "cutlass", "cublas", "torch", "cuda"]

_GEMM = re.compile(
    r"gemm|gemv|matmul|(?:\b|_|add|b)mm\b|conv(?!ert)|attention|attn|flash|fmha|xmma|hmma|wgmma|cutlass|nvjet|(?:^|_)dot(?:_|\b)",
    re.IGNORECASE,
)
_ELEMENTWISE = re.compile(r"elementwise|vectorized|triton_poi|pointwise|unrolled", re.IGNORECASE)
_NVJET = re.compile(r"nvjet_\w+?_(?P<m>\d+)x(?P<n>\d+)_(?P<k>\d+)x(?P<stages>\d+)(?:_(?P<cluster>\d+x\d+))?")
_XMMA = re.compile(r"tilesize(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_stage(?P<stages>\d+)")
_CUTLASS2 = re.compile(r"(?P<m>\d{2,3})x(?P<n>\d{2,3})_(?P<k>\d{2,3})x(?P<stages>\d+)_")
_CUTLASS3 = re.compile(r"(?P<m>\d{2,3})x(?P<n>\d{2,3})x(?P<k>\d{2,3})_(?P<cluster>\d+x\d+x\d+)_")
_PLAIN = re.compile(r"_(?P<m>\d{2,3})x(?P<n>\d{2,3})(?:x(?P<k>\d{1,3}))?_")


@dataclass(frozen=True, slots=True)
class Tile:
    """Tile of a matrix kernel as its name gives it; 0 = the name does not say."""

    m: int
    n: int
    k: int = 0
    stages: int = 0
    cluster: str = ""

    @property
    def text(self) -> str:
        """As people write it."""
        shape = f"{self.m}x{self.n}" + (f"x{self.k}" if self.k else "")
        return (
            shape
            + (f", {self.stages} stages" if self.stages else "")
            + (f", cluster {self.cluster}" if self.cluster else "")
        )


@dataclass(frozen=True, slots=True)
class Knobs:
    """Who wrote the kernel and what can be turned: names of the knobs in that author's words."""

    author: Author
    name: str
    warps: int
    tile: Tile | None = None
    registers: int = 0
    shared_bytes: int = 0
    limit: str = ""

    @property
    def in_triton(self) -> bool:
        """BLOCK sizes, num_warps and num_stages are the knobs."""
        return self.author in ("triton", "inductor")


def is_matrix_product(name: str) -> bool:
    """Whether the name belongs to a matrix product, convolution or attention kernel."""
    return _GEMM.search(name) is not None


def is_elementwise(name: str) -> bool:
    """Whether the name belongs to an element-wise kernel of a known framework."""
    return _ELEMENTWISE.search(name) is not None


def tile_of(name: str) -> Tile | None:
    """The tile in a cuBLAS, CUTLASS or nvjet kernel name."""
    for pattern in (_NVJET, _XMMA, _CUTLASS3, _CUTLASS2, _PLAIN):
        found = pattern.search(name)
        if found:
            parts = {"k": None, "stages": None, "cluster": None, **found.groupdict()}
            return Tile(
                int(parts["m"] or 0),
                int(parts["n"] or 0),
                int(parts["k"] or 0),
                int(parts["stages"] or 0),
                parts["cluster"] or "",
            )
    return None


def author_of(kernel: KernelCounters) -> Author:
    """Who made the kernel. A name without a parameter list on a one-dimensional block of whole warps is Triton's."""
    name = kernel.name
    if name.startswith("triton_"):
        return "inductor"
    if "nvjet" in name or "xmma" in name or re.match(r"(?:void )?(?:ampere|volta|turing|hopper|sm\d+)_", name):
        return "cublas"
    if "cutlass" in name:
        return "cutlass"
    if "at::native" in name or "at::<unnamed>" in name or name.startswith("void at::"):
        return "torch"
    x, y, z = kernel.block
    warps = x // 32
    if "(" not in name and "<" not in name and y == z == 1 and x % 32 == 0 and warps & (warps - 1) == 0:
        return "triton"
    return "cuda"


def knobs_of(kernel: KernelCounters) -> Knobs:
    """The knobs of a kernel."""
    threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
    limits = {
        what: kernel.value(f"launch__occupancy_limit_{what}") for what in ("registers", "shared_mem", "warps", "blocks")
    }
    known = {what: value for what, value in limits.items() if value is not None}
    shared = [kernel.value(f"launch__shared_mem_per_block_{kind}") or 0.0 for kind in ("static", "dynamic")]
    return Knobs(
        author=author_of(kernel),
        name=kernel.name,
        warps=(threads + 31) // 32,
        tile=tile_of(kernel.name) if is_matrix_product(kernel.name) else None,
        registers=int(kernel.value("launch__registers_per_thread") or 0),
        shared_bytes=int(sum(shared)),
        limit=min(known, key=lambda what: known[what]).replace("_mem", " memory") if known else "",
    )
