// Faults of memory access: layout, bank conflicts, spills, local arrays, host memory, atomics.
#include "pairs.cuh"

constexpr int kSide = 8192;

template <int PAD>
__device__ void transpose_tile(const float* in, float* out) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * kSide + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * kSide + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void pk_transpose_before(const float* in, float* out) { transpose_tile<0>(in, out); }
__global__ void pk_transpose_after(const float* in, float* out) { transpose_tile<1>(in, out); }
PAIR(
    transpose,
    [](const Buffers& b) { pk_transpose_before<<<dim3(kSide / 32, kSide / 32), dim3(32, 8)>>>(b.in, b.out); },
    [](const Buffers& b) { pk_transpose_after<<<dim3(kSide / 32, kSide / 32), dim3(32, 8)>>>(b.in, b.out); }, kElements, 0);

template <int PITCH>
__device__ void row_sums(const float* in, float* out) {
    __shared__ float tile[256 * PITCH];
    const float* mine = in + size_t{blockIdx.x} * 256 * 32;
    for (int i = threadIdx.x; i < 256 * 32; i += 256) tile[(i / 32) * PITCH + i % 32] = mine[i];
    __syncthreads();
    float sum = 0;
    for (int round = 0; round < 8; round++)
        for (int k = 0; k < 32; k++) sum = fmaf(tile[threadIdx.x * PITCH + ((k + round) & 31)], 1.0f + round, sum);
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
__global__ void pk_row_sums_before(const float* in, float* out) { row_sums<32>(in, out); }
__global__ void pk_row_sums_after(const float* in, float* out) { row_sums<33>(in, out); }
PAIR(
    row_sums, [](const Buffers& b) { pk_row_sums_before<<<4096, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_row_sums_after<<<4096, 256>>>(b.in, b.out); }, 4096 * 256, 0);

// Two-way conflicts in a kernel that waits for DRAM: true, and worth nothing.
template <int STRIDE>
__device__ void staged_copy(const float* in, float* out) {
    __shared__ float tile[256 * 2];
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    tile[threadIdx.x * STRIDE] = in[i];
    __syncthreads();
    out[i] = tile[(threadIdx.x ^ 1) * STRIDE];
}
__global__ void pk_staged_copy_before(const float* in, float* out) { staged_copy<2>(in, out); }
__global__ void pk_staged_copy_after(const float* in, float* out) { staged_copy<1>(in, out); }
PAIR(
    staged_copy, [](const Buffers& b) { pk_staged_copy_before<<<kElements / 256, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_staged_copy_after<<<kElements / 256, 256>>>(b.in, b.out); }, kElements, 0);

__global__ void pk_column_copy_before(const float* in, float* out) {
    int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
    out[x * 4096 + y] = in[x * 4096 + y] * 2.0f;
}
__global__ void pk_column_copy_after(const float* in, float* out) {
    int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
    out[y * 4096 + x] = in[y * 4096 + x] * 2.0f;
}
PAIR(
    column_copy, [](const Buffers& b) { pk_column_copy_before<<<dim3(4096, 16), 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_column_copy_after<<<dim3(4096, 16), 256>>>(b.in, b.out); }, 4096 * 4096, 0);

// One field of a 32-byte record: DRAM moves eight times what the kernel uses.
__global__ void pk_record_field_before(const float* records, float* out, size_t n) {
    for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < n; i += size_t{gridDim.x} * 256) out[i] = records[i * 8] * 2.0f;
}
__global__ void pk_record_field_after(const float* field, float* out, size_t n) {
    for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < n; i += size_t{gridDim.x} * 256) out[i] = field[i] * 2.0f;
}
PAIR(
    record_field, [](const Buffers& b) { pk_record_field_before<<<b.sms * 8, 256>>>(b.in, b.out, kElements / 8); },
    [](const Buffers& b) { pk_record_field_after<<<b.sms * 8, 256>>>(b.field, b.out, kElements / 8); }, kElements / 8, 0);

// Three consecutive elements a thread: the sectors are shared through L1, DRAM is the limit before and after.
__global__ void pk_triples_before(const double* in, double* out, size_t n) {
    size_t first = (blockIdx.x * size_t{256} + threadIdx.x) * 3;
    for (size_t i = first; i < first + 3 && i < n; i++) out[i] = in[i] + 1.0;
}
__global__ void pk_triples_after(const double* in, double* out, size_t n) {
    size_t first = blockIdx.x * size_t{768} + threadIdx.x;
    for (size_t i = first; i < first + 768 && i < n; i += 256) out[i] = in[i] + 1.0;
}
constexpr size_t kDoubles = kElements / 2 / 768 * 768;
PAIR(
    triples,
    [](const Buffers& b) { pk_triples_before<<<kDoubles / 768, 256>>>(reinterpret_cast<double*>(b.in), reinterpret_cast<double*>(b.out), kDoubles); },
    [](const Buffers& b) { pk_triples_after<<<kDoubles / 768, 256>>>(reinterpret_cast<double*>(b.in), reinterpret_cast<double*>(b.out), kDoubles); },
    kDoubles * 2, 0);

