// Random features of trees, whose inner products estimate the subset-tree and the partial-tree
// kernel.
//
// The method follows distributed tree kernels (Zanzotto & Dell'Arciprete 2012) and tensor sketches
// (Pham & Pagh 2013). A fragment has a random vector, and a tree has the sum of its fragments'
// vectors. The sum over all fragments at a node follows from those of its children. Vectors are
// complex, as after a Fourier transform, so a convolution is an entrywise product:
//   SST:  s(u) = sqrt(lam) r(production) * prod_j (1 + P_j s(u_j))
//   PT:   s(u) = sqrt(mu) r(label) * (lam + sum_b T_b),  T_b = P s(u_b) * (1 + Q D_b),  D_b = lam D_(b-1) + T_(b-1)
// r has entries of modulus 1, drawn by a hash of the production or label. P_j and Q permute
// entries, so fragments with the same productions in other positions have different vectors. T_b is
// the sum over sequences of children that end with child b, and D_b the decayed sum over those
// before it.
//
// The smallest fragments have the largest weights. Those with a coordinate of their own
// (KnownParts) are counted there and excluded from s.
//
// Each tree is traversed once, the largest child first, so the number of open vectors is at most
// logarithmic in its size. Vectors that are needed again are stored. A vector depends only on the
// subtree, to the last bit.
#pragma once
#include "pulse.hpp"
#include "sketch_waves.hpp"

namespace treelet {

struct SketchParameters {
    bool partial;
    double lam, mu; // mu: PT only
    int max_depth;  // SST only; 0: no limit
    bool leaves;
};

class TreeSketch {
  public:
    // With only_known, unknown parts are ignored. `budget` is the number of bytes per thread for
    // vectors that are stored for later trees.
    TreeSketch(SketchParameters p, std::size_t waves, std::uint64_t seed, KnownParts known, bool only_known, std::size_t budget)
        : p_(p), keys_{!p.partial, p.leaves}, n_(waves), seed_(seed), known_(std::move(known)), only_known_(only_known),
          budget_(budget), exact_(known_.empty() ? 0 : known_.coordinates()), outer_(std::sqrt(p.partial ? p.mu : p.lam)),
          alone_(p.partial ? p.lam : 1.0), child_(outer_ * alone_), order_(2 * waves) {
        for (std::size_t i = 0; i < n_; ++i) order_[i] = static_cast<Id>(i);
        for (std::size_t i = n_; i-- > 1;) // Fisher & Yates
            std::swap(order_[i], order_[random_number(seed_ ^ 0x5851F42D4C957F2Dull, i) % (i + 1)]);
        std::copy_n(order_.begin(), n_, order_.begin() + static_cast<std::ptrdiff_t>(n_));
    }
    std::size_t width() const { return exact_ + 2 * n_; }
    std::size_t exact() const { return exact_; }
    PartKeys keys() const { return keys_; }
    // Weight of one occurrence in a coordinate of its own.
    double single_weight() const { return outer_ * alone_; }
    double pair_weight() const { return outer_ * child_; }
    bool single_leaves() const { return p_.leaves; }

    // Writes rows begin .. end of `trees`, whose roots are given, divided by exp(logs / 2). Returns
    // the first row that does not fit a float, or none.
    Id rows(const Store &store, const NodeWeights &trees, const Id *roots, const double *logs, std::size_t begin, std::size_t end,
            float *out, std::int64_t stride, void (*check)()) const;

  private:
    // A node whose children are being visited.
    struct Open {
        Id node;
        std::uint64_t key;
        Id heavy = none; // the largest child, which is visited first
        enum { begun, waiting, held, kept } heavy_is = begun;
        std::size_t next = 0;
        Sketched first; // the largest child, if it is stored here
        std::vector<Wave> inner;
        Wave before; // PT: D
        Wave sum;
    };

    struct Work;

    void count_exact(const Store &store, const NodeWeights &trees, std::size_t t, double factor, float *row) const {
        if (exact_ == 0) return;
        std::vector<double> count(exact_);
        for (std::int64_t i = trees.start[t]; i < trees.start[t + 1]; ++i)
            PartCounts::each_part(store, trees.node[i], keys_, p_.leaves, true, [&](std::uint64_t key, bool pair) {
                if (const Id c = known_.coordinate(key); c != none)
                    count[c] += trees.weight[i] * (pair ? pair_weight() : single_weight());
            });
        for (std::size_t c = 0; c < exact_; ++c) row[c] = static_cast<float>(factor * count[c]);
    }
    void write(const Wave &sum, double log_factor, float *row) const {
        if (sum.zero()) return;
        const double factor =
            std::exp(static_cast<double>(sum.exponent) * std::numbers::ln2 + log_factor) / std::sqrt(static_cast<double>(n_));
        for (std::size_t i = 0; i < 2 * n_; ++i) row[i] = static_cast<float>(factor * static_cast<double>(sum.part[i]));
    }

