from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from stallscope_probes.catalogue import discover
from stallscope_probes.cutting import cut, session_ranges
from stallscope_probes.gains import Timing
from stallscope_probes.recording import clean_environment, groups
from stallscope_probes.samples import MARK, Provenance, load_expected, move_in, write_expected, write_manifest

from stallscope.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "copy" / "pageable.sqlite"


def test_list_has_the_shape_other_tools_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "list", "--format", "json"]) == 0
    families = json.loads(capsys.readouterr().out)["families"]
    assert [family["name"] for family in families] == [family.name for family in discover()]
    for family in families:
        for variant in family["variants"]:
            assert {"role", "params", "expect", "must_not"} <= set(variant)
            assert variant["role"] in {"bad", "fixed", "decoy"}


def test_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "run", "nothing_like_it"]) == 2
    assert "there are: " in capsys.readouterr().err


@pytest.fixture
def nsys(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program that says it is nsys."""
    program = tmp_path_factory.mktemp("bin") / "nsys"
    program.write_text("#!/bin/sh\necho NVIDIA Nsight Systems version 2025.1.1.1\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("verb", ["run", "capture"])
def test_without_a_gpu_exit_code_4_and_nothing_is_written(
    verb: str, nsys: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    monkeypatch.chdir(tmp_path)
    assert main(["probe", verb, "launch/eager", *(["--nsys", nsys] if verb == "capture" else [])]) == 4
    assert "no CUDA device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_nsys_exit_code_4_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "samples"
    assert main(["probe", "capture", "launch/eager", "-o", str(target), "--nsys", str(tmp_path / "none")]) == 4
    assert "names no program" in capsys.readouterr().err
    assert not target.exists()


def test_score_of_a_folder_without_captures_is_an_input_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "score", str(tmp_path)]) == 3
    assert "no labelled capture" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_score_writes_the_board_and_the_page(tmp_path: Path) -> None:
    family = tmp_path / "samples" / "copy"
    family.mkdir(parents=True)
    for name in ("pageable.sqlite", "pinned_ahead.sqlite", "expected.json"):
        (family / name).write_bytes((SAMPLE.parent / name).read_bytes())
    page = tmp_path / "page.md"
    assert main(["probe", "score", str(tmp_path / "samples"), "--page", str(page)]) == 0
    board = json.loads((tmp_path / "samples" / "scoreboard.json").read_text(encoding="utf-8"))
    assert [row["file"] for row in board["captures"]] == ["copy/pageable.sqlite", "copy/pinned_ahead.sqlite"]
    assert "`copy.pageable`" in page.read_text(encoding="utf-8")


def test_every_traced_variant_is_recorded_once_with_its_options() -> None:
    found = groups([])
    names = [name for group in found for name in group.names]
    expected = [f"{f.name}/{v.name}" for f in discover() if f.collect != "nothing" for v in f.variants]
    assert sorted(names) == sorted(expected)
    by_collect = {group.collect: group.command("nsys", Path("/f")) for group in found}
    assert "--cuda-graph-trace=node" in by_collect["graph"]
    assert "--cuda-um-gpu-page-faults=true" in by_collect["uvm"]
    assert by_collect["cuda"][:2] == ["nsys", "profile"]


def test_recorded_programs_inherit_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    environment = clean_environment({"CUDA_MODULE_LOADING": "LAZY"})
    assert set(environment) <= {
        "PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "VIRTUAL_ENV", "HOME", "PYTHONPATH", "CUDA_MODULE_LOADING",
    }  # fmt: skip


def _session(path: Path, variants: dict[str, tuple[int, int]]) -> None:
    """A sample with session ranges added, as nsys would have recorded them around its repeats."""
    path.write_bytes(SAMPLE.read_bytes())
    database = sqlite3.connect(path)
    for name, (start, end) in variants.items():
        database.execute(
            "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?, ?, 59, ?, 1)",
            (start, end, f"stallscope-session:{name}"),
        )
    database.commit()
    database.close()


def _starts(path: Path, table: str) -> list[int]:
    database = sqlite3.connect(path)
    rows = [row[0] for row in database.execute(f"SELECT start FROM {table} ORDER BY start")]  # noqa: S608
    database.close()
    return rows


def test_cut_keeps_exactly_the_rows_of_the_range(tmp_path: Path) -> None:
    kernels = _starts(SAMPLE, "CUPTI_ACTIVITY_KIND_KERNEL")
    first, second = kernels[0], kernels[10]
    session = tmp_path / "session.sqlite"
    _session(session, {"copy/one": (first, second), "copy/two": (second, kernels[-1] + 1)})
    one, two = session_ranges(session)
    assert (one.probe, two.probe) == ("copy/one", "copy/two")
    for part, expected in ((one, kernels[:10]), (two, kernels[10:])):
        target = tmp_path / f"{part.probe.replace('/', '.')}.sqlite"
        cut(session, part, target)
        assert _starts(target, "CUPTI_ACTIVITY_KIND_KERNEL") == expected
        assert b"stallscope-session" not in target.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.one.sqlite", "copy.two.sqlite", "session.sqlite"]


def test_cut_that_fails_leaves_no_file(tmp_path: Path) -> None:
    session = tmp_path / "session.sqlite"
    _session(session, {"copy/one": (0, 1)})
    part = session_ranges(session)[0]
    session.write_bytes(b"no database")
    with pytest.raises(sqlite3.DatabaseError):
        cut(session, part, tmp_path / "out.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["session.sqlite"]


def test_labels_and_manifest_of_what_ran(tmp_path: Path) -> None:
    row = {"family": "copy", "variant": "pageable", "status": "ok", "repeats": 20, "refusal": ""}
    skipped = {**row, "variant": "pinned_ahead", "status": "skipped"}
    timing = Timing(family="copy", bad="pageable", fixed="pinned_ahead", bad_ns=(2,), fixed_ns=(1,))
    made, samples = tmp_path / "made", tmp_path / "samples"
    made.mkdir()
    samples.mkdir()
    write_expected(made, [row, skipped], [timing])
    (made / "copy" / "pageable.sqlite").write_bytes(SAMPLE.read_bytes())
    move_in(made, samples)
    (samples / "MANIFEST.toml").write_text('# mine\n[capture.h200]\ngpu = "x"\n', encoding="utf-8")
    origin = Provenance(gpu="g", driver="d", cuda="c", torch="t", nsys="n", date="2026-01-01", command='a "b"')
    write_manifest(samples, origin)
    write_manifest(samples, origin)
    expected = load_expected(samples)[0]
    assert [label.variant for label in expected.captures] == ["pageable"]
    assert expected.timings == (timing,)
    text = (samples / "MANIFEST.toml").read_text(encoding="utf-8")
    assert text.startswith("# mine\n")
    assert (text.count(MARK), text.count("[[probe]]"), text.count("[capture.h200]")) == (1, 1, 1)
