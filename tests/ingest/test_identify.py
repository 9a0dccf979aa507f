"""Every path is either a known format by its content, or refused with what it is and what to do."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path

import pytest
from sqlite_build import FRESH, ExportBuilder

from stallscope.errors import InputError
from stallscope.ingest.identify import identify
from stallscope.ingest.open import open_trace


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_formats_are_told_by_content(tmp_path: Path) -> None:
    sqlite = ExportBuilder().kernel(1, 2).write(tmp_path / "looks.json")
    assert identify(sqlite) == "nsys-sqlite"
    assert identify(written(tmp_path / "a.sqlite", b"NVIDIA Tegra Profiler Report 2023@4@4@54-1v0.")) == "nsys-rep"
    assert identify(written(tmp_path / "b.txt", b"NVR\0\0\2\0\0")) == "ncu-rep"
    assert identify(written(tmp_path / "c.csv", b'\n{"traceEvents": []}')) == "kineto"
    assert identify(written(tmp_path / "d.csv", b"\xef\xbb\xbf[]")) == "kineto"
    assert identify(written(tmp_path / "e", gzip.compress(b'{"traceEvents": []}'))) == "kineto"
    ncu = b'==PROF== Connected\n"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream"\n'
    assert identify(written(tmp_path / "f", ncu)) == "ncu-csv"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty file"),
        (b"hello", "not a trace"),
        (b"PAR1....PAR1", "one Parquet file"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"PK\x03\x04", "zip archive"),
        (b"\x28\xb5\x2f\xfd", "zstd archive"),
        (b"\x7fELF\x02", "a program"),
        (b"U3w[END]NVIDIA Nsight Systems Stream", "raw capture stream"),
        (b"\x1f\x8b\x08\x00garbage", "damaged or empty gzip"),
        (gzip.compress(b"tar-like content"), "without a PyTorch trace"),
        (bytes(4096), "interrupted"),
    ],
)
def test_everything_else_is_refused_with_three_parts(content: bytes, told: str, tmp_path: Path) -> None:
    path = written(tmp_path / "input.nsys-rep", content)
    with pytest.raises(InputError, match=told) as refused:
        open_trace(path, FRESH)
    assert refused.value.file == "input.nsys-rep"
    assert refused.value.next_step
    assert refused.value.exit_code == 3


def test_missing_dangling_folder_and_special_files(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "gone")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, told in (
        (tmp_path / "nothing", "no such file"),
        (link, "symbolic link"),
        (tmp_path, "a folder without"),
        (fifo, "not a regular file"),
        (tmp_path / "link" / "below", "no such file"),
    ):
        with pytest.raises(InputError, match=told):
            open_trace(path, FRESH)


def test_a_folder_of_reports_asks_for_the_files(tmp_path: Path) -> None:
    written(tmp_path / "rank0.nsys-rep", b"x")
    with pytest.raises(InputError, match="give the files themselves"):
        open_trace(tmp_path, FRESH)


def test_a_file_as_a_folder_and_a_socket(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_trace(written(tmp_path / "file", b"x") / "below", FRESH)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(InputError, match="not a regular file"):
            open_trace(tmp_path / "s", FRESH)


def test_an_ncu_report_has_no_timeline(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no timeline"):
        open_trace(written(tmp_path / "k.ncu-rep", b"NVR\0\0\2\0\0"), FRESH)
