"""The HTML report in a real Chromium: silent, quick, zoomable, readable by machines and on paper."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stallscope.api import Examination, examine_trace
from stallscope.ingest.ncu_open import open_counters
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.kernels.document import with_kernels
from stallscope.kernels.runner import diagnose
from stallscope.model.analysis import Analysis
from stallscope.reporters.html import MAX_BYTES, HtmlReporter
from stallscope.views import timeline_tiles
from stallscope.views.report_timeline import tiles_of

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
OPENS_WITHIN_MS = 1_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on PATH: the report is not opened in a browser")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def examination(repository: Path) -> Examination:
    return examine_trace(
        open_trace(repository / "sample_traces/h200/py_gpt_train.sqlite", OpenOptions(use_cache=False))
    )


@pytest.fixture(scope="module")
def report(examination: Examination, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tiles = tiles_of(examination.timeline, examination.charges, examination.analysis)
    return written(tmp_path_factory.mktemp("report"), HtmlReporter(tiles=tiles), examination)


def written(folder: Path, reporter: HtmlReporter, examination: Examination) -> Path:
    out = io.StringIO()
    reporter.render(examination.analysis, out)
    file = folder / "report.html"
    file.write_text(out.getvalue(), encoding="utf-8")
    return file


class Opened:
    """A page with everything it said and asked for."""

    def __init__(self, browser: Any, file: Path, *, timeline: bool = True, **options: Any) -> None:
        self.page = browser.new_page(viewport={"width": 1280, "height": 900}, **options)
        self.page.set_default_timeout(10_000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        if timeline:
            self.page.locator("html[data-timeline=ready]").wait_for(state="attached")

    def open_everything(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")

    def text(self, selector: str) -> str:
        found: str = self.page.locator(selector).inner_text()
        return found

    def window_ns(self) -> float:
        """Length of the visible window, from the text above the timeline."""
        self.page.wait_for_timeout(100)
        value, unit = self.text("#tl-range").split(" of ")[0].split()
        return float(value) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]

    def pixels(self) -> str:
        self.page.wait_for_timeout(100)
        data: str = self.page.evaluate("document.getElementById('tl').toDataURL()")
        return data


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    page = Opened(browser, report)
    yield page
    page.page.close()


def test_page_is_silent_and_asks_for_nothing(opened: Opened, report: Path) -> None:
    opened.open_everything()
    opened.page.locator("#theme").click()
    assert opened.said == []
    assert opened.asked == [report.as_uri()]


def test_page_opens_at_once(browser: Any, report: Path) -> None:
    times = []
    for _ in range(3):
        page = Opened(browser, report)
        times.append(page.page.evaluate("performance.now()"))
        page.page.close()
    assert min(times) < OPENS_WITHIN_MS, times


def test_timeline_zooms_pans_and_comes_back(opened: Opened) -> None:
    opened.page.locator("#tl").focus()
    first, picture = opened.window_ns(), opened.pixels()
    for _ in range(4):
        opened.page.keyboard.press("w")
    zoomed = opened.window_ns()
    assert zoomed == pytest.approx(first * 0.6**4, rel=0.02)
    assert opened.pixels() != picture
    before = opened.pixels()
    opened.page.keyboard.press("d")
    assert opened.window_ns() == zoomed
    assert opened.pixels() != before
    opened.page.keyboard.press("s")
    assert opened.window_ns() == pytest.approx(zoomed / 0.6, rel=0.02)
    opened.page.locator("#tl-fit").click()
    assert opened.window_ns() == first
    assert opened.pixels() == picture


def test_wheel_zooms_only_with_control(opened: Opened) -> None:
    first = opened.window_ns()
    opened.page.locator("#tl").hover(position={"x": 600, "y": 40})
    opened.page.mouse.wheel(0, -120)
    assert opened.window_ns() == first
    opened.page.locator("#tl").hover(position={"x": 600, "y": 40})
    opened.page.keyboard.down("Control")
    opened.page.mouse.wheel(0, -120)
    opened.page.keyboard.up("Control")
    assert opened.window_ns() < first


def test_finding_jumps_to_its_span_and_the_text_names_the_wait(opened: Opened, examination: Examination) -> None:
    finding = examination.analysis.findings[0]
    opened.page.locator(f"#{finding.id} .jump").first.click()
    longest = max(high - low for low, high in finding.spans)
    assert opened.window_ns() == pytest.approx(4 * longest, rel=0.02)
    playwright.expect(opened.page.locator("#tl-view")).to_contain_text(finding.wait)


def test_totals_of_the_whole_window_are_those_of_the_ledger(opened: Opened, examination: Examination) -> None:
    playwright.expect(opened.page.locator("#tl-view")).to_contain_text("ok.compute")
    ledger = examination.analysis.devices[0].ledger
    said = opened.text("#tl-view")
    for wait, time_ns in sorted(ledger.items(), key=lambda item: -item[1])[:4]:
        assert f"{wait} {time_ns / 1e6:.1f} ms" in said


def test_next_wait_is_picked_and_its_cause_followed_by_keyboard(opened: Opened) -> None:
    opened.page.locator("#tl").focus()
    opened.page.keyboard.press("n")
    first = opened.text("#tl-pick")
    assert "GPU 0 waits" in first
    assert "ended by" in first
    opened.page.keyboard.press("]")
    operation = opened.text("#tl-pick")
    assert "stream" in operation
    assert "launched by" in operation
    opened.page.keyboard.press("]")
    assert "CUDA API" in opened.text("#tl-pick")
    opened.page.keyboard.press("Escape")
    assert not opened.page.locator("#tl-pick").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, report: Path, scheme: str) -> None:
    opened = Opened(browser, report, color_scheme=scheme)
    opened.open_everything()
    opened.page.locator("#tl").focus()
    opened.page.keyboard.press("n")
    found = axe.Axe().run(opened.page).response["violations"]
    opened.page.close()
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_kernel_charts(browser: Any, tmp_path: Path, repository: Path, scheme: str) -> None:
    counters = open_counters([repository / "sample_traces/ncu/h200/triton.raw.csv.gz"])
    analysis = with_kernels(Analysis(), diagnose(counters), counters.source)
    assert analysis.kernels
    out = io.StringIO()
    HtmlReporter().render(analysis, out)
    (tmp_path / "kernels.html").write_text(out.getvalue(), encoding="utf-8")
    opened = Opened(browser, tmp_path / "kernels.html", timeline=False, color_scheme=scheme)
    opened.open_everything()
    found = axe.Axe().run(opened.page).response["violations"]
    opened.page.close()
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found] == []
    assert opened.said == []


def test_dense_trace_draws_and_stays_small(
    browser: Any, examination: Examination, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_tiles, "MAX_INTERVALS", 4_000)
    tiles = tiles_of(examination.timeline, examination.charges, examination.analysis)
    assert not tiles.exact
    file = written(tmp_path, HtmlReporter(tiles=tiles), examination)
    assert file.stat().st_size < MAX_BYTES
    opened = Opened(browser, file)
    first = opened.pixels()
    opened.page.locator(".finding .jump").first.click()
    assert opened.pixels() != first
    assert opened.said == []
    opened.page.close()


def test_page_prints_with_everything_open(opened: Opened) -> None:
    closed = opened.page.locator("details:not([open])").count()
    assert closed > 0
    pdf = opened.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("details:not([open])").count() == 0
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("details:not([open])").count() == closed


def test_page_without_scripts_is_still_a_report(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, timeline=False, java_script_enabled=False)
    assert "GPU 0 waits" in opened.text("h1")
    assert opened.page.locator(".finding").count() > 0
    assert "needs scripts" in opened.text("#timeline")
    opened.page.close()


def test_hostile_names_do_nothing(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    monkeypatch.setattr(sys, "path", [str(repository / "tests/reporters"), *sys.path])
    from report_samples import hostile

    out = io.StringIO()
    HtmlReporter().render(hostile(), out)
    file = tmp_path / "hostile.html"
    file.write_text(out.getvalue(), encoding="utf-8")
    opened = Opened(browser, file, timeline=False)
    opened.open_everything()
    assert opened.said == []
    assert opened.asked == [file.as_uri()]
    assert opened.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    opened.page.close()
