"""Claims on the idle time that some host calls cause, and the evidence such rules share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from stallscope.model.events import ApiCalls
from stallscope.timeline.calls import CallKind
from stallscope.timeline.intervals import is_one_of
from stallscope.timeline.rows import RowArray
from stallscope.waits.base import Claims, Detection, Fact, View
from stallscope.waits.claims import claim_gaps


def claim_blocked(view: View, *kinds: CallKind) -> Claims:
    """The idle time that calls of these kinds cause (see `stallscope.timeline.blocking`)."""
    return _claims(view, is_one_of(view.calls.kind[view.blocked.call], kinds))


def claim_blocked_by(view: View, wanted: npt.NDArray[np.bool_]) -> Claims:
    """The same for the flagged rows of `HostCalls`."""
    return _claims(view, wanted[view.blocked.call])


def _claims(view: View, wanted: npt.NDArray[np.bool_]) -> Claims:
    part = view.blocked.take(wanted)
    return claim_gaps(view, part.gap, part.start_ns, part.end_ns, part.call)


def blocked_detection(view: View, claims: Claims, what: str, assumes: str) -> Detection | None:
    """The finding of a rule that blames nothing but the calls of these claims; None where there is no claim."""
    if not len(claims):
        return None
    return Detection(claims=claims, level="supported", assumes=assumes, facts=call_facts(view, claims, what))


def call_facts(view: View, claims: Claims, what: str) -> Callable[[RowArray], tuple[Fact, ...]]:
    """How many calls, how long they took, and under how many of them the device drained."""
    return partial(_call_facts, view, claims, what)


def _call_facts(view: View, claims: Claims, what: str, rows: RowArray) -> tuple[Fact, ...]:
    calls, call = view.calls, claims.at(Claims.call, rows)
    blamed = np.unique(call)
    drained = np.unique(call[calls.start_ns[call] < claims.at(Claims.start_ns, rows)])
    return (
        Fact(f"{what} that leave the device idle", len(blamed), "count", ApiCalls),
        Fact("host time in these calls", int((calls.end_ns[blamed] - calls.start_ns[blamed]).sum()), "ns", ApiCalls),
        Fact("of them calls under which the device drained", len(drained), "count", ApiCalls),
    )
