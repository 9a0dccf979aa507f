"""CUDA graphs without what PyTorch does around them (random-number state, a memory pool of their own)."""

from __future__ import annotations

from collections.abc import Callable

from stallscope_probes.device.nvrtc import check

try:
    from cuda.bindings import runtime
except ImportError:  # the CPU stand-in needs none
    runtime = None


class CudaGraph:
    """The launches of `work`, captured once; a call replays them on the current stream.

    Memory that `work` allocates from PyTorch is not kept for the replays: it has to work in place.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        import torch

        stream = torch.cuda.Stream()
        mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        with torch.cuda.stream(stream):
            check(runtime.cudaStreamBeginCapture(stream.cuda_stream, mode))
            work()
            graph = check(runtime.cudaStreamEndCapture(stream.cuda_stream))
        self._executable = check(runtime.cudaGraphInstantiate(graph, 0))
        check(runtime.cudaGraphDestroy(graph))

    def __call__(self) -> None:
        """Replay."""
        import torch

        check(runtime.cudaGraphLaunch(self._executable, torch.cuda.current_stream().cuda_stream))

    def __del__(self) -> None:
        """CUDA puts this off until the last replay has ended."""
        if hasattr(self, "_executable"):
            runtime.cudaGraphExecDestroy(self._executable)
