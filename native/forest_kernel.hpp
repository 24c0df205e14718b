// The forest kernel of Zhang, Zhang & Li (2010): the expected number of shared subset trees, over a
// whole matrix at once.
//
// With p(e|v) the probability of an edge given its head and P(v) that of a node given the forest,
//   E(e1,e2) = lam * prod_j (1 + D(c1j, c2j))     if the edges have the same production, else 0
//   D(v1,v2) = sum_{e1 of v1, e2 of v2} p(e1|v1) p(e2|v2) E(e1,e2)
//   K        = sum_{v1,v2} P(v1) P(v2) D(v1,v2)
// This is the form of the paper with both sides divided by inside probabilities. Nothing is divided
// by an outside probability.
//
// As in subset_tree.hpp, E = lam if no children share a production. That part is a product of
// expected production counts. Only the other pairs of edges are compared; an index on (production,
// position, child's production) finds them. With leaves, words count too, as in subset_tree.hpp.
#pragma once
#include "forest_store.hpp"
#include "key_numbers.hpp"
#include "node_loop.hpp"

namespace treelet {

template <class Num> struct ForestScratch : NodeScratch<Num, SparseValues<Num>> { // values: D without its constant part
    std::vector<Num> product, factor; // per rank: running prod_j (1 + D), and 1 + D of the current child; 0: untouched
    std::vector<Num> child, own;      // per column + 1: D of the current child, and of the current node
    std::vector<Id> touched, met, own_touched;
    // Productions with probabilities. Those of node i of the block start at production_start[i].
    std::vector<std::pair<Id, double>> production;
    std::vector<std::size_t> production_start;
};

template <class Num> class ForestColumns : public NodeLoop<ForestColumns<Num>, ForestScratch<Num>> {
    using Scratch = ForestScratch<Num>;
    using Values = SparseValues<Num>;
    using Loop = NodeLoop<ForestColumns<Num>, Scratch>;

  public:
    ForestColumns(TargetsOf<ForestStore> targets, Num lam, bool leaves)
        : Loop(targets.size()), store_(*targets.store), lam_(lam), leaves_(leaves) {
        productions_.build(targets.weights, productions_of(store_, leaves));
        index_edges(targets.weights);
    }

    void prepare(const ForestStore &, Scratch &s, Pulse &) const {
        s.product.resize(static_cast<std::size_t>(widest_), Num(0)), s.factor.resize(s.product.size(), Num(0));
        s.child.resize(columns_ + 1, Num(0)), s.own.resize(columns_ + 1, Num(0));
    }

    // lam * P P', with the expected counts of productions
    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        productions_.add(b.rows, b.first + r, lam_, b.s.seen, b.last, sums, b.pulse, productions_of(b.store, leaves_));
    }

    template <class Block> void correct(Block &b) const {
        b.s.production.clear(), b.s.production_start.assign(1, 0);
        for (Id u : b.s.nodes.node) {
            each_production(b.store, u, leaves_, [&](Id production, double p) { b.s.production.push_back({production, p}); });
            b.s.production_start.push_back(b.s.production.size());
        }
        Loop::correct(b);
    }

    // Computes the row D(u, .) without its constant part, edge by edge, and adds its sum to the
    // matrix.
    template <class Block> void correct_node(Block &b, std::size_t i) const {
        const Id u = b.s.nodes.node[i];
        if (flat(b.store, u, leaves_)) return;
        for (std::int64_t e = b.store.edge_start[u]; e < b.store.edge_start[u + 1]; ++e) correct_edge(b, i, e);
        Values *const kept = b.s.nodes.uses[i] > 0 && !b.s.own_touched.empty() ? &b.s.kept.make(i) : nullptr;
        for (Id column : b.s.own_touched) {
            if (kept) kept->column.push_back(column), kept->value.push_back(b.s.own[column]);
            b.s.own[column] = Num(0);
        }
        b.s.own_touched.clear();
    }

