"""Utilisation of units and the next-ceiling bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_samples import counters, m

from stallscope.kernels.ceilings import L1_UNITS, L2_UNITS, Ceilings, Unit, ceilings_of

shares = st.dictionaries(st.sampled_from(list(Unit)), st.floats(0, 1), max_size=len(Unit))


@given(used=shares, freed=shares)
def test_a_bound_is_a_part_of_the_time(used: dict[Unit, float], freed: dict[Unit, float]) -> None:
    assert 0 <= Ceilings(used).bound(freed).gain <= 1


@given(used=shares, freed=shares, unit=st.sampled_from(list(Unit)), more=st.floats(0, 1))
def test_freeing_more_never_lowers_the_bound(
    used: dict[Unit, float], freed: dict[Unit, float], unit: Unit, more: float
) -> None:
    ceilings = Ceilings(used)
    wider = {**freed, unit: max(more, freed.get(unit, 0.0))}
    assert ceilings.bound(wider).gain >= ceilings.bound(freed).gain


@given(used=shares)
def test_freeing_nothing_leaves_the_headroom_of_the_busiest_unit(used: dict[Unit, float]) -> None:
    ceilings = Ceilings(used)
    assert ceilings.bound({}).gain == pytest.approx(max(0.0, 1 - ceilings.top[1]))


def test_the_ceiling_that_stops_a_gain_is_named() -> None:
    ceilings = Ceilings({Unit.L1_DATA: 0.9, Unit.DRAM: 0.465})
    assert ceilings.bound({Unit.L1_DATA: 1.0}).ceiling == "dram"
    assert ceilings.bound({Unit.L1_DATA: 1.0}).gain == pytest.approx(0.5)


def test_a_level_without_its_units_uses_its_own_throughput() -> None:
    bare = counters(
        dict.fromkeys((m.L2_SECTORS, m.L2_DATA, m.L2_TAGS, m.L2_IN, m.L2_OUT)) | {m.L2_ALL: 0.9, m.MEMORY: 0.6}
    )
    assert ceilings_of(bare).utilisation[Unit.L2] == pytest.approx(0.6)
    assert ceilings_of(counters({m.L2_ALL: 0.9})).highest(L2_UNITS)[1] == pytest.approx(0.10)


def test_nothing_known_is_an_empty_answer() -> None:
    kernel = counters(dict.fromkeys((q for q in vars(m).values() if isinstance(q, m.Quantity)), None))
    assert ceilings_of(kernel).utilisation == {}


def test_a_unit_binds_when_it_is_near_the_busiest() -> None:
    assert Ceilings({Unit.L1_DATA: 0.85, Unit.L2_TAGS: 0.9}).binds(L1_UNITS)
    assert not Ceilings({Unit.L1_DATA: 0.7, Unit.L2_TAGS: 0.9}).binds(L1_UNITS)
    assert not Ceilings({Unit.L1_DATA: 0.5}).binds(L1_UNITS)
