"""Finds the rules: every module in `stallscope.waits.rules` and the entry points `stallscope.rules`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from stallscope.errors import StallscopeError
from stallscope.waits import rules
from stallscope.waits.base import Rule

ENTRY_POINTS = "stallscope.rules"


@cache
def all_rules() -> tuple[Rule, ...]:
    """Rules by id. Raises `StallscopeError` when two rules share one or an entry point gives something else."""
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(rules.__path__):
        _add(found, importlib.import_module(f"{rules.__name__}.{module.name}").RULE, module.name)
    for point in entry_points(group=ENTRY_POINTS):
        _add(found, point.load(), point.value)
    return tuple(found[wait] for wait in sorted(found))


def _add(found: dict[str, Rule], rule: object, origin: str) -> None:
    if not isinstance(rule, Rule):
        raise StallscopeError(f"{origin} is not a stallscope Rule", next_step="remove or update the package it is from")
    if rule.meta.id in found:
        raise StallscopeError(f"{origin} claims the id {rule.meta.id}, which another rule has", next_step="rename it")
    found[rule.meta.id] = rule
