"""What a wait may cost: budgets as users write them in TOML or on the command line.

`[budgets]` of stallscope.toml, or `[tool.stallscope.budgets]` of pyproject.toml, maps a wait id to its limit::

    "launch.gap" = "5 %"
    "copy.pageable" = { max = "300 us", nvtx = "forward", per = "step", evidence = "supported" }
    "sync.scalar" = ["1 %", { max = "50 us", nvtx = "optimizer" }]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from stallscope.errors import InputError, UsageError
from stallscope.model.findings import EvidenceLevel
from stallscope.model.units import duration, share

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

IDLE = "idle"
"""Not a wait id: all idle time of the devices together."""

_NS_PER_UNIT = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_VALUE = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(ns|us|µs|μs|ms|s|%)\s*", re.IGNORECASE)
_WAIT = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*(\.?\*)?|\*")
_KEYS = frozenset({"wait", "max", "max_ns", "max_share", "nvtx", "per", "evidence"})
_LIMIT_KEYS = ("max", "max_ns", "max_share")
_EXAMPLE = 'write it like "launch.gap" = "5 %" (units: ns, us, ms, s, %)'


@dataclass(frozen=True, slots=True)
class Limit:
    """Largest value that still passes: nanoseconds, or a share of the devices' windows."""

    value: float
    kind: Literal["ns", "share"]

    def __str__(self) -> str:
        return duration(self.value) if self.kind == "ns" else share(self.value)


@dataclass(frozen=True, slots=True)
class Budget:
    """One gate: the time charged to `wait` (an id, or a prefix such as `alloc.*`) stays within `limit`.

    `nvtx` counts only waits inside that range, `per` divides by the number of those steps, `evidence` says how sure a
    finding must be before it can fail the gate.
    """

    wait: str
    limit: Limit
    nvtx: str | None = None
    per: str | None = None
    evidence: EvidenceLevel = "indicated"

    @property
    def name(self) -> str:
        """The budget in one line, as reports print it."""
        inside = f" in {self.nvtx}" if self.nvtx else ""
        per = f" per {self.per}" if self.per else ""
        return f"{self.wait}{inside} ≤ {self.limit}{per}"


def parse_condition(text: str) -> Budget:
    """`launch.gap>5%` or `sync.*>2ms`: the argument of --fail-on. Raises `UsageError`."""
    wait, separator, value = text.partition(">")
    if not separator:
        raise UsageError(f"--fail-on {text!r} has no '>'", next_step="write it like --fail-on 'launch.gap>5%'")
    return Budget(wait=_wait(wait.strip(), "--fail-on"), limit=_limit(value, "--fail-on"))


def read_budgets(path: Path) -> tuple[Budget, ...]:
    """Budgets of a stallscope.toml or of `[tool.stallscope]` in a pyproject.toml. Raises `UsageError`, `InputError`."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the budgets: {reason}", file=path.name) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not valid TOML: {error}", file=path.name) from error
    table = document.get("tool", {}).get("stallscope", document)
    if "budgets" not in table:
        raise UsageError("no [budgets] table", file=path.name, next_step=_EXAMPLE)
    return parse_budgets(table["budgets"], path.name)


def parse_budgets(table: object, file: str) -> tuple[Budget, ...]:
    """Budgets from an already parsed `[budgets]` table; `file` is named in errors. Raises `UsageError`."""
    budgets = tuple(_budgets(table, file))
    if not budgets:
        raise UsageError("the [budgets] table is empty", file=file, next_step=_EXAMPLE)
    return budgets


def _budgets(table: object, file: str) -> Iterator[Budget]:
    if isinstance(table, list):
        for entry in table:
            if not isinstance(entry, dict) or not isinstance(entry.get("wait"), str):
                raise UsageError('a [[budgets]] entry needs wait = "…"', file=file, next_step=_EXAMPLE)
            yield _budget(entry["wait"], entry, file)
        return
    if not isinstance(table, dict):
        raise UsageError("budgets is not a table", file=file, next_step=_EXAMPLE)
    for wait, value in _flat(table):
        for entry in value if isinstance(value, list) else [value]:
            yield _budget(wait, entry, file)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """An unquoted key such as `launch.gap` is a nested table in TOML; both spellings mean the wait id."""
    for key, value in table.items():
        wait = f"{prefix}{key}"
        if isinstance(value, dict) and value and not value.keys() & _KEYS:
            yield from _flat(value, f"{wait}.")
        else:
            yield wait, value


def _budget(wait: str, entry: object, file: str) -> Budget:
    where = f"budget {wait}"
    if not isinstance(entry, dict):
        return Budget(wait=_wait(wait, where, file), limit=_limit(entry, where, file))
    unknown = sorted(entry.keys() - _KEYS)
    if unknown:
        raise UsageError(
            f"{where}: unknown key {unknown[0]!r}", file=file, next_step=f"known: {', '.join(sorted(_KEYS))}"
        )
    evidence = entry.get("evidence", "indicated")
    if evidence not in get_args(EvidenceLevel):
        raise UsageError(f"{where}: evidence is one of {', '.join(get_args(EvidenceLevel))}", file=file)
    limit = _table_limit(entry, where, file)
    if "per" in entry and limit.kind == "share":
        raise UsageError(f"{where}: a share is the same per step; give `per` a limit in time", file=file)
    return Budget(
        wait=_wait(wait, where, file),
        limit=limit,
        nvtx=_name(entry, "nvtx", where, file),
        per=_name(entry, "per", where, file),
        evidence=cast("EvidenceLevel", evidence),
    )


def _table_limit(entry: Mapping[str, Any], where: str, file: str) -> Limit:
    given = [key for key in _LIMIT_KEYS if key in entry]
    if len(given) != 1:
        raise UsageError(f"{where}: give exactly one of {', '.join(_LIMIT_KEYS)}", file=file, next_step=_EXAMPLE)
    value = entry[given[0]]
    if given[0] == "max":
        return _limit(value, where, file)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise UsageError(f"{where}: {given[0]} is a number ≥ 0", file=file, next_step=_EXAMPLE)
    if given[0] == "max_ns":
        return Limit(value, "ns")
    if value > 1:
        raise UsageError(f"{where}: max_share is between 0 and 1", file=file, next_step='or write max = "5 %"')
    return Limit(value, "share")


def _limit(value: object, where: str, file: str | None = None) -> Limit:
    found = _VALUE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise UsageError(f"{where}: {value!r} is not a limit", file=file, next_step=_EXAMPLE)
    number, unit = float(found[1]), found[2].lower()
    if unit == "%":
        if number > 100:
            raise UsageError(f"{where}: {value!r} is more than the whole window", file=file, next_step=_EXAMPLE)
        return Limit(number / 100, "share")
    return Limit(number * _NS_PER_UNIT[unit], "ns")


def _wait(text: str, where: str, file: str | None = None) -> str:
    if not _WAIT.fullmatch(text):
        raise UsageError(f"{where}: {text!r} is not a wait id", file=file, next_step="`stallscope rules` lists them")
    return text


def _name(entry: Mapping[str, Any], key: str, where: str, file: str) -> str | None:
    value = entry.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise UsageError(f"{where}: {key} is the name of an NVTX range", file=file)
    return value
