// The gap-weighted subsequence kernel (Lodhi et al. 2002) between sequences of features, over a
// whole matrix at once.
//
//   K = sum over subsequences u of `length` features and pairs of their occurrences of lam^(span in one + span in the other)
//
// Sequences are stored as for the locality kernel. Equal sequences are therefore one node, and K =
// F C F' over distinct sequences. C is a dynamic program over the positions of two sequences, which
// runs only if they share enough features.
#pragma once
#include "locality.hpp"
#include "node_loop.hpp"

namespace treelet {

struct NoValues {
    void clear() {}
    static constexpr std::size_t bytes() { return 0; }
};
template <class Num> struct SubsequenceScratch : NodeScratch<Num, NoValues> {
    std::vector<Num> upto;      // one row per subsequence size
    std::vector<Id> common;     // per column: number of positions with a feature of the row's sequence
    std::vector<Id> met;        // columns
    std::vector<Id> one, other; // features of two sequences
};

template <class Num> class SubsequenceColumns : public NodeLoop<SubsequenceColumns<Num>, SubsequenceScratch<Num>> {
    using Scratch = SubsequenceScratch<Num>;
    using Loop = NodeLoop<SubsequenceColumns<Num>, Scratch>;

  public:
    SubsequenceColumns(Targets targets, Num lam, Id length)
        : Loop(targets.size()), store_(*targets.store), lam_(lam), length_(length) {
        local_.assign(store_.size(), none);
        postings_.build(targets.size(), by_node(targets.weights, [&](Id node, double weight, auto add) {
                            if (!is_sequence(store_, node)) return;
                            if (local_[node] == none) local_[node] = static_cast<Id>(column_.size()), column_.push_back(node);
                            add(local_[node], weight);
                        }));
        holders_.build(column_.size(), [&](std::size_t v, auto add) {
            each_feature(store_, column_[v], [&](Id type, Id feature) { add(features_.add({type, feature}), 1); });
        });
    }

    void prepare(const Store &, Scratch &s, Pulse &) const {
        if (s.common.size() < column_.size()) s.common.resize(column_.size(), 0);
    }

    // Finds the sequences that share enough features with a sequence of a row, and adds their
    // values.
    template <class Block> void correct_node(Block &b, std::size_t i) const {
        const Id u = b.s.nodes.node[i];
        if (!is_sequence(b.store, u) || b.store.arity(u) < static_cast<std::size_t>(length_)) return;
        std::vector<Id> &common = b.s.common, &met = b.s.met;
        each_feature(b.store, u, [&](Id type, Id name) {
            const Id feature = features_.find({type, name});
            if (feature == none) return;
            for (std::int64_t h = holders_.start[feature]; h < holders_.start[feature + 1]; ++h)
                if (const Id v = holders_.target[h]; column_[v] <= b.limit && common[v]++ == 0) met.push_back(v);
        });
        for (Id v : met) {
            const bool enough = common[v] >= length_;
            common[v] = 0;
            if (!enough) continue;
            const Num value = compare(b.store, u, column_[v], b.s, b.pulse);
            for (const RowBlock::Occurrence &o : b.s.nodes.held(i)) postings_.add(v, value * Num(o.count), b.last, b.sums(o.row));
        }
        met.clear();
    }

    // Adds to the weights of the only target, which must contain the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i)
            if (const Id local = local_[node[i]]; local != none) postings_.grow(local, scale * weight[i]);
    }

    static Memory estimate(Targets targets, Num, Id length) {
        const Store &store = *targets.store;
        std::vector<char> column(store.size(), 0);
        KeyNumbers<2> features;
        std::size_t columns = 0, entries = 0, places = 0, longest = 0;
        for (Id node : targets.weights.node) {
            if (!is_sequence(store, node)) continue;
            ++entries;
            if (column[node]) continue;
            column[node] = 1, ++columns, places += store.arity(node), longest = std::max(longest, store.arity(node));
            each_feature(store, node, [&](Id type, Id feature) { features.add({type, feature}); });
        }
        Memory out = Postings::estimate(columns, entries);
        const Memory holders = Postings::estimate(features.size(), places);
        out.index += holders.index + bytes_of(features) + store.size() * sizeof(Id) + bytes_grown<Id>(columns);
        const std::size_t rows = std::min(static_cast<std::size_t>(length), longest) * (longest + 1) * sizeof(Num);
        out.working =
            std::max({out.working, holders.working, Loop::working(targets.size(), store.size()) + columns * sizeof(Id) + rows});
        return out;
    }
    std::size_t bytes() const {
        return bytes_of(local_) + bytes_of(column_) + bytes_of(features_) + bytes_of(postings_) + bytes_of(holders_);
    }

  private:
    template <class F> static void each_feature(const Store &store, Id node, F f) {
        const Id *kids = store.children(node);
        for (std::size_t i = 0; i < store.arity(node); ++i) f(store.label(node), store.label(kids[i]));
    }

    // upto[size][k], at position i of the first sequence: the sum over subsequences of `size`
    // features in its first i positions and the first k of the other, weighted as if they extended
    // to the end of these positions. The empty subsequence counts at every position. Only the row
    // of i is stored.
    Num compare(const Store &store, Id u, Id v, Scratch &s, Pulse &pulse) const {
        const std::size_t rows = store.arity(u), columns = store_.arity(v), width = columns + 1;
        const auto sizes = static_cast<std::size_t>(length_); // 0 .. length - 1
        s.one.clear(), s.other.clear();
        each_feature(store, u, [&](Id, Id feature) { s.one.push_back(feature); });
        each_feature(store_, v, [&](Id, Id feature) { s.other.push_back(feature); });
        const Id *const one = s.one.data(), *const other = s.other.data();
        const Num lam = lam_, square = lam_ * lam_;
        s.upto.assign(sizes * width, Num(0));
        std::fill_n(s.upto.begin(), width, Num(1));
        Num total(0);
        for (std::size_t i = 1; i <= rows; ++i) {
            pulse.add(columns * (std::min(sizes, i) + 1));
            const Num *const last = s.upto.data() + (sizes - 1) * width;
            for (std::size_t k = 1; k <= columns; ++k)
                if (one[i - 1] == other[k - 1]) total += square * last[k - 1];
            // The longest first, because the values of shorter subsequences at i - 1 are needed.
            for (std::size_t size = std::min(sizes - 1, i); size > 0; --size) {
                const Num *const shorter = s.upto.data() + (size - 1) * width;
                Num *const longer = s.upto.data() + size * width;
                Num ends_here(0); // subsequences whose last feature in `one` is at i
                for (std::size_t k = 1; k <= columns; ++k) {
                    ends_here *= lam;
                    if (one[i - 1] == other[k - 1]) ends_here += square * shorter[k - 1];
                    longer[k] = lam * longer[k] + ends_here;
                }
            }
        }
        return total;
    }

    const Store &store_;
    Num lam_;
    Id length_;
    std::vector<Id> local_, column_; // node -> number of the column, and back
    KeyNumbers<2> features_;         // (type, feature)
    Postings postings_;
    Postings holders_; // feature -> the sequences that contain it
};

} // namespace treelet
