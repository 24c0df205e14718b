// The graphs on which fragments grow (fragment_search.hpp), for each kind of kernel.
//
//   ProductionGraph   SST, forests, tag runs: an open node has one edge per production, whose children are then open.
//                     Tag runs are subset trees of chains in which a position has two productions: its tag, and its
//                     tag with its word.
//   Lists             PT and subsequences: the children that may still follow are open. Taking one of them leaves two
//                     lists open: its own children, and the children after it. A list is its first item and the rest,
//                     so equal rests are stored once.
//
// With two sides, only parts of the first side can be shared. All other parts are left out, and
// nodes that become equal are merged.
#pragma once
#include "forest_store.hpp"
#include "fragment_search.hpp"
#include "key_numbers.hpp"
#include "locality.hpp"
#include "tagging.hpp"

namespace treelet {

// --- stores as edges with keys -----------------------------------------------------------------------------------

// Calls f(key, p, children, number of children, example); the example is the node. With leaves,
// words have an edge too, the same for all words.
struct TreeEdges {
    const Store &store;
    bool leaves;
    std::size_t size() const { return store.size(); }
    template <class F> void each(Id v, F f) const {
        const Id nothing = none;
        if (store.arity(v) > 0)
            f(2 * std::int64_t{store.production(v)}, 1.0, store.children(v), store.arity(v), std::int64_t{v});
        else if (leaves)
            f(2 * std::int64_t{store.label(v)} + 1, 1.0, &nothing, std::size_t{1}, std::int64_t{v});
    }
};

// The example is the edge; for a word, its node number plus the number of edges.
struct ForestEdges {
    const ForestStore &store;
    bool leaves;
    std::size_t size() const { return store.size(); }
    template <class F> void each(Id v, F f) const {
        const Id nothing = none;
        for (std::int64_t e = store.edge_start[v]; e < store.edge_start[v + 1]; ++e)
            if (store.production[e] != none)
                f(2 * std::int64_t{store.production[e]}, store.p[e], store.child.from(store.child_start[e]),
                  static_cast<std::size_t>(store.child_start[e + 1] - store.child_start[e]), e);
        if (leaves && store.is_word(v))
            f(2 * std::int64_t{store.label[v]} + 1, 1.0, &nothing, std::size_t{1}, static_cast<std::int64_t>(store.edges()) + v);
    }
};

// The example is twice the node, plus one if the word is included.
struct RunEdges {
    const Store &store;
    std::size_t size() const { return store.size(); }
    template <class F> void each(Id v, F f) const {
        const Position at(store, v);
        if (at.tag == none) return;
        const std::int64_t labels = static_cast<std::int64_t>(store.label_count()) + 1;
        f(at.tag * labels, 1.0, &at.next, std::size_t{1}, 2 * std::int64_t{v});
        f(at.tag * labels + at.word + 1, 1.0, &at.next, std::size_t{1}, 2 * std::int64_t{v} + 1);
    }
};

// --- the graphs --------------------------------------------------------------------------------------------------

class KeyTable { // numbers large keys in the order of insertion
  public:
    Id add(std::int64_t key) { return keys_.add(split(key)); }
    Id find(std::int64_t key) const { return keys_.find(split(key)); }
    std::size_t size() const { return keys_.size(); }

  private:
    static KeyNumbers<2>::Key split(std::int64_t key) { return {static_cast<Id>(key >> 31), static_cast<Id>(key & 0x7FFFFFFF)}; }
    KeyNumbers<2> keys_;
};

class RootNumbers { // the numbers of each side for the nodes that are roots
  public:
    template <class F> void each_root(std::size_t side, F f) const {
        for (const auto &[node, number] : roots_[side]) f(node, number);
    }

