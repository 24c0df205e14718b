// Blocks of row trees, so that what they share is compared with the columns once.
#pragma once
#include "node_weights.hpp"
#include <span>

namespace treelet {

// Consecutive row trees that are worked on together, because they share most of their subtrees (n-best lists).
struct RowBlock {
    struct Occurrence {
        Id row; // within the block
        double count;
    };
    std::size_t first_row = 0, rows = 0;
    std::vector<Id> node;            // distinct, ascending
    std::vector<std::int64_t> start; // occurrences of node[i]: start[i] .. start[i+1]
    std::vector<Occurrence> occurrence;
    std::vector<Id> uses; // edges into node[i] from within the block

    static constexpr std::size_t max_rows = 32;

    // Takes row `first` and as many of the following (before `end`) as share more than half of their subtrees with it.
    // `index` maps a node to its place in the block, or none; it is all none before and filled after.
    template <class Store>
    void build(const Store &store, const NodeWeights &trees, std::size_t first, std::size_t end, std::vector<Id> &index) {
        first_row = first;
        rows = 0;
        entries_.clear();
        for (std::size_t row = first; row < end && rows < max_rows; ++row) {
            std::int64_t shared = 0;
            const std::int64_t a = trees.start[row], b = trees.start[row + 1];
            for (std::int64_t i = a; i < b; ++i) shared += index[trees.node[i]] != none;
            if (rows > 0 && 2 * shared <= b - a) break;
            for (std::int64_t i = a; i < b; ++i) {
                index[trees.node[i]] = 0;
                entries_.push_back({trees.node[i], {static_cast<Id>(rows), trees.weight[i]}});
            }
            ++rows;
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
                if (index[child] == none) throw std::invalid_argument("a row lacks a child of one of its nodes");
                ++uses[index[child]];
            });
    }
    // The rows that hold node i.
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
};

} // namespace treelet
