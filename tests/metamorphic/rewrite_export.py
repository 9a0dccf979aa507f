"""Copies of an nsys export that say the same in other words: shifted, shuffled, renamed, repeated, with bystanders."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Change = Callable[["Copy"], None]

TIMES = ("start", "end", "timestamp")
STRING_COLUMNS = ("nameId", "demangledName", "shortName", "mangledName", "textId", "jsonTextId")
PROCESS_COLUMNS = ("processId", "pid")
GLOBAL_COLUMNS = ("globalPid", "globalTid", "endGlobalTid")
OTHER_PID = 777_000
_THREAD_BITS = (1 << 24) - 1


class Copy:
    """All tables of an export in memory, to be changed and written back."""

    def __init__(self, source: Path) -> None:
        connection = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        connection.row_factory = sqlite3.Row
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.tables: dict[str, list[Row]] = {
            name: [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')]  # noqa: S608
            for name in names
        }
        connection.close()
        self._source = source

    def write(self, target: Path) -> Path:
        """The changed export; the schema stays."""
        shutil.copyfile(self._source, target)
        target.chmod(0o644)
        with sqlite3.connect(target) as connection:
            for name, rows in self.tables.items():
                connection.execute(f'DELETE FROM "{name}"')  # noqa: S608
                if rows:
                    columns = ", ".join(f'"{column}"' for column in rows[0])
                    marks = ", ".join("?" * len(rows[0]))
                    connection.executemany(
                        f'INSERT INTO "{name}" ({columns}) VALUES ({marks})',  # noqa: S608
                        [tuple(row.values()) for row in rows],
                    )
        connection.close()
        return target

    def event_tables(self) -> Iterable[list[Row]]:
        """Tables of things that happened, as against tables that describe the machine or the file."""
        for name, rows in self.tables.items():
            if not name.startswith(("TARGET_INFO", "META_DATA", "ENUM_", "ANALYSIS", "StringIds")):
                yield rows

    def change(self, columns: Iterable[str], new: Callable[[int], int]) -> None:
        """Replace the values of these columns wherever they appear; null stays null."""
        wanted = tuple(columns)
        for rows in self.tables.values():
            for column in [c for c in wanted if rows and c in rows[0]]:
                for row in rows:
                    if row[column] is not None:
                        row[column] = new(row[column])


def rewritten(source: Path, target: Path, *changes: Change) -> Path:
    """The export with every change applied."""
    copy = Copy(source)
    for change in changes:
        change(copy)
    return copy.write(target)


def shifted(by_ns: int) -> Change:
    """Every time later by the same amount. A time of 0 is none and stays."""
    return _times(lambda time: time + by_ns if time > 0 else time)


def scaled(factor: int) -> Change:
    """Every time multiplied."""
    return _times(lambda time: time * factor)


def _times(new: Callable[[int], int]) -> Change:
    def change(copy: Copy) -> None:
        for rows in copy.event_tables():
            for column in [c for c in TIMES if rows and c in rows[0]]:
                for row in rows:
                    if row[column] is not None:
                        row[column] = new(row[column])

    return change


def shuffled(seed: int) -> Change:
    """The rows of every table in another order: nsys promises none."""

    def change(copy: Copy) -> None:
        source = random.Random(seed)  # noqa: S311
        for rows in copy.tables.values():
            source.shuffle(rows)

    return change


def _permuted(copy: Copy, columns: tuple[str, ...], seed: int, *, spare: int = 0) -> Callable[[int], int]:
    """A permutation of the distinct positive values of the columns, moved up by `spare`."""
    found = {
        row[c] for rows in copy.tables.values() for row in rows for c in columns if c in row and row[c] is not None
    }
    values = sorted(value for value in found if 0 < value < (1 << 31) - 1)
    others = [value + spare for value in values]
    random.Random(seed).shuffle(others)  # noqa: S311
    renamed = dict(zip(values, others, strict=True))
    return lambda value: renamed.get(value, value)


def streams_renamed(copy: Copy) -> None:
    """Other stream ids, the null stream's too."""
    columns = ("streamId", "nullStreamId")
    copy.change(columns, _permuted(copy, columns, 1, spare=40))


def contexts_renamed(copy: Copy) -> None:
    """Other context ids."""
    columns = ("contextId", "srcContextId", "dstContextId")
    copy.change(columns, _permuted(copy, columns, 2, spare=5))


