from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stallscope.api import Options, analyze
from stallscope.errors import InputError, ToolMissingError, UsageError
from stallscope.ingest.identify import SQLITE
from stallscope.ingest.open import OpenOptions
from stallscope.ranks import cluster, compare_ranks, rank_files
from stallscope.ranks.task import examine_file

STEPS = 12
OPTIONS = Options(opening=OpenOptions(use_cache=False))


def events(rank: int) -> list[dict[str, Any]]:
    """Rank 1 loads 2 ms longer than the others before every all-reduce."""
    rows: list[dict[str, Any]] = []
    now, loading = 1_000.0, 2_500.0 if rank == 1 else 500.0

    def row(category: str, name: str, ts: float, dur: float, **args: Any) -> None:
        tid = 7 if category == "kernel" else 1
        rows.append(
            {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}
        )

    for step in range(STEPS):
        end = now + 2_500 + 1_010 + 300
        ids = (2 * step + 1, 2 * step + 2)
        row("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now + 1, loading - 2)
        row("cuda_runtime", "cudaLaunchKernel", now + loading, 5, correlation=ids[0])
        row("cuda_runtime", "cudaLaunchKernel", now + loading + 5, 5, correlation=ids[1])
        row("kernel", "gemm", now + loading + 10, 1_000, device=rank, context=1, stream=7, correlation=ids[0])
        facts = {"Collective name": "allreduce", "Process Group Name": "0", "Seq": step, "Group size": 3}
        name, begin = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", now + loading + 1_010
        row("kernel", name, begin, end - begin, device=rank, context=1, stream=20, correlation=ids[1], **facts)
        row(
            "cuda_runtime",
            "cudaDeviceSynchronize",
            now + loading + 20,
            end + 5 - now - loading - 20,
            correlation=10_000 + step,
        )
        now = end + 20
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "ranks"
    place.mkdir()
    for rank in range(3):
        document = {"traceEvents": events(rank), "distributedInfo": {"rank": rank}}
        (place / f"rank{rank}.pt.trace.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    (place / "notes.txt").write_text("no trace")
    return place


def test_a_folder_of_ranks_is_one_run(folder: Path) -> None:
    analysis = analyze(rank_files([folder]), OPTIONS)
    assert [source.rank for source in analysis.sources] == [0, 1, 2]
    titles = [finding.title for finding in analysis.findings if finding.wait == "comm.peer_wait"]
    assert titles == ["2 ranks wait in collectives for rank 1, held up there by input.wait"]
    assert not [note for note in analysis.capture.notes if note.id == "env.failed_rank"]


def test_folders_are_read_in_natural_order_and_empty_ones_refused(tmp_path: Path) -> None:
    for name in ("rank10.json", "rank9.json", ".hidden.json"):
        (tmp_path / name).write_text('{"traceEvents": []}')
    assert [path.name for path in rank_files([tmp_path])] == ["rank9.json", "rank10.json"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="without any trace"):
        rank_files([tmp_path / "empty"])


def test_other_json_in_a_folder_is_no_rank(folder: Path) -> None:
    (folder / "report.json").write_text(analyze([folder], OPTIONS).to_json())
    (folder / "budgets.json.gz").write_bytes(gzip.compress(b'{"alloc.sync": "5%"}'))
    header = {"schemaVersion": 1, "distributedInfo": {"pg_config": ["group"] * 20_000}, "traceEvents": events(3)}
    (folder / "rank3.json").write_text(json.dumps(header))
    (folder / "kernels.csv").write_text(
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream"\n'
    )
    names = [path.name for path in rank_files([folder])]
    assert names == [*(f"rank{rank}.pt.trace.json.gz" for rank in range(3)), "rank3.json"]


def test_a_damaged_rank_in_a_folder_is_told_of(folder: Path) -> None:
    (folder / "rank3.pt.trace.json.gz").write_bytes(b"")
    notes = analyze([folder], OPTIONS).capture.notes
    assert [note.id for note in notes if "rank3.pt.trace.json.gz" in note.message] == ["env.failed_rank"]


def test_a_copy_of_a_rank_is_left_out_and_told_of(folder: Path) -> None:
    shutil.copy(folder / "rank1.pt.trace.json.gz", folder / "rank5.pt.trace.json.gz")
    found = analyze([folder], OPTIONS)
    messages = [note.message for note in found.capture.notes if note.id == "env.same_rank"]
    assert messages == ["rank5.pt.trace.json.gz (trace 4) was left out: it holds the same as rank1.pt.trace.json.gz"]
    assert [source.rank for source in found.sources] == [0, 1, 2]
    assert "env.rank_order" not in {note.id for note in found.capture.notes}


def test_one_file_given_twice_is_one_trace(folder: Path) -> None:
    rank = folder / "rank1.pt.trace.json.gz"
    (folder / "link.json.gz").symlink_to(rank)
    assert rank_files([rank, folder / "link.json.gz", rank]) == [rank]
    assert len(rank_files([rank, folder])) == 3
    assert [source.rank for source in analyze([rank, rank], OPTIONS).sources] == [1]


def test_a_packed_trace_and_the_unpacked_one_are_one_rank(folder: Path) -> None:
    packed = folder / "rank1.pt.trace.json.gz"
    unpacked = folder / "rank1.pt.trace.json"
    unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
    assert [path.name for path in rank_files([folder])] == [
        "rank0.pt.trace.json.gz",
        "rank1.pt.trace.json",
        "rank2.pt.trace.json.gz",
    ]


def test_what_cannot_be_read_does_not_take_the_place_of_the_packed_trace(folder: Path) -> None:
    (folder / "rank1.pt.trace.json").write_bytes(b"")
    assert (folder / "rank1.pt.trace.json.gz") in rank_files([folder])
    assert [source.rank for source in analyze([folder], OPTIONS).sources] == [0, 1, 2]


def test_a_report_and_its_export_are_one_rank(tmp_path: Path) -> None:
    report, export = tmp_path / "rank0.nsys-rep", tmp_path / "rank0.sqlite"
    report.write_bytes(b"NVIDIA Tegra Profiler Report 2023@4@4@54-1v0.")
    other = tmp_path / "rank1.sqlite"
    for database in (export, other):
        database.write_bytes(SQLITE)
    os.utime(report, (1_000, 1_000))
    assert rank_files([tmp_path]) == rank_files([report, export, other]) == [export, other]
    os.utime(export, (500, 500))
    assert rank_files([tmp_path]) == [report, other]
    export.write_bytes(b"")
    assert rank_files([tmp_path]) == [report, other]


@pytest.mark.filterwarnings("default")
def test_processes_a_scheduler_and_this_process_say_the_same(folder: Path) -> None:
    distributed = pytest.importorskip("distributed")
    examine, paths = partial(examine_file, options=OPTIONS), rank_files([folder])
    (folder / "rank2.pt.trace.json.gz").write_bytes(b"\x1f\x8bdamaged")
    serial = compare_ranks(paths, examine, workers=1).to_json()
    assert "rank2.pt.trace.json.gz (trace 3) was left out" in serial
    assert compare_ranks(paths, examine, workers=2).to_json() == serial
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as running:
        assert compare_ranks(paths, examine, scheduler=running.scheduler_address).to_json() == serial


@pytest.mark.filterwarnings("default")
def test_no_scheduler_is_a_usage_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "CONNECT_S", 0.2)
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        compare_ranks(rank_files([folder]), partial(examine_file, options=OPTIONS), scheduler="tcp://127.0.0.1:1")


def test_a_scheduler_needs_dask_and_several_ranks_do_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_has_dask", lambda: False)
    for module in ("distributed", "distributed.system"):
        monkeypatch.setitem(sys.modules, module, None)
    examine, paths = partial(examine_file, options=OPTIONS), rank_files([folder])
    with pytest.raises(ToolMissingError, match="Dask"):
        compare_ranks(paths, examine, scheduler="tcp://127.0.0.1:1")
    monkeypatch.setattr(cluster, "unpacked_bytes", lambda _: 1 << 30)  # worth processes, if there were Dask
    assert len(compare_ranks(paths, examine).devices) == 3


def test_memory_and_size_bound_the_number_of_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = rank_files([folder])
    assert cluster.local_workers(paths) == 1
    monkeypatch.setattr(cluster, "unpacked_bytes", lambda _: 1 << 30)
    monkeypatch.setattr(cluster, "_cores", lambda: 16)
    monkeypatch.setattr(cluster, "free_bytes", lambda: 100 << 30)
    assert cluster.local_workers(paths) == 3
    monkeypatch.setattr(cluster, "free_bytes", lambda: 3 << 30)
    assert cluster.local_workers(paths) == 2
    monkeypatch.setattr(cluster, "free_bytes", lambda: 1 << 30)
    assert cluster.local_workers(paths) == 1


def test_gzip_counts_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x1f\x8b" + b"x" * 98)
    (tmp_path / "b").write_bytes(b"x" * 100)
    assert cluster.unpacked_bytes(tmp_path / "a") == 1_200
    assert cluster.unpacked_bytes(tmp_path / "b") == 100
    assert cluster.unpacked_bytes(tmp_path) == 12 * 200
    assert cluster.unpacked_bytes(tmp_path / "none") == 0
