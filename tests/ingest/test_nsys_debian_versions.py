"""Versions of Nsight Systems that Debian packages: exports that they wrote, and what each makes of the others' reports.

`tests/data/nsys` holds scrubbed exports of `nsys profile -t nvtx,osrt sleep 0.3` on a machine without a GPU. The other
tests need the programs: `make test` unpacks them with `tools/nsys.sh` and names them in OLD_NSYS.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from stallscope.api import analyze
from stallscope.errors import InputError
from stallscope.ingest.nsys_export import Nsys, find_nsys
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.analysis import Analysis
from stallscope.views.headline import Verdict, headline

VERSIONS = ("2020.4.3", "2022.4.2", "2023.4.4")
NAMED = os.environ.get("OLD_NSYS", "").split()
REPORT = "sample_traces/gil/no_thread.nsys-rep"
"""Made by 2023.4.4."""


def analysis_of(version: str, repository: Path, folder: Path) -> Analysis:
    packed = repository / "tests" / "data" / "nsys" / f"{version}-no-gpu.sqlite.gz"
    path = folder / f"{version}.sqlite"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return analyze(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_export_of_each_version_without_gpu_work_says_so(version: str, repository: Path, tmp_path: Path) -> None:
    analysis = analysis_of(version, repository, tmp_path)
    assert headline(analysis).verdict is Verdict.NO_ACTIVITY
    assert "env.no_gpu_activity" in {note.id for note in analysis.capture.notes}
    assert analysis.findings == ()
    assert analysis.devices == ()


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_export_tells_the_version_that_wrote_it(version: str, repository: Path, tmp_path: Path) -> None:
    assert f" {version}." in analysis_of(version, repository, tmp_path).sources[0].producer


@pytest.fixture(params=NAMED or [None], ids=lambda program: "old" if program else "none")
def old_nsys(request: pytest.FixtureRequest) -> Nsys:
    if request.param is None:
        pytest.skip("OLD_NSYS names no nsys: what old versions say of newer reports is not tested here")
    return find_nsys(request.param)


def test_old_version_is_found_too_old_for_a_newer_report(old_nsys: Nsys, repository: Path, tmp_path: Path) -> None:
    opening = OpenOptions(cache_dir=str(tmp_path), nsys=old_nsys.program)
    with pytest.raises(InputError, match=rf"made by nsys 2023.4.4.54, and nsys {old_nsys.label}") as refused:
        open_trace(repository / REPORT, opening)
    assert "install nsys 2023.4.4.54 or newer" in str(refused.value.next_step)


def test_versions_named_for_the_tests_are_the_documented_ones(old_nsys: Nsys) -> None:
    assert old_nsys.label in VERSIONS
