// Device side of the probes. Integers arrive as long long, so that every launch can be bound the same way.

#define QUARTER_FLOATS 12000  // 47 KiB of the 227 KiB that blocks can have on compute capability 9.0

// Runs for a chosen time: a chain of dependent multiply-adds on one value a thread (about 4 cycles each).
extern "C" __global__ void busy(float* data, long long iterations) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  float x = data[i];
#pragma unroll 16
  for (long long k = 0; k < iterations; ++k) x = fmaf(x, 0.9990234375f, 0.0009765625f);
  data[i] = x;
}

// The same behind a programmatic dependency: the next grid may start before this one has drained.
extern "C" __global__ void busy_dependent(float* data, long long iterations) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  float x = data[i];
#pragma unroll 16
  for (long long k = 0; k < iterations; ++k) x = fmaf(x, 0.9990234375f, 0.0009765625f);
  data[i] = x;
}

// Reads and writes every element once.
extern "C" __global__ void scale(float* data, long long count, float factor) {
  long long step = gridDim.x * (long long)blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += step) data[i] *= factor;
}

// Sets every element.
extern "C" __global__ void fill(float* data, long long count, float value) {
  long long step = gridDim.x * (long long)blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += step) data[i] = value;
}

// Each thread adds up its elements, `passes` times over, in a fixed order; sums[thread] gets the result.
extern "C" __global__ void sum_strided(const float* data, long long count, float* sums, long long passes) {
  long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  long long step = gridDim.x * (long long)blockDim.x;
  float total = 0.0f;
  for (long long pass = 0; pass < passes; ++pass)
    for (long long i = first; i < count; i += step) total += __ldcg(data + i);
  sums[first] = total;
}

// Streams 16-byte stores over `count` vectors until `rounds` are done or `*stop` is set; tells in `*alive` how far it came.
extern "C" __global__ void store_stream(float4* target, long long count, long long rounds, const volatile int* stop,
                                        long long* alive) {
  long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  long long step = gridDim.x * (long long)blockDim.x;
  long long round = 0;
  for (; round < rounds && !*stop; ++round)
    for (long long i = first; i < count; i += step) __stcs(target + i, make_float4(round, i, 2.0f, 3.0f));
  if (first == 0) *alive = round;
}

// A short kernel with a few writes and, on request, a device (1) or system (2) fence.
extern "C" __global__ void write_and_fence(float* data, long long fence) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  data[i] = data[i] * 0.5f + 1.0f;
  if (fence == 1) __threadfence();
  if (fence == 2) __threadfence_system();
}

// Stands in for a collective that waits for its peer: spins until the host raises the flag, or the bound is reached.
extern "C" __global__ void ncclDevKernel_AllReduce_Sum_f32_emulated(const volatile int* flag, long long value,
                                                                    long long bound, float* data) {
  long long spins = 0;
  if (threadIdx.x == 0)
    while (*flag < value && spins < bound) ++spins;
  __syncthreads();
  data[blockIdx.x * (long long)blockDim.x + threadIdx.x] += 1.0f;
}

// As `busy`, with so much shared memory that four blocks fill a multiprocessor.
extern "C" __global__ void busy_shared(float* data, long long iterations) {
  __shared__ volatile float room[QUARTER_FLOATS];
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  room[threadIdx.x] = data[i];
  float x = room[threadIdx.x];
#pragma unroll 16
  for (long long k = 0; k < iterations; ++k) x = fmaf(x, 0.9990234375f, 0.0009765625f);
  data[i] = x;
}

// Stands in for a collective that the link paces: each block holds a quarter of a multiprocessor for a set time.
extern "C" __global__ void ncclDevKernel_AllGather_emulated(float* data, long long nanoseconds) {
  __shared__ volatile float room[QUARTER_FLOATS];
  room[threadIdx.x] = 1.0f;
  long long now, end;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
  end += nanoseconds;
  do {
#if __CUDA_ARCH__ >= 700
    __nanosleep(500);
#endif
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now < end);
  data[blockIdx.x * (long long)blockDim.x + threadIdx.x] += room[threadIdx.x];
}