  protected:
    // `here` returns the number of a node in the graph, 0 if it is not there. Equal nodes are
    // merged, in the order in which they come.
    template <class Here> void set_roots(const std::vector<Numbers> &sides, Here here) {
        for (const Numbers &side : sides) {
            std::vector<std::pair<Id, double>> &out = roots_.emplace_back();
            Marks place(nodes_);
            for (std::size_t i = 0; i < side.size; ++i) {
                const Id node = side.number[i] != 0 ? here(side.node[i]) : 0;
                if (node == 0) continue;
                if (!place.has(node)) place.set(node, static_cast<Id>(out.size())), out.push_back({node, 0.0});
                out[static_cast<std::size_t>(place[node])].second += side.number[i];
            }
        }
    }
    std::size_t nodes_ = 0;

  private:
    std::vector<std::vector<std::pair<Id, double>>> roots_;
};

template <class Edges> class ProductionGraph : public RootNumbers {
  public:
    ProductionGraph(const Edges &edges, const std::vector<Numbers> &sides, double lam, Id max_depth)
        : lam_(lam), max_depth_(max_depth) {
        const bool all = sides.size() == 1;
        for (std::size_t i = 0; !all && i < sides[0].size; ++i)
            edges.each(sides[0].node[i], [&](std::int64_t key, double, const Id *, std::size_t, std::int64_t) { keys_.add(key); });
        std::vector<Id> here(edges.size(), 0); // 0: nothing can be grown there
        std::vector<char> needed(edges.size(), 0);
        Id last = none;
        for (const Numbers &side : sides)
            for (std::size_t i = 0; i < side.size; ++i) needed[side.node[i]] = 1, last = std::max(last, side.node[i]);
        for (Id v = last; v >= 0; --v)
            if (needed[v])
                edges.each(v, [&](std::int64_t key, double, const Id *kids, std::size_t n, std::int64_t) {
                    if (all || keys_.find(key) != none)
                        for (std::size_t k = 0; k < n; ++k)
                            if (kids[k] != none) needed[kids[k]] = 1;
                });
        edge_start_ = {0, 0}; // node 0 has no edges
        Pulse pulse;
        for (Id v = 0; v <= last; ++v) {
            if (!needed[v]) continue;
            edges.each(v, [&](std::int64_t key, double p, const Id *kids, std::size_t n, std::int64_t example) {
                pulse.add(32 + n);
                const Id number = all ? keys_.add(key) : keys_.find(key);
                if (number == none) return;
                edge_.push_back({number, p, static_cast<std::int64_t>(kid_.size()), n, example});
                for (std::size_t k = 0; k < n; ++k) kid_.push_back(kids[k] == none ? 0 : here[kids[k]]);
            });
            here[v] = intern();
        }
        nodes_ = edge_start_.size() - 1;
        set_roots(sides, [&](Id v) { return here[v]; });
    }

    std::size_t keys() const { return keys_.size(); }
    static Id first_kind() { return 0; }
    static Id kid_kind(Id, std::size_t) { return 0; }
    static Id kid_number(Id, Id next, std::size_t k) { return next + static_cast<Id>(k); }
    static Id new_nodes(std::size_t kids) { return static_cast<Id>(kids); }
    static double times(double p) { return p; }
    static double most(Id, Id) { return 1; } // probabilities of the edges of one key sum to at most 1, and decay only reduces them
    static void add(Id, FragmentSize &size) { ++size.nodes; }
    static bool counts(const FragmentSize &) { return true; }
    bool too_deep(Id level) const { return max_depth_ > 0 && level >= max_depth_; }
    bool has_edges(Id, Id node) const { return edge_start_[node] < edge_start_[node + 1]; }
    double decay(const FragmentSize &size, std::size_t sides) const {
        return std::pow(lam_, 0.5 * static_cast<double>(sides) * static_cast<double>(size.nodes));
    }
    template <class F> void each_edge(Id, Id node, F f) const {
        for (std::int64_t e = edge_start_[node]; e < edge_start_[node + 1]; ++e) {
            const Edge &edge = edge_[static_cast<std::size_t>(e)];
            f(edge.key, edge.p, kid_.data() + edge.kids, edge.arity, edge.example);
        }
    }

  private:
    struct Edge {
        Id key;
        double p;
        std::int64_t kids;
        std::size_t arity;
        std::int64_t example;
    };

    // Returns the node with the edges that were added last. If the node already exists, these edges
    // are removed again.
    Id intern() {
        const std::size_t first = static_cast<std::size_t>(edge_start_.back()), n = edge_.size() - first;
        if (n == 0) return 0;
        std::uint64_t hash = n;
        for (std::size_t e = first; e < edge_.size(); ++e) {
            hash = mix(hash, static_cast<std::uint64_t>(edge_[e].key));
            std::uint64_t bits;
            std::memcpy(&bits, &edge_[e].p, 8);
            hash = mix(hash, bits);
            for (std::size_t k = 0; k < edge_[e].arity; ++k) hash = mix(hash, static_cast<std::uint64_t>(kids(e)[k]));
        }
        const Id same = table_.find(hash, [&](Id v) {
            const std::size_t other = static_cast<std::size_t>(edge_start_[v]);
            if (static_cast<std::size_t>(edge_start_[v + 1]) - other != n) return false;
            for (std::size_t e = 0; e < n; ++e) {
                const Edge &a = edge_[first + e], &b = edge_[other + e];
                if (a.key != b.key || a.p != b.p || a.arity != b.arity ||
                    !std::equal(kids(first + e), kids(first + e) + a.arity, kids(other + e)))
                    return false;
            }
            return true;
        });
        if (same != none) {
            kid_.resize(static_cast<std::size_t>(edge_[first].kids)), edge_.resize(first);
            return same;
        }
        const Id made = next_id(edge_start_.size() - 1);
        edge_start_.push_back(static_cast<std::int64_t>(edge_.size()));
        table_.insert(hash, made);
        return made;
    }
    const Id *kids(std::size_t e) const { return kid_.data() + edge_[e].kids; }

    double lam_;
    Id max_depth_;
    KeyTable keys_;
    IdTable table_;
    std::vector<std::int64_t> edge_start_;
    std::vector<Edge> edge_;
    std::vector<Id> kid_;
};

// Lists of items. Each item has a list of its own (PT) or none (subsequences, of which only those
// of one length count). For PT, an open node is a root, a list from which nothing was taken, or a
// list from which something was taken. For subsequences, its kind is the number of items that are
// still to be taken, initially `length`. The example is the node; for subsequences, it is the node
// of the sequence, with the feature in the lower half.
class Lists : public RootNumbers {
  public:
    // PT; with `leaves`, a single word is a fragment.
    static Lists partial_trees(const Store &store, const std::vector<Numbers> &sides, double lam, double mu, bool leaves) {
        Lists out(lam, mu, 0);
        const bool all = sides.size() == 1;
        for (std::size_t i = 0; !all && i < sides[0].size; ++i) out.keys_.add(store.label(sides[0].node[i]));
        std::vector<char> needed(store.size(), 0);
        Id last = none;
        for (const Numbers &side : sides)
            for (std::size_t i = 0; i < side.size; ++i) needed[side.node[i]] = 1, last = std::max(last, side.node[i]);
        for (Id v = last; v >= 0; --v)
            if (needed[v])
                for (std::size_t k = 0; k < store.arity(v); ++k) needed[store.children(v)[k]] = 1;
        std::vector<Id> here(store.size(), 0), items;
        for (Id v = 0; v <= last; ++v) {
            if (!needed[v]) continue;
            const Id key = all ? out.keys_.add(store.label(v)) : out.keys_.find(store.label(v));
            if (key == none) continue;
            items.clear();
            for (std::size_t k = 0; k < store.arity(v); ++k) items.push_back(here[store.children(v)[k]]);
            here[v] = out.item(key, out.list(items), v);
        }
        out.nodes_ = out.items_.size();
        out.set_roots(sides, [&](Id v) { return leaves || store.arity(v) > 0 ? here[v] : 0; });
        return out;
    }