    bool alive(std::uint64_t key) const { return key != PartKeys::nothing && (!only_known_ || known_.has(key)); }
    std::size_t levels(const Store &store, Id node) const {
        if (p_.partial || p_.max_depth == 0) return 1;
        const Id height = store.height(node) + (p_.leaves ? 1 : 0);
        return static_cast<std::size_t>(std::min(static_cast<Id>(p_.max_depth), height));
    }
    const Id *moved(std::uint64_t key, std::size_t position) const { return order_.data() + (mix(key, seed_) + position) % n_; }

    SketchParameters p_;
    PartKeys keys_;
    std::size_t n_;
    std::uint64_t seed_;
    KnownParts known_;
    bool only_known_;
    std::size_t budget_;
    std::size_t exact_;
    double outer_, alone_, child_; // s of a single node is outer r alone; of a node as a child, child r
    std::vector<Id> order_;        // a permutation, repeated twice
    Roots roots_;
};

// The traversal of some trees by one thread.
struct TreeSketch::Work {
    const TreeSketch &sketch;
    const Store &store;
    const NodeWeights &trees;
    std::size_t row = 0; // the current tree
    Waves waves;
    Pulse pulse;
    Marks place;
    std::vector<Id> uses; // remaining uses of each node below the roots
    std::vector<Sketched> kept;
    std::vector<char> is_kept, made_before;
    std::vector<Id> kept_order;   // positions
    std::size_t kept_earlier = 0; // number of these from earlier trees
    std::size_t kept_waves = 0;
    std::vector<Open> open;
    Sketched result;
    std::vector<float> own, other;
    std::vector<std::uint8_t> draw;

    Work(const TreeSketch &s, const Store &from, const NodeWeights &weights, const Id *roots, std::size_t n, void (*check)())
        : sketch(s), store(from), trees(weights), waves(s.n_), pulse(check), place(from.size()), own(2 * s.n_), other(2 * s.n_),
          draw(s.n_ + 8) {
        const std::vector<Id> nodes = below(store, roots, n, place);
        uses.assign(nodes.size(), 0), kept.resize(nodes.size()), is_kept.assign(nodes.size(), 0), made_before = is_kept;
        for (Id node : nodes) store.each_child(node, [&](Id child, double) { ++uses[place[child]]; });
        for (std::size_t i = 0; i < n; ++i)
            if (roots[i] != none) ++uses[place[roots[i]]];
    }

    // Returns the vectors of a root, which are valid until `done_with` is called.
    const Sketched &sketched(Id root, std::size_t number) {
        row = number;
        kept_earlier = kept_order.size();
        if (is_kept[place[root]]) return kept[place[root]];
        enter(root);
        while (!open.empty()) step();
        return is_kept[place[root]] ? kept[place[root]] : result;
    }
    void done_with(Id node) {
        const Id at = place[node];
        if (--uses[at] <= 0 && is_kept[at]) drop(at);
        result.give(waves);
    }

  private:
    void enter(Id node) {
        if (made_before[place[node]]) store.each_child(node, [&](Id child, double) { ++uses[place[child]]; });
        made_before[place[node]] = 1;
        Open o{};
        o.node = node, o.key = sketch.keys_.node(store, node);
        if (!sketch.alive(o.key)) o.key = PartKeys::nothing;
        double most = 0;
        for (std::size_t k = 0, n = store.arity(node); k < n; ++k)
            if (const double size = store.productions_below(store.children(node)[k]); size > most)
                most = size, o.heavy = static_cast<Id>(k);
        open.push_back(std::move(o));
    }
    // Whether a node contributes nothing.
    bool silent(Id node) const { return store.arity(node) == 0 && sketch.keys_.node(store, node) == PartKeys::nothing; }

    // Visits the next child of the last open node, or finishes the node if all children are done.
    void step() {
        Open &o = open.back();
        const Id *kids = store.children(o.node);
        if (o.heavy_is == Open::begun) {
            const bool visit = o.heavy != none && !is_kept[place[kids[o.heavy]]];
            o.heavy_is = visit ? Open::waiting : Open::kept;
            if (visit) return enter(kids[o.heavy]);
        }
        if (o.next == store.arity(o.node)) return finish();
        const Id child = kids[o.next];
        if (silent(child)) {
            ++o.next;
        } else if (static_cast<Id>(o.next) == o.heavy && o.heavy_is == Open::held) {
            take(o, o.first);
            o.first.give(waves);
            --uses[place[child]];
        } else if (is_kept[place[child]]) {
            take(o, kept[place[child]]);
            if (--uses[place[child]] <= 0) drop(place[child]);
        } else
            enter(child);
    }

