"""Who wins when a setting is given in several places, and what happens to a key nobody knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stallscope.errors import UsageError
from stallscope.settings import Settings, load, project_file


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def test_defaults_without_any_source(tmp_path: Path) -> None:
    assert load({}, {"PATH": "/bin"}, tmp_path) == Settings()


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    write(tmp_path, "stallscope.toml", 'nvtx = "file"\nnsys = "file"\nplan = 1\n')
    found = load({"nvtx": "flag", "plan": None}, {"STALLSCOPE_NVTX": "env", "STALLSCOPE_NSYS": "env"}, tmp_path)
    assert (found.nvtx, found.nsys, found.plan, found.cache) == ("flag", "env", 1, True)


def test_flags_that_were_not_given_do_not_hide_the_file(tmp_path: Path) -> None:
    write(tmp_path, "stallscope.toml", 'fail-on = ["alloc.sync>5%"]\ncache = false\n')
    found = load({"fail_on": (), "cache": None}, {}, tmp_path)
    assert (found.fail_on, found.cache) == (("alloc.sync>5%",), False)


def test_environment_values_are_converted(tmp_path: Path) -> None:
    environment = {"STALLSCOPE_CACHE": "0", "STALLSCOPE_PLAN": "3", "STALLSCOPE_FAIL_ON": "alloc.sync>5%, idle>50%"}
    found = load({}, environment, tmp_path)
    assert (found.cache, found.plan, found.fail_on) == (False, 3, ("alloc.sync>5%", "idle>50%"))


def test_empty_environment_variable_means_not_set(tmp_path: Path) -> None:
    assert load({}, {"STALLSCOPE_NSYS": ""}, tmp_path).nsys is None


def test_nearest_file_above_the_working_directory_counts(tmp_path: Path) -> None:
    write(tmp_path, "stallscope.toml", 'nvtx = "outer"\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(tmp_path / "a", "pyproject.toml", '[tool.stallscope]\nnvtx = "inner"\n')
    write(inner, "pyproject.toml", "[tool.other]\nx = 1\n")
    assert load({}, {}, inner).nvtx == "inner"
    assert project_file(inner) == tmp_path / "a" / "pyproject.toml"


def test_budgets_table_belongs_to_the_gates(tmp_path: Path) -> None:
    write(tmp_path, "stallscope.toml", '[budgets]\n"launch.gap" = "5 %"\n')
    assert load({}, {}, tmp_path).budgets == {"launch.gap": "5 %"}


@pytest.mark.parametrize(
    ("name", "text", "what", "next_step"),
    [
        ("stallscope.toml", "fail_on = []\n", "unknown setting `fail_on`", "did you mean `fail-on`?"),
        ("stallscope.toml", "colour = 1\n", "unknown setting `colour`", "the settings are: nsys, ncu, cache"),
        ("stallscope.toml", "cache = 3\n", "setting `cache`: Expected `bool`, got `int`", "correct the value"),
        ("stallscope.toml", "cache = \n", "not a readable TOML file", "correct the file"),
        ("pyproject.toml", "[tool.stallscope]\nnsyss = 'x'\n", "unknown setting `nsyss`", "did you mean `nsys`?"),
    ],
)
def test_mistakes_in_the_file_are_usage_errors(tmp_path: Path, name: str, text: str, what: str, next_step: str) -> None:
    write(tmp_path, name, text)
    with pytest.raises(UsageError) as caught:
        load({}, {}, tmp_path)
    assert what in caught.value.what
    assert caught.value.file == name
    assert next_step in (caught.value.next_step or "")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("variable", "value", "what"),
    [
        ("STALLSCOPE_NSIS", "/x", "unknown setting `nsis`"),
        ("STALLSCOPE_PLAN", "many", "setting `plan`: Expected `int | null`, got `str`"),
    ],
)
def test_mistakes_in_the_environment_are_usage_errors(tmp_path: Path, variable: str, value: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        load({}, {variable: value}, tmp_path)
    assert caught.value.what == what


def test_every_variable_the_package_knows_is_a_setting_and_documented(repository: Path) -> None:
    files = [file for folder in ("stallscope", "dashboards", "probes") for file in (repository / folder).rglob("*.py")]
    named = {found for file in files for found in re.findall(r"\bSTALLSCOPE_[A-Z_]+", file.read_text("utf-8"))}
    settings = {f"STALLSCOPE_{name.upper()}" for name in Settings.__struct_fields__}
    assert named - {"STALLSCOPE_"} <= settings
    documented = (repository / "docs" / "commands.md").read_text("utf-8")
    assert {name for name in settings if f"`{name}`" not in documented} == {"STALLSCOPE_BUDGETS"}


def test_two_files_in_one_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "stallscope.toml", "")
    write(tmp_path, "pyproject.toml", "[tool.stallscope]\n")
    with pytest.raises(UsageError, match="configured twice"):
        load({}, {}, tmp_path)
