"""Long columns: kept in as few bytes as they need, made in the order they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from stallscope.ingest import packing
from stallscope.ingest.packing import at_once, narrow


def test_few_bytes_keep_the_values_of_a_column() -> None:
    bounds = {(-128, 127): np.int8, (0, 128): np.int16, (-32769, 5): np.int32, (0, 2**31): np.int64}
    for (low, high), dtype in {**bounds, (-(2**31) - 1, 0): np.int64}.items():
        values = np.array([low, high, 0], np.int64)
        assert narrow(values).dtype == dtype
        assert narrow(values).tolist() == values.tolist()
    assert narrow(np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("long", [0, 10])
def test_columns_come_in_the_order_of_their_functions(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_LONG", long)
    found = at_once(5, *(lambda k=k: np.full(2, k) for k in range(4)))
    assert [column.tolist() for column in found] == [[k, k] for k in range(4)]
