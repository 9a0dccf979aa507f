"""Nsight Compute's CSV pages → counters: raw (wide), details (long), per-kernel summaries; any version and locale."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stallscope.errors import InputError
from stallscope.ingest.ncu_cells import Cells
from stallscope.ingest.ncu_labels import metric_of
from stallscope.ingest.ncu_text import CsvTable, decode, find_tables, refuse
from stallscope.ingest.numbers import parse_estimate
from stallscope.model.analysis import CaptureNote, Source
from stallscope.model.counters import CounterSet, Dim3, EstimateKind, KernelCounters, Metric, RuleEstimate

_DIM = re.compile(r"\(?\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)?")
_METADATA = frozenset(
    {
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "CC", "Invocations", "Section Name", "Body Item Label"),
    }
)
_KINDS: dict[str, EstimateKind] = {"global": "global", "local": "local"}
_NVTX_FIELDS_AFTER_NAME = 6
_MAX_BYTES = 2 << 30


@dataclass(slots=True)
class _Launch:
    """One launch while its rows are being collected."""

    meta: dict[str, str]
    run: int
    metrics: dict[str, Metric] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    estimates: list[RuleEstimate] = field(default_factory=list)


def read_ncu_csv(data: bytes, source: Source) -> CounterSet:
    """Counters of every kernel in the file.

    Raises `InputError` when no kernel with a metric can be read; never returns an empty set.
    """
    if len(data) > _MAX_BYTES:
        raise InputError(
            "the table is larger than 2 GiB", file=source.name, next_step="export fewer kernels: --launch-count"
        )
    text = find_tables(decode(data))
    if not text.tables:
        raise refuse(text, source.name)
    cells = Cells()
    launches: list[_Launch] = []
    damaged: Counter[str] = Counter()
    for run, table in enumerate(text.tables):
        launches += _read(table, run, cells, damaged)
    kernels = tuple(_kernel(launch, place) for place, launch in enumerate(launches) if launch.metrics)
    if not kernels:
        raise refuse(text, source.name)
    return CounterSet(source, kernels, (*cells.notes(), *_damage(damaged, text.tables)))


def _read(table: CsvTable, run: int, cells: Cells, damaged: Counter[str]) -> list[_Launch]:
    header = table.header
    if "Metric Name" not in header:
        first = max(at for at, name in enumerate(header) if _is_metadata(name)) + 1
        cells.begin(cell for record in table.records for cell in record[first:])
        return _wide(table, run, cells, damaged)
    value = header.index("Metric Name") + 2
    cells.begin(cell for record in table.records for cell in record[value : value + 1])
    if "Average" in header:
        return _summary(table, run, cells, damaged)
    return _long(table, run, cells, damaged)


def _wide(table: CsvTable, run: int, cells: Cells, damaged: Counter[str]) -> list[_Launch]:
    header = table.header
    kernel, first = header.index("Kernel Name"), header.index("ID") if "ID" in header else 0
    rows = table.records
    units: Sequence[str] = ()
    if rows and len(rows[0]) == len(header) and not rows[0][first].strip() and not rows[0][kernel].strip():
        units, rows = rows[0], rows[1:]
    cells.units_printed(any(unit == "%" for unit in units))
    columns = [(at, name, units[at] if units else "") for at, name in enumerate(header) if not _is_metadata(name)]
    launches = []
    for row in rows:
        if not _is_launch(row, header, first, kernel):
            damaged["rows that fit no table"] += 1
            continue
        damaged["rows cut short"] += len(row) < len(header)
        launch = _Launch(dict(zip(header, row, strict=False)), run)
        for at, name, unit in columns:
            if at < len(row):
                cells.put(launch.metrics, launch.texts, (name, unit, row[at]))
        launches.append(launch)
    return launches


def _long(table: CsvTable, run: int, cells: Cells, damaged: Counter[str]) -> list[_Launch]:
    by_launch: dict[tuple[str, ...], _Launch] = {}
    cells.units_printed(any("%" in row for row in table.records))
    for row in _rows(table, damaged):
        key = (row.get("Process ID", ""), row.get("ID", ""), row.get("Kernel Name", ""))
        launch = by_launch.setdefault(key, _Launch(row, run))
        if row.get("Metric Name"):
            _put_labelled(launch, row, row.get("Metric Value", ""), cells)
        elif row.get("Rule Name"):
            launch.estimates += _estimate(row)
    return list(by_launch.values())


def _summary(table: CsvTable, run: int, cells: Cells, damaged: Counter[str]) -> list[_Launch]:
    by_kernel: dict[tuple[str, ...], _Launch] = {}
    cells.units_printed(any("%" in row for row in table.records))
    for row in _rows(table, damaged):
        key = tuple(row.get(name, "") for name in ("Process ID", "Kernel Name", "Block Size", "Grid Size", "Device"))
        launch = by_kernel.setdefault(key, _Launch(row, run))
        _put_labelled(launch, row, row.get("Average", ""), cells)
    return list(by_kernel.values())


def _rows(table: CsvTable, damaged: Counter[str]) -> Iterator[dict[str, str]]:
    header = table.header
    kernel, first = header.index("Kernel Name"), header.index("ID") if "ID" in header else -1
    value = header.index("Metric Name")
    for record in table.records:
        if len(record) <= value or not _is_launch(record, header, first, kernel):
            damaged["rows that fit no table"] += 1
            continue
        yield dict(zip(header, record, strict=False))


def _put_labelled(launch: _Launch, row: dict[str, str], value: str, cells: Cells) -> None:
    name = metric_of(row.get("Section Name", ""), row["Metric Name"])
    if name is not None and name not in launch.metrics:
        cells.put(launch.metrics, launch.texts, (name, row.get("Metric Unit", ""), value))


def _estimate(row: dict[str, str]) -> list[RuleEstimate]:
    percent = parse_estimate(row.get("Estimated Speedup") or "")
    if percent is None:
        return []
    return [RuleEstimate(row["Rule Name"], _KINDS.get(row.get("Estimated Speedup Type", ""), "unknown"), percent)]


def _is_metadata(name: str) -> bool:
    return name in _METADATA or name.endswith(":Msg") or "_Range:" in name


def _is_launch(row: list[str], header: list[str], first: int, kernel: int) -> bool:
    if not kernel < len(row) <= len(header) + 1 or not row[kernel].strip():
        return False
    return first < 0 or row[first].strip().isdecimal()


def _kernel(launch: _Launch, place: int) -> KernelCounters:
    meta = launch.meta
    order = _integer(meta.get("ID"))
    return KernelCounters(
        name=meta["Kernel Name"],
        grid=_dim(meta.get("Grid Size"), launch.metrics, "grid"),
        block=_dim(meta.get("Block Size"), launch.metrics, "block"),
        order=place if order is None else order,
        run=launch.run,
        device=_integer(meta.get("Device")),
        compute_capability=meta.get("CC", "").strip(),
        process=_integer(meta.get("Process ID")),
        launches=max(1, _integer(meta.get("Invocations")) or 1),
        nvtx=tuple(name for key, cell in meta.items() if "_Range:" in key for name in _ranges(cell)),
        metrics=launch.metrics,
        texts=launch.texts,
        estimates=tuple(launch.estimates),
    )


def _dim(cell: str | None, metrics: dict[str, Metric], what: str) -> Dim3:
    """The launch dimension; (0, 0, 0) when this form of the page does not print it."""
    found = _DIM.fullmatch((cell or "").strip())
    if found:
        return int(found[1]), int(found[2]), int(found[3])
    sides = [metrics.get(f"launch__{what}_dim_{axis}") for axis in "xyz"]
    x, y, z = (0 if side is None else int(side.value) for side in sides)
    return x, y, z


def _integer(cell: str | None) -> int | None:
    text = (cell or "").strip()
    return int(text) if text.isdecimal() and len(text) < 19 else None


def _ranges(cell: str) -> Iterator[str]:
    """Range names of an NVTX cell such as `886  "<default domain>:copy:none:none:none:none:none:none"`."""
    for quoted in re.findall(r'"([^"]*)"', cell):
        parts = quoted.split(":")
        if len(parts) > _NVTX_FIELDS_AFTER_NAME + 1:
            yield ":".join(parts[1:-_NVTX_FIELDS_AFTER_NAME])


def _damage(damaged: Counter[str], tables: list[CsvTable]) -> list[CaptureNote]:
    if any(table.cut for table in tables):
        damaged["records with unbalanced quotes"] += 1
    return [
        CaptureNote(id="ncu.damaged", message=f"{count} {what} were left out or read in part")
        for what, count in damaged.items()
        if count
    ]
