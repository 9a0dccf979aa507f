from __future__ import annotations

import hashlib
import sqlite3
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
MANIFEST = tomllib.loads((SAMPLES / "MANIFEST.toml").read_text(encoding="utf-8"))
TRACES = [*MANIFEST["trace"], *MANIFEST["probe"]]
LIMIT_BYTES = 25 * 1024 * 1024
SECRET_TABLES = {"ProcessStreams", "ANALYSIS_FILE", "TARGET_INFO_SESSION"}
SECRET_MARKS = (b"LD_LIBRARY_PATH", b"PATH=", b"HOME=", b"ENVIRONMENT_VARIABLE", b"USER_NAME", b"WORKING_DIR")


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace["file"])
def test_file_is_the_one_the_manifest_describes(trace: dict[str, str]) -> None:
    content = (SAMPLES / trace["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == trace["sha256"]


def test_manifest_entries_are_complete() -> None:
    for trace in TRACES:
        assert set(trace["expect"]).isdisjoint(trace["must_not"]), trace["file"]
        capture = MANIFEST["capture"][trace["capture"]]
        assert {"gpu", "driver", "command"} <= set(capture), trace["file"]


def test_every_committed_trace_is_listed() -> None:
    on_disk = {
        str(path.relative_to(SAMPLES))
        for suffix in ("sqlite", "nsys-rep", "parquet", "npz")
        for path in SAMPLES.rglob(f"*.{suffix}")
    }
    assert on_disk == {trace["file"] for trace in TRACES}


def test_all_samples_together_stay_small() -> None:
    total_bytes = sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file())
    assert total_bytes <= LIMIT_BYTES


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.sqlite")), ids=lambda path: path.stem)
def test_no_environment_user_or_output_in_a_database(path: Path) -> None:
    content = path.read_bytes()
    assert not [mark for mark in SECRET_MARKS if mark in content]
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    paths = connection.execute("SELECT value FROM StringIds WHERE value LIKE '/%'").fetchall()
    connection.close()
    assert not tables & SECRET_TABLES
    assert not paths
