"""What the file says about itself: rank, devices, producer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from stallscope.ingest.kineto_columns import integer
from stallscope.ingest.kineto_events import Header
from stallscope.model.analysis import Source
from stallscope.model.trace import Device

NO_RANK = -1
_VERSION = re.compile(r"^[\w.+-]{1,40}$")


def source_of(name: str, sha256: str, header: Header) -> Source:
    """The source entry of the report; only allow-listed facts enter it."""
    return Source(
        name=name,
        sha256=sha256,
        format="kineto",
        producer=_producer(header),
        schema=_version(header.schema_version),
        rank=rank_of(header),
    )


def rank_of(header: Header) -> int | None:
    """Global rank from `distributedInfo`, or None."""
    info = header.distributed_info
    rank = integer(info.get("rank"), NO_RANK) if isinstance(info, Mapping) else NO_RANK
    return rank if rank >= 0 else None


def base_time_ns(header: Header) -> int:
    """What new traces subtract from every timestamp."""
    return integer(header.base_time_ns)


def cuda_driver_version(header: Header) -> str:
    """CUDA version that the driver supports (`13000`), or nothing."""
    return _version(header.cuda_driver)


def devices_of(header: Header, ids: Sequence[int]) -> tuple[Device, ...]:
    """One device an id seen on the timeline, in the given order.

    ROCm numbers the devices of its timeline as HSA agents, which need not be the ids of `deviceProperties`: their facts
    are used where the id fits, or where all devices of the machine are alike.
    """
    properties = _properties(header)
    alike = {_facts(p) for p in properties.values()}
    common = next(iter(properties.values())) if len(alike) == 1 else {}
    is_rocm = header.hip_runtime is not None
    return tuple(_device(number, common if is_rocm else properties.get(number, common)) for number in ids)


def _properties(header: Header) -> dict[int, Mapping[str, Any]]:
    rows = header.device_properties
    if not isinstance(rows, list):
        return {}
    return {integer(row.get("id"), index): row for index, row in enumerate(rows) if isinstance(row, Mapping)}


def _facts(properties: Mapping[str, Any]) -> tuple[str, int, int, int]:
    return (
        str(properties.get("name", "")),
        integer(properties.get("numSms")),
        integer(properties.get("computeMajor")),
        integer(properties.get("computeMinor")),
    )


def _device(number: int, properties: Mapping[str, Any]) -> Device:
    name, sm_count, major, minor = _facts(properties)
    capability = f"{major}.{minor}" if major else ""
    return Device(label=f"GPU {number}", uuid="", name=name, sm_count=sm_count, compute_capability=capability)


def _producer(header: Header) -> str:
    parts = (("CUDA", header.cuda_runtime), ("CUPTI", header.cupti), ("HIP", header.hip_runtime))
    versions = [f"{name} {text}" for name, version in parts if (text := _version(version))]
    return f"PyTorch profiler ({', '.join(versions)})" if versions else "PyTorch profiler"


def _version(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if _VERSION.match(text) else ""
