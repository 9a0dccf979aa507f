"""Whole numbers in few bytes come back as they were."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.model.packing import Narrow, Sparse, narrowest, packed

mostly_zero = st.lists(st.one_of(st.just(0), st.just(0), st.just(0), st.integers(-(2**62), 2**62)), max_size=30)


@given(mostly_zero, st.randoms(use_true_random=False), st.integers(0, 30), st.integers(0, 30))
def test_all_numbers_some_rows_and_a_slice(numbers: list[int], random: Random, low: int, high: int) -> None:
    values = np.array(numbers, np.int64)
    found = packed(values)
    assert found().tolist() == numbers
    rows = [random.randrange(len(numbers)) for _ in range(5)] if numbers else []
    assert found.at(np.array(rows, np.int64)).tolist() == [numbers[row] for row in rows]
    assert found.at(np.array(rows, np.int32)).tolist() == [numbers[row] for row in rows]
    assert found.at(slice(low, high)).tolist() == numbers[low:high]


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-128, 127, np.int8),
        (0, 128, np.int16),
        (-129, 0, np.int16),
        (0, 32_768, np.int32),
        (0, 2**31 - 1, np.int32),
        (0, 2**31, np.int64),
        (-(2**31) - 1, 0, np.int64),
    ],
)
def test_no_wider_than_the_numbers_need(low: int, high: int, dtype: type[np.generic]) -> None:
    found = packed(np.array([low or 1, high or 1, low, high], np.int64))
    assert found.values.dtype == dtype == narrowest(low, high)
    assert found().tolist() == [low or 1, high or 1, low, high]


def test_numbers_that_are_mostly_0_are_kept_as_the_others_and_their_places() -> None:
    values = np.zeros(1000, np.int64)
    values[[10, 500]] = 2**40
    found = packed(values)
    assert isinstance(found, Sparse)
    assert found.values.nbytes + found.places.nbytes == 2 * (8 + 4)
    assert isinstance(packed(np.arange(1000)), Narrow)


def test_nothing_but_0_takes_no_memory() -> None:
    found = packed(np.zeros(1000, np.int32))
    assert isinstance(found, Sparse)
    assert found.values.nbytes == found.places.nbytes == 0
    assert found.at(np.array([3, 4])).tolist() == [0, 0]
