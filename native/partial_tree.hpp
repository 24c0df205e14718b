// The partial-tree kernel of Moschitti (2006) over a whole matrix at once.
//
//   Delta(u,v) = mu * (lam^2 + S(u,v))   if u and v have the same label, else 0
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
#include "matrix_rows.hpp"
#include "postings.hpp"
#include "pulse.hpp"
#include "row_block.hpp"
#include "scratch_pool.hpp"
#include <cstddef>
#include <unordered_map>

namespace treelet {

// Words that are alike though not equal (Croce, Moschitti & Basili 2011): for label l, label[k] is as similar as sigma[k],
// k = start[l] .. start[l+1]. Only childless nodes are compared by it; a label is not listed under itself.
struct Similar {
    std::vector<std::int64_t> start{0};
    std::vector<Id> label;
    std::vector<double> sigma;
    bool any() const { return !label.empty(); }
    std::int64_t begin(Id l) const { return static_cast<std::size_t>(l) + 1 < start.size() ? start[l] : 0; }
    std::int64_t end(Id l) const {
        return static_cast<std::size_t>(l) + 1 < start.size() ? start[static_cast<std::size_t>(l) + 1] : 0;
    }
};

template <class Num> class PartialTreeColumns {
  public:
    PartialTreeColumns(Targets targets, Num lam, Num mu, bool leaves, Similar similar = {})
        : targets_(std::move(targets)), similar_(std::move(similar)), lam_(lam), mu_(mu), leaves_(leaves),
          constant_(mu * lam * lam) {
        index_labels();
        index_columns();
        index_pairs();
        index_sums();
        power_.assign(64, Num(1));
        for (std::size_t i = 1; i < power_.size(); ++i) power_[i] = power_[i - 1] * lam_;
    }

    void rows(Rows &rows, void (*check)()) {
        std::unique_ptr<Scratch> scratch = scratch_.take(rows.store->size());
        if (scratch->planned_for != rows.store->serial()) { // in another store a production's number is another's
            scratch->plans.clear(), scratch->planned = 0;
            scratch->planned_for = rows.store->serial();
        }
        Pulse pulse(check);
        for (std::size_t row = rows.begin; row < rows.end;) {
            scratch->block.build(*rows.store, *rows.trees, row, rows.end, scratch->index);
            block(rows, *scratch, pulse);
            row += scratch->block.rows;
            scratch->block.forget(scratch->index);
        }
        scratch_.give(std::move(scratch));
    }

    // Adds to the weights of the only target, which must hold the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        const Store &store = *targets_.store;
        if (entry_of_.empty()) {
            entry_of_.assign(column_node_.size(), none);
            for (std::size_t k = 0; k < sum_entry_.size(); ++k) entry_of_[sum_entry_[k].column] = static_cast<Id>(k);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const double more = scale * weight[i];
            const Id label = local_label(store.label(node[i])), column = column_of_[node[i]];
            if (leaves_ || store.arity(node[i])) counts_.grow(label, more);
            if (similar_.any() && store.arity(node[i]) == 0) words_.grow(label, more);
            if (column == none) continue;
            if (label_[label].sparse)
                postings_.grow(column, more);
            else
                sum_entry_[entry_of_[column]].weight += more;
        }
    }

    std::size_t bytes() const {
        return (column_node_.size() + slot_.size() + pairs_.size() * 2) * sizeof(Id) + sum_entry_.size() * sizeof(SumEntry) +
               postings_.bytes() + counts_.bytes();
    }

  private:
    // --- columns --------------------------------------------------------------------------------------------
    struct Label { // the columns with this label: begin .. end, then one cell that stands for its childless nodes
        Id begin, end;
        bool sparse; // all columns are pre-terminals: sums go through postings
        Id first_group, last_group;
    };
    struct Group { // the columns with one production
        Id begin, size;
        Id arity;
        std::int64_t children; // labelled_child_[children ..]: its children, by (label, position)
        std::int64_t slots;    // slot_[slots + b * size + r]: cell of child b of column begin + r, relative to its label's begin
    };
    struct LabelledChild {
        Id label, position;
        static bool by_label(const LabelledChild &x, const LabelledChild &y) { return x.label < y.label; }
    };
    struct Meeting {
        Id position;
        double sigma;
    };
    struct Pair { // group, position of a child with the label looked up
        Id group, position;
    };
    struct Match { // child a of the row's production can meet child b of the group's
        Id a, b;
        double sigma; // 1: equal labels; else alike, if both are words
    };
    struct PlanEntry {
        Id group;
        std::uint32_t first, count; // of Plan::match
    };
    struct Plan {
        std::vector<PlanEntry> entry;
        std::vector<Match> match;
    };
    struct SumEntry {
        Id column;
        double weight;
    };

