"""The device a probe runs on, as the families see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

Place = Literal["device", "host"]
LaunchAttribute = Literal["programmatic", "remote memory-sync domain"]


class UnavailableError(RuntimeError):
    """The probe cannot run here: no GPU, no compiler, too little memory. The text says which."""


class Block(Protocol):
    """Raw memory with an address; `tensor()` views it as float32 without copying."""

    @property
    def pointer(self) -> int:
        """Address on the device."""

    @property
    def size_bytes(self) -> int:
        """Length."""

    def tensor(self) -> Any:
        """1-D float32 tensor over the same bytes, on the side (device or host) where the block lives."""


class Kernel(Protocol):
    """A compiled CUDA C++ function of `device/device_code.cu`."""

    def bind(
        self,
        grid: int,
        block: int,
        args: Sequence[Any],
        *,
        stream: Any = None,
        attributes: Sequence[LaunchAttribute] = (),
    ) -> Callable[[], None]:
        """A launch with fixed arguments: tensors and blocks are passed as pointers, ints as long long, floats as float.

        `stream`: the current one unless given.
        """


class Module(Protocol):
    """A binary that has been loaded."""

    def function(self, name: str) -> Function:
        """One of its kernels."""

    def close(self) -> None:
        """Unload it."""


class Function(Kernel, Protocol):
    """A kernel of a module; with lazy loading its code may arrive at the first launch."""

    def load(self) -> None:
        """Load the code now."""


class Memory(Protocol):
    """Allocation calls whose cost or placement a probe is about; the caching allocators are not involved."""

    def allocate(self, size_bytes: int) -> Block:
        """Device memory by cudaMalloc."""

    def free(self, block: Block) -> None:
        """Return it by cudaFree."""

    def pool(self, release_threshold_bytes: int) -> Any:
        """A stream-ordered pool that keeps up to that many unused bytes at a synchronization."""

    def allocate_async(self, size_bytes: int, pool: Any) -> Block:
        """Device memory by cudaMallocFromPoolAsync on the current stream."""

    def free_async(self, block: Block) -> None:
        """Return it by cudaFreeAsync on the current stream."""

    def pin(self, size_bytes: int) -> Block:
        """Page-locked, mapped host memory by cudaHostAlloc."""

    def unpin(self, block: Block) -> None:
        """Return it by cudaFreeHost."""

    def register(self, tensor: Any) -> None:
        """Page-lock an existing host tensor by cudaHostRegister."""

    def unregister(self, tensor: Any) -> None:
        """Undo `register`."""

    def managed(self, size_bytes: int) -> Block:
        """Unified memory; `tensor()` is its host view."""

    def prefetch(self, block: Block, place: Place) -> None:
        """CudaMemPrefetchAsync on the current stream."""

    def prefer(self, block: Block, place: Place) -> None:
        """cudaMemAdviseSetPreferredLocation, and mapped by the device when the place is the host."""

    def reserve(self, size_bytes: int) -> Reservation:
        """An address range that grows in place (cuMemAddressReserve)."""


class Reservation(Protocol):
    """Virtual address range with physical memory mapped from its start."""

    @property
    def mapped_bytes(self) -> int:
        """Length of the mapped part."""

    def grow(self, size_bytes: int) -> None:
        """Create, map and open the next `size_bytes`, rounded up to the granularity."""

    def tensor(self) -> Any:
        """1-D float32 tensor over the mapped part."""

    def shrink(self) -> None:
        """Unmap and release everything that is mapped."""

    def close(self) -> None:
        """Give back the address range too."""


class Machine(Protocol):
    """One device: a GPU, or the CPU standing in for it."""

    @property
    def kind(self) -> Literal["cuda", "cpu"]:
        """What it is."""

    @property
    def device(self) -> Any:
        """The torch.device."""

    @property
    def memory(self) -> Memory:
        """Its allocation calls."""

    @property
    def processors(self) -> int:
        """Streaming multiprocessors."""

    def random(self, *shape: int, dtype: str = "float32", seed: int = 0) -> Any:
        """Normally distributed tensor on the device, the same values for the same seed."""

    def host(self, *shape: int, pinned: bool, dtype: str = "float32", seed: int = 0) -> Any:
        """Normally distributed tensor in host memory."""

    def stream(self, *, blocking: bool = False) -> Any:
        """A new stream; a blocking one orders itself against the legacy default stream."""

    def legacy_stream(self) -> Any:
        """The legacy default stream."""

    def use(self, stream: Any) -> AbstractContextManager[Any]:
        """Make it the current stream."""

    def event(self) -> Any:
        """An event without timing."""

    def synchronize(self) -> None:
        """Wait for everything on the device."""

    def graph(self, work: Callable[[], None]) -> Callable[[], None]:
        """Capture `work` once; the result replays it."""

    def kernel(self, name: str) -> Kernel:
        """A kernel of `device/device_code.cu`, compiled on first use."""

    def module(self, binary: bytes) -> Module:
        """Load machine code or PTX; PTX is compiled by the driver while this call waits."""

    def compile(self, text: str, *, ptx: bool = False, fast_math: bool = False) -> bytes:
        """Machine code or PTX of CUDA C++ text for this device."""

    def size(self, count: int) -> int:
        """`count`, made small where there is no GPU."""

    def side(self, count: int) -> int:
        """Side of a matrix: `count`, made small where there is no GPU."""

    def iterations(self, microseconds: float) -> int:
        """Loop count for the kernel `busy` to run about that long."""

    def host_callback(self, microseconds: int) -> None:
        """Enqueue a host function that sleeps on the current stream."""

    def nvtx(self, text: str) -> AbstractContextManager[None]:
        """NVTX range on this thread."""

    def free_bytes(self) -> tuple[int, int]:
        """Free and total device memory."""


def open_machine(kind: str) -> Machine:
    """`cuda` or `cpu`. Raises `UnavailableError` with the reason when it is not there."""
    try:
        import torch
    except ImportError:
        raise UnavailableError("PyTorch is not installed: pip install 'stallscope[probes]'") from None
    if kind == "cpu":
        from stallscope_probes.device.cpu import CpuMachine

        return CpuMachine()
    if not torch.cuda.is_available():
        raise UnavailableError("no CUDA device is visible to PyTorch; --device cpu runs the logic without one")
    from stallscope_probes.device.cuda import CudaMachine

    return CudaMachine()
