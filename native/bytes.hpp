// How much memory something holds, or will hold.
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace treelet {

template <class T> std::size_t bytes_of(const std::vector<T> &values) { return values.capacity() * sizeof(T); }
// Of a vector that grows to n one by one, at most.
template <class T> std::size_t bytes_grown(std::size_t n) { return std::bit_ceil(n) * sizeof(T); }

// What an index will take, and what one thread takes beside it to make the index or to work with it.
struct Memory {
    std::size_t index = 0, working = 0;
};

// How many different things there are, counted in a byte each: a little more than there are, never fewer but by rare chance
// (Whang et al. 1990, linear counting).
class Distinct {
  public:
    explicit Distinct(std::size_t things) : seen_(std::bit_ceil(8 * things + 64), false) {}
    void add(std::uint64_t hash) {
        const std::size_t at = hash & (seen_.size() - 1);
        found_ += !seen_[at];
        seen_[at] = true;
    }
    std::size_t most() const {
        const auto m = static_cast<double>(seen_.size());
        return static_cast<std::size_t>(-m * std::log1p(-static_cast<double>(found_) / m) * 1.02) + 16;
    }

  private:
    std::vector<bool> seen_;
    std::size_t found_ = 0;
};

} // namespace treelet
