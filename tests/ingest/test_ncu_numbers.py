"""Cells of Nsight Compute's CSV pages: every printed form of a value reads back as that value."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.ingest.numbers import (
    contradicts,
    decimal_mark,
    is_absent,
    parse_estimate,
    parse_instanced,
    parse_number,
    parse_unit,
)

LOCALES = {"C": ("", "."), "en_US": (",", "."), "de_DE": (".", ","), "fr_FR": ("\u202f", ","), "de_CH": ("’", ".")}


def printed(value: float, locale: str, decimals: int) -> str:
    """`value` as a C++ stream imbued with the locale prints it."""
    grouping, mark = LOCALES[locale]
    whole, _, rest = (f"{value:,.{decimals}f}" if decimals else f"{value:,}").partition(".")
    return whole.replace(",", grouping) + (mark + rest if rest else "")


@pytest.mark.parametrize("locale", LOCALES)
@given(value=st.integers(-(10**17), 10**17))
def test_integers_of_every_locale_stay_exact(locale: str, value: int) -> None:
    assert parse_number(printed(value, locale, 0)) == value


@pytest.mark.parametrize("locale", LOCALES)
@given(hundredths=st.integers(-(10**14), 10**14))
def test_two_decimals_of_every_locale_are_read(locale: str, hundredths: int) -> None:
    value = hundredths / 100
    assert parse_number(printed(value, locale, 2)) == pytest.approx(value, rel=1e-15, abs=0)


@given(value=st.floats(-1e15, 1e15, allow_nan=False))
def test_scaled_cells_are_c_floats_in_every_locale(value: float) -> None:
    assert parse_number(f"{value:f}") == float(f"{value:f}")


@given(text=st.text(max_size=80))
def test_any_text_is_a_finite_number_or_none(text: str) -> None:
    value = parse_number(text)
    assert value is None or math.isfinite(value)


@pytest.mark.parametrize("text", ["", " ", "n/a", "nan", "-nan", "(!) nan", "no data", "inf"])
def test_absent_cells_never_become_zero(text: str) -> None:
    assert is_absent(text)
    assert parse_number(text) is None


@pytest.mark.parametrize("text", ["0x3", "PolicySpread", "9.0", "1,0", "1 2", "--1", "1.2.3.4", "12,3456", "1e", "١٢"])
def test_other_text_is_not_a_number(text: str) -> None:
    assert parse_number(text) is None


def test_a_grouping_mark_that_is_the_table_s_decimal_mark_is_refused() -> None:
    english, german = frozenset("."), frozenset(",")
    assert contradicts("12.345", english)
    assert not contradicts("12.345", german)
    assert not contradicts("12,345", english)
    assert not contradicts("12345", english)
    assert not contradicts("12.34", english)
    assert not contradicts("12.345678", english)
    assert not contradicts("12.345", frozenset())


def test_only_two_decimal_cells_tell_the_decimal_mark() -> None:
    assert decimal_mark("1.234,50") == ","
    assert decimal_mark("0.07") == "."
    assert decimal_mark("268.457472") == ""
    assert decimal_mark("1,234,567") == ""


def test_estimated_speedup_is_always_a_c_float() -> None:
    assert parse_estimate("9.774") == 9.774
    assert parse_estimate("0.0006581") == 0.0006581
    assert parse_estimate("n/a") is None


def test_instances_keep_their_keys() -> None:
    plain = parse_instanced("81376 (92; 32)")
    keyed = parse_instanced("23592960 (IMAD: 5242880; LEA: 3145728)")
    assert plain is not None
    assert keyed is not None
    assert plain.value == 81376
    assert plain.instances == (("", 92), ("", 32))
    assert keyed.instances == (("IMAD", 5242880), ("LEA", 3145728))
    assert parse_instanced("(32, 8, 1)") is None


@pytest.mark.parametrize(
    ("old", "new", "base", "scale"),
    [
        ("usecond", "us", "ns", 1e3),
        ("msecond", "ms", "ns", 1e6),
        ("second", "s", "ns", 1e9),
        ("nsecond", "ns", "ns", 1.0),
        ("cycle/nsecond", "Ghz", "hz", 1e9),
        ("cycle/second", "hz", "hz", 1.0),
        ("Gbyte/second", "Gbyte/s", "byte/s", 1e9),
        ("sector/usecond", "sector/us", "sector/s", 1e6),
        ("Kbyte/block", "Kbyte/block", "byte/block", 1e3),
        ("%/register", "%/register", "%/register", 1.0),
        ("Mbyte", "Mbyte", "byte", 1e6),
        ("sectors", "sector", "sector", 1.0),
        ("", "", "", 1.0),
    ],
)
def test_units_of_all_versions_have_one_base(old: str, new: str, base: str, scale: float) -> None:
    first, second = parse_unit(old), parse_unit(new)
    assert first is not None
    assert first == second
    assert first.base == base
    assert first.scale == pytest.approx(scale, rel=1e-12)


@pytest.mark.parametrize("text", ["furlong", "Xbyte", "%/Kbyte", "byte/", "/s", "byte/s/s", "Kbit2", "MB"])
def test_unknown_units_are_refused(text: str) -> None:
    assert parse_unit(text) is None
