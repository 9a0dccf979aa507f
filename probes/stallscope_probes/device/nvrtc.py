"""Compiles `device_code.cu`, or other CUDA C++ text, for the current device with NVRTC and binds launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from stallscope_probes.device.machine import LaunchAttribute, UnavailableError

try:
    from cuda.bindings import driver, nvrtc
except ImportError:  # the CPU stand-in needs neither
    driver = nvrtc = None


def source_text() -> str:
    """CUDA C++ of the probes."""
    return resources.files("stallscope_probes.device").joinpath("device_code.cu").read_text(encoding="utf-8")


def check(result: Sequence[Any]) -> Any:
    """Value of a cuda-bindings call. Raises `RuntimeError` with the error's own name."""
    code, *values = result
    if int(code) != 0:
        raise RuntimeError(f"CUDA call failed: {code!r}")
    return values[0] if len(values) == 1 else tuple(values)


def compile_text(text: str, arch: str, *, ptx: bool = False, fast_math: bool = False) -> bytes:
    """Machine code for `arch` (`sm_90`), or PTX (`compute_90`). Raises `UnavailableError` without NVRTC."""
    if nvrtc is None:
        raise UnavailableError("cuda-bindings is not installed: pip install 'stallscope[probes]'")
    program = check(nvrtc.nvrtcCreateProgram(text.encode(), b"stallscope_probe.cu", 0, [], []))
    options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
    options += [b"--use_fast_math"] if fast_math else []
    code = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    if int(code) != 0:
        log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
        check(nvrtc.nvrtcGetProgramLog(program, log))
        raise RuntimeError(f"NVRTC: {log.decode(errors='replace').strip()}")
    size, fetch = (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX) if ptx else (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    binary = b" " * int(check(size(program)))
    check(fetch(program, binary))
    check(nvrtc.nvrtcDestroyProgram(program))
    return binary


class Module:
    """A loaded binary."""

    def __init__(self, binary: bytes) -> None:
        self._binary = binary
        self._module = check(driver.cuModuleLoadData(binary))

    def function(self, name: str) -> Function:
        """One of its kernels; lazy loading may put the real load off to the first launch."""
        return Function(check(driver.cuModuleGetFunction(self._module, name.encode())))

    def close(self) -> None:
        """Unload it."""
        check(driver.cuModuleUnload(self._module))


class Function:
    """A kernel that can be launched."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def load(self) -> None:
        """Load it now, whatever the loading mode."""
        check(driver.cuFuncLoad(self._handle))

    def bind(
        self,
        grid: int,
        block: int,
        args: Sequence[Any],
        *,
        stream: Any = None,
        attributes: Sequence[LaunchAttribute] = (),
    ) -> Callable[[], None]:
        """See `stallscope_probes.device.machine.Kernel`."""
        values, types = _packed(args)
        if attributes:
            return self._bind_extended(grid, block, (values, types), stream, attributes)
        handle, launch = self._handle, driver.cuLaunchKernel

        def run() -> None:
            code = launch(handle, grid, 1, 1, block, 1, 1, 0, _stream_handle(stream), (values, types), 0)[0]
            if int(code) != 0:
                raise RuntimeError(f"launch failed: {code!r}")

        return run

    def _bind_extended(
        self, grid: int, block: int, packed: Any, stream: Any, attributes: Sequence[LaunchAttribute]
    ) -> Callable[[], None]:
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = block, 1, 1
        config.sharedMemBytes = 0
        config.numAttrs = len(attributes)
        config.attrs = [_attribute(name) for name in attributes]

        def run() -> None:
            config.hStream = driver.CUstream(_stream_handle(stream))
            check(driver.cuLaunchKernelEx(config, self._handle, packed, 0))

        return run


def _stream_handle(stream: Any) -> int:
    import torch

    return int((stream or torch.cuda.current_stream()).cuda_stream)


def _packed(args: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    values: list[Any] = []
    types: list[Any] = []
    for arg in args:
        if isinstance(arg, float):
            values.append(arg)
            types.append(ctypes.c_float)
        elif isinstance(arg, int):
            values.append(arg)
            types.append(ctypes.c_longlong)
        else:
            values.append(arg.pointer if hasattr(arg, "pointer") else arg.data_ptr())
            types.append(ctypes.c_void_p)
    return tuple(values), tuple(types)


def _attribute(name: LaunchAttribute) -> Any:
    attribute = driver.CUlaunchAttribute()
    if name == "programmatic":
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attribute.value.programmaticStreamSerializationAllowed = 1
    else:
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
        attribute.value.memSyncDomain = driver.CUlaunchMemSyncDomain.CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
    return attribute
