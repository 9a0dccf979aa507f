"""Runs one variant and writes down what happened, as one JSON object."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stallscope_probes import environment
from stallscope_probes.contract import Family, Variant, Workload
from stallscope_probes.device.machine import Machine, UnavailableError
from stallscope_probes.guards import require

WARM_UP = 10


@dataclass
class Record:
    """One run of one variant. `status` is ok, skipped (with the reason) or failed (with the error)."""

    family: str
    variant: str
    role: str
    params: dict[str, int]
    range: str
    status: str = "ok"
    reason: str = ""
    repeats: int = 0
    warm_up: int = WARM_UP
    elapsed_ns: int = 0
    checksum: str = ""
    valid: dict[str, bool] = field(default_factory=dict)
    numerics: dict[str, float] = field(default_factory=dict)
    refusal: str = ""
    device: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, dict[str, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class RunOptions:
    """`repeats` replaces the variant's own; `arrays` is the folder that keeps gated results (.npz)."""

    repeats: int | None = None
    arrays: Path | None = None


def run_variant(machine: Machine, family: Family, variant: Variant, options: RunOptions) -> Record:
    """Build, warm up, repeat and check one variant; a refusal or an error becomes the record's status."""
    record = Record(family.name, variant.name, variant.role, dict(variant.params), variant.range_name(family.name))
    record.repeats = options.repeats or variant.repeats
    record.device, record.versions = environment.device(machine), environment.versions()
    try:
        require(machine, family, variant)
        workload = variant.build(machine, variant.params)
    except UnavailableError as reason:
        record.status, record.reason = "skipped", str(reason)
        return record
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        record.status, record.reason = "failed", f"{type(error).__name__}: {error}"
        return record
    try:
        _measure(machine, workload, record, variant.session_range_name(family.name))
        _judge(workload, record, options.arrays)
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        record.status, record.reason = "failed", f"{type(error).__name__}: {error}"
    finally:
        _quietly(workload.close)
    return record


def repeat(machine: Machine, workload: Workload, first: int, count: int, text: str = "") -> None:
    """`count` steps from index `first`, each in its NVTX range, and a wait at the end."""
    for index in range(first, first + count):
        if text:
            with machine.nvtx(text):
                workload.step(index)
        else:
            workload.step(index)
    machine.synchronize()


def _measure(machine: Machine, workload: Workload, record: Record, session_range: str) -> None:
    repeat(machine, workload, 0, record.warm_up)
    record.clocks["before"] = environment.clocks(machine)
    started = time.perf_counter_ns()
    with machine.nvtx(session_range):
        repeat(machine, workload, record.warm_up, record.repeats, record.range)
    record.elapsed_ns = time.perf_counter_ns() - started
    record.clocks["after"] = environment.clocks(machine)


def _judge(workload: Workload, record: Record, arrays: Path | None) -> None:
    import torch

    output = workload.output().detach().to("cpu")
    record.checksum = f"crc32:{zlib.crc32(output.reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()):08x}"
    record.valid["finite"] = bool(torch.isfinite(output).all())
    record.valid["not_constant_zero"] = bool((output != 0).any())
    if workload.refusal is not None:
        record.refusal = workload.refusal() or ""
    if workload.reference is not None:
        reference = workload.reference().to("cpu")
        record.numerics = errors(output, reference)
        if arrays is not None:
            _keep(arrays / f"{record.family}.{record.variant}.npz", output, reference)


def _keep(path: Path, output: Any, reference: Any) -> None:
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, output=output.numpy(), reference=reference.numpy())


def errors(output: Any, reference: Any) -> dict[str, float]:
    """Error of `output` against the float64 reference, as a relative Frobenius norm and element by element."""
    difference = output.double() - reference.double()
    scale = float(reference.double().norm())
    return {
        "relative_frobenius": float(difference.norm()) / scale if scale else float(difference.norm()),
        "largest_absolute": float(difference.abs().max()),
        "reference_largest": float(reference.double().abs().max()),
        "wrong_elements": float((difference != 0).sum()),
    }


def _quietly(close: Callable[[], None]) -> None:
    try:
        close()
    except RuntimeError:  # the record already tells what went wrong on this device
        return
