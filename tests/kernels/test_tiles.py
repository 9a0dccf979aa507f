"""Names of kernels: who wrote them, their tile, their knobs."""

from __future__ import annotations

import pytest
from kernel_samples import counters, m

from stallscope.kernels.proposals import short_name
from stallscope.kernels.tiles import Author, author_of, is_elementwise, is_matrix_product, knobs_of, tile_of


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "128x256x64, 4 stages, cluster 1x2"),
        (
            "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_kernel",
            "128x128x32, 4 stages",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_32x3_nn_align8>(T1)",
            "128x256x32, 3 stages",
        ),
        ("cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_128x128x64_1x2x1_0_tnn", "128x128x64, cluster 1x2x1"),
        ("ampere_sgemm_128x64_nn", "128x64"),
    ],
)
def test_tiles_in_library_names(name: str, text: str) -> None:
    found = tile_of(name)
    assert found is not None
    assert found.text == text


def test_a_name_without_a_tile_has_none() -> None:
    assert tile_of("void at::native::vectorized_elementwise_kernel<4, T1>(int)") is None


@pytest.mark.parametrize(
    ("name", "author"),
    [
        ("mm", "triton"),
        ("triton_poi_fused_add_0", "inductor"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_NNT", "cublas"),
        ("ampere_sgemm_128x64_nn", "cublas"),
        ("void cutlass::Kernel2<cutlass_80_x>(T1)", "cutlass"),
        ("void at::native::f<float>(int)", "torch"),
        ("mm(float *)", "cuda"),
    ],
)
def test_authors(name: str, author: Author) -> None:
    assert author_of(counters(name=name, block=(128, 1, 1))) == author


def test_a_block_that_triton_would_not_launch_is_cuda() -> None:
    assert author_of(counters(name="extern_c_kernel", block=(96, 1, 1))) == "cuda"
    assert author_of(counters(name="extern_c_kernel", block=(16, 16, 1))) == "cuda"


@pytest.mark.parametrize(
    "name",
    ["sgemm_64x64(float *)", "mm", "flash_fwd_kernel", "implicit_convolve_sgemm", "_dot_kernel", "void addmm(int)"],
)
def test_matrix_products(name: str) -> None:
    assert is_matrix_product(name)


@pytest.mark.parametrize(
    "name", ["memset(int)", "comm_kernel", "convert_fp16(int)", "softmax(float *)", "reduce_kernel", "dotted(int)"]
)
def test_other_kernels(name: str) -> None:
    assert not is_matrix_product(name)


def test_elementwise_names() -> None:
    assert is_elementwise("void at::vectorized_elementwise_kernel<4>(int)")
    assert not is_elementwise("void at::native::reduce_kernel<4>(int)")


def test_knobs_name_the_limit() -> None:
    knobs = knobs_of(
        counters({m.LIMIT_SHARED: 2, m.DYNAMIC_SHARED: 98304, m.REGISTERS: 64}, name="mm", block=(128, 1, 1))
    )
    assert (knobs.author, knobs.warps, knobs.registers, knobs.shared_bytes, knobs.limit) == (
        "triton",
        4,
        64,
        98304,
        "shared memory",
    )
    assert knobs.in_triton


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void ns::outer<int, a::b<(int)4>>::mm<float>(float *)", "mm"),
        ("mm", "mm"),
        ("copy_strided(const float *, int)", "copy_strided"),
        ("void at::<unnamed>::f(int)", "f"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short
