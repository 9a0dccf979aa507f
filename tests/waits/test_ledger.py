"""The ledger against a nanosecond-by-nanosecond oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stallscope.model.analysis import UNATTRIBUTED
from stallscope.timeline.intervals import IntervalSet, union
from stallscope.timeline.operations import Operations
from stallscope.timeline.windows import DeviceWindow
from stallscope.waits.base import Claims
from stallscope.waits.ledger import PRECEDENCE, Settlement, settle

Pairs = list[tuple[int, int]]
WAITS = ("uvm.fault_gpu", "ok.compute", "alloc.sync", "launch.gap", "third.party")
spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1])), max_size=6)


def claims(pairs: Pairs, device: int = 0) -> Claims:
    starts, ends = (np.array([p[i] for p in pairs], np.int64) for i in (0, 1))
    none = np.full(len(pairs), -1)
    return Claims.of(
        start_ns=starts,
        end_ns=ends,
        device=np.full(len(pairs), device),
        process=none,
        call=none,
        operation=none,
        thread=none,
        time_ns=starts,
    )


def intervals(pairs: Pairs) -> IntervalSet:
    return union(np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int64))


def window(pairs: Pairs, device: int = 0) -> DeviceWindow:
    return DeviceWindow(device, intervals(pairs), 0, 0, Operations.empty())


def settled(inside: Pairs, claimed: dict[str, Pairs]) -> Settlement:
    """Where "ok.compute" is time in which the device works, the others are claims of rules."""
    busy = intervals(claimed["ok.compute"]) if "ok.compute" in claimed else None
    rules = {wait: claims(pairs) for wait, pairs in claimed.items() if wait != "ok.compute"}
    return settle((window(inside),), rules, {} if busy is None else {"ok.compute": lambda _: busy})


def oracle(inside: Pairs, claimed: dict[str, Pairs]) -> dict[str, int]:
    order = sorted(claimed, key=lambda w: PRECEDENCE.index(w) if w in PRECEDENCE else len(PRECEDENCE))
    found: dict[str, int] = {}
    for point in {p for start, end in inside for p in range(start, end)}:
        owner = next((w for w in order if any(s <= point < e for s, e in claimed[w])), UNATTRIBUTED)
        found[owner] = found.get(owner, 0) + 1
    return found


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 20)).map(lambda p: (p[0], p[0] + p[1])), min_size=1, max_size=3
    ),
    st.dictionaries(st.sampled_from(WAITS), spans),
)
def test_every_nanosecond_has_the_owner_of_highest_precedence(inside: Pairs, claimed: dict[str, Pairs]) -> None:
    settlement = settled(inside, claimed)
    ledger = {wait: ns for wait, ns in settlement.ledgers[0].items() if ns}
    assert ledger == oracle(inside, claimed)
    assert sum(settlement.ledgers[0].values()) == window(inside).window_ns
    for wait, owned in settlement.owned.items():
        assert (owned.owned_ns >= 0).all()
        assert int(owned.owned_ns.sum()) == settlement.ledgers[0].get(wait, 0)
    assert list(settlement.owned) == [w for w in PRECEDENCE if w in claimed and w != "ok.compute"] + [
        w for w in claimed if w not in PRECEDENCE
    ]


def test_claims_of_one_rule_that_overlap_are_charged_once_to_the_earlier_one() -> None:
    settlement = settle((window([(0, 100)]),), {"alloc.sync": claims([(10, 30), (20, 50)])}, {})
    assert settlement.owned["alloc.sync"].owned_ns.tolist() == [20, 20]
    assert settlement.ledgers[0] == {"alloc.sync": 40, UNATTRIBUTED: 60}


def test_devices_are_accounted_apart() -> None:
    both = Claims(claims([(0, 10)], 0).frame.vstack(claims([(0, 4)], 1).frame))
    settlement = settle((window([(0, 10)], 0), window([(0, 10)], 1)), {"launch.gap": both}, {})
    assert settlement.ledgers[0] == {"launch.gap": 10, UNATTRIBUTED: 0}
    assert settlement.ledgers[1] == {"launch.gap": 4, UNATTRIBUTED: 6}


def test_precedence_names_every_id_once() -> None:
    assert len(set(PRECEDENCE)) == len(PRECEDENCE)


def test_busy_time_is_charged_but_not_kept_for_each_of_its_intervals() -> None:
    settlement = settled([(0, 10)], {"ok.compute": [(0, 4)], "launch.gap": [(3, 8)]})
    assert settlement.ledgers[0] == {"ok.compute": 4, "launch.gap": 4, UNATTRIBUTED: 2}
    assert list(settlement.owned) == ["launch.gap"]
    assert settlement.owned["launch.gap"].owned_ns.tolist() == [4]