    // Adds to the weights of some nodes of the only target, which must contain them.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i) {
            productions_of(store_, leaves_)(node[i], scale * weight[i], [&](Id key, double more) { productions_.grow(key, more); });
            for (std::int64_t e = store_.edge_start[node[i]]; e < store_.edge_start[node[i] + 1]; ++e)
                if (place_[e] != none) postings_.grow(place_[e], scale * weight[i] * store_.p[e]);
        }
    }

    static Memory estimate(TargetsOf<ForestStore> targets, Num, bool leaves) {
        const ForestStore &store = *targets.store;
        Memory out = CountProduct::estimate(targets.weights, productions_of(store, leaves));
        std::vector<char> column(store.size(), 0);
        std::size_t columns = 0, edges = 0, entries = 0;
        for (Id v : targets.weights.node) {
            if (flat(store, v, leaves)) continue;
            const auto own = static_cast<std::size_t>(store.edge_start[v + 1] - store.edge_start[v]);
            entries += own;
            if (!column[v]) column[v] = 1, ++columns, edges += own;
        }
        const Memory postings = Postings::estimate(edges, entries);
        const Memory children = Groups<3, Child>::estimate([&](auto add) {
            for (Id v = 0; v < static_cast<Id>(store.size()); ++v)
                for (std::int64_t e = store.edge_start[v]; column[v] && e < store.edge_start[v + 1]; ++e)
                    for (std::int64_t k = store.child_start[e]; k < store.child_start[e + 1]; ++k)
                        each_production(store, store.child[k], leaves, [&](Id production, double) {
                            add({key(store.production[e], leaves), static_cast<Id>(k - store.child_start[e]), production}, Child{});
                        });
        });
        out.index += postings.index + children.index + edges * (sizeof(Id) + sizeof(double)) +
                     (store.size() + store.production_count() + (leaves ? store.label_count() : 0) + 1 +
                      (targets.size() == 1 ? store.edges() : 0)) *
                         sizeof(Id);
        out.working = std::max({out.working, postings.working, children.working, store.edges() * 3 * sizeof(Id),
                                Loop::working(targets.size(), store.size()) + 4 * (columns + edges) * sizeof(Num)});
        return out;
    }
    std::size_t bytes() const {
        return bytes_of(productions_) + bytes_of(bucket_) + bytes_of(column_of_) + bytes_of(edge_node_) + bytes_of(edge_p_) +
               bytes_of(place_) + bytes_of(postings_) + bytes_of(children_);
    }

  private:
    struct Child { // a child of a column edge with the production that is looked up
        Id rank;   // rank of the edge among those of its production
        Id column; // column of the child, + 1; 0 if it cannot have corrections
        double p;  // probability of that production, given the child
    };

    // Productions keep their numbers. With leaves, the numbers between them belong to words, by
    // label.
    static Id key(Id production, bool leaves) { return leaves ? 2 * production : production; }
    static bool flat(const ForestStore &store, Id node, bool leaves) { return leaves ? store.is_word(node) : store.flat(node); }
    static auto productions_of(const ForestStore &store, bool leaves) {
        return [&store, leaves](Id node, double weight, auto add) {
            if (leaves && store.is_word(node)) add(2 * store.label[node] + 1, weight);
            for (std::int64_t e = store.edge_start[node]; e < store.edge_start[node + 1]; ++e)
                add(key(store.production[e], leaves), weight * store.p[e]);
        };
    }
    // Calls f(production, probability) for the productions of a node, whose edges are ordered by
    // production.
    template <class F> static void each_production(const ForestStore &store, Id node, bool leaves, F f) {
        if (leaves && store.is_word(node)) f(2 * store.label[node] + 1, 1.0);
        for (std::int64_t e = store.edge_start[node], end = store.edge_start[node + 1]; e < end;) {
            const Id production = store.production[e];
            double p = 0;
            for (; e < end && store.production[e] == production; ++e) p += store.p[e];
            f(key(production, leaves), p);
        }
    }

    // Columns are the nodes that can have corrections. Their edges are ordered by (production,
    // node).
    void index_edges(const NodeWeights &w) {
        column_of_.assign(store_.size(), none);
        for (Id v : w.node)
            if (!flat(store_, v, leaves_)) column_of_[v] = 0;
        std::vector<Id> present;
        for (Id v = 0; v < static_cast<Id>(store_.size()); ++v)
            if (column_of_[v] != none) column_of_[v] = static_cast<Id>(columns_++), present.push_back(v);
        const auto each_edge = [&](auto f) {
            for (Id v : present)
                for (std::int64_t e = store_.edge_start[v]; e < store_.edge_start[v + 1]; ++e)
                    f(v, e, productions_.local(key(store_.production[e], leaves_)));
        };
        bucket_.assign(static_cast<std::size_t>(productions_.size()) + 1, 0);
        each_edge([&](Id, std::int64_t, Id p) { ++bucket_[p + 1]; });
        for (std::size_t p = 1; p < bucket_.size(); ++p) widest_ = std::max(widest_, bucket_[p]), bucket_[p] += bucket_[p - 1];
        const auto n = static_cast<std::size_t>(bucket_.back());
        edge_node_.resize(n), edge_p_.resize(n);
        std::vector<std::int64_t> edge(n);
        place_.assign(store_.edges(), none);
        std::vector<Id> next(bucket_.begin(), bucket_.end() - 1);
        each_edge([&](Id v, std::int64_t e, Id p) {
            const Id at = place_[e] = next[p]++;
            edge[at] = e, edge_node_[at] = v, edge_p_[at] = store_.p[e];
        });
        postings_.build(w.rows(),
                        by_node(w,
                                [&](Id v, double weight, auto add) {
                                    for (std::int64_t e = store_.edge_start[v]; e < store_.edge_start[v + 1]; ++e)
                                        if (place_[e] != none) add(place_[e], weight * store_.p[e]);
                                }),
                        n);
        if (Loop::size() != 1) place_ = std::vector<Id>(); // only a single target grows
        index_children(edge);
    }

    void index_children(const std::vector<std::int64_t> &edge) {
        children_.build([&](auto add) {
            for (Id p = 0; p < productions_.size(); ++p) {
                const std::int64_t e = bucket_[p] < bucket_[p + 1] ? edge[bucket_[p]] : 0;
                const std::int64_t arity = bucket_[p] < bucket_[p + 1] ? store_.child_start[e + 1] - store_.child_start[e] : 0;
                for (std::int64_t q = 0; q < arity; ++q)
                    for (Id at = bucket_[p]; at < bucket_[p + 1]; ++at) {
                        const Id c = store_.child[store_.child_start[edge[at]] + q];
                        each_production(store_, c, leaves_, [&](Id production, double probability) {
                            add({p, static_cast<Id>(q), production}, Child{at - bucket_[p], column_of_[c] + 1, probability});
                        });
                    }
            }
        });
    }

    // Corrects the pairs of one edge of the row's node for which E exceeds lam.
    template <class Block> void correct_edge(Block &b, std::size_t i, std::int64_t e) const {
        const Id p = productions_.local(key(b.store.production[e], leaves_));
        if (p == none) return;
        Scratch &s = b.s;
        multiply_children(b, e, p);
        const Id first = bucket_[p];
        const double edge_p = b.store.p[e];
        const Num lam = lam_, own_p = lam_ * Num(edge_p);
        for (Id rank : s.touched) {
            const Num more = s.product[rank] - Num(1); // E / lam - 1: Zhang, Zhang & Li (2010), eq. 6
            s.product[rank] = more;
            const Id column = column_of_[edge_node_[first + rank]] + 1;
            Num &own = s.own[column]; // D: eq. 8
            if (own == 0) s.own_touched.push_back(column);
            own += own_p * more * Num(edge_p_[first + rank]);
        }
        for (const RowBlock::Occurrence &o : s.nodes.held(i)) {
            const Num factor = lam * Num(o.count * edge_p);
            for (Id rank : s.touched) postings_.add(first + rank, factor * s.product[rank], b.last, b.sums(o.row));
        }
        for (Id rank : s.touched) s.product[rank] = Num(0);
        s.touched.clear();
    }

    // Computes prod_j (1 + D(c1j, c2j)) for the column edges of production p that have a child with
    // the same production as a child of this edge.
    template <class Block> void multiply_children(Block &b, std::int64_t e, Id p) const {
        const ForestStore &of = b.store;
        Scratch &s = b.s;
        const Id ranks = up_to(b.limit, edge_node_.data() + bucket_[p], bucket_[p + 1] - bucket_[p]);
        const std::int64_t first = of.child_start[e], end = ranks > 0 ? of.child_start[e + 1] : first;
        const Id *const kids = of.child.from(first);
        for (std::int64_t k = first; k < end; ++k) {
            const auto c = static_cast<std::size_t>(s.index[kids[k - first]]);
            if (s.production_start[c] == s.production_start[c + 1]) continue; // a word that does not count
            const Values &known = s.kept[c];
            for (std::size_t t = 0; t < known.column.size(); ++t) s.child[known.column[t]] = known.value[t];
            for (std::size_t at = s.production_start[c]; at < s.production_start[c + 1]; ++at) {
                const auto [production, probability] = s.production[at];
                const std::span<const Child> found = children_.find({p, static_cast<Id>(k - first), production});
                const Num part = lam_ * Num(probability);
                b.pulse.add(16 * found.size());
                for (const Child *x = found.data(), *last = x + found.size(); x < last && x->rank < ranks; ++x) {
                    Num &factor = s.factor[x->rank];
                    if (factor == 0) {
                        s.met.push_back(x->rank);
                        factor = Num(1) + s.child[x->column];
                    }
                    factor += part * Num(x->p);
                }
            }
            for (Id rank : s.met) {
                Num &product = s.product[rank];
                if (product == 0) {
                    s.touched.push_back(rank);
                    product = s.factor[rank];
                } else
                    product *= s.factor[rank];
                s.factor[rank] = Num(0);
            }
            s.met.clear();
            for (Id column : known.column) s.child[column] = Num(0);
        }
    }

    const ForestStore &store_;
    Num lam_;
    bool leaves_;
    CountProduct productions_;
    std::size_t columns_ = 0;
    Id widest_ = 0;
    std::vector<Id> column_of_; // node -> column, or none
    std::vector<Id> bucket_;    // production -> its first column edge
    std::vector<Id> edge_node_;
    std::vector<double> edge_p_;
    std::vector<Id> place_;     // edge -> its column edge, if there is only one target
    Postings postings_;         // per column edge
    Groups<3, Child> children_; // by (production, position, child's production)
};

} // namespace treelet
