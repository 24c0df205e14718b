// Products of counts: the part P P' of a kernel that depends only on the counts of productions,
// labels or tags on both sides.
#pragma once
#include "matrix_rows.hpp"
#include "postings.hpp"
#include "pulse.hpp"

namespace treelet {

// Sums of weights by key.
class Counts {
  public:
    void prepare(std::size_t keys) {
        if (total_.size() < keys) total_.resize(keys, 0);
    }
    void add(Id key, double weight) {
        if (total_[key] == 0) seen_.push_back(key); // a key may occur twice if weights cancel: the second time with sum 0
        total_[key] += weight;
    }
    // Calls f(key, sum of weights) for every key, in the order of insertion, and clears the sums.
    template <class F> void take(F f) {
        for (Id key : seen_) f(key, total_[key]), total_[key] = 0;
        seen_.clear();
    }

  private:
    std::vector<double> total_;
    std::vector<Id> seen_;
};

class CountProduct {
  public:
    // `keys(node, weight, add)` calls add(key, weight) for each key of a node: here for the
    // targets, below for the rows.
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
    // Estimates the memory of build.
    template <class Keys> static Memory estimate(const NodeWeights &w, Keys keys) {
        const std::vector<Id> found = lengths(w.rows(), by_node(w, keys));
        Memory out = DensePostings::estimate(found, w.rows());
        out.index += found.size() * sizeof(Id);
        return out;
    }

    // Returns the number of a key that some target contains, or none.
    Id local(Id key) const { return static_cast<std::size_t>(key) < local_.size() ? local_[key] : none; }
    Id size() const { return size_; }

    // sums += factor * P(row) P', for the targets below `last`; `seen` is working memory.
    template <class Num, class Rows, class Keys> void add(const Rows &rows, std::size_t row, Num factor, Counts &seen,
                                                          std::size_t last, Num *sums, Pulse &pulse, Keys keys) const {
        seen.prepare(static_cast<std::size_t>(size_));
        by_node(*rows.trees, keys)(row, [&](Id key, double weight) {
            if (const Id number = local(key); number != none) seen.add(number, weight);
        });
        seen.take([&](Id number, double count) {
            pulse.add(postings_.length(number));
            postings_.add(number, factor * Num(count), last, sums);
        });
    }

    // The same for a single key, if some target contains it.
    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        if (local(key) != none) postings_.add(local_[key], factor, last, sums);
    }

    // Adds to the weight of the only target, which must contain the key.
    void grow(Id key, double more) { postings_.grow(local_[key], more); }
    template <class Self> static auto parts(Self &self) { return std::tie(self.local_, self.size_, self.postings_); }

  private:
    Column<Id> local_; // key -> its number
    Id size_ = 0;
    DensePostings postings_;
};

} // namespace treelet
