// Sequential minimal optimization with a cache of kernel rows, as in libsvm (without shrinking). A baseline to be timed.
//
// Minimizes b'Kb / 2 - y'b with sum(b) = 0 and low <= b <= high, where K has ones on its diagonal. The second example of
// each step is chosen by second-order information (Fan, Chen & Lin 2005). Rows of all n values are float32. The row that
// was not used for the longest time is replaced. A missing row is computed by a function of the caller.
#include <cstdint>
#include <limits>
#include <list>
#include <vector>

using Row = void (*)(std::int64_t, float*);

namespace {

class RowCache {
public:
    RowCache(std::int64_t n, std::int64_t capacity, Row compute)
        : n_(n), capacity_(capacity), compute_(compute), place_(n, uses_.end()) {
        values_.reserve(capacity);
    }

    const float* row(std::int64_t i) {
        if (place_[i] != uses_.end()) {
            uses_.splice(uses_.end(), uses_, place_[i]);
            return values_[place_[i]->slot].data();
        }
        std::int64_t slot = static_cast<std::int64_t>(values_.size());
        if (slot < capacity_) {
            values_.emplace_back(n_);
        } else {
            slot = uses_.front().slot;
            place_[uses_.front().row] = uses_.end();
            uses_.pop_front();
        }
        uses_.push_back({i, slot});
        place_[i] = std::prev(uses_.end());
        compute_(i, values_[slot].data());
        ++computed;
        return values_[slot].data();
    }

    std::int64_t computed = 0;

private:
    struct Use {
        std::int64_t row, slot;
    };
    std::int64_t n_, capacity_;
    Row compute_;
    std::list<Use> uses_;
    std::vector<std::vector<float>> values_;
    std::vector<std::list<Use>::iterator> place_;
};

}  // namespace

// Returns the number of steps; `computed` receives the number of computed rows. b starts at 0, gradient at -y.
extern "C" std::int64_t solve(std::int64_t n, std::int64_t capacity, Row compute, const double* low, const double* high,
                              double* b, double* gradient, double tol, std::int64_t* computed) {
    constexpr double inf = std::numeric_limits<double>::infinity(), least = 1e-12;
    RowCache cache(n, capacity, compute);
    // Infinite where b cannot increase or decrease, otherwise 0: comparisons then need no branches.
    std::vector<double> no_increase(n), no_decrease(n);
    const auto update = [&](std::int64_t k) {
        no_increase[k] = b[k] < high[k] ? 0 : inf;
        no_decrease[k] = b[k] > low[k] ? 0 : -inf;
    };
    for (std::int64_t k = 0; k < n; ++k) update(k);
    for (std::int64_t steps = 0;; ++steps) {
        std::int64_t i = -1, j = -1;
        double smallest = inf, largest = -inf, best = 0;
        for (std::int64_t k = 0; k < n; ++k)
            if (const double slope = gradient[k] + no_increase[k]; slope < smallest) smallest = slope, i = k;
        *computed = cache.computed;
        if (i < 0) return steps;
        const float* row_i = cache.row(i);
        for (std::int64_t k = 0; k < n; ++k) {
            const double slope = gradient[k] + no_decrease[k], difference = slope - smallest;
            largest = slope > largest ? slope : largest;
            double curvature = 2.0 - 2.0 * row_i[k];
            curvature = curvature > least ? curvature : least;
            const double gain = difference > 0 ? difference * difference / curvature : 0;
            if (gain > best) best = gain, j = k;
        }
        *computed = cache.computed;
        if (j < 0 || largest - smallest < tol) return steps;
        const float* row_j = cache.row(j);  // the row of i stays: it was used last, and there is room for two
        double curvature = 2.0 - 2.0 * row_i[j];
        curvature = curvature > least ? curvature : least;
        double step = (gradient[j] - smallest) / curvature;
        const double room_i = high[i] - b[i], room_j = b[j] - low[j];
        const double room = room_i < room_j ? room_i : room_j;
        step = step < room ? step : room;
        b[i] = step == room_i ? high[i] : b[i] + step;
        b[j] = step == room_j ? low[j] : b[j] - step;
        update(i), update(j);
        for (std::int64_t k = 0; k < n; ++k)
            gradient[k] += step * (static_cast<double>(row_i[k]) - static_cast<double>(row_j[k]));
    }
}
