// Faults of waiting: too little parallelism, barriers, fences, staging without overlap.
#include <cuda_pipeline.h>

#include "pairs.cuh"

// Many block reductions: one barrier a halving, against warp shuffles and one barrier a reduction.
__global__ void pk_block_reduce_before(const float* in, float* out) {
    __shared__ float tree[1024];
    for (int round = 0; round < 32; round++) {
        const size_t row = blockIdx.x * size_t{32} + round;
        tree[threadIdx.x] = in[row * 1024 + threadIdx.x];
        __syncthreads();
        for (int half = 512; half; half /= 2) {
            if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) out[row] = tree[0];
        __syncthreads();
    }
}
__global__ void pk_block_reduce_after(const float* in, float* out) {
    __shared__ float warps[2][32];
    for (int round = 0; round < 32; round++) {
        const size_t row = blockIdx.x * size_t{32} + round;
        float sum = in[row * 1024 + threadIdx.x];
        for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(~0U, sum, lane);
        if (threadIdx.x % 32 == 0) warps[round & 1][threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x < 32) {
            sum = warps[round & 1][threadIdx.x];
            for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(~0U, sum, lane);
            if (threadIdx.x == 0) out[row] = sum;
        }
    }
}
PAIR(
    block_reduce, [](const Buffers& b) { pk_block_reduce_before<<<1024, 1024>>>(b.in, b.out); },
    [](const Buffers& b) { pk_block_reduce_after<<<1024, 1024>>>(b.in, b.out); }, 32768, 1e-5);

// Inclusive scan of a block of integers: two barriers a step in shared memory, against warp scans.
__global__ void pk_block_scan_before(const int* in, int* out) {
    __shared__ int row[512];
    for (int round = 0; round < 16; round++) {
        const size_t at = (blockIdx.x * size_t{16} + round) * 512 + threadIdx.x;
        row[threadIdx.x] = in[at] & 15;
        __syncthreads();
        for (int step = 1; step < 512; step *= 2) {
            int left = threadIdx.x >= step ? row[threadIdx.x - step] : 0;
            __syncthreads();
            row[threadIdx.x] += left;
            __syncthreads();
        }
        out[at] = row[threadIdx.x];
        __syncthreads();
    }
}
__global__ void pk_block_scan_after(const int* in, int* out) {
    __shared__ int totals[16];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int round = 0; round < 16; round++) {
        const size_t at = (blockIdx.x * size_t{16} + round) * 512 + threadIdx.x;
        int sum = in[at] & 15;
        for (int step = 1; step < 32; step *= 2) {
            int left = __shfl_up_sync(~0U, sum, step);
            if (lane >= step) sum += left;
        }
        if (lane == 31) totals[warp] = sum;
        __syncthreads();
        for (int other = 0; other < warp; other++) sum += totals[other];
        out[at] = sum;
        __syncthreads();
    }
}
PAIR(
    block_scan, [](const Buffers& b) { pk_block_scan_before<<<2048, 512>>>(b.index, reinterpret_cast<int*>(b.out)); },
    [](const Buffers& b) { pk_block_scan_after<<<2048, 512>>>(b.index, reinterpret_cast<int*>(b.out)); }, 2048 * 16 * 512, 0);

// A barrier between every load and store of a copy that waits for DRAM: many barriers, worth little.
template <bool SYNC>
__device__ void streaming(const float4* in, float4* out, size_t n) {
    for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < n; i += size_t{gridDim.x} * 256) {
        float4 v = in[i];
        if (SYNC) __syncthreads();
        v.x += 1, v.y += 1, v.z += 1, v.w += 1;
        out[i] = v;
    }
}
__global__ void pk_synced_copy_before(const float4* in, float4* out, size_t n) { streaming<true>(in, out, n); }
__global__ void pk_synced_copy_after(const float4* in, float4* out, size_t n) { streaming<false>(in, out, n); }
PAIR(
    synced_copy,
    [](const Buffers& b) { pk_synced_copy_before<<<8192, 256>>>(reinterpret_cast<float4*>(b.in), reinterpret_cast<float4*>(b.out), kElements / 4); },
    [](const Buffers& b) { pk_synced_copy_after<<<8192, 256>>>(reinterpret_cast<float4*>(b.in), reinterpret_cast<float4*>(b.out), kElements / 4); },
    kElements, 0);