def correlations_renamed(copy: Copy) -> None:
    """Other correlation ids in the same order: CUPTI counts calls."""
    copy.change(("correlationId",), lambda value: 3 * value + 1_000 if value else value)


def events_renamed(copy: Copy) -> None:
    """Other CUDA event ids."""
    copy.change(("eventId",), _permuted(copy, ("eventId",), 3, spare=11))


def graph_nodes_renamed(copy: Copy) -> None:
    """Other graph node ids in the same order."""
    copy.change(("graphNodeId", "originalGraphNodeId"), lambda value: value + 4096 if value else value)


def strings_renamed(copy: Copy) -> None:
    """Other ids of the same strings."""
    renamed = _permuted(copy, (*STRING_COLUMNS, "id"), 4)
    for row in copy.tables["StringIds"]:
        row["id"] = renamed(row["id"])
    columns = STRING_COLUMNS
    copy.change(columns, renamed)


def new_pid(pid: int) -> int:
    """What `processes_renamed` makes of a process id."""
    return 2 * pid + 5_000


def new_tid(tid: int) -> int:
    """What `processes_renamed` makes of a thread id."""
    return 2 * tid + 5_000


def processes_renamed(copy: Copy) -> None:
    """Other process and thread ids."""

    def anew(key: int) -> int:
        pid, tid = key >> 24 & _THREAD_BITS, key & _THREAD_BITS
        machine = key - (pid << 24) - tid
        return machine + (new_pid(pid) << 24) + (new_tid(tid) if tid else 0)

    copy.change(GLOBAL_COLUMNS, anew)
    copy.change(PROCESS_COLUMNS, new_pid)


def idle_device(copy: Copy) -> None:
    """One more GPU in the machine on which nothing runs."""
    gpus = copy.tables["TARGET_INFO_GPU"]
    last = max(gpus, key=lambda row: row["id"])
    gpus.append({**last, "id": last["id"] + 1, "cuDevice": last["cuDevice"] + 1, "uuid": "another-gpu"})


def busy_bystander(copy: Copy) -> None:
    """A process that makes the same calls at the same times with the same correlation ids, and owns no device work."""
    calls = copy.tables.get("CUPTI_ACTIVITY_KIND_RUNTIME", [])  # a program may call nothing
    calls += [{**row, "globalTid": _of_bystander(row["globalTid"])} for row in calls]


def _of_bystander(key: int) -> int:
    pid = key >> 24 & _THREAD_BITS
    return key + ((OTHER_PID - pid) << 24)


def twin(copy: Copy) -> None:
    """A second process does the same on a second GPU at the same time, as ranks under one nsys do."""
    idle_device(copy)
    for rows in copy.event_tables():
        rows += [_of_twin(row) for row in rows]
    for name in ("TARGET_INFO_CUDA_STREAM", "TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_NULL_STREAM"):
        rows = copy.tables.get(name, [])
        rows += [_of_twin(row) for row in rows]


def _of_twin(row: Row) -> Row:
    """Device 0 of the first process becomes device 1 of the other one."""
    keys = {c: _of_bystander(row[c]) for c in GLOBAL_COLUMNS if row.get(c)}
    pids = {c: OTHER_PID for c in PROCESS_COLUMNS if row.get(c)}
    devices = {c: 1 for c in ("deviceId", "srcDeviceId", "dstDeviceId") if row.get(c) == 0}
    return {**row, **keys, **pids, **devices}


def repeated(copy: Copy) -> None:
    """Everything once more, behind the end of the first time."""
    times = [row[c] for rows in copy.event_tables() for row in rows for c in TIMES if c in row and row[c] is not None]
    apart = max(times) - min(time for time in times if time > 0)
    correlations = [row["correlationId"] or 0 for rows in copy.event_tables() for row in rows if "correlationId" in row]
    ahead = max(correlations, default=0) + 1
    for rows in copy.event_tables():
        rows += [_again(row, apart, ahead) for row in rows if not _describes(row)]


def _describes(row: Row) -> bool:
    """Rows that name something (a domain, a thread) and do not happen."""
    return not any(c in row for c in (*TIMES, "correlationId")) or row.get("eventType") == 75


def _again(row: Row, apart: int, ahead: int) -> Row:
    later = {c: row[c] + apart for c in TIMES if row.get(c)}
    return {**row, **later, **({"correlationId": row["correlationId"] + ahead} if row.get("correlationId") else {})}
