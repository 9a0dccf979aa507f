"""How quick the dashboard is on a large trace: start, key to painted tile, memory.

    python benchmarks/dashboard.py [--intervals 5000000] [--keys 60] [--work FOLDER]

Makes a trace by repeating a bundled capture of an H200 on four devices, analyzes it once into a fresh cache, then
starts the dashboard again and drives it in a real Chromium. Prints one figure a line with the limit it is held to;
exits 1 when one is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

SAMPLE = Path(__file__).resolve().parent.parent / "sample_traces/h200/py_gpt_train.sqlite"
DEVICES = 4
INTERVALS_A_ROUND = 14_900
"""Intervals that one repetition of the capture on one device puts on the timeline, its charges included."""
MIN_LANES = 24
KEYS = "wwwwwddaaddssssswwwddaasss"
LIMITS = {"cold start, overview": 4_000, "cold start, timeline": 4_000, "key to painted, p95": 150, "memory": 1_500}

_KEYED = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "globalPid",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "globalPid",
    "CUPTI_ACTIVITY_KIND_MEMSET": "globalPid",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "globalPid",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "globalTid",
    "NVTX_EVENTS": "globalTid",
}
_MEASURE = """
() => {
  const root = document.getElementById("timeline");
  window.painted = [];
  let pressed = 0;
  addEventListener("keydown", () => { pressed = performance.now(); }, true);
  root.addEventListener("painted", () => requestAnimationFrame(() => {
    if (pressed) { window.painted.push(performance.now() - pressed); pressed = 0; }
  }));
}
"""
_UNTIL = """
(count) => new Promise((resolve) => {
  const look = () => { if (window.painted.length > count) resolve(); else setTimeout(look, 4); };
  look();
})
"""


def main() -> int:
    """Run everything; 1 when a limit is missed."""
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        folder = Path(work)
        trace = repeated(folder / "large.sqlite", options.intervals)
        environment = {**os.environ, "STALLSCOPE_CACHE_DIR": str(folder / "cache")}
        with _browser() as browser:
            first = _first_analysis(trace, environment, browser)
            figures = _warm(trace, environment, browser, options.keys)
    print(f"first analysis, nothing cached: {first / 1000:.1f} s")
    for name, value in figures.items():
        limit = LIMITS.get(name)
        unit = "MB" if name == "memory" else "" if name in {"intervals", "visible lanes"} else "ms"
        held = "" if limit is None else f"   (limit {limit}: {'held' if value <= limit else 'MISSED'})"
        print(f"{name}: {value:,.0f} {unit}{held}")
    missed = [name for name, limit in LIMITS.items() if figures[name] > limit]
    return 1 if missed or figures["visible lanes"] < MIN_LANES else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intervals", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--work", default=None, help="folder for the trace and the cache (about 1.5 GB)")
    return parser.parse_args()


def repeated(target: Path, intervals: int) -> Path:
    """The sample on DEVICES devices, one process each, repeated in time until there are that many intervals."""
    rounds = -(-intervals // (DEVICES * INTERVALS_A_ROUND))
    shutil.copyfile(SAMPLE, target)
    with sqlite3.connect(target) as database:
        database.execute("pragma journal_mode = off")
        database.execute("pragma synchronous = off")
        low, high = database.execute("select min(start), max(end) from CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
        ids = database.execute("select max(correlationId) + 1 from CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()[0]
        for table, owner in _KEYED.items():
            _repeat(database, table, owner, (rounds, high - low + 100_000, ids))
        _more_devices(database)
    return target


def _repeat(database: sqlite3.Connection, table: str, owner: str, steps: tuple[int, int, int]) -> None:
    rounds, period, ids = steps
    columns = [row[1] for row in database.execute(f"pragma table_info({table})")]
    moved = {
        "start": f"start + k * {period}",
        "end": f"end + k * {period}",
        "correlationId": f"correlationId + k * {ids}",
        owner: f"{owner} + d * 16777216",
        "deviceId": "d",
    }
    values = ", ".join(moved.get(column, f'"{column}"') for column in columns)
    database.execute(f"create temp table base as select * from {table}")  # noqa: S608 - names from above
    database.execute(f"delete from {table}")  # noqa: S608 - names from above
    counts = (
        f"rounds(k) as (select 0 union all select k + 1 from rounds where k < {rounds - 1}), "  # noqa: S608 - numbers
        f"devices(d) as (select 0 union all select d + 1 from devices where d < {DEVICES - 1})"
    )
    insert = f"insert into {table} select {values} from rounds, devices, base"  # noqa: S608 - names from above
    database.execute(f"with recursive {counts} {insert}")
    database.execute("drop table base")


def _more_devices(database: sqlite3.Connection) -> None:
    for device in range(1, DEVICES):
        for table, changes in (
            ("PROCESSES", {"globalPid": f"globalPid + {device} * 16777216", "pid": f"pid + {device}"}),
            ("TARGET_INFO_GPU", {"id": str(device), "cuDevice": str(device), "uuid": f"uuid || {device}"}),
            ("TARGET_INFO_CUDA_CONTEXT_INFO", {"processId": f"processId + {device}", "deviceId": str(device)}),
        ):
            columns = [row[1] for row in database.execute(f"pragma table_info({table})")]
            values = ", ".join(changes.get(column, f'"{column}"') for column in columns)
            insert = f"insert into {table} select {values} from {table} limit 1"  # noqa: S608 - names from above
            database.execute(insert)


@contextmanager
def _browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no Chromium on PATH")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@contextmanager
def _dashboard(trace: Path, environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "stallscope", "dashboard", "--port", "0", str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        url = server.stdout.readline().strip() if server.stdout else ""
        try:
            yield server, url
        finally:
            server.send_signal(signal.SIGTERM)


def _first_analysis(trace: Path, environment: dict[str, str], browser: Any) -> float:
    began = time.perf_counter()
    with _dashboard(trace, environment) as (_, url):
        page = browser.new_page()
        page.goto(url)
        page.wait_for_selector(".page-overview", timeout=600_000)
        page.close()
    return (time.perf_counter() - began) * 1000


def _warm(trace: Path, environment: dict[str, str], browser: Any, keys: int) -> dict[str, float]:
    figures = {}
    for name, path, selector in (
        ("cold start, overview", "", ".page-overview"),
        ("cold start, timeline", "timeline", "#timeline[data-painted]"),
    ):
        began = time.perf_counter()
        with _dashboard(trace, environment) as (server, url):
            page = browser.new_context(viewport={"width": 1600, "height": 1200}).new_page()
            page.goto(url + path)
            page.wait_for_selector(selector, timeout=60_000)
            figures[name] = (time.perf_counter() - began) * 1000
            if path:
                figures |= _keys(page, keys)
                figures["memory"] = _peak_mb(server.pid)
            page.context.close()
    return figures


def _keys(page: Page, count: int) -> dict[str, float]:
    page.focus(".tl-scroll")
    page.evaluate(_MEASURE)
    lanes = page.evaluate("Number(document.getElementById('timeline').dataset.visible)")
    total = page.evaluate("Number(document.getElementById('timeline').dataset.intervals)")
    for number in range(count):
        page.keyboard.press(KEYS[number % len(KEYS)])
        page.evaluate(_UNTIL, number)
    times = sorted(page.evaluate("window.painted"))
    return {
        "intervals": total,
        "visible lanes": lanes,
        "key to painted, median": statistics.median(times),
        "key to painted, p95": times[min(int(0.95 * len(times)), len(times) - 1)],
        "key to painted, longest": times[-1],
    }


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    sys.exit(main())
