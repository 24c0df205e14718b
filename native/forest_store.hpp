// Hash-consed forests: equal sub-forests anywhere in a collection are one node, regardless of their
// spans.
//
// Edges store P(edge | head, forest), which is 1 in unambiguous parts, so such parts are the same
// in every forest. A tree is a forest with one edge per node. As in store.hpp, children have
// smaller ids than their parents, nodes never change, and a store can be grown over another one
// without a copy.
#pragma once
#include "forest.hpp"
#include "node_weights.hpp"
#include "store.hpp"

namespace treelet {

class ForestStore {
  public:
    // Columns per node, edge and child. The edges of a node are ordered by production.
    Segmented<Id> label;
    Segmented<std::int64_t> edge_start{0};
    Segmented<Id> production;
    Segmented<double> p;
    Segmented<std::int64_t> child_start{0};
    Segmented<Id> child;

    ForestStore() = default;
    explicit ForestStore(const std::shared_ptr<const ForestStore> &base)
        : label(Segmented<Id>::over(base->label)), edge_start(Segmented<std::int64_t>::over(base->edge_start)),
          production(Segmented<Id>::over(base->production)), p(Segmented<double>::over(base->p)),
          child_start(Segmented<std::int64_t>::over(base->child_start)), child(Segmented<Id>::over(base->child)),
          base_(base->base_ ? base->base_ : base), symbols_(std::shared_ptr<const Store>(base, &base->symbols_)),
          table_(SegmentedTable::over(base->table_)), productions_(base->productions_) {}

    std::size_t size() const { return label.size(); }
    std::size_t edges() const { return p.size(); }
    std::size_t child_count() const { return child.size(); }
    std::size_t production_count() const { return productions_; }
    bool is_word(Id v) const { return edge_start[v] == edge_start[v + 1]; }
    // A choice between roots, which is not part of any tree.
    bool hidden(Id v) const { return !is_word(v) && production[edge_start[v]] == none; }
    // Whether no edge has a child with edges of its own.
    bool flat(Id v) const {
        const std::int64_t first = child_start[edge_start[v]], last = child_start[edge_start[v + 1]];
        for (const Id *c = child.from(first), *end = c + (last - first); c < end; ++c)
            if (!is_word(*c)) return false;
        return true;
    }
    // Calls f(child, expected number of occurrences given the node).
    template <class F> void each_child(Id v, F f) const {
        std::int64_t at = child_start[edge_start[v]];
        const Id *c = child.from(at); // the children of a node are in one segment
        for (std::int64_t e = edge_start[v], last = edge_start[v + 1]; e < last; ++e)
            for (const std::int64_t end = child_start[e + 1]; at < end; ++at) f(*c++, p[e]);
    }

    // Returns the number of edges on the longest path down from each node.
    std::vector<Id> heights() const {
        std::vector<Id> out(size(), 0);
        for (Id v = 0; v < static_cast<Id>(size()); ++v)
            each_child(v, [&](Id child, double) { out[v] = std::max(out[v], out[child] + 1); });
        return out;
    }

    std::size_t label_count() const { return symbols_.label_count(); }
    std::string_view label_text(Id id) const { return symbols_.label_text(id); }
    Id add_label(std::string_view text) { return symbols_.add_label(text); }

    struct Edge {
        double p;
        std::vector<Id> child;
        Id production = none;
    };
    // Adds a node. Edges with the same children are merged. An empty label makes a hidden node.
    Id add_node(Id own, std::vector<Edge> &edges) {
        const bool in_trees = !label_text(own).empty();
        for (Edge &edge : edges) {
            for (Id c : edge.child)
                if (hidden(c)) throw std::invalid_argument("a hidden node is below another node, but only a root may be hidden");
            edge.production = in_trees ? production_of(own, edge.child) : none;
        }
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
        std::uint64_t hash = mix(static_cast<std::uint64_t>(own), n);
        for (const Edge &e : edges) {
            hash = mix(hash, static_cast<std::uint64_t>(e.production));
            std::uint64_t bits;
            std::memcpy(&bits, &e.p, 8);
            hash = mix(hash, bits);
            for (Id c : e.child) hash = mix(hash, static_cast<std::uint64_t>(c));
        }
        const Id found = table_.find(hash, [&](Id v) { return label[v] == own && same(v, edges); });
        if (found != none) return found;
        const Id id = next_id(size());
        table_.insert(hash, id);
        push(own, edges);
        return id;
    }

