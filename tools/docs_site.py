"""Hooks of mkdocs.yml: one page a wait in the navigation, and the pages and files that lie beside `docs/`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "README.md")
SCHEMAS = "stallscope/schema"
UNLISTED = {"README.md"}


def on_config(config: Any) -> Any:
    """Sections of the navigation by the family of the id, and every other page of `docs/` under *More*."""
    waits: dict[str, list[dict[str, str]]] = {}
    for page in sorted((ROOT / "docs" / "waits").glob("*.md")):
        waits.setdefault(page.stem.split(".")[0], []).append({page.stem: f"waits/{page.name}"})
    config.nav.append({"Wait ids": [{family: pages} for family, pages in waits.items()]})
    listed = set(re.findall(r"[\w.-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8")))
    more = [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in listed]
    if more:
        config.nav.append({"More": more})
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages of the root, and the schemas, as if they lay in `docs/`."""
    for path in (*map(ROOT.joinpath, PAGES), *sorted((ROOT / SCHEMAS).glob("*.json"))):
        name = path.name if path.suffix == ".md" else f"{SCHEMAS}/{path.name}"
        file = File.generated(config, name, content=path.read_text("utf-8"))
        if name in UNLISTED:
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links across the border of `docs/` lead to the same page of the site."""
    del config, files
    if page.file.src_uri in PAGES:
        return re.sub(r"\]\(docs/", "](", markdown)
    up = r"\.\./" * (page.file.src_uri.count("/") + 1)
    back = "../" * page.file.src_uri.count("/")
    return re.sub(rf"\]\({up}((?:stallscope/schema/|CONTRIBUTING|CHANGELOG|README)[^)]*)", rf"]({back}\1", markdown)
