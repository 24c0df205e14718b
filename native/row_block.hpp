// Blocks of row trees, whose shared subtrees are compared with the columns only once.
#pragma once
#include "node_weights.hpp"
#include <span>

namespace treelet {

// Consecutive row trees that are processed together because they share most of their subtrees
// (n-best lists).
struct RowBlock {
    struct Occurrence {
        Id row; // within the block
        double count;
    };
    std::size_t first_row = 0, rows = 0;
    std::vector<Id> node;            // distinct, ascending
    std::vector<std::int64_t> start; // occurrences of node[i]: start[i] .. start[i+1]
    std::vector<Occurrence> occurrence;
    std::vector<Id> uses; // number of edges into node[i] from within the block

    static constexpr std::size_t max_rows = 32;

    // Takes row `first`, and as many of the following rows (before `end`, at most `most` in all) as
    // share more than half of their subtrees with it. `index` maps a node to its position in the
    // block, or none; it is all none before and filled after. Nodes for which `skips(node)` is true
    // are left out.
    template <class Store, class Skips> void build(const Store &store, const NodeWeights &trees, std::size_t first, std::size_t end,
                                                   std::vector<Id> &index, std::size_t most, Skips skips) {
        first_row = first;
        rows = 0;
        entries_.clear();
        for (std::size_t row = first; row < end && rows < most; ++row) {
            for (std::int64_t i = trees.start[row], all = next_.empty() ? trees.start[row + 1] : i; i < all; ++i)
                if (!skips(trees.node[i])) next_.push_back({trees.node[i], {0, trees.weight[i]}});
            std::size_t shared = 0;
            for (const Entry &entry : next_) shared += index[entry.node] != none;
            if (rows > 0 && 2 * shared <= next_.size()) break;
            for (Entry &entry : next_) index[entry.node] = 0, entry.occurrence.row = static_cast<Id>(rows);
            ++rows;
            if (entries_.empty())
                entries_.swap(next_);
            else
                entries_.insert(entries_.end(), next_.begin(), next_.end()), next_.clear();
        }
        if (rows > 1)
            std::stable_sort(entries_.begin(), entries_.end(), [](const Entry &x, const Entry &y) { return x.node < y.node; });
        node.clear(), start.clear(), occurrence.clear();
        for (const Entry &entry : entries_) {
            if (node.empty() || node.back() != entry.node) {
                index[entry.node] = static_cast<Id>(node.size());
                node.push_back(entry.node);
                start.push_back(static_cast<std::int64_t>(occurrence.size()));
            }
            occurrence.push_back(entry.occurrence);
        }
        start.push_back(static_cast<std::int64_t>(occurrence.size()));
        uses.assign(node.size(), 0);
        for (Id u : node)
            store.each_child(u, [&](Id child, double) {
                if (index[child] != none)
                    ++uses[index[child]];
                else if (!skips(child))
                    throw std::invalid_argument("a row lacks a child of one of its nodes");
            });
    }
    // Returns the rows that contain node i.
    std::span<const Occurrence> held(std::size_t i) const {
        return {occurrence.data() + start[i], occurrence.data() + start[i + 1]};
    }
    void forget(std::vector<Id> &index) const {
        for (Id u : node) index[u] = none;
    }

  private:
    struct Entry {
        Id node;
        Occurrence occurrence;
    };
    std::vector<Entry> entries_;
    std::vector<Entry> next_; // the first row of the next block, if it was already read
};

} // namespace treelet
