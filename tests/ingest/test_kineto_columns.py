"""Columns from what writers put into events: usual spellings take the short way, odd ones must come out the same."""

from __future__ import annotations

import msgspec
import pytest

from stallscope.ingest.kineto_columns import NameTable, either, integers, nanoseconds


def raws(*texts: str) -> list[msgspec.Raw]:
    return [msgspec.Raw(text.encode()) for text in texts]


def test_times_are_exact_and_what_is_no_number_is_marked() -> None:
    found, known = nanoseconds(raws("1724171234567890.123", '"12.5"', "", "null", "7"))
    assert known.tolist() == [True, True, False, False, True]
    assert found[known].tolist() == [1_724_171_234_567_890_123, 12_500, 7_000]


@pytest.mark.parametrize("odd", ['{\n"us": 5}', "[1,\n2]", '"a\\nb"'])
def test_a_time_over_several_lines_does_not_shift_the_others(odd: str) -> None:
    found, known = nanoseconds(raws("1.5", odd, "2.5"))
    assert known.tolist() == [True, False, True]
    assert (found[0], found[2]) == (1_500, 2_500)


def test_ids_of_any_spelling_with_and_without_gaps() -> None:
    assert integers([1, 2, 3]).tolist() == [1, 2, 3]
    assert integers([1, None, 3], -1).tolist() == [1, -1, 3]
    assert integers([1, "0x7f", "stream 7", None, 2**70], -1).tolist() == [1, 127, 7, -1, -1]
    assert either([None, 5], [7, 8]) == [7, 5]


def test_names_that_are_no_strings_get_the_id_of_their_text() -> None:
    names = NameTable()
    assert names.column(["a", 7, True, "7", ["x"], "a"]).tolist() == [1, 2, 3, 2, 4, 1]
    assert names.column(iter(["True", "b"]), str.lower).tolist() == [5, 6]
    assert names.texts() == ("", "a", "7", "True", "['x']", "true", "b")
