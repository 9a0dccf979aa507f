"""Dense indices for the names, processes, threads and devices of one export, handed out while its tables are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.export_codes import Codes, paired
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.nsys_source import ExportSource, Kind, PlainKind, integers
from stallscope.ingest.progress import Progress, silent
from stallscope.model.names import Names

Int32Array = npt.NDArray[np.int32]

_PROCESS_BITS = -1 << 24
NO_CONTEXT = -1 << 63
"""Stands for the context of a row that names none."""

UNKNOWN_PROCESS = 0
"""Key of activities whose export names no process."""

FOREIGN_PROCESS = 1 << 62
"""Key of a process that was not traced: another user of the GPU."""


def pid_of(key: int) -> int:
    """Process id inside a serialized global id: 8 bits hardware, 8 bits VM, 24 bits process, 24 bits thread."""
    return (key >> 24) & 0xFFFFFF


def tid_of(key: int) -> int:
    """Thread id inside a serialized global id."""
    return key & 0xFFFFFF


class Keys:
    """Distinct 64-bit keys in the order of their first appearance."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def index(self, keys: Codes) -> Int32Array:
        """Dense index of every key; -1 where there is none."""
        return keys.mapped(self.indices(keys), -1)

    def indices(self, keys: Codes) -> list[int]:
        """Dense index of each distinct key; -1 for those that no row has."""
        self.meet(value for value, used in zip(keys.distinct, keys.used(), strict=True) if used)
        return [self.known.get(key, -1) for key in keys.distinct]

    def meet(self, keys: Iterable[int]) -> None:
        """Give every key an index."""
        for key in sorted(keys):
            self.known.setdefault(key, len(self.known))


class NameBook:
    """Interned text; ids of StringIds are looked up in the export the first time they are met."""

    def __init__(self, source: ExportSource) -> None:
        self._source = source
        self._known: dict[str, int] = {"": 0}
        self._texts: dict[int, str] = {}

    def intern(self, text: str) -> int:
        """Id of one text."""
        return self._known.setdefault(text, len(self._known))

    def known(self, text: str) -> int | None:
        """Id of a text that was met, else None."""
        return self._known.get(text)

    def of_texts(self, texts: Codes, without: re.Pattern[str] | None = None) -> Int32Array:
        """Name ids of a text column, the parts that match `without` cut out; no text is the empty name."""

        def cut(found: list[str]) -> list[str]:
            return [without.sub("", text) for text in found] if without else found

        return texts.mapped(self._numbered(texts, cut), 0)

    def of_ids(self, ids: Codes) -> Int32Array:
        """Name ids of a StringIds column; no and unknown ids become ''."""
        return ids.mapped(self._numbered(ids, self._resolve), 0)

    def each_call(self, ids: Codes) -> Int32Array:
        """Name id of each distinct id of a StringIds column that names calls, without their ABI suffix.

        The rows may come in any order: the names are numbered by their texts.
        """
        codes = ids.in_order()
        texts = self._resolve([ids.distinct[code] for code in codes])
        named = sorted((schema.api_name(text), code) for text, code in zip(texts, codes, strict=True))
        return self._interned(ids, [code for _, code in named], [text for text, _ in named])

    def texts(self, ids: Codes) -> list[str]:
        """The text of each distinct id of a StringIds column."""
        return self._resolve(list(ids.distinct))

    def _numbered(self, column: Codes, texts: Callable[[list[Any]], list[str]]) -> Int32Array:
        """A number for each distinct name, in the order in which the rows need them."""
        codes = column.in_order()
        return self._interned(column, codes, texts([column.distinct[code] for code in codes]))

    def _interned(self, column: Codes, codes: list[int], texts: list[str]) -> Int32Array:
        new = np.zeros(len(column.distinct), np.int32)
        new[codes] = [self.intern(text) for text in texts]
        return new

    def names(self) -> Names:
        """All texts met so far."""
        return Names(self._known)

    def _resolve(self, ids: list[int]) -> list[str]:
        self._texts.update(self._source.strings(i for i in ids if i not in self._texts))
        return [self._texts.get(i, "") for i in ids]


@dataclass
class Quality:
    """Rows that were left out, by table and reason."""

    dropped: dict[tuple[str, str], int] = field(default_factory=dict)

    def drop(self, table: str, reason: str, rows: int) -> None:
        """Count rows that cannot be used."""
        if rows:
            key = (table, reason)
            self.dropped[key] = self.dropped.get(key, 0) + rows


