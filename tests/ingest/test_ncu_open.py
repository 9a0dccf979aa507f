"""Opening what Nsight Compute wrote: by content, packed or not, several pages of one report as one."""

from __future__ import annotations

import gzip
import stat
from pathlib import Path

import pytest
from ncu_pages import PAGES, launch, raw_page
from ncu_reports import kernel_result, report

from stallscope.errors import InputError
from stallscope.ingest.identify import is_ncu
from stallscope.ingest.ncu_open import open_counters

PAGE = raw_page({"gpu__time_duration.sum": ("us", "2.500000"), "a__b.pct": ("%", "1.50")}, launch(0))
REPORT = report(("gpu__time_duration.sum",), kernel_result("mm", {0: 2500}))


def written(folder: Path, name: str, data: bytes | str) -> Path:
    """A file in the folder."""
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", PAGE),
        ("b.txt", PAGE.encode("utf-16")),
        ("c.csv.gz", gzip.compress(PAGE.encode())),
        ("d", REPORT),
        ("e.ncu-rep.gz", gzip.compress(REPORT)),
    ],
)
def test_content_decides_not_the_suffix(tmp_path: Path, name: str, data: bytes | str) -> None:
    path = written(tmp_path, name, data)
    assert is_ncu(path)
    counters = open_counters([path])
    assert counters.kernels[0].value("gpu__time_duration.sum") == 2500
    assert counters.source.name == name
    assert len(counters.source.sha256) == 64


@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"\x1f\x8b broken", b"SQLite format 3\0"])
def test_other_files_are_not_ncu(tmp_path: Path, data: bytes) -> None:
    assert not is_ncu(written(tmp_path, "x", data))
    assert not is_ncu(tmp_path / "absent")


def test_raw_and_details_of_one_report_become_one() -> None:
    counters = open_counters([PAGES / "kern.details.csv.gz", PAGES / "kern.raw.csv.gz"])
    assert len(counters.kernels) == 9
    assert all(len(kernel.metrics) > 2000 for kernel in counters.kernels)
    assert all(kernel.estimates for kernel in counters.kernels)
    assert counters.source.name == "kern.raw.csv.gz"


def test_pages_of_two_jobs_stay_apart(tmp_path: Path) -> None:
    slow = PAGE.replace("2.500000", "9.500000")
    counters = open_counters([written(tmp_path, "a.csv", PAGE), written(tmp_path, "b.csv", slow)])
    assert [kernel.value("gpu__time_duration.sum") for kernel in counters.kernels] == [2500, 9500]
    assert len({kernel.run for kernel in counters.kernels}) == 2


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        open_counters([tmp_path / "absent.csv"])
    assert refusal.value.file == "absent.csv"
    with pytest.raises(InputError, match="gzip"):
        open_counters([written(tmp_path, "cut.gz", gzip.compress(PAGE.encode())[:-20])])
    with pytest.raises(InputError, match="no Nsight Compute file"):
        open_counters([])


def test_a_report_this_reader_does_not_know_goes_through_the_user_s_ncu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = written(tmp_path, "newer.ncu-rep", report(("a__b.sum",), kernel_result("mm", {0: 1}), version=8))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="version 8 is not known"):
        open_counters([newer])
    written(tmp_path, "page.csv", PAGE)
    ncu = written(
        tmp_path,
        "ncu",
        f'#!/bin/sh\n[ "$1" = -i ] && while read -r line; do echo "$line"; done < {tmp_path}/page.csv\n',
    )
    ncu.chmod(ncu.stat().st_mode | stat.S_IXUSR)
    counters = open_counters([newer])
    assert counters.kernels[0].value("gpu__time_duration.sum") == 2500
    assert counters.source.format == "ncu-rep"
    assert "ncu.exported" in [note.id for note in counters.notes]


def test_an_ncu_that_fails_leaves_the_first_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = written(tmp_path, "newer.ncu-rep", report(("a__b.sum",), kernel_result("mm", {0: 1}), version=8))
    ncu = written(tmp_path, "ncu", "#!/bin/sh\nexit 1\n")
    ncu.chmod(ncu.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="version 8 is not known"):
        open_counters([newer])
