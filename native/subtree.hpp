// The subtree kernel (Vishwanathan & Smola; "ST" in Moschitti 2006): complete subtrees only.
// Equal subtrees are one node, so K = F diag(lam^size) F' over the nodes that have a production.
#pragma once
#include "matrix_rows.hpp"
#include "postings.hpp"
#include "pulse.hpp"

namespace treelet {

template <class Num> class SubtreeColumns {
  public:
    SubtreeColumns(Targets targets, Num lam) : targets_(std::move(targets)) {
        const Store &store = *targets_.store;
        const NodeWeights &w = targets_.weights;
        local_.assign(store.size(), none);
        Id locals = 0;
        std::vector<Postings::Triple> triples;
        for (std::size_t t = 0; t < w.rows(); ++t)
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) {
                const Id node = w.node[i];
                if (store.production(node) == none) continue;
                if (local_[node] == none) {
                    local_[node] = locals++;
                    decay_.push_back(power(lam, store.productions_below(node)));
                }
                triples.push_back({local_[node], static_cast<Id>(t), w.weight[i]});
            }
        postings_.build(triples, static_cast<std::size_t>(locals), w.rows());
    }

    void rows(Rows &rows, void (*check)()) {
        Pulse pulse(check);
        std::vector<Num> sums(targets_.size(), Num(0));
        for (std::size_t row = rows.begin; row < rows.end; ++row) {
            const std::size_t m = rows.targets(row, targets_.size());
            for (std::int64_t i = rows.trees->start[row]; i < rows.trees->start[row + 1]; ++i) {
                const Id node = rows.trees->node[i];
                const Id local = static_cast<std::size_t>(node) < local_.size() ? local_[node] : none;
                if (local == none) continue;
                postings_.add(local, decay_[local] * Num(rows.trees->weight[i]), m, sums.data());
            }
            write_row(rows, row, sums.data(), m);
            std::fill_n(sums.begin(), m, Num(0));
            pulse.add(m);
        }
    }

    // Adds to the weights of the only target, which must hold the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i)
            if (const Id local = local_[node[i]]; local != none) postings_.grow(local, scale * weight[i]);
    }

    std::size_t bytes() const { return postings_.bytes() + local_.size() * sizeof(Id); }

  private:
    Targets targets_;
    std::vector<Id> local_;
    std::vector<Num> decay_; // lam^size
    DensePostings postings_;
};

} // namespace treelet