class Registry:
    """What the tables of one export refer to."""

    def __init__(self, source: ExportSource, *, clock_shifted: bool = False, progress: Progress = silent) -> None:
        self.source = source
        self._progress = progress
        self._weights = {table: source.weight(table) for table in source.tables if schema.holds_events(table)}
        self._read: set[str] = set()
        self.clock_shifted = clock_shifted
        self.names = NameBook(source)
        self.processes = Keys()
        self.threads = Keys()
        self.devices = Keys()
        self.quality = Quality()
        self._contexts: dict[tuple[int, int], int] = {}
        self._enums: dict[str, dict[int, int]] = {}

    def table(self, wanted: tuple[str, ...]) -> str | None:
        """Actual name of a table in this export."""
        return schema.actual(self.source.tables, wanted)

    def rows(self, table: str, columns: Mapping[str, Kind]) -> Rows:
        """The wanted columns of a table, announced to whoever watches the progress."""
        self._progress(f"reading {table}", self._share())
        rows = self.source.rows(table, columns)
        self._read.add(table)
        return rows

    def announce(self, wanted: tuple[str, ...], columns: Mapping[str, Kind]) -> None:
        """Say that the rows of a table, where the export has it, are wanted soon."""
        table = self.table(wanted)
        if table is not None:
            self.source.announce(table, columns)

    def records(self, table: str, columns: Mapping[str, PlainKind]) -> list[tuple[Any, ...]]:
        """The same of a small table, a tuple a row."""
        return self.source.records(table, columns)

    def _share(self) -> float:
        total = sum(self._weights.values())
        return sum(self._weights.get(table, 0) for table in self._read) / total if total else 0.0

    def process(self, global_ids: Codes) -> Int32Array:
        """Process index of a globalPid or globalTid column; a missing id is the unknown process."""
        return global_ids.mapped(self.processes_of(global_ids), self.processes.known.get(UNKNOWN_PROCESS, -1))

    def processes_of(self, global_ids: Codes) -> list[int]:
        """Process index of each distinct value of a globalPid or globalTid column (-1 for those that no row has)."""
        keys = [key & _PROCESS_BITS for key in global_ids.distinct]
        met = {key for key, used in zip(keys, global_ids.used(), strict=True) if used}
        if global_ids.lacking() is not None:
            met.add(UNKNOWN_PROCESS)
        self.processes.meet(met)
        return [self.processes.known.get(key, -1) for key in keys]

    def thread(self, global_tids: Codes) -> Int32Array:
        """Thread index of a globalTid column (-1 where there is none)."""
        return global_tids.mapped(self.threads_of(global_tids), -1)

    def threads_of(self, global_tids: Codes) -> list[int]:
        """Thread index of each distinct value of a globalTid column (-1 for those that no row has)."""
        tids = [tid for tid, used in zip(global_tids.distinct, global_tids.used(), strict=True) if used]
        self.processes.meet({tid & _PROCESS_BITS for tid in tids})
        return self.threads.indices(global_tids)

    def processes_of_pids(self, pids: Iterable[int | None]) -> list[int | None]:
        """Process index of plain process ids among the processes met so far; None where none or several have it."""
        by_pid: dict[int, list[int]] = {}
        for key, index in self.processes.known.items():
            by_pid.setdefault(pid_of(key), []).append(index)
        single = {pid: found[0] for pid, found in by_pid.items() if len(found) == 1}
        return [None if pid is None else single.get(pid) for pid in pids]

    def device(self, processes: Int32Array, device_ids: Codes) -> Int32Array:
        """Provisional device index: one per (process, device id); `physical devices` merges them later."""
        pairs = paired(Codes(processes, range(len(self.processes.known))), device_ids)
        keys = [(process << 32) + device for process, device in pairs.distinct]
        return self.devices.index(Codes(pairs.column, keys))

    def meet_contexts(self, devices: Int32Array, context_ids: Codes) -> None:
        """Remember on which device each context of each process works, by the first row that says so."""
        pairs = paired(Codes(devices, list(self.devices.known)), context_ids.filled(0))
        for code in pairs.in_order():
            key, context = pairs.distinct[code]
            self._contexts.setdefault((key >> 32, context), self.devices.known[key])

    def device_of_context(self, processes: Int32Array, context_ids: Codes) -> Int32Array:
        """Device of the context of each row, -1 where it did no work."""
        pairs = paired(Codes(processes, range(len(self.processes.known))), context_ids.filled(NO_CONTEXT))
        return pairs.mapped([self._contexts.get(pair, -1) for pair in pairs.distinct], -1)

    def enum(self, table: enums.EnumTable, numbers: Codes, default: int) -> npt.NDArray[np.int8]:
        """Our value for each number; missing and unknown numbers become `default`."""
        values = self._enum_values(table)
        return numbers.mapped([values.get(number, default) for number in numbers.distinct], default, np.int8)

    def _enum_values(self, table: enums.EnumTable) -> Mapping[int, int]:
        found = self._enums.get(table.name)
        if found is None:
            found = self._enums[table.name] = table.values(self._symbols(table.name))
        return found

    def _symbols(self, name: str) -> dict[int, str]:
        columns = self.source.tables.get(name, frozenset())
        if not {"id", "name"} <= columns:
            return {}
        rows = self.source.records(name, {**integers("id"), "name": "text"})
        return {number: symbol for number, symbol in rows if number is not None and symbol is not None}
