"""Protocol-buffer wire format, read without generated code: tagged fields of one message, strictly bounded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

_MAX_VARINT_BYTES = 10
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """The bytes are not a message: cut, or of another format."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its number and either an integer (varint), or its raw bytes."""

    number: int
    integer: int = 0
    data: memoryview = field(default_factory=lambda: memoryview(b""))

    @property
    def text(self) -> str:
        """The bytes as text; bad UTF-8 becomes U+FFFD."""
        return bytes(self.data).decode("utf-8", "replace")

    @property
    def double(self) -> float:
        """The eight bytes as a double, or four as a float."""
        if len(self.data) == struct.calcsize("<d"):
            return float(struct.unpack("<d", self.data)[0])
        if len(self.data) == struct.calcsize("<f"):
            return float(struct.unpack("<f", self.data)[0])
        raise WireError("a number of unexpected width")


def fields(message: memoryview) -> Iterator[Field]:
    """Every field of a message in order. Raises `WireError` where the bytes do not fit."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise WireError("a field without a number")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield Field(number, value)
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if kind == _BYTES:
            size, at = _varint(message, at)
        if size is None or size > end - at:
            raise WireError("a field that is cut or of an unknown kind")
        yield Field(number, data=message[at : at + size])
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for used in range(_MAX_VARINT_BYTES):
        if at + used >= len(message):
            raise WireError("a number that is cut")
        byte = message[at + used]
        value |= (byte & 0x7F) << (7 * used)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + used + 1
    raise WireError("a number that is too long")
