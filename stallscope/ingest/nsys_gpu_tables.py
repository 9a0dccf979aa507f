"""Samples and switches that belong to a physical GPU: hardware counters and context switches."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_registry import FOREIGN_PROCESS, Registry, mapped
from stallscope.ingest.nsys_rows import timed
from stallscope.ingest.nsys_source import constant, integers

Frame = pl.DataFrame

_GPU_BITS = 0xFF


def gpu_metrics(registry: Registry, table: str, device_of: Mapping[int, int]) -> Frame:
    """Columns of `GpuMetrics` for the GPUs that the trace uses; the low byte of a type id is the GPU's id."""
    rows = registry.read(table, {**integers("timestamp", "typeId", "metricId"), "value": "float"})
    rows = timed(registry, table, rows, "timestamp").drop_nulls(["typeId", "metricId", "value"])
    rows = rows.with_columns(_device(rows.get_column("typeId") & _GPU_BITS, device_of)).drop_nulls("device")
    names = _metric_names(registry)
    rows = rows.join(names, on=["typeId", "metricId"], how="left", maintain_order="left")
    return rows.select(pl.col("timestamp").alias("time_ns"), "device", pl.col("metric").fill_null(0), "value")


def context_switches(registry: Registry, table: str, device_of: Mapping[int, int]) -> Frame:
    """Columns of `ContextSwitches` for the GPUs that the trace uses; a context of no traced process has pid 0."""
    rows = registry.read(table, integers("timestamp", "tag", "seqNo", "globalPid", "gpuId"))
    rows = timed(registry, table, rows.sort("seqNo", maintain_order=True), "timestamp")
    tag = registry.enum(enums.CONTEXT_SWITCH, rows.get_column("tag"), -1).alias("tag")
    rows = rows.with_columns(tag, _device(rows.get_column("gpuId"), device_of)).filter(pl.col("tag") != -1)
    rows = rows.drop_nulls("device")
    process = registry.process(rows.get_column("globalPid").fill_null(FOREIGN_PROCESS)).alias("process")
    return rows.with_columns(process).select(
        pl.col("timestamp").alias("time_ns"), "device", "process", (pl.col("tag") == enums.RESTORED).alias("gained")
    )


def _device(gpu_ids: pl.Series, device_of: Mapping[int, int]) -> pl.Series:
    if len(device_of) == 1 and gpu_ids.drop_nulls().n_unique() <= 1:
        return constant("device", next(iter(device_of.values())), pl.Int32(), len(gpu_ids))
    return mapped(gpu_ids, list(device_of), list(device_of.values()), None).alias("device")


def _metric_names(registry: Registry) -> Frame:
    table = registry.table(schema.GPU_METRIC_NAMES)
    if table is None:
        return pl.DataFrame(schema={"typeId": pl.Int64, "metricId": pl.Int64, "metric": pl.Int32})
    rows = registry.read(table, {**integers("typeId", "metricId"), "metricName": "text"})
    metric = registry.names.of_texts(rows.get_column("metricName")).alias("metric")
    return rows.with_columns(metric).drop("metricName").unique(["typeId", "metricId"], keep="first")
