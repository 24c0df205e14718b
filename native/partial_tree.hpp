// The partial-tree kernel of Moschitti (2006) over a whole matrix at once.
//
//   Delta(u,v) = mu * (lam^2 + S(u,v))   if u and v have the same label, else 0;
//                mu * lam^2 * terminal   if moreover one of them has no children (KeLP's terminal factor; 1 in the paper)
//   S(u,v) = sum over equally long child subsequences J1 of u, J2 of v of
//            lam^(children skipped) * prod_i Delta(u[J1_i], v[J2_i])
//   K(i,j) = sum over all node pairs, words included
//
// Pairs with one label and no child label in common have the constant value mu * lam^2: those are summed from label
// counts. For the rest, the column subtrees with one production (label and children's labels) form a group: which
// children can meet, and with which gaps, is the same for the whole group, so it is worked out once a pair of
// productions ("plan"), and S is computed for the group in one sweep. A row Delta(u, .) is dense over the columns of
// u's label, or a constant with one exception (most pre-terminals), and lives until u's parents are done.
#pragma once
#include "child_sequences.hpp"
#include "node_loop.hpp"

namespace treelet {

template <class Num> struct PartialTreeScratch : NodeScratch<Num, PartialTreeValues<Num>> {
    std::vector<Num> weighted; // sum over a row tree's u of count * (Delta(u, v) - constant), block rows x columns
    ChildScratch<Num> children;
    Plans plans;
};

template <class Num> class PartialTreeColumns : public NodeLoop<PartialTreeColumns<Num>, PartialTreeScratch<Num>> {
    using Scratch = PartialTreeScratch<Num>;
    using Values = PartialTreeValues<Num>;
    using Loop = NodeLoop<PartialTreeColumns<Num>, Scratch>;

  public:
    PartialTreeColumns(Targets targets, Num lam, Num mu, bool leaves, double terminal, Similar similar = {})
        : Loop(targets.size()), store_(*targets.store), similar_(std::move(similar)), mu_(mu), leaves_(leaves),
          apart_(leaves && terminal != 1), constant_(mu * lam * lam), terminal_(constant_ * Num(terminal)),
          index_(store_, targets.weights), children_(index_, similar_, lam, constant_, terminal_, terminal == 1) {
        labels_.build(targets.weights, labels_of(store_, leaves_));
        if (similar_.any() || apart_) words_.build(targets.weights, words_of(store_));
        if (apart_) inner_.build(targets.weights, labels_of(store_, false));
        index_sums(targets.weights);
    }

    void prepare(const Store &store, Scratch &s) const { s.plans.for_store(store); }

    // mu * lam^2 for every pair of nodes with one label (without leaves: neither of them a word), times the terminal factor
    // where one of them is a word.
    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        const auto add = [&](const CountProduct &targets, Num factor, auto keys) {
            targets.add(b.rows, b.first + r, factor, b.s.seen, b.last, sums, b.pulse, keys);
        };
        if (apart_) {
            add(labels_, terminal_, words_of(b.store));
            add(words_, terminal_, labels_of(b.store, false));
            add(inner_, constant_, labels_of(b.store, false));
        } else
            add(labels_, constant_, labels_of(b.store, leaves_));
        if (!leaves_ || !similar_.any()) return;
        const NodeWeights &w = *b.rows.trees; // few of the words that are alike come twice: not worth summing up first
        for (std::int64_t i = w.start[b.first + r]; i < w.start[b.first + r + 1]; ++i)
            similar_.each(b.store, w.node[i],
                          [&](Id label, double sigma) { words_.add(label, terminal_ * Num(sigma * w.weight[i]), b.last, sums); });
    }

    template <class Block> void correct(Block &b) const {
        b.s.weighted.assign(b.count * index_.cells(), Num(0));
        Loop::correct(b);
    }

