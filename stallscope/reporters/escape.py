"""Trace text is written by strangers: kernel names, NVTX ranges and titles are made harmless here, once per format."""

from __future__ import annotations

import html
import re
import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
MAX_NAME = 160
MAX_PROSE = 500

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_PLAIN_CODE = re.compile(r"[^`|$\s](?:[^`|$]*[^`|$\s])?")
_CODE_ACTIVE = re.compile(r"[\\`*_{}\[\]()#+!|~$:@^=/&<>\"'.-]")
_PROSE_ACTIVE = re.compile(r"[\\`*\[\]#|~$@<>&]|!(?=\[)|:(?=\S)|(?<!\w)_|_(?!\w)|(?<=www)\.", re.IGNORECASE)
_NO_MENTION = "&#8203;"


def visible(text: str, limit: int | None = MAX_PROSE) -> str:
    """One line of printable text: control, bidirectional, invisible and unpaired characters become U+FFFD.

    Line breaks and tabs become spaces. Text longer than `limit` keeps its beginning and says how long it was.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit]
    shown = "".join(_visible_character(c) for c in cut)
    return shown if len(cut) == len(text) else f"{shown}… ({len(text):,} characters)"


def markdown_code(text: str, limit: int = MAX_NAME) -> str:
    """A name as inline code that no Markdown or HTML inside it can leave, in a table cell too."""
    shown = visible(text, limit)
    if _PLAIN_CODE.fullmatch(shown):
        return f"`{shown}`"
    return f"<code>{_CODE_ACTIVE.sub(_entity, shown)}</code>"


def markdown_text(text: str, limit: int = MAX_PROSE) -> str:
    """A sentence as literal Markdown text: no markup, no links, no mentions, no references to issues."""
    return _PROSE_ACTIVE.sub(_entity, visible(text, limit))


def html_code(text: str, limit: int = MAX_NAME) -> str:
    """A name as inline code inside an HTML block, where Markdown is not read."""
    return f"<code>{html.escape(visible(text, limit))}</code>"


def csv_cell(text: str, limit: int = 1_000) -> str:
    """Text for a CSV cell; a leading quote keeps spreadsheets from reading it as a formula."""
    shown = visible(text, limit)
    first = (shown.lstrip()[:1], text[:1])
    return f"'{shown}" if any(start in _FORMULA_STARTS for start in first) else shown


def sarif_text(text: str) -> str:
    """A sentence for a SARIF message, in which square brackets would start a link."""
    return visible(text).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def json_in_html(text: str) -> str:
    """JSON for a data block of an HTML page: nothing in it can end the element or open a comment."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _visible_character(character: str) -> str:
    if character in "\n\r\t\v\f":
        return " "
    category = unicodedata.category(character)
    if category[0] == "C" or category in {"Zl", "Zp"}:
        return REPLACEMENT
    return character


def _entity(found: re.Match[str]) -> str:
    character = found[0]
    if character in "<>&":
        return html.escape(character)
    suffix = _NO_MENTION if character in "@#" else ""
    return f"&#{ord(character)};{suffix}"
