"""Rows chosen from columns: the compiled loops and numpy give the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.ingest import export_codes
from stallscope.ingest.export_codes import NO_CODE, Codes, Column, paired, renumber
from stallscope.ingest.export_rows import Rows

TYPES = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.float64)
CODE_TYPES = (np.int8, np.int16, np.int32)
NAMES = ("a", "b", "c")
chosen = st.lists(st.integers(0, 5), max_size=10)


@pytest.fixture(params=["compiled", "pure"], autouse=True)
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(export_codes, "library", lambda: None)


def rows_of(column: Column, places: list[int] | None) -> Rows:
    rows = Rows({"column": column}, len(column.values))
    return rows if places is None else rows.taken(np.array(places, np.intp))


@pytest.mark.parametrize("dtype", TYPES)
def test_values_of_every_width_in_rows_of_any_order(dtype: type[np.generic]) -> None:
    values = np.array([0, 1, 0, 1, 1, 0]).astype(dtype)
    rows = rows_of(Column(values), [4, 0, 5, 4])
    assert rows.values("column").tolist() == values[[4, 0, 5, 4]].tolist()
    assert rows.values("column").dtype == dtype
    if dtype is not np.float64:
        assert rows.packed("column")().tolist() == values[[4, 0, 5, 4]].tolist()


@pytest.mark.parametrize("loops", ["compiled", "pure"], indirect=True)
@given(first=chosen, then=st.lists(st.integers(0, 9), max_size=8))
def test_rows_of_rows(first: list[int], then: list[int]) -> None:
    values, then = np.arange(10, 16), [place for place in then if place < len(first)]
    rows = rows_of(Column(values), first).taken(np.array(then, np.intp))
    assert rows.values("column").tolist() == [values[first[place]] for place in then]


@pytest.mark.parametrize("dtype", CODE_TYPES)
@pytest.mark.parametrize("places", [None, [3, 3, 0]])
@pytest.mark.parametrize("into", [np.int8, np.int16, np.int32, np.int64])
def test_codes_of_every_width_and_rows_without_one(
    dtype: type[np.generic], places: list[int] | None, into: type[np.generic]
) -> None:
    codes = Codes(np.array([0, NO_CODE, 2, 1], dtype), NAMES, None if places is None else np.array(places, np.int32))
    found = codes.mapped([10, 11, 12], -5, into)
    assert found.dtype == into
    assert found.tolist() == ([10, -5, 12, 11] if places is None else [11, 11, 10])


@pytest.mark.parametrize(("highest", "dtype"), [(12, np.int8), (300, np.int16), (70_000, np.int32)])
def test_new_values_of_codes_in_as_few_bytes_as_they_need(highest: int, dtype: type[np.generic]) -> None:
    found = Codes(np.array([0, NO_CODE, 2, 1], np.int32), NAMES).packed([10, 11, highest], -5)
    assert found.values.dtype == dtype
    assert found().tolist() == [10, -5, highest, 11]


@given(codes=st.lists(st.integers(-1, 4), max_size=30), places=st.none() | st.lists(st.integers(0, 29), max_size=9))
def test_codes_in_the_order_in_which_they_are_met(codes: list[int], places: list[int] | None) -> None:
    index = None if places is None else np.array([p for p in places if p < len(codes)], np.int32)
    found = Codes(np.array(codes, np.int32), range(5), index)
    rows = codes if index is None else [codes[place] for place in index.tolist()]
    assert found.in_order() == [code for code in dict.fromkeys(rows) if code != NO_CODE]
    assert np.flatnonzero(found.used()).tolist() == sorted({*rows} - {NO_CODE})


def test_pairs_of_codes_stand_for_pairs_of_values() -> None:
    left = Codes(np.array([0, 1, 1], np.int32), "xy", np.array([2, 0, 1], np.int32))
    right = Codes(np.array([2, 0, 1], np.int32), NAMES)
    pairs = paired(left, right)
    assert [pairs.distinct[code] for code in pairs.codes] == [("y", "c"), ("x", "a"), ("y", "b")]


def test_codes_get_their_new_numbers_in_place() -> None:
    codes = np.array([0, NO_CODE, 2, 1], np.int32)
    renumber(codes[1:], [5, 6, 7])
    assert codes.tolist() == [0, NO_CODE, 7, 6]


def test_packed_codes_are_the_numbers_they_stand_for() -> None:
    column = Column(np.array([1, 0, NO_CODE, 1], np.int32), distinct=(70_000, 5))
    assert rows_of(column, None).packed("column")().tolist() == [5, 70_000, 0, 5]
    assert rows_of(column, [2, 1]).packed("column")().tolist() == [0, 70_000]


def test_packed_columns_hold_no_other_column() -> None:
    columns = {"wanted": Column(np.zeros(8, np.int64)), "other": Column(np.arange(8))}
    make = Rows(columns, 8).taken(np.arange(8)[::-1]).packed("wanted")
    held = [cell.cell_contents for cell in make.__closure__ or ()]  # type: ignore[attr-defined]
    assert not any(isinstance(one, Rows) for one in held)
    assert make().tolist() == [0] * 8


def test_rows_sorted_by_a_column_stay_as_they_were_where_it_is_equal() -> None:
    rows = Rows({"key": Column(np.array([2, 1, 2, 1])), "place": Column(np.arange(4))}, 4).sorted_by("key")
    assert rows.values("place").tolist() == [1, 3, 0, 2]


def test_rows_grouped_by_the_rank_of_their_code() -> None:
    keys = Column(np.array([0, 1, 0, 1], np.int32), distinct=("x", "y"))
    rows = Rows({"key": keys, "place": Column(np.arange(4))}, 4)
    assert rows.grouped_by("key", [1, 0]).values("place").tolist() == [1, 3, 0, 2]
    assert rows.taken(np.array([3, 2, 0])).grouped_by("key", [0, 1]).values("place").tolist() == [2, 0, 3]
