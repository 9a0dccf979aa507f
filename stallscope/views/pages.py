"""The documentation page of every wait, from the installed package or from a checkout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def wait_pages() -> dict[str, Path]:
    """Page by wait id, in alphabetical order."""
    return {file.stem: file for folder in _folders() for file in sorted(folder.glob("*.md")) if "." in file.stem}


def _folders() -> Iterator[Path]:
    """The wheel holds the pages inside the package; a checkout holds them beside it."""
    for folder in (PACKAGE / "docs" / "waits", PACKAGE.parent / "docs" / "waits"):
        if folder.is_dir():
            yield folder
            return
