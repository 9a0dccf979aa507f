"""The dashboard in a real Chromium: every page, keys, links, hostile names, silence, accessibility."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build import TraceBuilder
from dashboard_runs import loaded_from, served
from lane_samples import HOSTILE, burst_build
from stallscope_dashboard.loading import Loader
from stallscope_dashboard.pages.registry import PAGES
from stallscope_dashboard.workspace import Loaded, Workspace

from stallscope.ingest.open import OpenOptions

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
]
SAMPLES = ("py_gpt_train", "cu_uvm", "py_launch_gaps_graph")
SAMPLE = "py_gpt_train"
PATHS = [page.path for page in PAGES]
PAINTED = "#timeline[data-painted]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on PATH: the dashboard is not opened in a browser")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(repository: Path) -> Iterator[str]:
    loader = Loader(OpenOptions(use_cache=False))
    files = [repository / f"sample_traces/h200/{name}.sqlite" for name in SAMPLES]
    runs = {file.stem: loader([file], lambda _progress: None) for file in files}
    runs["report"] = loader([repository / f"sample_traces/h200/{SAMPLE}.json"], lambda _progress: None)
    with served(Workspace.ready(runs)) as url:
        yield url


class Opened:
    """A page with everything it said and asked for."""

    def __init__(self, browser: Any, address: str, path: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(viewport={"width": 1500, "height": 1000}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text) if m.type in {"error", "warning"} else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.go(path)

    def go(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.page.locator("main > .page, main > .state").first.wait_for()
        if path.startswith("/timeline") and self.page.locator("#timeline").count():
            self.page.locator(PAINTED).wait_for()
        if path.startswith("/waits") and self.page.locator("#waits-grid").count():
            self.page.locator(".ag-row[row-index='0'] .wait-id").first.wait_for()

    def outside(self) -> list[str]:
        return [url for url in self.asked if not url.startswith((self.address, "data:", "blob:"))]

    def view(self) -> tuple[int, int]:
        low, high = re.match(r"(-?\d+)-(-?\d+)", self.painted()).groups()  # type: ignore[union-attr]
        return int(low), int(high)

    def painted(self) -> str:
        found: str = self.page.get_attribute("#timeline", "data-painted")
        return found

    def press(self, keys: str) -> tuple[int, int]:
        """Press each key and wait until its view is painted from its own tiles."""
        for key in keys.split():
            before = self.painted()
            self.page.keyboard.press(key)
            self.page.locator(f"#timeline:not([data-painted='{before}'])").wait_for()
        return self.view()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Any]:
    pages: list[Opened] = []

    def opened(path: str, **options: Any) -> Opened:
        pages.append(Opened(browser, options.pop("at", address), path, **options))
        return pages[-1]

    yield opened
    for page in pages:
        page.context.close()


@pytest.mark.parametrize("run", [*SAMPLES, "report"])
def test_every_page_is_silent_and_asks_nobody_else(open_page: Any, run: str) -> None:
    opened = open_page(f"/?run={run}")
    for path in PATHS[1:]:
        opened.go(f"{path}?run={run}")
        opened.page.wait_for_timeout(300)
    assert opened.said == []
    assert opened.outside() == []


@pytest.mark.parametrize("path", [*PATHS, "/finding/launch.gap"])
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nothing_serious_for_assistive_technology(open_page: Any, path: str, scheme: str) -> None:
    opened = open_page(f"{path}?run={SAMPLE}", color_scheme=scheme, bypass_csp=True)
    found = axe.Axe().run(opened.page)
    serious = [
        (v["id"], node["target"], node.get("failureSummary"))
        for v in found.response["violations"]
        if v["impact"] in {"serious", "critical"}
        for node in v["nodes"][:3]
    ]
    assert serious == []


def test_a_finding_leads_to_timeline_and_table(open_page: Any) -> None:
    opened = open_page(f"/?run={SAMPLE}")
    opened.page.get_by_role("link", name="longest launch.gap on the timeline").click()
    opened.page.locator(PAINTED).wait_for()
    assert "w=launch.gap" in opened.page.url
    assert opened.page.locator(".tl-lit code").inner_text() == "launch.gap"
    opened.go(f"/?run={SAMPLE}")
    opened.page.get_by_role("link", name="every launch.gap").click()
    opened.page.locator(".ag-row[row-index='0'] .wait-id").first.wait_for()
    assert opened.page.locator(".ag-row .wait-id").first.inner_text() == "launch.gap"


def test_keys_zoom_move_and_come_back(open_page: Any) -> None:
    opened = open_page(f"/timeline?run={SAMPLE}")
    opened.page.locator(".tl-scroll").focus()
    first = opened.view()
    low, high = opened.press("w w w")
    assert high - low == pytest.approx((first[1] - first[0]) / 1.5**3, rel=0.01)
    moved = opened.press("d")
    assert moved[0] > low
    assert moved[1] - moved[0] == pytest.approx(high - low, abs=2)
    assert opened.press("a")[0] == pytest.approx(low, abs=2)
    opened.press("s")
    assert opened.press("0") == first


def test_next_wait_cause_and_effect_by_key(open_page: Any) -> None:
    opened = open_page(f"/timeline?run={SAMPLE}#w=launch.gap")
    page = opened.page
    page.locator(".tl-scroll").focus()
    opened.press("n")
    page.locator(".sel-title", has_text="launch.gap").wait_for()
    first = page.locator(".sel-sentence").inner_text()
    assert "had nothing to run" in first
    page.keyboard.press("[")
    page.locator(".sel-title", has_text=re.compile("^cu(da)?[A-Z]")).wait_for()
    page.keyboard.press("]")
    page.locator(".sel-role", has_text="launched by").wait_for()
    page.go_back()
    page.locator(".sel-title", has_text=re.compile("^cu(da)?[A-Z]")).wait_for()
    page.keyboard.press("Escape")
    page.locator(".panel-hint").wait_for()
    assert opened.said == []


def test_keys_can_be_switched_off_and_act_only_on_the_timeline(open_page: Any) -> None:
    opened = open_page(f"/timeline?run={SAMPLE}")
    page = opened.page
    page.locator(".tl-search").focus()
    before = opened.view()
    page.keyboard.type("wwww")
    page.wait_for_timeout(250)
    assert opened.view() == before
    page.locator(".tl-search").fill("")
    page.locator(".tl-scroll").focus()
    page.keyboard.press("?")
    page.get_by_label("Single-key shortcuts off").check()
    page.keyboard.press("Escape")
    page.locator(".tl-scroll").focus()
    page.keyboard.press("w")
    page.wait_for_timeout(250)
    assert opened.view() == before


def test_a_click_selects_and_a_drag_adds_up(open_page: Any) -> None:
    opened = open_page(f"/timeline?run={SAMPLE}")
    page, box = opened.page, opened.page.locator(".tl-canvas").bounding_box()
    page.mouse.click(box["x"] + 500, box["y"] + 40)
    page.locator(".sel-title").wait_for()
    assert "sel=gpu0%2Fwaits" in wait_for_fragment(page, "sel=")
    page.mouse.move(box["x"] + 400, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 210, steps=4)
    page.mouse.up()
    page.locator(".range-account").wait_for()
    assert page.locator(".range-account caption strong").inner_text() == "GPU 0"
    assert "m=" in wait_for_fragment(page, "m=")


def wait_for_fragment(page: Any, part: str) -> str:
    for _ in range(40):
        fragment: str = page.evaluate("location.hash")
        if part in fragment:
            return fragment
        page.wait_for_timeout(50)
    raise AssertionError(page.evaluate("location.hash"))


def test_a_link_restores_the_whole_view(open_page: Any) -> None:
    opened = open_page(f"/timeline?run={SAMPLE}")
    page = opened.page
    page.locator(".tl-scroll").focus()
    opened.press("w w d")
    page.locator(".tl-search").fill("cudaStreamSynchronize")
    page.locator(".tl-matches li code").first.wait_for()
    page.locator(".tl-search").press("Enter")
    page.locator(".sel-title", has_text="cudaStreamSynchronize").wait_for()
    page.keyboard.press("p")
    page.locator(".tl-pinned .tl-label").wait_for()
    page.locator(".tl-group").first.click()
    wait_for_fragment(page, "closed=gpu0")
    page.wait_for_timeout(400)
    again = open_page(page.url.removeprefix(opened.address))
    again.page.locator(".sel-title", has_text="cudaStreamSynchronize").wait_for()
    assert again.view() == opened.view()
    assert again.page.locator(".tl-pinned .tl-label").count() == 1
    assert again.page.locator(".tl-group").first.get_attribute("aria-expanded") == "false"
    assert again.page.locator(".tl-lit code").inner_text() == "cudaStreamSynchronize"


def test_the_table_sorts_filters_searches_and_keeps_it_in_the_url(open_page: Any) -> None:
    opened = open_page(f"/waits?run={SAMPLE}&wait=launch.gap")
    page = opened.page
    page.wait_for_function(
        """() => { const cells = [...document.querySelectorAll(".ag-row .ag-cell[col-id='duration_us']")];
                   return cells.length > 0 && cells.every((cell) => cell.textContent); }"""
    )
    durations = page.locator(".ag-row .ag-cell[col-id='duration_us']").all_inner_texts()
    numbers = [float(text.replace(",", "")) for text in durations]
    assert numbers == sorted(numbers, reverse=True)
    page.locator(".ag-header-cell[col-id='start_ms'] .ag-header-cell-label").click()
    wait_for_search(page, "sort=start_ms")
    page.locator("#waits-filter").fill("CatArray")
    wait_for_search(page, "q=CatArray")
    count = page.locator("#waits-count")
    count.filter(has_text=re.compile(r"^\d+ waits")).wait_for()
    page.wait_for_timeout(500)
    kept = count.inner_text()
    again = open_page(page.url.removeprefix(opened.address))
    again.page.locator("#waits-count", has_text=kept).wait_for()
    assert opened.said == []


def wait_for_search(page: Any, part: str) -> None:
    for _ in range(60):
        if part in page.evaluate("location.search"):
            return
        page.wait_for_timeout(50)
    raise AssertionError(page.evaluate("location.search"))


def test_a_row_leads_to_its_place_on_the_timeline_and_back(open_page: Any) -> None:
    opened = open_page(f"/waits?run={SAMPLE}&wait=launch.gap")
    page = opened.page
    page.locator(".ag-row[row-index='1'] .ag-cell[col-id='device']").click()
    page.get_by_role("link", name="Show on the timeline").click()
    page.locator("#timeline .sel-title", has_text="launch.gap").wait_for()
    page.get_by_role("link", name="All like this").click()
    page.locator(".ag-row[row-index='0'] .wait-id").first.wait_for()
    assert "wait=launch.gap" in page.url


def test_the_filtered_rows_can_be_taken_away(open_page: Any) -> None:
    opened = open_page(f"/waits?run={SAMPLE}&wait=sync")
    with opened.page.expect_download() as download:
        opened.page.get_by_role("link", name="Export CSV").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert lines[0].startswith("wait,duration_us")
    assert all(line.startswith("sync.") for line in lines[1:])


def test_the_palette_goes_anywhere_by_keyboard(open_page: Any) -> None:
    opened = open_page(f"/?run={SAMPLE}")
    page = opened.page
    page.keyboard.press("Control+k")
    page.locator("dialog.palette input").fill("waits page")
    page.keyboard.press("Enter")
    page.locator(".page-waits").wait_for()
    assert f"run={SAMPLE}" in page.url
    assert page.locator(".tab[aria-current='page']").inner_text() == "Waits"


def test_theme_is_kept(open_page: Any) -> None:
    opened = open_page("/", color_scheme="dark")
    assert opened.page.get_attribute("html", "data-theme") == "dark"
    opened.page.get_by_role("button", name="Light or dark").click()
    assert opened.page.get_attribute("html", "data-theme") == "light"
    opened.go("/timeline")
    assert opened.page.get_attribute("html", "data-theme") == "light"


def test_experiments_copy_with_one_click(open_page: Any) -> None:
    opened = open_page(f"/finding/launch.gap?run={SAMPLE}", permissions=["clipboard-read", "clipboard-write"])
    button = opened.page.locator(".experiment .button-copy").first
    button.click()
    opened.page.locator(".experiment .button-copy[data-done]").first.wait_for()
    assert opened.page.evaluate("navigator.clipboard.readText()") == button.get_attribute("data-copy")


def test_hostile_names_are_only_text(browser: Any) -> None:
    build = burst_build(steps=12, kernel=HOSTILE)
    build.nvtx(HOSTILE, 0, 12_000, thread=2)
    with served(Workspace.ready({HOSTILE: loaded_from(build)})) as url:
        opened = Opened(browser, url, "/")
        for path in (*PATHS, "/finding/launch.gap"):
            opened.go(path)
            opened.page.wait_for_timeout(250)
        opened.go("/timeline")
        box = opened.page.locator(".tl-canvas").bounding_box()
        for y in range(30, 260, 10):
            opened.page.mouse.move(box["x"] + 700, box["y"] + y)
            opened.page.mouse.click(box["x"] + 700, box["y"] + y)
        opened.page.locator(".tl-search").fill("img")
        opened.page.locator(".tl-matches li").first.wait_for()
        opened.page.keyboard.press("Control+k")
        opened.page.locator("dialog.palette li").first.wait_for()
        assert opened.page.locator("img").count() == 0
        assert opened.said == []
        opened.context.close()


def test_an_empty_trace_and_a_report_say_why_there_is_nothing(browser: Any) -> None:
    report = Loaded(loaded_from(burst_build()).analysis)
    with served(Workspace.ready({"empty": loaded_from(TraceBuilder()), "report": report})) as url:
        opened = Opened(browser, url, "/timeline")
        assert "Nothing was recorded" in opened.page.locator("main").inner_text()
        opened.go("/timeline?run=report")
        assert "A saved report has no timeline" in opened.page.locator("main").inner_text()
        opened.go("/waits?run=report")
        assert "no list of single waits" in opened.page.locator("main").inner_text()
        assert opened.said == []
        opened.context.close()
