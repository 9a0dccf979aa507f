"""Ask pip-audit for known vulnerabilities of what is installed here; says *not checked* where the answer cannot be had.

Exit code 1 only for a vulnerability in something that stallscope requires, extras included, and that a newer version
fixes: then `pip install --upgrade` or a higher bound in pyproject.toml is the way out. Others are printed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from typing import Any

TIMEOUT_S = 90


def report() -> list[dict[str, Any]] | None:
    """pip-audit's list of packages, or None when it could not answer."""
    options = ["--local", "--skip-editable", "--progress-spinner", "off", "--timeout", "5", "--format", "json"]
    command = [sys.executable, "-m", "pip_audit", *options]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # noqa: S603
        packages: list[dict[str, Any]] = json.loads(ran.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, OSError, json.JSONDecodeError, KeyError, TypeError):
        return None
    return packages


def required() -> set[str]:
    """Names that stallscope's metadata asks for, with every extra."""
    try:
        return {re.split(r"[^\w.-]", text, maxsplit=1)[0].lower() for text in requires("stallscope") or ()}
    except PackageNotFoundError:
        return set()


def judged(packages: list[dict[str, Any]] | None, ours: set[str]) -> tuple[list[str], bool]:
    """Lines to print, and whether the build has to fail."""
    checked = [package for package in packages or [] if "skip_reason" not in package]
    if not checked:
        return ["audit: not checked (no answer from the vulnerability service)"], False
    lines, fails = [], False
    for package in checked:
        for found in package.get("vulns", ()):
            fixes = found.get("fix_versions") or []
            name = package["name"].lower()
            fails |= bool(fixes) and name in ours
            way_out = f"fixed in {', '.join(fixes)}" if fixes else "no fixed version"
            lines.append(f"audit: {name} {package['version']}: {found['id']} ({way_out})")
    skipped = len(packages or []) - len(checked)
    lines.append(f"audit: {len(checked)} packages checked, {skipped} not checked, {len(lines)} vulnerabilities")
    return lines, fails


def main() -> int:
    """Print and judge."""
    lines, fails = judged(report(), required())
    print("\n".join(lines))  # noqa: T201
    return int(fails)


if __name__ == "__main__":
    sys.exit(main())
