"""A wait class is one rule, one test, one page: the catalogue notices when one of them is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallscope.errors import StallscopeError
from stallscope.model.collection import FLAGS
from stallscope.waits import catalogue
from stallscope.waits.base import Rule
from stallscope.waits.catalogue import all_rules
from stallscope.waits.ledger import PRECEDENCE

HEADINGS = ["## What it means", "## How it is detected", "## When it is wrong", "## What to try next"]
RULES = {rule.meta.id: rule for rule in all_rules()}


@pytest.mark.parametrize("wait", RULES)
def test_every_rule_has_its_page_with_the_four_headings(wait: str, repository: Path) -> None:
    page = (repository / "docs" / "waits" / f"{wait}.md").read_text("utf-8")
    assert page.startswith(f"# {wait}\n")
    assert [line for line in page.splitlines() if line.startswith("## ")] == HEADINGS


@pytest.mark.parametrize("wait", RULES)
def test_every_rule_has_a_test_that_names_it(wait: str, repository: Path) -> None:
    tests = (repository / "tests" / "waits" / "rules").glob("test_*.py")
    assert any(f'"{wait}"' in test.read_text("utf-8") for test in tests)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_is_complete(rule: Rule) -> None:
    assert rule.meta.title[0].isupper()
    assert all(table in FLAGS for table in (*rule.meta.needs, *rule.meta.uses))
    assert rule.experiments or rule.meta.layer == "note"
    for experiment in rule.experiments:
        assert experiment.apply
        assert experiment.refuted_if
        assert "stallscope diff" in experiment.measure


def test_the_file_of_a_rule_is_called_like_its_id(repository: Path) -> None:
    files = {file.stem for file in (repository / "stallscope/waits/rules").glob("*.py")} - {"__init__"}
    assert files == {wait.replace(".", "_") for wait in RULES}


def test_every_charged_id_has_its_place_in_the_precedence() -> None:
    charged = {rule.meta.id for rule in RULES.values() if rule.meta.layer in ("kernel", "busy", "idle")}
    assert charged <= set(PRECEDENCE)


def test_two_rules_with_one_id_are_an_error() -> None:
    rule = RULES["alloc.sync"]
    with pytest.raises(StallscopeError, match=r"alloc\.sync"):
        catalogue._add({"alloc.sync": rule}, rule, "somebody's package")
