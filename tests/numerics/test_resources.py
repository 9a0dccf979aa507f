from __future__ import annotations

import pytest

from stallscope.numerics.capability import supports, target_problem
from stallscope.numerics.resources import Resources, occupancy, violations


@pytest.mark.parametrize(
    ("need", "capability", "blocks", "binding"),
    [  # worked by hand from the limits
        (Resources(256, 128, 0), "9.0", 2, ("registers",)),  # 65,536 / (128 × 256)
        (Resources(256, 80, 0), "9.0", 3, ("registers",)),
        (Resources(256, 64, 0), "9.0", 4, ("registers",)),
        (Resources(1024, 32, 0), "9.0", 2, ("warps", "registers")),
        (Resources(1024, 32, 0), "8.6", 1, ("warps",)),  # 48 warps hold one block of 32
        (Resources(32, 16, 0), "9.0", 32, ("blocks",)),
        (Resources(128, 32, 100 * 1024), "9.0", 2, ("shared memory",)),  # 228 KiB / (100 + 1) KiB
        (Resources(128, 32, 100 * 1024), "8.0", 1, ("shared memory",)),
        (Resources(128, 32, 227 * 1024), "9.0", 1, ("shared memory",)),
    ],
)
def test_blocks_a_multiprocessor_and_the_limit_that_binds(
    need: Resources, capability: str, blocks: int, binding: tuple[str, ...]
) -> None:
    found = occupancy(need, capability)
    assert found is not None
    assert (found.blocks, found.binding) == (blocks, binding)


def test_warps_share_is_theoretical_occupancy() -> None:
    found = occupancy(Resources(256, 128, 0), "9.0")
    assert found is not None
    assert found.warps_share == 0.25


def test_unknown_capability_is_not_guessed() -> None:
    assert occupancy(Resources(256, 32, 0), "99.0") is None
    assert violations(Resources(4096, 999, 1 << 30), "99.0") == ()


def test_what_cannot_be_launched_says_why() -> None:
    assert violations(Resources(256, 32, 0), "9.0") == ()
    assert "101376 allowed" in violations(Resources(128, 32, 200 * 1024), "8.9")[0]
    assert "registers × 1024" in violations(Resources(1024, 128, 0), "9.0")[0]
    assert violations(Resources(2048, 16, 0), "9.0")[0].startswith("2048 threads")


@pytest.mark.parametrize(
    ("capability", "feature", "answer"),
    [
        ("9.0", "memory-sync-domain", True),
        ("8.6", "memory-sync-domain", False),
        ("8.0", "async-copy", True),
        ("7.5", "async-copy", False),
        ("10.0", "warpgroup-mma", False),
        ("9.0", "cluster-launch-control", False),
        ("", "cluster", None),
    ],
)
def test_features_by_capability(capability: str, feature: str, answer: object) -> None:
    assert supports(capability, feature) is answer  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "capability", "part"),
    [
        ("sm_90", "9.0", ""),
        ("sm_80", "8.6", ""),
        ("sm_90a", "9.0", ""),
        ("sm_90a", "10.0", "specific to compute capability 9.0"),
        ("sm_86", "8.0", "does not run"),
        ("sm_80", "9.0", "does not run"),
        ("compute_80", "9.0", "compiled at load time"),
        ("compute_100", "9.0", "cannot be compiled"),
        ("gfx942", "9.0", ""),
    ],
)
def test_build_target_against_the_gpu(target: str, capability: str, part: str) -> None:
    problem = target_problem(target, capability)
    assert part in problem
    assert bool(part) == bool(problem)
