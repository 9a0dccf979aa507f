"""What a reporter is. A reporter's module is imported when its format is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, TextIO

from stallscope.errors import UsageError
from stallscope.reporters.formats import FORMATS, format_names

if TYPE_CHECKING:
    from stallscope.gates import GateResult
    from stallscope.model.analysis import Analysis

PACKAGE = "stallscope.reporters"


class Reporter(Protocol):
    """Writes one analysis in one format; sees nothing but the document. The same analysis gives the same text.

    The module of a format holds its reporter with default options as `REPORTER`; a gated format's class takes the
    verdicts of budgets as its first argument.
    """

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


def reporter(name: str, gates: Sequence[GateResult] = ()) -> Reporter:
    """The reporter of a format, with its default options. Raises `UsageError` for a name that is none."""
    known = {known.name: known for known in FORMATS}.get(name)
    if known is None or find_spec(f"{PACKAGE}.{known.module}") is None:
        raise UsageError(f"no format {name!r}", next_step=f"use one of: {', '.join(format_names())}")
    made: Reporter = import_module(f"{PACKAGE}.{known.module}").REPORTER
    return type(made)(gates) if gates and known.gated else made  # type: ignore[call-arg]
