"""Finds Nsight Compute's CSV tables in what a terminal, a log file or PowerShell kept of a profiling job."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field

from stallscope.errors import InputError

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DELIMITERS = ",;\t"
_MAX_RECORD_LINES = 400
_SAMPLE_BYTES = 4096

csv.field_size_limit(1 << 26)


@dataclass(slots=True)
class CsvTable:
    """One header and the records under it. `noise` counts lines of the profiler or the program between them."""

    header: list[str]
    records: list[list[str]] = field(default_factory=list)
    noise: int = 0
    cut: bool = False


@dataclass(slots=True)
class CsvText:
    """All tables of a file in order, and the profiler's own error lines."""

    tables: list[CsvTable] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    other_page: str = ""


def decode(data: bytes) -> str:
    """UTF-8 (with or without BOM) or UTF-16 as PowerShell's `>` writes it; bad bytes become U+FFFD."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", "replace")
    sample = data[:_SAMPLE_BYTES]
    if sample and sample.count(0) * 3 > len(sample):
        wide = "utf-16-le" if sample[1::2].count(0) >= sample[::2].count(0) else "utf-16-be"
        return data.decode(wide, "replace")
    return data.decode("utf-8-sig", "replace")


def find_tables(text: str) -> CsvText:
    """Split the text into tables; program output around and inside them is skipped and counted."""
    found = CsvText()
    table: CsvTable | None = None
    delimiter = ","
    for record, line, whole in _records(text):
        mark = _header_delimiter(record)
        if mark:
            delimiter = mark
            table = CsvTable(_split(record, delimiter))
            found.tables.append(table)
        elif line.startswith("=="):
            if line.startswith("==ERROR=="):
                found.errors.append(line.removeprefix("==ERROR==").strip())
        elif table is not None:
            _add(table, record, delimiter, whole=whole)
        else:
            found.other_page = found.other_page or _other_page(line)
    return found


def looks_like_ncu(data: bytes) -> bool:
    """Whether the first bytes of a file contain a table header or the profiler's own lines."""
    text = decode(data)
    return any(_header_delimiter(line) or line.startswith("==PROF==") for line in text.splitlines())


def _records(text: str) -> Iterator[tuple[str, str, bool]]:
    """Logical records: a quoted field may span lines; an unbalanced quote of the program's output must not eat a table.

    Yields the record, its first line, and whether its quotes are balanced.
    """
    lines = text.replace("\0", "").splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("==") or line.count('"') % 2 == 0:
            yield line, line, True
            continue
        record, used = _join(lines, at - 1)
        yield record, line, used > 0
        at += max(0, used - 1)


def _join(lines: list[str], at: int) -> tuple[str, int]:
    """Lines from `at` up to where the quotes balance, and how many; (first line, 0) when they never do."""
    quotes = 0
    for used, line in enumerate(lines[at : at + _MAX_RECORD_LINES], 1):
        if used > 1 and (line.startswith("==") or _header_delimiter(line)):
            break
        quotes += line.count('"')
        if quotes % 2 == 0 and used > 1:
            return "\n".join(lines[at : at + used]), used
    return lines[at], 0


def _header_delimiter(line: str) -> str:
    """The delimiter when the line is a table header (it names `Kernel Name` and `ID` or `Invocations`), else empty."""
    if "Kernel Name" not in line or line.startswith("=="):
        return ""
    for delimiter in _DELIMITERS:
        names = _split(line, delimiter)
        if "Kernel Name" in names and ("ID" in names or "Invocations" in names):
            return delimiter
    return ""


def _split(record: str, delimiter: str) -> list[str]:
    try:
        rows = list(csv.reader([record], delimiter=delimiter))
    except csv.Error:
        return []
    return rows[0] if rows else []


def _add(table: CsvTable, record: str, delimiter: str, *, whole: bool) -> None:
    fields = _split(record, delimiter) if record.strip() else []
    if len(fields) < 2:
        table.noise += bool(record.strip())
        return
    if not whole:
        table.cut = True
    table.records.append(fields)


def _other_page(line: str) -> str:
    if line.startswith(('"Kernel Name",', "Kernel Name,")):
        return "source"
    return "session" if line.strip().strip('"') in {"Launch Settings", "Session"} else ""


def refuse(text: CsvText, file: str) -> InputError:
    """Why a file without a usable table cannot be diagnosed, in the words that lead to one that can."""
    retry = "profile again: ncu --set full --csv --page raw --log-file kernels.csv <program>"
    for error in text.errors:
        if "permission" in error.lower() or "ERR_NVGPUCTRPERM" in error:
            return InputError("the profiler had no permission to read GPU counters", file=file, next_step=retry)
    if text.other_page:
        what = f"this is ncu's {text.other_page} page; counters are on the raw and details pages"
        return InputError(what, file=file, next_step="export with: ncu -i report.ncu-rep --csv --page raw")
    if text.errors:
        return InputError("ncu profiled no kernel: it reported an error", file=file, next_step=retry)
    return InputError("no Nsight Compute table with a kernel in it", file=file, next_step=retry)
