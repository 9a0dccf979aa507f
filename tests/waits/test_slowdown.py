"""The same kernel alone and beside another: which instances count, and what is clearly apart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from build import US, TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from stallscope.model.events import Kernels
from stallscope.timeline.timeline import Timeline
from stallscope.waits import slowdown
from stallscope.waits.base import View
from stallscope.waits.catalogue import all_rules
from stallscope.waits.slowdown import Slowdown, claim_excess, slowdowns

META = next(rule.meta for rule in all_rules() if rule.meta.id == "comm.interference")


def measured(
    alone: list[float], beside: list[float], *, minimum: int = 2, overlap: float = 1.0
) -> tuple[View, list[Slowdown]]:
    """Instances of one kernel alone, then beside a neighbour that covers this part of each."""
    build = TraceBuilder()
    for i, length in enumerate(alone):
        build.kernel(1_000 * i, 1_000 * i + length, name="victim")
    for i, length in enumerate(beside):
        t = 100_000 + 1_000 * i
        build.kernel(t, t + length, name="victim")
        build.kernel(t + (1 - overlap) * length, t + length, name="neighbour", stream=9)
    timeline = Timeline(build.trace())
    view = View(timeline, META)
    names = view[Kernels].name[view.operations.row]
    neighbour = np.asarray(names == build.name("neighbour"))
    return view, slowdowns(view, neighbour, timeline.windows[0], minimum)


def test_medians_of_both_and_the_excess_at_the_end_of_each_instance() -> None:
    view, found = measured([10, 12, 11], [20, 40, 26])
    assert [(s.alone_ns, s.beside_ns, len(s.beside)) for s in found] == [(11 * US, 26 * US, 3)]
    assert (found[0].ratio, found[0].excess_ns) == (26 / 11, 15 * US)
    claims = claim_excess(view, found)
    assert claims.start_ns.tolist() == [(100_000 + 1_000 * i + 11) * US for i in range(3)]
    assert (claims.end_ns - claims.start_ns).tolist() == [9 * US, 29 * US, 15 * US]


@pytest.mark.parametrize(
    ("alone", "beside", "found"),
    [
        ([10, 10], [20, 20], True),
        ([10], [20, 20], False),
        ([10, 10], [20], False),
        ([10, 20], [20, 20], False),  # the slow ones alone are as slow as the fast ones beside it
        ([10, 10], [10, 10], False),
        ([], [20, 20], False),
        ([10, 10], [], False),
    ],
)
def test_enough_of_both_and_clearly_apart(alone: list[float], beside: list[float], *, found: bool) -> None:
    assert bool(measured(alone, beside)[1]) is found


@pytest.mark.parametrize(("overlap", "found"), [(0.5, True), (0.49, False)])
def test_beside_is_half_of_the_kernel(overlap: float, *, found: bool) -> None:
    assert bool(measured([100, 100], [200, 200], overlap=overlap)[1]) is found


def test_kernels_that_are_rare_on_one_side_are_left_out_of_the_others() -> None:
    view, found = measured([10, 10, 10], [20, 20, 20], minimum=3)
    assert [len(s.beside) for s in found] == [3]
    assert Slowdown(np.empty(0, np.int64), 0.0, 5.0).ratio == 0.0
    assert len(view.operations) == 9


def times(shift: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.integers(1 + shift, 9 + shift).map(float), min_size=2, max_size=14)


@settings(max_examples=60)
@given(alone=times(0), beside=st.integers(0, 9).flatmap(times))
def test_counting_first_loses_no_kernel_that_comparing_finds(alone: list[float], beside: list[float]) -> None:
    """The quick test may only spare the comparison where it would say no."""
    found = measured(alone, beside)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slowdown, "_candidates", lambda signature, *_: np.ones(int(signature.max()) + 1, np.bool_))
        without = measured(alone, beside)[1]
    assert [(s.alone_ns, s.beside_ns, s.beside.tolist()) for s in found] == [
        (s.alone_ns, s.beside_ns, s.beside.tolist()) for s in without
    ]


def test_equal_kernels_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowdown, "_compared", lambda *_: pytest.fail("compared"))
    equal = [float(10 + k) for k in range(8)]
    assert measured(equal, equal)[1] == []


instances = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30), st.booleans()), max_size=60)


@settings(max_examples=200)
@given(instances, st.integers(1, 3))
def test_medians_and_quartiles_are_those_of_polars(rows: list[tuple[int, int, bool]], minimum: int) -> None:
    signature, length, beside = (np.array([row[k] for row in rows], kind) for k, kind in enumerate("iq?"))
    near, alone = pl.col("length").filter("beside"), pl.col("length").filter(~pl.col("beside"))
    groups = pl.DataFrame({"signature": signature, "length": length, "beside": beside}).group_by(
        "signature", maintain_order=True
    )
    told = groups.agg(
        alone.median().alias("alone"),
        near.median().alias("near"),
        fewest=pl.min_horizontal(alone.len(), near.len()),
        apart=near.quantile(0.25) > alone.quantile(0.75),
    ).filter((pl.col("fewest") >= minimum) & pl.col("apart"))
    expected = list(told.select("signature", "alone", "near").iter_rows())
    assert slowdown._compared(signature, length, beside, minimum) == expected