    // Adds a forest and returns its root, or none if it contains no tree. Edges get their
    // probability given their head.
    Id take(const Forest &forest) {
        const std::vector<Id> here = take_nodes(forest);
        return forest.root == none ? none : here[forest.root];
    }
    // Adds a forest and returns the id of each of its nodes, or none for nodes in no tree.
    std::vector<Id> take_nodes(const Forest &forest) {
        if (forest.root == none) return std::vector<Id>(forest.nodes(), none);
        const std::vector<double> in = forest.inside(false), out = forest.outside(in, false);
        std::vector<Id> here(forest.nodes(), none), label_here(forest.labels.size(), none);
        std::vector<Edge> edges;
        Pulse pulse;
        for (Id v = 0; v < static_cast<Id>(forest.nodes()); ++v) {
            pulse.add(64);
            if (out[v] == impossible || in[v] == impossible) continue;
            Id &own = label_here[forest.label[v]];
            if (own == none) own = add_label(forest.labels[forest.label[v]]);
            edges.clear();
            for (std::int64_t e = forest.edge_start[v]; e < forest.edge_start[v + 1]; ++e) {
                Edge edge{std::exp(forest.edge_inside(e, in) - in[v]), {}};
                if (edge.p == 0) continue;
                for (std::int64_t t = forest.tail_start[e]; t < forest.tail_start[e + 1]; ++t)
                    edge.child.push_back(here[forest.tail[t]]);
                edges.push_back(std::move(edge));
            }
            here[v] = add_node(own, edges);
        }
        return here;
    }

    // Adds the nodes of `other`, a store of trees or forests, below `roots`, as `Store::absorb`
    // does. Returns the ids of the roots in this store.
    template <class Other> std::vector<Id> absorb(const Other &other, const Id *roots, std::size_t n, bool by_number = true) {
        Marks place(other.size());
        const std::vector<Id> nodes = by_number ? below(other, roots, n, place) : completed(other, roots, n, place);
        Marks label_here(other.label_count());
        std::vector<Id> here(nodes.size()), out(n, none);
        std::vector<Edge> edges;
        Pulse pulse;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            pulse.add(64);
            const Id theirs = label_of(other, nodes[i]);
            if (!label_here.has(theirs)) label_here.set(theirs, add_label(other.label_text(theirs)));
            edges.clear();
            each_edge(other, nodes[i], [&](double probability, const Id *kids, std::size_t arity) {
                Edge edge{probability, {}};
                for (std::size_t k = 0; k < arity; ++k) edge.child.push_back(here[place[kids[k]]]);
                edges.push_back(std::move(edge));
            });
            here[i] = add_node(label_here[theirs], edges);
        }
        for (std::size_t i = 0; i < n; ++i)
            if (roots[i] != none) out[i] = here[place[roots[i]]];
        return out;
    }

