"""Which part of a trace is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """Time inside NVTX ranges of a name, a half-open span of nanoseconds, one device; None does not restrict."""

    nvtx: str | None = None
    range_ns: tuple[int, int] | None = None
    device: int | None = None


WHOLE = Scope()
