"""What the rules about host synchronization share: the idle time behind one kind of wait."""

from __future__ import annotations

from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, View
from stallscope.waits.blocking import blocked_detection, claim_blocked_by
from stallscope.waits.readbacks import scalar_calls

ASSUMES = "the host no longer waits here and prepares the next launches while the device works"


def sync_detection(view: View, kind: CallKind, what: str) -> Detection | None:
    """Claim the idle time inside and behind the waits of one kind, except those for a scalar."""
    wanted = view.calls.kind == kind
    wanted[scalar_calls(view)] = False
    return blocked_detection(view, claim_blocked_by(view, wanted), f"{what} calls", ASSUMES)
