"""Flat tables of the timeline."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from stallscope.cli.export import command
from stallscope.export.rows import frame, write_csv
from stallscope.export.selection import select
from stallscope.views.lanes import LaneTable


def test_rows_are_the_intervals(lanes: LaneTable) -> None:
    rows = frame(lanes, select(lanes, None, 10**9))
    assert rows.height == len(lanes)
    assert (rows["end_ns"] - rows["start_ns"] == rows["duration_ns"]).all()
    waits = rows.filter(pl.col("kind") == "waits")
    assert "alloc.sync" in set(waits["class"])
    charged = lanes.charges.end_ns - lanes.charges.start_ns
    assert waits["duration_ns"].sum() == int(np.sum(charged))


def test_csv_guards_formulas_in_text_and_leaves_numbers() -> None:
    rows = pl.DataFrame({"name": ["=1+1", "gemm", "@x"], "start_ns": [-5, 1, 2]})
    out = io.BytesIO()
    write_csv(rows, out)
    read = list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))
    assert read == [["name", "start_ns"], ["'=1+1", "-5"], ["gemm", "1"], ["'@x", "2"]]


@pytest.mark.parametrize(("target", "name"), [("csv", "t.csv"), ("parquet", "t.parquet"), ("perfetto", "t.pftrace.gz")])
def test_command_writes_each_target(
    target: str, name: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = repository / "sample_traces/h200/py_alloc_sync.sqlite"
    words = [str(trace), "--to", target, "-o", str(tmp_path / name), "--no-cache"]
    ran = CliRunner().invoke(command, words, standalone_mode=False)
    assert ran.exception is None
    assert "intervals of" in ran.output
    assert (tmp_path / name).stat().st_size > 1_000
    if target == "parquet":
        assert pl.read_parquet(tmp_path / name).height > 100
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_range_with_nothing_in_it_is_a_usage_error(repository: Path, tmp_path: Path) -> None:
    trace = repository / "sample_traces/h200/py_alloc_sync.sqlite"
    words = [str(trace), "--to", "csv", "-o", str(tmp_path / "t.csv"), "--no-cache", "--range", "900s:901s"]
    ran = CliRunner().invoke(command, words, standalone_mode=False)
    assert "nothing in this part" in str(ran.exception)
