// The subtree kernel (Vishwanathan & Smola; "ST" in Moschitti 2006): complete subtrees only. Equal
// subtrees are one node, so K = F diag(lam^size) F' over the nodes with a production.
#pragma once
#include "row_loop.hpp"

namespace treelet {

template <class Num> class SubtreeColumns : public RowLoop<SubtreeColumns<Num>, RowScratch<Num>> {
    using Loop = RowLoop<SubtreeColumns<Num>, RowScratch<Num>>;

  public:
    // Without an index: the caller sets all parts.
    SubtreeColumns(const Store &, Num) : Loop(0) {}
    SubtreeColumns(Targets targets, Num lam) : Loop(targets.size()) {
        const Store &store = *targets.store;
        local_.assign(store.size(), none);
        postings_.build(targets.size(), by_node(targets.weights, [&](Id node, double weight, auto add) {
                            if (store.production(node) == none) return;
                            if (local_[node] == none) {
                                local_[node] = static_cast<Id>(decay_.size());
                                decay_.push_back(power(lam, store.productions_below(node)));
                            }
                            add(local_[node], weight);
                        }));
    }

    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        const NodeWeights &w = *b.rows.trees;
        for (std::int64_t i = w.start[b.first + r]; i < w.start[b.first + r + 1]; ++i)
            if (static_cast<std::size_t>(w.node[i]) < local_.size())
                if (const Id local = local_[w.node[i]]; local != none)
                    postings_.add(local, decay_[local] * Num(w.weight[i]), b.last, sums);
        b.pulse.add(b.last);
    }

    // Adds to the weights of the only target, which must contain the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i)
            if (const Id local = local_[node[i]]; local != none) postings_.grow(local, scale * weight[i]);
    }

    static Memory estimate(Targets targets, Num) {
        const Store &store = *targets.store;
        const std::vector<Id> found = lengths(targets.size(), by_node(targets.weights, [&](Id node, double weight, auto add) {
                                                  if (store.production(node) != none) add(node, weight);
                                              }));
        Memory out = DensePostings::estimate(found, targets.size());
        const auto keys = static_cast<std::size_t>(std::count_if(found.begin(), found.end(), [](Id n) { return n > 0; }));
        out.index += store.size() * sizeof(Id) + bytes_grown<Num>(keys);
        out.working = std::max(out.working, Loop::working(targets.size(), 0));
        return out;
    }
    template <class Self> static auto parts(Self &self) { return std::tie(self.size_, self.local_, self.decay_, self.postings_); }
    std::size_t bytes() const { return bytes_of(*this); }
    bool consistent(const Store &store) const { return local_.size() == store.size(); }

  private:
    Column<Id> local_;  // node -> its number, none if no target contains it
    Column<Num> decay_; // lam^size
    DensePostings postings_;
};

} // namespace treelet
