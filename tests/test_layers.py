"""The rooms of the house: import-linter's contracts hold, and the size budget of modules and functions too."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TypeGuard

PACKAGES = ("stallscope", "dashboards", "probes")
LONGEST_MODULE = 300
LONGEST_FUNCTION = 50
LONG_FOR_A_REASON = {
    "stallscope/model/events.py": "declarations only: one class a table",
    "probes/stallscope_probes/device/cpu.py": "one stand-in for everything a GPU does in the probes",
}


def test_import_contracts_hold(repository: Path) -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter], cwd=repository, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout


def test_modules_stay_small(repository: Path) -> None:
    lengths = {name: text.count("\n") for name, text in _sources(repository).items()}
    assert {name for name, lines in lengths.items() if lines > LONGEST_MODULE} <= set(LONG_FOR_A_REASON)


def test_functions_stay_short(repository: Path) -> None:
    functions = [
        (name, node)
        for name, text in _sources(repository).items()
        for node in ast.walk(ast.parse(text))
        if _is_function(node)
    ]
    assert not [f"{name}: {node.name}" for name, node in functions if _own_lines(node) > LONGEST_FUNCTION]


def _sources(repository: Path) -> dict[str, str]:
    files = [file for package in PACKAGES for file in sorted((repository / package).rglob("*.py"))]
    return {str(file.relative_to(repository)): file.read_text("utf-8") for file in files}


def _is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without those of the functions inside it, which count for themselves."""
    inner = sum(_lines(node) for node in function.body if _is_function(node))
    return _lines(function) - inner


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
