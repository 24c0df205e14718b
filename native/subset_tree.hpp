// The subset-tree kernel of Collins & Duffy (2001) over a whole matrix at once.
//
//   C(u,v) = lam * prod_j (1 + C(u_j, v_j))      if u and v have the same production, else 0      (their section 3)
//   K(i,j) = sum_{u in i} sum_{v in j} C(u,v)
//
// Most pairs with one production have no child pair with one production, and there C = lam. So
//   K = lam * P P'  (P: tree x production counts)  +  sum of the corrections C - lam,
// and the corrections of a row subtree u are found through an index on (production, child position, child's
// production) of the column subtrees. Only the rows C(u, .) of the current block are held.
//
// With max_depth = d the recursion is C_d(u,v) = lam * prod_j (1 + C_{d-1}(u_j, v_j)), C_1 = lam: one value a level.
#pragma once
#include "matrix_rows.hpp"
#include "postings.hpp"
#include "pulse.hpp"
#include "row_block.hpp"
#include "scratch_pool.hpp"

namespace treelet {

template <class Num> class SubsetTreeColumns {
  public:
    // max_depth 0: no bound.
    SubsetTreeColumns(Targets targets, Num lam, int max_depth) : targets_(std::move(targets)), lam_(lam) {
        const Store &store = *targets_.store;
        Id height = 0;
        for (Id node : targets_.weights.node) height = std::max(height, store.height(node));
        limited_ = max_depth > 0 && max_depth < height;
        levels_ = limited_ ? max_depth - 1 : 1;
        index_nodes();
        if (levels_ > 0) index_children();
        if (static_cast<double>(column_.size()) * levels_ > 5e8)
            throw std::length_error("max_depth=" + std::to_string(max_depth) +
                                    " needs too much memory on trees this deep: leave it None, or make it smaller");
    }

    void rows(Rows &rows, void (*check)()) {
        std::unique_ptr<Scratch> scratch = scratch_.take(rows.store->size());
        Pulse pulse(check);
        for (std::size_t row = rows.begin; row < rows.end;) {
            scratch->block.build(*rows.store, *rows.trees, row, rows.end, scratch->index);
            if (limited_)
                block<true>(rows, *scratch, pulse);
            else
                block<false>(rows, *scratch, pulse);
            row += scratch->block.rows;
            scratch->block.forget(scratch->index);
        }
        scratch_.give(std::move(scratch));
    }

    // Adds to the weights of the only target, which must hold the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        const Store &store = *targets_.store;
        for (std::size_t i = 0; i < n; ++i) {
            const Id production = store.production(node[i]);
            if (production == none) continue;
            productions_.grow(local_[production], scale * weight[i]);
            if (const Id column = column_of_[node[i]]; column != none) first_[column].weight += scale * weight[i];
        }
    }

    std::size_t bytes() const {
        return column_.size() * (sizeof(Id) + sizeof(First)) + child_entry_.size() * sizeof(ChildEntry) + productions_.bytes() +
               postings_.bytes();
    }

  private:
    // Columns are the distinct subtrees that can have corrections, ordered by (production, id). Most are in one target.
    struct First { // a column's first posting, and how many more there are
        double weight;
        Id target, more;
    };
    struct ChildEntry { // a member of the group (production, position, child's production)
        Id rank;        // of the parent, within its production's columns
        Id child;       // its child's column + 1; 0 if the child cannot have corrections
    };
    struct RowValues { // C(u, v) - lam, for the columns v where it is not 0; levels_ values each
        std::vector<Id> column;
        std::vector<Num> value;
    };
    struct Scratch {
        std::vector<Id> index;
        RowBlock block;
        std::vector<RowValues> row;  // per block node
        std::vector<RowValues> pool; // emptied ones, to reuse their memory
        std::vector<Num> product;    // W: running prod (1 + C), per rank; 0: untouched
        std::vector<Num> child;      // D: C(u_q, .) - lam of the child at hand, per column + 1
        std::vector<Id> touched;
        std::vector<Num> sums; // block rows x targets
        std::vector<std::pair<Id, double>> productions;
    };

    Id local_production(Id production) const {
        return production != none && static_cast<std::size_t>(production) < local_.size() ? local_[production] : none;
    }

