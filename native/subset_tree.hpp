// The subset-tree kernel of Collins & Duffy (2001) over a whole matrix at once.
//
//   C(u,v) = lam * prod_j (1 + C(u_j, v_j))      if u and v have the same production, else 0      (their section 2)
//   K(i,j) = sum_{u in i} sum_{v in j} C(u,v)
//
// Most pairs with one production have no child pair with one production, and there C = lam. So
//   K = lam * P P'  (P: tree x production counts)  +  sum of the corrections C - lam,
// and the corrections of a row subtree u are found through an index on (production, child position, child's
// production) of the column subtrees. Only the rows C(u, .) of the current block are held.
//
// With leaves, a word counts too, as if it had one child that all words share: it has a production, and equal words have one.
//
// With max_depth = d the recursion is C_d(u,v) = lam * prod_j (1 + C_{d-1}(u_j, v_j)), C_1 = lam: one value a level.
#pragma once
#include "key_numbers.hpp"
#include "node_loop.hpp"

namespace treelet {

template <class Num> struct SubsetTreeScratch : NodeScratch<Num, SparseValues<Num>> { // values: C - lam, one a level
    std::vector<Num> product; // running prod_j (1 + C), per rank and level; 0: untouched
    std::vector<Num> child;   // C(u_q, .) - lam of the child at hand, per column + 1
    std::vector<Id> touched;  // ranks
};

template <class Num> class SubsetTreeColumns : public NodeLoop<SubsetTreeColumns<Num>, SubsetTreeScratch<Num>> {
    using Scratch = SubsetTreeScratch<Num>;
    using Values = SparseValues<Num>;
    using Loop = NodeLoop<SubsetTreeColumns<Num>, Scratch>;

  public:
    // max_depth 0: no bound.
    SubsetTreeColumns(Targets targets, Num lam, int max_depth, bool leaves)
        : Loop(targets.size()), store_(*targets.store), lam_(lam), leaves_(leaves) {
        Id height = 0;
        for (Id node : targets.weights.node) height = std::max(height, store_.height(node));
        limited_ = max_depth > 0 && max_depth < height + leaves;
        levels_ = limited_ ? static_cast<std::size_t>(max_depth - 1) : 1;
        productions_.build(targets.weights, productions_of(store_, leaves));
        index_columns(targets.weights);
        if (levels_ > 0) index_children();
        if (static_cast<double>(column_.size() * levels_) > 5e8)
            throw std::length_error("max_depth=" + std::to_string(max_depth) +
                                    " needs too much memory on trees this deep: leave it None, or make it smaller");
    }

    void prepare(const Store &, Scratch &s) const {
        s.product.resize(static_cast<std::size_t>(widest_) * levels_, Num(0));
        s.touched.resize(static_cast<std::size_t>(widest_) + 1);
        s.child.resize((column_.size() + 1) * levels_, Num(0));
    }

    // lam * P P'
    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        productions_.add(b.rows, b.first + r, lam_, b.s.seen, b.last, sums, b.pulse, productions_of(b.store, leaves_));
    }

    // With max_depth = 1 there is nothing to correct.
    template <class Block> std::size_t take_rows(Block &b) const { return levels_ > 0 ? Loop::take_rows(b) : 1; }
    template <class Block> void correct(Block &b) const {
        if (levels_ > 0) Loop::correct(b);
    }
    template <class Block> void correct_node(Block &b, std::size_t i) const {
        if (flat(b.store, b.s.nodes.node[i], leaves_)) return;
        limited_ ? correct_node<true>(b, i) : correct_node<false>(b, i);
    }

