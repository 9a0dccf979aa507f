"""Secrets in every place of an export where free text can stand, and where to look for them afterwards."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

from sqlite_build import SCHEMAS

TRACE = Path(__file__).resolve().parents[2] / "sample_traces" / "h200" / "cu_alloc.sqlite"

PUBLIC_TEXT = {
    ("NVTX_EVENTS", "text"): "what the program says about itself",
    ("TARGET_INFO_GPU", "name"): "the product name of the GPU",
    ("TARGET_INFO_GPU", "uuid"): "tells devices apart",
    ("TARGET_INFO_CUDA_DEVICE", "uuid"): "tells devices apart",
}
"""Free text that reports may show; `docs/privacy.md` says so."""

EXPORTER_WORDS = ("ENUM_", "TARGET_INFO_GPU_METRICS")
"""Tables whose text is the exporter's own vocabulary; a scrubbed copy keeps it."""

NAMES_OF_CODE = frozenset({"nameId", "textId", "demangledName", "shortName", "mangledName"})

PRIVATE_TABLES = {
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "THREAD_NAMES": "nameId INTEGER, priority INTEGER, globalTid INTEGER",
    "ProcessStreams": "globalPid INTEGER, filenameId INTEGER, contentId INTEGER",
    "ANALYSIS_FILE": "id INTEGER, filename TEXT, content TEXT, globalPid INTEGER",
    "TARGET_INFO_NIC_INFO": "GUID INTEGER, stateName TEXT, nicId INTEGER, name TEXT",
    "TARGET_INFO_NETWORK_DEVICES": "name TEXT, address TEXT",
    "MODULES": "id INTEGER, path TEXT, buildId TEXT",
    "ENUM_OPENGL": "id INTEGER, name TEXT, label TEXT",
    "GENERIC_EVENTS": "rawTimestamp INTEGER, data TEXT, globalPid INTEGER",
    "PROCESS_ENVIRONMENT": "name TEXT, value TEXT",
    "COMPOSITE_EVENTS": "id INTEGER, start INTEGER, text TEXT",
    "A_TABLE_OF_THE_FUTURE": "id INTEGER, anything TEXT",
}

METADATA = {
    "META_DATA_CAPTURE": (
        *("PROCESS_0:ENVIRONMENT_VARIABLE", "PROCESS_0:ARGUMENT_0", "PROCESS_0:WORKING_DIR", "DEVICE_DISPLAY_NAME"),
        *("PROCESS_0:USER_NAME", "PROCESS_0:IMAGE", "CAPTURE_EVENT_TYPE", "CUDA_GRAPH_TRACE_OPTIONS:MODE", "ANYTHING"),
    ),
    "META_DATA_EXPORT": (
        *("EXPORT_HOST", "EXPORT_USER", "EXPORT_PARAM_INPUT_PATH_ABS", "EXPORT_PARAM_OUTUPT_PATH", "EXPORT_TIME_LOCAL"),
        *("EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION", "EXPORT_PRODUCT_NAME", "EXPORT_PARAM_TABLES_TO_EXPORT"),
    ),
    "TARGET_INFO_SYSTEM_ENV": (
        *("DeviceEnvironment", "Hostname", "NvDriverVersion", "CudaDriverVersion", "CpuDescription", "KernelVersion"),
    ),
}


class Planter:
    """Hands out secrets and remembers where each was put."""

    def __init__(self) -> None:
        self._numbers = count(1001)
        self.places: dict[str, str] = {}

    def secret(self, place: str) -> str:
        """A word that occurs nowhere else; digits would be found by chance, letters are not."""
        word = f"zqxsecret{next(self._numbers)}wkv"
        self.places[word] = place
        return word


def plant(target: Path) -> dict[str, str]:
    """A real capture with a secret in every free-text place of `target`; returns {secret: place}."""
    shutil.copyfile(TRACE, target)
    planter = Planter()
    with closing(sqlite3.connect(target)) as database:
        database.execute("DROP TABLE IF EXISTS TARGET_INFO_SYSTEM_ENV")
        for version in ("2023.4", "2026.2"):
            for table, columns in SCHEMAS[version].items():
                kinds = ((c.rstrip(":"), "TEXT" if c.endswith(":") else "INTEGER") for c in columns.split())
                declared = ", ".join(f'"{name}" {kind}' for name, kind in kinds)
                database.execute(f'CREATE TABLE IF NOT EXISTS "{table}" ({declared})')
        for table, declared in PRIVATE_TABLES.items():
            database.execute(f'CREATE TABLE IF NOT EXISTS "{table}" ({declared})')
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if table not in METADATA and table != "StringIds":
                _plant_row(database, planter, table)
        for table, names in METADATA.items():
            _plant_metadata(database, planter, table, names)
        database.commit()
    return planter.places


