// Faults of reuse and arithmetic: naive tiles, re-read data, slow pipes, divergence, idle tensor cores.
#include <cuda_bf16.h>
#include <mma.h>

#include "pairs.cuh"

constexpr int kN = 1024;

// Matrix product, fp32: every operand from L1, against 64x64 tiles in shared memory and 4x4 results a thread.
__global__ void pk_gemm_naive_before(const float* a, const float* b, float* c) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < kN; k++) sum = fmaf(a[y * kN + k], b[k * kN + x], sum);
    c[y * kN + x] = sum;
}
template <int N>
__device__ void tiled_gemm(const float* a, const float* b, float* c) {
    __shared__ float left[16][68], right[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < N; k0 += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            left[i % 16][i / 16] = a[(row + i / 16) * N + k0 + i % 16];
            right[i / 64][i % 64] = b[(k0 + i / 64) * N + column + i % 64];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] = fmaf(left[k][ty * 4 + i], right[k][tx * 4 + j], acc[i][j]);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * N + column + tx * 4 + j] = acc[i][j];
}
__global__ void pk_gemm_naive_after(const float* a, const float* b, float* c) { tiled_gemm<kN>(a, b, c); }
PAIR(
    gemm_naive, [](const Buffers& b) { pk_gemm_naive_before<<<dim3(64, 64), dim3(16, 16)>>>(b.in, b.in2, b.out); },
    [](const Buffers& b) { pk_gemm_naive_after<<<dim3(16, 16), 256>>>(b.in, b.in2, b.out); }, kN * kN, 0);

// 8x8 tiles: shared memory is used, but each loaded value serves eight products only.
__global__ void pk_gemm_small_tile_before(const float* a, const float* b, float* c) {
    __shared__ float left[8][8], right[8][8];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    float sum = 0;
    for (int k0 = 0; k0 < kN; k0 += 8) {
        left[y][x] = a[row * kN + k0 + x], right[y][x] = b[(k0 + y) * kN + column];
        __syncthreads();
        for (int k = 0; k < 8; k++) sum = fmaf(left[y][k], right[k][x], sum);
        __syncthreads();
    }
    c[row * kN + column] = sum;
}
__global__ void pk_gemm_small_tile_after(const float* a, const float* b, float* c) { tiled_gemm<kN>(a, b, c); }
PAIR(
    gemm_small_tile, [](const Buffers& b) { pk_gemm_small_tile_before<<<dim3(128, 128), dim3(8, 8)>>>(b.in, b.in2, b.out); },
    [](const Buffers& b) { pk_gemm_small_tile_after<<<dim3(16, 16), 256>>>(b.in, b.in2, b.out); }, kN * kN, 0);

// Every thread block streams the same 4 MiB from L2, against four rows of results a block.
template <int ROWS>
__device__ void table_products(const float* table, const float* in, float* out) {
    constexpr int kTable = 1 << 20;
    float sum[ROWS] = {};
    for (int i = threadIdx.x; i < kTable; i += 512) {
        const float value = __ldcg(table + i);
#pragma unroll
        for (int row = 0; row < ROWS; row++) sum[row] = fmaf(value, in[blockIdx.x * ROWS + row], sum[row]);
    }
    for (int row = 0; row < ROWS; row++) out[(blockIdx.x * ROWS + row) * 512 + threadIdx.x] = sum[row];
}
__global__ void pk_table_reread_before(const float* table, const float* in, float* out) { table_products<1>(table, in, out); }
__global__ void pk_table_reread_after(const float* table, const float* in, float* out) { table_products<4>(table, in, out); }
PAIR(
    table_reread, [](const Buffers& b) { pk_table_reread_before<<<1056, 512>>>(b.in, b.in2, b.out); },
    [](const Buffers& b) { pk_table_reread_after<<<264, 512>>>(b.in, b.in2, b.out); }, 1056 * 512, 0);

