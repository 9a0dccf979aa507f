"""link.zero_copy: samples of link traffic, copies around them, two devices."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import analysis, charges, evidence, finding

from stallscope.model.events import GpuMetrics

LINK = "link.zero_copy"


def sampled(
    values: dict[int, float], *, metric: str = "PCIe RX Throughput", devices: tuple[int, ...] = (0,)
) -> TraceBuilder:
    """A kernel of 1 ms on each device and a sample every 100 µs, 0 % where `values` says nothing."""
    build = TraceBuilder(devices=max(devices) + 1)
    for device in devices:
        build.kernel(0, 1_000, device=device)
        for t in range(0, 1_001, 100):
            build.row(GpuMetrics, time_ns=t * US, device=device, metric=build.name(metric), value=values.get(t, 0.0))
    return build


def test_each_busy_sample_stands_for_the_period_before_it() -> None:
    build = sampled({300: 60.0, 400: 60.0, 800: 60.0})
    assert charges(build) == {LINK: 300}
    found = finding(build, LINK)
    assert found.spans == ((200 * US, 400 * US), (700 * US, 800 * US))
    assert (found.evidence_level, found.recoverable_ns.low, found.recoverable_ns.high) == ("supported", 0, 300 * US)
    facts = evidence(build, LINK)
    assert facts["samples with the link busy"][:2] == (3, "count")
    assert facts["kernel time with link traffic and no copy"][:2] == (300 * US, "ns")


@pytest.mark.parametrize(("percent", "found"), [(20.0, True), (19.9, False)])
def test_the_link_is_busy_from_20_percent(percent: float, *, found: bool) -> None:
    assert (LINK in charges(sampled({500: percent}))) is found


def test_other_metrics_are_no_link_traffic() -> None:
    assert charges(sampled({500: 60.0}, metric="SM Active")) == {}


@pytest.mark.parametrize("name", ["copy", "ncclDevKernel_AllReduce"])
def test_traffic_within_a_period_of_a_copy_or_a_collective_is_theirs(name: str) -> None:
    build = sampled({300: 60.0, 800: 60.0})
    if name == "copy":
        build.copy(300, 350, stream=8)
    else:
        build.kernel(300, 350, name=name, stream=8)
    assert charges(build)[LINK] == 100


def test_a_copy_of_another_device_hides_nothing() -> None:
    build = sampled({300: 60.0}, devices=(0, 1))
    build.copy(300, 350, stream=8, device=1)
    assert [device.ledger.get(LINK, 0) for device in analysis(build).devices] == [100 * US, 0]
