// The subset-tree kernel of Collins & Duffy (2001) over a whole matrix at once.
//
//   C(u,v) = lam * prod_j (1 + C(u_j, v_j))      if u and v have the same production, else 0      (their section 2)
//   K(i,j) = sum_{u in i} sum_{v in j} C(u,v)
//
// Most pairs with the same production have no child pair with the same production, and then C =
// lam. Most of the others share only parts that very many subtrees have: their shapes
// (subset_tree_index.hpp). So
//   K = lam * P P'  (P: tree x production counts)  +  sum of S - lam  +  sum of C - S,    S(u,v) = C(shape of u, shape of v).
// S - lam is computed once per shape of the columns, and is nonzero only if a common key matches. C
// - S is nonzero only if another key matches, here or below. Only the rows S(u, .) - lam and C(u,
// .) - S(u, .) of the current block are stored.
//
// With leaves, words count too, as if each had one child that all words share: a word has a
// production, and equal words have the same one.
//
// With max_depth = d the recursion is C_d(u,v) = lam * prod_j (1 + C_{d-1}(u_j, v_j)), C_1 = lam:
// one value per level.
#pragma once
#include "subset_tree_index.hpp"
#include "subset_tree_scratch.hpp"

namespace treelet {

template <class Num> class SubsetTreeColumns : public NodeLoop<SubsetTreeColumns<Num>, SubsetTreeScratch<Num>> {
    using Scratch = SubsetTreeScratch<Num>;
    using Values = SubsetTreeValues<Num>;
    using Edge = SubsetTreeIndex::Edge;
    using Loop = NodeLoop<SubsetTreeColumns<Num>, Scratch>;

  public:
    // Without an index: the caller sets all parts.
    SubsetTreeColumns(const Store &store, Num lam, int, bool leaves)
        : Loop(0), store_(&store), lam_(lam), base_(Num(1) + lam), leaves_(leaves) {}
    // max_depth 0: no limit.
    SubsetTreeColumns(Targets targets, Num lam, int max_depth, bool leaves)
        : SubsetTreeColumns(*targets.store, lam, max_depth, leaves) {
        this->size_ = targets.size();
        const Productions productions = productions_of(*targets.store);
        Id height = 0;
        if (max_depth > 0)
            for (Id node : targets.weights.node) height = std::max(height, targets.store->height(node));
        limited_ = max_depth > 0 && max_depth < height + leaves;
        levels_ = limited_ ? static_cast<std::size_t>(max_depth - 1) : 1;
        kept_levels_ = limited_ ? levels_ - 1 : 1;
        productions_.build(targets.weights, productions.by_node());
        if (levels_ > 0)
            index_.build(targets.weights, productions, productions_.size(), [&](Id key) { return productions_.local(key); });
        widest_ = static_cast<std::size_t>(index_.most_shapes());
        longest_ = static_cast<std::size_t>(index_.most_columns());
    }

    void prepare(const Store &, Scratch &s, Pulse &pulse) const {
        resize(s.product, widest_ * levels_, pulse);
        s.touched.resize(widest_ + 1);
        resize(s.exact, longest_ * levels_, pulse), resize(s.rest, longest_ * levels_, pulse);
        s.other.resize(longest_ + 1);
        resize(s.child_shape, widest_ * levels_, pulse);
        resize(s.child_rest, (index_.columns() + 1) * levels_, pulse);
        s.reached.resize(static_cast<std::size_t>(productions_.size()));
    }

    // lam * P P'
    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        productions_.add(b.rows, b.first + r, lam_, b.s.seen, b.last, sums, b.pulse, productions_of(b.store).by_node());
    }