    static Lists subsequences(const Store &store, const std::vector<Numbers> &sides, double lam, Id length) {
        std::size_t longest = 0;
        for (const Numbers &side : sides)
            for (std::size_t i = 0; i < side.size; ++i) longest = std::max(longest, store.arity(side.node[i]));
        length = static_cast<Id>(std::min(static_cast<std::size_t>(length), longest + 1));
        Lists out(lam, 1, length);
        const bool all = sides.size() == 1;
        const std::int64_t labels = static_cast<std::int64_t>(store.label_count());
        const auto key_of = [&](Id v, std::size_t k) { return store.label(v) * labels + store.label(store.children(v)[k]); };
        for (std::size_t i = 0; !all && i < sides[0].size; ++i)
            if (const Id v = sides[0].node[i]; is_sequence(store, v))
                for (std::size_t k = 0; k < store.arity(v); ++k) out.keys_.add(key_of(v, k));
        std::vector<Id> here(store.size(), 0), items;
        for (const Numbers &side : sides)
            for (std::size_t i = 0; i < side.size; ++i) {
                const Id v = side.node[i];
                if (here[v] != 0 || !is_sequence(store, v) || store.arity(v) < static_cast<std::size_t>(length)) continue;
                items.clear();
                for (std::size_t k = 0; k < store.arity(v); ++k) {
                    const Id key = all ? out.keys_.add(key_of(v, k)) : out.keys_.find(key_of(v, k));
                    items.push_back(key == none ? 0 : out.item(key, 0, (std::int64_t{v} << 32) + store.children(v)[k]));
                }
                here[v] = out.list(items);
            }
        out.nodes_ = out.cells_.size();
        out.set_roots(sides, [&](Id v) { return here[v]; });
        return out;
    }