    // The row Delta(u, .), and its part of the sums.
    template <class Block> void correct_node(Block &b, std::size_t i) const {
        const Id u = b.s.nodes.node[i], l = index_.local(b.store.label(u));
        if (b.store.arity(u) == 0 || l == none) return;
        const PartialTreeIndex::Label &label = index_.label(l);
        if (label.begin == label.end) return;
        const Plan &plan = b.s.plans.find(index_, similar_, b.store, u, l);
        b.pulse.add(plan.entry.size() * 8);
        const auto values = [&](Id child) -> const Values & { return b.s.kept[static_cast<std::size_t>(b.s.index[child])]; };
        for (const Plan::Entry &entry : plan.entry) {
            const PartialTreeIndex::Group &g = index_.group(entry.group);
            const Id size = index_.columns_up_to(g, b.limit);
            for (Id from = 0; from < size; from += static_cast<Id>(children_.sweep)) {
                const std::size_t width = std::min<std::size_t>(children_.sweep, static_cast<std::size_t>(size - from));
                b.pulse.add(width * (entry.count + 1));
                const Num *S = children_.sum(b.store, u, g, plan.match.data() + entry.first, entry.count, from, width, values,
                                             b.s.children, b.pulse);
                scatter(b, i, label, g.begin + from, S, width);
                if (b.s.nodes.uses[i] > 0) keep(b, i, label, g.begin + from, S, width);
            }
        }
    }

    // What goes through no postings, by target.
    template <class Block> void finish(Block &b, std::size_t r, Num *sums) const {
        const Num *weighted = b.s.weighted.data() + r * index_.cells();
        const std::size_t m = b.rows.targets(b.first + r, Loop::size());
        for (std::size_t j = 0; j < m; ++j) {
            Num sum = sums[j];
            for (std::int64_t k = sum_start_[j]; k < sum_start_[j + 1]; ++k)
                sum += Num(sum_entry_[k].weight) * weighted[sum_entry_[k].column];
            sums[j] = sum;
        }
        b.pulse.add(m);
    }

