from __future__ import annotations

from pathlib import Path

import pytest
from stallscope_probes.catalogue import select
from stallscope_probes.recording import groups
from stallscope_probes.scaling import scaled


def params(name: str, percent: int) -> dict[str, int]:
    ((_, variant),) = select([name])
    return dict(scaled(variant, percent).params)


def test_sizes_and_durations_scale_and_counts_and_switches_stay() -> None:
    assert params("copy/pageable", 125) == {"kib": 20480, "pinned": 0, "load_us": 625}
    assert params("alloc_retry/growing_sizes", 125) == {"mib": 375, "growth_mib": 2, "limit_mib": 1280}
    assert params("sync_calls/device", 50) == {"kernels": 5, "kernel_us": 50, "every": 1}


def test_memory_bound_grows_with_the_sizes() -> None:
    ((_, variant),) = select(["alloc/malloc"])
    assert scaled(variant, 150).bytes == variant.bytes * 3 // 2
    assert scaled(variant, 50).bytes == variant.bytes


@pytest.mark.parametrize("name", ["uvm_demand/device_faults", "uvm_thrash/in_turn"])
def test_unified_memory_is_never_scaled(name: str) -> None:
    ((_, variant),) = select([name])
    assert scaled(variant, 400) == variant


def test_the_recorded_program_is_told_the_scale() -> None:
    (group,) = groups(["copy/pageable"], 125)
    command = group.command("nsys", Path("/f"))
    assert command[command.index("--scale") + 1] == "125"