// Two sweeps over an array that does not fit any cache, against one.
__global__ void pk_two_sweeps_before(const float4* in, float4* out, size_t n) {
    const size_t at = blockIdx.x * size_t{512} + threadIdx.x, step = size_t{gridDim.x} * 512;
    float4 sum = {}, square = {};
#pragma unroll 4
    for (size_t i = at; i < n; i += step) {
        float4 v = in[i];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
#pragma unroll 4
    for (size_t i = at; i < n; i += step) {
        float4 v = in[i];
        square.x = fmaf(v.x, v.x, square.x), square.y = fmaf(v.y, v.y, square.y);
        square.z = fmaf(v.z, v.z, square.z), square.w = fmaf(v.w, v.w, square.w);
    }
    out[at * 2] = sum, out[at * 2 + 1] = square;
}
__global__ void pk_two_sweeps_after(const float4* in, float4* out, size_t n) {
    const size_t at = blockIdx.x * size_t{512} + threadIdx.x, step = size_t{gridDim.x} * 512;
    float4 sum = {}, square = {};
#pragma unroll 4
    for (size_t i = at; i < n; i += step) {
        float4 v = in[i];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        square.x = fmaf(v.x, v.x, square.x), square.y = fmaf(v.y, v.y, square.y);
        square.z = fmaf(v.z, v.z, square.z), square.w = fmaf(v.w, v.w, square.w);
    }
    out[at * 2] = sum, out[at * 2 + 1] = square;
}
PAIR(
    two_sweeps,
    [](const Buffers& b) { pk_two_sweeps_before<<<b.sms * 4, 512>>>(reinterpret_cast<float4*>(b.in), reinterpret_cast<float4*>(b.out), kElements / 4); },
    [](const Buffers& b) { pk_two_sweeps_after<<<b.sms * 4, 512>>>(reinterpret_cast<float4*>(b.in), reinterpret_cast<float4*>(b.out), kElements / 4); },
    132 * 4 * 512 * 8, 0);

// Mean of a row first, then the centred row, which stays in registers or is read again from L2 or DRAM.
template <bool KEEP>
__device__ void centre(const float* in, float* out, int rows) {
    __shared__ float warps[32];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float* from = in + row * size_t{32768};
        float kept[32], sum = 0;
#pragma unroll
        for (int k = 0; k < 32; k++) sum += kept[k] = from[k * 1024 + threadIdx.x];
        for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(~0U, sum, lane);
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
        __syncthreads();
        float mean = 0;
        for (float warp : warps) mean += warp;
        mean /= 32768;
#pragma unroll
        for (int k = 0; k < 32; k++) out[row * size_t{32768} + k * 1024 + threadIdx.x] = (KEEP ? kept[k] : __ldcv(from + k * 1024 + threadIdx.x)) - mean;
        __syncthreads();
    }
}
__global__ void pk_centre_rows_before(const float* in, float* out, int rows) { centre<false>(in, out, rows); }
__global__ void pk_centre_rows_after(const float* in, float* out, int rows) { centre<true>(in, out, rows); }
PAIR(
    centre_rows, [](const Buffers& b) { pk_centre_rows_before<<<b.sms * 2, 1024>>>(b.in, b.out, 2048); },
    [](const Buffers& b) { pk_centre_rows_after<<<b.sms * 2, 1024>>>(b.in, b.out, 2048); }, kElements, 0);

// Element-wise chains: one kernel a step, against one kernel.
__device__ __forceinline__ float4 map4(float4 v, float (*f)(float)) { return {f(v.x), f(v.y), f(v.z), f(v.w)}; }
__device__ __forceinline__ float scale_step(float x) { return x * 1.5f; }
__device__ __forceinline__ float bias_step(float x) { return x + 0.25f; }
__device__ __forceinline__ float gate_step(float x) { return x / (1.0f + x * x); }
__device__ __forceinline__ float all_steps(float x) { return gate_step(__fadd_rn(__fmul_rn(x, 1.5f), 0.25f)); }
#define ELEMENTWISE(name, step)                                                             \
    __global__ void name(const float4* in, float4* out) {                                   \
        size_t i = blockIdx.x * size_t{256} + threadIdx.x;                                  \
        out[i] = map4(in[i], step);                                                         \
    }
