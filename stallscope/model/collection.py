"""Which export table a typed table comes from, and the flag that collects it."""

from __future__ import annotations

from collections.abc import Mapping

from stallscope.model import events
from stallscope.model.columns import Table
from stallscope.model.trace import Trace

_CUDA = "profile with --trace=cuda"
_UVM = "profile with --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true (in an own run: it slows faults)"

FLAGS: Mapping[type[Table], str] = {
    events.Kernels: _CUDA,
    events.Collectives: "use PyTorch 2.4 or newer, whose profiler records collectives",
    events.Copies: _CUDA,
    events.Migrations: _CUDA,
    events.Memsets: _CUDA,
    events.GraphRuns: "profile with --cuda-graph-trace=graph and nsys 2024.1 or newer, or --cuda-graph-trace=node",
    events.ApiCalls: _CUDA,
    events.Syncs: _CUDA,
    events.EventRecords: "profile with --cuda-event-trace=true (in a run of its own: it can add dependencies)",
    events.NvtxRanges: "profile with --trace=cuda,nvtx and annotate the program with NVTX ranges",
    events.CrossThreadRanges: "profile with --trace=cuda,nvtx",
    events.GilSpans: "profile with --trace=cuda,nvtx,python-gil",
    events.OsCalls: "profile with --trace=cuda,nvtx,osrt",
    events.SchedSpans: "profile with --cpuctxsw=process-tree",
    events.Overheads: _CUDA,
    events.GpuFaults: _UVM,
    events.CpuFaults: _UVM,
    events.MemoryEvents: "profile with --cuda-memory-usage=true",
    events.PoolTrims: "profile with --cuda-memory-usage=true",
    events.HostCallbacks: "profile with nsys 2025.6 or newer and --trace=cuda",
    events.ContextSwitches: "profile with --gpuctxsw=true",
    events.GpuMetrics: "profile with --gpu-metrics-devices=all (needs permission for GPU counters)",
    events.Streams: _CUDA,
}

_NSYS: Mapping[type[Table], str] = {
    events.Kernels: "CUPTI_ACTIVITY_KIND_KERNEL",
    events.Collectives: "NVTX_EVENTS",
    events.Copies: "CUPTI_ACTIVITY_KIND_MEMCPY",
    events.Migrations: "CUPTI_ACTIVITY_KIND_MEMCPY",
    events.Memsets: "CUPTI_ACTIVITY_KIND_MEMSET",
    events.GraphRuns: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    events.ApiCalls: "CUPTI_ACTIVITY_KIND_RUNTIME",
    events.Syncs: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    events.EventRecords: "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    events.NvtxRanges: "NVTX_EVENTS",
    events.CrossThreadRanges: "NVTX_EVENTS",
    events.GilSpans: "NVTX_EVENTS",
    events.OsCalls: "OSRT_API",
    events.SchedSpans: "SCHED_EVENTS",
    events.Overheads: "PROFILER_OVERHEAD",
    events.GpuFaults: "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    events.CpuFaults: "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
    events.MemoryEvents: "CUDA_GPU_MEMORY_USAGE_EVENTS",
    events.PoolTrims: "CUDA_GPU_MEMORY_POOL_EVENTS",
    events.HostCallbacks: "CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE_AND_HOST_LAUNCH",
    events.ContextSwitches: "GPU_CONTEXT_SWITCH_EVENTS",
    events.GpuMetrics: "GPU_METRICS",
    events.Streams: "TARGET_INFO_CUDA_STREAM",
}

_KINETO: Mapping[type[Table], str] = {
    events.Kernels: "kernel",
    events.Collectives: "kernel",
    events.Overheads: "overhead",
    events.EventRecords: "cuda_sync",
    events.Copies: "gpu_memcpy",
    events.Memsets: "gpu_memset",
    events.ApiCalls: "cuda_runtime",
    events.NvtxRanges: "user_annotation",
    events.Syncs: "cuda_sync",
}


def table_source(trace: Trace, kind: type[Table]) -> str:
    """Name under which a user finds the rows: the export's table, or the event category of a Kineto trace."""
    if trace.source.format == "kineto":
        return _KINETO.get(kind, kind.__name__)
    return _NSYS.get(kind, kind.__name__)
