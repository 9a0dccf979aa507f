"""One interval in words: facts, links, and a sentence that says only what the trace shows."""

from __future__ import annotations

import pytest
from build import TraceBuilder
from lane_samples import HOSTILE, burst_build, lanes_of

from stallscope.views.interval_detail import IntervalDetail, interval_detail
from stallscope.views.lanes import NOWHERE, LaneTable
from stallscope.views.range_account import range_account
from stallscope.views.wayfinding import longest_inside, next_occurrence, next_wait, search


@pytest.fixture(scope="module")
def table() -> LaneTable:
    return lanes_of(burst_build())


def detail(table: LaneTable, key: str, index: int) -> IntervalDetail:
    found = interval_detail(table, table.positions[key], index)
    assert found is not None
    return found


def facts(found: IntervalDetail) -> dict[str, str]:
    return {fact.label: fact.value for fact in found.facts}


def test_a_kernel_tells_its_launch(table: LaneTable) -> None:
    found = detail(table, "gpu0/p0c1s7", 0)
    assert found.title == "vectorized_elementwise_kernel"
    assert (found.low_ns, found.high_ns) == (28_000, 48_000)
    assert facts(found)["grid × block"] == "(1000, 1, 1) × (256, 1, 1)"
    assert facts(found)["kernel"] == "void at::native::vectorized_elementwise_kernel<4>(int)"
    (link,) = found.links
    assert (link.role, link.cause, link.title, link.low_ns) == ("launched by", True, "cudaLaunchKernel", 20_000)


def test_a_call_leads_to_what_it_launched(table: LaneTable) -> None:
    (link,) = detail(table, "t0/api", 0).links
    assert (link.role, link.cause, link.title) == ("launched", False, "vectorized_elementwise_kernel")


def test_a_copy_tells_its_size_and_rate(table: LaneTable) -> None:
    found = facts(detail(table, "gpu0/copies2", 0))
    assert found["size"] == "1.00 MiB"
    assert found["rate"] == "35.0 GB/s"
    assert found["memory"] == "pinned → device"


def test_a_wait_tells_gap_launch_and_host(table: LaneTable) -> None:
    charges = table.charges
    row = next(i for i in range(len(charges)) if charges.waits[charges.wait[i]] == "launch.gap")
    at = int(charges.at[row])
    lane = table.lane_of(at)
    assert lane is not None
    found = interval_detail(table, lane, at - table.lanes[lane].first)
    assert found is not None
    assert found.wait == "launch.gap"
    assert found.sentence == (
        "GPU 0 had nothing to run for 30.0 µs. cudaLaunchKernel on thread 1 began 22.0 µs into it; before that the "
        "thread was up to 22.0 µs outside any API call."
    )
    assert [link.role for link in found.links] == ["ended by the launch", "operation before", "operation after"]
    assert facts(found)["NVTX"] == "step / layer"


def test_work_that_was_queued_is_not_blamed_on_the_host() -> None:
    build = TraceBuilder()
    build.launch(0, 2, correlation=1)
    build.launch(3, 5, correlation=2)
    build.kernel(10, 20, correlation=1)
    build.kernel(23, 33, correlation=2)
    table = lanes_of(build)
    row = next(i for i in range(len(table.charges)) if table.charges.before[i] != NOWHERE)
    found = interval_detail(table, 0, row)
    assert found is not None
    assert found.sentence.endswith("cudaLaunchKernel on thread 1 had queued the next operation before the gap began.")


def test_without_a_launch_the_sentence_says_so() -> None:
    build = TraceBuilder()
    build.kernel(10, 20)
    build.kernel(60, 70)
    found = interval_detail(lanes_of(build), 0, 1)
    assert found is not None
    assert found.sentence.endswith("The trace does not tell which call launched what ended the gap.")


@pytest.mark.parametrize(("lane", "index"), [(-1, 0), (99, 0), (0, -1), (0, 10**6)])
def test_what_is_not_there_is_none(table: LaneTable, lane: int, index: int) -> None:
    assert interval_detail(table, lane, index) is None


def test_hostile_names_are_printable_everywhere() -> None:
    found = detail(lanes_of(burst_build(steps=1, kernel=HOSTILE)), "gpu0/p0c1s7", 0)
    text = found.title + "".join(fact.value for fact in found.facts)
    assert "\u202e" not in text
    assert "\x07" not in text


def test_next_wait_walks_forward_and_back(table: LaneTable) -> None:
    first = next_wait(table, "launch.gap", -1, forward=True)
    assert first is not None
    start = int(table.intervals.start_ns[table.lanes[first[0]].first + first[1]])
    second = next_wait(table, "launch.gap", start, forward=True)
    assert second is not None
    assert second != first
    later = int(table.intervals.start_ns[table.lanes[second[0]].first + second[1]])
    assert next_wait(table, "launch.gap", later, forward=False) == first
    assert next_wait(table, "launch.gap", start, forward=False) is None
    assert next_wait(table, "no.such", -1, forward=True) is None


def test_search_counts_and_finds_occurrences(table: LaneTable) -> None:
    (found,) = search(table, "STREAMSYNC")
    assert (found.text, found.count, found.total_ns) == ("cudaStreamSynchronize", 4, 4 * 39_000)
    place = next_occurrence(table, found.name, 1_000_000, forward=True)
    assert place is not None
    assert table.intervals.start_ns[table.lanes[place[0]].first + place[1]] == 1_726_000
    assert search(table, "") == ()
    assert search(table, "zzz") == ()


def test_the_longest_interval_of_a_column(table: LaneTable) -> None:
    lane = table.positions["t0/nvtx"]
    assert longest_inside(table, lane, 0, 3_000_000) == (lane, 0)
    assert longest_inside(table, lane, 960_000, 990_000) is None


def test_the_account_of_a_range_is_the_part_of_the_ledger_in_it(table: LaneTable) -> None:
    low, high = 500_000, 1_500_000
    (account,) = range_account(table, low, high)
    assert account.group == "GPU 0"
    assert sum(entry.time_ns for entry in account.times) == high - low
    assert [e.time_ns for e in account.times] == sorted((e.time_ns for e in account.times), reverse=True)