    std::size_t keys() const { return keys_.size(); }
    Id first_kind() const { return length_ > 0 ? length_ : root; }
    Id kid_kind(Id kind, std::size_t k) const { return length_ > 0 ? kind - 1 : k == 0 ? fresh : going_on; }
    Id kid_number(Id own, Id next, std::size_t k) const { return k == 0 ? next : own; }
    static Id new_nodes(std::size_t) { return 1; }
    static double times(double) { return 1; }
    double most(Id kind, Id list) const {
        if (length_ > 0) return kind == 0 ? 1 : cells_[list].most[static_cast<std::size_t>(kind) - 1];
        return cells_[list].most[kind == fresh ? 0 : 1];
    }
    static bool too_deep(Id) { return false; }
    bool has_edges(Id kind, Id list) const { return list != 0 && (length_ == 0 || kind > 0); }
    void add(Id kind, FragmentSize &size) const { ++size.nodes, size.ends += kind != fresh; }
    bool counts(const FragmentSize &size) const { return length_ == 0 || size.nodes == length_; }
    double decay(const FragmentSize &size, std::size_t sides) const {
        if (length_ > 0) return 1;
        return std::pow(mu_, 0.5 * static_cast<double>(sides) * static_cast<double>(size.nodes)) *
               std::pow(lam_, static_cast<double>(sides) * static_cast<double>(size.ends));
    }
    template <class F> void each_edge(Id kind, Id at, F f) const {
        if (length_ == 0 && kind == root) {
            f(items_[at].key, 1.0, &items_[at].list, std::size_t{1}, items_[at].example);
            return;
        }
        const bool apart = length_ > 0 ? kind < length_ : kind == going_on;
        double p = length_ > 0 ? lam_ : 1;
        for (Id list = at; list != 0; list = cells_[list].rest) {
            const Cell &cell = cells_[list];
            if (cell.item != 0) {
                const Item &item = items_[cell.item];
                const Id kids[2] = {length_ > 0 ? cell.rest : item.list, cell.rest};
                f(item.key, p, kids, length_ > 0 ? std::size_t{1} : std::size_t{2}, item.example);
            }
            if (apart) p *= lam_;
        }
    }

