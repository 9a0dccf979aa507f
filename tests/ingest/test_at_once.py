"""Long columns: made at the same time, in the order they are asked for."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from stallscope.ingest.at_once import at_once


@pytest.mark.parametrize("long", [0, 10])
def test_columns_come_in_the_order_of_their_functions(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[at_once.__module__], "_LONG", long)
    found = at_once(5, *(lambda k=k: np.full(2, k) for k in range(4)))
    assert [column.tolist() for column in found] == [[k, k] for k in range(4)]