    // --- one row --------------------------------------------------------------------------------------------
    struct RowValues {
        enum Kind { constant, one_exception, dense } kind = constant;
        Id exception = none; // cell, relative to the label's begin
        Num exceptional{};
        std::vector<Num> value; // per cell of the label
    };
    struct Scratch {
        std::vector<Id> index;
        RowBlock block;
        std::vector<RowValues> row;
        std::vector<std::vector<Num>> pool;
        std::vector<Num> weighted; // R: sum over a row tree's u of count * (Delta(u, v) - constant), block rows x columns
        std::vector<Num> sums;     // what goes through postings, block rows x targets
        std::vector<Num> met, chain, total;
        std::vector<Id> active, still_active;
        std::vector<Meeting> meeting;
        std::unordered_map<std::uint64_t, Plan> plans;
        std::size_t planned = 0;
        std::uint64_t planned_for = 0; // the store that the plans' row productions are of
        std::vector<Pair> triple_pair;
        std::vector<Id> triple_child, group_count, group_touched;
        std::vector<double> triple_sigma;
        std::vector<std::pair<Id, double>> labels;
    };
    static constexpr std::size_t sweep = 128;      // columns computed together
    static constexpr std::size_t chain_limit = 24; // matches above which the grid form is used
    static constexpr std::uint32_t by_grid = 0;    // PlanEntry::count of such an entry
    static constexpr Id wide = 512;                // children above which matches are not listed at all
    static constexpr std::size_t plan_budget = 1 << 22;

    Id local_label(Id label) const { return static_cast<std::size_t>(label) < local_.size() ? local_[label] : none; }

