"""The CPU standing in for a GPU: the same calls in the same order, so that the probes' logic runs where there is none.

Nothing here is timed or profiled. Streams and events order nothing, since every operation has finished when its call
returns; that also means that a probe for a missing dependency gives the right answer here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

from stallscope_probes.device.machine import LaunchAttribute, Place

GRANULE_BYTES = 1 << 12
LOOP_LIMIT = 4
SMALLEST_SIZE = 1 << 16


class CpuStream:
    """Takes the calls of a stream or an event and does nothing."""

    def wait_stream(self, other: Any) -> None:
        """Work here is over when the call returns."""

    def wait_event(self, other: Any) -> None:
        """Work here is over when the call returns."""

    def record(self, stream: Any = None) -> None:
        """Work here is over when the call returns."""

    def wait(self, stream: Any = None) -> None:
        """Work here is over when the call returns."""

    def synchronize(self) -> None:
        """Work here is over when the call returns."""


class CpuBlock:
    """Host memory under an address."""

    def __init__(self, size_bytes: int) -> None:
        import torch

        self._values = torch.zeros(size_bytes // 4)
        self.pointer = int(self._values.data_ptr())
        self.size_bytes = size_bytes

    def tensor(self) -> Any:
        """1-D float32 tensor over it."""
        return self._values


class CpuMemory:
    """See `stallscope_probes.device.machine.Memory`."""

    def allocate(self, size_bytes: int) -> CpuBlock:
        """Host memory."""
        return CpuBlock(size_bytes)

    def free(self, block: Any) -> None:
        """Left to the collector."""

    def pool(self, release_threshold_bytes: int) -> Any:
        """No pool; the threshold stands for it."""
        return release_threshold_bytes

    def allocate_async(self, size_bytes: int, pool: Any) -> CpuBlock:  # noqa: ARG002 - there is no pool to take it from
        """Host memory."""
        return CpuBlock(size_bytes)

    def free_async(self, block: Any) -> None:
        """Left to the collector."""

    def pin(self, size_bytes: int) -> CpuBlock:
        """Host memory."""
        return CpuBlock(size_bytes)

    def unpin(self, block: Any) -> None:
        """Left to the collector."""

    def register(self, tensor: Any) -> None:
        """Nothing to lock."""

    def unregister(self, tensor: Any) -> None:
        """Nothing to unlock."""

    def managed(self, size_bytes: int) -> CpuBlock:
        """Host memory."""
        return CpuBlock(size_bytes)

    def prefetch(self, block: Any, place: Place) -> None:
        """Already here."""

    def prefer(self, block: Any, place: Place) -> None:
        """Already here."""

    def reserve(self, size_bytes: int) -> CpuReservation:
        """Memory that pretends to be mapped piece by piece."""
        return CpuReservation(size_bytes)


class CpuReservation:
    """See `stallscope_probes.device.machine.Reservation`."""

    def __init__(self, size_bytes: int) -> None:
        self._block = CpuBlock(-(-size_bytes // GRANULE_BYTES) * GRANULE_BYTES)
        self.mapped_bytes = 0

    def grow(self, size_bytes: int) -> None:
        """Move the end of the mapped part."""
        size = -(-size_bytes // GRANULE_BYTES) * GRANULE_BYTES
        if self.mapped_bytes + size > self._block.size_bytes:
            raise ValueError(f"cannot grow past the reserved {self._block.size_bytes} bytes")
        self.mapped_bytes += size

    def tensor(self) -> Any:
        """1-D float32 view of the mapped part."""
        return self._block.tensor()[: self.mapped_bytes // 4]

    def shrink(self) -> None:
        """Nothing is mapped any more."""
        self.mapped_bytes = 0

    def close(self) -> None:
        """Left to the collector."""


class CpuKernel:
    """A function of `device_code.cu`, written again for tensors; loops are cut short."""

    def __init__(self, work: Callable[..., None]) -> None:
        self._work = work

    def bind(
        self,
        grid: int,
        block: int,
        args: Sequence[Any],
        *,
        stream: Any = None,  # noqa: ARG002
        attributes: Sequence[LaunchAttribute] = (),  # noqa: ARG002
    ) -> Callable[[], None]:
        """A call with fixed arguments; streams and launch attributes mean nothing here."""
        threads = grid * block
        return lambda: self._work(threads, *args)


class CpuFunction(CpuKernel):
    """A kernel of generated code."""

    def load(self) -> None:
        """Already here."""


class CpuModule:
    """Generated code; each of its kernels halves its data."""

    def __init__(self, binary: bytes) -> None:
        self._text = binary.decode()

    def function(self, name: str) -> CpuFunction:
        """The stand-in, if the text has a kernel of that name."""
        if name not in self._text:
            raise KeyError(name)
        return CpuFunction(_halve)

    def close(self) -> None:
        """Nothing to unload."""


class CpuMachine:
    """See `stallscope_probes.device.machine.Machine`."""

    kind: Literal["cpu"] = "cpu"
    processors = 2

    def __init__(self) -> None:
        import torch

        self.device = torch.device("cpu")
        self.memory = CpuMemory()

    def random(self, *shape: int, dtype: str = "float32", seed: int = 0) -> Any:
        """Normally distributed tensor."""
        return self.host(*shape, pinned=False, dtype=dtype, seed=seed)

    def host(self, *shape: int, pinned: bool, dtype: str = "float32", seed: int = 0) -> Any:  # noqa: ARG002
        """Normally distributed tensor."""
        import torch

        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))

    def stream(self, *, blocking: bool = False) -> CpuStream:  # noqa: ARG002
        """Orders nothing."""
        return CpuStream()

    def legacy_stream(self) -> CpuStream:
        """Orders nothing."""
        return CpuStream()

    def use(self, stream: Any) -> AbstractContextManager[Any]:
        """There is one stream."""
        return nullcontext(stream)

    def event(self) -> CpuStream:
        """Orders nothing."""
        return CpuStream()

    def synchronize(self) -> None:
        """Everything has finished."""

    def graph(self, work: Callable[[], None]) -> Callable[[], None]:
        """Replaying is calling again."""
        return work

    def kernel(self, name: str) -> CpuKernel:
        """The stand-in of that name."""
        return CpuKernel(STAND_INS[name])

    def module(self, binary: bytes) -> CpuModule:
        """Nothing to load."""
        return CpuModule(binary)

    def compile(self, text: str, *, ptx: bool = False, fast_math: bool = False) -> bytes:  # noqa: ARG002
        """The text itself."""
        return text.encode()

    def size(self, count: int) -> int:
        """A thousandth, and enough for one small launch."""
        return max(count >> 10, SMALLEST_SIZE)

    def side(self, count: int) -> int:
        """At most 64."""
        return min(count, 64)

    def iterations(self, microseconds: float) -> int:
        """Few."""
        return min(int(microseconds), LOOP_LIMIT)

    def host_callback(self, microseconds: int) -> None:
        """Sleep here and now."""
        time.sleep(microseconds / 1e6)

    @contextmanager
    def nvtx(self, text: str) -> Iterator[None]:  # noqa: ARG002
        """No profiler listens."""
        yield

    def free_bytes(self) -> tuple[int, int]:
        """Memory of the host."""
        import os

        page = os.sysconf("SC_PAGE_SIZE")
        return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")


def _values(argument: Any) -> Any:
    return argument.tensor() if hasattr(argument, "tensor") else argument


def _busy(threads: int, data: Any, iterations: int) -> None:
    part = _values(data)[:threads]
    for _ in range(min(iterations, LOOP_LIMIT)):
        part.mul_(0.9990234375).add_(0.0009765625)


def _halve(threads: int, data: Any) -> None:
    _values(data)[:threads].mul_(0.5).add_(1.0)


def _scale(_threads: int, data: Any, count: int, factor: float) -> None:
    _values(data)[:count].mul_(factor)


def _fill(_threads: int, data: Any, count: int, value: float) -> None:
    _values(data)[:count].fill_(value)


def _sum_strided(threads: int, data: Any, count: int, sums: Any, passes: int) -> None:
    values = _values(data)[: count // threads * threads].reshape(-1, threads)
    _values(sums)[:threads].copy_(values.sum(0) * passes)


def _store_stream(_threads: int, target: Any, count: int, rounds: int, _stop: Any, alive: Any) -> None:
    _values(target)[: 4 * count].fill_(float(rounds))
    alive.fill_(rounds)


def _write_and_fence(threads: int, data: Any, _fence: int) -> None:
    _values(data)[:threads].mul_(0.5).add_(1.0)


def _all_reduce(threads: int, _flag: Any, _value: int, _bound: int, data: Any) -> None:
    _values(data)[:threads].add_(1.0)


def _all_gather(threads: int, data: Any, _nanoseconds: int) -> None:
    _values(data)[:threads].add_(1.0)


STAND_INS: dict[str, Callable[..., None]] = {
    "busy": _busy,
    "busy_dependent": _busy,
    "busy_shared": _busy,
    "scale": _scale,
    "fill": _fill,
    "sum_strided": _sum_strided,
    "store_stream": _store_stream,
    "write_and_fence": _write_and_fence,
    "ncclDevKernel_AllReduce_Sum_f32_emulated": _all_reduce,
    "ncclDevKernel_AllGather_emulated": _all_gather,
}
