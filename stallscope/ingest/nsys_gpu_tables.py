"""Samples and switches that belong to a physical GPU: hardware counters and context switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.export_codes import Codes
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.nsys_registry import FOREIGN_PROCESS, Registry
from stallscope.ingest.nsys_rows import NOWHERE, Int32Array, timed
from stallscope.ingest.nsys_source import PlainKind, integers, wanted
from stallscope.model import events

_GPU_BITS = 0xFF
_OTHER_TAG = -1


def gpu_metrics(registry: Registry, table: str, device_of: Mapping[int, int]) -> events.GpuMetrics:
    """Samples of the GPUs that the trace uses; the low byte of a type id is the GPU's id."""
    columns = {**wanted("int", "timestamp"), **wanted("key", "typeId", "metricId"), **wanted("float", "value")}
    rows = timed(registry, table, registry.rows(table, columns), "timestamp")
    lacking = (rows.missing("value"), rows.codes("typeId").lacking(), rows.codes("metricId").lacking())
    incomplete = [mask for mask in lacking if mask is not None]
    rows = rows.only(~np.logical_or.reduce(incomplete)) if incomplete else rows
    types = rows.codes("typeId")
    rows, device = _placed(rows, types, [kind & _GPU_BITS for kind in types.distinct], device_of)
    return events.GpuMetrics.lazily(
        len(rows),
        time_ns=rows.later("timestamp"),
        device=device,
        metric=_metric(registry, rows.codes("typeId"), rows.codes("metricId")),
        value=rows.later("value"),
    )


def context_switches(registry: Registry, table: str, device_of: Mapping[int, int]) -> events.ContextSwitches:
    """Switches of the GPUs that the trace uses; a context of no traced process has pid 0."""
    columns = {**wanted("int", "timestamp", "seqNo"), **wanted("key", "tag", "globalPid", "gpuId")}
    rows = timed(registry, table, registry.rows(table, columns).sorted_by("seqNo"), "timestamp")
    rows = rows.only(registry.enum(enums.CONTEXT_SWITCH, rows.codes("tag"), _OTHER_TAG) != _OTHER_TAG)
    gpus = rows.codes("gpuId")
    rows, device = _placed(rows, gpus, gpus.distinct, device_of)
    return events.ContextSwitches.lazily(
        len(rows),
        time_ns=rows.later("timestamp"),
        device=device,
        process=registry.process(rows.codes("globalPid").filled(FOREIGN_PROCESS)),
        gained=registry.enum(enums.CONTEXT_SWITCH, rows.codes("tag"), _OTHER_TAG) == enums.RESTORED,
    )


def _placed(rows: Rows, gpus: Codes, ids: Sequence[int], device_of: Mapping[int, int]) -> tuple[Rows, Int32Array]:
    """The rows whose GPU the trace uses, and its device; `ids` are the GPU ids behind the codes of `gpus`."""
    used = {ids[code] for code in gpus.in_order()}
    if len(device_of) == 1 and len(used) <= 1:
        return rows, np.full(len(rows), next(iter(device_of.values())), np.int32)
    device = gpus.mapped([device_of.get(number, NOWHERE) for number in ids], NOWHERE)
    known = device != NOWHERE
    return rows.only(known), device[known]


def _metric(registry: Registry, types: Codes, metrics: Codes) -> Int32Array:
    """Name of the metric of each sample; a metric that no table names has the empty name."""
    named = _metric_names(registry)
    names = [[named.get((kind, metric), 0) for metric in metrics.distinct] for kind in types.distinct]
    table = np.asarray(names, np.int32).reshape(len(types.distinct), len(metrics.distinct))
    found: Int32Array = table[types.codes, metrics.codes]
    return found


def _metric_names(registry: Registry) -> dict[tuple[int, int], int]:
    table = registry.table(schema.GPU_METRIC_NAMES)
    if table is None:
        return {}
    text: dict[str, PlainKind] = {"metricName": "text"}
    rows = registry.records(table, {**integers("typeId", "metricId"), **text})
    found: dict[tuple[int, int], int] = {}
    for kind, metric, name in rows:
        found.setdefault((kind, metric), registry.names.intern(name or ""))
    return found
