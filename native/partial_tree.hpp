// The partial-tree kernel of Moschitti (2006) over a whole matrix at once.
//
//   Delta(u,v) = mu * (lam^2 + S(u,v))   if u and v have the same label, else 0;
//                mu * lam^2 * terminal   if, in addition, one of them has no children (KeLP's terminal factor; 1 in the paper)
//                times sigma(u,v)        if, instead, their labels are similar (Croce, Moschitti & Basili 2011)
//   S(u,v) = sum over child subsequences J1 of u and J2 of v with equal length of
//            lam^(children skipped) * prod_i Delta(u[J1_i], v[J2_i])
//   K(i,j) = sum over all node pairs, including words
//
// Pairs with the same label that share no child label have the constant value mu * lam^2. They are
// summed from label counts. For the other pairs, the column subtrees with the same production
// (label and children's labels) form a group. The children that can match, and the gaps between
// them, are the same for the whole group. They are computed once per pair of productions (the
// "plan"), and S is computed for the whole group in one sweep. For rare productions, the plan lists
// each column with the values from which its S is computed. A row Delta(u, .) is dense over the
// columns with u's label, or a constant with one exception (most pre-terminals). It is stored until
// u's parents are done.
//
// Columns with a similar label are processed in the same way, label by label, so the cost grows with
// the similar labels that occur. A child then has one row of values per label that it can match.
#pragma once
#include "child_sequences.hpp"
#include "column_sums.hpp"
#include "node_loop.hpp"

namespace treelet {

template <class Num> struct PartialTreeScratch : NodeScratch<Num, PartialTreeValues<Num>> {
    std::vector<Num> weighted; // sum over a row tree's u of count * (Delta(u, v) - constant), block rows x columns
    ChildScratch<Num> children;
    Plans plans;
    GroupSizes sizes;
};

template <class Num> class PartialTreeColumns : public NodeLoop<PartialTreeColumns<Num>, PartialTreeScratch<Num>> {
    using Scratch = PartialTreeScratch<Num>;
    using Values = PartialTreeValues<Num>;
    using Part = typename Values::Part;
    using Loop = NodeLoop<PartialTreeColumns<Num>, Scratch>;

  public:
    // Without an index: the caller sets all parts.
    PartialTreeColumns(const Store &store, Num lam, Num mu, bool leaves, double terminal, SimilarPtr similar)
        : Loop(0), store_(store), shared_similar_(std::move(similar)), similar_(*shared_similar_), mu_(mu), leaves_(leaves),
          apart_(leaves && terminal != 1), alike_(only_words(similar_, leaves)), constant_(mu * lam * lam),
          terminal_(constant_ * Num(terminal)), index_(store_),
          children_(index_, similar_, lam, constant_, terminal_, terminal == 1) {}
    PartialTreeColumns(Targets targets, Num lam, Num mu, bool leaves, double terminal,
                       SimilarPtr similar = std::make_shared<const Similar>())
        : PartialTreeColumns(*targets.store, lam, mu, leaves, terminal, std::move(similar)) {
        this->size_ = targets.size();
        index_.build(targets.weights);
        labels_.build(targets.weights, labels_of(store_, leaves_));
        if (alike_ || apart_) words_.build(targets.weights, words_of(store_));
        if (apart_) inner_.build(targets.weights, labels_of(store_, false));
        index_sums(targets.weights);
    }

    void prepare(const Store &store, Scratch &s, Pulse &) const { s.plans.for_store(store); }

    // mu * lam^2 for every pair of nodes with the same label (without leaves: neither of them a
    // word) or similar ones, times the terminal factor if one of them is a word.
    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        const auto add = [&](const CountProduct &targets, Num factor, auto keys) {
            targets.add(b.rows, b.first + r, factor, b.s.seen, b.last, sums, b.pulse, keys);
        };
        const Similar *const inner = similar_.inner ? &similar_ : nullptr;
        if (apart_) {
            add(labels_, terminal_, words_of(b.store, inner));
            add(words_, terminal_, labels_of(b.store, false, inner));
            add(inner_, constant_, labels_of(b.store, false, inner));
        } else
            add(labels_, constant_, labels_of(b.store, leaves_, inner));
        if (alike_)
            add(words_, terminal_, [&](Id node, double weight, auto to) {
                similar_.each(b.store, node, [&](Id label, double sigma) { to(label, weight * sigma); });
            });
    }

