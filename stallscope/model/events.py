"""The events of a trace as typed tables.

Times are int64 nanoseconds on the trace clock, spans are half-open `[start_ns, end_ns)`. `device`, `process`, `thread`
and `name` index `Trace.devices`, `.processes`, `.threads` and `.names`. Rows are sorted by `start_ns` unless a table
says otherwise. Enum columns hold the values of the enums below, whatever numbers the exporter used.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Column, Table


class CopyKind(IntEnum):
    """Direction of a copy."""

    UNKNOWN = 0
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3
    HOST_TO_HOST = 4
    PEER_TO_PEER = 5


class MemoryKind(IntEnum):
    """Where one side of a copy, memset or allocation lives."""

    UNKNOWN = 0
    PAGEABLE = 1
    PINNED = 2
    DEVICE = 3
    ARRAY = 4
    MANAGED = 5


class MigrationCause(IntEnum):
    """Why unified memory moved pages."""

    UNKNOWN = 0
    USER_PREFETCH = 1
    PAGE_FAULT = 2
    SPECULATIVE = 3
    EVICTION = 4
    ACCESS_COUNTERS = 5


class SyncKind(IntEnum):
    """What a synchronization record waited for."""

    UNKNOWN = 0
    EVENT = 1
    STREAM_WAIT_EVENT = 2
    STREAM = 3
    CONTEXT = 4


class OverheadKind(IntEnum):
    """What an overhead record stands for; only PROFILER is the tool's own cost."""

    PROFILER = 0
    JIT = 1
    MODULE_LOADING = 2
    LAZY_LOADING = 3
    COMMAND_BUFFER_FULL = 4
    UNNAMED = 5
    """The driver's own work of a kind that the exporter had no name for."""


class StreamFlag(IntEnum):
    """How a stream was created."""

    UNKNOWN = 0
    BLOCKING = 1
    NON_BLOCKING = 2
    NULL = 3


class Span(Table):
    """Anything with a start and an end."""

    start_ns = Column(np.int64, "start, trace clock")
    end_ns = Column(np.int64, "end (exclusive), trace clock")


class DeviceSpan(Span):
    """Work that occupied a device."""

    device = Column(np.int32, "index into Trace.devices")
    process = Column(np.int32, "index into Trace.processes")
    context = Column(np.int64, "CUDA context id")
    stream = Column(np.int64, "CUDA stream id, unique within a context")
    correlation = Column(np.int64, "CUPTI correlation id, unique within a process; 0 = no launch known")


class Kernels(DeviceSpan):
    """Kernel executions (CUPTI_ACTIVITY_KIND_KERNEL)."""

    name = Column(np.int32, "short name")
    full_name = Column(np.int32, "demangled name, or the short one where that is missing")
    grid_x = Column(np.int32, "blocks in x")
    grid_y = Column(np.int32, "blocks in y")
    grid_z = Column(np.int32, "blocks in z")
    block_x = Column(np.int32, "threads in x")
    block_y = Column(np.int32, "threads in y")
    block_z = Column(np.int32, "threads in z")
    registers = Column(np.int32, "registers a thread; 0 = not recorded")
    shared_bytes = Column(np.int64, "static + dynamic shared memory a block, bytes")
    local_bytes = Column(np.int64, "local memory a thread, bytes")
    graph_node = Column(np.int64, "graph node id; 0 = not from a graph")

    @property
    def blocks(self) -> npt.NDArray[np.int64]:
        """Thread blocks of each grid."""
        found = self.read("grid_x").astype(np.int64)
        for name in ("grid_y", "grid_z"):
            found *= self.read(name)
        return found


