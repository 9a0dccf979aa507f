"""Kernel names as real tools write them, and what a person gets to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.views.names import elided, short_kernel

ADD = (
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, "
    "std::array<char *, (unsigned long)3>>(int, T2, T3)"
)
MULTIPLY = (
    "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<"
    "at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>"
    "(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"
)
MEAN = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
    "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4>>(T3)"
)
FOREACH = (
    "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListMetadata<(int)2>, "
    "at::native::<unnamed>::TernaryOpScalarFunctor<c10::BFloat16, (int)2>, at::native::LerpFunctor<float>, float>(T1)"
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (ADD, "vectorized_elementwise_kernel<CUDAFunctor_add>"),
        (MULTIPLY, "elementwise_kernel<MulFunctor>"),
        (MEAN, "reduce_kernel<MeanOps>"),
        (FOREACH, "multi_tensor_apply_kernel<TernaryOpScalarFunctor, LerpFunctor>"),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64>(T1::Params)",
            "cutlass_80_tensorop_s1688gemm_128x64",
        ),
        ("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<X>>>(P)", "FlashAttnFwdSm90"),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float *)", "cunn_SoftMaxForward"),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        ("touch(float *, unsigned long)", "touch"),
        ("_layer_norm_fwd_fused_0d1d2d3d4d5de6c", "_layer_norm_fwd_fused"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("nvjet_sm90_tst_128x128_64x6_4x2_h_bz_NTT", "nvjet_sm90_tst_128x128_64x6_4x2_h_bz_NTT"),
        ("_ZN2at6native29vectorized_elementwise_kernelILi4EEEviT0_", "vectorized_elementwise_kernel"),
        ("_Z5touchPfm", "touch"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
        ("[CUDA memcpy HtoD]", "[CUDA memcpy HtoD]"),
        ("", ""),
    ],
)
def test_real_names_keep_what_tells_them_apart(name: str, short: str) -> None:
    assert short_kernel(name) == short


def test_long_names_lose_their_middle() -> None:
    assert elided("sm80_xmma_gemm_f32_tn_tilesize64x64", 21) == "sm80_xmma_…esize64x64"
    assert len(elided("x" * 300, 21)) == 21
    assert elided("short", 21) == "short"


@given(st.text(alphabet="abT0:<>(),[]{} &*_-", max_size=200))
def test_any_text_gives_some_name(name: str) -> None:
    assert len(short_kernel(name)) <= len(name)
    assert bool(short_kernel(name)) == bool(name)


def test_deeply_nested_templates_do_not_overflow() -> None:
    assert short_kernel("void k::reduce_kernel" + "<ReduceOp" * 2_000 + ">" * 2_000 + "()") == "reduce_kernel"