__device__ __forceinline__ float work(float x, int steps) {
#pragma unroll 4
    for (int k = 0; k < steps; k++) x = fmaf(x, 0.999f, 0.001f);
    return x;
}
__device__ __forceinline__ void grid_stride_work(const float* in, float* out, size_t n, int steps) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) out[i] = work(in[i], steps);
}
__global__ void pk_few_blocks_before(const float* in, float* out, size_t n) { grid_stride_work(in, out, n, 32); }
__global__ void pk_few_blocks_after(const float* in, float* out, size_t n) { grid_stride_work(in, out, n, 32); }
PAIR(
    few_blocks, [](const Buffers& b) { pk_few_blocks_before<<<8, 256>>>(b.in, b.out, 1 << 18); },
    [](const Buffers& b) { pk_few_blocks_after<<<1024, 256>>>(b.in, b.out, 1 << 18); }, 1 << 18, 0);

__global__ void pk_half_grid_before(const float* in, float* out, size_t n) { grid_stride_work(in, out, n, 256); }
__global__ void pk_half_grid_after(const float* in, float* out, size_t n) { grid_stride_work(in, out, n, 256); }
PAIR(
    half_grid, [](const Buffers& b) { pk_half_grid_before<<<b.sms / 3, 512>>>(b.in, b.out, 1 << 20); },
    [](const Buffers& b) { pk_half_grid_after<<<b.sms * 8, 512>>>(b.in, b.out, 1 << 20); }, 1 << 20, 0);

// One block an SM (by its shared memory), uniform work: a last wave that is nearly empty, against finer blocks.
constexpr int kOneBlockAnSm = 160 * 1024;
__device__ __forceinline__ void uniform_block(const float* in, float* out, int part, int parts) {
    extern __shared__ float unused[];
    const size_t first = (blockIdx.x / parts * size_t{32} + blockIdx.x % parts * (32 / parts)) * 256;
    for (int k = 0; k < 32 / parts; k++) out[first + k * 256 + threadIdx.x] = work(in[first + k * 256 + threadIdx.x], 2048);
    if (part < 0) unused[threadIdx.x] = out[0];
}
__global__ void pk_last_wave_before(const float* in, float* out, int parts) { uniform_block(in, out, 0, parts); }
__global__ void pk_last_wave_after(const float* in, float* out, int parts) { uniform_block(in, out, 0, parts); }
PAIR(
    last_wave,
    [](const Buffers& b) {
        allow_shared(pk_last_wave_before, kOneBlockAnSm);
        pk_last_wave_before<<<b.sms + 12, 256, kOneBlockAnSm>>>(b.in, b.out, 1);
    },
    [](const Buffers& b) {
        allow_shared(pk_last_wave_after, kOneBlockAnSm);
        pk_last_wave_after<<<(b.sms + 12) * 8, 256, kOneBlockAnSm>>>(b.in, b.out, 8);
    },
    132 * 32 * 256, 0);
__global__ void pk_third_wave_before(const float* in, float* out, int parts) { uniform_block(in, out, 0, parts); }
__global__ void pk_third_wave_after(const float* in, float* out, int parts) { uniform_block(in, out, 0, parts); }
PAIR(
    third_wave,
    [](const Buffers& b) {
        allow_shared(pk_third_wave_before, kOneBlockAnSm);
        pk_third_wave_before<<<b.sms * 2 + 40, 256, kOneBlockAnSm>>>(b.in, b.out, 1);
    },
    [](const Buffers& b) {
        allow_shared(pk_third_wave_after, kOneBlockAnSm);
        pk_third_wave_after<<<(b.sms * 2 + 40) * 16, 256, kOneBlockAnSm>>>(b.in, b.out, 16);
    },
    132 * 2 * 32 * 256, 0);

// All blocks resident at once, the last ones with most of the work, against interleaved rows.
__device__ __forceinline__ void ramp_row(const float* in, float* out, int row) {
    out[row * 256 + threadIdx.x] = work(in[row * 256 + threadIdx.x], row / 4);
}
__global__ void pk_ramp_before(const float* in, float* out, int rows) {
    const int share = rows / gridDim.x;
    for (int row = blockIdx.x * share; row < (blockIdx.x + 1) * share; row++) ramp_row(in, out, row);
}
__global__ void pk_ramp_after(const float* in, float* out, int rows) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) ramp_row(in, out, row);
}
PAIR(
    ramp, [](const Buffers& b) { pk_ramp_before<<<b.sms, 256>>>(b.in, b.out, b.sms * 32); },
    [](const Buffers& b) { pk_ramp_after<<<b.sms, 256>>>(b.in, b.out, b.sms * 32); }, 132 * 32 * 256, 0);