    template <class Block> void correct(Block &b) const {
        if (b.s.weighted.size() < b.count * index_.cells()) b.s.weighted.resize(b.count * index_.cells());
        fill(b.s.weighted.data(), Num(0), b.count * index_.cells());
        b.s.sizes.set(index_, b.limit);
        Loop::correct(b);
    }

    // Computes the row Delta(u, .), and adds it to the sums.
    template <class Block> void correct_node(Block &b, std::size_t i) const {
        const Id u = b.s.nodes.node[i], l = index_.local(b.store.label(u));
        if (b.store.arity(u) == 0) return;
        const std::size_t similar = similar_.count(b.store, u);
        Values *const kept = b.s.nodes.uses[i] > 0 ? &b.s.kept[i] : nullptr;
        if (kept && similar) b.s.kept.make(i).similar.resize(similar);
        bool ready = false;
        const auto look_up = [&] {
            const auto values = [&](Id child) -> const Values & { return b.s.kept[static_cast<std::size_t>(b.s.index[child])]; };
            if (!std::exchange(ready, true)) children_.look_up(b.store, u, values, b.s.children);
        };
        if (l != none && index_.label(l).begin != index_.label(l).end) {
            const PartialTreeIndex::Label &label = index_.label(l);
            if (label.words && b.store.arity(u) == 1 && b.store.flat(u) && !similar_.count(b.store, *b.store.children(u)))
                correct_tag(b, i, label);
            else {
                const Id end = index_.singles_up_to(label, b.limit);
                const Plan &plan = b.s.plans.find(index_, similar_, children_.plain(), b.store, u, l, end);
                if (plan.size()) look_up(), correct_label(b, i, label, plan, end, Num(1), kept ? &kept->own : nullptr);
            }
        }
        if (!similar) return;
        b.pulse.add(similar);
        std::size_t number = 0;
        similar_.each(b.store, u, [&](Id other, double sigma) {
            Part *const part = kept ? &kept->similar[number++] : nullptr;
            const Id local = index_.local(other);
            if (local == none) return;
            const PartialTreeIndex::Label &label = index_.label(local);
            const Id end = index_.singles_up_to(label, b.limit);
            if (end == label.begin) return;
            look_up();
            const Id last = label.last_group - (label.end - end);
            b.pulse.add(static_cast<std::size_t>(last - label.first_group));
            const Plan &plan = b.s.plans.for_similar(index_, similar_, children_.plain(), b.store, u, local, last);
            if (plan.size()) correct_label(b, i, label, plan, end, Num(sigma), part);
        });
    }

    // Adds the sums that do not use postings, by target.
    template <class Block> void finish(Block &b, std::size_t r, Num *sums) const {
        const std::size_t m = b.rows.targets(b.first + r, Loop::size());
        sums_.add(b.s.weighted.data() + r * index_.cells(), m, sums);
        b.pulse.add(m);
    }

