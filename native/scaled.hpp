// A number m * 2^(64 e): a double with a practically unlimited exponent. Kernel values with lam = 1
// grow exponentially with the size of the tree, far beyond float64, but normalized kernels still
// need their ratios.
#pragma once
#include <cmath>
#include <cstdint>

namespace treelet {

class Scaled {
  public:
    Scaled() = default;
    Scaled(double value) : mantissa_(value), exponent_(0) { settle(); }

    Scaled operator*(Scaled other) const { return Scaled(mantissa_ * other.mantissa_, exponent_ + other.exponent_); }
    Scaled operator+(Scaled other) const {
        if (mantissa_ == 0) return other;
        if (other.mantissa_ == 0) return *this;
        const Scaled &big = exponent_ >= other.exponent_ ? *this : other;
        const Scaled &small = exponent_ >= other.exponent_ ? other : *this;
        const std::int64_t gap = big.exponent_ - small.exponent_;
        if (gap > 4) return big; // the smaller number is below the last bit
        return Scaled(big.mantissa_ + std::ldexp(small.mantissa_, static_cast<int>(-64 * gap)), big.exponent_);
    }
    Scaled operator-(Scaled other) const { return *this + Scaled(-other.mantissa_, other.exponent_); }
    Scaled &operator+=(Scaled other) { return *this = *this + other; }
    Scaled &operator*=(Scaled other) { return *this = *this * other; }
    bool operator==(double zero) const { return mantissa_ == zero; } // compared only with 0

    static Scaled from_log(double value) {
        const double exponent = std::floor(value / (64 * 0.693147180559945309417));
        return Scaled(std::exp(value - exponent * 64 * 0.693147180559945309417), static_cast<std::int64_t>(exponent));
    }
    double log() const { return std::log(mantissa_) + static_cast<double>(exponent_) * 64 * 0.693147180559945309417; }

  private:
    Scaled(double mantissa, std::int64_t exponent) : mantissa_(mantissa), exponent_(exponent) { settle(); }
    void settle() {
        if (!std::isfinite(mantissa_) || mantissa_ == 0) return;
        for (; std::fabs(mantissa_) >= 0x1p64; ++exponent_) mantissa_ *= 0x1p-64;
        for (; std::fabs(mantissa_) < 0x1p-64; --exponent_) mantissa_ *= 0x1p64;
    }
    double mantissa_ = 0;
    std::int64_t exponent_ = 0;
};

// The number that is written to a Gram matrix: the value, or its logarithm if the value may not fit
// a double.
inline double output(double value) { return value; }
inline double output(Scaled value) { return value.log(); }
inline double derivative(double, int) { return 0; }
inline double derivative(Scaled, int) { return 0; }

inline Scaled power(Scaled base, double exponent) { return Scaled::from_log(base.log() * exponent); }
inline double power(double base, double exponent) { return std::pow(base, exponent); }

} // namespace treelet
