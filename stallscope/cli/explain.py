"""`stallscope explain`: one wait class, or one finding of a trace."""

from __future__ import annotations

import difflib
import re
import sys
from typing import TYPE_CHECKING

import click

from stallscope.cli._documents import is_document, read_document
from stallscope.cli._rendering import takes_colour, terminal_width
from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.model.analysis import Analysis
    from stallscope.model.findings import Finding

FINDING_ID = re.compile(r"F-[0-9a-f]+", re.IGNORECASE)
READABLE_WIDTH = 100


@click.command("explain")
@click.argument("name", metavar="ID")
@click.argument("source", required=False, metavar="[REPORT|TRACE]")
def command(name: str, source: str | None) -> None:
    """Explain a wait (alloc.sync) or a finding (F-3f2a91).

    A wait alone prints its page: what it means, how it is detected, when that is wrong, what to try next. With a saved
    report or a trace, the findings of that id in full: evidence, places, times, experiments.
    """
    if source is not None:
        _explain_findings(name, _analysis(source))
    elif FINDING_ID.fullmatch(name):
        raise UsageError(
            f"{name} is a finding of one trace", next_step=f"say which: stallscope explain {name} REPORT.json|TRACE"
        )
    else:
        _explain_wait(name)


def _analysis(source: str) -> Analysis:
    if is_document(source):
        return read_document(source)
    from stallscope.cli._analysis import analyze_whole

    return analyze_whole(source)


def _explain_findings(name: str, analysis: Analysis) -> None:
    found = [finding for finding in analysis.findings if name.lower() in (finding.id.lower(), finding.wait)]
    if not found:
        raise UsageError(f"the analysis has no finding {name}", next_step=_known(analysis))
    from stallscope.reporters.terminal import Paper
    from stallscope.reporters.text_explanation import write_explanation

    paper = Paper(width=min(terminal_width(), READABLE_WIDTH), colour=takes_colour())
    for number, finding in enumerate(found):
        if number:
            paper.blank()
        write_explanation(paper, finding)
    click.echo(paper.text(), nl=False, color=paper.colour)


def _known(analysis: Analysis) -> str:
    if not analysis.findings:
        return "it has no findings at all; `stallscope analyze … --all` keeps the small ones"
    return f"it has: {', '.join(_name(finding) for finding in analysis.findings[:20])}"


def _name(finding: Finding) -> str:
    return f"{finding.id} ({finding.wait})"


def _explain_wait(wait: str) -> None:
    from stallscope.views.pages import wait_pages

    pages = wait_pages()
    if wait not in pages:
        close = difflib.get_close_matches(wait, pages, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`stallscope rules` lists the waits"
        raise UsageError(f"no wait is called {wait}", next_step=hint)
    text = pages[wait].read_text("utf-8")
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=min(terminal_width(), READABLE_WIDTH), no_color=not takes_colour()).print(Markdown(text))