  private:
    static constexpr Id root = 0, fresh = 1, going_on = 2;
    struct Item {
        Id key, list;
        std::int64_t example;
    };
    struct Cell {
        Id item, rest; // item 0: cannot be taken
        std::vector<double> most;
    };
    Lists(double lam, double mu, Id length) : lam_(lam), mu_(mu), length_(length) {
        items_.push_back({none, 0, -1});
        cells_.push_back({0, 0, std::vector<double>(length > 0 ? static_cast<std::size_t>(length) : 2, length > 0 ? 0 : 1)});
    }

    Id item(Id key, Id list, std::int64_t example) {
        const Id made = item_keys_.add({key, list}) + 1;
        if (static_cast<std::size_t>(made) == items_.size()) items_.push_back({key, list, example});
        return made;
    }

    // Returns the list of some items. Computes, from the last item to the first, the sums per key
    // of the value of taking an item with this key, and the largest sum.
    Id list(const std::vector<Id> &items) {
        const std::size_t kinds = cells_[0].most.size();
        std::vector<double> largest(kinds, 0);
        Id at = 0;
        pulse_.add(32 * items.size() * kinds);
        sums_.clear();
        if (by_key_.size() < keys_.size()) by_key_.resize(keys_.size(), none);
        std::vector<Id> seen;
        std::size_t place = 0; // counted from the end
        for (std::size_t i = items.size(); i-- > 0; ++place) {
            for (std::size_t k = 0; k < kinds; ++k)
                if (discounted(k)) largest[k] *= lam_;
            if (items[i] != 0) {
                const Item &item = items_[items[i]];
                if (by_key_[item.key] == none) {
                    by_key_[item.key] = static_cast<Id>(seen.size()), seen.push_back(item.key);
                    sums_.resize(seen.size() * (kinds + 1), 0);
                }
                double *sum = sums_.data() + static_cast<std::size_t>(by_key_[item.key]) * (kinds + 1);
                const double apart = std::pow(lam_, static_cast<double>(place) - sum[kinds]);
                sum[kinds] = static_cast<double>(place);
                for (std::size_t k = 0; k < kinds; ++k) {
                    sum[k] = sum[k] * (discounted(k) ? apart : 1) + taking(k, item, at);
                    largest[k] = std::max(largest[k], sum[k]);
                }
            }
            if (at == 0 && items[i] == 0) continue; // items at the end that cannot be taken are not part of the list
            const Id known = cell_keys_.add({items[i], at}) + 1;
            if (static_cast<std::size_t>(known) == cells_.size()) {
                cells_.push_back({items[i], at, largest});
                if (length_ == 0)
                    for (double &most : cells_.back().most) most = std::max(most, 1.0);
            }
            at = known;
        }
        for (Id key : seen) by_key_[key] = none;
        return at;
    }
    // Bounds by kind. PT: fresh lists, continued lists. Subsequences: number of items to be taken
    // minus 1.
    bool discounted(std::size_t k) const { return length_ > 0 || k == 1; }
    double taking(std::size_t k, const Item &item, Id rest) const {
        if (length_ > 0) return lam_ * (k == 0 ? 1 : cells_[rest].most[k - 1]);
        return std::sqrt(mu_) * (k == 0 ? 1 : lam_) * cells_[item.list].most[0] * cells_[rest].most[1];
    }

    double lam_, mu_;
    Id length_; // length of subsequences; 0 for PT
    KeyTable keys_;
    std::vector<Item> items_;
    std::vector<Cell> cells_;
    KeyNumbers<2> item_keys_, cell_keys_;
    std::vector<double> sums_; // by key: one number per kind, and the position of the last item
    std::vector<Id> by_key_;
    Pulse pulse_;
};

} // namespace treelet
