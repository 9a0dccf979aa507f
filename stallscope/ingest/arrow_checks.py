"""Arrow arrays of a file that nobody has to trust → polars, once their buffers were checked."""

from __future__ import annotations

from typing import Any

import polars as pl

from stallscope.ingest.limits import TEXT_BYTES, VALUES_A_BYTE

_SPARE_TEXT_BYTES = 64 << 20


def sound_frame(table: Any, file_bytes: int) -> pl.DataFrame:
    """The table with text as bytes, because text that is not UTF-8 is to be repaired and not refused.

    Arrow believes what a stream says about its buffers; nothing may touch the values before this did. Raises
    `pyarrow.ArrowInvalid` for offsets that lead out of the data, `ValueError` for texts far longer than the file.
    """
    import pyarrow as pa  # type: ignore[import-untyped]

    left = _SPARE_TEXT_BYTES + VALUES_A_BYTE * file_bytes
    columns = []
    for column in table.columns:
        chunks = []
        for chunk in column.chunks:
            chunks.append(_plain(chunk, left))
            left -= chunks[-1].nbytes if not pa.types.is_primitive(chunks[-1].type) else 0
        columns.append(pa.chunked_array(chunks) if chunks else column)
    frame = pl.from_arrow(pa.table(columns, names=table.column_names))
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _plain(array: Any, most_bytes: int) -> Any:
    import pyarrow as pa

    array.validate()
    if pa.types.is_dictionary(array.type):
        return _unfolded(array, most_bytes)
    if pa.types.is_string(array.type):
        array = array.view(pa.binary())
    elif pa.types.is_large_string(array.type):
        array = array.view(pa.large_binary())
    array.validate(full=True)
    return array


def _unfolded(array: Any, most_bytes: int) -> Any:
    """One long text can stand in many rows, so the sum is known before anything is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    indices, texts = array.indices, _plain(array.dictionary, most_bytes)
    indices.validate(full=True)
    checked = pa.DictionaryArray.from_arrays(indices, texts)
    if pa.types.is_binary(texts.type) or pa.types.is_large_binary(texts.type):
        texts = pc.binary_slice(texts, 0, TEXT_BYTES)
        lengths = pc.take(pc.cast(pc.binary_length(texts), pa.int64()), indices)
        if (pc.sum(lengths).as_py() or 0) > most_bytes:
            raise ValueError("its texts are far longer than the file")
        checked = pa.DictionaryArray.from_arrays(indices, texts.cast(pa.large_binary()))
    return checked.dictionary_decode()
