// The vectors of a sketch, whose entries may exceed the range of a float.
#pragma once
#include "sketch_loops.hpp"
#include "sketch_parts.hpp"

namespace treelet {

// A vector of complex numbers times 2^exponent.
struct Wave {
    std::vector<float> part;   // empty: all entries are 0
    std::int64_t exponent = 0; // never below 0: only growth is factored out
    double bound = 0;          // no entry is larger than 2^bound
    bool zero() const { return part.empty(); }
};

// For exponents that are not above 0. Powers that are too small are 0.
inline float power_of_two(std::int64_t exponent) {
    return std::ldexp(1.0F, static_cast<int>(std::max<std::int64_t>(exponent, -1000)));
}
inline double log_sum(double a, double b) { return std::max(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b))); }

// Memory for waves, which is reused.
class Waves {
  public:
    explicit Waves(std::size_t size) : size_(size) {}
    std::size_t size() const { return size_; }
    std::vector<float> take() {
        if (spare_.empty()) return std::vector<float>(2 * size_);
        std::vector<float> out = std::move(spare_.back());
        spare_.pop_back();
        return out;
    }
    void give(Wave &wave) {
        if (!wave.zero()) spare_.push_back(std::move(wave.part));
        wave = Wave();
    }
    // Rescales entries to about 1 if they may be very large.
    void settle(Wave &wave) const {
        if (wave.bound < 60) return;
        const int shift = std::max(0, std::ilogb(std::max(1.0F, largest(wave.part.data(), size_))));
        scale(wave.part.data(), power_of_two(-shift), size_);
        wave.exponent += shift, wave.bound = 2;
    }
    void raise(Wave &wave, std::int64_t exponent) const {
        if (wave.zero() || wave.exponent >= exponent) return;
        scale(wave.part.data(), power_of_two(wave.exponent - exponent), size_);
        wave.bound += static_cast<double>(wave.exponent - exponent), wave.exponent = exponent;
    }
    void add(Wave &to, const Wave &more) {
        if (more.zero()) return;
        if (to.zero()) {
            to.part = take();
            std::copy(more.part.begin(), more.part.end(), to.part.begin());
            to.exponent = more.exponent, to.bound = more.bound;
            return;
        }
        raise(to, more.exponent);
        add_scaled(to.part.data(), power_of_two(more.exponent - to.exponent), more.part.data(), size_);
        to.bound = log_sum(to.bound, more.bound + static_cast<double>(more.exponent - to.exponent));
        settle(to);
    }

  private:
    std::size_t size_;
    std::vector<std::vector<float>> spare_;
};

// The data of a subtree: its vector (one per depth if depth is limited), and the sum of the vectors
// of all its nodes.
struct Sketched {
    std::uint64_t key = PartKeys::nothing;
    std::vector<Wave> level; // empty: it has no vector
    Wave sum;
    void give(Waves &waves) {
        for (Wave &wave : level) waves.give(wave);
        level.clear();
        waves.give(sum);
    }
};

} // namespace treelet
