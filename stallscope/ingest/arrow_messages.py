"""The framing of an Arrow IPC stream, read without decoding it: how many bytes its compressed buffers claim to hold.

Written from the public format description (arrow.apache.org/docs/format/Columnar.html). pyarrow allocates what a buffer
claims before it looks at the data, so the claims are added up first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_CONTINUES = 0xFFFFFFFF
_MOST_METADATA_BYTES = 64 << 20
_DICTIONARY, _RECORDS = 2, 3
"""Kinds of message that hold buffers; a dictionary holds a record batch as its second field."""


def unfolded_bytes(path: Path) -> int:
    """Bytes of all buffers of the stream once decompressed, as the stream itself claims.

    Raises `ValueError` where the framing is broken; a stream that merely ends early is left to the decoder.
    """
    size, total = path.stat().st_size, 0
    with path.open("rb") as file:
        try:
            while (message := _next_message(file)) is not None:
                kind, header, body_bytes = message
                body = file.tell()
                if not 0 <= body_bytes <= size - body:
                    raise ValueError("a message ends behind the file")
                if kind in {_DICTIONARY, _RECORDS}:
                    records = header.child(1) if kind == _DICTIONARY else header
                    total += _claimed(records, file, body) if records.has(3) else body_bytes
                file.seek(body + body_bytes)
        except (struct.error, IndexError, OverflowError) as error:
            raise ValueError("broken message") from error
    return total


def _next_message(file: BinaryIO) -> tuple[int, _Table, int] | None:
    """Kind, header and body length of the next message; the file then stands at its body. None at the end."""
    length = int.from_bytes(file.read(4), "little")
    length = int.from_bytes(file.read(4), "little") if length == _CONTINUES else length
    if not length:
        return None
    if length > _MOST_METADATA_BYTES:
        raise ValueError("a message header larger than any table needs")
    metadata = file.read(length)
    message = _Table(metadata, struct.unpack_from("<I", metadata)[0])
    return message.number(1, "<B"), message.child(2), message.number(3, "<q")


def _claimed(records: _Table, file: BinaryIO, body: int) -> int:
    """A compressed buffer begins with its size once decompressed; -1 marks one that is stored as it is."""
    total = 0
    for offset, length in records.buffers():
        if length >= 8:
            file.seek(body + offset)
            claimed: int = struct.unpack("<q", file.read(8))[0]
            total += length if claimed < 0 else claimed
    return total


@dataclass(frozen=True, slots=True)
class _Table:
    """A flatbuffers table: its fields are found through the offsets in front of it."""

    data: bytes
    at: int

    def has(self, field: int) -> bool:
        """Whether a field was written."""
        return bool(self._offset(field))

    def number(self, field: int, layout: str) -> int:
        """A scalar field; 0 when it was not written."""
        offset = self._offset(field)
        return int(struct.unpack_from(layout, self.data, self.at + offset)[0]) if offset else 0

    def child(self, field: int) -> _Table:
        """A table in a field; an empty one when it was not written."""
        offset = self._offset(field)
        if not offset:
            return _Table(bytes(8), 4)
        place = self.at + offset
        return _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0])

    def buffers(self) -> list[tuple[int, int]]:
        """Offset and length of every buffer of a record batch."""
        offset = self._offset(2)
        if not offset:
            return []
        place = self.at + offset
        place += struct.unpack_from("<I", self.data, place)[0]
        count = struct.unpack_from("<I", self.data, place)[0]
        wanted = self.data[place + 4 : place + 4 + 16 * count]
        return [(offset, length) for offset, length in struct.iter_unpack("<qq", wanted)]

    def _offset(self, field: int) -> int:
        vtable = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        slot = 4 + 2 * field
        if vtable < 0 or slot + 2 > struct.unpack_from("<H", self.data, vtable)[0]:
            return 0
        return int(struct.unpack_from("<H", self.data, vtable + slot)[0])
