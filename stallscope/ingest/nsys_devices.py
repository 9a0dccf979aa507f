"""Which physical GPU a (process, device id) pair means: device ids are private to a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stallscope.errors import InputError
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.limits import DEVICES
from stallscope.ingest.nsys_registry import Registry, pid_of
from stallscope.ingest.nsys_source import PlainKind, integers
from stallscope.model.trace import Device

_VM_SHIFT = 48
_MOST_PAIRS = 1 << 14
_AGAIN = "export or capture it again"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One row of TARGET_INFO_GPU; `number` is what the CUDA driver (and nvidia-smi) calls it."""

    vm: int
    id: int
    cuda_device: int | None
    device: Device

    @property
    def number(self) -> int:
        """Number the CUDA driver uses."""
        return self.id if self.cuda_device is None else self.cuda_device

    @property
    def identity(self) -> str:
        """What tells this GPU from every other of the capture."""
        return self.device.uuid or f"gpu {self.vm}:{self.id}"


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """One row of TARGET_INFO_CUDA_DEVICE: which GPU one process means by a device id."""

    pid: int
    cuda_id: int
    gpu_id: int | None
    uuid: str
    sm_count: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Physical devices, the index among them of every pair asked for, and how they were told apart.

    `ids` are the TARGET_INFO_GPU ids of the devices (None where no table describes one). `guessed` says that several
    processes share a device by its number alone, which CUDA_VISIBLE_DEVICES can make wrong.
    """

    devices: tuple[Device, ...]
    index: tuple[int, ...]
    ids: tuple[int | None, ...]
    guessed: bool


@dataclass(frozen=True, slots=True)
class _Physical:
    number: int
    identity: str
    gpu_id: int | None
    device: Device


def place(registry: Registry, pairs: Sequence[tuple[int, int]]) -> Placement:
    """Resolve (process key, device id) pairs; a device that no table describes still becomes a device."""
    if len(pairs) > _MOST_PAIRS:
        raise InputError(f"{len(pairs):,} pairs of process and GPU: damaged ids", next_step=_AGAIN)
    gpus, cuda = _gpus(registry), _cuda_devices(registry)
    by_process = {(c.pid, c.cuda_id): c for c in reversed(cuda)}
    found = [_resolve(key, device_id, gpus, by_process) for key, device_id in pairs]
    distinct = sorted({p.identity: p for p in found}.values(), key=lambda p: (p.number, p.identity))
    order = {p.identity: i for i, p in enumerate(distinct)}
    labels = _labels([p.number for p in distinct])
    return Placement(
        tuple(replace(p.device, label=label) for p, label in zip(distinct, labels, strict=True)),
        tuple(order[p.identity] for p in found),
        tuple(p.gpu_id for p in distinct),
        guessed=not cuda and len(gpus) != 1 and len(pairs) > len(distinct),
    )


def _resolve(key: int, device_id: int, gpus: Sequence[Gpu], cuda: Mapping[tuple[int, int], CudaDevice]) -> _Physical:
    vm = key >> _VM_SHIFT & 0xFF
    local = [gpu for gpu in gpus if gpu.vm == vm] or list(gpus)
    seen = cuda.get((pid_of(key), device_id))
    if seen is not None:
        gpu = next((g for g in local if seen.uuid and g.device.uuid == seen.uuid), None)
        gpu = gpu or next((g for g in local if g.id == seen.gpu_id), None)
        number = gpu.number if gpu else device_id if seen.gpu_id is None else seen.gpu_id
        device = gpu.device if gpu else Device("", seen.uuid, "", seen.sm_count)
        identity = seen.uuid or (gpu.identity if gpu else f"gpu {vm}:{number}")
        return _Physical(
            number, identity, gpu.id if gpu else seen.gpu_id, replace(device, uuid=seen.uuid or device.uuid)
        )
    gpu = next((g for g in local if g.cuda_device == device_id), None)
    if gpu is None and all(g.cuda_device is None for g in local):
        gpu = next((g for g in local if g.id == device_id), None)
    if gpu is not None:
        return _Physical(device_id, gpu.identity, gpu.id, gpu.device)
    return _Physical(device_id, f"device {vm}:{device_id}", None, Device("", "", ""))


def _labels(numbers: Sequence[int]) -> list[str]:
    """`GPU n` by driver number; a second device with the same number (another host, MIG) gets a letter."""
    labels: list[str] = []
    for number in numbers:
        twins = sum(1 for label in labels if label.rstrip("bcdefgh") == f"GPU {number}")
        labels.append(f"GPU {number}" + ("" if not twins else "bcdefgh"[min(twins, 7) - 1]))
    return labels


def _gpus(registry: Registry) -> list[Gpu]:
    table = registry.table(schema.GPUS)
    if table is None:
        return []
    sizes = integers(
        "vmId", "id", "cuDevice", "smCount", "l2CacheSize", "memoryBandwidth", "computeMajor", "computeMinor"
    )
    text: dict[str, PlainKind] = {"uuid": "text", "name": "text"}
    columns = {**sizes, **text}
    rows = [dict(zip(columns, row, strict=True)) for row in registry.records(table, columns)]
    known = sorted((row for row in rows if row["id"] is not None), key=lambda row: row["id"])
    return [_gpu(row) for row in known[:DEVICES]]


def _gpu(row: dict[str, int | str | None]) -> Gpu:
    def number(column: str) -> int:
        return int(row[column] or 0)

    major = row["computeMajor"]
    device = Device(
        label="",
        uuid=_uuid(str(row["uuid"] or "")),
        name=str(row["name"] or ""),
        sm_count=number("smCount"),
        l2_bytes=number("l2CacheSize"),
        memory_bandwidth_bytes_per_s=number("memoryBandwidth"),
        compute_capability=f"{major}.{row['computeMinor'] or 0}" if major else "",
    )
    cuda = row["cuDevice"]
    return Gpu(number("vmId") >> _VM_SHIFT & 0xFF, number("id"), None if cuda is None else int(cuda), device)


def _cuda_devices(registry: Registry) -> list[CudaDevice]:
    table = registry.table(schema.CUDA_DEVICES)
    if table is None:
        return []
    text: dict[str, PlainKind] = {"uuid": "text"}
    rows = registry.records(table, {**integers("gpuId", "cudaId", "pid", "numMultiprocessors"), **text})
    known = [row for row in rows if row[1] is not None and row[2] is not None]
    return [
        CudaDevice(pid if pid <= 0xFFFFFF else pid_of(pid), cuda, gpu, _uuid(uuid or ""), sms or 0)
        for gpu, cuda, pid, sms, uuid in known[:_MOST_PAIRS]
    ]


def _uuid(text: str) -> str:
    return text.strip().lower().removeprefix("gpu-")
