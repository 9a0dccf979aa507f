"""Settings of one run: a flag beats `STALLSCOPE_*`, which beats the project's file, which beats the default.

The project's file is the nearest `stallscope.toml`, or the `[tool.stallscope]` table of the nearest `pyproject.toml`,
in the working directory or above it. A key nobody knows is an error, in the file and in the environment: a typo in
a CI gate must not switch the gate off.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from stallscope.errors import UsageError

PREFIX = "STALLSCOPE_"
PROJECT_FILES = ("stallscope.toml", "pyproject.toml")


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What may be set by flag, environment or file.

    `nsys` and `ncu` are programs (path or name), `history` is the file of recorded analyses, `nvtx` the range that
    stands for one step, `fail_on` gates such as `alloc.sync>5%`, `budgets` the same gates as tables, `plan` the number
    of next experiments to print, `pure` reads without the compiled decoder, `scheduler` is a Dask scheduler's address.
    """

    nsys: str | None = None
    ncu: str | None = None
    cache: bool = True
    cache_dir: str | None = None
    history: str | None = None
    nvtx: str | None = None
    all: bool = False
    fail_on: tuple[str, ...] = ()
    budgets: Any = None
    plan: int | None = None
    pure: bool = False
    scheduler: str | None = None
    strict: bool = False


def load(flags: Mapping[str, Any], environment: Mapping[str, str], folder: Path) -> Settings:
    """Settings as seen from `folder`; `flags` with the value None (or an empty tuple) were not given.

    Raises `UsageError` for unknown keys and for values of the wrong kind, naming the file or variable.
    """
    file = project_file(folder)
    from_file = _checked(_read(file), file.name, strict=True) if file else {}
    from_environment = _checked(_environment(environment), "the environment", strict=False)
    given = {name.replace("_", "-"): value for name, value in flags.items() if value is not None and value != ()}
    from_flags = _checked(given, "the command line", strict=True)
    return msgspec.convert({**from_file, **from_environment, **from_flags}, Settings)


def project_file(folder: Path) -> Path | None:
    """The nearest file that configures stallscope, from `folder` upwards.

    Raises `UsageError` when one folder holds two of them: one configuration, in one place.
    """
    for place in (folder, *folder.parents):
        found = [place / name for name in PROJECT_FILES if _configures(place / name)]
        if len(found) > 1:
            raise UsageError(
                "stallscope is configured twice in one folder",
                file=" and ".join(file.name for file in found),
                next_step="keep stallscope.toml, or [tool.stallscope] in pyproject.toml, not both",
            )
        if found:
            return found[0]
    return None


def _configures(file: Path) -> bool:
    return file.is_file() and (file.name == PROJECT_FILES[0] or "stallscope" in _toml(file).get("tool", {}))


def _read(file: Path) -> dict[str, Any]:
    document = _toml(file)
    table: dict[str, Any] = document if file.name == PROJECT_FILES[0] else document["tool"]["stallscope"]
    return table


def _toml(file: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"not a readable TOML file: {error}", file=file.name, next_step="correct the file") from error


def _environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environment.items():
        if name.startswith(PREFIX) and value:
            key = name.removeprefix(PREFIX).lower().replace("_", "-")
            values[key] = tuple(part.strip() for part in value.split(",")) if key == "fail-on" else value
    return values


def _checked(values: Mapping[str, Any], origin: str, *, strict: bool) -> dict[str, Any]:
    known = Settings.__struct_encode_fields__
    for key in values:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            raise UsageError(
                f"unknown setting `{key}`",
                file=origin,
                next_step=f"did you mean `{close[0]}`?" if close else f"the settings are: {', '.join(known)}",
            )
    try:
        converted = msgspec.convert(dict(values), Settings, strict=strict)
    except msgspec.ValidationError as error:
        raise UsageError(_wrong_kind(error), file=origin, next_step="correct the value") from error
    complete: dict[str, Any] = msgspec.to_builtins(converted)
    return {key: complete[key] for key in values}


def _wrong_kind(error: msgspec.ValidationError) -> str:
    found = re.fullmatch(r"(?P<what>.*) - at `\$\.?(?P<key>.*)`", str(error))
    return f"setting `{found['key']}`: {found['what']}" if found else str(error)
