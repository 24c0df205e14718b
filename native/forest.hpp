// A packed forest: nodes (label, span) and hyperedges (head -> tails, log probability), several
// edges per head.
//
// Nodes are in topological order, tails before heads. A node that is not the head of an edge is a
// word. An empty label marks a hidden root, which stands for a choice between roots and is not part
// of any tree.
#pragma once
#include "kbest.hpp"
#include "store.hpp"
#include <map>
#include <random>

namespace treelet {

constexpr double impossible = -std::numeric_limits<double>::infinity();

inline double log_add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == impossible ? a : a + std::log1p(std::exp(b - a));
}

class Forest {
  public:
    std::vector<std::string> labels;
    std::vector<Id> label, begin, end; // per node
    std::vector<std::int64_t> edge_start{0};
    std::vector<std::int64_t> tail_start{0}; // per edge; edges are grouped by head
    std::vector<Id> tail;
    std::vector<double> logp;
    Id root = none;

    std::size_t nodes() const { return label.size(); }
    std::size_t edges() const { return logp.size(); }
    bool is_word(Id v) const { return edge_start[v] == edge_start[v + 1]; }
    bool hidden(Id v) const { return labels[label[v]].empty(); }

    // A forest as loose parts: nodes and edges in any order.
    struct Parts {
        std::vector<std::string> labels;
        std::vector<Id> label, begin, end;
        std::vector<char> word; // other nodes need an edge to be useful
        std::vector<Id> head;
        std::vector<std::int64_t> tail_start{0};
        std::vector<Id> tail;
        std::vector<double> logp;
        Id root = none;

        Id add_node(Id label_, Id begin_, Id end_, bool word_) {
            label.push_back(label_), begin.push_back(begin_), end.push_back(end_), word.push_back(word_);
            return static_cast<Id>(label.size() - 1);
        }
        void add_edge(Id head_, const Id *tails, std::size_t n, double logp_) {
            head.push_back(head_);
            tail.insert(tail.end(), tails, tails + n);
            tail_start.push_back(static_cast<std::int64_t>(tail.size()));
            logp.push_back(logp_);
        }
    };

    // Builds a forest from the parts that are below the root and can be completed. Sets `in_cycle`
    // to a node in a cycle, if there is one.
    static Forest make(const Parts &parts, Id &in_cycle) {
        const std::size_t n = parts.label.size(), m = parts.head.size();
        in_cycle = none;
        // Bottom-up (Kahn): an edge is ready when all its tails are, and a node when all its edges
        // are.
        std::vector<std::int64_t> uses(n + 1, 0), missing(m, 0), open(n, 0);
        for (Id t : parts.tail) ++uses[t + 1];
        for (std::size_t v = 0; v < n; ++v) uses[v + 1] += uses[v];
        std::vector<std::int64_t> used_by(parts.tail.size()), next(uses.begin(), uses.end() - 1);
        for (std::size_t e = 0; e < m; ++e) {
            missing[e] = parts.tail_start[e + 1] - parts.tail_start[e];
            for (std::int64_t k = parts.tail_start[e]; k < parts.tail_start[e + 1]; ++k)
                used_by[next[parts.tail[k]]++] = static_cast<std::int64_t>(e);
            ++open[parts.head[e]];
        }
        std::vector<char> alive(n, 0), dead_edge(m, 0);
        std::vector<Id> order;
        for (std::size_t v = 0; v < n; ++v)
            if (open[v] == 0) order.push_back(static_cast<Id>(v)), alive[v] = parts.word[v];
        for (std::size_t i = 0; i < order.size(); ++i) {
            const Id v = order[i];
            for (std::int64_t k = uses[v]; k < uses[v + 1]; ++k) {
                const std::int64_t e = used_by[k];
                if (!alive[v]) dead_edge[e] = 1;
                if (--missing[e] > 0) continue;
                const Id h = parts.head[e];
                if (!dead_edge[e]) alive[h] = 1;
                if (--open[h] == 0) order.push_back(h);
            }
        }
        Forest out;
        out.labels = parts.labels;
        if (order.size() < n) {
            for (std::size_t v = 0; v < n; ++v)
                if (open[v] > 0) in_cycle = static_cast<Id>(v);
            return out;
        }
        if (parts.root == none || !alive[parts.root]) return out;
        // Top-down: keep only nodes that the root reaches.
        std::vector<std::int64_t> by_head(n + 1, 0);
        for (Id h : parts.head) ++by_head[h + 1];
        for (std::size_t v = 0; v < n; ++v) by_head[v + 1] += by_head[v];
        std::vector<std::int64_t> edge_of(m);
        next.assign(by_head.begin(), by_head.end() - 1);
        for (std::size_t e = 0; e < m; ++e) edge_of[next[parts.head[e]]++] = static_cast<std::int64_t>(e);
        std::vector<char> wanted(n, 0);
        wanted[parts.root] = 1;
        for (std::size_t i = order.size(); i-- > 0;) {
            const Id v = order[i];
            if (!wanted[v]) continue;
            for (std::int64_t k = by_head[v]; k < by_head[v + 1]; ++k)
                if (const std::int64_t e = edge_of[k]; !dead_edge[e])
                    for (std::int64_t t = parts.tail_start[e]; t < parts.tail_start[e + 1]; ++t) wanted[parts.tail[t]] = 1;
        }
        std::vector<Id> here(n, none);
        for (Id v : order) {
            if (!wanted[v]) continue;
            here[v] = static_cast<Id>(out.label.size());
            out.label.push_back(parts.label[v]), out.begin.push_back(parts.begin[v]), out.end.push_back(parts.end[v]);
            for (std::int64_t k = by_head[v]; k < by_head[v + 1]; ++k) {
                const std::int64_t e = edge_of[k];
                if (dead_edge[e]) continue;
                for (std::int64_t t = parts.tail_start[e]; t < parts.tail_start[e + 1]; ++t)
                    out.tail.push_back(here[parts.tail[t]]);
                out.tail_start.push_back(static_cast<std::int64_t>(out.tail.size()));
                out.logp.push_back(parts.logp[e]);
            }
            out.edge_start.push_back(static_cast<std::int64_t>(out.logp.size()));
        }
        out.root = here[parts.root];
        return out;
    }

