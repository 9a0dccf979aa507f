from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace

from stallscope.errors import InputError, UsageError
from stallscope.model.analysis import Analysis, DeviceLedger, Source
from stallscope.store.history import History
from stallscope.store.location import history_file

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def analysis(gap_ns: int, sha256: str) -> Analysis:
    device = DeviceLedger(
        device="GPU 0", uuid="", name="NVIDIA H200", window_ns=100 + gap_ns, busy_ns=100, idle_ns=gap_ns,
        ledger={"ok.compute": 100, "launch.gap": gap_ns},
    )  # fmt: skip
    return Analysis(sources=(Source(name="t.sqlite", sha256=sha256, format="nsys-sqlite"),), devices=(device,))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.sqlite"


def fill(file: Path) -> None:
    with History.open(file) as history:
        for day, gap in enumerate((50, 60, 0)):
            history.add(analysis(gap, f"{day}"), "train", f"{day}abcdef", START + timedelta(days=day))


def test_recorded_runs_survive_and_come_newest_first(file: Path) -> None:
    fill(file)
    with History.open(file) as history:
        entries = history.entries("train")
        assert [(e.id, e.commit, e.step_ns, e.gpu) for e in entries] == [
            (3, "2abcdef", 100, "NVIDIA H200"),
            (2, "1abcdef", 160, "NVIDIA H200"),
            (1, "0abcdef", 150, "NVIDIA H200"),
        ]
        assert history.entries("other") == ()


def test_trend_is_oldest_first_and_an_uncharged_id_costs_nothing(file: Path) -> None:
    fill(file)
    with History.open(file) as history:
        assert [point.ns for point in history.trend("train", "launch.gap")] == [50, 60, 0]
        assert [point.ns for point in history.trend("train")] == [150, 160, 100]


def test_baseline_is_found_by_name_commit_and_id(file: Path) -> None:
    fill(file)
    with History.open(file) as history:
        history.set_baseline("main", 2)
        history.set_baseline("main", 1)
        assert history.entries()[2].baselines == ("main",)
        assert history.find("main") == analysis(50, "0")
        assert history.find("1abc") == analysis(60, "1")
        assert history.find("3") == analysis(0, "2")
        with pytest.raises(UsageError, match="no analysis 'nothing'"):
            history.find("nothing")


def test_same_run_is_recorded_once(file: Path) -> None:
    with History.open(file) as history:
        assert history.add(analysis(1, "a"), "s", "c") == history.add(analysis(1, "a"), "s", "c")
        assert history.add(analysis(1, "a"), "s", "d") == 2


def test_forgotten_run_leaves_nothing(file: Path) -> None:
    fill(file)
    with History.open(file) as history:
        history.set_baseline("main", 1)
        history.forget(1)
        with pytest.raises(UsageError):
            history.forget(1)
    with sqlite3.connect(file) as plain:
        assert plain.execute("select count(*) from waits where analysis = 1").fetchone() == (0,)
        assert plain.execute("select count(*) from baselines").fetchone() == (0,)
    plain.close()


def test_failed_recording_leaves_no_half(file: Path) -> None:
    """The waits of a run cannot be written: the run itself must not stay."""
    fill(file)
    with sqlite3.connect(file) as plain:
        plain.execute("drop table waits")
    plain.close()
    with pytest.raises(InputError), History.open(file) as history:
        history.add(analysis(7, "z"), "train")
    with sqlite3.connect(file) as plain:
        assert plain.execute("select count(*) from analyses").fetchone() == (3,)
    plain.close()


def test_two_writers_wait_for_each_other(file: Path) -> None:
    with History.open(file) as first, History.open(file) as second:
        assert first.add(analysis(1, "a"), "s") == 1
        assert second.add(analysis(2, "b"), "s") == 2
        assert len(first.entries()) == 2


def test_another_programs_database_is_never_written_to(tmp_path: Path) -> None:
    trace = tmp_path / "trace.sqlite"
    with sqlite3.connect(trace) as plain:
        plain.execute("create table StringIds (id integer)")
    plain.close()
    before = trace.read_bytes()
    with pytest.raises(InputError, match="another program's database"), History.open(trace):
        pass
    assert trace.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database, but long enough to be read as one" * 20])
def test_damaged_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "h.sqlite").write_bytes(content)
    with pytest.raises(InputError) as caught, History.open(tmp_path / "h.sqlite"):
        pass
    assert caught.value.file == "h.sqlite"


def test_newer_history_is_refused(file: Path) -> None:
    fill(file)
    with sqlite3.connect(file) as plain:
        plain.execute("pragma user_version = 99")
    plain.close()
    with pytest.raises(InputError, match="newer stallscope"), History.open(file):
        pass


@pytest.mark.parametrize("series", ["", " ", "a\x1b[31m", "x" * 300])
def test_unusable_names_are_refused(file: Path, series: str) -> None:
    with History.open(file) as history, pytest.raises(UsageError):
        history.add(analysis(1, "a"), series)


def test_place_is_the_variable_or_the_users_data_folder(tmp_path: Path) -> None:
    assert history_file({"STALLSCOPE_HISTORY": str(tmp_path / "h")}) == tmp_path / "h"
    assert history_file({}).parts[-2:] == ("stallscope", "history.sqlite")


def test_only_listed_fields_are_kept(file: Path) -> None:
    """A document may not carry a path into the history."""
    one = analysis(1, "a")
    with History.open(file) as history:
        history.add(replace(one, sources=(replace(one.sources[0], name="t.sqlite"),)), "s")
    columns = {
        "id", "series", "commit", "recorded", "sources", "sha256", "gpu", "driver", "step_ns", "steps", "document",
    }  # fmt: skip
    with sqlite3.connect(file) as plain:
        found = {row[1] for row in plain.execute("pragma table_info(analyses)")}
        content = "\n".join(plain.iterdump())
    plain.close()
    assert found == columns
    assert str(file.parent) not in content
