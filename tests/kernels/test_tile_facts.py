"""What is said about a tile's bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_samples import counters, m

from stallscope.ingest.ncu_open import open_counters
from stallscope.kernels.intensity import intensity_of
from stallscope.kernels.tile_facts import least_product_bytes, tile_facts


def test_bytes_against_what_the_sms_asked_for() -> None:
    facts = {fact.label: fact.value for fact in tile_facts(counters({m.L2_HIT_RATE: 0.5}))}
    assert facts["DRAM bytes"] == 256e6
    assert facts["DRAM bytes for each byte the SMs asked L2 for"] == pytest.approx(256e6 / (8e6 * 32))
    assert facts["L2 hit rate"] == 0.5


def test_nothing_is_said_without_dram_counters() -> None:
    assert tile_facts(counters({m.DRAM_READ: None})) == ()


def test_a_real_matrix_product_against_the_least_bytes(repository: Path) -> None:
    profile = open_counters([repository / "sample_traces" / "ncu" / "h200" / "triton.raw.csv.gz"])
    good = next(kernel for kernel in profile.kernels if (kernel.name, kernel.grid) == ("mm", (32, 32, 1)))
    point = intensity_of(good)
    assert point is not None
    assert point.pipe == "tensor bf16"
    # 4096 x 4096 x 4096 in bf16: three matrices of 32 MiB
    assert least_product_bytes(good, point) == pytest.approx(3 * 4096 * 4096 * 2, rel=1e-6)
    facts = {fact.label: fact.value for fact in tile_facts(good)}
    assert facts["DRAM bytes against the least for a product of this size"] == pytest.approx(1.48, abs=0.01)
    assert facts["tensor bf16 operations a byte at the ridge"] == pytest.approx(178, rel=0.05)


def test_other_kernels_have_no_least_bytes() -> None:
    assert least_product_bytes(counters(), None) is None