// An 8x8 register tile squeezed into 40 registers, against the same tile with room.
__device__ __forceinline__ void outer_products(const float* in, float* out) {
    float acc[8][8] = {};
    const float* a = in + (threadIdx.x % 16) * 8;
    const float* b = in + 4096 + (threadIdx.x / 16) * 8;
#pragma unroll 1
    for (int k = 0; k < 256; k++) {
        float left[8], right[8];
#pragma unroll
        for (int i = 0; i < 8; i++) left[i] = a[k * 16 + i], right[i] = b[k * 16 + i];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) acc[i][j] = fmaf(left[i], right[j], acc[i][j]);
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) sum = fmaf(acc[i][j], 1.0f + i, sum);
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
__global__ void __launch_bounds__(256, 6) pk_spilled_tile_before(const float* in, float* out) { outer_products(in, out); }
__global__ void __launch_bounds__(256, 2) pk_spilled_tile_after(const float* in, float* out) { outer_products(in, out); }
PAIR(
    spilled_tile, [](const Buffers& b) { pk_spilled_tile_before<<<b.sms * 24, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_spilled_tile_after<<<b.sms * 24, 256>>>(b.in, b.out); }, 132 * 24 * 256, 0);

__device__ __forceinline__ void ring(const float* in, float* out) {
    float state[48];
    const size_t at = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
#pragma unroll
    for (int i = 0; i < 48; i++) state[i] = in[at + i];
#pragma unroll 1
    for (int round = 0; round < 40; round++)
#pragma unroll
        for (int i = 0; i < 48; i++) state[i] = fmaf(state[i], 0.5f, state[(i + 7) % 48] * 0.25f);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 48; i++) sum += state[i];
    out[at] = sum;
}
__global__ void __launch_bounds__(1024, 2) pk_spilled_ring_before(const float* in, float* out) { ring(in, out); }
__global__ void __launch_bounds__(1024, 1) pk_spilled_ring_after(const float* in, float* out) { ring(in, out); }
PAIR(
    spilled_ring, [](const Buffers& b) { pk_spilled_ring_before<<<b.sms * 8, 1024>>>(b.in, b.out); },
    [](const Buffers& b) { pk_spilled_ring_after<<<b.sms * 8, 1024>>>(b.in, b.out); }, 132 * 8 * 1024, 0);

// A table indexed at run time lives in local memory; in shared memory it does not.
__global__ void pk_local_bins_before(const int* index, const float* in, float* out) {
    float bins[32] = {};
    const size_t at = blockIdx.x * size_t{128} + threadIdx.x, step = size_t{gridDim.x} * 128;
    for (int k = 0; k < 32; k++) bins[index[at + k * step] & 31] += in[at + k * step];
    float sum = 0;
    for (int k = 0; k < 32; k++) sum = fmaf(bins[k], 1.0f + k, sum);
    out[at] = sum;
}
__global__ void pk_local_bins_after(const int* index, const float* in, float* out) {
    __shared__ float bins[32][128];
    const size_t at = blockIdx.x * size_t{128} + threadIdx.x, step = size_t{gridDim.x} * 128;
    for (int k = 0; k < 32; k++) bins[k][threadIdx.x] = 0;
    for (int k = 0; k < 32; k++) bins[index[at + k * step] & 31][threadIdx.x] += in[at + k * step];
    float sum = 0;
    for (int k = 0; k < 32; k++) sum = fmaf(bins[k][threadIdx.x], 1.0f + k, sum);
    out[at] = sum;
}
PAIR(
    local_bins, [](const Buffers& b) { pk_local_bins_before<<<16384, 128>>>(b.index, b.in, b.out); },
    [](const Buffers& b) { pk_local_bins_after<<<16384, 128>>>(b.index, b.in, b.out); }, 16384 * 128, 0);

