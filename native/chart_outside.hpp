// Viterbi outside scores of the items of a chart, and the edges within a threshold of the best
// parse.
#pragma once
#include "chart_edges.hpp"

namespace treelet {

class ChartOutside {
  public:
    double least;
    std::vector<double> out; // per item

    // How many edges are stored: none if only the scores are needed, some if few edges will be
    // needed, or all up to a bound. Their number is cubic in the number of words.
    struct Keeping {
        std::size_t most;
        bool all;
    };
    static constexpr Keeping nothing{0, false}, some{std::size_t{1} << 18, false};

    ChartOutside(const Chart &c, double threshold, Keeping keeping) : ChartOutside(c, threshold, c.roots(), c.best(), keeping) {}
    // Considers the trees below some items, each with its own log probability.
    ChartOutside(const Chart &c, double threshold, const std::vector<std::pair<std::int64_t, double>> &roots, double best,
                 Keeping keeping)
        : least(best - threshold - 1e-9 * (1 + std::fabs(best))), out(c.items(), impossible), c_(c), listed_(c) {
        const std::size_t n = c.size();
        for (const auto &[item, logp] : roots) out[item] = std::max(out[item], logp);
        if (keeping.most > 0) kept_.resize(c.cell_count());
        std::vector<ChartEdge> passing;
        std::size_t count = 0;
        for (std::size_t length = n; length > 0; --length)
            for (std::size_t i = 0; i + length <= n; ++i) {
                const std::size_t here = Chart::cell(i, i + length);
                const std::int64_t a = c.first(here), b = c.last(here);
                bool any = false;
                for (std::int64_t k = a; k < b; ++k) any = any || out[k] + c.item(k).top >= least;
                if (!any) continue;
                // Propagates scores down the unary chains: the best of all items above.
                need_.assign(out.begin() + a, out.begin() + b);
                for (std::int64_t head = a; head < b; ++head) {
                    if (out[head] + c.item(head).top < least) continue;
                    const Id s = c.item(head).symbol;
                    pulse_.add(8 * static_cast<std::size_t>(c.grammar().below.end(s) - c.grammar().below.begin(s)));
                    for (const Grammar::Unary *u = c.grammar().below.begin(s); u < c.grammar().below.end(s); ++u)
                        if (const std::int64_t k = c.find(here, u->symbol); k != none)
                            need_[k - a] = std::max(need_[k - a], out[head] + u->logp);
                }
                std::copy(need_.begin(), need_.end(), out.begin() + a);
                std::vector<ChartEdge> &edges = count < keeping.most ? kept_[here] : passing;
                list(here, edges);
                for (const ChartEdge &e : edges) {
                    if (e.left == none) continue;
                    const double around = out[c.find(here, e.head)] + e.logp;
                    out[e.left] = std::max(out[e.left], around + c.item(e.right).top);
                    out[e.right] = std::max(out[e.right], around + c.item(e.left).top);
                }
                if ((count += edges.size()) > keeping.most && keeping.all)
                    throw std::length_error("the forest has more than " + std::to_string(keeping.most) +
                                            " hyperedges. Prune the forest (prune=8.0), or use a smaller grammar.");
            }
    }

    // The stored edges of a cell, if edges are stored.
    const std::vector<ChartEdge> &kept(std::size_t cell) const { return kept_[cell]; }
    // Lists all edges of a cell, grouped by head.
    void list(std::size_t cell, std::vector<ChartEdge> &edges) {
        const std::int64_t a = c_.first(cell), b = c_.last(cell);
        need_.resize(static_cast<std::size_t>(b - a));
        for (std::int64_t k = a; k < b; ++k) {
            const bool wanted = out[k] != impossible && c_.item(k).base != impossible;
            need_[k - a] = wanted ? least - out[k] : std::numeric_limits<double>::infinity();
        }
        const auto [i, j] = Chart::span(cell);
        listed_.list(i, j, need_, edges);
    }

  private:
    const Chart &c_;
    ChartEdges listed_;
    Pulse pulse_{c_.check};
    std::vector<double> need_;
    std::vector<std::vector<ChartEdge>> kept_; // per cell
};

} // namespace treelet