    // Returns the part below `top` with the edges that are kept.
    Forest part(Id top, const std::vector<char> &keep) const {
        Forest out;
        out.labels = labels;
        if (top == none) return out;
        std::vector<char> wanted(nodes(), 0);
        wanted[top] = 1;
        for (Id v = top; v >= 0; --v)
            if (wanted[v])
                for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e)
                    if (keep[e])
                        for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) wanted[tail[t]] = 1;
        std::vector<Id> here(nodes(), none);
        for (Id v = 0; v <= top; ++v) {
            if (!wanted[v]) continue;
            here[v] = static_cast<Id>(out.label.size());
            out.label.push_back(label[v]), out.begin.push_back(begin[v]), out.end.push_back(end[v]);
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
                if (!keep[e]) continue;
                for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) out.tail.push_back(here[tail[t]]);
                out.tail_start.push_back(static_cast<std::int64_t>(out.tail.size()));
                out.logp.push_back(logp[e]);
            }
            out.edge_start.push_back(static_cast<std::int64_t>(out.logp.size()));
        }
        out.root = here[top];
        return out;
    }

    // Merges nodes with the same label, span and edges.
    Forest merged() const {
        std::map<std::vector<double>, Id> seen; // small forests: copies exist only because of unary cycles
        std::vector<Id> first(nodes(), none);
        Parts parts;
        parts.labels = labels;
        std::vector<double> key;
        for (Id v = 0; v < static_cast<Id>(nodes()); ++v) {
            key = {static_cast<double>(label[v]), static_cast<double>(begin[v]), static_cast<double>(end[v])};
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
                key.push_back(logp[e]);
                key.push_back(static_cast<double>(tail_start[e + 1] - tail_start[e]));
                for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) key.push_back(first[tail[t]]);
            }
            const auto [at, fresh] = seen.emplace(key, static_cast<Id>(parts.label.size()));
            first[v] = at->second;
            if (!fresh) continue;
            parts.add_node(label[v], begin[v], end[v], is_word(v));
            std::vector<Id> tails;
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
                tails.clear();
                for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) tails.push_back(first[tail[t]]);
                parts.add_edge(first[v], tails.data(), tails.size(), logp[e]);
            }
        }
        parts.root = root == none ? none : first[root];
        Id cycle;
        return make(parts, cycle);
    }

    // Returns the logarithm of the sum (with viterbi: of the maximum) over the trees below each
    // node.
    std::vector<double> inside(bool viterbi) const {
        std::vector<double> in(nodes(), 0);
        for (Id v = 0; v < static_cast<Id>(nodes()); ++v) {
            if (is_word(v)) continue;
            // Sums are scaled by the largest term, so many small edges do not lose their digits one
            // by one.
            double most = impossible;
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) most = std::max(most, edge_inside(e, in));
            double sum = 0;
            if (!viterbi)
                for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) sum += std::exp(edge_inside(e, in) - most);
            in[v] = viterbi || most == impossible ? most : most + std::log(sum);
        }
        return in;
    }
    // Returns the same for the part outside each node, over the trees from the root; impossible for
    // nodes that the root does not reach.
    std::vector<double> outside(const std::vector<double> &in, bool viterbi) const {
        std::vector<double> out(nodes(), impossible);
        if (root == none) return out;
        out[root] = 0;
        for (Id v = root; v >= 0; --v) {
            if (out[v] == impossible) continue;
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
                const double whole = out[v] + logp[e];
                double all = whole;
                for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) all += in[tail[t]];
                if (all == impossible) continue;
                for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) {
                    double rest = whole; // avoids division by an inside value that may be far smaller
                    for (std::int64_t o = tail_start[e]; o < tail_start[e + 1]; ++o)
                        if (o != t) rest += in[tail[o]];
                    double &sum = out[tail[t]];
                    sum = viterbi ? std::max(sum, rest) : log_add(sum, rest);
                }
            }
        }
        return out;
    }
    double edge_inside(std::int64_t e, const std::vector<double> &in) const {
        double sum = logp[e];
        for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) sum += in[tail[t]];
        return sum;
    }

    // Removes edges that are in no tree whose score is within `threshold` of the best tree.
    Forest pruned(double threshold) const {
        if (root == none) return *this;
        const std::vector<double> in = inside(true), out = outside(in, true);
        const double least = in[root] - threshold - 1e-9 * (1 + std::fabs(in[root]));
        std::vector<char> keep(edges(), 0);
        for (Id v = 0; v < static_cast<Id>(nodes()); ++v)
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e)
                keep[e] = out[v] != impossible && out[v] + edge_inside(e, in) >= least;
        return part(root, keep);
    }

    // Returns the number of trees below each node, inf if it exceeds the range of a double.
    std::vector<double> count() const {
        std::vector<double> trees(nodes(), 1);
        for (Id v = 0; v < static_cast<Id>(nodes()); ++v) {
            if (is_word(v)) continue;
            trees[v] = 0;
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
                double product = 1;
                for (std::int64_t t = tail_start[e]; t < tail_start[e + 1]; ++t) product *= trees[tail[t]];
                trees[v] += product;
            }
        }
        return trees;
    }

    // --- the interface that the lazy k-best search needs
    // -------------------------------------------------------
    struct Graph {
        const Forest &forest;
        const std::vector<double> best_;
        Store &store;
        std::vector<Id> label_here, kids;

        Graph(const Forest &forest_, Store &store_)
            : forest(forest_), best_(forest_.inside(true)), store(store_), label_here(forest_.labels.size(), none) {}
        using Value = Id;
        std::pair<std::int64_t, std::int64_t> edges(Id v) const { return {forest.edge_start[v], forest.edge_start[v + 1]}; }
        std::pair<const Id *, const Id *> tails(std::int64_t e) const {
            return {forest.tail.data() + forest.tail_start[e], forest.tail.data() + forest.tail_start[e + 1]};
        }
        double weight(std::int64_t e) const { return forest.logp[e]; }
        double best(Id v) const { return best_[v]; }
        static constexpr bool listed(Id) { return false; }
        static bool list(Id, std::size_t, double &) { return false; }
        bool complete(Id v) const { return forest.is_word(v); }

        Id compose(Id v, std::int64_t, const std::vector<const Id *> &children) {
            if (forest.hidden(v)) return *children[0];
            Id &own = label_here[forest.label[v]];
            if (own == none) own = store.add_label(forest.labels[forest.label[v]]);
            kids.clear();
            for (const Id *child : children) kids.push_back(*child);
            return store.add_node(own, kids.data(), kids.size());
        }
        Id compose_list(Id v, std::size_t) { return compose(v, 0, {}); }
    };

    // Draws trees from P(tree | forest).
    std::vector<Id> sample(std::size_t n, std::uint64_t seed, Store &store, void (*check)()) const {
        std::vector<Id> roots;
        if (root == none) return roots;
        std::mt19937_64 random(seed);
        const std::vector<double> in = inside(false);
        Graph graph(*this, store);
        struct Frame {
            Id node;
            std::int64_t edge, next;
        };
        std::size_t work = 0;
        std::vector<Frame> stack;
        std::vector<Id> done;
        std::vector<const Id *> children;
        for (std::size_t i = 0; i < n; ++i) {
            stack.assign(1, {root, none, 0});
            done.clear();
            while (!stack.empty()) {
                if ((++work & 0xFFFF) == 0) check();
                Frame &f = stack.back();
                if (f.edge == none && !is_word(f.node)) {
                    double at = static_cast<double>(random() >> 11) * 0x1p-53, sum = 0;
                    f.edge = edge_start[f.node + 1] - 1;
                    for (std::int64_t e = edge_start[f.node]; e < edge_start[f.node + 1]; ++e) {
                        sum += std::exp(edge_inside(e, in) - in[f.node]);
                        if (at < sum) {
                            f.edge = e;
                            break;
                        }
                    }
                    f.next = tail_start[f.edge];
                }
                if (f.edge != none && f.next < tail_start[f.edge + 1]) {
                    const Id child = tail[f.next++];
                    stack.push_back({child, none, 0});
                    continue;
                }
                const std::size_t arity =
                    f.edge == none ? 0 : static_cast<std::size_t>(tail_start[f.edge + 1] - tail_start[f.edge]);
                children.clear();
                for (std::size_t k = done.size() - arity; k < done.size(); ++k) children.push_back(&done[k]);
                const Id made = graph.compose(f.node, f.edge, children);
                done.resize(done.size() - arity);
                done.push_back(made);
                stack.pop_back();
            }
            roots.push_back(done[0]);
        }
        return roots;
    }
};

} // namespace treelet