    // Adds to the weights of the only target, which must contain the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i) {
            const double more = scale * weight[i];
            if (leaves_ || store_.arity(node[i])) labels_.grow(store_.label(node[i]), more);
            if ((alike_ || apart_) && store_.arity(node[i]) == 0) words_.grow(store_.label(node[i]), more);
            if (apart_ && store_.arity(node[i])) inner_.grow(store_.label(node[i]), more);
            const Id column = index_.column_of(node[i]);
            if (column == none) continue;
            if (index_.label_of(node[i]).sparse)
                postings_.grow(column, more);
            else
                sums_.grow(column, more, index_.cells());
        }
    }

    static Memory estimate(Targets targets, Num, Num, bool leaves, double terminal, const SimilarPtr &alike) {
        const Similar &similar = *alike;
        const Store &store = *targets.store;
        const NodeWeights &w = targets.weights;
        std::size_t cells, entries = 0, flat = 0;
        Memory out = PartialTreeIndex::estimate(store, w, cells);
        for (Id node : w.node) entries += store.arity(node) > 0, flat += store.arity(node) > 0 && store.flat(node);
        const std::size_t sums = ColumnSums::estimate(w.rows(), cells, by_node(w, [&](Id node, double weight, auto add) {
                                                          if (store.arity(node)) add(node, weight);
                                                      }));
        const Memory labels = CountProduct::estimate(w, labels_of(store, leaves));
        const bool apart = leaves && terminal != 1;
        const Memory words = only_words(similar, leaves) || apart ? CountProduct::estimate(w, words_of(store)) : Memory();
        const Memory inner = apart ? CountProduct::estimate(w, labels_of(store, false)) : Memory();
        const Memory postings = Postings::estimate(cells, entries);
        out.index += labels.index + words.index + inner.index + sums + flat * sizeof(double) + (cells + 1) * sizeof(std::int64_t) +
                     similar.bytes() + (Plan::apart + 1) * sizeof(Num);
        out.working = std::max({out.working, labels.working, words.working, inner.working, postings.working,
                                Loop::working(targets.size(), store.size()) + (RowBlock::max_rows + 4) * cells * sizeof(Num) +
                                    cells * sizeof(Id) + Plans::bytes(cells)});
        out.working += similar_values(store, w, similar);
        return out;
    }
    std::size_t bytes() const { return similar_.bytes() + children_.bytes() + bytes_of(*this); }
    template <class Self> static auto parts(Self &self) {
        return std::tie(self.size_, self.index_, self.labels_, self.words_, self.inner_, self.sums_, self.postings_);
    }
    bool consistent(const Store &) const { return true; } // the index compares its size with that of the store

  private:
    // Whether only words can be similar, and count.
    static bool only_words(const Similar &similar, bool leaves) { return leaves && similar.any() && !similar.inner; }

    // Estimates the bytes of the values that a row stores for similar labels, if rows are like targets. Values are stored until
    // the parent is done, so these are the values of a node and its children, a few times.
    static std::size_t similar_values(const Store &store, const NodeWeights &w, const Similar &similar) {
        if (!similar.any() || !similar.inner) return 0;
        std::vector<std::size_t> columns(store.label_count(), 0), near(store.label_count(), 0); // per label
        std::vector<char> seen(store.size(), 0), added(store.label_count(), 0);
        for (Id node : w.node)
            if (store.arity(node) && !std::exchange(seen[node], 1)) ++columns[store.label(node)];
        for (Id node : w.node)
            if (store.arity(node) && !std::exchange(added[store.label(node)], 1))
                similar.each(store, node, [&](Id label, double) {
                    const std::size_t cells = static_cast<std::size_t>(label) < columns.size() ? columns[label] : 0;
                    near[store.label(node)] += sizeof(Part) + (cells ? cells + 1 : 0) * sizeof(Num);
                });
        std::size_t most = 0;
        for (Id node : w.node) {
            if (!std::exchange(seen[node], 0)) continue;
            std::size_t sum = near[store.label(node)];
            store.each_child(node, [&](Id child, double) { sum += store.arity(child) ? near[store.label(child)] : 0; });
            most = std::max(most, sum);
        }
        return 4 * most;
    }

    // The labels of nodes, and the labels that are similar to them.
    static auto labels_of(const Store &store, bool leaves, const Similar *similar = nullptr) {
        return [&store, leaves, similar](Id node, double weight, auto add) {
            if (leaves || store.arity(node)) add_labels(store, node, weight, similar, add);
        };
    }
    static auto words_of(const Store &store, const Similar *similar = nullptr) {
        return [&store, similar](Id node, double weight, auto add) {
            if (store.arity(node) == 0) add_labels(store, node, weight, similar, add);
        };
    }
    template <class Add> static void add_labels(const Store &store, Id node, double weight, const Similar *similar, Add add) {
        add(store.label(node), weight);
        if (similar) similar->each(store, node, [&](Id label, double sigma) { add(label, weight * sigma); });
    }

    // Column sums use postings for labels of pre-terminals, and are computed by target for other
    // labels.
    void index_sums(const NodeWeights &w) {
        postings_.build(w.rows(),
                        by_node(w,
                                [&](Id node, double weight, auto add) {
                                    if (index_.column_of(node) != none && index_.label_of(node).sparse)
                                        add(index_.column_of(node), weight);
                                }),
                        index_.cells());
        sums_.build(w.rows(), by_node(w, [&](Id node, double weight, auto add) {
                        if (index_.column_of(node) != none && !index_.label_of(node).sparse) add(index_.column_of(node), weight);
                    }));
    }

    // Returns a node's own row of sums of Delta - constant, starting at a cell.
    template <class Block> Num *weighted(Block &b, Id row, Id cell) const {
        return b.s.weighted.data() + static_cast<std::size_t>(row) * index_.cells() + cell;
    }

    // Computes Delta(u, .) for the columns before `end` with a label of similarity sigma, and adds it to the sums.
    template <class Block> void correct_label(Block &b, std::size_t i, const PartialTreeIndex::Label &label, const Plan &plan,
                                              Id end, Num sigma, Part *kept) const {
        const Id u = b.s.nodes.node[i], stop = end - label.begin;
        const Num mu = mu_ * sigma, constant = constant_ * sigma;
        b.pulse.add(plan.size() * 8);
        Num *const row = kept && !is_alone(plan) ? make_dense(b, i, label, plan, stop, sigma, *kept) : nullptr;
        // Usually there is one row to store and one to add to.
        const RowBlock::Occurrence &held = b.s.nodes.held(i)[0];
        const bool simple = row && !label.sparse && b.s.nodes.held(i).size() == 1;
        Num *const sums = simple ? weighted(b, held.row, label.begin) : nullptr;
        const Num factor = mu * Num(held.count);
        for (const Plan::Entry &entry : plan.entry) {
            const PartialTreeIndex::Group &g = index_.group(entry.group);
            const Id size = b.s.sizes[entry.group], begin = g.begin - label.begin;
            for (Id from = 0; from < size; from += static_cast<Id>(children_.sweep)) {
                const std::size_t width = std::min<std::size_t>(children_.sweep, static_cast<std::size_t>(size - from));
                b.pulse.add(width * (entry.count + 1));
                if (sums && entry.count == 1 && children_.plain()) { // a single match has the value of its cell
                    children_.add_and_set_one(g, plan.match[entry.first], from, width, b.s.children, sums + begin + from, factor,
                                              row + begin + from, mu, constant);
                    continue;
                }
                const Num *S =
                    children_.sum(b.store, u, g, plan.match.data() + entry.first, entry.count, from, width, b.s.children, b.pulse);
                if (sums) {
                    add_and_set(sums + begin + from, factor, row + begin + from, mu, constant, S, width);
                    continue;
                }
                scatter(b, i, label, g.begin + from, S, width, mu);
                if (row)
                    set_scaled(row + begin + from, mu, S, constant, width);
                else if (kept)
                    keep_one(*kept, begin, mu * *S + constant);
            }
        }
        if (sums)
            children_.singles(b.store, u, plan, label.begin, stop, b.s.children, b.pulse, [&](Id cell, Num S) {
                row[cell] = mu * S + constant;
                sums[cell] += factor * S;
            });
        else
            children_.singles(b.store, u, plan, label.begin, stop, b.s.children, b.pulse, [&](Id cell, Num S) {
                scatter_one(b, i, label, label.begin + cell, S, mu);
                if (row)
                    row[cell] = mu * S + constant;
                else if (kept)
                    keep_one(*kept, cell, mu * S + constant);
            });
    }

    // Adds Delta - mu lam^2 = mu S to the sums of the rows that contain the node.
    template <class Block> void scatter(Block &b, std::size_t i, const PartialTreeIndex::Label &label, Id cell, const Num *S,
                                        std::size_t width, Num mu) const {
        for (const RowBlock::Occurrence &o : b.s.nodes.held(i)) {
            const Num factor = mu * Num(o.count);
            if (label.sparse)
                for (std::size_t r = 0; r < width; ++r)
                    postings_.add(cell + static_cast<Id>(r), factor * S[r], b.last, b.sums(o.row));
            else
                add_scaled(weighted(b, o.row, cell), factor, S, width);
        }
    }

    // The same for one cell. Sums are rounded in the same way whether a node is in one row or in
    // several, so there is no wide loop here.
    template <class Block>
    void scatter_one(Block &b, std::size_t i, const PartialTreeIndex::Label &label, Id cell, Num S, Num mu) const {
        for (const RowBlock::Occurrence &o : b.s.nodes.held(i)) {
            const Num factor = mu * Num(o.count);
            if (label.sparse)
                postings_.add(cell, factor * S, b.last, b.sums(o.row));
            else
                *weighted(b, o.row, cell) += factor * S;
        }
    }

    // A node over one word, among columns that are all of this form: only an equal column has the
    // same word.
    template <class Block> void correct_tag(Block &b, std::size_t i, const PartialTreeIndex::Label &label) const {
        const Id u = b.s.nodes.node[i], column = u <= b.limit ? index_.column_of(u) : none;
        if (column == none) return;
        scatter_one(b, i, label, column, terminal_, mu_);
        if (b.s.nodes.uses[i] > 0) keep_one(b.s.kept[i].own, column - label.begin, mu_ * terminal_ + constant_);
    }

    // Whether all columns except one have the constant value.
    bool is_alone(const Plan &plan) const {
        return plan.size() == 1 && (plan.entry.empty() || index_.group(plan.entry[0].group).size == 1);
    }
    void keep_one(Part &part, Id cell, Num value) const {
        part.kind = Part::one_exception, part.exception = cell;
        part.exceptional = value;
    }
    // Starts a row with the constant value, except in groups for which the plan has an entry, since
    // they will be written. Cells above the limit are never read.
    template <class Block> Num *make_dense(Block &b, std::size_t i, const PartialTreeIndex::Label &label, const Plan &plan, Id stop,
                                           Num sigma, Part &part) const {
        Values &values = b.s.kept[i];
        if (values.similar.empty()) b.s.kept.make(i);
        const auto cells = static_cast<std::size_t>(label.end - label.begin) + 1;
        Num *const value = values.make_dense(part, cells);
        value[label.end - label.begin] = terminal_ * sigma; // the cell of childless nodes
        const Num constant = constant_ * sigma;
        Id written = 0;
        for (const Plan::Entry &entry : plan.entry) {
            const PartialTreeIndex::Group &g = index_.group(entry.group);
            if (g.begin >= label.single) break;
            const Id begin = g.begin - label.begin;
            if (begin > written) fill(value + written, constant, static_cast<std::size_t>(begin - written));
            written = begin + g.size;
        }
        if (written < stop) fill(value + written, constant, static_cast<std::size_t>(stop - written));
        return value;
    }

    const Store &store_;
    SimilarPtr shared_similar_;
    const Similar &similar_;
    Num mu_;
    bool leaves_, apart_;     // apart: words have a factor of their own and are counted
    bool alike_;              // only words can be similar, and count
    Num constant_, terminal_; // mu lam^2; the same if one of the two nodes is a word
    PartialTreeIndex index_;
    ChildSequences<Num> children_;
    CountProduct labels_, words_, inner_; // all nodes; childless nodes, and nodes with children, if needed
    ColumnSums sums_;
    Postings postings_;
};

} // namespace treelet
