from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kineto_text import kernel, write

from stallscope.errors import InputError
from stallscope.ingest.kineto import read_kineto
from stallscope.ingest.kineto_stream import EventStream
from stallscope.model.events import Kernels


def names(path: Path, chunk_bytes: int = 1 << 20) -> list[object]:
    stream = EventStream(path, chunk_bytes=chunk_bytes)
    return [event.name for batch in stream.batches() for event in batch]


texts = st.text(st.sampled_from('ab{}[],:"\\ \n\té'), max_size=12)
values = st.recursive(
    st.none() | st.integers(-5, 5) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
)


@given(
    rows=st.lists(st.tuples(texts, values), max_size=12),
    chunk_bytes=st.integers(1, 200),
    indent=st.sampled_from([None, 1]),
    bare=st.booleans(),
    after=st.dictionaries(st.sampled_from(["a", "traceName", "}, {"]), values, max_size=2),
)
def test_any_cut_gives_the_same_events(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, object]],
    chunk_bytes: int,
    indent: int | None,
    *,
    bare: bool,
    after: dict[str, object],
) -> None:
    events = [{"ph": "X", "name": name, "args": {"x": value, "grid": value}} for name, value in rows]
    document: object = events if bare else {"schemaVersion": 1, "traceEvents": events, **after}
    path = tmp_path_factory.mktemp("s") / "t.json"
    path.write_text(json.dumps(document, indent=indent))
    assert names(path, chunk_bytes) == [name for name, _ in rows]


def test_the_header_counts_before_and_behind_the_events(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"note":"\\"traceEvents\\": [","distributedInfo":{"rank":2},"traceEvents":[],"schemaVersion":7}')
    stream = EventStream(path, chunk_bytes=16)
    assert list(stream.batches()) == []
    assert stream.header.distributed_info == {"rank": 2}
    assert stream.header.schema_version == 7


def test_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    import hashlib

    path = write(tmp_path, [kernel(1, 1)], packed=True)
    with path.open("ab") as file:
        file.write(b"\0" * 100)
    assert read_kineto(path).source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    good = json.dumps([kernel(1, 1, name="NAME"), kernel(3, 1, name="é")], ensure_ascii=False).encode()
    path.write_bytes(good.replace(b"NAME", b"a\x9fb\x01\tc"))
    trace = read_kineto(path)
    kernels = trace.table(Kernels)
    assert kernels is not None
    assert [trace.names[n] for n in kernels.full_name] == ["a\ufffdb  c", "é"]
    said = " ".join(note.message for note in trace.capture.notes)
    assert "1 byte sequences" in said
    assert "1 control characters" in said


def test_numbers_that_json_does_not_know_are_absent(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    text = json.dumps([kernel(1, 1, **{"memory bandwidth (GB/s)": "@", "grid": ["#", 1, 1]})])
    path.write_text(text.replace('"@"', "-nan").replace('"#"', "Infinity"))
    assert len(read_kineto(path).tables[Kernels]) == 1


def test_events_of_another_form_are_skipped_and_counted(tmp_path: Path) -> None:
    trace = read_kineto(write(tmp_path, [kernel(1, 1), {"ph": "X", "cat": 5}, 17, kernel(4, 1, correlation="0x10")]))
    kernels = trace.table(Kernels)
    assert kernels is not None
    assert kernels.correlation.tolist() == [0, 16]
    assert "2 events of an unknown form" in trace.capture.notes[0].message


def test_unescaped_quotes_are_an_error_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    rows = [kernel(i, 1) for i in range(1, 200)]
    text = json.dumps({"traceEvents": rows}, indent=1)
    lines = text.split("\n")
    line = max(number for number, content in enumerate(lines, 1) if '"name"' in content)
    lines[line - 1] = '"name": "{"device": "cpu"}(12): run",'
    path.write_text("\n".join(lines))
    for chunk_bytes in (64, 4096, 1 << 20):
        with pytest.raises(InputError, match=rf"line {line}, column 1[0-3]:") as caught:
            names(path, chunk_bytes)
        assert caught.value.file == "t.json"
        assert caught.value.next_step


@pytest.mark.parametrize("chunk_bytes", [64, 1 << 20])
@pytest.mark.parametrize("packed", [True, False])
def test_a_file_that_ends_early_is_refused(tmp_path: Path, chunk_bytes: int, *, packed: bool) -> None:
    whole = json.dumps({"traceEvents": [kernel(i, 1) for i in range(1, 50)], "traceName": "x"}).encode()
    path = tmp_path / "t.json"
    for keep in (0.2, 0.6, 0.9, 1 - 3 / len(whole)):
        part = whole[: int(len(whole) * keep)]
        path.write_bytes(gzip.compress(part) if packed else part)
        with pytest.raises(InputError):
            names(path, chunk_bytes)
    path.write_bytes(gzip.compress(whole)[:-20])
    with pytest.raises(InputError, match="gzip"):
        names(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a JSON trace"),
        (b"hello", "not a JSON trace"),
        (b'{"schema": "1.0.1", "nodes": [{"id": 1}]}', "execution trace"),
        (b'{"a": 1}', "without traceEvents"),
        (b'{"a": 1', "broken JSON at line 1"),
        (b'{"traceEvents": [], "a": }', "broken JSON at line 1"),
        (b'{"traceEvents": [{"ph": "X",}]}', "broken JSON at line 1, column 2[5-9]"),
        (b"[] trailing", "behind the list"),
        (b"\x1f\x8b\x08\0damaged", "gzip"),
    ],
)
def test_foreign_and_broken_files_are_refused_with_a_reason(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_kineto(path)
    assert caught.value.exit_code == 3
    assert "t.json" in str(caught.value)


def test_an_archive_is_named_as_one(tmp_path: Path) -> None:
    path = tmp_path / "t.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.json"), io.BytesIO(b""))
    with pytest.raises(InputError, match="archive"):
        read_kineto(path)


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_kineto(tmp_path / "none.json")
