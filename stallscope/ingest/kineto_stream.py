"""Reads a chrome trace of any size in bounded pieces.

A piece of text that starts at an event and ends with `}` decodes as a JSON array, once wrapped in brackets, exactly if
it ends at the end of an event: inside a nested object or a string the brackets or quotes would not balance. So cuts
are guessed from the right and proved by the decoder; no second parser is needed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from stallscope.errors import InputError
from stallscope.ingest.identify import GZIP
from stallscope.ingest.kineto_events import Event, Header
from stallscope.ingest.kineto_repair import Repairs, repaired

CHUNK_BYTES = 2 << 20
"""Objects of larger pieces outgrow the memory that Python has at hand: those of 8 MiB fault 20 times the pages in."""
LARGEST_PIECE = 256 << 20
"""A header, or a single event, beyond this is not a profiler's work."""
SPARE_BYTES = 64 << 20
MOST_UNPACKED = 100
SPARE_EVENTS = 1_000_000
FEWEST_BYTES_AN_EVENT = 3
"""What a packed file may unfold to; measured traces have a ratio of up to 30 and use 7 bytes an event."""

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_POSITION = re.compile(r"\(byte (\d+)\)")
_BOM = b"\xef\xbb\xbf"


class _HashingFile(io.RawIOBase):
    """Passes reads through and hashes them: the file is read once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self.digest.update(memoryview(buffer)[:count])
        return int(count)


class EventStream:
    """Events of one file, batch by batch; `header`, `sha256` and `repairs` are complete when the batches are.

    Raises `InputError` for anything that is not a whole trace, with line and column where the JSON is broken.
    """

    def __init__(self, path: Path, *, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.name = path.name
        self.header = Header()
        self.repairs = Repairs()
        self.sha256 = ""
        self._path = path
        self._chunk_bytes = chunk_bytes
        self._decoder = msgspec.json.Decoder(list[Event])
        self._lines = self._column = 0
        self._file_bytes = self._text_bytes = self._events = 0

    def batches(self) -> Iterator[list[Event]]:
        """All events in file order."""
        try:
            with self._path.open("rb") as file:
                self._file_bytes = self._path.stat().st_size
                hashing = _HashingFile(file)
                buffered = io.BufferedReader(hashing, 1 << 20)
                yield from self._from(_unpacked(buffered))
                while buffered.read(1 << 20):
                    pass  # what a gzip reader leaves behind still belongs to the hash
                self.sha256 = hashing.digest.hexdigest()
        except OSError as error:
            if isinstance(error, gzip.BadGzipFile):
                raise InputError("broken gzip data", file=self.name, next_step="copy the file again") from error
            raise InputError(f"cannot be read: {error.strerror}", file=self.name) from error
        except RecursionError as error:
            raise InputError("it nests deeper than any profiler writes", file=self.name, next_step=_AGAIN) from error
        except (EOFError, zlib.error) as error:
            raise InputError("gzip data ends early or is damaged", file=self.name, next_step=_AGAIN) from error

    def _from(self, text: BinaryIO) -> Iterator[list[Event]]:
        buffer, is_list = self._open(text)
        at_end = False
        while True:
            if not at_end:
                more = self._read(text, self._chunk_bytes)
                at_end = not more
                buffer += more
            events, rest, closed = self._take(buffer, at_end=at_end)
            if events:
                self._events += len(events)
                self._require_plausible()
                yield events
            if closed:
                tail = rest + self._read(text, LARGEST_PIECE)
                self._close(tail, is_list=is_list)
                return
            buffer = rest

    def _open(self, text: BinaryIO) -> tuple[bytes, bool]:
        """Text after the bracket that opens the events, and whether the file is a bare list."""
        buffer = self._read(text, self._chunk_bytes).removeprefix(_BOM)
        _refuse_archive(buffer, self.name)
        first = buffer.lstrip()[:1]
        if first == b"[":
            opening = buffer.index(b"[") + 1
            self._passed(buffer[:opening])
            return buffer[opening:], True
        if first != b"{":
            raise InputError("not a JSON trace", file=self.name, next_step=_EXPORT)
        while True:
            for match in _EVENTS.finditer(buffer):
                if self._header(buffer[: match.start()] + b'"traceEvents":[]}'):
                    self._passed(buffer[: match.end()])
                    return buffer[match.end() :], False
            more = self._read(text, self._chunk_bytes)
            if not more or len(buffer) > LARGEST_PIECE:
                raise self._without_events(buffer)
            buffer += more

    def _read(self, text: BinaryIO, most: int) -> bytes:
        piece = text.read(most)
        self._text_bytes += len(piece)
        self._require_plausible()
        return piece

    def _require_plausible(self) -> None:
        """Profilers' traces shrink to a thirtieth at most; a few bytes that unpack to gigabytes are no trace."""
        too_long = self._text_bytes > SPARE_BYTES + MOST_UNPACKED * self._file_bytes
        if too_long or self._events > SPARE_EVENTS + self._file_bytes // FEWEST_BYTES_AN_EVENT:
            raise InputError("it unpacks to far more than a trace of its size", file=self.name, next_step=_EXPORT)

    def _header(self, text: bytes) -> bool:
        """Does the text up to the events make a JSON object? Then these events are at its top level."""
        try:
            self.header = self._keys(text)
        except msgspec.DecodeError:
            return False
        return True

    def _keys(self, text: bytes) -> Header:
        try:
            return msgspec.json.decode(text, type=Header)
        except msgspec.DecodeError:
            clean = repaired(text, self.repairs)
            if clean is None:
                raise
            return msgspec.json.decode(clean, type=Header)

    def _without_events(self, text: bytes) -> InputError:
        try:
            header = msgspec.json.decode(text, type=Header)
        except msgspec.DecodeError as error:
            return self._broken(text, error)
        if bytes(header.nodes):
            return InputError(
                "a PyTorch execution trace (operators without device times), not a profiler trace",
                file=self.name,
                next_step="give the trace that torch.profiler exported in the same run",
            )
        return InputError("a JSON document without traceEvents", file=self.name, next_step=_EXPORT)

    def _take(self, buffer: bytes, *, at_end: bool) -> tuple[list[Event], bytes, bool]:
        """Whole events at the start of the buffer, what follows them, and whether the list ended."""
        if at_end:
            try:
                events, tail = self._parse(buffer, b"")
            except msgspec.DecodeError as error:
                raise self._broken(buffer, error, offset=-1) from error
            return events, tail or b"", True
        for cut in _cuts(buffer):
            try:
                events, tail = self._parse(buffer[:cut], b"]")
            except msgspec.DecodeError as error:
                if _position(error) is None:
                    continue  # the cut was inside a nested list or a string
                raise self._broken(buffer, error, offset=-1) from error
            if tail is not None:
                return events, tail + buffer[cut:], True
            following = buffer.index(b",", cut) + 1
            self._passed(buffer[:following])
            return events, buffer[following:], False
        if len(buffer) > LARGEST_PIECE:
            raise InputError("one event is larger than any profiler writes", file=self.name, next_step=_AGAIN)
        return [], buffer, False

    def _parse(self, piece: bytes, bracket: bytes) -> tuple[list[Event], bytes | None]:
        """Events of the piece; if the list ends in it, also the text behind the closing bracket."""
        try:
            return self._decode(b"[" + piece + bracket), None
        except msgspec.DecodeError as error:
            if "trailing characters" not in str(error):
                clean = repaired(piece, self.repairs)
                if clean is None:
                    raise
                return self._parse(clean, bracket)
            closing = piece.rindex(b"]", 0, (_position(error) or 0) - 2)
            events = self._decode(b"[" + piece[: closing + 1])
            self._passed(piece[: closing + 1])
            return events, piece[closing + 1 :]

    def _close(self, tail: bytes, *, is_list: bool) -> None:
        """Read the keys behind the events."""
        if is_list:
            if tail.strip():
                raise self._broken(tail, msgspec.DecodeError("text behind the list of events (byte 1)"))
            return
        try:
            after = self._keys(b"{" + tail.lstrip().removeprefix(b","))
        except msgspec.DecodeError as error:
            raise self._broken(tail, error) from error
        for key in Header.__struct_fields__:
            if key != "nodes" and getattr(after, key) is not None:
                setattr(self.header, key, getattr(after, key))

    def _decode(self, text: bytes) -> list[Event]:
        try:
            return self._decoder.decode(text)
        except msgspec.ValidationError:
            return list(self._one_by_one(text))

    def _one_by_one(self, text: bytes) -> Iterator[Event]:
        """Some event has a type no profiler writes: keep the others."""
        for raw in msgspec.json.decode(text, type=list[msgspec.Raw]):
            event = _event(raw)
            if event is None:
                self.repairs.events += 1
            else:
                yield event

    def _passed(self, text: bytes) -> None:
        newlines = text.count(b"\n")
        self._lines += newlines
        self._column = len(text) - text.rindex(b"\n") - 1 if newlines else self._column + len(text)

    def _broken(self, text: bytes, error: msgspec.DecodeError, offset: int = 0) -> InputError:
        """Where the JSON stops making sense, counted from the start of the (unpacked) file."""
        position = _position(error)
        before = text if position is None else text[: max(position - 1 + offset, 0)]
        blank = len(text) - len(before) - len(text[len(before) :].lstrip())
        self._passed(text[: len(before) + blank])
        reason = _POSITION.sub("", str(error)).removeprefix("JSON is malformed: ").strip()
        where = f"broken JSON at line {self._lines + 1}, column {self._column + 1}"
        if "truncated" in reason:
            return InputError(f"{where}: the file ends in the middle", file=self.name, next_step=_AGAIN)
        return InputError(f"{where}: {reason}", file=self.name, next_step=_AGAIN)


