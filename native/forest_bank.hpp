// Hash-consed forests: equal sub-forests anywhere in a collection are one node, whatever their spans.
//
// Edges carry P(edge | head, forest), so that an unambiguous part is the same in every forest: there it is 1. A tree is a
// forest with one edge a node.
#pragma once
#include "forest.hpp"
#include "node_weights.hpp"

namespace treelet {

// The bare columns, which is all a kernel needs. Children have smaller numbers than their parents.
struct ForestNodes {
    std::vector<std::int64_t> edge_start{0};
    std::vector<Id> production; // per edge
    std::vector<double> p;
    std::vector<std::int64_t> child_start{0};
    std::vector<Id> child;
    std::size_t productions = 0; // numbers of productions lie below this

    std::size_t size() const { return edge_start.size() - 1; }
    bool is_word(Id v) const { return edge_start[v] == edge_start[v + 1]; }
    // Whether no edge has a child with edges of its own.
    bool flat(Id v) const {
        for (std::int64_t k = child_start[edge_start[v]]; k < child_start[edge_start[v + 1]]; ++k)
            if (!is_word(child[k])) return false;
        return true;
    }

    // One row alone, with small numbers in the same order. `scratch` is all none before and after.
    void isolate(const NodeWeights &rows, std::size_t row, std::vector<Id> &scratch, ForestNodes &small,
                 NodeWeights &weights) const {
        scratch.resize(std::max(size(), productions), none);
        for (std::int64_t i = rows.start[row]; i < rows.start[row + 1]; ++i) {
            const Id v = rows.node[i];
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
                small.production.push_back(production[e]);
                small.p.push_back(p[e]);
                for (std::int64_t k = child_start[e]; k < child_start[e + 1]; ++k) small.child.push_back(scratch[child[k]]);
                small.child_start.push_back(static_cast<std::int64_t>(small.child.size()));
            }
            small.edge_start.push_back(static_cast<std::int64_t>(small.p.size()));
            scratch[v] = static_cast<Id>(i - rows.start[row]);
            weights.node.push_back(scratch[v]);
            weights.weight.push_back(rows.weight[i]);
        }
        weights.start.push_back(static_cast<std::int64_t>(weights.node.size()));
        for (std::int64_t i = rows.start[row]; i < rows.start[row + 1]; ++i) scratch[rows.node[i]] = none;
        std::vector<Id> used;
        for (Id &number : small.production) {
            if (scratch[number] == none) scratch[number] = static_cast<Id>(small.productions++), used.push_back(number);
            number = scratch[number];
        }
        for (Id number : used) scratch[number] = none;
    }
};

class ForestStore {
  public:
    Store symbols; // labels, and productions: a head over childless nodes
    ForestNodes nodes;
    std::vector<Id> label;

