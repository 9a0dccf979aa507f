"""What a capture contains: metadata of the export, what was asked for, diagnostics, and the notes they lead to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_messages import PATH, public
from stallscope.ingest.nsys_source import ExportSource, integers

_PATH = re.compile(r"(?:[A-Za-z]:\\|(?<![\w.])/)[^\s'\",;:()]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")

_NUMBERS = re.compile(r"\d[\w.-]{0,30}")
_DRIVERS = ("NvDriverVersion", "CudaDriverVersion")
_PARTIAL = {
    "EXPORT_PARAM_TABLES_TO_EXPORT": "tables",
    "EXPORT_PARAM_TIMES_TO_EXPORT": "times",
    "DERIVED_WINDOW_NS": "times",
}


@dataclass(frozen=True, slots=True)
class ExportInfo:
    """META_DATA_EXPORT, by allow-list."""

    product: str = ""
    schema_version: str = ""
    lazy: bool = True
    partial: tuple[str, ...] = ()
    shift_ns: int = 0
    normalized: bool = False

    @property
    def clock_shifted(self) -> bool:
        """Whether time 0 is something else than the start of the capture."""
        return self.normalized or self.shift_ns != 0

    @property
    def version(self) -> tuple[int, int]:
        """Year and release of the exporter; (0, 0) when unknown."""
        found = re.search(r"(\d{4})\.(\d+)", self.product)
        return (int(found[1]), int(found[2])) if found else (0, 0)


@dataclass(frozen=True, slots=True)
class Requested:
    """META_DATA_CAPTURE, by allow-list; None where the export does not say."""

    known: bool = False
    traces: frozenset[str] = field(default_factory=frozenset)
    graph_mode: str | None = None
    flags: frozenset[tuple[str, bool]] = field(default_factory=frozenset)

    def trace(self, name: str) -> bool | None:
        """Whether this kind of event (`Cuda`, `NvtxEvents`, `OSRuntime`) was asked for."""
        return name in self.traces if self.known else None

    def flag(self, name: str) -> bool | None:
        """A COLLECT_ switch: on when any process or the session had it on."""
        values = {value for key, value in self.flags if key == name}
        return None if not values else True in values


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message that nsys stored in the report, in words that nsys uses."""

    severity: str
    text: str


def export_info(source: ExportSource) -> ExportInfo:
    """Who exported the file, and whether the export is partial or shifted."""
    values = dict(_pairs(source, schema.EXPORT_METADATA))
    product = _version(values.get("EXPORT_PRODUCT_VERSION", ""))
    partial = [what for name, what in _PARTIAL.items() if values.get(name)]
    shift = values.get("EXPORT_PARAM_TIME_SHIFT", "")
    return ExportInfo(
        product=f"Nsight Systems {product}".strip(),
        schema_version=_version(values.get("EXPORT_SCHEMA_VERSION", "")),
        lazy=values.get("EXPORT_PARAM_LAZY", "true") != "false",
        partial=tuple(partial),
        shift_ns=int(shift) if re.fullmatch(r"-?\d{1,18}", shift) else 0,
        normalized=values.get("EXPORT_PARAM_TIME_NORMALIZE") == "true",
    )


def requested(source: ExportSource) -> Requested:
    """What the capture was asked to collect."""
    pairs = list(_pairs(source, schema.CAPTURE_METADATA))
    own = [(name.split(":", 1)[-1] if name.startswith("PROCESS_") else name, value) for name, value in pairs]
    modes = [value for name, value in own if name == "CUDA_GRAPH_TRACE_OPTIONS:MODE"]
    return Requested(
        known=bool(pairs),
        traces=frozenset(value for name, value in own if name == "CAPTURE_EVENT_TYPE"),
        graph_mode=modes[0].lower() if modes else None,
        flags=frozenset((name, value == "true") for name, value in own if name.startswith(("COLLECT_", "LINUX_PERF"))),
    )


def diagnostics(source: ExportSource) -> tuple[Diagnostic, ...]:
    """Messages of DIAGNOSTIC_EVENT in time order."""
    table = schema.actual(source.tables, schema.DIAGNOSTICS)
    if table is None:
        return ()
    rows = source.records(table, {**integers("timestamp", "severity"), "text": "text"})
    names = {0: "unknown", 1: "info", 2: "warning", 3: "error", 4: "verbose"}
    return tuple(
        Diagnostic(names.get(severity, "unknown"), public(scrubbed(text or "")))
        for _, severity, text in sorted(rows, key=lambda row: (row[0] is not None, row[0] or 0))
    )


def origin_ns(source: ExportSource, info: ExportInfo) -> int:
    """UTC time of the trace clock's 0 in nanoseconds since 1970; 0 when the export does not say."""
    table = schema.actual(source.tables, schema.SESSION)
    if info.normalized or table is None:
        return 0
    starts = [start for (start,) in source.records(table, integers("utcEpochNs")) if start is not None]
    return int(starts[0]) - info.shift_ns if starts else 0


def driver_versions(source: ExportSource) -> tuple[str, str]:
    """Version of the NVIDIA driver and the CUDA version it supports, as the target reported them."""
    table = schema.actual(source.tables, schema.SYSTEM)
    if table is None or not {"name", "value"} <= source.tables[table]:
        return "", ""
    values = source.records(table, {"name": "text", "value": "text"})
    known = {name: value for name, value in values if name in _DRIVERS and value not in {None, "", "0"}}
    driver, cuda_driver = (_version(known.get(name, "")) for name in _DRIVERS)
    return driver, cuda_driver


def scrubbed(text: str) -> str:
    """Text of nsys without absolute paths and control characters."""
    return _PATH.sub(PATH, _CONTROL.sub(" ", text)).strip()


def _version(text: str) -> str:
    """A version number, or nothing: free text of a file does not enter reports."""
    return text.strip() if _NUMBERS.fullmatch(text.strip()) else ""


def _pairs(source: ExportSource, wanted: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    table = schema.actual(source.tables, wanted)
    if table is None or not {"name", "value"} <= source.tables[table]:
        return ()
    rows = source.records(table, {"name": "text", "value": "text"})
    return [(name, value or "") for name, value in rows if name is not None]
