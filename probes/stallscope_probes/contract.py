"""What a probe is: a workload that provokes one wait on purpose, its repair, and look-alikes that must stay silent.

A family is one module of `stallscope_probes.families` with a constant `FAMILY`; nothing else registers it.
This module and the families import nothing but the standard library until a workload is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from stallscope_probes.device.machine import Machine

Role = Literal["bad", "fixed", "decoy"]
Numerics = Literal["bit-identical", "fp64-gate", "differs"]
Collect = Literal["cuda", "memory", "uvm", "graph", "gil", "osrt", "metrics", "nothing"]
Params = Mapping[str, int]


def but(waits: tuple[str, ...], *left_out: str) -> tuple[str, ...]:
    """The ids without some of them: what a variant shares with its family, less what is true of it."""
    return tuple(wait for wait in waits if wait not in left_out)


def nothing() -> None:
    """Close a workload that holds nothing beyond tensors."""


@dataclass(frozen=True)
class Workload:
    """A built variant: `step(i)` is one repeat, `output()` the tensor whose bits identify the result.

    `reference()` is the float64 answer to `output()` where the family's numerics are gated against one, and
    `refusal()` the driver's own words when the device would not run the work (None: it did).
    """

    step: Callable[[int], None]
    output: Callable[[], Any]
    reference: Callable[[], Any] | None = None
    refusal: Callable[[], str | None] | None = None
    close: Callable[[], None] = nothing


Build = Callable[["Machine", Params], Workload]


@dataclass(frozen=True)
class Variant:
    """One labelled workload.

    `expect` are the ids a report must name, `must_not` the confusable ids it must not name, `may` ids that are true
    of the workload but so small or so dependent on the machine that naming them is neither right nor wrong. Every
    other id counts as a false alarm. `fix` names the variant of the same family that removes the wait; `bytes` is the
    most memory the variant holds on the device, `managed_bytes` the part of it that is unified memory. `gain_note`
    tells why the predicted and the measured gain of the repair differ, where they do.
    """

    name: str
    role: Role
    build: Build
    params: Params = field(default_factory=dict)
    expect: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    fix: str | None = None
    bytes: int = 64 << 20
    managed_bytes: int = 0
    repeats: int = 20
    gain_note: str = ""

    def range_name(self, family: str) -> str:
        """Text of the NVTX range around each repeat."""
        params = ",".join(f"{key}={value}" for key, value in self.params.items()) or "-"
        return f"stallscope:{family}/{self.name}/{params}"

    def session_range_name(self, family: str) -> str:
        """Text of the NVTX range around all repeats and the wait at their end: what is cut out of a session's trace."""
        return f"stallscope-session:{family}/{self.name}"


@dataclass(frozen=True)
class Family:
    """All variants of one mechanism.

    `topic` is the product's topic number (1 kernels … 7 validation), `needs` names checks of `guards`, `environment`
    what the program has to be started with, `block_repeats` how many repeats a block has when bad and fixed are timed
    in turn, and `precision` what the results of a family that is gated numerically are computed in.
    """

    name: str
    title: str
    topic: int
    variants: tuple[Variant, ...]
    numerics: Numerics = "bit-identical"
    collect: Collect = "cuda"
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    block_repeats: int = 5
    precision: Literal["fp32", "bf16"] = "fp32"

    def variant(self, name: str) -> Variant:
        """The variant of that name. Raises `KeyError`."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise KeyError(f"{self.name}/{name}")

    def pairs(self) -> tuple[tuple[Variant, Variant], ...]:
        """Every bad variant with the variant that repairs it."""
        return tuple((bad, self.variant(bad.fix)) for bad in self.variants if bad.fix is not None)
