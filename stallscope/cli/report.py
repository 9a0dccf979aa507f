"""`stallscope report`: a saved document in another format."""

from __future__ import annotations

import click

from stallscope.cli._documents import read_document
from stallscope.cli._rendering import (
    RenderingCommand,
    TextOptions,
    rendering_options,
    renderings,
    shown_path,
    write_reports,
)


@click.command("report", cls=RenderingCommand)
@click.argument("report")
@rendering_options
@click.option("--all", "everything", is_flag=True, help="Print every row of the terminal report.")
@click.option("--plan", metavar="N", type=click.IntRange(0), default=0, help="Spell out the next N experiments.")
def command(*, report: str, formats: tuple[str, ...], outputs: tuple[str, ...], everything: bool, plan: int) -> None:
    """Render a saved REPORT.json ('-' is stdin) in another format."""
    wanted = renderings(formats, outputs)
    write_reports(read_document(report), wanted, TextOptions(everything, plan, (shown_path(report),)))
