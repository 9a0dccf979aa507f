"""The report formats by name; nothing is imported for knowing them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Format:
    """One value of `--format`; `module` is its reporter, `gated` whether it prints the verdicts of budgets too."""

    name: str
    module: str
    suffix: str
    gated: bool = False


FORMATS = (
    Format("text", "text", ".txt"),
    Format("json", "json", ".json"),
    Format("md", "markdown", ".md", gated=True),
    Format("html", "html", ".html", gated=True),
    Format("sarif", "sarif", ".sarif"),
    Format("junit", "junit", ".xml", gated=True),
    Format("csv", "csv", ".csv"),
    Format("gh-summary", "gh_summary", ".md", gated=True),
)


def format_names() -> tuple[str, ...]:
    """Every value `--format` takes."""
    return tuple(known.name for known in FORMATS)


def format_of_file(file: str) -> str:
    """The format that a file name's suffix stands for; text when it stands for none."""
    suffix = PurePath(file).suffix.lower()
    return next((known.name for known in FORMATS if known.suffix == suffix), "text")