    struct Edge {
        Id production;
        double p;
        std::vector<Id> child;
    };
    // Edges with one production and the same children are one.
    Id add(Id label_, std::vector<Edge> &edges) {
        std::sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) {
            if (a.production != b.production) return a.production < b.production;
            return a.child != b.child ? a.child < b.child : a.p < b.p;
        });
        std::size_t n = 0;
        for (std::size_t i = 0; i < edges.size(); ++i)
            if (n > 0 && edges[n - 1].production == edges[i].production && edges[n - 1].child == edges[i].child)
                edges[n - 1].p += edges[i].p;
            else if (n++ != i)
                edges[n - 1] = std::move(edges[i]);
        edges.resize(n);
        std::uint64_t hash = mix(static_cast<std::uint64_t>(label_), n);
        for (const Edge &e : edges) {
            hash = mix(hash, static_cast<std::uint64_t>(e.production));
            std::uint64_t bits;
            std::memcpy(&bits, &e.p, 8);
            hash = mix(hash, bits);
            for (Id c : e.child) hash = mix(hash, static_cast<std::uint64_t>(c));
        }
        const Id found = table_.find(hash, [&](Id v) { return label[v] == label_ && same(v, edges); });
        if (found != none) return found;
        const Id id = static_cast<Id>(label.size());
        if (label.size() >= static_cast<std::size_t>(std::numeric_limits<Id>::max()))
            throw std::length_error("more than 2,147,483,646 distinct sub-forests in one bank: split it");
        label.push_back(label_);
        for (const Edge &e : edges) {
            nodes.production.push_back(e.production);
            nodes.p.push_back(e.p);
            nodes.child.insert(nodes.child.end(), e.child.begin(), e.child.end());
            nodes.child_start.push_back(static_cast<std::int64_t>(nodes.child.size()));
        }
        nodes.edge_start.push_back(static_cast<std::int64_t>(nodes.p.size()));
        nodes.productions = symbols.size();
        table_.insert(hash, id);
        return id;
    }

    Id production(Id head, const Id *children, std::size_t n) { // of this store's nodes
        leaves_.clear();
        for (std::size_t k = 0; k < n; ++k) leaves_.push_back(symbols.add_node(label[children[k]], nullptr, 0));
        return symbols.add_node(head, leaves_.data(), n);
    }

    // Takes in a forest; its nodes with their probabilities P(node | forest) become the next row of `rows`.
    void take(const Forest &forest, NodeWeights &rows) {
        std::map<Id, double> weight;
        if (forest.root != none) {
            const std::vector<double> in = forest.inside(false), out = forest.outside(in, false);
            const double whole = in[forest.root];
            std::vector<Id> here(forest.nodes(), none), label_here(forest.labels.size(), none);
            std::vector<Edge> edges;
            for (Id v = 0; v < static_cast<Id>(forest.nodes()); ++v) {
                if (out[v] == impossible || in[v] == impossible || forest.hidden(v)) continue;
                Id &own = label_here[forest.label[v]];
                if (own == none) own = symbols.add_label(forest.labels[forest.label[v]]);
                edges.clear();
                for (std::int64_t e = forest.edge_start[v]; e < forest.edge_start[v + 1]; ++e) {
                    const double p = std::exp(forest.edge_inside(e, in) - in[v]);
                    if (p == 0) continue;
                    Edge edge{none, p, {}};
                    for (std::int64_t t = forest.tail_start[e]; t < forest.tail_start[e + 1]; ++t)
                        edge.child.push_back(here[forest.tail[t]]);
                    edge.production = production(own, edge.child.data(), edge.child.size());
                    edges.push_back(std::move(edge));
                }
                here[v] = add(own, edges);
                weight[here[v]] += std::exp(out[v] + in[v] - whole);
            }
        }
        for (const auto &[v, w] : weight) rows.node.push_back(v), rows.weight.push_back(w);
        rows.start.push_back(static_cast<std::int64_t>(rows.node.size()));
    }

    // The nodes of a bank of trees, and of another store: their numbers here.
    std::vector<Id> absorb(const Store &trees) {
        std::vector<Id> here(trees.size(), none), label_here(trees.label_count(), none);
        std::vector<Edge> edges;
        for (Id v = 0; v < static_cast<Id>(trees.size()); ++v) {
            Id &own = label_here[trees.label(v)];
            if (own == none) own = symbols.add_label(trees.label_text(trees.label(v)));
            edges.clear();
            if (trees.arity(v)) {
                Edge edge{none, 1, {}};
                for (std::size_t k = 0; k < trees.arity(v); ++k) edge.child.push_back(here[trees.children(v)[k]]);
                edge.production = production(own, edge.child.data(), edge.child.size());
                edges.push_back(std::move(edge));
            }
            here[v] = add(own, edges);
        }
        return here;
    }
    std::vector<Id> absorb(const ForestStore &other) {
        std::vector<Id> here(other.label.size(), none), label_here(other.symbols.label_count(), none);
        std::vector<Edge> edges;
        for (Id v = 0; v < static_cast<Id>(other.label.size()); ++v) {
            Id &own = label_here[other.label[v]];
            if (own == none) own = symbols.add_label(other.symbols.label_text(other.label[v]));
            edges.clear();
            for (std::int64_t e = other.nodes.edge_start[v]; e < other.nodes.edge_start[v + 1]; ++e) {
                Edge edge{none, other.nodes.p[e], {}};
                for (std::int64_t k = other.nodes.child_start[e]; k < other.nodes.child_start[e + 1]; ++k)
                    edge.child.push_back(here[other.nodes.child[k]]);
                edge.production = production(own, edge.child.data(), edge.child.size());
                edges.push_back(std::move(edge));
            }
            here[v] = add(own, edges);
        }
        return here;
    }
    // Rows of another store's nodes, as rows of this one's.
    static NodeWeights moved(const NodeWeights &rows, const std::vector<Id> &here) {
        NodeWeights out;
        std::map<Id, double> row;
        for (std::size_t r = 0; r < rows.rows(); ++r) {
            row.clear();
            for (std::int64_t i = rows.start[r]; i < rows.start[r + 1]; ++i) row[here[rows.node[i]]] += rows.weight[i];
            for (const auto &[v, w] : row) out.node.push_back(v), out.weight.push_back(w);
            out.start.push_back(static_cast<std::int64_t>(out.node.size()));
        }
        return out;
    }

  private:
    bool same(Id v, const std::vector<Edge> &edges) const {
        const std::int64_t first = nodes.edge_start[v];
        if (nodes.edge_start[v + 1] - first != static_cast<std::int64_t>(edges.size())) return false;
        for (std::size_t i = 0; i < edges.size(); ++i) {
            const std::int64_t e = first + static_cast<std::int64_t>(i);
            if (nodes.production[e] != edges[i].production || nodes.p[e] != edges[i].p ||
                nodes.child_start[e + 1] - nodes.child_start[e] != static_cast<std::int64_t>(edges[i].child.size()) ||
                !std::equal(edges[i].child.begin(), edges[i].child.end(), nodes.child.begin() + nodes.child_start[e]))
                return false;
        }
        return true;
    }
    IdTable table_;
    std::vector<Id> leaves_;
};

} // namespace treelet
