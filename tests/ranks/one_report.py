"""Many ranks in one report, as `nsys profile torchrun …` writes it: one process and one device a rank, one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from stallscope.model.columns import Table
from stallscope.model.events import Collectives
from stallscope.model.trace import Device, Process, Thread, Trace

SHIFTED = ("device", "process", "thread")


def one_report(traces: Sequence[Trace]) -> Trace:
    """The traces of a simulated run together; records of collectives are not kept, as in Nsight Systems reports."""
    kinds = [kind for kind in traces[0].tables if kind is not Collectives]
    return replace(
        traces[0],
        source=msgspec.structs.replace(traces[0].source, name="all.sqlite", rank=None),
        devices=tuple(Device(f"GPU {i}", f"GPU-{i}", "NVIDIA H200", sm_count=132) for i in range(len(traces))),
        processes=tuple(Process(100 + i) for i in range(len(traces))),
        threads=tuple(Thread(i, 100 + i) for i in range(len(traces))),
        tables={kind: _joined(kind, traces) for kind in kinds},
    )


def _joined(kind: type[Table], traces: Sequence[Trace]) -> Table:
    tables = [trace.table(kind) for trace in traces]
    columns = {
        name: np.concatenate(
            [t.array(name) + (i if name in SHIFTED else 0) for i, t in enumerate(tables) if t is not None]
        )
        for name in kind.COLUMNS
    }
    order = np.argsort(columns["start_ns"], kind="stable")
    return kind.of(**{name: values[order] for name, values in columns.items()})
