// Inverted lists: from a key to the targets that hold it.
#pragma once
#include "simd.hpp"

namespace treelet {

// Postings: for each key, the targets that hold it (ascending) with a weight.
struct Postings {
    std::vector<std::int64_t> start;
    std::vector<Id> target;
    std::vector<double> weight;

    // `triples` come in ascending target order.
    struct Triple {
        Id key, target;
        double weight;
    };
    void build(const std::vector<Triple> &triples, std::size_t keys) {
        start.assign(keys + 1, 0);
        for (const Triple &t : triples) ++start[static_cast<std::size_t>(t.key) + 1];
        for (std::size_t k = 0; k < keys; ++k) start[k + 1] += start[k];
        target.resize(triples.size()), weight.resize(triples.size());
        std::vector<std::int64_t> next(start.begin(), start.end() - 1);
        for (const Triple &t : triples) {
            const auto at = static_cast<std::size_t>(next[t.key]++);
            target[at] = t.target, weight[at] = t.weight;
        }
    }
    std::size_t bytes() const { return target.size() * 12 + start.size() * 8; }

    // More weight for the only target of a key.
    void grow(Id key, double more) { weight[start[key]] += more; }

    // sums[target] += factor * weight for the key's targets below `last`.
    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        const std::int64_t end = start[static_cast<std::size_t>(key) + 1];
        for (std::int64_t k = start[key]; k < end && static_cast<std::size_t>(target[k]) < last; ++k)
            sums[target[k]] += factor * Num(weight[k]);
    }
};

// Postings whose keys may be in most targets: those are kept as plain vectors, which add several times faster.
class DensePostings {
  public:
    void build(const std::vector<Postings::Triple> &triples, std::size_t keys, std::size_t targets) {
        sparse_.build(triples, keys);
        dense_.assign(keys, none);
        for (std::size_t key = 0; key < keys; ++key) {
            const std::int64_t begin = sparse_.start[key], end = sparse_.start[key + 1];
            if (static_cast<std::size_t>(end - begin) * 5 < targets || values_.size() > max_cells) continue;
            dense_[key] = static_cast<Id>(values_.size() / targets);
            values_.resize(values_.size() + targets, 0);
            double *row = values_.data() + static_cast<std::size_t>(dense_[key]) * targets;
            for (std::int64_t k = begin; k < end; ++k) row[sparse_.target[k]] = sparse_.weight[k];
        }
        targets_ = targets;
    }
    std::size_t bytes() const { return sparse_.bytes() + values_.size() * 8; }

    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        if (dense_[key] == none) return sparse_.add(key, factor, last, sums);
        const double *row = values_.data() + static_cast<std::size_t>(dense_[key]) * targets_;
        if constexpr (std::is_same_v<Num, double>)
            add_scaled(sums, factor, row, last);
        else
            for (std::size_t j = 0; j < last; ++j) sums[j] += factor * Num(row[j]);
    }
    void grow(Id key, double more) {
        sparse_.grow(key, more);
        if (dense_[key] != none) values_[static_cast<std::size_t>(dense_[key]) * targets_] += more;
    }
    std::size_t length(Id key) const {
        return static_cast<std::size_t>(sparse_.start[static_cast<std::size_t>(key) + 1] - sparse_.start[key]);
    }

  private:
    static constexpr std::size_t max_cells = std::size_t{1} << 23;
    Postings sparse_;
    std::vector<Id> dense_;
    std::vector<double> values_;
    std::size_t targets_ = 0;
};

} // namespace treelet
