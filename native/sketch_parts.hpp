// The smallest parts of trees: a single node, and a node with one of its children. A sketch
// identifies them by numbers computed from the texts of labels, which are the same in every store.
#pragma once
#include "node_weights.hpp"

namespace treelet {

// How a sketch identifies parts.
struct PartKeys {
    static constexpr std::uint64_t nothing = 0;
    bool productions; // whether a node is identified by its production or by its label
    bool leaves;      // with productions: whether words are parts too

    std::uint64_t node(const Store &store, Id node) const {
        const std::size_t n = store.arity(node);
        std::uint64_t key = hash_text(store.label_text(store.label(node)));
        if (productions) {
            if (n == 0 && !leaves) return nothing;
            key = mix(key, n);
            for (std::size_t k = 0; k < n; ++k) key = mix(key, hash_text(store.label_text(store.label(store.children(node)[k]))));
        }
        return key == nothing ? 1 : key;
    }
    // Below a production, the position of a child matters; below a label, it does not.
    std::uint64_t pair(std::uint64_t node, std::size_t position, std::uint64_t child) const {
        const std::uint64_t key = mix(mix(node, productions ? position + 2 : 1), child);
        return key == nothing ? 1 : key;
    }
};

// The known parts, and the coordinates of those that are counted exactly.
class KnownParts {
  public:
    KnownParts(const std::uint64_t *key, const Id *coordinate, std::size_t n)
        : key_(key, key + n), coordinate_(coordinate, coordinate + n) {
        for (std::size_t i = 0; i < n; ++i) table_.insert(key_[i], static_cast<Id>(i));
    }
    bool has(std::uint64_t key) const { return place(key) != none; }
    // Returns none if the part is not counted exactly, or not known.
    Id coordinate(std::uint64_t key) const {
        const Id at = place(key);
        return at == none ? none : coordinate_[at];
    }
    std::size_t coordinates() const {
        return static_cast<std::size_t>(*std::max_element(coordinate_.begin(), coordinate_.end()) + 1);
    }
    bool empty() const { return key_.empty(); }

  private:
    Id place(std::uint64_t key) const {
        return table_.find(key, [&](Id other) { return key_[other] == key; });
    }
    std::vector<std::uint64_t> key_;
    std::vector<Id> coordinate_;
    IdTable table_;
};

// Counts the trees that contain each part, and its share of the self-values of trees.
class PartCounts {
  public:
    PartCounts(PartKeys keys, bool single_leaves, bool pairs) : keys_(keys), single_leaves_(single_leaves), pairs_(pairs) {}

    // share[t] is the share of one occurrence, squared, in tree t.
    void add(const Store &store, const NodeWeights &trees, const double *share) {
        for (std::size_t t = 0; t < trees.rows(); ++t) {
            for (std::int64_t i = trees.start[t]; i < trees.start[t + 1]; ++i)
                each_part(store, trees.node[i], keys_, single_leaves_, pairs_,
                          [&](std::uint64_t key, bool pair) { note(key, pair, trees.weight[i]); });
            for (Id part : met_) {
                ++trees_[part];
                mass_[part] += share[t] * count_[part] * count_[part];
                count_[part] = 0;
            }
            met_.clear();
        }
    }

    // Calls f(key, whether it is a pair) for the parts at a node.
    template <class F> static void each_part(const Store &store, Id node, PartKeys keys, bool single_leaves, bool pairs, F f) {
        const std::uint64_t own = keys.node(store, node);
        if (own == PartKeys::nothing) return;
        const std::size_t n = store.arity(node);
        if (n > 0 || single_leaves) f(own, false);
        if (!pairs) return;
        for (std::size_t k = 0; k < n; ++k)
            if (const std::uint64_t child = keys.node(store, store.children(node)[k]); child != PartKeys::nothing)
                f(keys.pair(own, k, child), true);
    }

    std::vector<std::uint64_t> key;
    std::vector<std::int64_t> trees() const { return trees_; }
    std::vector<double> mass() const { return mass_; }
    std::vector<std::int32_t> pair() const { return pair_; }

  private:
    void note(std::uint64_t what, bool pair, double count) {
        Id part = table_.find(what, [&](Id other) { return key[other] == what; });
        if (part == none) {
            part = next_id(key.size());
            table_.insert(what, part);
            key.push_back(what), trees_.push_back(0), mass_.push_back(0), count_.push_back(0), pair_.push_back(pair);
        }
        if (count_[part] == 0) met_.push_back(part);
        count_[part] += count;
    }
    PartKeys keys_;
    bool single_leaves_, pairs_;
    IdTable table_;
    std::vector<std::int64_t> trees_;
    std::vector<double> mass_, count_;
    std::vector<std::int32_t> pair_;
    std::vector<Id> met_;
};

} // namespace treelet
