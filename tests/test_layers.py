"""The rooms of the house: import-linter's contracts hold, and the size budget of modules and functions too."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGES = ("stallscope", "dashboards", "probes")
LONGEST_MODULE = 350
LONGEST_FUNCTION = 50


def test_import_contracts_hold(repository: Path) -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter], cwd=repository, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout


def test_modules_and_functions_stay_small(repository: Path) -> None:
    files = [file for package in PACKAGES for file in sorted((repository / package).rglob("*.py"))]
    assert not [found for file in files for found in _too_long(file)]


def _too_long(file: Path) -> list[str]:
    text = file.read_text("utf-8")
    lines = text.count("\n")
    found = [f"{file.name}: {lines} lines"] if lines > LONGEST_MODULE else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            found += [f"{file.name}: {node.name} has {length} lines"] if length > LONGEST_FUNCTION else []
    return found