// One row in 64 is forty times as long; rows handed out in fixed shares, against a queue.
__device__ __forceinline__ void uneven_row(const float* in, float* out, int row) {
    out[row * 128 + threadIdx.x] = work(in[row * 128 + threadIdx.x], row % 2112 < 33 ? 8000 : 200);
}
__global__ void pk_uneven_before(const float* in, float* out, int rows) {
    const int share = rows / gridDim.x;
    for (int row = blockIdx.x * share; row < (blockIdx.x + 1) * share; row++) uneven_row(in, out, row);
}
__global__ void pk_uneven_after(const float* in, float* out, int rows, int* queue) {
    __shared__ int row;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) row = atomicAdd(queue, 1);
        __syncthreads();
        if (row >= rows) return;
        uneven_row(in, out, row);
    }
}
PAIR(
    uneven, [](const Buffers& b) { pk_uneven_before<<<b.sms * 4, 128>>>(b.in, b.out, b.sms * 64); },
    [](const Buffers& b) {
        int* queue = reinterpret_cast<int*>(b.out + kElements - 1);
        CUDA_CHECK(cudaMemsetAsync(queue, 0, 4));
        pk_uneven_after<<<b.sms * 4, 128>>>(b.in, b.out, b.sms * 64, queue);
    },
    132 * 64 * 128, 0);

// Dependent lookups in a table that fits L2: more warps would hide the latency, shared memory that nobody needs keeps them out.
__device__ __forceinline__ void lookups(const int* index, int* out) {
    extern __shared__ int unused_table[];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    const int mine = at;
    for (int k = 0; k < 64; k++) at = index[at & 0x3fffff] ^ k;
    if (at == -1) unused_table[0] = at;
    out[mine] = at;
}
__global__ void pk_crowded_out_before(const int* index, int* out) { lookups(index, out); }
__global__ void pk_crowded_out_after(const int* index, int* out) { lookups(index, out); }
PAIR(
    crowded_out,
    [](const Buffers& b) {
        allow_shared(pk_crowded_out_before, 100 * 1024);
        pk_crowded_out_before<<<b.sms * 32, 128, 100 * 1024>>>(b.index, reinterpret_cast<int*>(b.out));
    },
    [](const Buffers& b) { pk_crowded_out_after<<<b.sms * 32, 128>>>(b.index, reinterpret_cast<int*>(b.out)); }, 132 * 32 * 128, 0);

// Streaming with 64-thread blocks that ask for a quarter of an SM's shared memory each.
__global__ void pk_wide_tile_before(const float* in, float* out, size_t n) {
    extern __shared__ float tile[];
    for (size_t i = blockIdx.x * size_t{64} + threadIdx.x; i < n; i += size_t{gridDim.x} * 64) {
        tile[threadIdx.x] = in[i];
        out[i] = tile[threadIdx.x] * 2.0f;
    }
}
__global__ void pk_wide_tile_after(const float* in, float* out, size_t n) {
    extern __shared__ float tile[];
    for (size_t i = blockIdx.x * size_t{64} + threadIdx.x; i < n; i += size_t{gridDim.x} * 64) {
        tile[threadIdx.x] = in[i];
        out[i] = tile[threadIdx.x] * 2.0f;
    }
}
PAIR(
    wide_tile,
    [](const Buffers& b) {
        allow_shared(pk_wide_tile_before, 56 * 1024);
        pk_wide_tile_before<<<b.sms * 32, 64, 56 * 1024>>>(b.in, b.out, kElements / 4);
    },
    [](const Buffers& b) { pk_wide_tile_after<<<b.sms * 32, 64, 1024>>>(b.in, b.out, kElements / 4); }, kElements / 4, 0);

