"""Compiles the page decoder into the package when a C compiler is there; without one the package works all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("stallscope/ingest/pages.c")
LIBRARY = Path("stallscope/ingest/_pages.so")


class NativeBuild(BuildHookInterface):
    """`cc -O3 -shared pages.c`: a plain library without Python's headers, so one wheel serves every Python 3."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile for wheels and editable installs; the sdist carries the source."""
        del version
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if self.target_name != "wheel" or compiler is None or os.environ.get("STALLSCOPE_PURE"):
            return
        root = Path(self.root)
        command = [*compiler.split(), "-O3", "-shared", "-fPIC", "-std=c11", str(SOURCE), "-o", str(LIBRARY)]
        compiled = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
        if compiled.returncode:
            self.app.display_warning(f"the page decoder was not compiled: {compiled.stderr.strip()}")
            return
        build_data["artifacts"].append(str(LIBRARY))
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
