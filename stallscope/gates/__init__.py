"""Budgets over a saved analysis: pass, fail, or say why it cannot be decided."""

from __future__ import annotations

from stallscope.gates.budgets import Budget, Limit, parse_budgets, parse_condition, read_budgets
from stallscope.gates.evaluate import GateResult, evaluate, exit_code

__all__ = ["Budget", "GateResult", "Limit", "evaluate", "exit_code", "parse_budgets", "parse_condition", "read_budgets"]
