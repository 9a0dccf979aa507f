"""Edges of the dependency model as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from stallscope.timeline.intervals import Int64Array


class EdgeKind(IntEnum):
    """Why the later node could not go before the earlier one."""

    HOST = 0
    STREAM = 1
    EVENT = 2
    LEGACY_STREAM = 3
    GRAPH = 4
    SYNC = 5


@dataclass(frozen=True, slots=True)
class Edges:
    """`before` must have ended `lag_ns` ago when `after` starts (an operation) or ends (a wait)."""

    before: Int64Array
    after: Int64Array
    lag_ns: Int64Array
    kind: npt.NDArray[np.int8]

    @classmethod
    def of(cls, before: Int64Array, after: Int64Array, lag_ns: Int64Array, kind: EdgeKind) -> Edges:
        """Edges of one kind."""
        return cls(before, after, lag_ns, np.full(len(before), kind, np.int8))

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | Int64Array) -> Edges:
        """The given edges."""
        return Edges(self.before[rows], self.after[rows], self.lag_ns[rows], self.kind[rows])

    def __len__(self) -> int:
        return len(self.before)


def join(parts: Sequence[Edges]) -> Edges:
    """All edges of the parts."""
    return Edges(
        np.concatenate([p.before for p in parts]),
        np.concatenate([p.after for p in parts]),
        np.concatenate([p.lag_ns for p in parts]),
        np.concatenate([p.kind for p in parts]),
    )
