"""What profilers write that is not JSON, made readable: bytes that are not UTF-8, control characters, nan and inf."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NOT_A_NUMBER = re.compile(r"([:\[,]\s*)-?(?:nan|inf(?:inity)?)(?=\s*[,}\]])", re.IGNORECASE)
_BLANKS = str.maketrans("\t\r", "  ")


@dataclass(slots=True)
class Repairs:
    """How often each repair was needed; the reader reports them as data quality."""

    encodings: int = 0
    controls: int = 0
    numbers: int = 0
    events: int = 0


def repaired(text: bytes, repairs: Repairs) -> bytes | None:
    """The text with replacement characters, blanks and nulls for what JSON does not allow; None if nothing was found.

    Tabs and carriage returns become blanks everywhere: inside strings they are forbidden, outside they do not matter.
    """
    decoded = text.decode(errors="replace")
    encodings = decoded.count("\ufffd") - text.count("\ufffd".encode())
    clean, controls = _CONTROL.subn(" ", decoded.translate(_BLANKS))
    clean, numbers = _NOT_A_NUMBER.subn(r"\1null", clean)
    if clean == decoded and not encodings:
        return None
    repairs.encodings += encodings
    repairs.controls += controls
    repairs.numbers += numbers
    return clean.encode()
