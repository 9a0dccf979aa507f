"""Everything that occupied a device, as one table."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Column
from stallscope.model.events import Copies, DeviceSpan, GraphRuns, Kernels, Memsets
from stallscope.model.names import Names
from stallscope.model.trace import Trace

# Kernels whose job is to move data between GPUs. nccl* as in NVIDIA's own recipes; the rest are the communication
# kernels of NVSHMEM, DeepEP, torch symmetric memory, vLLM / TensorRT-LLM / FlashInfer custom all-reduce and RCCL.
COMMUNICATION = (
    r"(?i)^(void )?(nccl|rccl|ncclSymk|nvshmem|deep_ep|msccl)|ncclDevKernel|ncclKernel|deep_ep::"
    r"|cross_device_reduce|allreduce_fusion|custom_all_?reduce|(one|two)_shot_all_?reduce|multimem_all_reduce"
)


class OperationKind(IntEnum):
    """What an operation is to the ledger."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    MEMSET = 3
    GRAPH = 4


class Operations(DeviceSpan):
    """Kernels, copies, memsets and whole graph runs, sorted by (device, start)."""

    kind = Column(np.int8, "OperationKind")
    row = Column(np.int64, "row in the table the operation comes from (Kernels, Copies, Memsets, GraphRuns)")
    name = Column(np.int32, "kernel name; 0 for other operations")


def operations(trace: Trace) -> Operations:
    """Merge the tables that occupy a device; unified-memory migrations are not among them."""
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in Operations.COLUMNS}
    for table, kind in (
        (Kernels, OperationKind.COMPUTE),
        (Copies, OperationKind.COPY),
        (Memsets, OperationKind.MEMSET),
        (GraphRuns, OperationKind.GRAPH),
    ):
        found: DeviceSpan | None = trace.table(table)
        if found is None or not len(found):
            continue
        for name in DeviceSpan.COLUMNS:
            parts[name].append(found.array(name))
        kinds = np.full(len(found), kind, np.int8)
        names = np.zeros(len(found), np.int32)
        if isinstance(found, Kernels):
            names = found.name
            kinds[communication(trace.names)[names]] = OperationKind.COMMUNICATION
        parts["kind"].append(kinds)
        parts["row"].append(np.arange(len(found)))
        parts["name"].append(names)
    if not parts["kind"]:
        return Operations.empty()
    columns = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    order = np.lexsort((columns["end_ns"], columns["start_ns"], columns["device"]))
    return Operations.of(**{name: array[order] for name, array in columns.items()})


def communication(names: Names) -> npt.NDArray[np.bool_]:
    """Which distinct kernel names are communication."""
    return names.matching(COMMUNICATION)