    // Adds to the weights of the only target, which must hold the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        if (entry_of_.empty()) {
            entry_of_.assign(index_.cells(), none);
            for (std::size_t k = 0; k < sum_entry_.size(); ++k) entry_of_[sum_entry_[k].column] = static_cast<Id>(k);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const double more = scale * weight[i];
            if (leaves_ || store_.arity(node[i])) labels_.grow(store_.label(node[i]), more);
            if ((similar_.any() || apart_) && store_.arity(node[i]) == 0) words_.grow(store_.label(node[i]), more);
            if (apart_ && store_.arity(node[i])) inner_.grow(store_.label(node[i]), more);
            const Id column = index_.column_of(node[i]);
            if (column == none) continue;
            if (index_.label_of(node[i]).sparse)
                postings_.grow(column, more);
            else
                sum_entry_[entry_of_[column]].weight += more;
        }
    }

    static Memory estimate(Targets targets, Num, Num, bool leaves, double terminal, const Similar &similar) {
        const Store &store = *targets.store;
        const NodeWeights &w = targets.weights;
        std::size_t cells, entries = 0;
        Memory out = PartialTreeIndex::estimate(store, w, cells);
        for (Id node : w.node) entries += store.arity(node) > 0;
        const Memory labels = CountProduct::estimate(w, labels_of(store, leaves));
        const bool apart = leaves && terminal != 1;
        const Memory words = similar.any() || apart ? CountProduct::estimate(w, words_of(store)) : Memory();
        const Memory inner = apart ? CountProduct::estimate(w, labels_of(store, false)) : Memory();
        const Memory postings = Postings::estimate(cells, entries);
        out.index += labels.index + words.index + inner.index + entries * sizeof(SumEntry) +
                     (cells + w.rows() + 2) * sizeof(std::int64_t) + similar.bytes() + 64 * sizeof(Num) +
                     (w.rows() == 1 ? cells * sizeof(Id) : 0);
        out.working = std::max(
            {out.working, labels.working, words.working, inner.working, postings.working,
             Loop::working(targets.size(), store.size()) + (RowBlock::max_rows + 4) * cells * sizeof(Num) + Plans::bytes()});
        return out;
    }
    std::size_t bytes() const {
        return similar_.bytes() + index_.bytes() + children_.bytes() + labels_.bytes() + words_.bytes() + inner_.bytes() +
               bytes_of(sum_start_) + bytes_of(sum_entry_) + bytes_of(entry_of_) + postings_.bytes();
    }

  private:
    struct SumEntry {
        Id column;
        double weight;
    };

    static auto labels_of(const Store &store, bool leaves) {
        return [&store, leaves](Id node, double weight, auto add) {
            if (leaves || store.arity(node)) add(store.label(node), weight);
        };
    }
    static auto words_of(const Store &store) {
        return [&store](Id node, double weight, auto add) {
            if (store.arity(node) == 0) add(store.label(node), weight);
        };
    }

    // Column sums: through postings for labels of pre-terminals, by target for the others.
    void index_sums(const NodeWeights &w) {
        postings_.build(w.rows(),
                        by_node(w,
                                [&](Id node, double weight, auto add) {
                                    if (index_.column_of(node) != none && index_.label_of(node).sparse)
                                        add(index_.column_of(node), weight);
                                }),
                        index_.cells());
        const auto dense = [&](Id node) { return index_.column_of(node) != none && !index_.label_of(node).sparse; };
        sum_start_.reserve(w.rows() + 1);
        sum_entry_.reserve(static_cast<std::size_t>(std::count_if(w.node.begin(), w.node.end(), dense)));
        for (std::size_t t = 0; t < w.rows(); ++t) {
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i)
                if (dense(w.node[i])) sum_entry_.push_back({index_.column_of(w.node[i]), w.weight[i]});
            sum_start_.push_back(static_cast<std::int64_t>(sum_entry_.size()));
        }
    }

    // Delta - mu lam^2 = mu S, to the sums of the rows that hold the node.
    template <class Block>
    void scatter(Block &b, std::size_t i, const PartialTreeIndex::Label &label, Id cell, const Num *S, std::size_t width) const {
        for (const RowBlock::Occurrence &o : b.s.nodes.held(i)) {
            const Num factor = mu_ * Num(o.count);
            if (label.sparse)
                for (std::size_t r = 0; r < width; ++r)
                    postings_.add(cell + static_cast<Id>(r), factor * S[r], b.last, b.sums(o.row));
            else
                add_scaled(b.s.weighted.data() + static_cast<std::size_t>(o.row) * index_.cells() + cell, factor, S, width);
        }
    }

    // Delta(u,v) = mu (lam^2 + S(u,v)): Moschitti (2006), eq. 3
    template <class Block>
    void keep(Block &b, std::size_t i, const PartialTreeIndex::Label &label, Id cell, const Num *S, std::size_t width) const {
        Values &row = b.s.kept[i];
        if (row.kind == Values::constant && width == 1) {
            row.kind = Values::one_exception;
            row.exception = cell - label.begin;
            row.exceptional = constant_ + mu_ * S[0];
            return;
        }
        if (row.kind != Values::dense) make_dense(b, i, label);
        set_scaled(row.value.data() + (cell - label.begin), mu_, S, constant_, width);
    }
    template <class Block> void make_dense(Block &b, std::size_t i, const PartialTreeIndex::Label &label) const {
        const Values before = b.s.kept[i];
        Values &row = b.s.kept.make(i);
        row.kind = Values::dense;
        row.value.assign(static_cast<std::size_t>(label.end - label.begin) + 1, constant_);
        row.value.back() = terminal_; // the cell of the childless
        if (before.kind == Values::one_exception) row.value[before.exception] = before.exceptional;
    }

    const Store &store_;
    Similar similar_;
    Num mu_;
    bool leaves_, apart_;     // apart: words have a factor of their own, and are counted
    Num constant_, terminal_; // mu lam^2; where one of the two is a word
    PartialTreeIndex index_;
    ChildSequences<Num> children_;
    CountProduct labels_, words_, inner_; // all nodes; childless ones, and those with children, where they are needed
    std::vector<std::int64_t> sum_start_{0};
    std::vector<SumEntry> sum_entry_;
    std::vector<Id> entry_of_; // column -> its entry, for the only target
    Postings postings_;
};

} // namespace treelet
