"""Kernels with one planted fault each, profiled on an H200: an accepted id comes first, for every file form."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallscope.ingest.ncu_open import open_counters
from stallscope.kernels.runner import diagnose

KERN = {
    "copy_coalesced": {"kernel.mem.dram", "kernel.latency.long_scoreboard"},
    "copy_strided": {"kernel.mem.uncoalesced"},
    "transpose_conflict": {"kernel.mem.bank_conflict"},
    "transpose_padded": {"kernel.mem.dram", "kernel.mem.l2", "ok.memory_bound"},
    "spill_dynamic": {"kernel.mem.local_array"},
    "spill_regs": {"kernel.mem.spill"},
    "barrier_heavy": {"kernel.latency.barrier"},
    "small_grid": {"kernel.latency.small_grid"},
    "pointer_chase": {"kernel.latency.small_grid", "kernel.latency.long_scoreboard"},
}
TRITON = {
    ("ln", (8192, 1, 1)): {"ok.memory_bound", "kernel.mem.l2", "kernel.mem.dram"},
    ("mm", (64, 64, 1)): {"kernel.mem.l1", "pipe.copy_wait", "kernel.compute.tensor_idle"},
    ("mm", (32, 32, 1)): {"ok.compute_bound"},
    ("mm", (16, 16, 1)): {"kernel.mem.spill"},
}


@pytest.mark.parametrize("page", ["kern.raw", "kern.raw.base"])
def test_cuda_kernels_get_an_accepted_id_first(repository: Path, page: str) -> None:
    said = diagnose(open_counters([repository / "sample_traces" / "ncu" / "h200" / f"{page}.csv.gz"]))
    first = {kernel.kernel.split("(")[0]: kernel.cause for kernel in said.kernels}
    assert first.keys() == KERN.keys()
    assert {name: cause for name, cause in first.items() if cause not in KERN[name]} == {}


def test_triton_kernels_get_an_accepted_id_first(repository: Path) -> None:
    said = diagnose(open_counters([repository / "sample_traces" / "ncu" / "h200" / "triton.raw.csv.gz"]))
    first = {(k.kernel, k.grid): k.cause for k in said.kernels if k.kernel in ("ln", "mm")}
    assert first.keys() == TRITON.keys()
    assert {key: cause for key, cause in first.items() if cause not in TRITON[key]} == {}


def test_the_details_page_alone_names_what_it_can_and_says_what_is_missing(repository: Path) -> None:
    said = diagnose(open_counters([repository / "sample_traces" / "ncu" / "h200" / "kern.details.csv.gz"]))
    first = {kernel.kernel.split("(")[0]: kernel.cause for kernel in said.kernels}
    assert first["small_grid"] == "kernel.latency.small_grid"
    assert first["copy_strided"] == "unknown.unattributed"
    stalls = next(check for check in said.checks if check.wait == "kernel.latency.long_scoreboard")
    assert stalls.outcome == "not_applicable"
    assert "--section WarpStateStats" in stalls.reason


@pytest.mark.parametrize("name", ["6e075a5e", "ad02125d", "fcf10798", "feb2d349"])
def test_public_matrix_products_are_judged_from_the_basic_set(shared: Path, name: str) -> None:
    said = diagnose(open_counters([shared / "corpus" / "c04-esmm" / f"{name}-profile.ncu-rep"]))
    assert said.kernels
    for kernel in said.kernels:
        if kernel.kernel.startswith("basic("):
            assert kernel.cause != "kernel.mem.dram"
            assert "kernel.mem.dram" not in [cause.wait for cause in kernel.causes]
    assert not [check for check in said.checks if check.outcome == "failed"]
