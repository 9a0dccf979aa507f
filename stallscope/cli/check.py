"""`stallscope check`: budgets against a saved report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stallscope.cli._budgets import chosen_budgets
from stallscope.cli._documents import read_document
from stallscope.cli._rendering import RenderingCommand, TextOptions, rendering_options, renderings, write_reports
from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.gates import GateResult

_WORDS = {"pass": "within", "fail": "OVER", "inconclusive": "unclear"}


@click.command("check", cls=RenderingCommand)
@click.argument("report")
@click.option("--budgets", "file", metavar="FILE", help="TOML file with a [budgets] table, or a pyproject.toml.")
@click.option("--fail-on", "fail_on", multiple=True, metavar="'WAIT>VALUE'", help="A budget by hand: 'alloc.sync>5%'.")
@click.option("--strict", is_flag=True, default=None, help="Exit 5 when a budget cannot be decided.")
@rendering_options
def command(*, report: str, formats: tuple[str, ...], outputs: tuple[str, ...], **flags: Any) -> int:
    """Compare a saved REPORT.json ('-' is stdin) with budgets, without the trace.

    Without --budgets, the [budgets] of the project's stallscope.toml or pyproject.toml count. Exits 1 when a budget is
    exceeded. A budget that the report cannot decide neither passes nor fails: it is shown, and exits 5 under --strict.
    """
    from stallscope.cli._analysis import load_settings
    from stallscope.gates import evaluate, exit_code

    wanted = renderings(formats, outputs) if formats or outputs else ()
    file = flags.pop("file")
    chosen = load_settings(flags)
    budgets = chosen_budgets(chosen, file)
    if not budgets:
        raise UsageError("no budget to check", next_step="give --budgets FILE or --fail-on 'alloc.sync>5%'")
    analysis = read_document(report)
    gates = evaluate(analysis, budgets)
    if wanted:
        write_reports(analysis, wanted, TextOptions(), gates)
    else:
        click.echo("\n".join(map(_line, gates)))
    return exit_code(gates, strict=chosen.strict)


def _line(gate: GateResult) -> str:
    from stallscope.reporters.escape import visible

    said = f"measured {gate.shown}" if gate.state == "pass" else gate.reason
    return visible(f"{_WORDS[gate.state]:8}{gate.budget.name}: {said}")
