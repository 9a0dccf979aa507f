"""Thirteen names that attack a format, in every place of the document that holds text of a trace."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from report_samples import HOSTILE, hostile, samples

from stallscope.reporters.base import reporter
from stallscope.reporters.escape import csv_cell, json_in_html, markdown_code, markdown_text, visible
from stallscope.reporters.markdown import marker
from stallscope.reporters.sarif import MAX_RESULTS

ALLOWED = {"h3", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "em"} | {
    "details",
    "summary",
    "sub",
}
VOID = {"br", "img", "hr", "input"}


class Elements(HTMLParser):
    """Elements with their attributes, text per table row, and whether everything closes in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.comments: list[str] = []
        self.cells: list[int] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))
        self.open += [] if tag in VOID else [tag]
        if tag == "tr":
            self.cells.append(0)
        if tag in {"td", "th"}:
            self.cells[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(name: str, sample: str = "hostile") -> str:
    out = io.StringIO()
    reporter(name).render(samples()[sample], out)
    return out.getvalue()


def parsed(markdown: str) -> Elements:
    page = Elements()
    page.feed(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown))
    page.close()
    return page


def test_there_are_thirteen_names() -> None:
    assert len(HOSTILE) == 13


@pytest.mark.parametrize("name", ["md", "gh-summary", "junit", "csv", "sarif"])
def test_no_format_emits_a_character_that_acts_or_hides(name: str) -> None:
    text = rendered(name)
    bad = {c for c in text if unicodedata.category(c)[0] == "C" and c not in "\n\r"}
    assert bad == set()
    text.encode("utf-8")


@pytest.mark.parametrize("name", ["md", "gh-summary"])
def test_markdown_keeps_every_name_inside_its_cell(name: str) -> None:
    page = parsed(rendered(name))
    assert page.open == []
    assert {tag for tag, _ in page.seen} <= ALLOWED
    assert [attrs for tag, attrs in page.seen if attrs and tag not in {"th", "td"}] == []
    assert {key for _, attrs in page.seen for key, _ in attrs} <= {"style"}
    assert page.comments == [" stallscope:report "]
    assert set(page.cells) <= {3, 6}
    assert len(rendered(name)) < 60_000


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_markdown_shows_a_name_as_what_it_is(name: str) -> None:
    shown = visible(name, 160)
    for escaped in (markdown_code(name), markdown_text(name, 160)):
        page = parsed(f"| a | b |\n|---|---|\n| {escaped} | x |\n")
        assert page.cells == [2, 2]
        assert re.sub(r"\s+", " ", shown) in re.sub(r"\s+", " ", page.text.replace("\u200b", ""))
        assert {tag for tag, _ in page.seen} <= ALLOWED


def test_mentions_and_references_do_not_reach_anybody() -> None:
    read = html.unescape(markdown_text("@torvalds fixes #1 in org/repo#2"))
    assert read.replace("\u200b", "") == "@torvalds fixes #1 in org/repo#2"
    assert not re.search(r"@\w|#\d", read)


def test_marker_cannot_leave_its_comment() -> None:
    assert marker("a--><b>") == "<!-- stallscope:a-b- -->"


def test_csv_has_no_formula_and_one_row_a_finding() -> None:
    rows = list(csv.reader(io.StringIO(rendered("csv"), newline="")))
    assert len(rows) == 1 + len(hostile().findings)
    assert {len(row) for row in rows} == {14}
    assert [cell for row in rows for cell in row if cell[:1] in "=+-@\t\r" and cell] == []


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "＝1"])
def test_formula_is_quoted(text: str) -> None:
    assert csv_cell(text).startswith("'")


def test_number_in_text_is_not_quoted() -> None:
    assert csv_cell("gemm_128") == "gemm_128"


def test_junit_is_well_formed_and_holds_the_names_as_text() -> None:
    root = ET.fromstring(rendered("junit"))  # noqa: S314 - our own document
    assert {element.tag for element in root.iter()} == {
        "testsuites",
        "testsuite",
        "testcase",
        "error",
        "system-out",
    }
    messages = [error.attrib["message"] for error in root.iter("error")]
    assert messages == [visible(name) for name in HOSTILE.values()]


def test_sarif_is_json_with_an_empty_run() -> None:
    document = json.loads(rendered("sarif"))
    assert document["runs"][0]["results"] == []
    assert MAX_RESULTS == 5_000


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_json_inside_html_cannot_end_its_element(name: str) -> None:
    inside = json_in_html(json.dumps(visible(name, None)))
    assert not re.search(r"[<>&]", inside)
    assert json.loads(inside) == visible(name, None)
