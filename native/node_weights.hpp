// The distinct subtrees of each tree with their counts: the sparse matrix F of tree x subtree
// counts.
#pragma once
#include "pulse.hpp"
#include "store.hpp"

namespace treelet {

// Row t has the nodes[start[t] .. start[t+1]), ascending, with their weights (counts, or the
// coefficients of a model).
struct NodeWeights {
    Column<std::int64_t> start{0};
    Column<Id> node;
    Column<double> weight;
    std::shared_ptr<const void> memory; // keeps the memory alive that the columns view, if it belongs to somebody else
    std::size_t rows() const { return start.size() - 1; }
    template <class Self> static auto parts(Self &self) { return std::tie(self.start, self.node, self.weight); }
    bool consistent() const {
        return !start.empty() && start[0] == 0 && start.back() == static_cast<std::int64_t>(node.size()) &&
               node.size() == weight.size();
    }

    // Returns the given rows in the given order.
    NodeWeights take(const std::int64_t *order, std::size_t n) const {
        NodeWeights out;
        for (std::size_t i = 0; i < n; ++i) {
            out.node.append(node.begin() + start[order[i]], node.begin() + start[order[i] + 1]);
            out.weight.append(weight.begin() + start[order[i]], weight.begin() + start[order[i] + 1]);
            out.start.push_back(static_cast<std::int64_t>(out.node.size()));
        }
        return out;
    }

    // Returns weighted sums of the given rows, one row per vector of coefficients (outputs x n). All sums contain the same
    // nodes: those of all given rows, also where weights cancel.
    NodeWeights merged(const std::int64_t *order, std::size_t n, const double *coefficients, std::size_t outputs) const {
        Id size = 0;
        for (std::size_t i = 0; i < n; ++i) // nodes are ascending
            if (start[order[i] + 1] > start[order[i]]) size = std::max(size, node[start[order[i] + 1] - 1] + 1);
        Marks place(static_cast<std::size_t>(size));
        Pulse pulse;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::int64_t k = start[order[i]]; k < start[order[i] + 1]; ++k)
                if (!place.has(node[k])) place.set(node[k], 0);
            pulse.add(static_cast<std::size_t>(start[order[i] + 1] - start[order[i]]));
        }
        std::vector<Id> nodes = place.given();
        sort_marked(nodes, static_cast<std::size_t>(size), [&](Id v) { return place.has(v); });
        for (std::size_t k = 0; k < nodes.size(); ++k) place.set(nodes[k], static_cast<Id>(k));
        NodeWeights out;
        std::vector<double> sum(nodes.size());
        for (std::size_t o = 0; o < outputs; ++o) {
            std::fill(sum.begin(), sum.end(), 0);
            for (std::size_t i = 0; i < n; ++i) {
                const double factor = coefficients[o * n + i];
                if (factor == 0) continue;
                pulse.add(static_cast<std::size_t>(start[order[i] + 1] - start[order[i]]));
                for (std::int64_t k = start[order[i]]; k < start[order[i] + 1]; ++k) sum[place[node[k]]] += factor * weight[k];
            }
            out.node.append(nodes.begin(), nodes.end());
            out.weight.append(sum.begin(), sum.end());
            out.start.push_back(static_cast<std::int64_t>(out.node.size()));
        }
        return out;
    }
};

// Counts the distinct parts of each tree; for a forest, their expected counts. Takes O(distinct
// parts log) time per tree, regardless of the number of nodes of the written tree.
template <class Store> NodeWeights count_nodes(const Store &store, const Id *roots, std::size_t n) {
    NodeWeights out;
    Marks place(store.size());
    std::vector<double> count;
    std::vector<Id> nodes;
    Pulse pulse;
    for (std::size_t t = 0; t < n; ++t) {
        place.clear();
        below(store, roots + t, 1, place, nodes);
        pulse.add(16 * nodes.size());
        count.assign(nodes.size(), 0);
        if (!nodes.empty()) count.back() = 1; // the root comes last
        for (std::size_t i = nodes.size(); i-- > 0;)
            store.each_child(nodes[i], [&](Id child, double times) { count[place[child]] += times * count[i]; });
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!(count[i] < 0x1p1000))
                throw std::length_error("tree " + std::to_string(t) + " has more nodes than a float64 can count");
            if (store.hidden(nodes[i])) continue;
            out.node.push_back(nodes[i]);
            out.weight.push_back(count[i]);
        }
        out.start.push_back(static_cast<std::int64_t>(out.node.size()));
    }
    return out;
}

