"""Random programs of a few threads and streams, run on a simple model of a GPU and written as an nsys export.

Times are multiples of a microsecond, so that ties are common: an order that no time decides must not decide anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from sqlite_build import CUDA_AND_NVTX, ExportBuilder, global_pid, global_tid

US = 1_000
BEGIN_NS = 1_000_000


@dataclass(frozen=True)
class Act:
    """One thing a thread does: what, on which stream, how long the call and the work take, and a pause before it."""

    what: str
    stream: int
    call_us: int
    work_us: int
    pause_us: int


WHATS = ("kernel", "kernel", "kernel", "copy", "read", "memset", "sync", "stream sync", "malloc", "free", "range")

acts = st.builds(
    Act,
    what=st.sampled_from(WHATS),
    stream=st.sampled_from((7, 13, 14)),
    call_us=st.sampled_from((1, 2, 5, 20, 300)),
    work_us=st.sampled_from((1, 3, 10, 100, 2_000)),
    pause_us=st.sampled_from((0, 0, 1, 10, 200)),
)
programs = st.lists(st.lists(acts, min_size=3, max_size=25), min_size=1, max_size=2)


class _Run:
    def __init__(self) -> None:
        self.build = ExportBuilder(capture=CUDA_AND_NVTX)
        self.free_at: dict[tuple[int, int], int] = {}
        self.correlation = 0
        gpu = {"vmId": 1, "name": "NVIDIA H200", "smCount": 132, "uuid": "gpu-0", "cuDevice": 0, "l2CacheSize": 1 << 25}
        self.build.add("TARGET_INFO_GPU", id=0, **gpu)

    def thread(self, pid: int, steps: Sequence[Act]) -> None:
        now = BEGIN_NS
        for act in steps:
            now = self._act(pid, act, now + act.pause_us * US)

    def _act(self, pid: int, act: Act, now: int) -> int:
        self.correlation += 1
        key, called = (pid, act.stream), now + act.call_us * US
        ids: dict[str, Any] = {"correlationId": self.correlation, "pid": pid}
        if act.what == "range":
            self.build.range(now, now + 50 * act.call_us * US, "step", globalTid=global_tid(pid, 5))
            return now
        if act.what in {"sync", "malloc", "free", "stream sync"}:
            streams = [key] if act.what == "stream sync" else [k for k in self.free_at if k[0] == pid]
            called = max([called, *(self.free_at.get(k, 0) + US for k in streams)])
            names = {"sync": "cudaDeviceSynchronize_v3020", "stream sync": "cudaStreamSynchronize_v3020"}
            names |= {"malloc": "cudaMalloc_v3020", "free": "cudaFree_v3020"}
            self.build.call(now, called, names[act.what], **ids)
            return called
        start = max(now + US, self.free_at.get(key, 0) + US)
        end = start + act.work_us * US
        self.free_at[key] = end
        where = {"streamId": act.stream, **ids}
        if act.what == "kernel":
            self.build.kernel(start, end, f"kernel_{act.work_us}", **where)
        elif act.what == "memset":
            row = {**where, "deviceId": 0, "contextId": 1, "bytes": 4, "globalPid": global_pid(pid)}
            del row["pid"]
            self.build.add("CUPTI_ACTIVITY_KIND_MEMSET", start=start, end=end, **row)
        else:
            read = act.what == "read"
            size = 4 if read else 1 << 20
            self.build.copy(start, end, 2 if read else 1, bytes=size, srcKind=2 if read else 1, **where)
            called = max(called, end + US) if read else called
        names = {"kernel": "cudaLaunchKernel_v7000", "memset": "cudaMemsetAsync_v3020"}
        self.build.call(now, called, names.get(act.what, "cudaMemcpyAsync_v3020"), **ids)
        return called


def run(program: Sequence[Sequence[Act]]) -> ExportBuilder:
    """One process a list of acts, all on the same GPU."""
    made = _Run()
    for position, steps in enumerate(program):
        made.thread(100 + position, steps)
    return made.build
