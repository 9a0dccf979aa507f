"""Secrets planted in every free-text place of an export stay out of every output."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import planted
import pytest

from stallscope.cli.main import main
from stallscope.reporters.formats import FORMATS

ENVIRONMENT = "zqxsecretenvironmentwkv"
FOLDER = "zqxsecretfolderwkv"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    place = tmp_path_factory.mktemp("p") / FOLDER
    place.mkdir()
    trace = place / "trace.sqlite"
    found = planted.plant(trace)
    return trace, {**found, ENVIRONMENT: "the environment", FOLDER: "the folder of the trace"}


class Output:
    """What a command wrote to the terminal and to its files."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capfd = capfd

    def of(self, *arguments: object) -> bytes:
        """Run the command; everything it printed or wrote."""
        before = set(self._folder.iterdir())
        self.code = main([str(argument) for argument in arguments])
        printed = self._capfd.readouterr()
        written = sorted(path for path in set(self._folder.iterdir()) - before if path.is_file())
        files = b"".join(path.read_bytes() + b"\n" for path in written)
        return printed.out.encode() + printed.err.encode() + b"\n" + files


@pytest.fixture
def output(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Output:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STALLSCOPE_CACHE_DIR", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    monkeypatch.setenv("STALLSCOPE_HISTORY", str(tmp_path / "history.db"))
    monkeypatch.setenv("API_TOKEN", ENVIRONMENT)
    return Output(tmp_path, capfd)


Secrets = tuple[Path, dict[str, str]]


def test_every_free_text_place_holds_a_secret(secrets: Secrets) -> None:
    trace, planted_words = secrets
    assert len(planted_words) > 60
    data = trace.read_bytes()
    assert [place for word, place in planted_words.items() if word.encode() not in data] == [
        "the environment",
        "the folder of the trace",
    ]


def test_what_is_planted_is_found_again() -> None:
    import base64
    import gzip
    import zlib

    word = "zqxsecret1wkv"
    packed = base64.b64encode(zlib.compress(b"noise" * 900 + bytes(range(256)) * 4 + word.encode(), 0))
    for data in (word.encode(), gzip.compress(word.encode()), b"var x='" + packed + b"'"):
        assert planted.found(data, {word: "here"}) == {word: "here"}


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_reports(name: str, secrets: Secrets, output: Output) -> None:
    trace, words = secrets
    written = output.of("analyze", trace, "--all", "--format", name, "-o", f"report.{name}", "--format", "text")
    assert output.code == 0
    assert len(written) > 1000
    assert planted.found(written, words) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor", "TRACE"),
        ("explain", "alloc.sync", "TRACE"),
        ("analyze", "TRACE", "--fail-on", "alloc.sync>0.1%", "--plan", "3"),
        ("export", "TRACE", "--to", "perfetto", "-o", "t.pftrace"),
        ("export", "TRACE", "--to", "perfetto", "-o", "t.pftrace.gz"),
        ("export", "TRACE", "--to", "csv", "-o", "t.csv"),
        ("export", "TRACE", "--to", "parquet", "-o", "t.parquet"),
        ("diff", "TRACE", "--to", "TRACE", "--format", "json"),
        ("diff", "TRACE", "--to", "TRACE"),
    ],
)
def test_other_commands(arguments: tuple[str, ...], secrets: Secrets, output: Output) -> None:
    trace, words = secrets
    written = output.of(*(trace if word == "TRACE" else word for word in arguments))
    assert output.code in {0, 1}, written
    assert planted.found(written, words) == {}


def test_saved_reports_history_and_gates(secrets: Secrets, output: Output, tmp_path: Path) -> None:
    trace, words = secrets
    output.of("analyze", trace, "-o", "report.json")
    for arguments in (
        ("report", "report.json", "--format", "html", "-o", "again.html"),
        ("check", "report.json", "--fail-on", "alloc.sync>0.1%"),
        ("explain", "alloc.sync", "report.json"),
        ("history", "add", "report.json", "--series", "s", "--baseline", "b"),
        ("history", "list"),
        ("history", "trend", "s"),
    ):
        assert planted.found(output.of(*arguments), words) == {}, arguments
    assert planted.found((tmp_path / "history.db").read_bytes(), words) == {}