// Converts rows of weighted sums of whole trees (start, index into `roots`, weight) to weights of
// all nodes below them: the graph of section 5 of Collins & Duffy (2001). Every node of the store
// is in some row, at least with weight 0, so an index over the rows keeps the parts of a subtree
// together.
template <class Store> NodeWeights spread(const Store &store, const Id *roots, const NodeWeights &at_roots) {
    NodeWeights out;
    Marks seen(store.size());
    Marks place(store.size());
    std::vector<double> sum;
    std::vector<Id> tops;
    Pulse pulse;
    for (std::size_t row = 0; row < at_roots.rows(); ++row) {
        tops.clear();
        for (std::int64_t i = at_roots.start[row]; i < at_roots.start[row + 1]; ++i) tops.push_back(roots[at_roots.node[i]]);
        place.clear();
        const std::vector<Id> nodes = below(store, tops.data(), tops.size(), place);
        pulse.add(16 * nodes.size());
        sum.assign(nodes.size(), 0);
        for (std::int64_t i = at_roots.start[row]; i < at_roots.start[row + 1]; ++i)
            sum[place[tops[i - at_roots.start[row]]]] += at_roots.weight[i];
        for (std::size_t i = nodes.size(); i-- > 0;)
            if (sum[i] != 0) store.each_child(nodes[i], [&](Id child, double times) { sum[place[child]] += times * sum[i]; });
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (store.hidden(nodes[i])) continue;
            seen.set(nodes[i], 0);
            out.node.push_back(nodes[i]), out.weight.push_back(sum[i]);
        }
        out.start.push_back(static_cast<std::int64_t>(out.node.size()));
    }
    if (at_roots.rows() == 0 || seen.given().size() == store.size()) return out;
    NodeWeights all; // the first row again, with the nodes that are in no row
    std::int64_t at = 0;
    for (Id node = 0; node < static_cast<Id>(store.size()); ++node) {
        if (at < out.start[1] && out.node[at] == node)
            all.node.push_back(node), all.weight.push_back(out.weight[at++]);
        else if (!seen.has(node) && !store.hidden(node))
            all.node.push_back(node), all.weight.push_back(0);
    }
    const std::int64_t more = static_cast<std::int64_t>(all.node.size()) - out.start[1];
    all.node.append(out.node.begin() + out.start[1], out.node.end());
    all.weight.append(out.weight.begin() + out.start[1], out.weight.end());
    for (std::size_t row = 0; row < at_roots.rows(); ++row) all.start.push_back(out.start[row + 1] + more);
    return all;
}

// Copies row `row` of `trees` to its own store, to compute a self-value. The nodes of a tree are
// numbered in the order in which a reader completes them, so the last bits of the value do not
// depend on the numbers in the large store. Rows that are not one tree keep their order. Labels
// keep their numbers. The marks are working memory: for the nodes of the store, and for its
// productions.
inline void isolate(const Store &store, const NodeWeights &trees, std::size_t row, Marks &here, Marks &, Store &small,
                    NodeWeights &weights) {
    here.clear();
    const std::int64_t begin = trees.start[row], end = trees.start[row + 1];
    const auto count = static_cast<std::size_t>(end - begin);
    std::vector<Id> nodes, kids;
    if (count > 0) nodes = completed(store, &trees.node[end - 1], 1, here); // the root comes last
    bool is_tree = nodes.size() == count;
    for (std::int64_t i = begin; i < end && is_tree; ++i) is_tree = here.has(trees.node[i]);
    std::vector<double> weight(trees.weight.begin() + begin, trees.weight.begin() + end);
    if (is_tree)
        for (std::int64_t i = begin; i < end; ++i) weight[here[trees.node[i]]] = trees.weight[i];
    else
        nodes.assign(trees.node.begin() + begin, trees.node.begin() + end), here.clear();
    for (Id node : nodes) {
        kids.clear();
        for (std::size_t k = 0; k < store.arity(node); ++k) kids.push_back(here[store.children(node)[k]]);
        here.set(node, small.add_node(store.label(node), kids.data(), kids.size()));
        weights.node.push_back(here[node]);
    }
    weights.weight.append(weight.begin(), weight.end());
    weights.start.push_back(static_cast<std::int64_t>(count));
}

} // namespace treelet
