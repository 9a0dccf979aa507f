"""The JSON Schema (2020-12) of the analysis document, as shipped."""

from __future__ import annotations

from importlib.resources import files

FILE_NAME = "analysis-1.0.json"


def text() -> str:
    """The schema as JSON text."""
    return files(__name__).joinpath(FILE_NAME).read_text("utf-8")
