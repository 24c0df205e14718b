// The gap-weighted subsequence kernel (Lodhi et al. 2002) between sequences of features, over a whole matrix at once.
//
//   K = sum over subsequences u of `length` features, each place they are at in both, of lam^(span in one + span in the other)
//
// Sequences lie in the store as for the locality kernel, so that equal ones are one node and K = F C F' over distinct
// sequences. C is a dynamic programme over the places of the two; it is run where they have enough features in common.
#pragma once
#include "locality.hpp"

namespace treelet {

template <class Num> class SubsequenceColumns {
  public:
    SubsequenceColumns(Targets targets, Num lam, Id length) : targets_(std::move(targets)), lam_(lam), length_(length) {
        const Store &store = *targets_.store;
        const NodeWeights &w = targets_.weights;
        local_.assign(store.size(), none);
        Tally sequences;
        for (std::size_t t = 0; t < w.rows(); ++t) {
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) {
                const Id node = w.node[i];
                if (!is_sequence(store, node)) continue;
                if (local_[node] == none) local_[node] = static_cast<Id>(column_.size()), column_.push_back(node);
                sequences.add(local_[node], w.weight[i]);
            }
            sequences.next(static_cast<Id>(t));
        }
        postings_.build(sequences.triples, column_.size());
        Tally holders; // for each feature the sequences that hold it, and how often
        for (std::size_t v = 0; v < column_.size(); ++v) {
            each_feature(store, column_[v], [&](IdPair key) { holders.add(features_.add(key), 1); });
            holders.next(static_cast<Id>(v));
        }
        holders_.build(holders.triples, features_.size());
    }

    void rows(Rows &rows, void (*check)()) {
        std::unique_ptr<Scratch> scratch = scratch_.take(rows.store->size());
        if (scratch->common.size() < column_.size()) scratch->common.resize(column_.size(), 0);
        Pulse pulse(check);
        for (std::size_t row = rows.begin; row < rows.end;) {
            scratch->block.build(*rows.store, *rows.trees, row, rows.end, scratch->index);
            block(rows, *scratch, pulse);
            row += scratch->block.rows;
            scratch->block.forget(scratch->index);
        }
        scratch_.give(std::move(scratch));
    }

    // Adds to the weights of the only target, which must hold the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i)
            if (const Id local = local_[node[i]]; local != none) postings_.grow(local, scale * weight[i]);
    }

    std::size_t bytes() const { return postings_.bytes() + holders_.bytes() + local_.size() * sizeof(Id); }

  private:
    struct Scratch {
        std::vector<Id> index;
        RowBlock block;
        std::vector<Num> sums, shorter, longer;
        std::vector<Id> common; // per column: how many places hold a feature of the row's sequence
        std::vector<Id> met;
    };

    template <class F> static void each_feature(const Store &store, Id node, F f) {
        const Id *kids = store.children(node);
        for (std::size_t i = 0; i < store.arity(node); ++i) f(IdPair{store.label(node), store.label(kids[i])});
    }

    void block(Rows &rows, Scratch &s, Pulse &pulse) const {
        const Store &store = *rows.store;
        const RowBlock &b = s.block;
        const std::size_t n = targets_.size(), last_row = b.first_row + b.rows - 1, last = rows.targets(last_row, n);
        const Id limit = rows.node_limit(last_row);
        s.sums.assign(b.rows * n, Num(0));
        for (std::size_t i = 0; i < b.node.size(); ++i) {
            const Id u = b.node[i];
            if (!is_sequence(store, u) || store.arity(u) < static_cast<std::size_t>(length_)) continue;
            each_feature(store, u, [&](IdPair key) {
                const Id feature = features_.find(key);
                if (feature == none) return;
                for (std::int64_t h = holders_.start[feature]; h < holders_.start[feature + 1]; ++h) {
                    const Id v = holders_.target[h];
                    if (column_[v] > limit) continue;
                    if (s.common[v]++ == 0) s.met.push_back(v);
                }
            });
            for (Id v : s.met) {
                const bool enough = s.common[v] >= length_;
                s.common[v] = 0;
                if (!enough) continue;
                const Num value = compare(store, u, column_[v], s);
                pulse.add(store.arity(u) * targets_.store->arity(column_[v]) * static_cast<std::size_t>(length_));
                for (std::int64_t o = b.start[i]; o < b.start[i + 1]; ++o)
                    postings_.add(v, value * Num(b.occurrence[o].count), last,
                                  s.sums.data() + static_cast<std::size_t>(b.occurrence[o].row) * n);
            }
            s.met.clear();
        }
        for (std::size_t r = 0; r < b.rows; ++r)
            write_row(rows, b.first_row + r, s.sums.data() + r * n, rows.targets(b.first_row + r, n));
    }

    // shorter[i][k]: subsequences of the first i and k places, of one feature less, weighted as if they went on to the end
    // of these places; at first the empty one.
    Num compare(const Store &store, Id u, Id v, Scratch &s) const {
        const Store &others = *targets_.store;
        const std::size_t rows = store.arity(u), columns = others.arity(v), width = columns + 1;
        const Id *const one = store.children(u), *const other = others.children(v);
        s.shorter.assign((rows + 1) * width, Num(1));
        for (Id size = 1; size < length_; ++size) {
            s.longer.assign((rows + 1) * width, Num(0));
            for (std::size_t i = 1; i <= rows; ++i) {
                Num ends_here(0); // those whose last feature in `one` is at i
                for (std::size_t k = 1; k <= columns; ++k) {
                    ends_here *= lam_;
                    if (store.label(one[i - 1]) == others.label(other[k - 1]))
                        ends_here += lam_ * lam_ * s.shorter[(i - 1) * width + k - 1];
                    s.longer[i * width + k] = lam_ * s.longer[(i - 1) * width + k] + ends_here;
                }
            }
            std::swap(s.shorter, s.longer);
        }
        Num total(0);
        for (std::size_t i = 1; i <= rows; ++i)
            for (std::size_t k = 1; k <= columns; ++k)
                if (store.label(one[i - 1]) == others.label(other[k - 1]))
                    total += lam_ * lam_ * s.shorter[(i - 1) * width + k - 1];
        return total;
    }

    Targets targets_;
    Num lam_;
    Id length_;
    std::vector<Id> local_, column_; // node -> number of the column, and back
    PairNumbers features_;           // (type, feature)
    Postings postings_, holders_;
    ScratchPool<Scratch> scratch_;
};

} // namespace treelet