def test_cache(secrets: Secrets, output: Output, tmp_path: Path) -> None:
    trace, words = secrets
    output.of("analyze", trace)
    files = [path for path in (tmp_path.parent / f"{tmp_path.name}-cache").rglob("*") if path.is_file()]
    assert files
    left = [place for path in files for place in planted.found(path.read_bytes(), words).values()]
    assert [place for place in left if not place.startswith(planted.EXPORTER_WORDS)] == []


def test_errors(secrets: Secrets, output: Output) -> None:
    trace, words = secrets
    broken = trace.with_name("broken.sqlite")
    data = bytearray(trace.read_bytes())
    data[4096:60_000] = b"\xff" * (60_000 - 4096)
    broken.write_bytes(data)
    half = trace.with_name("half.sqlite")
    half.write_bytes(trace.read_bytes()[: len(data) // 2])
    text = trace.with_name("words.txt")
    text.write_text(" ".join(words))
    for path in (broken, half, text, trace.with_name("absent.sqlite")):
        written = output.of("analyze", path)
        assert output.code == 3, path
        assert planted.found(written, {w: p for w, p in words.items() if w != FOLDER}) == {}
        assert str(trace.parent.parent) not in written.decode()


def test_an_internal_error_names_no_value(secrets: Secrets, output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    import stallscope.api

    trace, words = secrets

    def broken(*_: object, **_options: object) -> None:
        raise RuntimeError(" ".join(words))

    monkeypatch.setattr(stallscope.api, "examine_trace", broken)
    written = output.of("analyze", trace)
    assert output.code == 70
    assert planted.found(written, words) == {}


def test_scrubbed_copies(secrets: Secrets, output: Output, tmp_path: Path) -> None:
    trace, words = secrets
    words = {word: place for word, place in words.items() if not place.startswith(planted.EXPORTER_WORDS)}
    written = output.of("scrub", trace, "-o", "clean.sqlite")
    assert output.code == 0
    assert planted.found(written, words) == {}
    with closing(sqlite3.connect(tmp_path / "clean.sqlite")) as database:
        rows = [
            repr(database.execute(f'SELECT * FROM "{name}"').fetchall())  # noqa: S608
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        ]
    assert planted.found("".join(rows).encode(), words) == {}


def test_dashboard(secrets: Secrets) -> None:
    pytest.importorskip("dash", reason="the dashboard extra is not installed")
    from stallscope_dashboard.app import create_app
    from stallscope_dashboard.workspace import Loaded, Workspace

    from stallscope.api import examine_trace
    from stallscope.ingest.open import OpenOptions, open_trace
    from stallscope.views.charges import charges_of
    from stallscope.views.lane_build import build_lanes

    trace, words = secrets
    found = examine_trace(open_trace(trace, OpenOptions(use_cache=False)))
    lanes = build_lanes(found.timeline, charges_of(found.timeline, found.charges))
    client = create_app(Workspace.ready({"trace.sqlite": Loaded.of(found.analysis, lanes)})).server.test_client()
    meta = client.get("/api/lanes")
    numbers = ",".join(str(lane) for lane in range(min(60, len(meta.get_json()["lanes"]))))
    answers = [meta.data, client.get(f"/api/tile?low=0&high=999999999999&pixels=2000&lanes={numbers}").data]
    answers += [client.get(f"/api/interval?lane={lane}&index=0").data for lane in range(20)]
    answers += [client.get(path).data for path in ("/", "/_dash-layout", "/_dash-dependencies", "/findings", "/waits")]
    assert sum(map(len, answers)) > 5_000
    assert planted.found(b"\n".join(answers), words) == {}


def test_json_of_the_document_has_no_place_for_more(secrets: Secrets, output: Output) -> None:
    """The names of processes, hosts and users are not fields of the document."""
    trace, _ = secrets
    written = output.of("analyze", trace, "--format", "json").split(b"\n{", 1)
    document = json.loads(written[0] if len(written) == 1 else b"{" + written[1])
    names = {key for source in document["sources"] for key in source}
    assert names <= {"name", "sha256", "format", "producer", "schema", "rank"}
