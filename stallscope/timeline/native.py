"""The compiled loops of `sweeps.c`, where they were built."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope import compiled

_P, _I64, _I32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
_SPANS = (_P, _P, _I64)
_THREAD_SPANS = (_P, _P, _P, _I64, _I32)
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "positions": (None, (_P, _I64, _P, _I64, ctypes.c_int, _P)),
    "union": (_I64, (*_SPANS, _P, _P)),
    "covered": (ctypes.c_int, (*_SPANS, *_SPANS, _P)),
    "order": (ctypes.c_int, (_P, *_SPANS, _I32, ctypes.c_int, _P)),
    "in_order": (ctypes.c_int, (_P, *_SPANS, ctypes.c_int)),
    "outermost": (None, (_P, *_SPANS, _P)),
    "gaps": (_I64, (_P, *_SPANS, _P, _P)),
    "overlaps": (ctypes.c_int, (*_THREAD_SPANS, _P, *_SPANS, _P, _P)),
    "stretches": (ctypes.c_int, (*_THREAD_SPANS, _P, *_SPANS, _P)),
    "claim": (None, (*_SPANS, *_SPANS, _P, _P, _P, _P, _P, _P)),
    "launches": (ctypes.c_int, (_P, _P, _I64, _P, _P, _I64, _I32, _I64, _P)),
    "nesting": (None, (*_SPANS, _P, _P)),
    "innermost": (ctypes.c_int, (_P, _P, _P, _P, _I64, _I32, _P, *_SPANS[1:], _P)),
    "picked": (ctypes.c_int, (_P, _I32, _I64, _P, _I64, _P)),
    "groups": (_I64, (_P, _P, _I32, _I64, _I64, _P, _P)),
}


class Sweeps:
    """Calls a function of the library with arrays in place of pointers; they must be contiguous and of its dtypes."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._functions = {}
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, f"stallscope_{name}")
            function.restype, function.argtypes = result, arguments
            self._functions[name] = function

    def __call__(self, name: str, *arguments: npt.NDArray[Any] | int) -> int:
        """Run it; raises MemoryError when it had none left."""
        result = self._functions[name](*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments))
        if result == NO_MEMORY:
            raise MemoryError(name)
        return int(result or 0)


NO_MEMORY = -1
UNSORTED = -2
"""The rows are not in the order in which the loop needs them."""
TOO_MANY = -3
"""There are more groups than asked for."""
TOO_WIDE = -4
"""A row of the key columns does not fit into 64 bits."""
OUTSIDE = -5
"""A row is asked for that the column does not have."""


@cache
def sweeps() -> Sweeps | None:
    """The compiled loops, or None where they were not built or are switched off (STALLSCOPE_PURE)."""
    library = compiled.load(Path(__file__).parent, "_sweeps")
    return None if library is None else Sweeps(library)


def words(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Contiguous int64, as the loops read times and rows."""
    return np.ascontiguousarray(values, np.int64)


def halves(values: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Contiguous int32, as the loops read threads and devices."""
    return np.ascontiguousarray(values, np.int32)
