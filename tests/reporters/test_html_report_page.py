"""The HTML report as a document: complete, self-contained, small, and unmoved by hostile names."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from report_samples import HOSTILE, hostile, many, samples
from syrupy.assertion import SnapshotAssertion

from stallscope.errors import StallscopeError
from stallscope.gates import evaluate, parse_condition
from stallscope.model.analysis import Analysis
from stallscope.reporters.escape import visible
from stallscope.reporters.html import HtmlReporter
from stallscope.views.timeline_tiles import Tiles

TILES = Tiles(data=base64.b64encode(b"tiles").decode(), exact=True, omitted=0, intervals=0)
VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails on tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        self.open += [] if tag in VOID else [tag]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)


def rendered(analysis: Analysis, **options: object) -> str:
    out = io.StringIO()
    HtmlReporter(**options).render(analysis, out)  # type: ignore[arg-type]
    return out.getvalue()


def body(text: str) -> str:
    """The page without the style, scripts and their hashes, which have their own tests."""
    text = re.sub(r"<style>.*?</style>", "<style/>", text, flags=re.DOTALL)
    text = re.sub(r"<script>.*?</script>", "<script/>", text, flags=re.DOTALL)
    text = re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-…", text)
    return re.sub(r"\n\s*\n+", "\n", text)


@pytest.mark.parametrize("sample", ["healthy", "alloc", "kernels", "hostile"])
def test_page_reads_as_before(sample: str, report: SnapshotAssertion) -> None:
    assert body(rendered(samples()[sample])) == report


def test_page_with_budgets_reads_as_before(report: SnapshotAssertion) -> None:
    gates = evaluate(samples()["alloc"], [parse_condition(text) for text in ("alloc.sync>5%", "uvm.fault_gpu>0ns")])
    assert body(rendered(samples()["alloc"], gates=gates, tiles=TILES)) == report


@pytest.mark.parametrize("sample", list(samples()))
def test_page_needs_nothing_from_outside(sample: str) -> None:
    page = Page(rendered(samples()[sample], tiles=TILES))
    links = [value for _, key, value in page.attributes if key in {"src", "href", "action", "data", "poster", "srcset"}]
    assert [link for link in links if not link.startswith("#")] == []
    assert not re.search(r"url\((?!#)|@import", "".join(page.text["style"]))
    assert not re.search(
        r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|importScripts)\b", "".join(page.text["script"])
    )


@pytest.mark.parametrize("tiles", [None, TILES])
def test_policy_allows_exactly_the_styles_and_scripts_of_the_page(tiles: Tiles | None) -> None:
    text = rendered(samples()["alloc"], tiles=tiles)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    allowed = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed
    acting = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", text, flags=re.DOTALL)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in acting}
    assert set(re.findall(r"'sha256-[^']+'", allowed)) == hashes
    assert len(acting) == (5 if tiles else 2)


@pytest.mark.parametrize("sample", list(samples()))
def test_page_has_no_inline_style_or_handler(sample: str) -> None:
    page = Page(rendered(samples()[sample], tiles=TILES))
    assert [a for a in page.attributes if a[1] == "style" or a[1].startswith("on")] == []
    assert page.tags.count("h1") == 1
    ids = [value for _, key, value in page.attributes if key == "id" and not value.startswith("F-")]
    assert len(ids) == len(set(ids))


def test_hostile_names_are_text_and_nothing_else() -> None:
    text = rendered(hostile(), tiles=TILES)
    page = Page(text)
    assert not {"img", "iframe", "object", "embed", "form", "link", "base"} & set(page.tags)
    assert page.tags.count("script") == 5
    shown = " ".join(part for parts in page.text.values() for part in parts)
    for name in HOSTILE.values():
        assert visible(f"Waits before {name}") in shown
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 600_000


def test_page_stays_below_its_limit_and_says_what_is_missing() -> None:
    big = Tiles(data="A" * 900_000, exact=True, omitted=0, intervals=0)
    whole = rendered(many(), tiles=big, max_bytes=5_000_000)
    assert "100 more findings are in the JSON document" in whole
    smaller = rendered(many(), tiles=big, max_bytes=1_100_000)
    assert len(smaller.encode()) <= 1_100_000
    without = rendered(many(), tiles=big, max_bytes=700_000)
    assert len(without.encode()) <= 700_000
    assert "The timeline was left out because the page would have become too large" in without
    with pytest.raises(StallscopeError, match="does not fit"):
        rendered(many(), max_bytes=1_000)


def test_page_from_a_document_says_that_it_has_no_events() -> None:
    text = rendered(samples()["alloc"])
    assert "made from a saved document" in text
    assert "<canvas" not in text


def test_page_of_a_partial_timeline_says_so() -> None:
    text = rendered(samples()["alloc"], tiles=replace(TILES, exact=False, omitted=7, omitted_threads=2))
    assert "too large to carry every event" in text
    assert "Not shown: 2 less busy host threads, 7 lanes." in text