    // Includes the next child in the vector of the node, and adds the sum over the child's nodes.
    void take(Open &o, const Sketched &child) {
        const std::size_t position = o.next++;
        waves.add(o.sum, child.sum);
        pulse.add(waves.size() + 256);
        const bool meet = o.key != PartKeys::nothing && !child.level.empty() &&
                          (!sketch.only_known_ || sketch.known_.has(sketch.keys_.pair(o.key, position, child.key)));
        if (sketch.p_.partial)
            append(o, meet ? &child.level[0] : nullptr);
        else if (meet)
            multiply_in(o, child, position);
    }

    void multiply_in(Open &o, const Sketched &child, std::size_t position) {
        const std::size_t n = waves.size(), levels = sketch.levels(store, o.node);
        const Id *index = sketch.moved(o.key, position);
        o.inner.resize(levels);
        for (std::size_t l = 0; l < levels; ++l) {
            if (sketch.p_.max_depth != 0 && l == 0) continue; // only the production
            const Wave &s = child.level[sketch.p_.max_depth == 0 ? 0 : std::min(l, child.level.size()) - 1];
            Wave &inner = o.inner[l];
            const float one = power_of_two(-s.exponent);
            if (inner.zero()) {
                inner.part = waves.take();
                set_shifted(inner.part.data(), one, 1, s.part.data(), index, n);
            } else
                multiply_shifted(inner.part.data(), one, 1, s.part.data(), index, n);
            inner.exponent += s.exponent, inner.bound += log_sum(0, s.bound);
            waves.settle(inner);
        }
    }

    // Appends a child to a sequence; nullptr stands for a child that is always skipped.
    void append(Open &o, const Wave *s) {
        const std::size_t n = waves.size();
        const auto lam = static_cast<float>(sketch.p_.lam);
        o.inner.resize(1);
        Wave &total = o.inner[0];
        if (!s) {
            if (!o.before.zero()) scale(o.before.part.data(), lam, n);
            return;
        }
        const Id *index = sketch.moved(o.key, 0), *shift = sketch.moved(~o.key, 0);
        Wave after;
        after.part = waves.take();
        if (o.before.zero()) { // the first child
            total.part = waves.take(), total.exponent = s->exponent, total.bound = s->bound;
            set_shifted(total.part.data(), 0, 1, s->part.data(), index, n);
            std::copy(total.part.begin(), total.part.end(), after.part.begin());
        } else {
            const float one = power_of_two(-total.exponent);
            waves.raise(total, total.exponent + s->exponent);
            extend(after.part.data(), total.part.data(), o.before.part.data(), lam * power_of_two(-s->exponent), one, 1,
                   s->part.data(), index, shift, n);
            total.bound = log_sum(total.bound, s->bound + log_sum(0, o.before.bound));
        }
        after.exponent = total.exponent, after.bound = total.bound;
        waves.give(o.before);
        waves.settle(total), waves.settle(after);
        waves.raise(total, after.exponent), waves.raise(after, total.exponent);
        o.before = std::move(after);
    }

    // s = outer r * inner. Adds the part of s without a coordinate of its own to the sum.
    void finish() {
        Open &o = open.back();
        Sketched made;
        made.key = o.key;
        if (o.key != PartKeys::nothing) {
            phases(o.key, sketch.outer_, own);
            const std::size_t levels = sketch.levels(store, o.node);
            o.inner.resize(levels);
            if (sketch.p_.partial) add_alone(o.inner[0], sketch.alone_);
            add_own(o);
            made.level.resize(levels);
            for (std::size_t l = 0; l < levels; ++l) {
                Wave &inner = o.inner[l], &s = made.level[l];
                s.part = waves.take(), s.exponent = inner.exponent, s.bound = inner.bound;
                if (inner.zero())
                    std::copy(own.begin(), own.end(), s.part.begin());
                else
                    set_product(s.part.data(), own.data(), inner.part.data(), waves.size());
                waves.give(inner);
            }
        }
        pulse.add(waves.size() + 256);
        waves.give(o.before);
        made.sum = std::move(o.sum);
        const Id node = o.node, at = place[node];
        open.pop_back();
        Open *parent = open.empty() ? nullptr : &open.back();
        const bool first = parent && parent->heavy_is == Open::waiting,
                   again = uses[at] > 1 && has_room(node, made.level.size() + !made.sum.zero());
        if (first) parent->heavy_is = again ? Open::kept : Open::held;
        if (again) {
            keep(at, std::move(made)); // waiting nodes find it there
        } else if (!parent) {
            result = std::move(made);
        } else if (first) {
            parent->first = std::move(made);
        } else {
            take(*parent, made);
            made.give(waves);
            --uses[at];
        }
    }