class Collectives(Table):
    """What the framework or the communication library recorded about its kernels, sorted by `kernel` (one row each)."""

    kernel = Column(np.int64, "row in Kernels")
    operation = Column(np.int32, "name of the collective, e.g. allreduce")
    communicator = Column(np.int32, "name of the process group or communicator, the same on all its ranks")
    members = Column(np.int32, "ranks of the group as text, e.g. 0,1,2,3; empty = not recorded")
    sequence = Column(np.int64, "sequence number within the communicator; -1 = not recorded")
    bytes = Column(np.int64, "payload of this rank, the larger of input and output; -1 = not recorded")
    group_size = Column(np.int32, "number of ranks in the group; 0 = not recorded")
    source = Column(np.int32, "sending rank of a point-to-point operation; -1 = none")
    target = Column(np.int32, "receiving rank of a point-to-point operation; -1 = none")


class Copies(DeviceSpan):
    """Copies that a stream executed (CUPTI_ACTIVITY_KIND_MEMCPY without unified-memory migrations)."""

    bytes = Column(np.int64, "bytes moved")
    kind = Column(np.int8, "CopyKind")
    source_kind = Column(np.int8, "MemoryKind of the source")
    target_kind = Column(np.int8, "MemoryKind of the destination")
    graph_node = Column(np.int64, "graph node id; 0 = not from a graph")


class Migrations(Span):
    """Unified-memory page migrations: evidence, not work of a stream."""

    device = Column(np.int32, "index into Trace.devices")
    process = Column(np.int32, "index into Trace.processes")
    bytes = Column(np.int64, "bytes moved")
    kind = Column(np.int8, "CopyKind")
    cause = Column(np.int8, "MigrationCause")
    address = Column(np.int64, "virtual address; 0 = not recorded")


class Memsets(DeviceSpan):
    """Device-side fills."""

    bytes = Column(np.int64, "bytes set")


class GraphRuns(DeviceSpan):
    """Whole CUDA-graph executions (graph-level trace: the nodes inside are invisible)."""

    graph = Column(np.int64, "graph id")


class ApiCalls(Span):
    """CUDA runtime and driver calls on host threads; driver rows may nest inside runtime rows."""

    process = Column(np.int32, "index into Trace.processes")
    thread = Column(np.int32, "index into Trace.threads")
    correlation = Column(np.int64, "CUPTI correlation id, unique within a process; 0 = none")
    name = Column(np.int32, "call without its ABI suffix, e.g. cudaLaunchKernel")
    result = Column(np.int32, "CUDA error code returned")


class Syncs(Span):
    """Synchronization records; host waits lie inside the API call of the same correlation."""

    device = Column(np.int32, "index into Trace.devices")
    process = Column(np.int32, "index into Trace.processes")
    context = Column(np.int64, "CUDA context id")
    stream = Column(np.int64, "stream waited on or held; -1 = none")
    correlation = Column(np.int64, "CUPTI correlation id; 0 = none")
    kind = Column(np.int8, "SyncKind")
    event = Column(np.int64, "event id; -1 = none")
    event_sync = Column(np.int64, "eventSyncId that links a wait to its record; 0 = not recorded")


class EventRecords(Table):
    """cudaEventRecord activities."""

    process = Column(np.int32, "index into Trace.processes")
    context = Column(np.int64, "CUDA context id")
    stream = Column(np.int64, "stream the event was recorded on")
    correlation = Column(np.int64, "CUPTI correlation id; 0 = none")
    event = Column(np.int64, "event id")
    event_sync = Column(np.int64, "eventSyncId; 0 = not recorded")
    time_ns = Column(np.int64, "completion on the device; 0 = not collected")


FRAMEWORK_DOMAINS = r"^(operator|python)$"
"""Domains of ranges that a profiler recorded by itself (PyTorch operators, Python frames), not a person."""


class NvtxRanges(Span):
    """User NVTX ranges of one thread (push/pop, and start/end that end on the thread they began on)."""

    thread = Column(np.int32, "index into Trace.threads")
    name = Column(np.int32, "range text")
    domain = Column(np.int32, "domain name; the empty name is the default domain")


