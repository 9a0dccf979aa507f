"""Steps that every event table shares: drop rows without usable times, sort, give ids their dense index."""

from __future__ import annotations

import polars as pl

from stallscope.ingest.limits import TIME_NS
from stallscope.ingest.nsys_registry import Registry

NO_TIME, BACKWARDS, NO_DEVICE, NO_THREAD, IMPOSSIBLE = (
    "no timestamp",
    "end before start",
    "no device",
    "no thread",
    "impossible timestamp",
)

_MOST_DEVICES = 1 << 16


def device_spans(registry: Registry, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a device activity with usable times and a device, plus `process` and `device`, sorted by start."""
    return with_device(registry, table, spans(registry, table, rows))


def spans(registry: Registry, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a CUPTI activity with usable times, sorted by start.

    CUPTI writes 0 where it could not collect a timestamp, so a row at or before 0 has no time, unless the export
    shifted its clock.
    """
    floor = pl.col("start").is_null() | pl.col("end").is_null()
    zero = (pl.col("start") == 0) & (pl.col("end") == 0)
    timeless = floor | (zero if registry.clock_shifted else (pl.col("start") <= 0) | (pl.col("end") <= 0))
    return _sorted(_forwards(registry, table, _without(registry, table, rows, NO_TIME, timeless)))


def with_device(registry: Registry, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that name a device, with `process` and `device`; CUPTI writes 2^31 - 1 for "on the host"."""
    nowhere = pl.col("deviceId").is_null() | ~pl.col("deviceId").is_between(0, _MOST_DEVICES)
    rows = _without(registry, table, rows, NO_DEVICE, nowhere)
    process = registry.process(rows.get_column("globalPid")).alias("process")
    device = registry.device(process, rows.get_column("deviceId")).alias("device")
    return rows.with_columns(process, device)


def host_spans(registry: Registry, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a host activity with usable times and a thread, plus `thread`, sorted by start."""
    timeless = pl.col("start").is_null() | pl.col("end").is_null()
    timeless = timeless | ((pl.col("start") == 0) & (pl.col("end") == 0))
    rows = _forwards(registry, table, _without(registry, table, rows, NO_TIME, timeless))
    return _sorted(with_thread(registry, table, rows))


def with_thread(registry: Registry, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that name a thread, with `thread`."""
    rows = _without(registry, table, rows, NO_THREAD, pl.col("globalTid").is_null())
    return rows.with_columns(registry.thread(rows.get_column("globalTid")).alias("thread"))


def timed(registry: Registry, table: str, rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows of an instant event that has a time, sorted by it."""
    rows = _without(registry, table, rows, NO_TIME, pl.col(column).is_null())
    return _without(registry, table, rows, IMPOSSIBLE, _beyond(column)).sort(column, maintain_order=True)


def _forwards(registry: Registry, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    rows = _without(registry, table, rows, BACKWARDS, pl.col("end") < pl.col("start"))
    return _without(registry, table, rows, IMPOSSIBLE, _beyond("start") | _beyond("end"))


def _beyond(column: str) -> pl.Expr:
    return ~pl.col(column).is_between(-TIME_NS, TIME_NS, closed="none")


def _without(registry: Registry, table: str, rows: pl.DataFrame, reason: str, bad: pl.Expr) -> pl.DataFrame:
    flags = rows.select(bad.alias("bad")).get_column("bad")
    if not flags.any():
        return rows
    registry.quality.drop(table, reason, int(flags.sum()))
    return rows.filter(~flags)


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    if rows.get_column("start").is_sorted():
        return rows
    return rows.sort("start", maintain_order=True)


def zero_if_null(name: str) -> pl.Expr:
    """The column with 0 for null."""
    return pl.col(name).fill_null(0)


def latest(times: pl.Series) -> int:
    """Greatest value of a time column; 0 when it has none."""
    found = times.drop_nulls().to_numpy()
    return int(found.max()) if found.size else 0