    // With max_depth = 1 there is nothing to correct.
    template <class Block> std::size_t take_rows(Block &b) const {
        return levels_ > 0 ? Loop::take_rows(b, most_rows(index_.shapes())) : 1;
    }
    template <class Block> void correct(Block &b) const {
        if (levels_ == 0) return;
        if (b.s.total.size() < b.count * index_.shapes()) b.s.total.resize(b.count * index_.shapes(), Num(0));
        if (b.s.held.size() < b.count) b.s.held.resize(b.count), b.s.all_held.resize(b.count);
        if (b.limit < b.s.limit) std::fill(b.s.reached.begin(), b.s.reached.end(), typename Scratch::Reached{});
        b.s.limit = b.limit;
        Loop::correct(b);
        for (std::size_t r = 0; r < b.count; ++r) post_shapes(b, r);
    }
    bool skips(const Store &store, Id node) const { return productions_of(store).flat(node); }
    template <class Block> void correct_node(Block &b, std::size_t i) const {
        const Productions productions = productions_of(b.store);
        const Id u = b.s.nodes.node[i];
        const Id p = productions_.local(productions.of(u));
        if (p == none) return;
        auto &[columns, shapes] = b.s.reached[p];
        Node at{i, p, columns = index_.columns(p, b.limit, columns), shapes = index_.shapes(p, b.limit, shapes)};
        if (at.columns == 0) return;
        index_.keys_of(productions, u, p, b.s.keys);
        at.levels = levels_from(b, u);
        for (std::size_t q = 0; q < b.s.keys.size(); ++q)
            if (b.s.keys[q] != none && !index_.common(b.s.keys[q])) multiply_rare(b, at, q, known(b, u, q));
        if (at.shapes > 0) meet_common(b, u, at);
        if (!at.all && at.touched == 0 && at.others == 0) return;
        Values *const kept = b.s.nodes.uses[i] > 0 && kept_levels_ > 0 ? &b.s.kept.make(i) : nullptr;
        if (kept) kept->levels = std::min(at.levels, kept_levels_), kept->first_shape = at.shapes > 0 ? index_.first_shape(p) : 0;
        at.all ? finish_all_shapes(b, at, kept) : finish_shapes(b, at, kept);
        finish_others(b, at, kept);
        for (std::size_t l = 0; l < at.levels; ++l) {
            b.pulse.add(1 + (at.all ? static_cast<std::size_t>(at.shapes) : at.touched));
            if (at.all)
                std::fill_n(product(b, l), at.shapes, Num(0));
            else
                for (std::size_t t = 0; t < at.touched; ++t) product(b, l)[b.s.touched[t]] = Num(0);
        }
    }