// One load in flight a thread and few threads, against eight loads in flight.
__global__ void pk_one_in_flight_before(const float* in, float* out) {
    const size_t at = blockIdx.x * size_t{128} + threadIdx.x, step = size_t{gridDim.x} * 128;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 256; k++) sum = fmaf(sum, 0.5f, in[at + k * step]);
    out[at] = sum;
}
__global__ void pk_one_in_flight_after(const float* in, float* out) {
    const size_t at = blockIdx.x * size_t{128} + threadIdx.x, step = size_t{gridDim.x} * 128;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 256; k += 16) {
        float v[16];
#pragma unroll
        for (int j = 0; j < 16; j++) v[j] = in[at + (k + j) * step];
#pragma unroll
        for (int j = 0; j < 16; j++) sum = fmaf(sum, 0.5f, v[j]);
    }
    out[at] = sum;
}
PAIR(
    one_in_flight, [](const Buffers& b) { pk_one_in_flight_before<<<b.sms * 4, 128>>>(b.in, b.out); },
    [](const Buffers& b) { pk_one_in_flight_after<<<b.sms * 4, 128>>>(b.in, b.out); }, 132 * 4 * 128, 0);

// Four bytes a thread and one block an SM, against sixteen bytes and four loads in flight.
__global__ void pk_narrow_copy_before(const float* in, float* out, size_t n) {
#pragma unroll 1
    for (size_t i = blockIdx.x * size_t{512} + threadIdx.x; i < n; i += size_t{gridDim.x} * 512) out[i] = in[i];
}
__global__ void pk_narrow_copy_after(const float4* in, float4* out, size_t n) {
    const size_t step = size_t{gridDim.x} * 512;
#pragma unroll 1
    for (size_t i = blockIdx.x * size_t{512} + threadIdx.x; i < n; i += 4 * step) {
        float4 v[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (i + j * step < n) v[j] = in[i + j * step];
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (i + j * step < n) out[i + j * step] = v[j];
    }
}
PAIR(
    narrow_copy, [](const Buffers& b) { pk_narrow_copy_before<<<b.sms * 2, 512>>>(b.in, b.out, kElements / 4); },
    [](const Buffers& b) {
        pk_narrow_copy_after<<<b.sms * 2, 512>>>(reinterpret_cast<float4*>(b.in), reinterpret_cast<float4*>(b.out), kElements / 16);
    },
    kElements / 4, 0);

// Four dependent chains one after the other with one warp a scheduler, against the same chains side by side.
__global__ void pk_serial_chains_before(const float* in, float* out) {
    const int at = blockIdx.x * 128 + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int chain = 0; chain < 8; chain++) {
        float x = in[at + chain];
#pragma unroll 16
        for (int k = 0; k < 2048; k++) x = fmaf(x, 0.999f, 0.001f);
        sum += x;
    }
    out[at] = sum;
}
__global__ void pk_serial_chains_after(const float* in, float* out) {
    const int at = blockIdx.x * 128 + threadIdx.x;
    float x[8], sum = 0;
#pragma unroll
    for (int chain = 0; chain < 8; chain++) x[chain] = in[at + chain];
#pragma unroll 4
    for (int k = 0; k < 2048; k++)
#pragma unroll
        for (int chain = 0; chain < 8; chain++) x[chain] = fmaf(x[chain], 0.999f, 0.001f);
#pragma unroll
    for (int chain = 0; chain < 8; chain++) sum += x[chain];
    out[at] = sum;
}
PAIR(
    serial_chains, [](const Buffers& b) { pk_serial_chains_before<<<b.sms, 128>>>(b.in, b.out); },
    [](const Buffers& b) { pk_serial_chains_after<<<b.sms, 128>>>(b.in, b.out); }, 132 * 128, 0);

__global__ void pk_hash_rounds_before(const int* in, int* out) {
    const int at = blockIdx.x * 256 + threadIdx.x;
    unsigned total = 0;
#pragma unroll 1
    for (int lane = 0; lane < 4; lane++) {
        unsigned x = in[at + lane];
#pragma unroll 4
        for (int k = 0; k < 1024; k++) x = (x ^ (x >> 15)) * 0x2c1b3c6dU + k;
        total += x;
    }
    out[at] = total & 0xffffff;
}
__global__ void pk_hash_rounds_after(const int* in, int* out) {
    const int at = blockIdx.x * 256 + threadIdx.x;
    unsigned x[4], total = 0;
#pragma unroll
    for (int lane = 0; lane < 4; lane++) x[lane] = in[at + lane];
#pragma unroll 4
    for (int k = 0; k < 1024; k++)
#pragma unroll
        for (int lane = 0; lane < 4; lane++) x[lane] = (x[lane] ^ (x[lane] >> 15)) * 0x2c1b3c6dU + k;
#pragma unroll
    for (int lane = 0; lane < 4; lane++) total += x[lane];
    out[at] = total & 0xffffff;
}
PAIR(
    hash_rounds, [](const Buffers& b) { pk_hash_rounds_before<<<b.sms, 256>>>(b.index, reinterpret_cast<int*>(b.out)); },
    [](const Buffers& b) { pk_hash_rounds_after<<<b.sms, 256>>>(b.index, reinterpret_cast<int*>(b.out)); }, 132 * 256, 0);

