from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.ingest.kineto_columns import integer, integers, nanoseconds
from stallscope.ingest.kineto_names import copy_kinds, short_kernel_name
from stallscope.model.events import CopyKind, MemoryKind


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void at::native::vectorized<4, at::F<float>, std::array<char*, 2ul> >(int, at::F)", "vectorized"),
        ("void at::native::(anonymous namespace)::multi_apply<A<1>, B>(A<1>)", "multi_apply"),
        ("volta_sgemm_128x64_nt", "volta_sgemm_128x64_nt"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "ncclKernel_AllReduce_RING_LL_Sum_float"),
        ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEEvPT0_", "add_rmsnorm_quant_kernel"),
        ("_ZN2ck12_GLOBAL__N_14convEv", "conv"),
        ("_Z4axpyfPfS_", "axpy"),
        ("_Znot", "_Znot"),
        ("", ""),
        ("(", "("),
    ],
)  # fmt: skip
def test_short_kernel_names(name: str, short: str) -> None:
    assert short_kernel_name(name) == short


def test_copy_kinds() -> None:
    assert copy_kinds("Memcpy DtoH (Device -> Pinned)") == (
        CopyKind.DEVICE_TO_HOST,
        MemoryKind.DEVICE,
        MemoryKind.PINNED,
    )
    assert copy_kinds("Memcpy HtoD (Host -> Device)") == (
        CopyKind.HOST_TO_DEVICE,
        MemoryKind.UNKNOWN,
        MemoryKind.DEVICE,
    )
    assert copy_kinds("something") == (0, 0, 0)


@given(st.lists(st.integers(0, 9 * 10**18)))
def test_nanoseconds_are_exact(times: list[int]) -> None:
    texts = [f"{t // 1000}.{t % 1000:03d}".encode() for t in times]
    found, known = nanoseconds(texts)  # type: ignore[arg-type]
    assert found.tolist() == times
    assert known.all()


def test_what_is_no_number_is_known_to_be_none() -> None:
    found, known = nanoseconds([b"", b'"12.5"', b"null", b"1e3", b"true"])  # type: ignore[list-item]
    assert known.tolist() == [False, True, False, True, False]
    assert found[[1, 3]].tolist() == [12_500, 1_000_000]


def test_integers_of_every_spelling() -> None:
    assert integers([7, None, 3]).tolist() == [7, 0, 3]
    assert integers(["0x10", "stream 7", 7.0, True, 2**70, "x", float("nan")], -1).tolist() == [
        16,
        7,
        7,
        -1,
        -1,
        -1,
        -1,
    ]
    assert integers([]).dtype == np.int64
    assert integer(None, 5) == 5
