"""What a reporter is, and the formats by name. A reporter's module is imported when its format is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath
from typing import Protocol, TextIO

from stallscope.errors import UsageError
from stallscope.model.analysis import Analysis

PACKAGE = "stallscope.reporters"


class Reporter(Protocol):
    """Writes one analysis in one format; sees nothing but the document. The same analysis gives the same text."""

    @property
    def name(self) -> str:
        """Name of the format, as `--format` takes it."""
        ...

    @property
    def suffix(self) -> str:
        """Suffix of its files, with the dot."""
        ...

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the report."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """One value of `--format`; `module` holds the reporter with its default options as `REPORTER`."""

    name: str
    module: str
    suffix: str


FORMATS = (
    Format("text", "text", ".txt"),
    Format("json", "json", ".json"),
    Format("md", "markdown", ".md"),
    Format("html", "html", ".html"),
    Format("sarif", "sarif", ".sarif"),
    Format("junit", "junit", ".xml"),
    Format("csv", "csv", ".csv"),
    Format("gh-summary", "gh_summary", ".md"),
)


def format_names() -> tuple[str, ...]:
    """Every value `--format` takes."""
    return tuple(known.name for known in FORMATS)


def format_of_file(file: str) -> str:
    """The format that a file name's suffix stands for; text when it stands for none."""
    suffix = PurePath(file).suffix.lower()
    return next((known.name for known in FORMATS if known.suffix == suffix), "text")


def reporter(name: str) -> Reporter:
    """The reporter of a format, with its default options. Raises `UsageError` for a name that is none."""
    known = {known.name: known for known in FORMATS}.get(name)
    if known is None or find_spec(f"{PACKAGE}.{known.module}") is None:
        raise UsageError(f"no format {name!r}", next_step=f"the formats are: {', '.join(format_names())}")
    made: Reporter = import_module(f"{PACKAGE}.{known.module}").REPORTER
    return made
