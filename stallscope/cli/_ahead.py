"""Modules that an analysis needs later, imported while its trace is read.

To import the rules takes Python as long as to decode a million kernels, and decoding leaves the interpreter to others.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stallscope.ingest.progress import Progress

_LONG_BYTES = 32 << 20
"""Smaller files are read before the modules are there: two threads would only take the interpreter from each other."""


def importing(path: Path, progress: Progress) -> Progress:
    """The progress; once a long file is being read, and the reader's own modules are there, the imports begin."""
    if not path.is_file() or path.stat().st_size < _LONG_BYTES:
        return progress
    thread = Thread(target=_import_analysis, name="imports ahead")

    def told(stage: str, done: float | None) -> None:
        if done is not None and thread.ident is None:
            thread.start()
        progress(stage, done)

    return told


def _import_analysis() -> None:
    # What fails here fails again where it is asked for.
    with suppress(Exception):
        from stallscope import api, ranks
        from stallscope.waits.catalogue import all_rules

        all_rules()
        del api, ranks
