"""Places in a module where a small fault can be planted, and the module with one of them."""

# ruff: noqa: D102 (what a visit_… method visits is in its name)

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from pathlib import Path
from typing import cast

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = {"stallscope/timeline/native.py"}
"""Declarations of C functions: a wrong one crashes or does nothing, and no test is about it."""


_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_WORDS = {"left": "right", "right": "left"}
_NAMES = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One planted fault: the `number`-th place of a file, `kind` of change, line, and the line before and after."""

    file: str
    number: int
    kind: str
    line: int
    before: str
    after: str


class Places(ast.NodeTransformer):
    """Visits every place where a fault can be planted; plants it at place `target` (None: only counts)."""

    def __init__(self, target: int | None = None) -> None:
        self.target = target
        self.found: list[tuple[str, int]] = []

    def _here(self, kind: str, node: ast.AST) -> bool:
        self.found.append((kind, getattr(node, "lineno", 0)))
        return len(self.found) - 1 == self.target

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            self._skip_docstring(node)
        return super().visit(node)

    def _skip_docstring(self, node: ast.FunctionDef | ast.ClassDef | ast.Module) -> None:
        for statement in node.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                statement.value.docstring = True  # type: ignore[attr-defined]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self._statement(child) for child in node.body]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Methods alone: flags of a dataclass and numbers of an enumeration are for readers and type checkers."""
        node.body = [cast("ast.stmt", self.visit(c)) if isinstance(c, ast.FunctionDef) else c for c in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if self._here("condition", node):
            node.test = ast.UnaryOp(ast.Not(), node.test)
            return node
        node.test = self.visit(node.test)
        node.body = [self._statement(child) for child in node.body]
        node.orelse = [self._statement(child) for child in node.orelse]
        return node

    def _statement(self, node: ast.stmt) -> ast.stmt:
        """A statement, or nothing in its place; definitions and control flow stay."""
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        stores = isinstance(node, ast.Assign) and any(isinstance(t, ast.Subscript) for t in node.targets)
        acts = isinstance(node, (ast.AugAssign, ast.Continue)) or stores
        if (acts or (isinstance(node, ast.Expr) and not told)) and self._here("deleted", node):
            return ast.copy_location(ast.Pass(), node)
        found = self.visit(node)
        return cast("ast.stmt", found)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        returns_none = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        if not returns_none and self._here("return", node):
            node.value = ast.Constant(None)
            return node
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for position, operator in enumerate(node.ops):
            if type(operator) in _SWAPPED and self._here("comparison", node):
                node.ops[position] = _SWAPPED[type(operator)]()  # type: ignore[assignment]
                return node
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if type(node.op) in _SWAPPED and self._here("arithmetic", node):
            node.op = _SWAPPED[type(node.op)]()  # type: ignore[assignment]
            return node
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if type(node.op) in _SWAPPED and self._here("arithmetic", node):
            node.op = _SWAPPED[type(node.op)]()  # type: ignore[assignment]
            return node
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._here("boolean", node):
            node.op = _SWAPPED[type(node.op)]()  # type: ignore[assignment]
            return node
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, (ast.Not, ast.Invert)) and self._here("boolean", node):
            return node.operand
        if isinstance(node.op, ast.USub) and self._here("arithmetic", node):
            return node.operand
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr in _NAMES and self._here("call", node):
            node.attr = _NAMES[node.attr]
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in _NAMES and isinstance(node.ctx, ast.Load) and self._here("call", node):
            node.id = _NAMES[node.id]
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if getattr(node, "docstring", False):
            return node
        if isinstance(value, bool) and self._here("constant", node):
            return ast.copy_location(ast.Constant(not value), node)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self._here("constant", node):
            return ast.copy_location(ast.Constant(value + 1), node)
        if isinstance(value, str) and value in _WORDS and self._here("constant", node):
            return ast.copy_location(ast.Constant(_WORDS[value]), node)
        return node


def tree_of(file: str) -> ast.Module:
    """The module as it is."""
    return ast.parse((ROOT / file).read_text("utf-8"))


def planted(file: str, number: int) -> ast.Module:
    """The module with one fault."""
    tree = tree_of(file)
    Places(number).visit(tree)
    return ast.fix_missing_locations(tree)


def mutants(room: str) -> list[tuple[str, int]]:
    """Every (file, number) of a room."""
    found = []
    for path in sorted((ROOT / "stallscope" / room).rglob("*.py")):
        file = str(path.relative_to(ROOT))
        if file not in LEFT_OUT:
            places = Places()
            places.visit(tree_of(file))
            found += [(file, number) for number in range(len(places.found))]
    return found


def described(file: str, number: int) -> Mutant:
    """What the fault looks like."""
    places = Places()
    tree = tree_of(file)
    before = ast.unparse(copy.deepcopy(tree)).splitlines()
    places.visit(tree)
    after = ast.unparse(planted(file, number)).splitlines()
    changed = next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), len(before) - 1)
    kind, line = places.found[number]
    return Mutant(file, number, kind, line, before[changed].strip(), after[changed].strip())