    void index_labels() {
        const Store &store = *targets_.store;
        const NodeWeights &w = targets_.weights;
        Id labels = 0;
        for (Id node : w.node) labels = std::max(labels, store.label(node) + 1);
        local_.assign(static_cast<std::size_t>(labels), none);
        for (Id node : w.node)
            if (local_[store.label(node)] == none) local_[store.label(node)] = locals_++;
        std::vector<Postings::Triple> counts;
        std::vector<std::int64_t> slot(static_cast<std::size_t>(locals_), -1);
        for (std::size_t t = 0; t < w.rows(); ++t) {
            const auto first = static_cast<std::int64_t>(counts.size());
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) {
                if (!leaves_ && store.arity(w.node[i]) == 0) continue;
                const Id label = local_[store.label(w.node[i])];
                if (slot[label] < first) {
                    slot[label] = static_cast<std::int64_t>(counts.size());
                    counts.push_back({label, static_cast<Id>(t), 0});
                }
                counts[slot[label]].weight += w.weight[i];
            }
        }
        counts_.build(counts, static_cast<std::size_t>(locals_), w.rows());
        if (!similar_.any()) return;
        counts.clear();
        for (std::size_t t = 0; t < w.rows(); ++t)
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) // one node a childless label
                if (store.arity(w.node[i]) == 0)
                    counts.push_back({local_[store.label(w.node[i])], static_cast<Id>(t), w.weight[i]});
        words_.build(counts, static_cast<std::size_t>(locals_), w.rows());
    }

    // Columns: the distinct subtrees with children, by (label, production, id).
    void index_columns() {
        const Store &store = *targets_.store;
        std::vector<char> present(store.size(), 0);
        for (Id node : targets_.weights.node) present[node] = store.arity(node) > 0;
        std::vector<Id> nodes;
        for (Id v = 0; v < static_cast<Id>(store.size()); ++v)
            if (present[v]) nodes.push_back(v);
        std::stable_sort(nodes.begin(), nodes.end(), [&](Id x, Id y) {
            const Id lx = local_[store.label(x)], ly = local_[store.label(y)];
            return lx != ly ? lx < ly : store.production(x) < store.production(y);
        });
        label_.resize(static_cast<std::size_t>(locals_));
        std::vector<Id> column_of(store.size(), none);
        std::size_t next = 0;
        for (Id l = 0; l < locals_; ++l) {
            Label &label = label_[l];
            label.begin = static_cast<Id>(column_node_.size());
            label.sparse = true;
            label.first_group = static_cast<Id>(group_.size());
            for (; next < nodes.size() && local_[store.label(nodes[next])] == l; ++next) {
                const Id v = nodes[next];
                if (!store.flat(v)) label.sparse = false;
                const Id c = static_cast<Id>(column_node_.size());
                if (group_.empty() || group_.back().begin < label.begin ||
                    store.production(column_node_[group_.back().begin]) != store.production(v))
                    group_.push_back({c, 0, static_cast<Id>(store.arity(v)), 0, 0});
                ++group_.back().size;
                column_of[v] = c;
                column_node_.push_back(v);
            }
            label.end = static_cast<Id>(column_node_.size());
            label.last_group = static_cast<Id>(group_.size());
            column_node_.push_back(none); // the cell of the childless
        }
        for (Group &g : group_) {
            g.children = static_cast<std::int64_t>(labelled_child_.size());
            for (Id b = 0; b < g.arity; ++b) child_label_.push_back(local_[store.label(store.children(column_node_[g.begin])[b])]);
            for (Id b = 0; b < g.arity; ++b)
                labelled_child_.push_back({local_[store.label(store.children(column_node_[g.begin])[b])], b});
            std::stable_sort(labelled_child_.begin() + g.children, labelled_child_.end(), LabelledChild::by_label);
            g.slots = static_cast<std::int64_t>(slot_.size());
            for (Id b = 0; b < g.arity; ++b)
                for (Id r = 0; r < g.size; ++r) {
                    const Id child = store.children(column_node_[g.begin + r])[b];
                    const Label &label = label_[local_[store.label(child)]];
                    slot_.push_back((column_of[child] == none ? label.end : column_of[child]) - label.begin);
                }
        }
        column_of_ = std::move(column_of);
    }

    // (label, child's label) -> the groups and positions where it occurs, by group, then position.
    void index_pairs() {
        const Store &store = *targets_.store;
        struct Item {
            std::uint64_t key;
            Pair pair;
        };
        std::vector<Item> items;
        for (std::size_t g = 0; g < group_.size(); ++g) {
            if (group_[g].arity > wide) continue;
            const Id v = column_node_[group_[g].begin];
            for (Id b = 0; b < group_[g].arity; ++b)
                items.push_back(
                    {pair_key(local_[store.label(v)], local_[store.label(store.children(v)[b])]), {static_cast<Id>(g), b}});
        }
        std::stable_sort(items.begin(), items.end(), [](const Item &x, const Item &y) { return x.key < y.key; });
        for (const Item &item : items) {
            if (pair_keys_.empty() || pair_keys_.back() != item.key) {
                pair_table_.insert(mix(item.key, 1), static_cast<Id>(pair_keys_.size()));
                pair_keys_.push_back(item.key);
                pair_start_.push_back(static_cast<std::int64_t>(pairs_.size()));
            }
            pairs_.push_back(item.pair);
        }
        pair_start_.push_back(static_cast<std::int64_t>(pairs_.size()));
    }

    // Column sums: through postings for sparse labels, by target for the others.
    void index_sums() {
        const NodeWeights &w = targets_.weights;
        std::vector<Postings::Triple> triples;
        sum_start_.push_back(0);
        for (std::size_t t = 0; t < w.rows(); ++t) {
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) {
                const Id column = column_of_[w.node[i]];
                if (column == none) continue;
                if (label_[local_[targets_.store->label(w.node[i])]].sparse)
                    triples.push_back({column, static_cast<Id>(t), w.weight[i]});
                else
                    sum_entry_.push_back({column, w.weight[i]});
            }
            sum_start_.push_back(static_cast<std::int64_t>(sum_entry_.size()));
        }
        postings_.build(triples, column_node_.size());
    }

    // --- rows -----------------------------------------------------------------------------------------------
    void block(Rows &rows, Scratch &s, Pulse &pulse) {
        const Store &store = *rows.store;
        const RowBlock &b = s.block;
        const std::size_t n = targets_.size(), columns = column_node_.size();
        const std::size_t last_row = b.first_row + b.rows - 1;
        const std::size_t last = rows.targets(last_row, n);
        const Id limit = rows.node_limit(last_row);
        s.sums.assign(b.rows * n, Num(0));
        s.weighted.assign(b.rows * columns, Num(0));
        if (s.row.size() < b.node.size()) s.row.resize(b.node.size());
        for (std::size_t i = 0; i < b.node.size(); ++i) {
            const Id u = b.node[i];
            const std::size_t arity = store.arity(u);
            if (arity == 0) continue;
            compare(store, s, i, limit, last, pulse);
            for (std::size_t k = 0; k < arity; ++k) {
                const Id child = s.index[store.children(u)[k]];
                if (--s.block.uses[child] == 0) release(s, child);
            }
            if (s.block.uses[i] == 0) release(s, static_cast<Id>(i));
        }
        for (std::size_t r = 0; r < b.rows; ++r) {
            const std::size_t row = b.first_row + r;
            const std::size_t m = rows.targets(row, n);
            Num *sums = s.sums.data() + r * n;
            add_constant_part(rows, row, s, sums, m);
            const Num *weighted = s.weighted.data() + r * columns;
            for (std::size_t j = 0; j < m; ++j) {
                Num sum = sums[j];
                for (std::int64_t k = sum_start_[j]; k < sum_start_[j + 1]; ++k)
                    sum += Num(sum_entry_[k].weight) * weighted[sum_entry_[k].column];
                sums[j] = sum;
            }
            write_row(rows, row, sums, m);
            pulse.add(m);
        }
    }

    static void release(Scratch &s, Id i) {
        RowValues &row = s.row[i];
        row.kind = RowValues::constant;
        if (row.value.capacity()) s.pool.push_back(std::move(row.value));
        row.value = std::vector<Num>();
    }

    // mu * lam^2 for every pair of nodes with one label (without leaves: neither of them a word).
    void add_constant_part(const Rows &rows, std::size_t row, Scratch &s, Num *sums, std::size_t last) {
        const Store &store = *rows.store;
        s.labels.clear();
        for (std::int64_t i = rows.trees->start[row]; i < rows.trees->start[row + 1]; ++i) {
            const Id node = rows.trees->node[i];
            if (local_label(store.label(node)) != none && (leaves_ || store.arity(node)))
                s.labels.push_back({store.label(node), rows.trees->weight[i]});
            if (leaves_ && store.arity(node) == 0)
                for (std::int64_t k = similar_.begin(store.label(node)); k < similar_.end(store.label(node)); ++k)
                    if (const Id other = local_label(similar_.label[k]); other != none)
                        words_.add(other, constant_ * Num(similar_.sigma[k] * rows.trees->weight[i]), last, sums);
        }
        std::sort(s.labels.begin(), s.labels.end());
        for (std::size_t i = 0; i < s.labels.size();) {
            const Id label = s.labels[i].first;
            double count = 0;
            for (; i < s.labels.size() && s.labels[i].first == label; ++i) count += s.labels[i].second;
            counts_.add(local_label(label), constant_ * Num(count), last, sums);
        }
    }

    // The row Delta(u, .), and its part of the sums.
    void compare(const Store &store, Scratch &s, std::size_t i, Id limit, std::size_t last, Pulse &pulse) {
        const RowBlock &b = s.block;
        const Id u = b.node[i];
        const Id l = local_label(store.label(u));
        if (l == none) return;
        const Label &label = label_[l];
        if (label.begin == label.end) return;
        const Plan &plan = plan_for(store, u, l, s);
        if (plan.entry.empty()) return;
        pulse.add(plan.entry.size() * 8);

        RowValues &row = s.row[i];
        const bool keep = b.uses[i] > 0;
        const RowBlock::Occurrence *o = b.occurrence.data() + b.start[i], *o_end = b.occurrence.data() + b.start[i + 1];
        const std::size_t n = targets_.size(), columns = column_node_.size();
        const Num constant = constant_, mu = mu_;
        for (const PlanEntry &entry : plan.entry) {
            const Group &g = group_[entry.group];
            const Id size = columns_up_to(g, limit);
            if (size == 0) continue;
            for (Id from = 0; from < size; from += static_cast<Id>(sweep)) {
                const std::size_t width = std::min<std::size_t>(sweep, static_cast<std::size_t>(size - from));
                pulse.add(width * (entry.count + 1));
                const Num *S = shared(store, s, u, g, plan.match.data() + entry.first, entry.count, from, width, pulse);
                const Id cell = g.begin + from;
                for (const RowBlock::Occurrence *x = o; x < o_end; ++x) {
                    const Num factor = mu * Num(x->count);
                    if (label.sparse) {
                        for (std::size_t r = 0; r < width; ++r) {
                            Num *sums = s.sums.data() + static_cast<std::size_t>(x->row) * n;
                            postings_.add(cell + static_cast<Id>(r), factor * S[r], last, sums);
                        }
                    } else {
                        Num *weighted = s.weighted.data() + static_cast<std::size_t>(x->row) * columns + cell;
                        add_scaled(weighted, factor, S, width);
                    }
                }
                if (!keep) continue;
                if (row.kind == RowValues::constant && width == 1) {
                    row.kind = RowValues::one_exception;
                    row.exception = cell - label.begin;
                    row.exceptional = constant + mu * S[0];
                    continue;
                }
                if (row.kind != RowValues::dense) make_dense(s, row, label);
                Num *value = row.value.data() + (cell - label.begin);
                set_scaled(value, mu, S, constant, width);
            }
        }
    }

    void make_dense(Scratch &s, RowValues &row, const Label &label) {
        if (!s.pool.empty()) row.value = std::move(s.pool.back()), s.pool.pop_back();
        row.value.assign(static_cast<std::size_t>(label.end - label.begin) + 1, constant_);
        if (row.kind == RowValues::one_exception) row.value[row.exception] = row.exceptional;
        row.kind = RowValues::dense;
    }

    // S(u, v) for `width` columns of a group from `from` on.
    const Num *shared(const Store &store, Scratch &s, Id u, const Group &g, const Match *match, std::size_t count, Id from,
                      std::size_t width, Pulse &pulse) {
        if (count == by_grid) return shared_grid(store, s, u, g, from, width, pulse);
        s.met.resize(chain_limit * sweep), s.total.resize(sweep);
        if (s.chain.size() < chain_limit * sweep) s.chain.resize(chain_limit * sweep);
        Num *total = s.total.data();
        const Id *kids = store.children(u);
        if (count == 1) {
            meet(s, kids[match[0].a], g, match[0].b, match[0].sigma, from, width, total);
            return total;
        }
        // T_x = Delta_x * (1 + sum of lam^gaps T_y over the matches y before x on both sides); S = sum of T_x.
        for (std::size_t x = 0; x < count; ++x) {
            Num *met = s.met.data() + x * sweep, *chain = s.chain.data() + x * sweep;
            meet(s, kids[match[x].a], g, match[x].b, match[x].sigma, from, width, met);
            bool first = true;
            for (std::size_t y = 0; y < x; ++y) {
                if (match[y].a >= match[x].a || match[y].b >= match[x].b) continue;
                const Num gap = gap_weight((match[x].a - match[y].a - 1) + (match[x].b - match[y].b - 1));
                const Num *before = s.chain.data() + y * sweep;
                if (first)
                    set_scaled(chain, gap, before, Num(1), width);
                else
                    add_scaled(chain, gap, before, width);
                first = false;
            }
            if (first)
                std::copy_n(met, width, chain);
            else
                multiply(chain, met, width);
            if (x == 0)
                std::copy_n(chain, width, total);
            else
                add_scaled(total, Num(1), chain, width);
        }
        return total;
    }

    // The same sum where many children meet: O(cells that count) a column instead of O(matches^2).
    //   E(a,b) = sum_{b' <= b} lam^(b-b') T(a,b'),  D(a,b) = lam D(a-1,b) + E(a,b),  T(a,b) = Delta (1 + D(a-1,b-1)).
    // D and E only ever enter as 1 + D, so cells where they have decayed to nothing are passed over.
    const Num *shared_grid(const Store &store, Scratch &s, Id u, const Group &g, Id from, std::size_t width, Pulse &pulse) {
        s.total.resize(sweep);
        if (s.chain.size() < static_cast<std::size_t>(g.arity)) s.chain.resize(static_cast<std::size_t>(g.arity));
        Num *D = s.chain.data();
        const Id *kids = store.children(u);
        const auto arity = static_cast<Id>(store.arity(u));
        const LabelledChild *children = labelled_child_.data() + g.children, *children_end = children + g.arity;
        const Num lam = lam_, one(1);
        for (std::size_t r = 0; r < width; ++r) {
            std::fill_n(D, g.arity, Num(0));
            Num total(0);
            s.active.clear();
            for (Id a = 0; a < arity; ++a) {
                find_matches(store, kids[a], children, children_end, s.meeting);
                auto match = s.meeting.begin(), match_end = s.meeting.end();
                s.still_active.clear();
                Num E(0), left(0); // left: D(a-1, b-1) as it was, if b-1 was the cell before
                Id before = -2;
                auto old = s.active.begin();
                for (;;) {
                    Id b = g.arity;
                    if (old != s.active.end()) b = *old;
                    if (match != match_end) b = std::min(b, match->position);
                    if (!negligible(E)) b = std::min(b, before + 1);
                    if (b >= g.arity) break;
                    if (b != before + 1) E = Num(0), left = b > 0 ? D[b - 1] : Num(0);
                    E *= lam;
                    if (match != match_end && match->position == b) {
                        Num met;
                        meet(s, kids[a], g, b, match->sigma, from + static_cast<Id>(r), 1, &met);
                        const Num T = met * (one + left);
                        total += T;
                        E += T;
                        ++match;
                    }
                    if (old != s.active.end() && *old == b) ++old;
                    left = D[b];
                    D[b] = lam * D[b] + E;
                    if (negligible(D[b]))
                        D[b] = Num(0);
                    else
                        s.still_active.push_back(b);
                    before = b;
                }
                pulse.add(s.still_active.size());
                s.active.swap(s.still_active);
            }
            s.total[r] = total;
        }
        return s.total.data();
    }
    // Where among a group's children those are that a child can meet, by position.
    void find_matches(const Store &store, Id child, const LabelledChild *begin, const LabelledChild *end,
                      std::vector<Meeting> &out) const {
        out.clear();
        auto add = [&](Id label, double sigma) {
            if (label == none) return;
            auto [first, last] = std::equal_range(begin, end, LabelledChild{label, 0}, LabelledChild::by_label);
            for (; first != last; ++first) out.push_back({first->position, sigma});
        };
        add(local_label(store.label(child)), 1);
        if (store.arity(child) || !similar_.any()) return;
        for (std::int64_t k = similar_.begin(store.label(child)); k < similar_.end(store.label(child)); ++k)
            add(local_label(similar_.label[k]), similar_.sigma[k]);
        std::sort(out.begin(), out.end(), [](const Meeting &x, const Meeting &y) { return x.position < y.position; });
    }
    static bool negligible(double value) { return value < 1e-40; }
    template <class Other> static bool negligible(Other value) { return value == 0; }

    // Delta(child, child b of each column).
    void meet(const Scratch &s, Id child, const Group &g, Id b, double sigma, Id from, std::size_t width, Num *out) const {
        const RowValues &row = s.row[s.index[child]];
        const Id *slot = slot_.data() + g.slots + static_cast<std::int64_t>(b) * g.size + from;
        const Num constant = constant_;
        if (sigma != 1) {
            const Label &label = label_[child_label_[g.children + b]];
            const Num alike = constant * Num(sigma), unlike(0);
            for (std::size_t r = 0; r < width; ++r) out[r] = slot[r] == label.end - label.begin ? alike : unlike;
            return;
        }
        switch (row.kind) {
        case RowValues::constant:
            std::fill_n(out, width, constant);
            break;
        case RowValues::one_exception:
            for (std::size_t r = 0; r < width; ++r) out[r] = slot[r] == row.exception ? row.exceptional : constant;
            break;
        case RowValues::dense:
            gather(out, row.value.data(), slot, width);
            break;
        }
    }

    // Which groups share a child label with u's production, and where.
    const Plan &plan_for(const Store &store, Id u, Id label, Scratch &s) {
        // With similar words it matters which children are words, and a production does not tell.
        std::uint64_t key = static_cast<std::uint32_t>(store.production(u));
        if (similar_.any())
            for (std::size_t a = 0; a < store.arity(u); ++a) key = mix(key, store.arity(store.children(u)[a]) == 0);
        if (auto it = s.plans.find(key); it != s.plans.end()) return it->second;
        if (s.planned > plan_budget) s.plans.clear(), s.planned = 0;
        s.triple_pair.clear(), s.triple_child.clear(), s.triple_sigma.clear(), s.group_touched.clear();
        s.group_count.resize(group_.size(), 0);
        const std::size_t arity = store.arity(u);
        Plan plan;
        for (Id g = label_[label].first_group; g < label_[label].last_group; ++g)
            if (static_cast<Id>(arity) > wide || group_[g].arity > wide) plan.entry.push_back({g, 0, by_grid});
        for (std::size_t a = 0; a < arity && static_cast<Id>(arity) <= wide; ++a) {
            const Id child = store.children(u)[a];
            list_pairs(label, local_label(store.label(child)), static_cast<Id>(a), 1, s);
            if (store.arity(child) == 0)
                for (std::int64_t k = similar_.begin(store.label(child)); k < similar_.end(store.label(child)); ++k)
                    list_pairs(label, local_label(similar_.label[k]), static_cast<Id>(a), similar_.sigma[k], s);
        }
        // Counting sort by group; within a group the matches stay ordered by (a, b).
        std::sort(s.group_touched.begin(), s.group_touched.end());
        plan.entry.reserve(plan.entry.size() + s.group_touched.size());
        plan.match.resize(s.triple_pair.size());
        std::uint32_t next = 0;
        for (Id group : s.group_touched) {
            const auto count = static_cast<std::uint32_t>(s.group_count[group]);
            plan.entry.push_back({group, next, count > chain_limit ? by_grid : count});
            s.group_count[group] = static_cast<Id>(next);
            next += count;
        }
        for (std::size_t k = 0; k < s.triple_pair.size(); ++k)
            plan.match[s.group_count[s.triple_pair[k].group]++] = {s.triple_child[k], s.triple_pair[k].position, s.triple_sigma[k]};
        for (Id group : s.group_touched) s.group_count[group] = 0;
        s.planned += plan.match.size() + 8;
        return s.plans.emplace(key, std::move(plan)).first->second;
    }

    void list_pairs(Id label, Id child, Id a, double sigma, Scratch &s) const {
        if (child == none) return;
        const std::uint64_t key = pair_key(label, child);
        const Id found = pair_table_.find(mix(key, 1), [&](Id k) { return pair_keys_[k] == key; });
        if (found == none) return;
        for (std::int64_t k = pair_start_[found]; k < pair_start_[found + 1]; ++k) {
            s.triple_pair.push_back(pairs_[k]);
            s.triple_child.push_back(a);
            s.triple_sigma.push_back(sigma);
            if (s.group_count[pairs_[k].group]++ == 0) s.group_touched.push_back(pairs_[k].group);
        }
    }

    Id columns_up_to(const Group &g, Id limit) const {
        const Id *node = column_node_.data() + g.begin;
        if (node[0] > limit) return 0;
        if (node[g.size - 1] <= limit) return g.size;
        return static_cast<Id>(std::upper_bound(node, node + g.size, limit) - node);
    }
    Num gap_weight(Id gaps) const { return static_cast<std::size_t>(gaps) < power_.size() ? power_[gaps] : power(lam_, gaps); }
    static std::uint64_t pair_key(Id label, Id child) {
        return static_cast<std::uint64_t>(label) << 32 | static_cast<std::uint32_t>(child);
    }

    Targets targets_;
    Similar similar_;
    Num lam_, mu_;
    bool leaves_;
    Num constant_;
    std::vector<Id> local_; // label -> local label, none if no column has it
    Id locals_ = 0;
    DensePostings counts_, words_; // label -> targets, by their nodes with it; by their words
    std::vector<Label> label_;
    std::vector<Group> group_;
    std::vector<LabelledChild> labelled_child_;
    std::vector<Id> child_label_; // the same, by position
    std::vector<Id> column_node_, column_of_, slot_;
    IdTable pair_table_;
    std::vector<std::uint64_t> pair_keys_;
    std::vector<std::int64_t> pair_start_;
    std::vector<Pair> pairs_;
    std::vector<std::int64_t> sum_start_;
    std::vector<SumEntry> sum_entry_;
    std::vector<Id> entry_of_; // column -> its entry, for the only target
    Postings postings_;
    std::vector<Num> power_;
    ScratchPool<Scratch> scratch_;
};

} // namespace treelet
