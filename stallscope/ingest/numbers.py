"""Number and unit cells of Nsight Compute's CSV pages, whatever locale the profiled process ran in.

ncu prints through the *profiled* process's locale: integers with that locale's grouping, values with two decimals and
that locale's decimal mark; cells it scaled itself are C `%f` with six decimals. One page mixes both, so the form of
each cell decides, never the file.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_GROUPING = ".,' _\u00a0\u202f\u2019\u066c"
_NUMBER = re.compile(rf"[-+]?[0-9][0-9{re.escape(_GROUPING)}]*")
_EXPONENT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]+")
_C_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]{6}")
_DECIMALS = re.compile(rf"([-+]?[0-9][0-9{re.escape(_GROUPING)}]*)[.,]([0-9]{{2}})")
_GROUPED = re.compile(rf"[-+]?[0-9]{{1,3}}(?:[{re.escape(_GROUPING)}][0-9]{{2,3}})*[{re.escape(_GROUPING)}][0-9]{{3}}")
_PLAIN = re.compile(r"[-+]?[0-9]+")
_ABSENT = frozenset({"", "n/a", "nan", "-nan", "(!) nan", "no data", "inf", "-inf", "(!) n/a"})
_MAX_CELL = 64


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit in base form: `scale` turns a printed value into `base` units."""

    base: str
    scale: float


@dataclass(frozen=True, slots=True)
class Instanced:
    """A cell of `--print-metric-instances`: the metric's value and the value of each instance."""

    value: float
    instances: tuple[tuple[str, float], ...]


def is_absent(text: str) -> bool:
    """Whether the cell says that there is no value (which is never the value 0)."""
    return text.strip().lower() in _ABSENT


def parse_number(text: str) -> float | int | None:
    """The value of one cell, or None when it is not a number; integers stay exact.

    `268.457472` is C `%f`; `195,05` and `1.234,50` have two decimals; in every other form all marks are grouping.
    """
    text = text.strip()
    if len(text) > _MAX_CELL or is_absent(text):
        return None
    if _PLAIN.fullmatch(text):
        return int(text)
    if _C_FLOAT.fullmatch(text) or _EXPONENT.fullmatch(text):
        return _finite(float(text))
    decimals = _DECIMALS.fullmatch(text)
    if decimals:
        return _finite(float(f"{_ungroup(decimals[1])}.{decimals[2]}"))
    if _GROUPED.fullmatch(text):
        return int(_ungroup(text))
    return None


def decimal_mark(text: str) -> str:
    """The decimal mark of a locale-printed cell (`90,23` → `,`); empty when the cell does not tell."""
    found = _DECIMALS.fullmatch(text)
    return text[-3] if found and not _C_FLOAT.fullmatch(text) else ""


def contradicts(text: str, marks: frozenset[str]) -> bool:
    """Whether the cell's grouping marks would be the decimal mark of its own table.

    `12.345` means 12345 where other cells print `90,23`; where they print `90.23` it fits no known form.
    """
    text = text.strip()
    if not marks or _PLAIN.fullmatch(text) or not _GROUPED.fullmatch(text) or _DECIMALS.fullmatch(text):
        return False
    grouping = {character for character in text if character in _GROUPING}
    return not grouping.isdisjoint(marks)


def resolution(text: str) -> float:
    """Half of the last digit the cell prints: 0.005 for two decimals, 5e-7 for six, 0 for integers."""
    if _C_FLOAT.fullmatch(text):
        return 5e-7
    return 0.005 if _DECIMALS.fullmatch(text) else 0.0


def parse_estimate(text: str) -> float | None:
    """`Estimated Speedup`: always a C float with four significant digits, such as `9.774`."""
    try:
        return _finite(float(text))
    except ValueError:
        return None


def parse_instanced(text: str) -> Instanced | None:
    """`81376 (92; 32)` or `23592960 (IMAD: 5242880; LEA: 3145728)`; None for any other cell."""
    head, mark, rest = text.partition(" (")
    if not mark or not rest.endswith(")"):
        return None
    value = parse_number(head)
    if value is None:
        return None
    pairs = [_instance(part) for part in rest[:-1].split(";")]
    return Instanced(value, tuple(pair for pair in pairs if pair is not None))


def _instance(part: str) -> tuple[str, float] | None:
    key, mark, value = part.rpartition(":")
    number = parse_number(value if mark else part)
    return None if number is None else (key.strip(), number)


def _ungroup(text: str) -> str:
    return "".join(character for character in text if character not in _GROUPING)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SECONDS = {"second": 1.0, "s": 1.0}
_FRACTIONS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0}
_SINGULAR = {"sectors": "sector", "branches": "branch", "threads": "thread", "cycles": "cycle", "bytes": "byte"}
_COUNTED = frozenset(
    {
        *("byte", "bit", "cycle", "inst", "instruction", "operation", "sector", "request", "wavefront", "tag"),
        *("thread", "warp", "block", "cluster", "SM", "register", "barrier", "branch", "sample", "pass", "node"),
    }
)


def parse_unit(text: str) -> Unit | None:
    """The unit of a cell in base form; None when it is unknown, and then no arithmetic is allowed.

    Times become ns, rates become per second, percentages stay `%`, prefixes are powers of 1000.
    The spellings before and after ncu 2024.2 (`usecond`/`us`, `cycle/nsecond`/`Ghz`) give the same result.
    """
    text = text.strip()
    if text == "":
        return Unit("", 1.0)
    over, slash, under = text.partition("/")
    top = _simple(over)
    if top is None or not slash:
        return top
    bottom = _simple(under)
    # ncu scales `%/byte` to `%/Kbyte` in the wrong direction, so a prefix below the slash is trusted for times only
    trusted = bottom is not None and (bottom.base == "ns" or bottom.scale == 1.0)
    return _divide(top, bottom) if bottom is not None and trusted else None


def _divide(top: Unit, bottom: Unit) -> Unit:
    if bottom.base == "ns":
        scale = top.scale * 1e9 / bottom.scale
        return Unit("hz", scale) if top.base == "cycle" else Unit(f"{top.base}/s", scale)
    return Unit(f"{top.base}/{bottom.base}", top.scale / bottom.scale)


def _simple(text: str) -> Unit | None:
    if text == "%":
        return Unit("%", 1.0)
    second = _time(text)
    if second is not None:
        return Unit("ns", second * 1e9)
    if text[-2:].lower() == "hz" and text[:-2] in _PREFIXES:
        return Unit("hz", _PREFIXES[text[:-2]])
    for prefix in ("", text[:1]):
        counted = _SINGULAR.get(text[len(prefix) :], text[len(prefix) :])
        if counted in _COUNTED and prefix in _PREFIXES:
            return Unit(counted, _PREFIXES[prefix])
    return None


def _time(text: str) -> float | None:
    for spelling, scale in _SECONDS.items():
        prefix = text[: -len(spelling)]
        if text.endswith(spelling) and prefix in _FRACTIONS:
            return scale * _FRACTIONS[prefix]
    return None