    // Adds to the weights of the only target, which must hold the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i) {
            const Id production = production_of(store_, node[i], leaves_);
            if (production == none) continue;
            productions_.grow(production, scale * weight[i]);
            if (const Id column = column_of_[node[i]]; column != none) first_[column].weight += scale * weight[i];
        }
    }

    static Memory estimate(Targets targets, Num, int max_depth, bool leaves) {
        const Store &store = *targets.store;
        Memory out = CountProduct::estimate(targets.weights, productions_of(store, leaves));
        std::vector<char> column(store.size(), 0);
        std::size_t columns = 0, entries = 0;
        for (Id node : targets.weights.node)
            if (!flat(store, node, leaves)) ++entries, columns += !column[node], column[node] = 1;
        const Memory postings = Postings::estimate(columns, entries);
        const Memory children = Groups<3, Child>::estimate([&](auto add) {
            for (Id v = 0; v < static_cast<Id>(store.size()); ++v)
                for (std::size_t q = 0, arity = column[v] ? store.arity(v) : 0; q < arity; ++q)
                    if (const Id production = production_of(store, store.children(v)[q], leaves); production != none)
                        add({production_of(store, v, leaves), static_cast<Id>(q), production}, Child{});
        });
        out.index += postings.index + (max_depth == 1 ? 0 : children.index) + columns * (sizeof(Id) + sizeof(FirstPosting)) +
                     (store.size() + store.production_count() + (leaves ? store.label_count() : 0) + 1) * sizeof(Id);
        const std::size_t levels = max_depth > 0 ? static_cast<std::size_t>(max_depth) : 1;
        out.working = std::max({out.working, postings.working, children.working,
                                Loop::working(targets.size(), store.size()) + 3 * columns * levels * sizeof(Num)});
        return out;
    }
    std::size_t bytes() const {
        return productions_.bytes() + bytes_of(bucket_) + bytes_of(column_) + bytes_of(column_of_) + bytes_of(first_) +
               postings_.bytes() + children_.bytes();
    }

  private:
    struct Child { // of a column: one that has the production looked for
        Id rank;   // of the parent, within its production's columns
        Id column; // of the child, + 1; 0 if it cannot have corrections
    };

    // The number of a node's production, none for a word; with leaves a word has one, which its label numbers.
    static Id production_of(const Store &store, Id node, bool leaves) {
        const Id production = store.production(node);
        return !leaves ? production : production == none ? 2 * store.label(node) + 1 : 2 * production;
    }
    // No child has a production.
    static bool flat(const Store &store, Id node, bool leaves) {
        return leaves ? store.production(node) == none : store.flat(node);
    }
    static auto productions_of(const Store &store, bool leaves) {
        return [&store, leaves](Id node, double weight, auto add) {
            if (const Id production = production_of(store, node, leaves); production != none) add(production, weight);
        };
    }

    // Columns are the distinct subtrees that can have corrections, ordered by (production, id). Most are in one target.
    void index_columns(const NodeWeights &w) {
        const auto local = [&](Id node) { return productions_.local(production_of(store_, node, leaves_)); };
        column_of_.assign(store_.size(), none);
        for (Id node : w.node)
            if (!flat(store_, node, leaves_)) column_of_[node] = 0;
        bucket_.assign(static_cast<std::size_t>(productions_.size()) + 1, 0);
        for (Id v = 0; v < static_cast<Id>(store_.size()); ++v)
            if (column_of_[v] != none) ++bucket_[local(v) + 1];
        for (std::size_t p = 1; p < bucket_.size(); ++p) widest_ = std::max(widest_, bucket_[p]), bucket_[p] += bucket_[p - 1];
        column_.resize(static_cast<std::size_t>(bucket_.back()));
        std::vector<Id> next(bucket_.begin(), bucket_.end() - 1);
        for (Id v = 0; v < static_cast<Id>(store_.size()); ++v)
            if (column_of_[v] != none) column_[column_of_[v] = next[local(v)]++] = v;
        postings_.build(w.rows(),
                        by_node(w,
                                [&](Id node, double weight, auto add) {
                                    if (column_of_[node] != none) add(column_of_[node], weight);
                                }),
                        column_.size());
        first_.reserve(column_.size());
        for (std::size_t c = 0; c < column_.size(); ++c) first_.emplace_back(postings_, static_cast<Id>(c));
    }

    void index_children() {
        children_.build([&](auto add) {
            for (Id p = 0; p < productions_.size(); ++p) {
                const std::size_t arity = bucket_[p] < bucket_[p + 1] ? store_.arity(column_[bucket_[p]]) : 0;
                for (std::size_t q = 0; q < arity; ++q)
                    for (Id c = bucket_[p]; c < bucket_[p + 1]; ++c) {
                        const Id child = store_.children(column_[c])[q];
                        if (const Id production = production_of(store_, child, leaves_); production != none)
                            add({p, static_cast<Id>(q), production}, Child{c - bucket_[p], column_of_[child] + 1});
                    }
            }
        });
    }

    // The row C(u, .) - lam and its sum into the matrix.
    template <bool limited, class Block> void correct_node(Block &b, std::size_t i) const {
        const Id u = b.s.nodes.node[i], p = productions_.local(production_of(b.store, u, leaves_));
        if (p == none) return;
        const std::size_t levels = limited ? levels_ : 1;
        const std::size_t met = multiply_children<limited>(b, u, p);
        if (met == 0) return;
        Values *const kept = b.s.nodes.uses[i] > 0 ? &b.s.kept.make(i) : nullptr;
        if (kept) kept->column.resize(met), kept->value.resize(met * levels);
        const std::span<const RowBlock::Occurrence> held = b.s.nodes.held(i);
        Num *const product = b.s.product.data(), *const all_sums = b.s.sums.data();
        const Id *const touched = b.s.touched.data();
        const std::size_t last = b.last, n = b.targets;
        const Num lam = lam_, one(1);
        for (std::size_t t = 0; t < met; ++t) {
            const Id rank = touched[t], column = bucket_[p] + rank;
            Num *const prod = product + static_cast<std::size_t>(rank) * levels;
            Num value(0);
            for (std::size_t l = 0; l < levels; ++l) {
                value = lam * (prod[l] - one); // C(u,v) - lam: Collins & Duffy (2001), section 2
                prod[l] = Num(0);
                if (kept) kept->value[t * levels + l] = value;
            }
            if (kept) kept->column[t] = column;
            const FirstPosting &posting = first_[column];
            for (const RowBlock::Occurrence &o : held)
                posting.add(postings_, column, Num(o.count) * value, last, all_sums + static_cast<std::size_t>(o.row) * n);
        }
    }

    // prod_j (1 + C(u_j, v_j)) for the columns v of production p with a child like one of u's: how many these are.
    template <bool limited, class Block> std::size_t multiply_children(Block &b, Id u, Id p) const {
        const Id ranks = up_to(b.limit, column_.data() + bucket_[p], bucket_[p + 1] - bucket_[p]);
        if (ranks == 0) return 0;
        const std::size_t levels = limited ? levels_ : 1;
        Num *const product = b.s.product.data(), *const child_value = b.s.child.data();
        Id *const touched = b.s.touched.data();
        std::size_t met = 0;
        const Num base = Num(1) + lam_;
        const Id *const kids = b.store.children(u);
        for (std::size_t q = 0, arity = b.store.arity(u); q < arity; ++q) {
            const Id production = production_of(b.store, kids[q], leaves_);
            if (production == none) continue;
            const std::span<const Child> found = children_.find({p, static_cast<Id>(q), production});
            if (found.empty()) continue;
            b.pulse.add(found.size());
            const Values &known = b.s.kept[static_cast<std::size_t>(b.s.index[kids[q]])];
            const bool plain = known.column.empty();
            if (!plain) scatter(known, child_value, levels);
            for (const Child *e = found.data(), *end = e + found.size(); e < end && e->rank < ranks; ++e) {
                Num *const prod = product + static_cast<std::size_t>(e->rank) * levels;
                const bool fresh = prod[0] == 0;
                touched[met] = e->rank;
                met += fresh;
                if constexpr (limited) {
                    for (std::size_t l = 0; l < levels; ++l) {
                        Num factor = base;
                        if (!plain && l > 0) factor += child_value[static_cast<std::size_t>(e->column) * levels + l - 1];
                        prod[l] = fresh ? factor : prod[l] * factor;
                    }
                } else {
                    const Num factor = plain ? base : base + child_value[e->column];
                    prod[0] = fresh ? factor : prod[0] * factor;
                }
            }
            if (!plain) unscatter(known, child_value, levels);
        }
        return met;
    }

    static void scatter(const Values &row, Num *child, std::size_t levels) {
        for (std::size_t k = 0; k < row.column.size(); ++k)
            for (std::size_t l = 0; l < levels; ++l)
                child[(row.column[k] + std::size_t{1}) * levels + l] = row.value[k * levels + l];
    }
    static void unscatter(const Values &row, Num *child, std::size_t levels) {
        for (Id column : row.column)
            for (std::size_t l = 0; l < levels; ++l) child[(column + std::size_t{1}) * levels + l] = Num(0);
    }

    const Store &store_;
    Num lam_;
    bool leaves_;
    bool limited_ = false;
    std::size_t levels_ = 1; // of corrections
    CountProduct productions_;
    Id widest_ = 0;
    std::vector<Id> bucket_;    // production -> its columns
    std::vector<Id> column_;    // their nodes
    std::vector<Id> column_of_; // node -> column, none if it is none
    Postings postings_;
    std::vector<FirstPosting> first_;
    Groups<3, Child> children_; // by (production, position, child's production)
};

} // namespace treelet