_AGAIN = "export or copy the trace again; the profiler may have been stopped while it wrote"
_EXPORT = "give a trace written by torch.profiler (export_chrome_trace or tensorboard_trace_handler)"


def _unpacked(file: io.BufferedReader[_HashingFile]) -> BinaryIO:
    """Gzip by content, whatever the name says."""
    if file.peek(len(GZIP)).startswith(GZIP):
        return gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[return-value]
    return file


def _refuse_archive(head: bytes, name: str) -> None:
    if head[257:262] == b"ustar":
        raise InputError("a tar archive, not a trace", file=name, next_step="unpack it and give the trace inside")


def _event(raw: msgspec.Raw) -> Event | None:
    try:
        return msgspec.json.decode(raw, type=Event)
    except msgspec.ValidationError:
        return None


def _cuts(buffer: bytes) -> Iterator[int]:
    """Ends of objects followed by another object, from the right; few are tried, the first is nearly always right."""
    end = len(buffer)
    while (end := buffer.rfind(b"}", 0, end)) >= 0:
        if _BETWEEN.match(buffer, end):
            yield end + 1


def _position(error: msgspec.DecodeError) -> int | None:
    """Where the text is wrong; None when it merely ended too early."""
    found = _POSITION.search(str(error))
    return int(found.group(1)) if found else None
