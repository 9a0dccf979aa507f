"""Compiles the hot loops into the package when a C compiler is there; without one the package works all the same."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARIES = {
    Path("stallscope/ingest/_sqlite_pages.so"): [
        Path("stallscope/ingest/sqlite_dictionary.c"),
        Path("stallscope/ingest/sqlite_records.c"),
        Path("stallscope/ingest/sqlite_tree.c"),
    ],
    Path("stallscope/timeline/_sweeps.so"): [Path("stallscope/timeline/sweeps.c")],
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
        built = [
            named
            for library, sources in LIBRARIES.items()
            if self._compile(compiler, sources, named := self._named_by_sources(library))
        ]
        if not built:
            return
        build_data["artifacts"] += map(str, built)
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def _named_by_sources(self, library: Path) -> Path:
        """`_sweeps.1a2b3c4d.so`, as `stallscope/compiled.py` looks for it; libraries of other sources are removed."""
        folder = Path(self.root) / library.parent
        for stale in folder.glob(f"{library.stem}.*so"):
            stale.unlink()
        tag = runpy.run_path(str(Path(self.root) / "stallscope" / "compiled.py"))["source_tag"](folder)
        return library.with_suffix(f".{tag}.so")

    def _compile(self, compiler: str, sources: list[Path], library: Path) -> bool:
        options = ["-O3", "-shared", "-fPIC", "-std=c11", "-o", str(library)]
        command = [*compiler.split(), *map(str, sources), *options]
        compiled = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)  # noqa: S603
        if compiled.returncode:
            self.app.display_warning(f"{library.name} was not compiled: {compiled.stderr.strip()}")
        return not compiled.returncode
