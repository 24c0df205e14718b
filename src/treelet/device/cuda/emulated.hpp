// The keywords and functions of CUDA for the CPU build, in which a warp has one thread.
#pragma once

#define KERNEL static void
#define DEVICE static inline
#define DEVICE_MEMBER
#define __restrict__

struct Place {
    long long block = 0;
    int thread = 0, threads = 1;
};
inline thread_local Place here;
DEVICE long long block() { return here.block; }
DEVICE int thread() { return here.thread; }
DEVICE int threads() { return here.threads; }
constexpr int lanes = 1;
DEVICE unsigned votes(bool mine) { return mine; }
DEVICE int first_of(unsigned) { return 0; }
template <class T> DEVICE T shared_by(int, T value) { return value; }
DEVICE void add(double *place, double value) { *place += value; }
