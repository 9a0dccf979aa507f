// `pairs list`, `pairs time [repeats]` (interleaved, unprofiled, one JSON line a pair), `pairs once` (each kernel once, for ncu).
#include <algorithm>
#include <cmath>
#include <cstring>

#include <cuda_bf16.h>

#include "pairs.cuh"

constexpr unsigned kPoison = 0x7fc0dead;  // a NaN no kernel writes

std::vector<Pair>& pairs() {
    static std::vector<Pair> all;
    return all;
}

__global__ void fill(float* in, float* in2, int* index, size_t n) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) {
        unsigned h = mix(static_cast<unsigned>(i) + 1U);
        in[i] = 0.5f + (h & 0xffffff) / 16777216.0f;
        in2[i] = 0.5f + (mix(h) & 0xffffff) / 16777216.0f;
        index[i] = static_cast<int>(mix(h + 7U) & 0x7fffffff);
    }
}

__global__ void pack(const float* in, float* field, size_t n) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) field[i] = in[i * 8];
}

__global__ void round_to_bf16(const float* in, __nv_bfloat16* half) {
    const size_t i = blockIdx.x * size_t{256} + threadIdx.x;
    half[i] = __float2bfloat16(in[i]);
}

__global__ void poison(float* out, size_t n) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
        out[i] = __int_as_float(kPoison);
}

static Buffers allocate() {
    Buffers b{};
    cudaDeviceProp device{};
    CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
    b.sms = device.multiProcessorCount;
    CUDA_CHECK(cudaMalloc(&b.in, kElements * 4));
    CUDA_CHECK(cudaMalloc(&b.in2, kElements * 4));
    CUDA_CHECK(cudaMalloc(&b.out, kElements * 4));
    CUDA_CHECK(cudaMalloc(&b.field, kElements / 2));
    CUDA_CHECK(cudaMalloc(&b.index, kElements * 4));
    CUDA_CHECK(cudaHostAlloc(&b.host, kHostElements * 4, cudaHostAllocMapped));
    fill<<<b.sms * 8, 256>>>(b.in, b.in2, b.index, kElements);
    CUDA_CHECK(cudaMalloc(&b.half, size_t{2} << 21));
    round_to_bf16<<<8192, 256>>>(b.in, reinterpret_cast<__nv_bfloat16*>(b.half));
    pack<<<b.sms * 8, 256>>>(b.in, b.field, kElements / 8);
    CUDA_CHECK(cudaMemcpy(b.host, b.in, kHostElements * 4, cudaMemcpyDeviceToHost));
    return b;
}

static std::vector<float> result(const Buffers& b, const Pair& pair, Launch launch) {
    std::vector<float> values(pair.compare);
    poison<<<b.sms * 8, 256>>>(b.out, kElements);
    CUDA_CHECK(cudaDeviceSynchronize());
    launch(b);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(values.data(), b.out, pair.compare * 4, cudaMemcpyDeviceToHost));
    return values;
}

// Largest difference relative to the largest value; infinite where an element was not written or is not finite.
static double difference(const std::vector<float>& one, const std::vector<float>& two) {
    double largest = 0, scale = 0;
    for (size_t i = 0; i < one.size(); i++) {
        unsigned bits[2];
        std::memcpy(&bits[0], &one[i], 4), std::memcpy(&bits[1], &two[i], 4);
        if (bits[0] == kPoison || bits[1] == kPoison) return INFINITY;
        if (bits[0] == bits[1]) continue;
        if (!std::isfinite(one[i]) || !std::isfinite(two[i])) return INFINITY;
        largest = std::max(largest, std::fabs(double{one[i]} - two[i]));
    }
    for (float value : one)
        if (std::isfinite(value)) scale = std::max(scale, std::fabs(double{value}));
    return largest == 0 ? 0 : largest / scale;
}

static float milliseconds(const Buffers& b, Launch launch, cudaEvent_t start, cudaEvent_t stop) {
    CUDA_CHECK(cudaEventRecord(start));
    launch(b);
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    return ms;
}

static void print_times(const char* name, const std::vector<float>& times) {
    std::printf("\"%s\": [", name);
    for (size_t i = 0; i < times.size(); i++) std::printf("%s%.1f", i ? ", " : "", times[i] * 1e6);
    std::printf("]");
}

static void time_pair(const Buffers& b, const Pair& pair, int repeats) {
    const auto before_values = result(b, pair, pair.before);
    const double error = difference(before_values, result(b, pair, pair.after));
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    std::vector<float> before, after;
    for (int i = 0; i < repeats + 2; i++) {
        float one = milliseconds(b, pair.before, start, stop), two = milliseconds(b, pair.after, start, stop);
        if (i >= 2) before.push_back(one), after.push_back(two);
    }
    std::printf("{\"pair\": \"%s\", \"error\": %.3g, \"tolerance\": %.3g, \"valid\": %s, ", pair.name,
                std::isfinite(error) ? error : 1e30, pair.tolerance, error <= pair.tolerance ? "true" : "false");
    print_times("before_ns", before);
    std::printf(", ");
    print_times("after_ns", after);
    std::printf("}\n");
    std::fflush(stdout);
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "list";
    std::sort(pairs().begin(), pairs().end(), [](const Pair& a, const Pair& b) { return std::strcmp(a.name, b.name) < 0; });
    if (!std::strcmp(mode, "list")) {
        for (const Pair& pair : pairs()) std::printf("%s\n", pair.name);
        return 0;
    }
    const Buffers b = allocate();
    CUDA_CHECK(cudaDeviceSynchronize());
    for (const Pair& pair : pairs()) {
        if (!std::strcmp(mode, "time")) {
            time_pair(b, pair, argc > 2 ? std::atoi(argv[2]) : 25);
        } else {
            pair.before(b);
            pair.after(b);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaDeviceSynchronize());
        }
    }
    return 0;
}
