"""How long columns are made and kept: several at once, and in few bytes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_LONG = 1_000_000


def at_once(rows: int, *columns: Callable[[], Array]) -> list[Array]:
    """The columns that the functions make, two at a time where they are long."""
    if rows < _LONG:
        return [make() for make in columns]
    with ThreadPoolExecutor(2) as pool:
        return [made.result() for made in [pool.submit(make) for make in columns]]


def narrow(values: Array) -> Array:
    """The values in as few bytes as they need; a table that is asked for them widens them to its own dtype."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    smaller = (np.iinfo(dtype) for dtype in (np.int8, np.int16, np.int32))
    fitting = (info.dtype for info in smaller if info.min <= low and high <= info.max)
    return values.astype(next(fitting, values.dtype), copy=False)
