"""Loading: from the trace once, from the cache afterwards, and clear words when either is damaged."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from stallscope_dashboard import loading
from stallscope_dashboard.lane_store import DamagedEntryError, LaneStore
from stallscope_dashboard.loading import Loader
from stallscope_dashboard.sources import runs_of
from stallscope_dashboard.workspace import Loaded, Progress, Stage

from stallscope.errors import InputError
from stallscope.ingest.open import OpenOptions

SAMPLE = "sample_traces/h200/py_host_sync.sqlite"


@pytest.fixture
def trace(repository: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(repository / SAMPLE, tmp_path / "trace.sqlite"))


def load(trace: Path, cache: Path) -> tuple[Loaded, list[Stage]]:
    heard: list[Progress] = []
    found = Loader(OpenOptions(cache_dir=str(cache)))([trace], heard.append)
    return found, list(dict.fromkeys(progress.stage for progress in heard))


def entries(cache: Path) -> list[Path]:
    return [entry for entry in (cache / "dashboard").iterdir() if not entry.name.startswith(".")]


def test_the_second_start_only_reads_the_cache_and_gets_the_same(trace: Path, tmp_path: Path) -> None:
    first, stages = load(trace, tmp_path / "cache")
    assert stages == [Stage.READING, Stage.ANALYZING, Stage.INDEXING]
    second, stages = load(trace, tmp_path / "cache")
    assert stages == [Stage.READING]
    assert second.analysis == first.analysis
    assert first.lanes is not None
    assert second.lanes is not None
    for name in ("start_ns", "end_ns", "name", "kind", "link", "row"):
        assert np.array_equal(getattr(first.lanes.intervals, name), getattr(second.lanes.intervals, name)), name
    assert second.lanes.names == first.lanes.names
    assert second.lanes.charges.waits == first.lanes.charges.waits


@pytest.mark.parametrize("damage", ["cut", "flip", "header", "absent"])
def test_a_damaged_cache_is_told_and_made_again(
    trace: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    cache = tmp_path / "cache"
    load(trace, cache)
    (entry,) = entries(cache)
    column = entry / "interval.start_ns.npy"
    if damage == "cut":
        column.write_bytes(column.read_bytes()[:-100])
    elif damage == "flip":
        content = bytearray(column.read_bytes())
        content[-5] ^= 0x40
        column.write_bytes(content)
    elif damage == "header":
        (entry / "header.json").write_text("{}")
    else:
        column.unlink()
    with caplog.at_level(logging.WARNING):
        found, stages = load(trace, cache)
    assert found.notes == (loading.REBUILT.format(name="trace.sqlite"),)
    assert found.notes[0] in caplog.text
    assert Stage.ANALYZING in stages
    assert load(trace, cache)[0].notes == ()


def test_pickles_are_never_read(trace: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    load(trace, cache)
    (entry,) = entries(cache)
    np.save(entry / "interval.start_ns.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(DamagedEntryError):
        LaneStore(cache).load(entry.name)


def test_without_a_cache_nothing_is_written(trace: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    Loader(OpenOptions(use_cache=False, cache_dir=str(tmp_path / "cache")))([trace], lambda _progress: None)
    assert sorted(tmp_path.iterdir()) == before


def test_a_cache_that_cannot_be_written_costs_nothing(trace: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "cache"
    blocked.write_text("a file where the folder should be")
    found = Loader(OpenOptions(cache_dir=str(blocked)))([trace], lambda _progress: None)
    assert found.lanes is not None


def test_a_vanished_trace_says_which_and_what_to_do(trace: Path, tmp_path: Path) -> None:
    trace.unlink()
    with pytest.raises(InputError, match="no longer there") as caught:
        load(trace, tmp_path / "cache")
    assert caught.value.file == "trace.sqlite"
    assert caught.value.next_step


def test_a_saved_report_needs_no_trace(repository: Path, tmp_path: Path) -> None:
    found, _ = load(repository / "sample_traces/h200/py_host_sync.json", tmp_path / "cache")
    assert found.analysis.findings
    assert found.lanes is None


def test_a_broken_report_is_refused(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text('{"schema_version": "1.0", "devices": 5}')
    with pytest.raises(InputError, match="not a report of stallscope"):
        load(report, tmp_path / "cache")


def test_paths_make_one_run_each_and_one_of_all_ranks(repository: Path) -> None:
    folder = repository / "sample_traces/h200"
    runs = runs_of([folder / "py_host_sync.sqlite", folder / "py_launch_gaps.sqlite", folder / "py_host_sync.json"])
    assert [(run.title, run.lazy, len(run.paths)) for run in runs] == [
        ("py_host_sync.sqlite", False, 1),
        ("py_launch_gaps.sqlite", False, 1),
        ("py_host_sync.json", False, 1),
        ("all 2 traces as ranks", True, 2),
    ]


def test_counters_belong_to_the_trace_beside_them(repository: Path, tmp_path: Path) -> None:
    counters = tmp_path / "kernels.csv"
    counters.write_text('"ID","Process ID","Process Name","Kernel Name","gpu__time_duration.sum"\n"","","","","ns"\n')
    (run,) = runs_of([repository / SAMPLE, counters])
    assert [path.name for path in run.paths] == ["py_host_sync.sqlite", "kernels.csv"]


def test_a_path_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        runs_of([tmp_path / "absent.sqlite"])
