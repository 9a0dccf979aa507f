"""Names that strangers chose, made printable for a screen."""

from __future__ import annotations

import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
SHORT_NAME = 120


def printable(text: str, limit: int | None = None) -> str:
    """One line in which control, bidirectional, invisible and unpaired characters became U+FFFD.

    Text beyond `limit` characters is cut and ends in an ellipsis.
    """
    cut = text if limit is None or len(text) <= limit else text[: limit - 1] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(map(_printable_character, cut))


def _printable_character(character: str) -> str:
    if character in "\n\r\t\v\f":
        return " "
    category = unicodedata.category(character)
    return REPLACEMENT if category[0] == "C" or category in {"Zl", "Zp"} else character
