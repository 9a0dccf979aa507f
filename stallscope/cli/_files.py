"""Binary files that appear complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stallscope.errors import UsageError


@contextmanager
def replaced(file: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `file` when everything was written.

    Raises `UsageError` when its folder does not take files.
    """
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as out:
            yield out
        part.replace(file)
    except OSError as error:
        raise UsageError(
            f"cannot write the file: {(error.strerror or str(error)).lower()}",
            file=file.name,
            next_step="give -o a file in a folder that exists and that you may write to",
        ) from error
    finally:
        part.unlink(missing_ok=True)