    void phases(std::uint64_t key, double size, std::vector<float> &into) {
        fill_phases(into.data(), static_cast<float>(size), mix(sketch.seed_, key), sketch.roots_, draw.data(), waves.size());
    }
    // inner += value
    void add_alone(Wave &inner, double value) {
        if (inner.zero()) {
            inner.part = waves.take();
            std::fill(inner.part.begin(), inner.part.end(), 0.0F);
        }
        const auto more = static_cast<float>(value * static_cast<double>(power_of_two(-inner.exponent)));
        for (std::size_t i = 0; i < waves.size(); ++i) inner.part[i] += more;
        inner.bound = log_sum(inner.bound, 0);
    }

    // Adds the node's own fragments to the sum.
    void add_own(Open &o) {
        const std::size_t n = store.arity(o.node);
        if (n == 0 && !sketch.p_.leaves) return;
        Wave &inner = o.inner.back();
        Wave rest;
        rest.exponent = inner.exponent, rest.bound = inner.bound;
        const bool counted = sketch.known_.coordinate(o.key) != none;
        if (counted && n == 0) return;
        if (counted && !sketch.p_.partial && inner.zero()) return;
        rest.part = waves.take();
        if (inner.zero())
            std::fill_n(rest.part.begin(), waves.size(), 1.0F),
                std::fill(rest.part.begin() + static_cast<std::ptrdiff_t>(waves.size()), rest.part.end(), 0.0F);
        else
            std::copy(inner.part.begin(), inner.part.end(), rest.part.begin());
        if (counted) add_alone(rest, -sketch.alone_);
        for (std::size_t k = 0; k < n && sketch.exact_ > 0; ++k) {
            const std::uint64_t child = sketch.keys_.node(store, store.children(o.node)[k]);
            if (child == PartKeys::nothing || sketch.known_.coordinate(sketch.keys_.pair(o.key, k, child)) == none) continue;
            phases(child, sketch.child_, other);
            add_moved(rest.part.data(), -power_of_two(-rest.exponent), other.data(), sketch.moved(o.key, sketch.p_.partial ? 0 : k),
                      waves.size());
        }
        Wave mine;
        mine.part = waves.take(), mine.exponent = rest.exponent, mine.bound = log_sum(rest.bound, 0);
        set_product(mine.part.data(), own.data(), rest.part.data(), waves.size());
        waves.add(o.sum, mine);
        waves.give(mine), waves.give(rest);
    }

    // Returns whether there is memory to store a vector for later use. A part that occurs twice in
    // the current tree is always stored. Vectors of earlier trees are removed to make room. Vectors
    // that are not stored are computed again when needed.
    bool has_room(Id node, std::size_t more) {
        if (fits(more)) return true;
        for (std::size_t i = 0; i < kept_earlier; ++i)
            if (is_kept[kept_order[i]]) drop(kept_order[i]);
        kept_order.erase(kept_order.begin(), kept_order.begin() + static_cast<std::ptrdiff_t>(kept_earlier));
        kept_earlier = 0;
        if (fits(more)) return true;
        const Id *begin = trees.node.data() + trees.start[row], *end = trees.node.data() + trees.start[row + 1];
        const Id *found = std::lower_bound(begin, end, node);
        return found != end && *found == node && trees.weight[static_cast<std::size_t>(found - trees.node.data())] > 1;
    }
    bool fits(std::size_t more) const { return (kept_waves + more) * 2 * waves.size() * sizeof(float) <= sketch.budget_; }
    void keep(Id at, Sketched made) {
        kept_waves += made.level.size() + !made.sum.zero();
        kept[at] = std::move(made), is_kept[at] = 1;
        kept_order.push_back(at);
    }
    void drop(Id at) {
        kept_waves -= kept[at].level.size() + !kept[at].sum.zero();
        kept[at].give(waves);
        is_kept[at] = 0;
    }
};

inline Id TreeSketch::rows(const Store &store, const NodeWeights &trees, const Id *roots, const double *logs, std::size_t begin,
                           std::size_t end, float *out, std::int64_t stride, void (*check)()) const {
    Work w(*this, store, trees, roots + begin, end - begin, check);
    Id large = none;
    for (std::size_t t = begin; t < end; ++t) {
        float *row = out + static_cast<std::int64_t>(t - begin) * stride;
        std::fill_n(row, width(), 0.0F);
        if (roots[t] == none || !(logs[t] > -std::numeric_limits<double>::infinity())) continue;
        count_exact(store, trees, t, std::exp(-0.5 * logs[t]), row);
        write(w.sketched(roots[t], t).sum, -0.5 * logs[t], row + exact_);
        w.done_with(roots[t]);
        for (std::size_t i = 0; i < width() && large == none; ++i)
            if (!std::isfinite(row[i])) large = static_cast<Id>(t);
    }
    return large;
}

} // namespace treelet