// A fence after every store, against one at the end.
template <bool EACH>
__device__ void fenced_stores(const float* in, float* out) {
    const size_t at = blockIdx.x * size_t{256} + threadIdx.x, step = size_t{gridDim.x} * 256;
    for (int k = 0; k < 32; k++) {
        out[at + k * step] = in[at + k * step] * 2.0f;
        if (EACH) __threadfence();
    }
    if (!EACH) __threadfence();
}
__global__ void pk_fence_each_before(const float* in, float* out) { fenced_stores<true>(in, out); }
__global__ void pk_fence_each_after(const float* in, float* out) { fenced_stores<false>(in, out); }
PAIR(
    fence_each, [](const Buffers& b) { pk_fence_each_before<<<b.sms * 8, 256>>>(b.in, b.out); },
    [](const Buffers& b) { pk_fence_each_after<<<b.sms * 8, 256>>>(b.in, b.out); }, 132 * 8 * 256 * 32, 0);

template <bool SYSTEM>
__device__ void scoped_stores(const float* in, float* out) {
    const size_t at = blockIdx.x * size_t{128} + threadIdx.x, step = size_t{gridDim.x} * 128;
    for (int k = 0; k < 16; k++) {
        out[at + k * step] = work(in[at + k * step], 16);
        SYSTEM ? __threadfence_system() : __threadfence_block();
    }
}
__global__ void pk_fence_scope_before(const float* in, float* out) { scoped_stores<true>(in, out); }
__global__ void pk_fence_scope_after(const float* in, float* out) { scoped_stores<false>(in, out); }
PAIR(
    fence_scope, [](const Buffers& b) { pk_fence_scope_before<<<b.sms * 8, 128>>>(b.in, b.out); },
    [](const Buffers& b) { pk_fence_scope_after<<<b.sms * 8, 128>>>(b.in, b.out); }, 132 * 8 * 128 * 16, 0);

// One block an SM that loads a tile, waits, computes on it; against four stages of cp.async. The work is sized to the load.
constexpr int kTile = 2048, kRounds = 64, kStages = 4, kTileWork = 24;
__device__ __forceinline__ float on_tile(const float* tile, float sum) {
    for (int i = threadIdx.x; i < kTile; i += 256) sum += work(tile[i], kTileWork);
    return sum;
}
__global__ void pk_staging_before(const float* in, float* out) {
    extern __shared__ float tiles[];
    float sum = 0;
    for (int round = 0; round < kRounds; round++) {
        const float* from = in + (blockIdx.x * size_t{kRounds} + round) * kTile;
        for (int i = threadIdx.x; i < kTile; i += 256) tiles[i] = from[i];
        __syncthreads();
        sum = on_tile(tiles, sum);
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
__global__ void pk_staging_after(const float* in, float* out) {
    extern __shared__ float tiles[];
    float sum = 0;
    auto fetch = [&](int round) {
        const float* from = in + (blockIdx.x * size_t{kRounds} + round) * kTile;
        if (round < kRounds)
            for (int i = threadIdx.x * 4; i < kTile; i += 1024) __pipeline_memcpy_async(tiles + round % kStages * kTile + i, from + i, 16);
        __pipeline_commit();
    };
    for (int stage = 0; stage < kStages - 1; stage++) fetch(stage);
    for (int round = 0; round < kRounds; round++) {
        fetch(round + kStages - 1);
        __pipeline_wait_prior(kStages - 1);
        __syncthreads();
        sum = on_tile(tiles + round % kStages * kTile, sum);
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
PAIR(
    staging,
    [](const Buffers& b) {
        allow_shared(pk_staging_before, kOneBlockAnSm);
        pk_staging_before<<<b.sms, 256, kOneBlockAnSm>>>(b.in, b.out);
    },
    [](const Buffers& b) {
        allow_shared(pk_staging_after, kOneBlockAnSm);
        pk_staging_after<<<b.sms, 256, kOneBlockAnSm>>>(b.in, b.out);
    },
    132 * 256, 0);
