"""Finds the kernel rules: every module in `stallscope.kernels.rules` and the entry points `stallscope.kernel_rules`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from stallscope.errors import StallscopeError
from stallscope.kernels import rules
from stallscope.kernels.base import KernelRule

ENTRY_POINTS = "stallscope.kernel_rules"


@cache
def all_kernel_rules() -> tuple[KernelRule, ...]:
    """Rules by id. Raises `StallscopeError` when two rules share one or an entry point gives something else."""
    found: dict[str, KernelRule] = {}
    for module in pkgutil.iter_modules(rules.__path__):
        _add(found, importlib.import_module(f"{rules.__name__}.{module.name}").RULE, module.name)
    for point in entry_points(group=ENTRY_POINTS):
        _add(found, point.load(), point.value)
    return tuple(found[wait] for wait in sorted(found))


def _add(found: dict[str, KernelRule], rule: object, origin: str) -> None:
    if not isinstance(rule, KernelRule):
        raise StallscopeError(f"{origin} is not a stallscope KernelRule", next_step="remove or update its package")
    if rule.meta.id in found:
        raise StallscopeError(f"{origin} claims the id {rule.meta.id}, which another rule has", next_step="rename it")
    found[rule.meta.id] = rule
