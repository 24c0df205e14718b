// A number with its derivatives with respect to two parameters. Algorithms that run on these
// numbers compute the gradient of a kernel.
#pragma once
#include <cmath>

namespace treelet {

struct Dual {
    double value = 0;
    double by[2] = {0, 0};

    Dual() = default;
    Dual(double value) : value(value) {}
    // Returns parameter number `which`, with its derivative with respect to its own logarithm.
    static Dual parameter(double value, int which) {
        Dual x(value);
        x.by[which] = value;
        return x;
    }

    Dual operator*(Dual y) const { return combine(value * y.value, y.value, value, y); }
    Dual operator+(Dual y) const { return combine(value + y.value, 1, 1, y); }
    Dual operator-(Dual y) const { return combine(value - y.value, 1, -1, y); }
    Dual &operator+=(Dual y) { return *this = *this + y; }
    Dual &operator*=(Dual y) { return *this = *this * y; }
    bool operator==(double zero) const { return value == zero; } // compared only with 0

  private:
    Dual combine(double result, double mine, double others, const Dual &y) const {
        Dual out(result);
        for (int k = 0; k < 2; ++k) out.by[k] = mine * by[k] + others * y.by[k];
        return out;
    }
};

inline double output(Dual x) { return x.value; }
inline double derivative(Dual x, int which) { return x.by[which]; }
inline Dual power(Dual base, double exponent) {
    Dual out(std::pow(base.value, exponent));
    for (int k = 0; k < 2; ++k) out.by[k] = exponent * std::pow(base.value, exponent - 1) * base.by[k];
    return out;
}

} // namespace treelet
