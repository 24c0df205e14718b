// The chart as a hypergraph for the k-best search, built on demand.
#pragma once
#include "chart_outside.hpp"
#include <unordered_map>

namespace treelet {

// Nodes: an item with unary chains above (top), without them (base), or the chains between two
// symbols.
class ChartGraph {
  public:
    using Value = std::vector<Id>; // a tree; the children of a hidden symbol; or the symbols of a chain
    Id root;

    ChartGraph(const Chart &chart, Store &store, ChartOutside &outside) : c_(chart), store_(store), outside_(outside) {
        nodes_.push_back({root_kind, none, 0, false, 0, 0, 0});
        root = 0;
        node_of_top_.assign(c_.items(), none);
        node_of_base_.assign(c_.items(), none);
        label_here_.assign(c_.grammar().size(), none);
    }

    Id top(std::int64_t item, std::size_t cell) {
        const Grammar &g = c_.grammar();
        const Id symbol = c_.item(item).symbol;
        if (g.by_head.begin(symbol) == g.by_head.end(symbol)) return base(item, cell);
        if (node_of_top_[item] == none) {
            node_of_top_[item] = static_cast<Id>(nodes_.size());
            nodes_.push_back({top_kind, item, cell, false, 0, 0, c_.item(item).top});
        }
        return node_of_top_[item];
    }
    Id base(std::int64_t item, std::size_t cell) {
        if (node_of_base_[item] == none) {
            node_of_base_[item] = static_cast<Id>(nodes_.size());
            nodes_.push_back({base_kind, item, cell, false, 0, 0, c_.item(item).base});
        }
        return node_of_base_[item];
    }

    std::pair<std::int64_t, std::int64_t> edges(Id v) {
        if (!nodes_[v].known) {
            const auto first = static_cast<std::int64_t>(weight_.size());
            expand(v);
            nodes_[v].known = true;
            nodes_[v].first = first, nodes_[v].last = static_cast<std::int64_t>(weight_.size());
        }
        return {nodes_[v].first, nodes_[v].last};
    }
    std::pair<const Id *, const Id *> tails(std::int64_t e) const {
        const Id *t = tail_[e].node;
        return {t, t + tail_[e].count};
    }
    double weight(std::int64_t e) const { return weight_[e]; }
    double best(Id v) const { return nodes_[v].best; }
    bool complete(Id) const { return false; }
    bool listed(Id v) const { return nodes_[v].kind == chain_kind; }
    bool list(Id v, std::size_t k, double &score) { return chains_[nodes_[v].item].find(k, score); }

    Value compose_list(Id v, std::size_t k) { return chains_[nodes_[v].item].symbols(k); }
    Value compose(Id v, std::int64_t e, const std::vector<const Value *> &parts) {
        const Node &node = nodes_[v];
        if (node.kind == root_kind) return *parts[0];
        if (node.kind == top_kind) {
            if (parts.size() == 1) return *parts[0];
            const Value &chain = *parts[0]; // from this symbol down to the symbol of the base
            Id tree = (*parts[1])[0];
            for (std::size_t k = chain.size() - 1; k-- > 0;) tree = store_.add_node(label(chain[k]), &tree, 1);
            return {tree};
        }
        const Id symbol = c_.item(node.item).symbol;
        if (tail_[e].count == 0) { // the symbol of a word
            const std::size_t j = c_.span(node.cell).second;
            const Id word = store_.add_node(store_.add_label(c_.sentence().words[j - 1]), nullptr, 0);
            return {symbol >= c_.grammar().first_word ? word : store_.add_node(label(symbol), &word, 1)};
        }
        kids_ = *parts[0];
        kids_.push_back((*parts[1])[0]);
        if (c_.grammar().hidden(symbol)) return kids_;
        return {store_.add_node(label(symbol), kids_.data(), kids_.size())};
    }

  private:
    enum Kind : char { root_kind, top_kind, base_kind, chain_kind };
    struct Node {
        Kind kind;
        std::int64_t item; // for chains: number of the pair of symbols
        std::size_t cell;
        bool known;
        std::int64_t first, last;
        double best;
    };
    struct Tails {
        Id node[2];
        int count;
    };
    void add(double weight, std::initializer_list<Id> tails) {
        Tails t{{none, none}, 0};
        for (Id v : tails) t.node[t.count++] = v;
        weight_.push_back(weight), tail_.push_back(t);
    }

    void expand(Id v) {
        const Node node = nodes_[v]; // a copy: nodes_ grows
        const Grammar &g = c_.grammar();
        if (node.kind == root_kind) {
            const std::size_t whole = Chart::cell(0, c_.size());
            for (const auto &[symbol, logp] : g.start)
                if (const std::int64_t k = c_.find(whole, symbol); k != none) add(logp, {top(k, whole)});
        } else if (node.kind == top_kind) {
            const Id symbol = c_.item(node.item).symbol;
            const std::vector<ChartEdge> &all = edges_of(node.cell);
            for (std::int64_t k = c_.first(node.cell); k < c_.last(node.cell); ++k) {
                const auto [first, last] = of_head(all, c_.item(k).symbol);
                if (first == last) continue; // the item has no base, or none within the threshold
                if (k == node.item)
                    add(0, {base(k, node.cell)});
                else if (const double chain = g.chain(symbol, c_.item(k).symbol); chain != impossible)
                    add(0, {chains(symbol, c_.item(k).symbol, chain), base(k, node.cell)});
            }
        } else {
            const std::vector<ChartEdge> &all = edges_of(node.cell);
            const auto [first, last] = of_head(all, c_.item(node.item).symbol);
            for (std::size_t k = first; k < last; ++k) {
                const ChartEdge &edge = all[k];
                if (edge.left == none)
                    add(edge.logp, {});
                else
                    add(edge.logp, {top(edge.left, c_.cell_of(edge.left)), top(edge.right, c_.cell_of(edge.right))});
            }
        }
    }
    const std::vector<ChartEdge> &edges_of(std::size_t cell) {
        if (!outside_.kept(cell).empty()) return outside_.kept(cell);
        const auto [at, fresh] = edges_.try_emplace(cell);
        if (fresh) outside_.list(cell, at->second);
        return at->second;
    }
    Id chains(Id head, Id child, double best) {
        const auto [at, fresh] = chain_node_.emplace(std::make_pair(head, child), static_cast<Id>(nodes_.size()));
        if (fresh) {
            nodes_.push_back({chain_kind, static_cast<std::int64_t>(chains_.size()), 0, false, 0, 0, best});
            chains_.emplace_back(c_.grammar(), head, child, c_.check);
        }
        return at->second;
    }
    Id label(Id symbol) {
        Id &own = label_here_[symbol];
        if (own == none) own = store_.add_label(c_.grammar().labels[symbol]);
        return own;
    }

    const Chart &c_;
    Store &store_;
    std::deque<Node> nodes_;
    std::vector<double> weight_;
    std::vector<Tails> tail_;
    std::vector<Id> node_of_top_, node_of_base_, label_here_;
    ChartOutside &outside_;
    std::unordered_map<std::size_t, std::vector<ChartEdge>> edges_; // of other cells that were requested
    std::deque<Chains> chains_;
    std::map<std::pair<Id, Id>, Id> chain_node_;
    Value kids_;
};

} // namespace treelet
