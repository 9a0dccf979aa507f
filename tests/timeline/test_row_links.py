"""Columns that another table's columns are made into when somebody asks."""

from __future__ import annotations

import numpy as np
import pytest

from stallscope.model.columns import Column, Table
from stallscope.timeline import rows as links
from stallscope.timeline.rows import Found, Picked, Reordered, picked, take_over


class Named(Table):
    name = Column(np.int32, "a number")


@pytest.fixture(params=["compiled", "pure"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(links, "sweeps", lambda: None)


@pytest.mark.usefixtures("loops")
def test_what_another_column_holds_in_the_rows_pointed_to() -> None:
    column = Picked(np.array([10, 20, 30], np.int64), np.array([2, 2, 0], np.int32))
    assert column().tolist() == [30, 30, 10]
    assert column.at(np.array([2, 1])).tolist() == [10, 30]
    assert column.at(slice(1, None)).tolist() == [30, 10]


@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize("row", [-1, 3])
def test_rows_that_do_not_exist_are_no_rows(row: int) -> None:
    with pytest.raises(IndexError):
        picked(np.array([10, 20, 30], np.int64), np.array([row], np.int32))


def test_a_column_that_is_found_anew() -> None:
    column = Found(lambda some: np.array([1, 2, 3])[some] * 10)
    assert column().tolist() == [10, 20, 30]
    assert column.at(np.array([2])).tolist() == [30]


def test_a_column_as_it_was_before_its_rows_were_put_in_order() -> None:
    before, order = np.array([30, 10, 20]), np.array([1, 2, 0], np.int32)
    column = Reordered(before[order], order)
    assert column().tolist() == before.tolist()
    assert column.at(np.array([0, 2])).tolist() == [30, 20]


def test_an_ordered_table_alone_keeps_the_columns() -> None:
    table, order = Named.of(name=[30, 10, 20]), np.array([1, 2, 0], np.int32)
    ordered = table.take(order)
    take_over(table, ordered, order)
    column = table.shared("name")
    assert isinstance(column, Reordered)
    assert column.values is ordered.name
    assert table.name.tolist() == [30, 10, 20]