// A state that is read and written at run-time places: in local memory, or as a column of shared memory.
template <typename State>
__device__ __forceinline__ float wander(State state, int word) {
    float sum = 0;
#pragma unroll 1
    for (int round = 0; round < 48; round++) {
        int pick = (word >> (round & 15)) + round & 31;
        sum = fmaf(state(pick), 0.5f, sum);
        state((pick * 5 + 3) & 31) = sum;
    }
    return sum;
}
__global__ void pk_wander_before(const int* index, const float* in, float* out) {
    float values[32];
    const size_t at = blockIdx.x * size_t{128} + threadIdx.x;
    for (int k = 0; k < 32; k++) values[k] = in[at] * k;
    out[at] = wander([&](int k) -> float& { return values[k]; }, index[at]);
}
__global__ void pk_wander_after(const int* index, const float* in, float* out) {
    __shared__ float values[32][128];
    const size_t at = blockIdx.x * size_t{128} + threadIdx.x;
    for (int k = 0; k < 32; k++) values[k][threadIdx.x] = in[at] * k;
    out[at] = wander([&](int k) -> float& { return values[k][threadIdx.x]; }, index[at]);
}
PAIR(
    wander, [](const Buffers& b) { pk_wander_before<<<16384, 128>>>(b.index, b.in, b.out); },
    [](const Buffers& b) { pk_wander_after<<<16384, 128>>>(b.index, b.in, b.out); }, 16384 * 128, 0);

__global__ void pk_host_read_before(const float* host, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    out[i] = host[i] * 2.0f;
}
__global__ void pk_host_read_after(const float* in, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    out[i] = in[i] * 2.0f;
}
PAIR(
    host_read, [](const Buffers& b) { pk_host_read_before<<<kHostElements / 256, 256>>>(b.host, b.out); },
    [](const Buffers& b) { pk_host_read_after<<<kHostElements / 256, 256>>>(b.in, b.out); }, kHostElements, 0);

__global__ void pk_host_lookup_before(const float* host, const int* index, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    out[i] = host[(index[i] & 0x3fff) * 64] + host[(index[i] & 0xfff) * 256 + 1];
}
__global__ void pk_host_lookup_after(const float* in, const int* index, float* out) {
    size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    out[i] = in[(index[i] & 0x3fff) * 64] + in[(index[i] & 0xfff) * 256 + 1];
}
PAIR(
    host_lookup, [](const Buffers& b) { pk_host_lookup_before<<<512, 256>>>(b.host, b.index, b.out); },
    [](const Buffers& b) { pk_host_lookup_after<<<512, 256>>>(b.in, b.index, b.out); }, 512 * 256, 0);

__global__ void pk_one_counter_before(const float* in, float* sum) {
    const size_t at = blockIdx.x * size_t{256} + threadIdx.x, step = size_t{gridDim.x} * 256;
    float mine = 0;
    for (int k = 0; k < 8; k++) mine += in[at + k * step];
    atomicAdd(sum, mine);
}
__global__ void pk_one_counter_after(const float* in, float* sum) {
    const size_t at = blockIdx.x * size_t{256} + threadIdx.x, step = size_t{gridDim.x} * 256;
    __shared__ float warps[8];
    float mine = 0;
    for (int k = 0; k < 8; k++) mine += in[at + k * step];
    for (int lane = 16; lane; lane /= 2) mine += __shfl_down_sync(~0U, mine, lane);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0;
        for (float warp : warps) total += warp;
        atomicAdd(sum, total);
    }
}
PAIR(
    one_counter,
    [](const Buffers& b) {
        CUDA_CHECK(cudaMemsetAsync(b.out, 0, 4));
        pk_one_counter_before<<<4096, 256>>>(b.in, b.out);
    },
    [](const Buffers& b) {
        CUDA_CHECK(cudaMemsetAsync(b.out, 0, 4));
        pk_one_counter_after<<<4096, 256>>>(b.in, b.out);
    },
    1, 1e-3);

__global__ void pk_histogram_before(const int* index, int* bins) {
    for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < kElements / 8; i += size_t{gridDim.x} * 256) atomicAdd(&bins[index[i] & 127], 1);
}
__global__ void pk_histogram_after(const int* index, int* bins) {
    __shared__ int mine[128];
    if (threadIdx.x < 128) mine[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < kElements / 8; i += size_t{gridDim.x} * 256) atomicAdd(&mine[index[i] & 127], 1);
    __syncthreads();
    if (threadIdx.x < 128) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
PAIR(
    histogram,
    [](const Buffers& b) {
        CUDA_CHECK(cudaMemsetAsync(b.out, 0, 512));
        pk_histogram_before<<<b.sms * 8, 256>>>(b.index, reinterpret_cast<int*>(b.out));
    },
    [](const Buffers& b) {
        CUDA_CHECK(cudaMemsetAsync(b.out, 0, 512));
        pk_histogram_after<<<b.sms * 8, 256>>>(b.index, reinterpret_cast<int*>(b.out));
    },
    128, 0);
