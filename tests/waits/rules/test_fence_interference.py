"""fence.interference: both sides of its limits, what it states, two devices."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import analysis, charges, evidence, finding

from stallscope.model.events import CopyKind

NS = 0.001
FENCE = "fence.interference"
TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"


def beside_a_writer(
    *victims: tuple[float, float], count: int = 8, blocks: int = 33, devices: tuple[int, ...] = (0,), writer: float = 0
) -> TraceBuilder:
    """On each device: each victim (µs alone, µs beside) `count` times alone, then as often beside one long writer."""
    build = TraceBuilder(devices=max(devices) + 1)
    start = 2_000 * count * len(victims)
    for device in devices:
        build.kernel(start, start + (writer or start), name="writer", blocks=blocks, stream=13, device=device)
        for n, lengths in enumerate(victims):
            for i in range(count):
                for begin, length in zip((0, start), lengths, strict=True):
                    at = begin + 10 + 2_000 * (i * len(victims) + n)
                    build.kernel(at, at + length, name=f"victim {n}", stream=14, device=device)
    return build


def test_one_kernel_is_indicated_and_charged_its_last_nanoseconds() -> None:
    build = beside_a_writer((2, 40))
    found = finding(build, FENCE)
    assert charges(build)[FENCE] == 8 * 38
    assert (found.evidence_level, found.count) == ("indicated", 8)
    assert (found.recoverable_ns.low, found.recoverable_ns.high) == (0, 8 * 38 * US)
    assert found.spans[0] == ((16_010 + 2) * US, (16_010 + 40) * US)
    assert evidence(build, FENCE) == {
        "instances beside the writer": (8, "count", TABLE),
        "median alone": (2 * US, "ns", TABLE),
        "median beside the writer": (40 * US, "ns", TABLE),
        "times longer": (20.0, "ratio", TABLE),
        "kernels affected (name, grid, block)": (1, "count", TABLE),
    }
    assert found.caveats == (
        "The capture does not show where the neighbour writes or its domain: confirm with the first experiment.",
    )


@pytest.mark.parametrize(("second", "level"), [((4, 80), "supported"), ((4, 80 + NS), "indicated")])
def test_two_kernels_with_the_same_excess_within_twice_support_each_other(
    second: tuple[float, float], level: str
) -> None:
    build = beside_a_writer((2, 40), second)
    assert finding(build, FENCE).evidence_level == level
    assert evidence(build, FENCE)["kernels affected (name, grid, block)"][0] == 2
    assert evidence(build, FENCE)["instances beside the writer"][0] == 16


@pytest.mark.parametrize(
    ("alone", "beside", "found"),
    [
        (20, 40, True),
        (20, 40 - NS, False),  # not twice as long
        (2, 5, True),
        (2, 5 - NS, False),  # less than 3 µs longer
        (2, 502, True),
        (2, 502 + NS, False),  # more than 500 µs longer
    ],
)
def test_a_fence_takes_twice_as_long_and_3_to_500_us_longer(alone: float, beside: float, *, found: bool) -> None:
    assert (FENCE in charges(beside_a_writer((alone, beside), writer=30_000))) is found


@pytest.mark.parametrize(("count", "found"), [(8, True), (7, False)])
def test_eight_instances_on_each_side_are_needed(count: int, *, found: bool) -> None:
    assert (FENCE in charges(beside_a_writer((2, 40), count=count))) is found


@pytest.mark.parametrize(("blocks", "found"), [(33, True), (34, False)])
def test_the_writer_has_at_most_a_quarter_of_the_132_sms(blocks: int, *, found: bool) -> None:
    assert (FENCE in charges(beside_a_writer((2, 40), blocks=blocks))) is found


@pytest.mark.parametrize(("times", "found"), [(10, True), (10 - NS, False)])
def test_the_writer_runs_ten_times_as_long_as_the_median_kernel(times: float, *, found: bool) -> None:
    """Of nineteen kernels eight take 2 µs and ten 40 µs: the median one takes 40 µs."""
    build = TraceBuilder()
    for i in range(8):
        build.kernel(50 * i, 50 * i + 2, name="victim", stream=14)
        build.kernel(1_000 + 45 * i, 1_040 + 45 * i, name="victim", stream=14)
    for i in range(2):
        build.kernel(600 + 50 * i, 640 + 50 * i, name="other", stream=14)
    build.kernel(1_000, 1_000 + 40 * times, name="writer", blocks=8, stream=13)
    assert (FENCE in charges(build)) is found


def test_two_devices_are_judged_each_by_its_own_kernels() -> None:
    build = beside_a_writer((2, 40), devices=(0, 1))
    build.copy(0, 5, kind=CopyKind.HOST_TO_DEVICE, device=1)
    assert [device.ledger[FENCE] for device in analysis(build).devices] == [8 * 38 * US] * 2
    assert finding(build, FENCE).count == 16
