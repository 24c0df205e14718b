// The language of the device code: CUDA on a GPU. The CPU build compiles the same source and runs one thread after the other.
//
// A kernel is a function of plain pointers and numbers. Arrays contain int, long long, float or double; integer parameters are
// long long, other numbers double. Threads of a warp may vote and share values, and threads may add to the same memory. They share
// nothing else.
#pragma once

#ifdef __CUDACC__

#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__
DEVICE long long block() { return blockIdx.x; }
DEVICE int thread() { return static_cast<int>(threadIdx.x); }
DEVICE int threads() { return static_cast<int>(blockDim.x); }
constexpr int lanes = 32; // threads that vote together: all threads of the warp must take part
DEVICE unsigned votes(bool mine) { return __ballot_sync(0xffffffffu, mine); }
DEVICE int first_of(unsigned votes) { return __ffs(static_cast<int>(votes)) - 1; }
template <class T> DEVICE T shared_by(int lane, T value) { return __shfl_sync(0xffffffffu, value, lane); }
DEVICE void add(double *place, double value) { atomicAdd(place, value); }

#else

#include "emulated.hpp"

#endif

// Returns the last i in first .. last - 1 with start[i] <= value.
DEVICE long long owner(const long long *start, long long first, long long last, long long value) {
    while (last - first > 1) {
        const long long middle = (first + last) / 2;
        if (start[middle] <= value)
            first = middle;
        else
            last = middle;
    }
    return first;
}
DEVICE long long item() { return block() * threads() + thread(); }
