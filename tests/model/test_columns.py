"""Tables whose columns are arrays, functions, or numbers in few bytes."""

from __future__ import annotations

import numpy as np
import pytest

from stallscope.model.columns import Column, Packed, Table
from stallscope.model.packing import Narrow, packed


class Pair(Table):
    left = Column(np.int64, "wide")
    right = Column(np.int32, "narrow")


def counted(values: list[int]) -> tuple[list[int], Pair]:
    """A table whose left column says how often it was made."""
    made: list[int] = []

    def make() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        made.append(1)
        return np.array(values, np.int64)

    return made, Pair.lazily(len(values), left=make, right=packed(np.array(values)))


def test_a_column_that_was_read_for_good_is_made_once() -> None:
    made, table = counted([3, 4])
    assert table.left.tolist() == table.left.tolist() == [3, 4]
    assert len(made) == 1


def test_a_column_that_was_looked_at_once_is_not_kept() -> None:
    made, table = counted([3, 4])
    assert table.read("left").tolist() == table.read("left").tolist() == [3, 4]
    assert len(made) == 2


def test_some_rows_of_a_packed_column_have_the_declared_type_and_leave_it_packed() -> None:
    _, table = counted([3, 4, 5])
    some = table.at(Pair.right, np.array([2, 0]))
    assert some.dtype == np.int32
    assert some.tolist() == [5, 3]
    assert table.at(Pair.right, slice(1, None)).tolist() == [4, 5]
    assert isinstance(table.shared("right"), Packed)


def test_some_rows_of_a_column_that_is_no_packed_one() -> None:
    made, table = counted([3, 4, 5])
    assert table.at(Pair.left, np.array([2, 0])).tolist() == [5, 3]
    assert table.at(Pair.left, slice(0, 2)).tolist() == [3, 4]
    assert len(made) == 1


def test_chosen_rows_are_taken_from_a_packed_column_without_making_all_of_it() -> None:
    asked: list[int] = []

    class Watched(Narrow):
        def __call__(self) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
            asked.append(1)
            return self.values

    values = np.array([7, 8, 9], np.int8)
    table = Pair.lazily(3, left=Watched(values), right=values)
    assert table.take(np.array([2, 1])).left.tolist() == [9, 8]
    assert not asked


def test_another_table_of_the_same_rows_shares_what_is_kept() -> None:
    made, table = counted([3, 4])
    other = Pair.lazily(2, **{name: table.shared(name) for name in Pair.COLUMNS})
    assert other.left.tolist() == [3, 4]
    assert other.shared("right") is table.shared("right")
    table.array("left")
    assert table.shared("left") is table.left
    assert len(made) == 2


def test_other_values_in_one_column_leave_the_others_as_they_are_kept() -> None:
    _, table = counted([3, 4])
    changed = table.with_columns(left=np.array([1, 2]))
    assert changed.left.tolist() == [1, 2]
    assert changed.shared("right") is table.shared("right")


def test_a_replaced_column_is_made_by_its_function_from_then_on() -> None:
    table = Pair.of(left=[1, 2], right=[3, 4])
    table.replace_by("left", Narrow(np.array([1, 2], np.int8)))
    assert table.at(Pair.left, np.array([1])).tolist() == [2]
    assert table.left.dtype == np.int64


def test_columns_are_named_in_full() -> None:
    with pytest.raises(TypeError, match="right"):
        Pair.lazily(1, left=np.array([1]))
