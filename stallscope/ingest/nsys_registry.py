"""Dense indices for the names, processes, threads and devices of one export, handed out while its tables are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_source import ExportSource, Kind, constant, integers
from stallscope.ingest.progress import Progress, silent
from stallscope.model.names import Names

_PROCESS_BITS = -1 << 24
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


def mapped(
    column: pl.Series,
    old: Sequence[object] | pl.Series,
    new: Sequence[int],
    default: int | None,
    *,
    narrow: bool = False,
) -> pl.Series:
    """The column with each old value replaced by its new one, every other value and null by the default."""
    dtype = pl.Int8() if narrow else pl.Int32()
    if not len(old) or column.is_empty():
        return constant(column.name, default, dtype, len(column))
    replaced: pl.Series = column.replace_strict(old, new, default=default, return_dtype=dtype)
    if default is not None:
        replaced = replaced.fill_null(default)
    return replaced


class Keys:
    """Distinct 64-bit keys in the order of their first appearance."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def index(self, keys: pl.Series) -> pl.Series:
        """Dense index of every key (null stays null)."""
        distinct = keys.drop_nulls().unique().sort()
        for key in distinct:
            self.known.setdefault(key, len(self.known))
        return mapped(keys, distinct, [self.known[key] for key in distinct], None)


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

    def of_texts(self, texts: pl.Series, without: str | None = None) -> pl.Series:
        """Name ids of a text column, the parts that match `without` cut out; null becomes the empty name."""
        distinct = texts.drop_nulls().unique(maintain_order=True)
        kept = distinct if without is None else distinct.str.replace_all(without, "")
        dense = [self.intern(text) for text in kept]
        return mapped(texts, distinct, dense, 0)

    def of_ids(self, ids: pl.Series, *, api: bool = False) -> pl.Series:
        """Name ids of a StringIds column, call names without their ABI suffix; null and unknown ids become ''."""
        distinct = ids.drop_nulls().unique(maintain_order=True)
        texts = self._resolve(distinct)
        dense = [self.intern(schema.api_name(text) if api else text) for text in texts]
        return mapped(ids, distinct, dense, 0)

    def names(self) -> Names:
        """All texts met so far."""
        return Names(self._known)

    def _resolve(self, ids: Iterable[int]) -> list[str]:
        wanted = list(ids)
        self._texts.update(self._source.strings(i for i in wanted if i not in self._texts))
        return [self._texts.get(i, "") for i in wanted]


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
        self._enums: dict[str, dict[int, int]] = {}

    def table(self, wanted: tuple[str, ...]) -> str | None:
        """Actual name of a table in this export."""
        return schema.actual(self.source.tables, wanted)

    def read(self, table: str, columns: Mapping[str, Kind]) -> pl.DataFrame:
        """The wanted columns of a table, announced to whoever watches the progress."""
        self._progress(f"reading {table}", self._share())
        rows = self.source.read(table, columns)
        self._read.add(table)
        return rows

    def _share(self) -> float:
        total = sum(self._weights.values())
        return sum(self._weights.get(table, 0) for table in self._read) / total if total else 0.0

    def process(self, global_pids: pl.Series) -> pl.Series:
        """Process index of a globalPid or globalTid column; a missing id is the unknown process."""
        keys = global_pids.fill_null(UNKNOWN_PROCESS).to_numpy() & _PROCESS_BITS
        return self.processes.index(pl.Series(global_pids.name, keys))

    def thread(self, global_tids: pl.Series) -> pl.Series:
        """Thread index of a globalTid column (null stays null)."""
        self.process(global_tids.drop_nulls().unique())
        return self.threads.index(global_tids)

    def processes_of_pids(self, pids: pl.Series) -> pl.Series:
        """Process index of plain process ids among the processes met so far; null where none or several have it."""
        by_pid: dict[int, list[int]] = {}
        for key, index in self.processes.known.items():
            by_pid.setdefault(pid_of(key), []).append(index)
        single = {pid: found[0] for pid, found in by_pid.items() if len(found) == 1}
        return mapped(pids, list(single), list(single.values()), None)

    def device(self, processes: pl.Series, device_ids: pl.Series) -> pl.Series:
        """Provisional device index: one per (process, device id); `physical devices` merges them later."""
        keys = (processes.cast(pl.Int64) * (1 << 32)) + device_ids
        return self.devices.index(keys)

    def enum(self, table: enums.EnumTable, numbers: pl.Series, default: int) -> pl.Series:
        """Our value for each number; null and unknown numbers become `default`."""
        values = self._enum_values(table)
        return mapped(numbers, list(values), list(values.values()), default, narrow=True)

    def _enum_values(self, table: enums.EnumTable) -> Mapping[int, int]:
        found = self._enums.get(table.name)
        if found is None:
            found = self._enums[table.name] = table.values(self._symbols(table.name))
        return found

    def _symbols(self, name: str) -> dict[int, str]:
        columns = self.source.tables.get(name, frozenset())
        if not {"id", "name"} <= columns:
            return {}
        rows = self.source.read(name, {**integers("id"), "name": "text"})
        return dict(rows.drop_nulls().iter_rows())
