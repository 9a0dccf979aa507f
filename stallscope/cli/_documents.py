"""Saved analysis documents, read back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stallscope.errors import InputError

if TYPE_CHECKING:
    from stallscope.model.analysis import Analysis

STDIN = "-"
LARGEST_BYTES = 256 << 20
HEAD_BYTES = 64 << 10


def is_document(path: str) -> bool:
    """Whether the argument is a saved document and not a trace (a Kineto trace is JSON too)."""
    if path == STDIN:
        return True
    try:
        with Path(path).open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    return head.lstrip()[:1] == b"{" and (b'"schema_version"' in head or b'"stallscope"' in head)


def read_document(path: str) -> Analysis:
    """The analysis in a file, or on stdin for `-`. Raises `InputError` when it is not one."""
    import msgspec

    from stallscope.model.analysis import SCHEMA_VERSION, Analysis

    name = "stdin" if path == STDIN else Path(path).name
    text = _read(path, name)
    if not text.strip():
        raise InputError("the file is empty", file=name, next_step="write it again: stallscope analyze … -o FILE.json")
    try:
        analysis = Analysis.from_json(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        next_step = "give a report written by `stallscope analyze … --format json`"
        raise InputError(f"not a stallscope report: {error}", file=name, next_step=next_step) from error
    if not analysis.sources or analysis.schema_version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
        what = "not a stallscope report" if not analysis.sources else f"document version {analysis.schema_version}"
        raise InputError(what, file=name, next_step=f"this stallscope reads version {SCHEMA_VERSION} documents")
    return analysis


def _read(path: str, name: str) -> bytes:
    try:
        if path == STDIN:
            text = sys.stdin.buffer.read(LARGEST_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                text = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise InputError(
            (error.strerror or "cannot be read").lower(), file=name, next_step="check the path and its permissions"
        ) from error
    if len(text) > LARGEST_BYTES:
        raise InputError(f"larger than {LARGEST_BYTES >> 20} MiB", file=name, next_step="no report is that large")
    return text
