"""Loading of GPU code: the idle time under its calls and overhead records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.events import OverheadKind, Overheads
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Claims, Detection, View
from stallscope.waits.blocking import call_facts, claim_blocked_by
from stallscope.waits.hostspans import claim_inside


def loading_detection(
    view: View, wanted: npt.NDArray[np.bool_], records: tuple[OverheadKind, ...], what: str, assumes: str
) -> Detection | None:
    """Claim the idle time under the wanted calls and under the driver's own records of these kinds."""
    claims = claim_blocked_by(view, wanted)
    overheads = view.find(Overheads)
    if overheads is not None:
        found = overheads.take(overhead_rows(view, *records))
        claims = Claims.joined((claims, claim_inside(view, found, found.thread)))
    if not len(claims):
        return None
    facts = call_facts(view, claims, what)
    return Detection(claims=claims, level="supported", assumes=assumes, low_ratio=0.8, facts=facts)


def overhead_rows(view: View, *kinds: OverheadKind) -> Int64Array:
    """Rows of the overhead records of these kinds; none when the table was not collected."""
    overheads = view.find(Overheads)
    if overheads is None:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.isin(overheads.kind, kinds))
