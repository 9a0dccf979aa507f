from __future__ import annotations

from pathlib import Path

import pytest

from stallscope.errors import InputError, UsageError
from stallscope.gates import Budget, Limit, parse_condition, read_budgets


def written(folder: Path, text: str, name: str = "stallscope.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "wait", "value", "kind"),
    [
        ("launch.gap>5%", "launch.gap", 0.05, "share"),
        ("launch.gap > 5 %", "launch.gap", 0.05, "share"),
        ("sync.*>2ms", "sync.*", 2e6, "ns"),
        ("alloc.sync>1.5s", "alloc.sync", 1.5e9, "ns"),
        ("alloc.sync>300us", "alloc.sync", 3e5, "ns"),
        ("alloc.sync>300µs", "alloc.sync", 3e5, "ns"),
        ("alloc.sync>7ns", "alloc.sync", 7, "ns"),
        ("idle>20%", "idle", 0.2, "share"),
        ("*>0ns", "*", 0, "ns"),
    ],
)
def test_condition_is_read_with_its_unit(text: str, wait: str, value: float, kind: str) -> None:
    budget = parse_condition(text)
    assert (budget.wait, budget.limit.kind) == (wait, kind)
    assert budget.limit.value == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["launch.gap", "launch.gap>5", "launch.gap>", ">5%", "launch gap>5%", "x>-1ms", "x>101%"]
)
def test_condition_that_is_not_one_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_condition(text)


def test_file_gives_budgets_in_its_order(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [budgets]
        "launch.gap" = "5 %"
        "sync.scalar" = ["1 %", { max = "50 us", nvtx = "optimizer", per = "step" }]
        "alloc.*" = { max_ns = 100, evidence = "supported" }
        "idle" = { max_share = 0.25 }
        """,
    )
    assert read_budgets(path) == (
        Budget(wait="launch.gap", limit=Limit(0.05, "share")),
        Budget(wait="sync.scalar", limit=Limit(0.01, "share")),
        Budget(wait="sync.scalar", limit=Limit(50_000, "ns"), nvtx="optimizer", per="step"),
        Budget(wait="alloc.*", limit=Limit(100, "ns"), evidence="supported"),
        Budget(wait="idle", limit=Limit(0.25, "share")),
    )


def test_unquoted_ids_and_arrays_of_tables_mean_the_same(tmp_path: Path) -> None:
    nested = written(tmp_path, 'budgets.launch.gap = "5 %"\nbudgets.alloc.sync.max = "1 ms"\n')
    array = written(
        tmp_path,
        '[[budgets]]\nwait = "launch.gap"\nmax = "5 %"\n[[budgets]]\nwait = "alloc.sync"\nmax = "1 ms"\n',
        "other.toml",
    )
    assert read_budgets(nested) == read_budgets(array)


def test_pyproject_table_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, '[tool.stallscope.budgets]\n"launch.gap" = "5 %"\n', "pyproject.toml")
    assert [budget.wait for budget in read_budgets(path)] == ["launch.gap"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no [budgets]"),
        ("[budgets]\n", "empty"),
        ('budgets = "5 %"', "not a table"),
        ('[budgets]\n"launch.gap" = 5\n', "not a limit"),
        ('[budgets]\n"launch.gap" = { maximum = "5 %", max = "5 %" }\n', "'maximum'"),
        ('[budgets]\n"launch.gap" = { max = "5 %", max_ns = 4 }\n', "exactly one"),
        ('[budgets]\n"launch.gap" = { max_share = 5 }\n', "between 0 and 1"),
        ('[budgets]\n"launch.gap" = { max_ns = true }\n', "a number"),
        ('[budgets]\n"launch.gap" = { max = "5 %", nvtx = 3 }\n', "NVTX range"),
        ('[budgets]\n"launch.gap" = { max = "5 %", per = "step" }\n', "share is the same per step"),
        ('[budgets]\n"launch.gap" = { max = "5 %", evidence = "sure" }\n', "indicated, supported, confirmed"),
        ('[budgets]\n"Launch Gap" = "5 %"\n', "not a wait id"),
        ('[[budgets]]\nmax = "5 %"\n', "needs wait"),
        ("[budgets\n", "not valid TOML"),
    ],
)
def test_wrong_file_says_what_is_wrong_and_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_budgets(written(tmp_path, text))
    assert said in str(caught.value)
    assert "stallscope.toml" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_budgets(tmp_path / "absent.toml")