    // See isolate in node_weights.hpp. Productions get small numbers too.
    void isolate(const NodeWeights &rows, std::size_t row, Marks &here, Marks &number, ForestStore &small,
                 NodeWeights &weights) const {
        here.clear(), number.clear();
        for (std::int64_t i = rows.start[row]; i < rows.start[row + 1]; ++i) {
            const Id v = rows.node[i];
            for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
                if (!number.has(production[e])) number.set(production[e], static_cast<Id>(small.productions_++));
                small.production.push_back(number[production[e]]);
                small.p.push_back(p[e]);
                for (std::int64_t k = child_start[e]; k < child_start[e + 1]; ++k) small.child.push_back(here[child[k]]);
                small.child_start.push_back(static_cast<std::int64_t>(small.child.size()));
            }
            small.edge_start.push_back(static_cast<std::int64_t>(small.p.size()));
            small.label.push_back(label[v]);
            here.set(v, static_cast<Id>(i - rows.start[row]));
            weights.node.push_back(here[v]);
            weights.weight.push_back(rows.weight[i]);
        }
        weights.start.push_back(static_cast<std::int64_t>(weights.node.size()));
    }

    // Returns the forest below a root. Its words are numbered from 0, because hash-consing does not
    // store spans.
    Forest forest(Id root) const;

  private:
    static Id label_of(const Store &store, Id v) { return store.label(v); }
    static Id label_of(const ForestStore &store, Id v) { return store.label[v]; }
    template <class F> static void each_edge(const Store &store, Id v, F f) {
        if (store.arity(v)) f(1.0, store.children(v), store.arity(v));
    }
    template <class F> static void each_edge(const ForestStore &store, Id v, F f) {
        for (std::int64_t e = store.edge_start[v]; e < store.edge_start[v + 1]; ++e)
            f(store.p[e], store.child.from(store.child_start[e]),
              static_cast<std::size_t>(store.child_start[e + 1] - store.child_start[e]));
    }

    Id production_of(Id head, const std::vector<Id> &children) {
        leaves_.clear();
        for (Id c : children) leaves_.push_back(symbols_.add_node(label[c], nullptr, 0));
        const Id made = symbols_.add_node(head, leaves_.data(), leaves_.size());
        productions_ = symbols_.size();
        return made;
    }
    void push(Id own, const std::vector<Edge> &edges) {
        label.push_back(own);
        for (const Edge &e : edges) {
            production.push_back(e.production);
            p.push_back(e.p);
            child.append(e.child.begin(), e.child.end());
            child_start.push_back(static_cast<std::int64_t>(child.size()));
        }
        edge_start.push_back(static_cast<std::int64_t>(p.size()));
    }
    bool same(Id v, const std::vector<Edge> &edges) const {
        const std::int64_t first = edge_start[v];
        if (edge_start[v + 1] - first != static_cast<std::int64_t>(edges.size())) return false;
        for (std::size_t i = 0; i < edges.size(); ++i) {
            const std::int64_t e = first + static_cast<std::int64_t>(i);
            if (production[e] != edges[i].production || p[e] != edges[i].p ||
                child_start[e + 1] - child_start[e] != static_cast<std::int64_t>(edges[i].child.size()) ||
                !std::equal(edges[i].child.begin(), edges[i].child.end(), child.from(child_start[e])))
                return false;
        }
        return true;
    }

    std::shared_ptr<const ForestStore> base_; // keeps the store alive whose columns this one extends
    Store symbols_;                           // labels, and productions as heads over childless nodes
    SegmentedTable table_;
    std::vector<Id> leaves_;
    std::size_t productions_ = 0; // all production numbers are below this
};

inline void isolate(const ForestStore &store, const NodeWeights &rows, std::size_t row, Marks &here, Marks &number,
                    ForestStore &small, NodeWeights &weights) {
    store.isolate(rows, row, here, number, small, weights);
}

inline Forest ForestStore::forest(Id root) const {
    Marks place(size());
    const std::vector<Id> nodes = below(*this, &root, root == none ? 0 : 1, place);
    std::vector<Id> width(nodes.size(), 1); // all ways to expand a node cover the same number of words
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (const std::int64_t e = edge_start[nodes[i]]; e < edge_start[nodes[i] + 1]) {
            width[i] = 0;
            for (std::int64_t k = child_start[e]; k < child_start[e + 1]; ++k) width[i] += width[place[child[k]]];
        }
    Forest::Parts parts;
    for (std::size_t k = 0; k < label_count(); ++k) parts.labels.emplace_back(label_text(static_cast<Id>(k)));
    std::map<std::pair<Id, Id>, Id> known; // (node, first word) -> number
    std::vector<std::pair<Id, Id>> open;
    const auto meet = [&](Id v, Id begin) {
        const auto [at, fresh] = known.emplace(std::pair(v, begin), static_cast<Id>(parts.label.size()));
        if (fresh) parts.add_node(label[v], begin, begin + width[place[v]], is_word(v)), open.push_back({v, begin});
        return at->second;
    };
    if (root != none) parts.root = meet(root, 0);
    std::vector<Id> tails;
    Pulse pulse;
    while (!open.empty()) {
        pulse.add(64);
        const auto [v, begin] = open.back();
        open.pop_back();
        const Id head = known.at({v, begin});
        for (std::int64_t e = edge_start[v]; e < edge_start[v + 1]; ++e) {
            tails.clear();
            Id at = begin;
            for (std::int64_t k = child_start[e]; k < child_start[e + 1]; ++k) {
                tails.push_back(meet(child[k], at));
                at += width[place[child[k]]];
            }
            parts.add_edge(head, tails.data(), tails.size(), std::log(p[e]));
        }
    }
    Id in_cycle;
    return Forest::make(parts, in_cycle);
}

} // namespace treelet