def _plant_row(database: sqlite3.Connection, planter: Planter, table: str) -> None:
    """A row that looks like the first one, its texts and the ids of texts that are no names of code replaced."""
    database.execute(f'ALTER TABLE "{table}" ADD COLUMN futureText TEXT')
    described = database.execute(f'PRAGMA table_info("{table}")').fetchall()
    columns = [(row[1], row[2]) for row in described]
    names = [name for name, _ in columns]
    model = database.execute(f'SELECT * FROM "{table}" ORDER BY rowid DESC LIMIT 1').fetchone()  # noqa: S608
    row = dict(zip(names, model or [1] * len(names), strict=True))
    for name, kind in columns:
        is_text = "TEXT" in kind.upper() or name == "futureText"
        if is_text and (table, name) not in PUBLIC_TEXT and not table.startswith("ENUM_CU"):
            row[name] = f"x {_told(planter, table, name)} y"
        elif name.endswith("Id") and name not in NAMES_OF_CODE and name in {"filenameId", "contentId", "module"}:
            row[name] = _registered(database, planter, f"{table}.{name}")
    if table in {"THREAD_NAMES", "ProcessStreams"}:
        row |= {name: _registered(database, planter, f"{table}.{name}") for name in names if name.endswith("Id")}
    if "severity" in names:
        row["severity"] = 2
    for name in (column[1] for column in described if column[5]):  # the primary key
        row[name] = database.execute(f'SELECT coalesce(max("{name}"), 0) + 1 FROM "{table}"').fetchone()[0]  # noqa: S608
    marks, listed = ", ".join("?" * len(row)), ", ".join(f'"{name}"' for name in row)
    database.execute(f'INSERT INTO "{table}" ({listed}) VALUES ({marks})', list(row.values()))  # noqa: S608


def _told(planter: Planter, table: str, name: str) -> str:
    word = planter.secret(f"{table}.{name}")
    if table == "DIAGNOSTIC_EVENT":  # the words that make nsys's message worth repeating
        return f"events were dropped: couldn't allocate for user {word} on host {word}.example in /home/{word}/run"
    return word


def _registered(database: sqlite3.Connection, planter: Planter, place: str) -> int:
    number = int(database.execute("SELECT max(id) FROM StringIds").fetchone()[0]) + 1
    text = f"/home/user/{planter.secret(f'StringIds through {place}')}"
    database.execute("INSERT INTO StringIds (id, value) VALUES (?, ?)", (number, text))
    return number


def _plant_metadata(database: sqlite3.Connection, planter: Planter, table: str, names: tuple[str, ...]) -> None:
    for name in names:
        database.execute(f"INSERT INTO {table} (name, value) VALUES (?, ?)", (name, planter.secret(f"{table} {name}")))  # noqa: S608
    key = planter.secret(f"{table}, a name")
    database.execute(f"INSERT INTO {table} (name, value) VALUES (?, 'true')", (key,))  # noqa: S608
    if table == "TARGET_INFO_SYSTEM_ENV":
        database.execute(f"UPDATE {table} SET devStateName = ?", (planter.secret(f"{table}.devStateName"),))  # noqa: S608


def found(output: bytes, secrets: dict[str, str]) -> dict[str, str]:
    """The secrets that an output holds, plainly or packed, with the places they came from."""
    text = "\n".join(data.decode("utf-8", "replace") for data in _layers(output))
    return {word: place for word, place in secrets.items() if word in text}


def _layers(output: bytes) -> Iterator[bytes]:
    yield output
    if output[:2] == b"\x1f\x8b":
        yield from _layers(gzip.decompress(output))
    if output[:4] == b"PAR1":
        import pyarrow.parquet as pq

        yield str(pq.read_table(io.BytesIO(output)).to_pydict()).encode()
    for packed in re.findall(rb"[A-Za-z0-9+/=]{400,}", output):
        try:
            data = base64.b64decode(packed, validate=True)
        except binascii.Error:
            continue
        yield data
        try:
            yield zlib.decompress(data)
        except zlib.error:
            continue
