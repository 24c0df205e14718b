// Sizes in memory, actual or estimated.
#pragma once
#include "column.hpp"
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace treelet {

template <class T> std::size_t bytes_of(const std::vector<T> &values) { return values.capacity() * sizeof(T); }
template <class T> std::size_t bytes_of(const Column<T> &values) { return values.capacity() * sizeof(T); }
// The bytes of the columns that an object owns.
template <class Object>
    requires requires(const Object &object) { Object::parts(object); }
std::size_t bytes_of(const Object &object) {
    std::size_t bytes = 0;
    const auto add = [&](const auto &part) {
        if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) bytes += bytes_of(part);
    };
    each_part(object, add);
    return bytes;
}
// Upper bound for a vector that grows to n items one by one.
template <class T> std::size_t bytes_grown(std::size_t n) { return std::bit_ceil(n) * sizeof(T); }

// Bytes of an index, and of the working memory of one thread that builds or uses the index.
struct Memory {
    std::size_t index = 0, working = 0;
};

// Estimates the number of distinct items with one byte per item. The result is slightly too large,
// and too small only by rare chance (Whang et al. 1990, linear counting).
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
