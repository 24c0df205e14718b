// Enumerates again the ways to build the items of a chart. The chart itself stores only the best
// scores.
#pragma once
#include "chart.hpp"

namespace treelet {

struct ChartEdge { // one way to build an item without unary rules
    Id head;
    std::int64_t left, right; // items; none and none for the word itself
    double logp, score;
};
// Returns the range of one head in edges that are grouped by head.
inline std::pair<std::size_t, std::size_t> of_head(const std::vector<ChartEdge> &edges, Id head) {
    const auto range = std::equal_range(edges.begin(), edges.end(), ChartEdge{head, 0, 0, 0, 0},
                                        [](const ChartEdge &a, const ChartEdge &b) { return a.head < b.head; });
    return {range.first - edges.begin(), range.second - edges.begin()};
}

class ChartEdges {
  public:
    explicit ChartEdges(const Chart &chart)
        : c_(chart), g_(chart.grammar()), where_(g_.size(), none), right_here_(g_.right_symbol.size(), none) {
        find_bounds();
    }

    // Lists all ways to build the items of a cell without unary rules, grouped by head, whose score
    // is at least least[item of the cell].
    void list(std::size_t i, std::size_t j, const std::vector<double> &least, std::vector<ChartEdge> &out) {
        out.clear();
        const std::size_t c = c_.cell(i, j);
        if (c_.first(c) == c_.last(c)) return;
        pulse_.add(16 * (j - i));
        for (std::int64_t k = c_.first(c); k < c_.last(c); ++k)
            if (c_.item(k).base >= least[k - c_.first(c)]) where_[c_.item(k).symbol] = k;
        if (j == i + 1)
            for (std::int64_t k = c_.sentence().start[i]; k < c_.sentence().start[i + 1]; ++k) {
                const std::int64_t head = where_[c_.sentence().symbol[k]];
                if (head != none && c_.sentence().logp[k] >= least[head - c_.first(c)])
                    out.push_back({c_.sentence().symbol[k], none, none, c_.sentence().logp[k], c_.sentence().logp[k]});
            }
        // The smallest score that any head needs. Left items from which no rule can reach this
        // score are skipped. A hidden head has few rules, so searching for their symbols is faster.
        double floor = std::numeric_limits<double>::infinity();
        for (std::int64_t h = c_.first(c); h < c_.last(c); ++h) {
            const Id head = c_.item(h).symbol;
            if (where_[head] == none) continue;
            if (!g_.hidden(head)) {
                floor = std::min(floor, least[h - c_.first(c)]);
                continue;
            }
            for (const Grammar::Rule *r = g_.by_hidden.begin(head); r < g_.by_hidden.end(head); ++r)
                for (std::size_t k = i + 1; k < j; ++k) {
                    const std::int64_t right = c_.find(c_.cell(k, j), r->b);
                    const std::int64_t left = right == none ? none : c_.find(c_.cell(i, k), r->a);
                    if (left == none) continue;
                    const double score = c_.item(left).top + c_.item(right).top + r->logp;
                    if (score >= least[h - c_.first(c)]) out.push_back({head, left, right, r->logp, score});
                }
        }
        for (std::size_t k = i + 1; k < j; ++k) {
            const std::size_t lc = c_.cell(i, k), rc = c_.cell(k, j);
            if (c_.most(rc) == impossible || farthest_[lc] + c_.most(rc) < floor) continue;
            bool scattered = false;
            for (std::int64_t l = c_.first(lc); l < c_.last(lc); ++l) {
                if (!(bound_[l] + c_.most(rc) >= floor) || bound_[l] == impossible) continue;
                const Id left = c_.item(l).symbol;
                const Grammar::Binary *r = g_.by_left.begin(left), *end = r + g_.finishing[left].count;
                if (!scattered) scatter(rc), scattered = true;
                pulse_.add(static_cast<std::size_t>(end - r));
                for (; r < end; ++r) {
                    const Id with = right_here_[r->right];
                    if (with == none) continue;
                    const std::int64_t head = where_[r->head];
                    if (head == none) continue;
                    const double score = c_.item(l).top + c_.item(c_.first(rc) + with).top + r->logp;
                    if (score >= least[head - c_.first(c)]) out.push_back({r->head, l, c_.first(rc) + with, r->logp, score});
                }
            }
            if (scattered) unscatter(rc);
        }
        for (std::int64_t k = c_.first(c); k < c_.last(c); ++k) where_[c_.item(k).symbol] = none;
        std::stable_sort(out.begin(), out.end(), [](const ChartEdge &a, const ChartEdge &b) { return a.head < b.head; });
    }

  private:
    // Computes, for each item, an upper bound for its score as the left child of a rule whose head
    // is not hidden, with a right child of score 0.
    void find_bounds() {
        bound_.reserve(c_.items());
        for (std::size_t k = 0; k < c_.items(); ++k) {
            const Chart::Item &item = c_.item(static_cast<std::int64_t>(k));
            bound_.push_back(item.top + g_.finishing[item.symbol].best);
        }
        farthest_.assign(c_.cell_count(), impossible);
        for (std::size_t c = 0; c < c_.cell_count(); ++c)
            for (std::int64_t k = c_.first(c); k < c_.last(c); ++k) farthest_[c] = std::max(farthest_[c], bound_[k]);
    }
    void scatter(std::size_t cell) {
        for (std::int64_t r = c_.first(cell); r < c_.last(cell); ++r)
            if (const Id number = g_.right_number[c_.item(r).symbol]; number != none)
                right_here_[number] = static_cast<Id>(r - c_.first(cell));
    }
    void unscatter(std::size_t cell) {
        for (std::int64_t r = c_.first(cell); r < c_.last(cell); ++r)
            if (const Id number = g_.right_number[c_.item(r).symbol]; number != none) right_here_[number] = none;
    }

    const Chart &c_;
    const Grammar &g_;
    Pulse pulse_{c_.check};
    std::vector<std::int64_t> where_;      // symbol -> the requested item of the cell
    std::vector<Id> right_here_;           // right symbol -> its index in the cell
    std::vector<double> bound_, farthest_; // per item; per cell
};

} // namespace treelet
