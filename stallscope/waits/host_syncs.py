"""What the rules about host synchronization share: the idle time behind one kind of wait."""

from __future__ import annotations

import numpy as np

from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, View
from stallscope.waits.blocking import blocked, call_facts, calls_of
from stallscope.waits.readbacks import scalar_calls

ASSUMES = "the host no longer waits here and prepares the next launches while the device works"


def sync_detection(view: View, kind: CallKind, what: str) -> Detection | None:
    """Claim the idle time inside and behind the waits of one kind, except those for a scalar."""
    claims = blocked(view, np.setdiff1d(calls_of(view, kind), scalar_calls(view)))
    if not len(claims):
        return None
    return Detection(claims=claims, level="supported", assumes=ASSUMES, facts=call_facts(view, claims, f"{what} calls"))