    // Adds to the weights of the only target, which must contain the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i) {
            const Id production = productions_of(*store_).of(node[i]);
            if (production == none) continue;
            productions_.grow(production, scale * weight[i]);
            if (levels_ > 0) index_.grow(node[i], scale * weight[i]);
        }
    }

    static Memory estimate(Targets targets, Num, int max_depth, bool leaves) {
        const Productions productions{*targets.store, leaves};
        Memory out = CountProduct::estimate(targets.weights, productions.by_node());
        std::size_t working = Loop::working(targets.size(), targets.store->size());
        if (max_depth != 1) {
            const auto [index, columns] = SubsetTreeIndex::estimate(targets.weights, productions);
            Id height = 0;
            for (Id node : targets.weights.node) height = std::max(height, targets.store->height(node));
            const std::size_t levels = max_depth > 0 ? static_cast<std::size_t>(std::min(max_depth, height + leaves)) : 1;
            out.index += index.index, out.working = std::max(out.working, index.working);
            working += (7 * columns * levels + most_rows(columns) * columns) * sizeof(Num);
        }
        out.working = std::max(out.working, working);
        return out;
    }
    template <class Self> static auto parts(Self &self) {
        return std::tie(self.size_, self.limited_, self.levels_, self.kept_levels_, self.widest_, self.longest_, self.productions_,
                        self.index_);
    }
    std::size_t bytes() const { return bytes_of(*this); }
    bool consistent(const Store &store) const { return levels_ == 0 || index_.nodes() == store.size(); }

  private:
    struct Node {           // a node of a row
        std::size_t i;      // its position in the block
        Id p;               // its production
        Id columns, shapes; // numbers of columns and shapes of that production, up to the limit
        std::size_t touched = 0, others = 0, levels = 1;
        bool all = false; // whether all shapes are touched, and not listed
    };

    Productions productions_of(const Store &store) const { return {store, leaves_}; }
    // Returns the number of rows per block for which the totals of so many shapes take a few MiB.
    static std::size_t most_rows(std::size_t shapes) {
        return std::clamp<std::size_t>((std::size_t{1} << 20) / (shapes + 1), 1, RowBlock::max_rows);
    }
    template <class Block> Num *product(Block &b, std::size_t level) const { return b.s.product.data() + level * widest_; }
    template <class Block> Num *exact(Block &b, std::size_t level) const { return b.s.exact.data() + level * longest_; }

    // Returns whether at least half of the shapes match. No list of the matching shapes is then
    // stored.
    bool meets_most(const std::vector<Id> &keys, Id p) const {
        std::size_t found = 0;
        for (Id key : keys)
            if (key != none && index_.common(key)) found += index_.edges(key).size();
        return 2 * found >= static_cast<std::size_t>(index_.all_shapes(p));
    }

    static inline const Values nothing;
    // The values of u's child at position q.
    template <class Block> const Values &known(Block &b, Id u, std::size_t q) const {
        const Id child = b.s.index[b.store.children(u)[q]];
        return child == none ? nothing : b.s.kept[static_cast<std::size_t>(child)];
    }
    // The values of a child at one level; null if it has only lam.
    struct Below {
        const Num *shapes = nullptr; // by rank
        Id first = 0;                // first of these shapes
        const Num *rest = nullptr;   // by column, or none
    };
    template <class Block> Below below(Block &b, const Values &known, std::size_t level) const {
        if (known.levels == 0 || (limited_ && level == 0)) return {};
        const std::size_t l = limited_ ? std::min(level, known.levels) - 1 : 0;
        Below out;
        out.first = known.first_shape;
        if (!known.shapes.column.empty())
            out.shapes = b.s.child_shape.data() + l * widest_;
        else if (!known.shapes.value.empty())
            out.shapes = known.shapes.value.data() + l * (known.shapes.value.size() / known.levels);
        if (!known.rest.column.empty()) out.rest = child_rest(b) + l * (index_.columns() + 1);
        return out;
    }
    // The entry before the first stands for `none` and is 0.
    template <class Block> Num *child_rest(Block &b) const { return b.s.child_rest.data() + 1; }
    template <class Block, class F> void with_child(Block &b, const Values &known, F f) const {
        if (known.levels == 0) return f();
        scatter(known.shapes, known.levels, b.s.child_shape.data(), widest_, b.pulse);
        scatter(known.rest, known.levels, child_rest(b), index_.columns() + 1, b.pulse);
        f();
        unscatter(known.shapes, known.levels, b.s.child_shape.data(), widest_, b.pulse);
        unscatter(known.rest, known.levels, child_rest(b), index_.columns() + 1, b.pulse);
    }
    // 1 + C(u_j, column)
    Num factor(const Below &child, Id column) const {
        Num out = base_;
        if (child.shapes && column != none) out += child.shapes[index_.shape_of(column) - child.first];
        if (child.rest) out += child.rest[column];
        return out;
    }

    // Multiplies the products of ranks below `end` that have an edge by the factor of their child.
    // A product of 0 is a new match and is added to the list.
    template <class Factor> static std::size_t multiply(std::span<const Edge> edges, Id end, Num *product, Id *met, std::size_t n,
                                                        bool first, Factor factor) {
        for (const Edge *e = edges.data(), *const last = e + edges.size(); e < last && e->rank < end; ++e) { // edges are ascending
            Num &value = product[e->rank];
            const bool fresh = value == 0;
            if (first) met[n] = e->rank;
            n += fresh;
            value = fresh ? factor(e->child) : value * factor(e->child);
        }
        return n;
    }

    // Multiplies prod_j (1 + C(u_j, .)) by the child at position q, whose key is not common.
    template <class Block> void multiply_rare(Block &b, Node &at, std::size_t q, const Values &known) const {
        const std::span<const Edge> edges = index_.rare(b.s.keys[q]);
        const std::size_t before = at.others;
        const auto by = [&](std::size_t l, auto factor) {
            const std::size_t n = multiply(edges, at.columns, exact(b, l), b.s.other.data(), before, l == 0, factor);
            if (l == 0) at.others = n;
        };
        with_child(b, known, [&] {
            for (std::size_t l = 0; l < at.levels; ++l) {
                b.pulse.add(edges.size());
                const Below child = below(b, known, l);
                if (child.shapes)
                    by(l, [&](Id column) { return factor(child, column); });
                else if (child.rest)
                    by(l, [&](Id column) { return base_ + child.rest[column]; });
                else
                    by(l, [&](Id) { return base_; });
            }
        });
    }

    // The same for common keys: prod_j (1 + S(u_j, .)) of shapes, and the products of those other
    // columns that have a common key and differ from their shape below it.
    template <class Block> void meet_common(Block &b, Id u, Node &at) const {
        at.all = meets_most(b.s.keys, at.p);
        for (std::size_t l = 0; at.all && l < at.levels; ++l) {
            b.pulse.add(static_cast<std::size_t>(at.shapes));
            std::fill_n(product(b, l), at.shapes, Num(1));
        }
        const auto each = [&](auto f) {
            for (std::size_t q = 0; q < b.s.keys.size(); ++q)
                if (b.s.keys[q] != none && index_.common(b.s.keys[q])) f(q, known(b, u, q));
        };
        each([&](std::size_t q, const Values &known) {
            for (Id column : known.rest.column)
                index_.each_parent(column, b.s.keys[q], [&](Id rank) {
                    if (rank >= at.columns || !(exact(b, 0)[rank] == 0)) return;
                    for (std::size_t l = 0; l < at.levels; ++l) exact(b, l)[rank] = Num(1);
                    b.s.other[at.others++] = rank;
                });
        });
        each([&](std::size_t q, const Values &known) {
            with_child(b, known, [&] {
                for (std::size_t l = 0; l < at.levels; ++l) {
                    const Below child = below(b, known, l);
                    multiply_shapes(b, at, b.s.keys[q], child.shapes, l);
                    if (at.others > 0) multiply_others(b, at, q, child, l);
                }
            });
        });
    }
    template <class Block> void multiply_shapes(Block &b, Node &at, Id key, const Num *below, std::size_t level) const {
        const std::span<const Edge> edges = index_.edges(key);
        const auto factor = [&](Id child) { return below && child != none ? base_ + below[child] : base_; };
        Num *const to = product(b, level);
        if (at.all) {
            for (const Edge *e = edges.data(), *const end = e + edges.size(); e < end && e->rank < at.shapes; ++e)
                to[e->rank] *= factor(e->child);
        } else {
            const std::size_t n = multiply(edges, at.shapes, to, b.s.touched.data(), at.touched, level == 0, factor);
            if (level == 0) at.touched = n;
        }
        b.pulse.add(edges.size());
    }
    template <class Block>
    void multiply_others(Block &b, const Node &at, std::size_t q, const Below &child, std::size_t level) const {
        const SubsetTreeIndex::Kid *const kids = index_.kids(at.p, 0) + q;
        const std::size_t arity = index_.arity_of(at.p);
        Num *const to = exact(b, level);
        for (std::size_t t = 0; t < at.others; ++t) {
            const Id rank = b.s.other[t];
            const SubsetTreeIndex::Kid kid = kids[static_cast<std::size_t>(rank) * arity];
            if (kid.key == b.s.keys[q]) to[rank] *= factor(child, kid.column);
        }
        b.pulse.add(at.others);
    }

    // Stores the row S(u, .) - lam, and adds its sum to the totals.
    template <class Block> void finish_shapes(Block &b, const Node &at, Values *kept) const {
        const Id *const touched = b.s.touched.data();
        const std::size_t n = at.touched;
        if (n == 0) return;
        if (kept) kept->shapes.column.assign(touched, touched + n), resize(kept->shapes.value, n * kept->levels, b.pulse);
        for (std::size_t l = 0; l < at.levels; ++l) {
            b.pulse.add(n);
            Num *const values = product(b, l);
            for (std::size_t t = 0; t < n; ++t) values[touched[t]] = lam_ * (values[touched[t]] - Num(1));
            if (kept && l < kept->levels)
                for (std::size_t t = 0; t < n; ++t) kept->shapes.value[l * n + t] = values[touched[t]];
        }
        const Num *const values = product(b, at.levels - 1);
        const Id first = index_.first_shape(at.p);
        for (const RowBlock::Occurrence &o : b.s.nodes.held(at.i)) {
            Num *const total = totals(b, o.row) + first;
            std::vector<Id> &held = b.s.held[o.row];
            const Num count(o.count);
            for (std::size_t t = 0; t < n; ++t) {
                const Id rank = touched[t];
                if (total[rank] == 0) held.push_back(first + rank);
                total[rank] += count * values[rank];
            }
        }
    }
    template <class Block> void finish_all_shapes(Block &b, const Node &at, Values *kept) const {
        const auto n = static_cast<std::size_t>(at.shapes);
        if (kept) resize(kept->shapes.value, n * kept->levels, b.pulse);
        for (std::size_t l = 0; l < at.levels; ++l) {
            b.pulse.add(n);
            Num *const values = product(b, l);
            shift_scale(values, lam_, Num(0) - lam_, n);
            if (kept && l < kept->levels) std::copy_n(values, n, kept->shapes.value.data() + l * n);
        }
        for (const RowBlock::Occurrence &o : b.s.nodes.held(at.i)) {
            add_scaled(totals(b, o.row) + index_.first_shape(at.p), Num(o.count), product(b, at.levels - 1), n);
            std::vector<Id> &held = b.s.all_held[o.row];
            if (std::find(held.begin(), held.end(), at.p) == held.end()) held.push_back(at.p);
        }
    }
    template <class Block> Num *totals(Block &b, Id row) const {
        return b.s.total.data() + static_cast<std::size_t>(row) * index_.shapes();
    }
    // Adds the totals of the shapes of row r to the targets that contain them.
    template <class Block> void post_shapes(Block &b, std::size_t r) const {
        Num *const total = totals(b, static_cast<Id>(r)), *const sums = b.sums(r);
        const auto post = [&](Id shape) {
            index_.add_shape(shape, total[shape], b.last, sums);
            total[shape] = Num(0);
        };
        for (Id shape : b.s.held[r]) post(shape);
        for (Id p : b.s.all_held[r])
            for (Id shape = index_.first_shape(p), end = shape + b.s.reached[p].shapes; shape < end; ++shape)
                if (!(total[shape] == 0)) post(shape);
        b.s.held[r].clear(), b.s.all_held[r].clear();
    }

    // Stores the row C(u, .) - S(u, .), and adds its sum to the matrix.
    template <class Block> void finish_others(Block &b, const Node &at, Values *kept) const {
        const Id *const other = b.s.other.data();
        const std::size_t n = at.others;
        if (n == 0) return;
        const Id first = index_.first_column(at.p), first_shape = at.shapes > 0 ? index_.first_shape(at.p) : 0;
        const bool shaped = at.all || at.touched > 0;
        for (std::size_t l = 0; l < at.levels; ++l) {
            b.pulse.add(n);
            Num *const from = exact(b, l), *const rest = b.s.rest.data() + l * n;
            const Num *const shapes = product(b, l);
            for (std::size_t t = 0; t < n; ++t) {
                rest[t] = lam_ * (from[other[t]] - Num(1)); // C(u,v) - lam: Collins & Duffy (2001), section 2
                if (shaped) rest[t] = rest[t] - shapes[index_.shape_of(first + other[t]) - first_shape];
                from[other[t]] = Num(0);
            }
        }
        if (kept) {
            kept->rest.column.resize(n);
            for (std::size_t t = 0; t < n; ++t) kept->rest.column[t] = first + other[t];
            kept->rest.value.reserve(n * kept->levels);
            for (const Num *from = b.s.rest.data(), *const end = from + n * kept->levels; from < end; from += n) {
                b.pulse.add(n);
                kept->rest.value.insert(kept->rest.value.end(), from, from + n);
            }
        }
        const Num *const values = b.s.rest.data() + (at.levels - 1) * n;
        for (const RowBlock::Occurrence &o : b.s.nodes.held(at.i)) {
            const Num count(o.count);
            for (std::size_t t = 0; t < n; ++t) index_.add(first + other[t], count * values[t], b.last, b.sums(o.row));
        }
    }

    // If no columns are listed, the values are already in place.
    static void scatter(const SparseValues<Num> &row, std::size_t levels, Num *to, std::size_t width, Pulse &pulse) {
        const std::size_t n = row.column.size();
        for (std::size_t l = 0; n > 0 && l < levels; ++l) {
            pulse.add(n);
            for (std::size_t k = 0; k < n; ++k) to[l * width + static_cast<std::size_t>(row.column[k])] = row.value[l * n + k];
        }
    }
    static void unscatter(const SparseValues<Num> &row, std::size_t levels, Num *to, std::size_t width, Pulse &pulse) {
        for (std::size_t l = 0; !row.column.empty() && l < levels; ++l) {
            pulse.add(row.column.size());
            for (Id column : row.column) to[l * width + static_cast<std::size_t>(column)] = Num(0);
        }
    }

    // Returns the level from which on the values of u no longer change: one above that of its
    // children.
    template <class Block> std::size_t levels_from(Block &b, Id u) const {
        std::size_t below = 0;
        for (std::size_t q = 0, arity = limited_ ? b.store.arity(u) : 0; q < arity; ++q)
            below = std::max(below, known(b, u, q).levels);
        return std::min(levels_, below + 1);
    }

    const Store *store_;
    Num lam_, base_; // base: the factor of a child for which only the production matches
    bool leaves_;
    bool limited_ = false;
    std::size_t levels_ = 1;      // number of levels of corrections
    std::size_t kept_levels_ = 1; // number of levels that parents need
    std::size_t widest_ = 0;      // maximum number of shapes of one production
    std::size_t longest_ = 0;     // maximum number of columns of one production
    CountProduct productions_;
    SubsetTreeIndex index_;
};

} // namespace treelet
