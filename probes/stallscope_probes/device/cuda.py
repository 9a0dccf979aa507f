"""A CUDA GPU for the probes: PyTorch for tensors and streams, cuda-bindings for what PyTorch cannot say."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal

from stallscope_probes.device.cuda_memory import CudaMemory
from stallscope_probes.device.graph import CudaGraph
from stallscope_probes.device.nvrtc import Function, Module, check, compile_text, source_text

CYCLES_PER_STEP = 4
FALLBACK_CLOCK_HZ = 1_500_000_000


class CudaMachine:
    """See `stallscope_probes.device.machine.Machine`."""

    kind: Literal["cuda"] = "cuda"

    def __init__(self) -> None:
        import torch

        self.device = torch.device("cuda", torch.cuda.current_device())
        properties = torch.cuda.get_device_properties(self.device)
        self.processors: int = properties.multi_processor_count
        self.arch = f"{properties.major}{properties.minor}"
        self.memory = CudaMemory()
        self._clock_hz = _sm_clock_hz(self.device.index) or FALLBACK_CLOCK_HZ
        self._module: Module | None = None
        self._kernels: dict[str, Function] = {}
        torch.zeros(1, device=self.device)

    def random(self, *shape: int, dtype: str = "float32", seed: int = 0) -> Any:
        """Normally distributed tensor on the device."""
        return self.host(*shape, pinned=False, seed=seed).to(self.device, _dtype(dtype))

    def host(self, *shape: int, pinned: bool, dtype: str = "float32", seed: int = 0) -> Any:
        """Normally distributed tensor in host memory."""
        import torch

        values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(_dtype(dtype))
        return values.pin_memory() if pinned else values

    def stream(self, *, blocking: bool = False) -> Any:
        """A new stream."""
        import torch

        if not blocking:
            return torch.cuda.Stream()
        from cuda.bindings import runtime

        return torch.cuda.ExternalStream(int(check(runtime.cudaStreamCreate())))

    def legacy_stream(self) -> Any:
        """The legacy default stream."""
        import torch

        return torch.cuda.default_stream()

    def use(self, stream: Any) -> AbstractContextManager[Any]:
        """Make it the current stream."""
        import torch

        context: AbstractContextManager[Any] = torch.cuda.stream(stream)
        return context

    def event(self) -> Any:
        """An event without timing."""
        import torch

        return torch.cuda.Event()

    def synchronize(self) -> None:
        """Wait for everything on the device."""
        import torch

        torch.cuda.synchronize()

    def graph(self, work: Callable[[], None]) -> Callable[[], None]:
        """Capture `work` once; the result replays it."""
        return CudaGraph(work)

    def kernel(self, name: str) -> Function:
        """A kernel of `device_code.cu`."""
        if self._module is None:
            self._module = Module(compile_text(source_text(), f"sm_{self.arch}"))
        if name not in self._kernels:
            self._kernels[name] = self._module.function(name)
        return self._kernels[name]

    def module(self, binary: bytes) -> Module:
        """Load machine code or PTX."""
        return Module(binary)

    def compile(self, text: str, *, ptx: bool = False, fast_math: bool = False) -> bytes:
        """Machine code or PTX of CUDA C++ text."""
        arch = f"compute_{self.arch}" if ptx else f"sm_{self.arch}"
        return compile_text(text, arch, ptx=ptx, fast_math=fast_math)

    def size(self, count: int) -> int:
        """As asked."""
        return count

    def side(self, count: int) -> int:
        """As asked."""
        return count

    def iterations(self, microseconds: float) -> int:
        """Loop count for the kernel `busy` to run about that long."""
        return int(microseconds * self._clock_hz / CYCLES_PER_STEP / 1e6)

    def host_callback(self, microseconds: int) -> None:
        """Enqueue libc's usleep itself as the host function: no Python, so no interpreter lock is involved."""
        import torch
        from cuda.bindings import runtime

        sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
        stream = torch.cuda.current_stream().cuda_stream
        check(runtime.cudaLaunchHostFunc(stream, runtime.cudaHostFn_t(sleep), microseconds))

    @contextmanager
    def nvtx(self, text: str) -> Iterator[None]:
        """NVTX range on this thread."""
        import torch

        torch.cuda.nvtx.range_push(text)
        try:
            yield
        finally:
            torch.cuda.nvtx.range_pop()

    def free_bytes(self) -> tuple[int, int]:
        """Free and total device memory."""
        import torch

        free, total = torch.cuda.mem_get_info()
        return int(free), int(total)


def _dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _sm_clock_hz(index: int) -> int | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        return int(pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM)) * 1_000_000
    except (ImportError, OSError, RuntimeError, pynvml.NVMLError):
        return None
