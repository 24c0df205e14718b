// The forest of complete productions in a chart, with hidden symbols unfolded.
#pragma once
#include "chart_outside.hpp"
#include "forest.hpp"
#include <map>

namespace treelet {

// A node is an item. If its symbol is in a unary cycle, the node also has the symbols of that cycle
// that were passed above it.
class ChartForest {
  public:
    ChartForest(const Chart &chart, double threshold, std::size_t max_edges, Forest::Parts &parts)
        : c_(chart), outside_(chart, threshold, {max_edges, true}), max_edges_(max_edges), parts_(parts) {
        const std::size_t n = c_.size();
        word_.assign(n, none), label_of_.assign(c_.grammar().size(), none);
        states_.resize(c_.cell_count());
        const std::size_t whole = Chart::cell(0, n);
        std::vector<std::pair<Id, double>> roots;
        for (const auto &[symbol, logp] : c_.grammar().start)
            if (const std::int64_t k = c_.find(whole, symbol); k != none && logp + c_.item(k).top >= outside_.least)
                roots.push_back({state(whole, k, {}, logp), logp});
        if (c_.grammar().start.size() == 1 && c_.grammar().start[0].second == 0)
            parts_.root = roots[0].first;
        else {
            const Id nameless = static_cast<Id>(parts_.labels.size());
            parts_.labels.push_back("");
            parts_.root = parts_.add_node(nameless, 0, static_cast<Id>(n), false);
            for (const auto &[node, logp] : roots) add_edge(parts_.root, &node, 1, logp);
        }
        for (std::size_t length = n; length > 0; --length)
            for (std::size_t i = 0; i + length <= n; ++i) expand(Chart::cell(i, i + length), i);
    }

  private:
    struct State {
        std::int64_t item;
        std::vector<Id> passed; // sorted
        double out;
        Id node;
    };
    // Keys are ordered as nodes are processed: heads before children.
    using Key = std::tuple<Id, std::size_t, std::int64_t, std::vector<Id>>;

    Id state(std::size_t cell, std::int64_t item, const std::vector<Id> &passed, double out) {
        const Id symbol = c_.item(item).symbol;
        auto &here = states_[cell];
        const auto [at, fresh] =
            here.emplace(Key{-c_.grammar().component[symbol], passed.size(), item, passed}, State{item, passed, out, none});
        if (fresh) {
            const auto [i, j] = Chart::span(cell);
            Id &label = label_of_[symbol];
            if (label == none) label = static_cast<Id>(parts_.labels.size()), parts_.labels.push_back(c_.grammar().labels[symbol]);
            at->second.node = parts_.add_node(label, static_cast<Id>(i), static_cast<Id>(j), false);
        } else
            at->second.out = std::max(at->second.out, out);
        return at->second.node;
    }
    Id word(std::size_t i) {
        if (word_[i] == none) {
            const Id label = static_cast<Id>(parts_.labels.size());
            parts_.labels.push_back(c_.sentence().words[i]);
            word_[i] = parts_.add_node(label, static_cast<Id>(i), static_cast<Id>(i + 1), true);
        }
        return word_[i];
    }
    void add_edge(Id head, const Id *tails, std::size_t n, double logp) {
        if (parts_.head.size() >= max_edges_)
            throw std::length_error("the forest has more than " + std::to_string(max_edges_) +
                                    " hyperedges. Prune the forest (prune=8.0), or use a smaller grammar.");
        if ((++work_ & 0xFFFF) == 0) c_.check();
        parts_.add_edge(head, tails, n, logp);
    }

    void expand(std::size_t here, std::size_t i) {
        const Grammar &g = c_.grammar();
        for (auto at = states_[here].begin(); at != states_[here].end(); ++at) { // grows only after `at`
            const State s = at->second;
            const Id symbol = c_.item(s.item).symbol;
            for (const Grammar::Unary *u = g.by_head.begin(symbol); u < g.by_head.end(symbol); ++u) {
                const std::int64_t child = c_.find(here, u->symbol);
                if (child == none || s.out + u->logp + c_.item(child).top < outside_.least) continue;
                std::vector<Id> passed;
                if (g.component[u->symbol] == g.component[symbol]) {
                    if (std::binary_search(s.passed.begin(), s.passed.end(), u->symbol)) continue;
                    passed = s.passed;
                    passed.insert(std::upper_bound(passed.begin(), passed.end(), symbol), symbol);
                }
                const Id node = state(here, child, passed, s.out + u->logp);
                add_edge(s.node, &node, 1, u->logp);
            }
            if (c_.item(s.item).base == impossible) continue;
            const auto [first, last] = of_head(outside_.kept(here), symbol);
            for (std::size_t k = first; k < last; ++k) {
                const ChartEdge &edge = outside_.kept(here)[k];
                if (s.out + edge.score < outside_.least) continue;
                if (edge.left == none) {
                    const Id leaf = word(i);
                    add_edge(s.node, &leaf, 1, edge.logp);
                } else
                    splice(s, edge);
            }
        }
    }

    // Adds one edge of the binarized grammar with every way to unfold the hidden symbols on its
    // left.
    void splice(const State &s, const ChartEdge &edge) {
        struct Partial {
            std::int64_t left;
            double logp, score;             // score: of the whole edge, with the best way to unfold the rest
            std::vector<std::int64_t> rest; // items, from right to left
        };
        std::vector<Partial> open{{edge.left, edge.logp, edge.score, {edge.right}}};
        std::vector<std::int64_t> items;
        std::vector<Id> tails;
        while (!open.empty()) {
            const Partial p = std::move(open.back());
            open.pop_back();
            const Chart::Item &left = c_.item(p.left);
            if (g().hidden(left.symbol)) {
                const std::size_t lc = c_.cell_of(p.left);
                const auto [first, last] = of_head(outside_.kept(lc), left.symbol);
                for (std::size_t k = last; k-- > first;) {
                    const ChartEdge &inner = outside_.kept(lc)[k];
                    const double score = p.score - left.top + inner.score;
                    if (s.out + score < outside_.least) continue;
                    Partial next{inner.left, p.logp + inner.logp, score, p.rest};
                    next.rest.push_back(inner.right);
                    open.push_back(std::move(next));
                }
                continue;
            }
            items = p.rest;
            items.push_back(p.left);
            std::reverse(items.begin(), items.end());
            tails.clear();
            for (std::int64_t item : items) {
                const std::size_t cell = c_.cell_of(item);
                if (c_.item(item).symbol >= g().first_word)
                    tails.push_back(word(Chart::span(cell).first));
                else
                    tails.push_back(state(cell, item, {}, s.out + p.score - c_.item(item).top));
            }
            add_edge(s.node, tails.data(), tails.size(), p.logp);
        }
    }
    const Grammar &g() const { return c_.grammar(); }

    const Chart &c_;
    ChartOutside outside_;
    std::size_t max_edges_, work_ = 0;
    Forest::Parts &parts_;
    std::vector<Id> word_, label_of_;
    std::vector<std::map<Key, State>> states_;
};

} // namespace treelet
