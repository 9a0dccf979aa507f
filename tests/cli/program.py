"""What running the program in a test gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """What a shell would see."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
