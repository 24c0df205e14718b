// Which distinct subtrees a tree holds and how often: the sparse matrix F of tree x subtree counts.
#pragma once
#include "store.hpp"

namespace treelet {

// Row t: nodes[start[t] .. start[t+1]), ascending, with their weights (counts, or a model's coefficients).
struct NodeWeights {
    std::vector<std::int64_t> start{0};
    std::vector<Id> node;
    std::vector<double> weight;
    std::size_t rows() const { return start.size() - 1; }

    // The given rows, in the given order.
    NodeWeights take(const std::int64_t *order, std::size_t n) const {
        NodeWeights out;
        for (std::size_t i = 0; i < n; ++i) {
            out.node.insert(out.node.end(), node.begin() + start[order[i]], node.begin() + start[order[i] + 1]);
            out.weight.insert(out.weight.end(), weight.begin() + start[order[i]], weight.begin() + start[order[i] + 1]);
            out.start.push_back(static_cast<std::int64_t>(out.node.size()));
        }
        return out;
    }
};

// O(distinct subtrees log) a tree, however many nodes the tree has when written out.
inline NodeWeights count_nodes(const Store &store, const Id *roots, std::size_t n) {
    NodeWeights out;
    std::vector<char> seen(store.size(), 0);
    std::vector<double> count(store.size(), 0);
    std::vector<Id> found;
    for (std::size_t t = 0; t < n; ++t) {
        if (roots[t] == none) { // a missing tree holds nothing
            out.start.push_back(static_cast<std::int64_t>(out.node.size()));
            continue;
        }
        found.assign(1, roots[t]);
        seen[roots[t]] = 1;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Id *kids = store.children(found[i]);
            const std::size_t arity = store.arity(found[i]);
            for (std::size_t k = 0; k < arity; ++k)
                if (!seen[kids[k]]) seen[kids[k]] = 1, found.push_back(kids[k]);
        }
        std::sort(found.begin(), found.end());
        count[roots[t]] = 1;
        for (std::size_t i = found.size(); i-- > 0;) {
            const Id *kids = store.children(found[i]);
            const std::size_t arity = store.arity(found[i]);
            for (std::size_t k = 0; k < arity; ++k) count[kids[k]] += count[found[i]];
        }
        for (Id node : found) {
            if (!(count[node] < 0x1p1000))
                throw std::length_error("tree " + std::to_string(t) + " has more nodes than a double can count");
            out.node.push_back(node);
            out.weight.push_back(count[node]);
            seen[node] = 0;
            count[node] = 0;
        }
        out.start.push_back(static_cast<std::int64_t>(out.node.size()));
    }
    return out;
}

// Row `row` of `trees` alone, in a store of its own with small ids in the same order: what a self-value needs.
// Labels keep their numbers. `scratch` is all none before and after.
inline void isolate(const Store &store, const NodeWeights &trees, std::size_t row, std::vector<Id> &scratch, Store &small,
                    NodeWeights &weights) {
    scratch.resize(store.size(), none);
    std::vector<Id> kids;
    for (std::int64_t i = trees.start[row]; i < trees.start[row + 1]; ++i) {
        const Id node = trees.node[i];
        kids.clear();
        for (std::size_t k = 0; k < store.arity(node); ++k) kids.push_back(scratch[store.children(node)[k]]);
        scratch[node] = small.add_node(store.label(node), kids.data(), kids.size());
        weights.node.push_back(scratch[node]);
        weights.weight.push_back(trees.weight[i]);
    }
    weights.start.push_back(static_cast<std::int64_t>(weights.node.size()));
    for (std::int64_t i = trees.start[row]; i < trees.start[row + 1]; ++i) scratch[trees.node[i]] = none;
}

} // namespace treelet
