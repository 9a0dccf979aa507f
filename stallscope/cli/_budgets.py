"""Budgets from wherever the user keeps them: flags, a file named on the command line, or the project's file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stallscope.gates import Budget
    from stallscope.settings import Settings


def chosen_budgets(chosen: Settings, file: str | None) -> tuple[Budget, ...]:
    """`--fail-on` first, then the budgets of `file`, or without one those of the project's stallscope.toml.

    Raises `UsageError` for what is not a budget, `InputError` for a file that cannot be read.
    """
    if not chosen.fail_on and file is None and chosen.budgets is None:
        return ()
    from stallscope.gates import parse_budgets, parse_condition, read_budgets
    from stallscope.settings import project_file

    conditions = tuple(map(parse_condition, chosen.fail_on))
    if file is not None:
        return conditions + read_budgets(Path(file))
    if chosen.budgets is not None:
        found = project_file(Path.cwd())
        return conditions + parse_budgets(chosen.budgets, found.name if found else "budgets")
    return conditions
