// The loops of a sketch over vectors of complex numbers: n real parts, then n imaginary parts.
#pragma once
#include "simd.hpp"
#include <array>
#include <numbers>

namespace treelet {

// The 256th roots of unity. Of the powers of a random one, all except every 256th have mean 0.
struct Roots {
    std::array<float, 256> re, im;
    Roots() {
        for (std::size_t i = 0; i < re.size(); ++i) {
            const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(re.size());
            re[i] = static_cast<float>(std::cos(angle)), im[i] = static_cast<float>(std::sin(angle));
        }
    }
};

// The n-th random number of a sequence (Steele, Lea & Flood 2014, SplitMix64).
inline std::uint64_t random_number(std::uint64_t sequence, std::uint64_t n) {
    std::uint64_t z = sequence + (n + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// y = a r, with r drawn from the roots of unity. `draw` has room for n + 7 bytes.
TREELET_WIDE inline void fill_phases(float *__restrict y, float a, std::uint64_t sequence, const Roots &roots,
                                     std::uint8_t *__restrict draw, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 8) {
        const std::uint64_t z = random_number(sequence, i);
        std::memcpy(draw + i, &z, 8);
    }
    const float *__restrict re = roots.re.data(), *__restrict im = roots.im.data();
    for (std::size_t i = 0; i < n; ++i) y[i] = a * re[draw[i]];
    for (std::size_t i = 0; i < n; ++i) y[n + i] = a * im[draw[i]];
}
// y = one + a x[index]
TREELET_WIDE inline void set_shifted(float *__restrict y, float one, float a, const float *__restrict x, const Id *__restrict index,
                                     std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        y[i] = one + a * x[index[i]];
        y[n + i] = a * x[n + static_cast<std::size_t>(index[i])];
    }
}
// y *= one + a x[index]
TREELET_WIDE inline void multiply_shifted(float *__restrict y, float one, float a, const float *__restrict x,
                                          const Id *__restrict index, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const float re = one + a * x[index[i]], im = a * x[n + static_cast<std::size_t>(index[i])];
        const float old = y[i];
        y[i] = old * re - y[n + i] * im;
        y[n + i] = old * im + y[n + i] * re;
    }
}
// y = x z
TREELET_WIDE inline void set_product(float *__restrict y, const float *__restrict x, const float *__restrict z, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        y[i] = x[i] * z[i] - x[n + i] * z[n + i];
        y[n + i] = x[i] * z[n + i] + x[n + i] * z[i];
    }
}
// y += a x, for 2n real numbers
TREELET_WIDE inline void add_scaled(float *__restrict y, float a, const float *__restrict x, std::size_t n) {
    for (std::size_t i = 0; i < 2 * n; ++i) y[i] += a * x[i];
}
TREELET_WIDE inline void scale(float *__restrict y, float a, std::size_t n) {
    for (std::size_t i = 0; i < 2 * n; ++i) y[i] *= a;
}
// y += a x[index]
TREELET_WIDE inline void add_moved(float *__restrict y, float a, const float *__restrict x, const Id *__restrict index,
                                   std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        y[i] += a * x[index[i]];
        y[n + i] += a * x[n + static_cast<std::size_t>(index[i])];
    }
}
// Appends a child x to sequences: t = a x[index] (one + before[shift]) are the sequences that end
// with x; after = decay before + t are those that may continue; total += t.
TREELET_WIDE inline void extend(float *__restrict after, float *__restrict total, const float *__restrict before, float decay,
                                float one, float a, const float *__restrict x, const Id *__restrict index,
                                const Id *__restrict shift, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const float x_re = a * x[index[i]], x_im = a * x[n + static_cast<std::size_t>(index[i])];
        const float re = one + before[shift[i]], im = before[n + static_cast<std::size_t>(shift[i])];
        const float t_re = x_re * re - x_im * im, t_im = x_re * im + x_im * re;
        after[i] = decay * before[i] + t_re, after[n + i] = decay * before[n + i] + t_im;
        total[i] += t_re, total[n + i] += t_im;
    }
}
TREELET_WIDE inline float largest(const float *__restrict x, std::size_t n) {
    float most = 0;
    for (std::size_t i = 0; i < 2 * n; ++i) most = std::max(most, std::fabs(x[i]));
    return most;
}

} // namespace treelet
