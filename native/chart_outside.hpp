// What lies around each item of a chart: Viterbi outside scores, and the edges that come within a threshold of the best parse.
#pragma once
#include "chart_edges.hpp"

namespace treelet {

struct ChartOutside {
    double least;
    std::vector<double> out;                   // per item
    std::vector<std::vector<ChartEdge>> edges; // per cell, grouped by head

    ChartOutside(const Chart &c, double threshold) : ChartOutside(c, threshold, c.roots(), c.best()) {}
    // Of the trees below some items, each with a log probability of its own.
    ChartOutside(const Chart &c, double threshold, const std::vector<std::pair<std::int64_t, double>> &roots, double best)
        : out(c.items(), impossible), edges(c.cell_count()) {
        const std::size_t n = c.size();
        ChartEdges listed(c);
        least = best - threshold - 1e-9 * (1 + std::fabs(best));
        for (const auto &[item, logp] : roots) out[item] = std::max(out[item], logp);
        std::vector<double> need;
        for (std::size_t length = n; length > 0; --length)
            for (std::size_t i = 0; i + length <= n; ++i) {
                const std::size_t here = Chart::cell(i, i + length);
                const std::int64_t a = c.first(here), b = c.last(here);
                bool any = false;
                for (std::int64_t k = a; k < b; ++k) any = any || out[k] + c.item(k).top >= least;
                if (!any) continue;
                // Down the unary chains: the best of all above.
                need.assign(out.begin() + a, out.begin() + b);
                for (std::int64_t head = a; head < b; ++head) {
                    if (out[head] + c.item(head).top < least) continue;
                    const Id s = c.item(head).symbol;
                    for (const Grammar::Unary *u = c.grammar().below.begin(s); u < c.grammar().below.end(s); ++u)
                        if (const std::int64_t k = c.find(here, u->symbol); k != none)
                            need[k - a] = std::max(need[k - a], out[head] + u->logp);
                }
                for (std::int64_t k = a; k < b; ++k) {
                    out[k] = need[k - a];
                    const bool wanted = out[k] != impossible && c.item(k).base != impossible;
                    need[k - a] = wanted ? least - out[k] : std::numeric_limits<double>::infinity();
                }
                listed.list(i, i + length, need, edges[here]);
                for (const ChartEdge &e : edges[here]) {
                    if (e.left == none) continue;
                    const double around = out[c.find(here, e.head)] + e.logp;
                    out[e.left] = std::max(out[e.left], around + c.item(e.right).top);
                    out[e.right] = std::max(out[e.right], around + c.item(e.left).top);
                }
            }
    }
};

} // namespace treelet