ELEMENTWISE(pk_elementwise_chain_before_scale, scale_step)
ELEMENTWISE(pk_elementwise_chain_before_bias, bias_step)
ELEMENTWISE(pk_elementwise_chain_before_gate, gate_step)
ELEMENTWISE(pk_elementwise_chain_after, all_steps)
ELEMENTWISE(pk_elementwise_twice_before_scale, scale_step)
ELEMENTWISE(pk_elementwise_twice_before_gate, gate_step)
__device__ __forceinline__ float two_steps(float x) { return gate_step(x * 1.5f); }
ELEMENTWISE(pk_elementwise_twice_after, two_steps)
PAIR(
    elementwise_chain,
    [](const Buffers& b) {
        auto in = reinterpret_cast<const float4*>(b.in);
        auto out = reinterpret_cast<float4*>(b.out);
        pk_elementwise_chain_before_scale<<<kElements / 1024, 256>>>(in, out);
        pk_elementwise_chain_before_bias<<<kElements / 1024, 256>>>(out, out);
        pk_elementwise_chain_before_gate<<<kElements / 1024, 256>>>(out, out);
    },
    [](const Buffers& b) {
        pk_elementwise_chain_after<<<kElements / 1024, 256>>>(reinterpret_cast<const float4*>(b.in), reinterpret_cast<float4*>(b.out));
    },
    kElements, 0);
PAIR(
    elementwise_twice,
    [](const Buffers& b) {
        auto out = reinterpret_cast<float4*>(b.out);
        pk_elementwise_twice_before_scale<<<kElements / 1024, 256>>>(reinterpret_cast<const float4*>(b.in), out);
        pk_elementwise_twice_before_gate<<<kElements / 1024, 256>>>(out, out);
    },
    [](const Buffers& b) {
        pk_elementwise_twice_after<<<kElements / 1024, 256>>>(reinterpret_cast<const float4*>(b.in), reinterpret_cast<float4*>(b.out));
    },
    kElements, 0);

// A polynomial in double where single precision is enough.
template <typename T>
__device__ __forceinline__ float polynomial(float x) {
    T value[4] = {T(x), T(x) * T(0.5), T(x) + T(0.125), T(x) - T(0.25)};
#pragma unroll 8
    for (int k = 0; k < 256; k++)
#pragma unroll
        for (T& v : value) v = v * T(0.75) + T(0.125);
    return float(value[0] + value[1] + value[2] + value[3]);
}
__global__ void pk_double_maths_before(const float* in, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    out[i] = polynomial<double>(in[i]);
}
__global__ void pk_double_maths_after(const float* in, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    out[i] = polynomial<float>(in[i]);
}
PAIR(
    double_maths, [](const Buffers& b) { pk_double_maths_before<<<16384, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_double_maths_after<<<16384, 256>>>(b.in, b.out); }, 16384 * 256, 1e-5);

// Division by a run-time power of two, against shift and mask.
__global__ void pk_integer_division_before(const int* in, int* out, int divisor) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    unsigned x = in[i], sum = 0;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += (x + k * 977) / unsigned(divisor) + (x + k * 31) % unsigned(divisor);
    out[i] = sum & 0xffffff;
}
__global__ void pk_integer_division_after(const int* in, int* out, int shift) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    unsigned x = in[i], sum = 0;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += ((x + k * 977) >> shift) + ((x + k * 31) & ((1U << shift) - 1));
    out[i] = sum & 0xffffff;
}
PAIR(
    integer_division, [](const Buffers& b) { pk_integer_division_before<<<16384, 256>>>(b.index, reinterpret_cast<int*>(b.out), 64); },
    [](const Buffers& b) { pk_integer_division_after<<<16384, 256>>>(b.index, reinterpret_cast<int*>(b.out), 6); }, 16384 * 256, 0);

// Special functions in the inner loop, against the identity that needs one of them.
__global__ void pk_special_functions_before(const float* in, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    float x = in[i], sum = 0;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += __expf(-x * k);
    out[i] = sum;
}
__global__ void pk_special_functions_after(const float* in, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    float ratio = __expf(-in[i]), term = 1, sum = 0;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += term, term *= ratio;
    out[i] = sum;
}
PAIR(
    special_functions, [](const Buffers& b) { pk_special_functions_before<<<32768, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_special_functions_after<<<32768, 256>>>(b.in, b.out); }, 32768 * 256, 1e-4);

