"""Parts of a trace: ranges, NVTX names, devices."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder

from stallscope.api import analyze_trace
from stallscope.errors import UsageError
from stallscope.model.scope import Scope


def two_phases() -> TraceBuilder:
    build = TraceBuilder(devices=2)
    for t in (0, 1_000):
        build.launch(t, t + 5, correlation=t + 1)
        build.kernel(t + 10, t + 110, correlation=t + 1)
    build.kernel(0, 50, device=1)
    build.nvtx("warm-up", 0, 400)
    build.nvtx("serve", 900, 1_200)
    return build


def test_an_nvtx_name_restricts_the_window_to_its_ranges() -> None:
    found = analyze_trace(two_phases().trace(), Scope(nvtx="serve"))
    assert [(d.device, d.window_ns, d.busy_ns) for d in found.devices] == [("GPU 0", 210 * US, 100 * US)]


def test_a_time_range_cuts_the_window() -> None:
    found = analyze_trace(two_phases().trace(), Scope(range_ns=(60 * US, 210 * US)))
    assert [(d.device, d.window_ns, d.busy_ns) for d in found.devices] == [("GPU 0", 150 * US, 50 * US)]


def test_a_device_leaves_the_others_out() -> None:
    assert [d.device for d in analyze_trace(two_phases().trace(), Scope(device=1)).devices] == ["GPU 1"]


@pytest.mark.parametrize(
    ("scope", "message", "offer"),
    [
        (Scope(nvtx="train"), "train", "serve"),
        (Scope(device=5), "device 5", "0, 1"),
        (Scope(range_ns=(5_000 * US, 6_000 * US)), "no device operation", "1110000ns"),
    ],
)
def test_a_part_that_does_not_exist_is_an_error_that_offers_what_does(scope: Scope, message: str, offer: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        analyze_trace(two_phases().trace(), scope)
    assert offer in str(error.value.next_step)
