"""Work that was ready while its device was busy with something else: what the rules about such waits share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Table
from stallscope.model.findings import EvidenceLevel
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Detection, Fact, View
from stallscope.waits.claims import claim_operations

FOLLOWS_NS = 5_000
"""Held work starts this soon after what held it ends."""
MIN_WAIT_NS = 5_000
UNCHARGED = "This wait lies behind a busy device: it is not part of the ledger."


@dataclass(frozen=True, slots=True)
class Behind:
    """How such a wait is told: `counted` says what was held and where it is found, `table` holds the held rows."""

    level: EvidenceLevel
    assumes: str
    counted: Fact
    table: type[Table]
    facts: tuple[Fact, ...] = ()
    caveats: tuple[str, ...] = ()


def behind_detection(view: View, held: Int64Array, ready: Int64Array, behind: Behind) -> Detection:
    """Claim the time from ready to start of the held operations."""
    whole = claim_operations(view, held)
    waited = float(np.median(whole.start_ns - ready))
    return Detection(
        claims=whole.between(ready, whole.start_ns),
        level=behind.level,
        assumes=behind.assumes,
        low_ratio=0.0,
        facts=(behind.counted, Fact("median wait from ready to start", waited, "ns", behind.table), *behind.facts),
        caveats=(UNCHARGED, *behind.caveats),
    )


def follows(view: View, front: Int64Array, row: Int64Array) -> npt.NDArray[np.bool_]:
    """Whether each operation starts on the device of the one in front, as soon as that ends."""
    operations = view.operations
    pause = operations.start_ns[row] - operations.end_ns[front]
    return np.asarray((operations.device[front] == operations.device[row]) & (pause >= 0) & (pause <= FOLLOWS_NS))


def stream_ready_ns(view: View, row: Int64Array) -> Int64Array:
    """When each launched operation was submitted and what lay before it in its stream had ended."""
    elder = view.stream_order.predecessor[row]
    free = np.where(elder == NO_ROW, 0, view.operations.end_ns[elder])
    return np.maximum(view.calls.end_ns[view.launch[row]], free)
