// Before/after pairs of kernels: one known fault each, the same result with and without it.
//
// Every kernel is named pk_<pair>_before or pk_<pair>_after, so that `ncu -k regex:pk_` profiles pairs only.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                          \
    do {                                                                                          \
        cudaError_t status_ = (call);                                                             \
        if (status_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(1);                                                                         \
        }                                                                                         \
    } while (0)

constexpr size_t kElements = size_t{64} << 20;  // 256 MiB of float: several times the L2 of any current device
constexpr size_t kHostElements = size_t{8} << 20;

struct Buffers {
    float* in;        // kElements random values in [0.5, 1.5)
    float* in2;       // kElements, other random values
    float* out;       // kElements
    float* field;     // kElements / 8: every eighth element of in, packed
    float* half;      // the first 2 Mi values of in as bf16
    int* index;       // kElements random non-negative integers
    float* host;      // kHostElements of mapped pinned host memory, same values as in
    int sms;
};

using Launch = void (*)(const Buffers&);

struct Pair {
    const char* name;
    Launch before;
    Launch after;
    size_t compare;    // leading elements of out that both must produce
    double tolerance;  // largest |before - after| / max|before| allowed; 0 = bit-identical
};

std::vector<Pair>& pairs();

struct Register {
    explicit Register(const Pair& pair) { pairs().push_back(pair); }
};

// PAIR(name, before, after, compare, tolerance)
#define PAIR(name, ...) static const Register register_##name(Pair{#name, __VA_ARGS__})

template <typename Kernel>
void allow_shared(Kernel kernel, int bytes) {
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

__device__ __forceinline__ unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
}
