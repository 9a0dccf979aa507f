"""The parts of a PyTorch profiler event that stallscope reads; everything else in the JSON is skipped undecoded."""

from __future__ import annotations

from typing import Any

import msgspec

Number = int | float | str | None
"""How writers have spelt ids and sizes over the years."""

NO_NUMBER = msgspec.Raw()
"""Text of a number that the event does not have."""


class Args(msgspec.Struct, gc=False):
    """Arguments of device work, API calls and operators. Absent ones stay None: not recorded is not zero."""

    correlation: Number = None
    external_id: Number = msgspec.field(name="External id", default=None)
    external_id_lower: Number = msgspec.field(name="external id", default=None)
    device: Number = None
    context: Number = None
    stream: Number = None
    bytes_moved: Number = msgspec.field(name="bytes", default=None)
    size: Number = None
    kind: Number = None
    grid: Any = None
    block: Any = None
    registers: Number = msgspec.field(name="registers per thread", default=None)
    shared_bytes: Number = msgspec.field(name="shared memory", default=None)
    graph_node: Number = msgspec.field(name="graph node id", default=None)
    sync_kind: Number = msgspec.field(name="cuda_sync_kind", default=None)
    wait_on_stream: Number = None
    wait_on_record: Number = msgspec.field(name="wait_on_cuda_event_record_corr_id", default=None)
    wait_on_event: Number = msgspec.field(name="wait_on_cuda_event_id", default=None)
    collective: Number = msgspec.field(name="Collective name", default=None)
    group_name: Number = msgspec.field(name="Process Group Name", default=None)
    group_id: Number = msgspec.field(name="Process Group ID", default=None)
    group_ranks: Any = msgspec.field(name="Process Group Ranks", default=None)
    group_size: Number = msgspec.field(name="Group size", default=None)
    sequence: Number = msgspec.field(name="Seq", default=None)
    elements_in: Number = msgspec.field(name="In msg nelems", default=None)
    elements_out: Number = msgspec.field(name="Out msg nelems", default=None)
    dtype: Number = None
    source_rank: Number = msgspec.field(name="Src Rank", default=None)
    target_rank: Number = msgspec.field(name="Dst Rank", default=None)


class Event(msgspec.Struct, gc=False):
    """One entry of `traceEvents`. `ts` and `dur` stay text: a double cannot hold 1.7e15 µs with three decimals."""

    ph: str = ""
    cat: str | None = None
    name: Any = ""
    ts: msgspec.Raw = NO_NUMBER
    dur: msgspec.Raw = NO_NUMBER
    pid: Number = None
    tid: Number = None
    args: Args | None = None


class Header(msgspec.Struct, gc=False):
    """Top-level keys beside the events. Host, user, job and path keys are deliberately not among them."""

    schema_version: Number = msgspec.field(name="schemaVersion", default=None)
    device_properties: Any = msgspec.field(name="deviceProperties", default=None)
    distributed_info: Any = msgspec.field(name="distributedInfo", default=None)
    base_time_ns: Number = msgspec.field(name="baseTimeNanoseconds", default=None)
    cuda_driver: Number = msgspec.field(name="cuda_driver_version", default=None)
    cuda_runtime: Number = msgspec.field(name="cuda_runtime_version", default=None)
    cupti: Number = msgspec.field(name="cupti_version", default=None)
    hip_runtime: Number = msgspec.field(name="hip_runtime_version", default=None)
    schema: Number = None
    nodes: msgspec.Raw = NO_NUMBER