// Four kinds of elements, mixed within each warp or one kind a warp.
__device__ __noinline__ float kind0(float x) { for (int k = 0; k < 96; k++) x = fmaf(x, 0.99f, 0.01f); return x; }
__device__ __noinline__ float kind1(float x) { for (int k = 0; k < 96; k++) x = fmaf(x, x * 0.01f, 0.5f); return x; }
__device__ __noinline__ float kind2(float x) { for (int k = 0; k < 96; k++) x = fmaf(x, -0.5f, 1.0f); return x; }
__device__ __noinline__ float kind3(float x) { for (int k = 0; k < 96; k++) x = fmaf(x, 0.75f, x * 0.1f); return x; }
__device__ __forceinline__ void by_kind(const float* in, float* out, int item) {
    float x = in[item];
    switch (item & 3) {
        case 0: x = kind0(x); break;
        case 1: x = kind1(x); break;
        case 2: x = kind2(x); break;
        default: x = kind3(x);
    }
    out[item] = x;
}
__global__ void pk_mixed_kinds_before(const float* in, float* out) { by_kind(in, out, blockIdx.x * 256 + threadIdx.x); }
__global__ void pk_mixed_kinds_after(const float* in, float* out) {
    const int at = blockIdx.x * 256 + threadIdx.x, group = at / 128 * 128;
    by_kind(in, out, group + at % 32 * 4 + at % 128 / 32);
}
PAIR(
    mixed_kinds, [](const Buffers& b) { pk_mixed_kinds_before<<<16384, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_mixed_kinds_after<<<16384, 256>>>(b.in, b.out); }, 16384 * 256, 0);

// Items that need 0 to 310 steps, thirty-two lengths in each warp or one.
__device__ __forceinline__ void by_length(const float* in, float* out, int item) {
    float x = in[item];
#pragma unroll 1
    for (int k = 0; k < (item & 31) * 10; k++) x = fmaf(x, 0.999f, 0.001f);
    out[item] = x;
}
__global__ void pk_mixed_lengths_before(const float* in, float* out) { by_length(in, out, blockIdx.x * 256 + threadIdx.x); }
__global__ void pk_mixed_lengths_after(const float* in, float* out) {
    const int at = blockIdx.x * 256 + threadIdx.x, group = at / 1024 * 1024;
    by_length(in, out, group + at % 32 * 32 + at % 1024 / 32);
}
PAIR(
    mixed_lengths, [](const Buffers& b) { pk_mixed_lengths_before<<<16384, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_mixed_lengths_after<<<16384, 256>>>(b.in, b.out); }, 16384 * 256, 0);

// bf16 matrix product without and with tensor cores.
__global__ void pk_gemm_bf16_before(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
    __shared__ float left[16][68], right[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < kN; k0 += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            left[i % 16][i / 16] = __bfloat162float(a[(row + i / 16) * kN + k0 + i % 16]);
            right[i / 64][i % 64] = __bfloat162float(b[(k0 + i / 64) * kN + column + i % 64]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] = fmaf(left[k][ty * 4 + i], right[k][tx * 4 + j], acc[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * kN + column + tx * 4 + j] = acc[i][j];
}
__global__ void pk_gemm_bf16_after(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
    using namespace nvcuda::wmma;
    const int warp = threadIdx.x / 32, row = blockIdx.y * 64 + warp / 2 * 32, column = blockIdx.x * 64 + warp % 2 * 32;
    fragment<accumulator, 16, 16, 16, float> sum[2][2];
    for (auto& line : sum)
        for (auto& tile : line) fill_fragment(tile, 0.0f);
    for (int k = 0; k < kN; k += 16) {
        fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> left[2];
        fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> right[2];
        for (int i = 0; i < 2; i++) {
            load_matrix_sync(left[i], a + (row + i * 16) * kN + k, kN);
            load_matrix_sync(right[i], b + k * kN + column + i * 16, kN);
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) store_matrix_sync(c + (row + i * 16) * kN + column + j * 16, sum[i][j], kN, mem_row_major);
}
static const __nv_bfloat16* as_bf16(float* values) { return reinterpret_cast<const __nv_bfloat16*>(values); }
PAIR(
    gemm_bf16, [](const Buffers& b) { pk_gemm_bf16_before<<<dim3(16, 16), 256>>>(as_bf16(b.half), as_bf16(b.half) + kN * kN, b.out); },
    [](const Buffers& b) { pk_gemm_bf16_after<<<dim3(16, 16), 128>>>(as_bf16(b.half), as_bf16(b.half) + kN * kN, b.out); }, kN * kN, 1e-4);