class CrossThreadRanges(Span):
    """NVTX start/end ranges that began and ended on different threads."""

    thread = Column(np.int32, "thread that started the range")
    end_thread = Column(np.int32, "thread that ended it")
    name = Column(np.int32, "range text")


class GilSpans(Span):
    """Python GIL trace."""

    thread = Column(np.int32, "index into Trace.threads")
    waiting = Column(np.bool_, "true = waiting for the GIL, false = holding it")


class OsCalls(Span):
    """OS-runtime calls (OSRT_API): blocking libc functions on host threads."""

    thread = Column(np.int32, "index into Trace.threads")
    name = Column(np.int32, "function, e.g. pthread_cond_wait")


class SchedSpans(Span):
    """Spans in which a thread was off the CPU."""

    thread = Column(np.int32, "index into Trace.threads")


class Overheads(Span):
    """Profiler and driver overhead records."""

    process = Column(np.int32, "index into Trace.processes")
    thread = Column(np.int32, "index into Trace.threads")
    kind = Column(np.int8, "OverheadKind")
    correlation = Column(np.int64, "CUPTI correlation id; 0 = none")


class GpuFaults(Span):
    """Unified-memory faults raised by the GPU: one fault group and its service window."""

    device = Column(np.int32, "index into Trace.devices")
    process = Column(np.int32, "index into Trace.processes")
    address = Column(np.int64, "virtual address")
    faults = Column(np.int64, "page faults in the group")


class CpuFaults(Table):
    """Unified-memory faults raised by the CPU."""

    time_ns = Column(np.int64, "when the fault was raised, trace clock")
    process = Column(np.int32, "index into Trace.processes")
    address = Column(np.int64, "virtual address")


class MemoryEvents(Table):
    """Allocations and frees (needs `--cuda-memory-usage=true`)."""

    time_ns = Column(np.int64, "when, trace clock")
    process = Column(np.int32, "index into Trace.processes")
    device = Column(np.int32, "index into Trace.devices")
    address = Column(np.int64, "virtual address")
    bytes = Column(np.int64, "size")
    kind = Column(np.int8, "MemoryKind")
    is_free = Column(np.bool_, "false = allocation, true = free")
    correlation = Column(np.int64, "CUPTI correlation id; 0 = none")
    pool = Column(np.int64, "memory pool address; 0 = not from a pool")
    pool_threshold_bytes = Column(np.int64, "release threshold of the pool; -1 = not recorded")
    pool_bytes = Column(np.int64, "memory the pool holds after the event; -1 = not recorded")
    pool_used_bytes = Column(np.int64, "memory in use of the pool after the event; -1 = not recorded")


class PoolTrims(Table):
    """Memory pools that gave memory back."""

    time_ns = Column(np.int64, "when, trace clock")
    process = Column(np.int32, "index into Trace.processes")


class HostCallbacks(Span):
    """Host functions a stream ran (cudaLaunchHostFunc, host nodes)."""

    process = Column(np.int32, "index into Trace.processes")
    context = Column(np.int64, "CUDA context id")
    stream = Column(np.int64, "CUDA stream id")


class ContextSwitches(Table):
    """GPU context switches between processes."""

    time_ns = Column(np.int64, "when, trace clock")
    device = Column(np.int32, "index into Trace.devices")
    process = Column(np.int32, "index into Trace.processes of the context that gained or lost the GPU")
    gained = Column(np.bool_, "true = restored, false = saved")


class GpuMetrics(Table):
    """Sampled hardware counters."""

    time_ns = Column(np.int64, "sample time, trace clock")
    device = Column(np.int32, "index into Trace.devices")
    metric = Column(np.int32, "metric name")
    value = Column(np.float64, "value in the metric's own unit")


class Streams(Table):
    """How streams were created."""

    process = Column(np.int32, "index into Trace.processes")
    context = Column(np.int64, "CUDA context id")
    stream = Column(np.int64, "CUDA stream id")
    flag = Column(np.int8, "StreamFlag")
    priority = Column(np.int32, "stream priority")
