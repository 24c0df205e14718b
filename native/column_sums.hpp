// Computes sums per target from values per column. Each target contains columns with weights.
#pragma once
#include "postings.hpp"

namespace treelet {

class ColumnSums {
  public:
    // `each(target, add)` calls add(column, weight) for the columns that a target contains. It is
    // called twice and must repeat the same calls.
    template <class Each> void build(std::size_t targets, Each each) {
        std::size_t ones = 0, others = 0;
        for (std::size_t t = 0; t < targets; ++t) each(t, [&](Id, double weight) { ++(is_one(targets, weight) ? ones : others); });
        one_.reserve(ones), other_.reserve(others);
        one_start_.reserve(targets + 1), other_start_.reserve(targets + 1);
        for (std::size_t t = 0; t < targets; ++t) {
            each(t, [&](Id column, double weight) {
                if (is_one(targets, weight))
                    one_.push_back(column);
                else
                    other_.push_back({column, 0, weight});
            });
            one_start_.push_back(static_cast<std::int64_t>(one_.size()));
            other_start_.push_back(static_cast<std::int64_t>(other_.size()));
        }
    }
    // Estimates the bytes of the result; the weights of an only target may grow.
    template <class Each> static std::size_t estimate(std::size_t targets, std::size_t columns, Each each) {
        std::size_t bytes = 2 * (targets + 2) * sizeof(std::int64_t) + (targets == 1 ? columns * sizeof(Id) : 0);
        for (std::size_t t = 0; t < targets; ++t)
            each(t, [&](Id, double weight) { bytes += is_one(targets, weight) ? sizeof(Id) : sizeof(Other); });
        return bytes;
    }
    template <class Self> static auto parts(Self &self) {
        return std::tie(self.one_start_, self.one_, self.other_start_, self.other_, self.place_);
    }
    bool consistent() const {
        return one_start_.size() == other_start_.size() && !one_start_.empty() &&
               one_start_.back() == static_cast<std::int64_t>(one_.size()) &&
               other_start_.back() == static_cast<std::int64_t>(other_.size());
    }

    // sums[t] += weight * value[column] for the first `targets` targets and all their columns.
    template <class Num> void add(const Num *value, std::size_t targets, Num *sums) const {
        for (std::size_t t = 0; t < targets; ++t) {
            const Id *one = one_.data() + one_start_[t], *const ones = one_.data() + one_start_[t + 1];
            const Other *other = other_.data() + other_start_[t], *const others = other_.data() + other_start_[t + 1];
            Num sum[4] = {sums[t], Num(0), Num(0), Num(0)}; // independent sums: a single one would wait for itself
            for (; ones - one >= 4; one += 4)
                for (int k = 0; k < 4; ++k) sum[k] += value[one[k]];
            for (; one < ones; ++one) sum[1] += value[*one];
            for (; others - other >= 4; other += 4)
                for (int k = 0; k < 4; ++k) sum[k] += Num(other[k].weight) * value[other[k].column];
            for (; other < others; ++other) sum[2] += Num(other->weight) * value[other->column];
            sums[t] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
    }

    // Adds to the weight of a column of the only target. `columns` is the total number of columns.
    void grow(Id column, double more, std::size_t columns) {
        if (place_.empty()) {
            place_.assign(columns, none);
            for (std::size_t k = 0; k < other_.size(); ++k) place_[other_[k].column] = static_cast<Id>(k);
        }
        other_[place_[column]].weight += more;
    }

  private:
    struct Other {
        Id column;
        Id unused; // no byte is undefined, so equal data have equal checksums
        double weight;
    };
    // Most counts are 1 and are not stored. Those of an only target may grow, so they are.
    static bool is_one(std::size_t targets, double weight) { return weight == 1 && targets > 1; }

    Column<std::int64_t> one_start_{0}, other_start_{0};
    Column<Id> one_;      // columns with weight 1
    Column<Other> other_; // columns with other weights
    Column<Id> place_;    // column -> its index in other_, for the only target
};

} // namespace treelet
