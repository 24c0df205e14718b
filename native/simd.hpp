// The few loops that benefit from wide registers, compiled once per instruction set and selected
// when the core is loaded.
#pragma once
#include "store.hpp"

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) && defined(__linux__) &&                     \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TREELET_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TREELET_WIDE
#endif

namespace treelet {

// y += a x,  z = b x + c
TREELET_WIDE inline void add_and_set(double *__restrict y, double a, double *__restrict z, double b, double c,
                                     const double *__restrict x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i], z[i] = b * x[i] + c;
}
// The same for x = table[index], and for x = index is `which` ? p : q.
TREELET_WIDE inline void add_and_set(double *__restrict y, double a, double *__restrict z, double b, double c,
                                     const double *__restrict table, const Id *__restrict index, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const double x = table[index[i]];
        y[i] += a * x, z[i] = b * x + c;
    }
}
TREELET_WIDE inline void add_and_set(double *__restrict y, double a, double *__restrict z, double b, double c,
                                     const Id *__restrict index, Id which, double p, double q, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const double x = index[i] == which ? p : q;
        y[i] += a * x, z[i] = b * x + c;
    }
}
// y += a x
TREELET_WIDE inline void add_scaled(double *__restrict y, double a, const double *__restrict x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}
// y = a x + b
TREELET_WIDE inline void set_scaled(double *__restrict y, double a, const double *__restrict x, double b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + b;
}
// y = a y + b
TREELET_WIDE inline void shift_scale(double *y, double a, double b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * y[i] + b;
}
// y *= x
TREELET_WIDE inline void multiply(double *__restrict y, const double *__restrict x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] *= x[i];
}
// y = table[index]
TREELET_WIDE inline void gather(double *__restrict y, const double *__restrict table, const Id *__restrict index, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = table[index[i]];
}
// y = a
TREELET_WIDE inline void fill(double *y, double a, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a;
}
// y = index is `which` ? a : b
TREELET_WIDE inline void select(double *__restrict y, const Id *__restrict index, Id which, double a, double b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = index[i] == which ? a : b;
}
// y = x + y (1 + a x)
TREELET_WIDE inline void chain(double *__restrict y, double a, const double *__restrict x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] + y[i] * (a * x[i] + 1);
}

// The same for number types that do not fit registers.
template <class Num> void add_scaled(Num *y, Num a, const Num *x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}
template <class Num> void add_and_set(Num *y, Num a, Num *z, Num b, Num c, const Num *x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i], z[i] = b * x[i] + c;
}
template <class Num> void add_and_set(Num *y, Num a, Num *z, Num b, Num c, const Num *table, const Id *index, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * table[index[i]], z[i] = b * table[index[i]] + c;
}
template <class Num> void add_and_set(Num *y, Num a, Num *z, Num b, Num c, const Id *index, Id which, Num p, Num q, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const Num x = index[i] == which ? p : q;
        y[i] += a * x, z[i] = b * x + c;
    }
}
template <class Num> void set_scaled(Num *y, Num a, const Num *x, Num b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + b;
}
template <class Num> void shift_scale(Num *y, Num a, Num b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * y[i] + b;
}
template <class Num> void multiply(Num *y, const Num *x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] *= x[i];
}
template <class Num> void gather(Num *y, const Num *table, const Id *index, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = table[index[i]];
}
template <class Num> void fill(Num *y, Num a, std::size_t n) { std::fill_n(y, n, a); }
template <class Num> void select(Num *y, const Id *index, Id which, Num a, Num b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = index[i] == which ? a : b;
}
template <class Num> void chain(Num *y, Num a, const Num *x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] + y[i] * (a * x[i] + Num(1));
}

} // namespace treelet