    void index_nodes() {
        const Store &store = *targets_.store;
        const NodeWeights &w = targets_.weights;
        local_.assign(store.production_count(), none);
        std::vector<char> present(store.size(), 0);
        std::vector<Postings::Triple> triples;
        std::vector<Id> slot; // where this target's triple for a production is
        for (std::size_t t = 0; t < w.rows(); ++t) {
            const std::size_t first = triples.size();
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) {
                const Id production = store.production(w.node[i]);
                if (production == none) continue;
                if (local_[production] == none) local_[production] = locals_++, slot.push_back(none);
                const Id local = local_[production];
                if (slot[local] != none && static_cast<std::size_t>(slot[local]) >= first && triples[slot[local]].key == local)
                    triples[slot[local]].weight += w.weight[i];
                else
                    slot[local] = static_cast<Id>(triples.size()), triples.push_back({local, static_cast<Id>(t), w.weight[i]});
                if (!store.flat(w.node[i])) present[w.node[i]] = 1;
            }
        }
        productions_.build(triples, static_cast<std::size_t>(locals_), w.rows());

        // Columns by (production, id): counting sort of the ascending ids.
        bucket_.assign(static_cast<std::size_t>(locals_) + 1, 0);
        for (Id v = 0; v < static_cast<Id>(store.size()); ++v)
            if (present[v]) ++bucket_[local_[store.production(v)] + 1];
        for (Id p = 0; p < locals_; ++p) {
            widest_ = std::max(widest_, bucket_[p + 1]);
            bucket_[p + 1] += bucket_[p];
        }
        column_.resize(bucket_.back());
        column_of_.assign(store.size(), none);
        std::vector<Id> next(bucket_.begin(), bucket_.end() - 1);
        for (Id v = 0; v < static_cast<Id>(store.size()); ++v)
            if (present[v]) {
                const Id c = next[local_[store.production(v)]]++;
                column_[c] = v;
                column_of_[v] = c;
            }
        triples.clear();
        for (std::size_t t = 0; t < w.rows(); ++t)
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i)
                if (column_of_[w.node[i]] != none) triples.push_back({column_of_[w.node[i]], static_cast<Id>(t), w.weight[i]});
        postings_.build(triples, column_.size());
        for (std::size_t c = 0; c < column_.size(); ++c) {
            const auto at = static_cast<std::size_t>(postings_.start[c]);
            first_.push_back(
                {postings_.weight[at], postings_.target[at], static_cast<Id>(postings_.start[c + 1] - postings_.start[c] - 1)});
        }
    }

    void index_children() {
        const Store &store = *targets_.store;
        struct Member {
            Id child_production, rank, child;
        };
        std::vector<Member> members;
        for (Id p = 0; p < locals_; ++p) {
            const Id begin = bucket_[p], end = bucket_[p + 1];
            if (begin == end) continue;
            const std::size_t arity = store.arity(column_[begin]);
            for (std::size_t q = 0; q < arity; ++q) {
                members.clear();
                for (Id c = begin; c < end; ++c) {
                    const Id child = store.children(column_[c])[q];
                    if (store.production(child) != none)
                        members.push_back({store.production(child), c - begin, column_of_[child] + 1});
                }
                std::stable_sort(members.begin(), members.end(),
                                 [](const Member &a, const Member &b) { return a.child_production < b.child_production; });
                for (std::size_t i = 0; i < members.size(); ++i) {
                    if (i == 0 || members[i].child_production != members[i - 1].child_production) {
                        const Key key{p, static_cast<Id>(q), members[i].child_production};
                        groups_.insert(key.hash(), static_cast<Id>(group_key_.size()));
                        group_key_.push_back(key);
                        group_start_.push_back(static_cast<std::int64_t>(child_entry_.size()));
                    }
                    child_entry_.push_back({members[i].rank, members[i].child});
                }
            }
        }
        group_start_.push_back(static_cast<std::int64_t>(child_entry_.size()));
    }

    template <bool limited> void block(Rows &rows, Scratch &s, Pulse &pulse) {
        const Store &store = *rows.store;
        const RowBlock &b = s.block;
        const std::size_t n = targets_.size();
        const std::size_t last_row = b.first_row + b.rows - 1;
        const std::size_t last = rows.targets(last_row, n); // targets compared with some row of the block
        const Id limit = rows.node_limit(last_row);
        if (s.sums.size() < b.rows * n) s.sums.resize(b.rows * n);
        std::fill_n(s.sums.begin(), b.rows * n, Num(0));

        for (std::size_t r = 0; r < b.rows; ++r) add_constant_part(rows, b.first_row + r, s, s.sums.data() + r * n, last, pulse);
        if (levels_ > 0) {
            if (s.row.size() < b.node.size()) s.row.resize(b.node.size());
            s.product.resize(static_cast<std::size_t>(widest_) * levels_, Num(0));
            s.touched.resize(static_cast<std::size_t>(widest_) + 1);
            s.child.resize((column_.size() + 1) * levels_, Num(0));
            for (std::size_t i = 0; i < b.node.size(); ++i) {
                const Id u = b.node[i];
                if (!store.flat(u)) correct<limited>(store, s, i, limit, last, pulse);
                const std::size_t arity = store.arity(u);
                for (std::size_t k = 0; k < arity; ++k) {
                    const Id child = s.index[store.children(u)[k]];
                    if (--s.block.uses[child] == 0) release(s, child);
                }
                if (s.block.uses[i] == 0) release(s, static_cast<Id>(i));
            }
        }
        for (std::size_t r = 0; r < b.rows; ++r) {
            const std::size_t row = b.first_row + r;
            write_row(rows, row, s.sums.data() + r * n, rows.targets(row, n));
        }
    }

    static void release(Scratch &s, Id i) {
        RowValues &row = s.row[i];
        if (row.column.capacity() == 0) return;
        row.column.clear(), row.value.clear();
        s.pool.push_back(std::move(row));
        row = RowValues();
    }

    // lam * P P'
    void add_constant_part(const Rows &rows, std::size_t row, Scratch &s, Num *sums, std::size_t last, Pulse &pulse) {
        s.productions.clear();
        for (std::int64_t i = rows.trees->start[row]; i < rows.trees->start[row + 1]; ++i) {
            const Id production = rows.store->production(rows.trees->node[i]);
            if (local_production(production) != none) s.productions.push_back({production, rows.trees->weight[i]});
        }
        std::sort(s.productions.begin(), s.productions.end());
        for (std::size_t i = 0; i < s.productions.size();) {
            const Id production = s.productions[i].first, p = local_production(production);
            double count = 0;
            for (; i < s.productions.size() && s.productions[i].first == production; ++i) count += s.productions[i].second;
            pulse.add(productions_.length(p));
            productions_.add(p, lam_ * Num(count), last, sums);
        }
    }

    // The row C(u, .) - lam and its sum into the matrix.
    template <bool limited> void correct(const Store &store, Scratch &s, std::size_t i, Id limit, std::size_t last, Pulse &pulse) {
        const RowBlock &b = s.block;
        const Id u = b.node[i];
        const Id p = local_production(store.production(u));
        if (p == none) return;
        const Id first = bucket_[p], size = bucket_[p + 1] - first;
        const Id *columns = column_.data() + first;
        const Id ranks = columns_up_to(columns, size, limit);
        if (ranks == 0) return;
        const std::size_t levels = limited ? static_cast<std::size_t>(levels_) : 1;
        Num *const product = s.product.data();
        Num *const D = s.child.data();
        Id *const touched = s.touched.data();
        std::size_t n_touched = 0;
        const Num base = Num(1) + lam_;

        const std::size_t arity = store.arity(u);
        for (std::size_t q = 0; q < arity; ++q) {
            const Id child = store.children(u)[q];
            if (store.production(child) == none) continue;
            const Id group = find_group({p, static_cast<Id>(q), store.production(child)});
            if (group == none) continue;
            const ChildEntry *e = child_entry_.data() + group_start_[group];
            const ChildEntry *end = child_entry_.data() + group_start_[group + 1];
            pulse.add(static_cast<std::size_t>(end - e));
            const RowValues &known = s.row[s.index[child]];
            const bool plain = known.column.empty();
            if (!plain) scatter(known, D, levels);
            for (; e < end && e->rank < ranks; ++e) {
                Num *w = product + static_cast<std::size_t>(e->rank) * levels;
                const bool fresh = w[0] == 0;
                touched[n_touched] = e->rank;
                n_touched += fresh;
                if constexpr (limited) {
                    for (std::size_t l = 0; l < levels; ++l) {
                        Num factor = base;
                        if (!plain && l > 0) factor += D[static_cast<std::size_t>(e->child) * levels + l - 1];
                        w[l] = fresh ? factor : w[l] * factor;
                    }
                } else {
                    const Num factor = plain ? base : base + D[e->child];
                    w[0] = fresh ? factor : w[0] * factor;
                }
            }
            if (!plain) unscatter(known, D, levels);
        }
        if (n_touched == 0) return;

        const bool keep = b.uses[i] > 0;
        RowValues &row = s.row[i];
        if (keep) {
            if (!s.pool.empty()) row = std::move(s.pool.back()), s.pool.pop_back();
            row.column.resize(n_touched), row.value.resize(n_touched * levels);
        }
        const std::size_t n = targets_.size();
        const RowBlock::Occurrence *o = b.occurrence.data() + b.start[i], *o_end = b.occurrence.data() + b.start[i + 1];
        const Num lam = lam_, one(1);
        for (std::size_t t = 0; t < n_touched; ++t) {
            const Id rank = touched[t];
            Num *w = product + static_cast<std::size_t>(rank) * levels;
            Num value(0);
            for (std::size_t l = 0; l < levels; ++l) {
                value = lam * (w[l] - one);
                w[l] = Num(0);
                if (keep) row.value[t * levels + l] = value;
            }
            if (keep) row.column[t] = first + rank;
            const First &posting = first_[first + rank];
            for (const RowBlock::Occurrence *x = o; x < o_end; ++x) {
                Num *sums = s.sums.data() + static_cast<std::size_t>(x->row) * n;
                const Num part = Num(x->count) * value;
                if (posting.more)
                    postings_.add(first + rank, part, last, sums);
                else // beyond `last` it is never read
                    sums[posting.target] += part * Num(posting.weight);
            }
        }
    }

    static void scatter(const RowValues &row, Num *D, std::size_t levels) {
        for (std::size_t k = 0; k < row.column.size(); ++k)
            for (std::size_t l = 0; l < levels; ++l) D[(row.column[k] + std::size_t{1}) * levels + l] = row.value[k * levels + l];
    }
    static void unscatter(const RowValues &row, Num *D, std::size_t levels) {
        for (Id column : row.column)
            for (std::size_t l = 0; l < levels; ++l) D[(column + std::size_t{1}) * levels + l] = Num(0);
    }

    // Columns of a production are in ascending id order.
    static Id columns_up_to(const Id *columns, Id size, Id limit) {
        if (size == 0 || columns[size - 1] <= limit) return size;
        return static_cast<Id>(std::upper_bound(columns, columns + size, limit) - columns);
    }

    struct Key {
        Id production, position, child_production;
        std::uint64_t hash() const {
            return mix(static_cast<std::uint64_t>(production) << 32 | static_cast<std::uint32_t>(position),
                       static_cast<std::uint64_t>(child_production));
        }
        bool operator==(const Key &) const = default;
    };
    Id find_group(Key key) const {
        return groups_.find(key.hash(), [&](Id g) { return group_key_[g] == key; });
    }

    Targets targets_;
    Num lam_;
    bool limited_ = false;
    int levels_ = 1;
    std::vector<Id> local_; // production -> local production, none if no column has it
    Id locals_ = 0, widest_ = 0;
    std::vector<Id> bucket_;    // local production -> its columns
    std::vector<Id> column_;    // their nodes
    std::vector<Id> column_of_; // node -> column, none if it is none
    DensePostings productions_;
    Postings postings_;
    std::vector<First> first_;
    IdTable groups_;
    std::vector<Key> group_key_;
    std::vector<std::int64_t> group_start_;
    std::vector<ChildEntry> child_entry_;
    ScratchPool<Scratch> scratch_;
};

} // namespace treelet
