"""The waits table: filters, order and pages over every charge."""

from __future__ import annotations

import pytest
from lane_samples import burst_build, examined, lanes_of

from stallscope.views.charge_query import ChargeQuery, ChargeRows, Condition, conditions_of, parse_query


@pytest.fixture(scope="module")
def rows() -> ChargeRows:
    return ChargeRows(lanes_of(burst_build()))


def durations(rows: ChargeRows, query: ChargeQuery) -> list[float]:
    return [entry["duration_us"] for entry in rows.page(rows.matching(query))]


def test_totals_are_the_ledgers_without_work(rows: ChargeRows) -> None:
    ledger = examined(burst_build()).analysis.devices[0].ledger
    expected = {wait: ns for wait, ns in ledger.items() if ns and not wait.startswith("ok.")}
    assert {total.wait: total.total_ns for total in rows.totals()} == expected
    assert [t.total_ns for t in rows.totals()] == sorted(expected.values(), reverse=True)


def test_without_words_every_wait_comes_longest_first(rows: ChargeRows) -> None:
    found = durations(rows, ChargeQuery())
    assert len(found) == sum(total.count for total in rows.totals())
    assert found == sorted(found, reverse=True)


def test_a_wait_id_and_its_first_part_filter(rows: ChargeRows) -> None:
    counts = {total.wait: total.count for total in rows.totals()}
    assert len(rows.matching(ChargeQuery(wait="launch.gap"))) == counts["launch.gap"]
    launch = sum(count for wait, count in counts.items() if wait.startswith("launch."))
    assert len(rows.matching(ChargeQuery(wait="launch"))) == launch
    assert len(rows.matching(ChargeQuery(wait="ok.compute"))) > 0


def test_a_window_keeps_what_touches_it(rows: ChargeRows) -> None:
    found = rows.page(rows.matching(ChargeQuery(low_ns=1_000_000, high_ns=2_000_000)))
    assert found
    assert all(high > 1_000_000 and low < 2_000_000 for low, high in (entry["span"] for entry in found))


@pytest.mark.parametrize(
    ("condition", "test"),
    [
        (Condition("duration_us", "greaterThan", "100"), lambda e: e["duration_us"] > 100),
        (Condition("duration_us", "lessThan", "100"), lambda e: e["duration_us"] < 100),
        (Condition("after", "contains", "ELEMENTWISE"), lambda e: "elementwise" in e["after"]),
        (Condition("after", "notContains", "elementwise"), lambda e: "elementwise" not in e["after"]),
        (Condition("nvtx", "equals", "step / layer"), lambda e: e["nvtx"] == "step / layer"),
        (Condition("call", "startsWith", "cudaLaunch"), lambda e: e["call"].startswith("cudaLaunch")),
    ],
)
def test_each_condition_keeps_exactly_what_it_says(rows: ChargeRows, condition: Condition, test: object) -> None:
    everything = rows.page(rows.matching(ChargeQuery()))
    kept = {entry["id"] for entry in rows.page(rows.matching(ChargeQuery(conditions=(condition,))))}
    assert kept == {entry["id"] for entry in everything if test(entry)}  # type: ignore[operator]
    assert 0 < len(kept) < len(everything)


@pytest.mark.parametrize("column", ["wait", "duration_us", "start_ms", "after", "nvtx", "thread"])
@pytest.mark.parametrize("descending", [False, True])
def test_any_column_sorts_both_ways(rows: ChargeRows, column: str, descending: bool) -> None:  # noqa: FBT001
    values = [e[column] for e in rows.page(rows.matching(ChargeQuery(sort=(column, descending))))]
    assert values == sorted(values, reverse=descending)


def test_free_text_searches_every_text_column(rows: ChargeRows) -> None:
    assert len(rows.matching(ChargeQuery(text="cudaLaunchKernel"))) > 0
    assert len(rows.matching(ChargeQuery(text="no such text"))) == 0


def test_a_row_knows_its_place_on_the_timeline(rows: ChargeRows) -> None:
    entry = rows.page(rows.matching(ChargeQuery(wait="launch.gap")))[0]
    key, _, index = entry["place"].rpartition(":")
    lane = rows.table.lanes[rows.table.positions[key]]
    at = lane.first + int(index)
    assert [int(rows.table.intervals.start_ns[at]), int(rows.table.intervals.end_ns[at])] == entry["span"]


def test_words_of_a_url_make_the_query() -> None:
    query = parse_query({"wait": "launch.gap", "from": "5", "to": "x", "sort": "start_ms:asc", "q": "k"})
    assert query == ChargeQuery(wait="launch.gap", text="k", low_ns=5, sort=("start_ms", False))
    assert parse_query({"sort": "; drop table:desc"}) == ChargeQuery()


def test_only_known_conditions_of_a_grid_are_taken() -> None:
    model = {
        "wait": {"filterType": "text", "type": "contains", "filter": "sync"},
        "duration_us": {"filterType": "number", "type": "greaterThan", "filter": 12.5},
        "start_ms": {"filterType": "number", "type": "greaterThan", "filter": "many"},
        "evil": {"type": "contains", "filter": "x"},
        "nvtx": "no model",
    }
    assert conditions_of(model) == (
        Condition("wait", "contains", "sync"),
        Condition("duration_us", "greaterThan", "12.5"),
    )
