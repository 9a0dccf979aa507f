"""Compiles the hot loops into the package when a C compiler is there; without one the package works all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARIES = {
    Path("stallscope/ingest/pages.c"): Path("stallscope/ingest/_pages.so"),
    Path("stallscope/timeline/sweeps.c"): Path("stallscope/timeline/_sweeps.so"),
}


class NativeBuild(BuildHookInterface):
    """`cc -O3 -shared`: plain libraries without Python's headers, so one wheel serves every Python 3."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile for wheels and editable installs; the sdist carries the sources."""
        del version
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if self.target_name != "wheel" or compiler is None or os.environ.get("STALLSCOPE_PURE"):
            return
        built = [library for source, library in LIBRARIES.items() if self._compile(compiler, source, library)]
        if not built:
            return
        build_data["artifacts"] += map(str, built)
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def _compile(self, compiler: str, source: Path, library: Path) -> bool:
        command = [*compiler.split(), "-O3", "-shared", "-fPIC", "-std=c11", str(source), "-o", str(library)]
        compiled = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)  # noqa: S603
        if compiled.returncode:
            self.app.display_warning(f"{source} was not compiled: {compiled.stderr.strip()}")
        return not compiled.returncode
