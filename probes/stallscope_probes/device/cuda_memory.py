"""The allocation calls of CUDA, one method each; every method does exactly the calls its name says."""

from __future__ import annotations

import ctypes
from typing import Any

from stallscope_probes.device.machine import Place
from stallscope_probes.device.nvrtc import check

try:
    from cuda.bindings import driver, runtime
except ImportError:  # the CPU stand-in needs neither
    driver = runtime = None


class DeviceBlock:
    """Device memory outside PyTorch's caching allocator."""

    def __init__(self, pointer: int, size_bytes: int) -> None:
        self.pointer = pointer
        self.size_bytes = size_bytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size_bytes // 4,), "typestr": "<f4", "data": (self.pointer, False), "version": 3}

    def tensor(self) -> Any:
        """1-D float32 view."""
        import torch

        return torch.as_tensor(self, device="cuda")


class HostBlock:
    """Host or unified memory that the device can address under the same pointer."""

    def __init__(self, pointer: int, size_bytes: int) -> None:
        self.pointer = pointer
        self.size_bytes = size_bytes

    def tensor(self) -> Any:
        """1-D float32 view from the host."""
        import torch

        array = (ctypes.c_float * (self.size_bytes // 4)).from_address(self.pointer)
        return torch.frombuffer(array, dtype=torch.float32)


class CudaMemory:
    """See `stallscope_probes.device.machine.Memory`."""

    def allocate(self, size_bytes: int) -> DeviceBlock:
        """By cudaMalloc."""
        return DeviceBlock(int(check(runtime.cudaMalloc(size_bytes))), size_bytes)

    def free(self, block: Any) -> None:
        """By cudaFree."""
        check(runtime.cudaFree(block.pointer))

    def pool(self, release_threshold_bytes: int) -> Any:
        """A pool of its own, so that the default pool of the process stays as it is."""
        properties = runtime.cudaMemPoolProps()
        properties.allocType = runtime.cudaMemAllocationType.cudaMemAllocationTypePinned
        properties.location.type = runtime.cudaMemLocationType.cudaMemLocationTypeDevice
        properties.location.id = _device()
        pool = check(runtime.cudaMemPoolCreate(properties))
        threshold = driver.cuuint64_t(release_threshold_bytes)
        check(runtime.cudaMemPoolSetAttribute(pool, runtime.cudaMemPoolAttr.cudaMemPoolAttrReleaseThreshold, threshold))
        return pool

    def allocate_async(self, size_bytes: int, pool: Any) -> DeviceBlock:
        """By cudaMallocFromPoolAsync."""
        return DeviceBlock(int(check(runtime.cudaMallocFromPoolAsync(size_bytes, pool, _stream()))), size_bytes)

    def free_async(self, block: Any) -> None:
        """By cudaFreeAsync."""
        check(runtime.cudaFreeAsync(block.pointer, _stream()))

    def pin(self, size_bytes: int) -> HostBlock:
        """By cudaHostAlloc, mapped."""
        return HostBlock(int(check(runtime.cudaHostAlloc(size_bytes, runtime.cudaHostAllocMapped))), size_bytes)

    def unpin(self, block: Any) -> None:
        """By cudaFreeHost."""
        check(runtime.cudaFreeHost(block.pointer))

    def register(self, tensor: Any) -> None:
        """By cudaHostRegister."""
        check(runtime.cudaHostRegister(tensor.data_ptr(), tensor.numel() * tensor.element_size(), 0))

    def unregister(self, tensor: Any) -> None:
        """By cudaHostUnregister."""
        check(runtime.cudaHostUnregister(tensor.data_ptr()))

    def managed(self, size_bytes: int) -> HostBlock:
        """By cudaMallocManaged."""
        return HostBlock(int(check(runtime.cudaMallocManaged(size_bytes, runtime.cudaMemAttachGlobal))), size_bytes)

    def prefetch(self, block: Any, place: Place) -> None:
        """By cudaMemPrefetchAsync."""
        check(runtime.cudaMemPrefetchAsync(block.pointer, block.size_bytes, _location(place), 0, _stream()))

    def prefer(self, block: Any, place: Place) -> None:
        """By cudaMemAdvise: preferred location, and access from the device where that is the host."""
        advice = runtime.cudaMemoryAdvise
        preferred, accessed = advice.cudaMemAdviseSetPreferredLocation, advice.cudaMemAdviseSetAccessedBy
        check(runtime.cudaMemAdvise(block.pointer, block.size_bytes, preferred, _location(place)))
        if place == "host":
            check(runtime.cudaMemAdvise(block.pointer, block.size_bytes, accessed, _location("device")))

    def reserve(self, size_bytes: int) -> CudaReservation:
        """By cuMemAddressReserve."""
        return CudaReservation(size_bytes)


class CudaReservation:
    """See `stallscope_probes.device.machine.Reservation`."""

    def __init__(self, size_bytes: int) -> None:
        self._properties = _physical_memory()
        minimum = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        self._granule = int(check(driver.cuMemGetAllocationGranularity(self._properties, minimum)))
        self._size = self._rounded(size_bytes)
        self._pointer = int(check(driver.cuMemAddressReserve(self._size, 0, 0, 0)))
        self._chunks: list[tuple[Any, int]] = []
        self.mapped_bytes = 0

    def grow(self, size_bytes: int) -> None:
        """By cuMemCreate, cuMemMap and cuMemSetAccess."""
        size = self._rounded(size_bytes)
        if self.mapped_bytes + size > self._size:
            raise ValueError(f"cannot grow past the reserved {self._size} bytes")
        handle = check(driver.cuMemCreate(size, self._properties, 0))
        target = driver.CUdeviceptr(self._pointer + self.mapped_bytes)
        check(driver.cuMemMap(target, size, 0, handle, 0))
        access = driver.CUmemAccessDesc()
        access.location = self._properties.location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        check(driver.cuMemSetAccess(target, size, [access], 1))
        self._chunks.append((handle, size))
        self.mapped_bytes += size

    def tensor(self) -> Any:
        """1-D float32 view of the mapped part."""
        return DeviceBlock(self._pointer, self.mapped_bytes).tensor()

    def shrink(self) -> None:
        """By cuMemUnmap and cuMemRelease, chunk by chunk."""
        offset = 0
        for handle, size in self._chunks:
            check(driver.cuMemUnmap(driver.CUdeviceptr(self._pointer + offset), size))
            check(driver.cuMemRelease(handle))
            offset += size
        self._chunks.clear()
        self.mapped_bytes = 0

    def close(self) -> None:
        """Release the memory and the addresses."""
        self.shrink()
        check(driver.cuMemAddressFree(driver.CUdeviceptr(self._pointer), self._size))

    def _rounded(self, size_bytes: int) -> int:
        return -(-size_bytes // self._granule) * self._granule


def _physical_memory() -> Any:
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = _device()
    return properties


def _location(place: Place) -> Any:
    location = runtime.cudaMemLocation()
    kinds = runtime.cudaMemLocationType
    location.type = kinds.cudaMemLocationTypeDevice if place == "device" else kinds.cudaMemLocationTypeHost
    location.id = _device() if place == "device" else 0
    return location


def _device() -> int:
    import torch

    return int(torch.cuda.current_device())


def _stream() -> int:
    import torch

    return int(torch.cuda.current_stream().cuda_stream)
