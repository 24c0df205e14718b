// The k best derivations of a hypergraph, computed lazily one after the other (Huang & Chiang 2005,
// algorithm 3), without recursion.
//
// A Graph provides, per node, either hyperedges (each with a weight and tails) or a list of
// alternatives in descending order (`listed`). Scores are sums of logarithms.
#pragma once
#include "store.hpp"
#include <deque>
#include <stdexcept>
#include <unordered_map>

namespace treelet {

template <class Graph> class LazyKBest {
  public:
    using Value = typename Graph::Value;
    LazyKBest(Graph &graph, void (*check)()) : graph_(graph), check_(check) {}

    // Returns whether the node has a k-th best derivation (from 0), and sets `score` to its score.
    bool find(Id node, std::size_t k, double &score) {
        stack_.assign(1, {node, k});
        while (!stack_.empty()) {
            const Frame f = stack_.back();
            State &s = state(f.node);
            if (s.found.size() > f.k || s.exhausted) {
                stack_.pop_back();
                continue;
            }
            if (graph_.listed(f.node)) {
                double value;
                if (graph_.list(f.node, s.found.size(), value))
                    s.found.push_back({value, none, zeros});
                else
                    s.exhausted = true;
                continue;
            }
            if (!s.started) start(f.node, s);
            if (s.expanded < s.found.size() && !expand(f.node, s)) continue; // a tail was pushed on the stack
            if (s.heap.empty()) {
                s.exhausted = true;
                continue;
            }
            std::pop_heap(s.heap.begin(), s.heap.end(), worse);
            s.found.push_back(s.heap.back());
            s.heap.pop_back();
            if ((++work_ & 0xFFFF) == 0) check_();
        }
        State &s = state(node);
        if (s.found.size() <= k) return false;
        score = s.found[k].score;
        return true;
    }

    // Returns the value of the k-th derivation, which must have been found, built from the values
    // of its tails.
    const Value &value(Id node, std::size_t k) {
        std::vector<Frame> open{{node, k}};
        std::vector<const Value *> parts;
        while (!open.empty()) {
            const Frame f = open.back();
            if (made(f.node, f.k)) {
                open.pop_back();
                continue;
            }
            double score;
            if (state(f.node).found.size() <= f.k && !find(f.node, f.k, score)) // so far only its score was needed
                throw std::logic_error("a derivation that was promised is not there");
            const Derivation d = state(f.node).found[f.k];
            if (d.edge == none) {
                values_.push_back(graph_.compose_list(f.node, f.k));
            } else {
                const auto [first, last] = graph_.tails(d.edge);
                const std::size_t before = open.size();
                parts.clear();
                for (const Id *t = first; t < last; ++t) {
                    const std::size_t k_tail = rank(d, static_cast<std::size_t>(t - first));
                    parts.push_back(made(*t, k_tail));
                    if (!parts.back()) open.push_back({*t, k_tail});
                }
                if (open.size() > before) continue;
                values_.push_back(graph_.compose(f.node, d.edge, parts));
            }
            std::vector<const Value *> &values = state(f.node).value;
            if (values.size() <= f.k) values.resize(f.k + 1, nullptr);
            values[f.k] = &values_.back();
            open.pop_back();
        }
        return *made(node, k);
    }

  private:
    struct Frame {
        Id node;
        std::size_t k;
    };
    static constexpr std::size_t zeros = std::numeric_limits<std::size_t>::max();
    struct Derivation {
        double score;
        std::int64_t edge;
        std::size_t ranks; // index in ranks_, one rank per tail; or `zeros`
    };
    struct State {
        std::vector<Derivation> found, heap;
        std::vector<const Value *> value;
        std::size_t expanded = 0, tail = 0; // successors of found[expanded] exist up to this tail
        bool started = false, exhausted = false;
    };
    // Equal scores are ordered by their edges, which a chart lists by the split of the span and then
    // by the order of the rules.
    static bool worse(const Derivation &a, const Derivation &b) {
        if (a.score != b.score) return a.score < b.score;
        return a.edge != b.edge ? a.edge > b.edge : a.ranks > b.ranks;
    }
    State &state(Id node) {
        if (static_cast<std::size_t>(node) >= states_.size()) states_.resize(static_cast<std::size_t>(node) + 1);
        return states_[node];
    }

    void start(Id node, State &s) {
        s.started = true;
        if (graph_.complete(node)) {
            s.found.push_back({0, none, zeros});
            s.expanded = 1;
            return;
        }
        const auto [begin, end] = graph_.edges(node); // may add nodes, not states
        for (std::int64_t e = begin; e < end; ++e) {
            const auto [first, last] = graph_.tails(e);
            double score = graph_.weight(e);
            for (const Id *t = first; t < last; ++t) score += graph_.best(*t);
            if (!(score > -std::numeric_limits<double>::infinity())) continue;
            s.heap.push_back({score, e, zeros});
        }
        std::make_heap(s.heap.begin(), s.heap.end(), worse);
    }
    std::uint32_t rank(const Derivation &d, std::size_t i) const { return d.ranks == zeros ? 0 : ranks_[d.ranks + i]; }
    const Value *made(Id node, std::size_t k) {
        const State &s = state(node);
        return k < s.value.size() ? s.value[k] : nullptr;
    }

    // Pushes the successors of the last derivation on the heap. Returns false if a tail must first
    // find more derivations of its own. A vector of ranks is reached only from the vector with its
    // last non-zero rank reduced, and so only once.
    bool expand(Id, State &s) {
        const Derivation d = s.found[s.expanded];
        if (d.edge == none) {
            ++s.expanded;
            return true;
        }
        const auto [first, last] = graph_.tails(d.edge);
        const auto arity = static_cast<std::size_t>(last - first);
        std::size_t lowest = 0;
        if (d.ranks != zeros)
            for (std::size_t i = arity; i-- > 0 && lowest == 0;)
                if (ranks_[d.ranks + i] != 0) lowest = i;
        for (std::size_t i = std::max(s.tail, lowest); i < arity; ++i) {
            const std::size_t wanted = rank(d, i) + std::size_t{1};
            State &child = state(first[i]);
            if (child.found.size() <= wanted && !child.exhausted) {
                s.tail = i;
                stack_.push_back({first[i], wanted});
                return false;
            }
            if (child.found.size() <= wanted) continue;
            const std::size_t at = ranks_.size();
            double score = graph_.weight(d.edge);
            for (std::size_t j = 0; j < arity; ++j) {
                const std::uint32_t r = rank(d, j) + (j == i);
                ranks_.push_back(r);
                score += r == 0 ? graph_.best(first[j]) : state(first[j]).found[r].score;
            }
            s.heap.push_back({score, d.edge, at});
            std::push_heap(s.heap.begin(), s.heap.end(), worse);
        }
        s.tail = 0;
        ++s.expanded;
        return true;
    }

    Graph &graph_;
    void (*check_)();
    std::deque<State> states_; // references stay valid
    std::vector<std::uint32_t> ranks_;
    std::size_t work_ = 0;
    std::deque<Value> values_;
    std::vector<Frame> stack_;
};

} // namespace treelet
