"""Every metric name the rules use exists on a chip; where a chip lacks a quantity, that is written down here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stallscope.kernels import metrics as m
from stallscope.kernels.metrics import Quantity
from stallscope.kernels.readings import REASONS

DATA = Path(__file__).parent / "data"
QUANTITIES = tuple(value for value in vars(m).values() if isinstance(value, Quantity))
ROLLUP = re.compile(r"\.(?:avg|sum|max|min|ratio|pct)(?:\..*)?$")
OF_NCU = ("launch__", "derived__", "sass__", "memory_", "profiler__", "device__", "smsp__pcsamp", "sm__maximum_warps")
LACKING = {
    "gv100": {"FMA heavy pipe", "asynchronous copies"},
    "tu102": {"FMA heavy pipe", "asynchronous copies"},
    "ga100": {"FMA heavy pipe"},
    "ga102": set(),
    "ad102": set(),
    "gh100": set(),
}
LACKING_IN_REPORT = {
    "gh100": set(),
    "gb100": {"fence requests at L2"},
    "ga102": {
        *("least active cycles of an SM", "most active cycles of an SM", "active cycles of an L2 slice"),
        *("most active cycles of an L2 slice", "register spills", "fence requests at L2"),
    },
}
"""gb100 and ga102 were profiled without the metric; ga102's ncu had no spill counters and printed no minima."""


def known(name: str) -> set[str]:
    """A committed list."""
    return set((DATA / f"metrics.{name}.txt").read_text().split())


@pytest.mark.parametrize("chip", LACKING)
def test_every_quantity_has_a_metric_on_the_chip(chip: str) -> None:
    names = known(chip)
    lacking = {
        quantity.name
        for quantity in QUANTITIES
        if not any(ROLLUP.sub("", one) in names or one.startswith(OF_NCU) for one in quantity.metrics)
    }
    assert lacking == LACKING[chip]


@pytest.mark.parametrize("chip", LACKING_IN_REPORT)
def test_every_quantity_is_in_a_full_report_of_the_chip(chip: str) -> None:
    names = known(f"{chip}.report")
    lacking = {quantity.name for quantity in QUANTITIES if not any(one in names for one in quantity.metrics)}
    assert lacking == LACKING_IN_REPORT[chip]


def test_no_name_is_misspelt() -> None:
    names = {name for path in DATA.glob("metrics.*.txt") for name in path.read_text().split()}
    unknown = {one for quantity in QUANTITIES for one in quantity.metrics if not names & {one, ROLLUP.sub("", one)}}
    assert unknown == set()


def test_every_stall_reason_is_counted_on_hopper() -> None:
    names = known("gh100.report")
    assert {reason for reason in REASONS if m.STALL_METRIC.format(reason=reason) not in names} == set()


def test_what_to_collect_is_a_flag_of_ncu() -> None:
    assert m.DRAM.collect == "--section SpeedOfLight"
    assert m.MEMBAR_REQUESTS.collect == "--metrics lts__t_requests_op_membar.sum"
    assert all(re.fullmatch(r"--(section|metrics) \S+", quantity.collect) for quantity in QUANTITIES)
