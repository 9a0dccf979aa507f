"""The audit of dependencies fails a build only for what somebody can repair, and never because nobody answered."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def audit(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", repository / "tools" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package(name: str, *vulnerabilities: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "version": "1.0", "vulns": list(vulnerabilities)}


FIXED = {"id": "X-1", "fix_versions": ["1.1"]}
UNFIXED = {"id": "X-2", "fix_versions": []}


@pytest.mark.parametrize("answer", [None, [], [{"name": "polars", "skip_reason": "not found"}]])
def test_no_answer_is_not_checked_and_no_failure(audit: ModuleType, answer: list[dict[str, Any]] | None) -> None:
    lines, fails = audit.judged(answer, {"polars"})
    assert "not checked" in lines[0]
    assert not fails


@pytest.mark.parametrize(
    ("found", "fails"),
    [
        (package("polars", FIXED), True),
        (package("polars", UNFIXED), False),
        (package("elsewhere", FIXED), False),
        (package("polars"), False),
    ],
)
def test_only_what_is_ours_and_can_be_repaired_fails(audit: ModuleType, found: dict[str, Any], fails: bool) -> None:  # noqa: FBT001
    lines, failing = audit.judged([found], {"polars"})
    assert failing is fails
    assert all(any(v["id"] in line for line in lines) for v in found["vulns"])


def test_requirements_of_every_extra_are_ours(audit: ModuleType) -> None:
    assert {"polars", "dash", "msgspec"} <= audit.required()


def test_a_program_that_does_not_answer_is_no_answer(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit.sys, "executable", "/bin/false")
    assert audit.report() is None
