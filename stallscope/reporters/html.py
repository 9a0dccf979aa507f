"""One HTML file that stands alone: no network, a content policy by hash, small at any trace size, printable."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from stallscope.errors import StallscopeError
from stallscope.gates import GateResult
from stallscope.model.analysis import Analysis
from stallscope.reporters.html_page import page
from stallscope.views.families import FAMILIES

if TYPE_CHECKING:
    from stallscope.views.timeline_tiles import Tiles

MAX_BYTES = 5_000_000
PACKAGE = "stallscope.reporters"
_TIMELINE_SCRIPTS = ("tiles.js", "canvas.js", "timeline.js")
_FINDINGS = (200, 50, 10, 3)


class HtmlReporter:
    """Renders an analysis; with `tiles` of its trace the page has a timeline, without them only spans as text."""

    name = "html"
    suffix = ".html"

    def __init__(
        self, gates: Sequence[GateResult] = (), *, tiles: Tiles | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        self._gates = gates
        self._tiles = tiles
        self._max_bytes = max_bytes

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the page. Raises `StallscopeError` when not even the shortest one fits into the size limit."""
        for tiles in dict.fromkeys((self._tiles, None)):
            for max_findings in _FINDINGS:
                text = self._page(analysis, tiles, max_findings)
                if len(text.encode("utf-8", "replace")) <= self._max_bytes:
                    out.write(text)
                    return
        raise StallscopeError(f"the report does not fit into {self._max_bytes:,} bytes", next_step="use --format json")

    def _page(self, analysis: Analysis, tiles: Tiles | None, max_findings: int) -> str:
        style = _asset("report.css") + _family_colours()
        scripts = [_asset(name) for name in (("report.js", *_TIMELINE_SCRIPTS) if tiles else ("report.js",))]
        return _template().render(
            page=page(analysis, self._gates, max_findings=max_findings),
            style=style,
            scripts=scripts,
            policy=_policy(style, scripts),
            tiles=tiles,
            dropped=self._tiles is not None and tiles is None,
        )


def _policy(style: str, scripts: Sequence[str]) -> str:
    """Nothing may load, and only this style and these scripts may act."""
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {allowed}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _family_colours() -> str:
    """Fill and ink of every family in both themes; the ink is whichever of black and white reads better on the fill."""
    light = "".join(f".f-{f.key}{{--fill:{f.light};--ink:{_ink(f.light)}}}" for f in FAMILIES)
    dark = "".join(f".f-{f.key}{{--fill:{f.dark};--ink:{_ink(f.dark)}}}" for f in FAMILIES)
    chosen = dark.replace(".f-", ':root[data-theme="dark"] .f-')
    automatic = dark.replace(".f-", ':root:not([data-theme="light"]) .f-')
    return f"{light}@media screen and (prefers-color-scheme:dark){{{automatic}}}@media screen{{{chosen}}}\n"


def _ink(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#101418" if (luminance + 0.05) / 0.056 > 1.05 / (luminance + 0.05) else "#ffffff"


@cache
def _asset(name: str) -> str:
    return (files(PACKAGE) / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html")


REPORTER = HtmlReporter()
