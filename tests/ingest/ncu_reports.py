"""Writes small .ncu-rep files for tests, by the published description of the format."""

from __future__ import annotations

import struct
from collections.abc import Mapping

Value = float | int | str | None


def varint(value: int) -> bytes:
    """Seven bits a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """An integer field."""
    return varint(field << 3) + varint(value)


def blob(field: int, data: bytes | str) -> bytes:
    """A field of bytes, text or another message."""
    raw = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def double(field: int, value: float) -> bytes:
    """A field of eight bytes."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def sized(message: bytes) -> bytes:
    """A message behind its size."""
    return struct.pack("<I", len(message)) + message


def metric_value(value: Value) -> bytes:
    """A ProfileMetricValue."""
    if isinstance(value, str):
        return blob(1, value)
    return number(5, value) if isinstance(value, int) else double(3, value or 0.0)


def estimate(rule: str, kind: int, percent: float) -> bytes:
    """A RuleResult with one speed-up (1 = local, 2 = global)."""
    speedup = number(1, kind) + double(2, percent)
    return blob(1, rule) + blob(2, rule) + blob(3, blob(1, blob(10, speedup)))


def kernel_result(
    name: str, metrics: Mapping[int, Value], *, rules: tuple[bytes, ...] = (), ranges: tuple[str, ...] = ()
) -> bytes:
    """A ProfileResult on grid 64x2x1 and block 128x1x1; metrics by their number in the string table."""
    dims = [b"".join(number(axis, side) for axis, side in enumerate(sides, 1)) for sides in ((64, 2, 1), (128, 1, 1))]
    parts = [
        number(1, 5),
        blob(5, f"_Z{name}"),
        blob(6, name),
        blob(7, f"{name}(float *)"),
        blob(10, dims[0]),
        blob(11, dims[1]),
    ]
    for key, value in metrics.items():
        parts.append(blob(13, number(1, key) + (blob(2, metric_value(value)) if value is not None else b"")))
    parts += [blob(19, rule) for rule in rules]
    if ranges:
        stack = b"".join(blob(3, blob(1, text)) for text in ranges)
        parts.append(blob(21, blob(2, number(1, 5) + blob(2, number(1, 0) + stack))))
    return b"".join(parts)


def device(attributes: Mapping[str, Value]) -> bytes:
    """ReportSessionDetails with the attributes of device 0 and things that must not be read."""
    items = b"".join(blob(3, blob(1, name) + blob(2, metric_value(value))) for name, value in attributes.items())
    return blob(3, blob(5, "secret-host")) + blob(11, "ncu secret-argument") + blob(6, number(1, 0) + items)


def report(strings: tuple[str, ...], *results: bytes, session: bytes = b"", version: int = 7, ranges: int = 0) -> bytes:
    """A whole file: header, one block with the strings and the results."""
    payload = sized(b"\x08\x01") + b"".join(sized(one) for one in results)
    table = b"".join(blob(1, text) for text in strings)
    header = number(1, 1) + number(2, len(results)) + (blob(3, session) if session else b"") + blob(4, table)
    header += number(5, len(payload)) + blob(6, number(1, 7)) + (number(7, ranges) if ranges else b"")
    return b"NVR\0" + sized(number(1, version)) + sized(header) + payload
