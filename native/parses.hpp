// The results of a chart: the k best parses, the packed forest, the mask of a coarse pass, and the
// pieces of a sentence.
#pragma once
#include "chart_forest.hpp"
#include "chart_graph.hpp"
#include <set>

namespace treelet {

// Finds the k best parses: trees in `store`, with log probabilities in descending order, each tree
// once.
inline void kbest(const Chart &c, std::size_t k, Store &store, std::vector<Id> &roots, std::vector<double> &logps) {
    if (c.best() == impossible) return;
    // All parses within a threshold of the best consist of edges within that threshold. If at least
    // k parses are within it, they include the k best.
    for (double threshold = 10;; threshold = threshold < 50 ? 2 * threshold : std::numeric_limits<double>::infinity()) {
        ChartOutside outside(c, threshold, ChartOutside::some);
        ChartGraph graph(c, store, outside);
        LazyKBest<ChartGraph> search(graph, c.check);
        std::set<Id> seen;
        double score;
        roots.clear(), logps.clear();
        // If symbols share labels, there can be many more derivations than trees, so the search is
        // limited.
        const std::size_t most = 100 * k + 10000;
        std::size_t i = 0;
        for (; i < most && roots.size() < k && search.find(graph.root, i, score) && score >= outside.least; ++i) {
            const Id tree = search.value(graph.root, i)[0];
            if (!seen.insert(tree).second) continue;
            roots.push_back(tree), logps.push_back(score);
        }
        if (roots.size() == k || i == most || std::isinf(threshold)) return;
    }
}

// Returns the forest without edges that are in no tree within `threshold` of the best; infinity
// keeps all edges.
inline Forest forest(const Chart &c, double threshold, std::size_t max_edges) {
    Forest::Parts parts;
    Id cycle = none;
    if (c.best() == impossible) return Forest::make(parts, cycle);
    ChartForest unpacked(c, threshold, max_edges, parts);
    Forest out = Forest::make(parts, cycle);
    if (!c.grammar().cyclic) return out; // nothing beyond the threshold was added
    out = out.merged();
    return std::isinf(threshold) ? out : out.pruned(threshold);
}

// Computes the best score of any parse that has the symbol over the span, minus the score of the
// best parse: 0 or less. Allows the symbols within `threshold`; this is the mask of a coarse pass.
inline void mask(const Chart &c, double threshold, const std::vector<Id> &number, std::size_t width, Mask &out) {
    out.width = width;
    out.allowed.assign(c.cell_count() * width, 0);
    if (c.best() == impossible) {
        out.allowed.assign(c.cell_count() * width, 1);
        return;
    }
    const ChartOutside outside(c, threshold, ChartOutside::nothing);
    for (std::size_t cell = 0; cell < c.cell_count(); ++cell)
        for (std::int64_t i = c.first(cell); i < c.last(cell); ++i)
            if (number[c.item(i).symbol] != none && outside.out[i] + c.item(i).top >= outside.least)
                out.allowed[cell * width + static_cast<std::size_t>(number[c.item(i).symbol])] = 1;
}

// Returns the fewest, then most probable, pieces that cover a sentence without a parse. A word
// without any item is a piece of its own.
inline std::vector<Id> pieces(const Chart &c, Store &store) {
    const std::size_t n = c.size();
    struct Cover {
        std::size_t count;
        double score;
        std::size_t from;
        std::int64_t item;
    };
    std::vector<Cover> best(n + 1, {std::numeric_limits<std::size_t>::max(), impossible, 0, none});
    best[0] = {0, 0, 0, none};
    Pulse pulse(c.check);
    for (std::size_t j = 1; j <= n; ++j)
        for (std::size_t i = 0; i < j; ++i) {
            pulse.add(16);
            Cover here{best[i].count + 1, impossible, i, none};
            const std::size_t cell = Chart::cell(i, j);
            for (std::int64_t k = c.first(cell); k < c.last(cell); ++k)
                if (!c.grammar().hidden(c.item(k).symbol) && c.item(k).top > here.score) here.score = c.item(k).top, here.item = k;
            if (here.item == none && j > i + 1) continue;
            here.score = here.item == none ? -1e6 : here.score;
            here.score += best[i].score;
            if (here.count < best[j].count || (here.count == best[j].count && here.score > best[j].score)) best[j] = here;
        }
    std::vector<Id> out;
    for (std::size_t j = n; j > 0; j = best[j].from) {
        c.check();
        if (best[j].item == none) {
            out.push_back(store.add_node(store.add_label(c.sentence().words[j - 1]), nullptr, 0));
            continue;
        }
        ChartOutside outside(c, 0, {{best[j].item, 0.0}}, c.item(best[j].item).top, ChartOutside::some);
        ChartGraph graph(c, store, outside);
        LazyKBest<ChartGraph> search(graph, c.check);
        const Id node = graph.top(best[j].item, Chart::cell(best[j].from, j));
        double score;
        search.find(node, 0, score);
        out.push_back(search.value(node, 0)[0]);
    }
    std::reverse(out.begin(), out.end());
    return out;
}

} // namespace treelet
