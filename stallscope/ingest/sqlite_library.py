"""The compiled page decoder as Python sees it: `sqlite_tree.c`, `sqlite_records.c` and `sqlite_dictionary.c`."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from stallscope import compiled

RECOUNT = -4
"""State of a decoding whose leaves hold other numbers of cells than expected."""


class Dictionary(ctypes.Structure):
    """`dictionary` of sqlite_pages.h."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("values", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_void_p),
        ("used", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        ("room", ctypes.c_int64),
        ("hashes", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
        ("mask", ctypes.c_uint32),
        ("last", ctypes.c_uint32),
    )


class Target(ctypes.Structure):
    """`column` of sqlite_records.c."""

    _fields_ = (
        ("position", ctypes.c_int32),
        ("kind", ctypes.c_int32),
        ("low", ctypes.c_int64),
        ("high", ctypes.c_int64),
        ("values", ctypes.c_void_p),
        ("missing", ctypes.c_void_p),
        ("nulls", ctypes.c_int64),
        ("distinct", Dictionary),
    )


@cache
def library() -> ctypes.CDLL | None:
    """The compiled decoder, or None where it was not built or is switched off (STALLSCOPE_PURE)."""
    found = compiled.load(Path(__file__).parent, "_sqlite_pages")
    if found is None:
        return None
    file, pointer, i32, i64, u32, u64 = (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int64,
        ctypes.c_uint32,
        ctypes.c_uint64,
    )
    found.stallscope_leaves.restype = i64
    found.stallscope_leaves.argtypes = (file, u64, u32, pointer, pointer, i64, ctypes.c_int)
    found.stallscope_decode.restype = ctypes.c_int
    found.stallscope_decode.argtypes = (file, u64, pointer, pointer, i64, pointer, i32, i32, i64)
    found.stallscope_translate.restype = None
    found.stallscope_translate.argtypes = (pointer, i32, pointer, i64, pointer, i32, pointer)
    found.stallscope_taken.restype = None
    found.stallscope_taken.argtypes = (pointer, i32, pointer, i64, pointer)
    found.stallscope_met.restype = i64
    found.stallscope_met.argtypes = (pointer, pointer, i64, i64, pointer, pointer)
    found.stallscope_paired.restype = None
    found.stallscope_paired.argtypes = (pointer, pointer, pointer, pointer, i64, i32, pointer)
    found.stallscope_grouped.restype = ctypes.c_int
    found.stallscope_grouped.argtypes = (pointer, pointer, i64, pointer, i64, pointer, pointer)
    found.stallscope_release.restype = None
    found.stallscope_release.argtypes = (ctypes.POINTER(Dictionary),)
    return found
