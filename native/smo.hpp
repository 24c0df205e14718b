// Sequential minimal optimization of a kernel machine on a resident block of its kernel matrix.
//
//   min over b of  1/2 b'Kb - y'b + tube * |b|_1    with low <= b <= high and, optionally, a fixed sum of b
//
// A classifier has b = y * alpha and tube = 0; a regressor has the tube epsilon and -C <= b <= C. Their
// intercept fixes the sum. A ranker has no intercept, so its sum is free: there is one more coefficient, the
// "rest", whose row of the matrix is 0, which has no bounds, and which takes the difference. The
// gradient of the smooth part, G = Kb - y, is passed in and kept up to date. A step moves the pair i, j
// along which the second-order estimate decreases most (Fan, Chen & Lin 2005, "WSS 2"). With
//   up = min { G_i + t_i : b_i may increase },    down = max { G_j - t_j : b_j may decrease },
// where t is the slope of the tube in that direction, the optimum has down <= up. The gap is down - up.
#pragma once
#include "pulse.hpp"
#include "simd.hpp"
#include <cmath>
#include <limits>

namespace treelet {

// Value is the type of the kernel values: float, or double for small tolerances.
template <class Value> class Smo {
  public:
    struct Result {
        std::int64_t steps;
        double gap;
    };

    // K has `stride` values per row, of which the first n are used. All vectors have n values.
    Smo(std::size_t n, const Value *K, std::int64_t stride, const double *diagonal, const double *low, const double *high,
        double tube, bool fixed_sum, double *b, double *G)
        : n_(n), K_(K), stride_(stride), diagonal_(diagonal), low_(low), high_(high), tube_(tube), fixed_sum_(fixed_sum), b_(b),
          G_(G), up_(n), down_(n), value_(n), zeros_(fixed_sum ? 0 : n) {
        for (std::size_t k = 0; k < n; ++k) bound(k);
    }

    // Stops when the gap is below tol, or after so many steps.
    Result solve(double tol, std::int64_t max_steps, Pulse &pulse) {
        Result result{0, 0};
        if (n_ == 0) return result;
        step(0, row(0), row(0), G_, up_.data(), value_.data(), n_);
        for (;; ++result.steps) {
            std::size_t i = best(false);
            double least = value_[i];
            if (!fixed_sum_ && !(least < 0)) i = rest(), least = 0;
            if (!(least < infinity)) return result; // nothing may increase
            const double own = i == rest() ? 0.0 : diagonal_[i];
            gains(row(i), own, least, diagonal_, G_, down_.data(), value_.data(), n_);
            std::size_t j = best(true);
            double most = highest(G_, down_.data(), n_), gain = value_[j];
            if (!fixed_sum_) {
                most = std::max(most, 0.0);
                if (const double alone = least * least / std::max(own, least_curvature); i != rest() && !(gain > alone))
                    j = rest(), gain = alone;
            }
            result.gap = std::max(0.0, most - least);
            if (!(most - least >= tol) || !(gain > 0) || result.steps == max_steps) return result;
            const double change = move(i, j, (j == rest() ? 0.0 : G_[j] + down_[j]) - least);
            step(change, row(i), row(j), G_, up_.data(), value_.data(), n_);
            pulse.add(2 * n_);
        }
    }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double least_curvature = 1e-12; // of equal examples
    static constexpr std::size_t lanes = 16;

    std::size_t rest() const { return n_; }
    const Value *row(std::size_t i) const { return i == rest() ? zeros_.data() : K_ + static_cast<std::int64_t>(i) * stride_; }

    // Sets the slopes of the tube at b_k: infinite in a direction in which b_k may not move.
    void bound(std::size_t k) {
        up_[k] = b_[k] < high_[k] ? (b_[k] >= 0 ? tube_ : -tube_) : infinity;
        down_[k] = b_[k] > low_[k] ? (b_[k] > 0 ? tube_ : -tube_) : -infinity;
    }

    // Increases b_i and decreases b_j by the same amount, up to their bounds or, with a tube, up to 0, where the slope changes.
    double move(std::size_t i, std::size_t j, double slope) {
        const bool up = i != rest(), down = j != rest();
        const double raw = (up ? diagonal_[i] : 0.0) + (down ? diagonal_[j] : 0.0) - (up && down ? 2.0 * row(i)[j] : 0.0);
        const double end_i = !up ? infinity : tube_ > 0 && b_[i] < 0 ? std::min(0.0, high_[i]) : high_[i];
        const double end_j = !down ? -infinity : tube_ > 0 && b_[j] > 0 ? std::max(0.0, low_[j]) : low_[j];
        const double room_i = up ? end_i - b_[i] : infinity, room_j = down ? b_[j] - end_j : infinity;
        const double change = std::min({slope / std::max(raw, least_curvature), room_i, room_j});
        // Bounds are reached exactly, not up to rounding.
        if (up) b_[i] = change == room_i ? end_i : b_[i] + change, bound(i);
        if (down) b_[j] = change == room_j ? end_j : b_[j] - change, bound(j);
        return change;
    }

    // Returns the first position of the least or of the largest value.
    std::size_t best(bool largest) const {
        const double wanted = largest ? maximum(value_.data(), n_) : -maximum_of_negative(value_.data(), n_);
        return static_cast<std::size_t>(std::find(value_.begin(), value_.end(), wanted) - value_.begin());
    }

    // The loops below run over lanes. Compilers can then use wide registers without reordering operations.
    TREELET_WIDE static double maximum(const double *x, std::size_t n) {
        double lane[lanes];
        std::fill_n(lane, lanes, -infinity);
        std::size_t k = 0;
        for (; k + lanes <= n; k += lanes)
            for (std::size_t l = 0; l < lanes; ++l) lane[l] = x[k + l] > lane[l] ? x[k + l] : lane[l];
        for (; k < n; ++k) lane[0] = std::max(lane[0], x[k]);
        return *std::max_element(lane, lane + lanes);
    }
    TREELET_WIDE static double maximum_of_negative(const double *x, std::size_t n) {
        double lane[lanes];
        std::fill_n(lane, lanes, -infinity);
        std::size_t k = 0;
        for (; k + lanes <= n; k += lanes)
            for (std::size_t l = 0; l < lanes; ++l) lane[l] = -x[k + l] > lane[l] ? -x[k + l] : lane[l];
        for (; k < n; ++k) lane[0] = std::max(lane[0], -x[k]);
        return *std::max_element(lane, lane + lanes);
    }
    TREELET_WIDE static double highest(const double *G, const double *down, std::size_t n) {
        double lane[lanes];
        std::fill_n(lane, lanes, -infinity);
        std::size_t k = 0;
        for (; k + lanes <= n; k += lanes)
            for (std::size_t l = 0; l < lanes; ++l) {
                const double x = G[k + l] + down[k + l];
                lane[l] = x > lane[l] ? x : lane[l];
            }
        for (; k < n; ++k) lane[0] = std::max(lane[0], G[k] + down[k]);
        return *std::max_element(lane, lane + lanes);
    }
    // The decrease of the objective for each partner of i, -1 if there is none.
    TREELET_WIDE static void gains(const Value *__restrict Ki, double own, double least, const double *__restrict diagonal,
                                   const double *__restrict G, const double *__restrict down, double *__restrict gain,
                                   std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) {
            const double slope = G[k] + down[k] - least, raw = own + diagonal[k] - 2.0 * static_cast<double>(Ki[k]);
            const double curvature = raw > least_curvature ? raw : least_curvature;
            gain[k] = slope > 0 ? slope * slope / curvature : -1;
        }
    }
    // Updates the gradient, and sets the values among which the next i is the least.
    TREELET_WIDE static void step(double change, const Value *Ki, const Value *Kj, double *__restrict G,
                                  const double *__restrict up, double *__restrict value, std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) {
            G[k] += change * (static_cast<double>(Ki[k]) - static_cast<double>(Kj[k]));
            value[k] = G[k] + up[k];
        }
    }

    std::size_t n_;
    const Value *K_;
    std::int64_t stride_;
    const double *diagonal_, *low_, *high_;
    double tube_;
    bool fixed_sum_;
    double *b_, *G_;
    std::vector<double> up_, down_, value_;
    std::vector<Value> zeros_; // row of the rest
};

} // namespace treelet
