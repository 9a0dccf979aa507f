"""Puts a mutant into a module that is imported already: into its functions, or into the constants built from it."""

from __future__ import annotations

import ast
import gc
import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from mutants import ROOT, planted, tree_of


def plant(file: str, number: int) -> bool:
    """Whether the fault found a place: a function whose code it changes, or a constant whose statement it changes."""
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = importlib.import_module(name)
    healthy, faulty = tree_of(file), planted(file, number)
    in_functions = _plant_code(str(ROOT / file), healthy, faulty)
    return _plant_constants(module, healthy, faulty) or in_functions


def _plant_code(path: str, healthy: ast.Module, faulty: ast.Module) -> bool:
    """Every living function of the file, lambdas in tables and wrapped functions too, gets the changed code."""
    sound, changed = _by_place(compile(healthy, path, "exec")), _by_place(compile(faulty, path, "exec"))
    pairs = [(code, changed[place]) for place, code in sound.items() if place in changed and code != changed[place]]
    living = [f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__.co_filename == path]
    chosen = [(f, fault) for f in living for code, fault in pairs if f.__code__ == code]
    if any(function.__code__.co_freevars != fault.co_freevars for function, fault in chosen):
        return False  # a closure keeps its cells: a function that lost its super() cannot be replaced
    for function, fault in chosen:
        function.__code__ = fault
    return bool(chosen)


def _by_place(module: CodeType) -> dict[tuple[str, int, int], CodeType]:
    """Code objects by qualified name, first line and number among those that share both (lambdas of one line)."""
    found: dict[tuple[str, int, int], CodeType] = {}
    seen: Counter[tuple[str, int]] = Counter()
    for code in _codes(module):
        place = code.co_qualname, code.co_firstlineno
        found[code.co_qualname, code.co_firstlineno, seen[place]] = code
        seen[place] += 1
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _plant_constants(module: ModuleType, healthy: ast.Module, faulty: ast.Module) -> bool:
    """Run the changed statement of the module again, and those after it that use its name."""
    stale: set[str] = set()
    for before, after in zip(healthy.body, faulty.body, strict=True):
        if isinstance(after, (ast.Assign, ast.AnnAssign)) and (
            ast.dump(before) != ast.dump(after) or stale & _names(after)
        ):
            stale |= _rebound(module, after)
    return bool(stale)


def _rebound(module: ModuleType, statement: ast.stmt) -> set[str]:
    """Names the statement gave another value, in every module of the package that has the old one by that name."""
    names = vars(module)
    old = dict(names)
    exec(compile(ast.Module([statement], []), str(module.__file__), "exec"), names)  # noqa: S102
    changed = {name for name in _names(statement) if name in names and names[name] is not old.get(name)}
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith("stallscope"):
            for name in changed & vars(other).keys():
                if vars(other)[name] is old.get(name):
                    setattr(other, name, names[name])
    return changed


def _names(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
