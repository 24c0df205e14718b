// Products of counts: the part P P' of a kernel that both sides' counts of productions, labels or tags alone give.
#pragma once
#include "matrix_rows.hpp"
#include "postings.hpp"
#include "pulse.hpp"

namespace treelet {

using Counts = std::vector<std::pair<Id, double>>; // (key, weight)

// Calls f(key, sum of weights) for every key, in ascending order.
template <class F> void each_total(Counts &seen, F f) {
    std::sort(seen.begin(), seen.end());
    for (std::size_t i = 0; i < seen.size();) {
        const Id key = seen[i].first;
        double total = 0;
        for (; i < seen.size() && seen[i].first == key; ++i) total += seen[i].second;
        f(key, total);
    }
}

class CountProduct {
  public:
    // `keys(node, weight, add)` calls add(key, weight) for each key of a node: as here for the targets, so below for the rows.
    template <class Keys> void build(const NodeWeights &w, Keys keys) {
        const auto numbered = [&](Id node, double weight, auto add) {
            keys(node, weight, [&](Id key, double part) {
                const auto k = static_cast<std::size_t>(key);
                if (k >= local_.size()) local_.resize(k + 1, none);
                if (local_[k] == none) local_[k] = size_++;
                add(local_[k], part);
            });
        };
        postings_.build(w.rows(), by_node(w, numbered));
        local_.shrink_to_fit();
    }
    // What that will take.
    template <class Keys> static Memory estimate(const NodeWeights &w, Keys keys) {
        const std::vector<Id> found = lengths(w.rows(), by_node(w, keys));
        Memory out = DensePostings::estimate(found, w.rows());
        out.index += found.size() * sizeof(Id);
        return out;
    }

    // The number of a key that some target holds, or none.
    Id local(Id key) const { return static_cast<std::size_t>(key) < local_.size() ? local_[key] : none; }
    Id size() const { return size_; }

    // sums += factor * P(row) P', for the targets below `last`; `seen` is working memory.
    template <class Num, class Rows, class Keys> void add(const Rows &rows, std::size_t row, Num factor, Counts &seen,
                                                          std::size_t last, Num *sums, Pulse &pulse, Keys keys) const {
        seen.clear();
        by_node(*rows.trees, keys)(row, [&](Id key, double weight) {
            if (local(key) != none) seen.push_back({key, weight});
        });
        each_total(seen, [&](Id key, double count) {
            pulse.add(postings_.length(local_[key]));
            postings_.add(local_[key], factor * Num(count), last, sums);
        });
    }

    // The same for a single key, if some target holds it.
    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        if (local(key) != none) postings_.add(local_[key], factor, last, sums);
    }

    // More weight for the only target, which must hold the key.
    void grow(Id key, double more) { postings_.grow(local_[key], more); }
    std::size_t bytes() const { return bytes_of(local_) + postings_.bytes(); }

  private:
    std::vector<Id> local_; // key -> its number
    Id size_ = 0;
    DensePostings postings_;
};

} // namespace treelet
