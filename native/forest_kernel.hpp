// The forest kernel of Zhang, Zhang & Li (2010): expected subset trees in common, over a whole matrix at once.
//
// With p(e|v) the probability of an edge given its head and P(v) that of a node given the forest,
//   E(e1,e2) = lam * prod_j (1 + D(c1j, c2j))     if the edges have one production, else 0
//   D(v1,v2) = sum_{e1 of v1, e2 of v2} p(e1|v1) p(e2|v2) E(e1,e2)
//   K        = sum_{v1,v2} P(v1) P(v2) D(v1,v2)
// which is the paper's form with both sides divided by inside probabilities; nothing is divided by an outside one.
//
// As in subset_tree.hpp, E = lam where no children have a production in common: that part is a product of expected
// production counts, and only the other pairs of edges, found through an index on (production, position, child's
// production), are worked on.
#pragma once
#include "forest_store.hpp"
#include "matrix_rows.hpp"
#include "postings.hpp"
#include "pulse.hpp"
#include "scratch_pool.hpp"

namespace treelet {

template <class Num> class ForestColumns {
  public:
    ForestColumns(TargetsOf<ForestStore> targets, Num lam) : nodes_(*targets.store), lam_(lam), size_(targets.size()) {
        index_edges(targets.weights);
        index_children();
    }

    void rows(RowsOf<ForestStore> &rows, void (*check)()) {
        std::unique_ptr<Scratch> scratch = scratch_.take(rows.store->size());
        Pulse pulse(check);
        for (std::size_t row = rows.begin; row < rows.end; ++row) one(*rows.store, rows, row, *scratch, pulse);
        scratch_.give(std::move(scratch));
    }

    // More weight for some nodes of the only target.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i) {
            const bool flat = nodes_.flat(node[i]);
            for (std::int64_t e = nodes_.edge_start[node[i]]; e < nodes_.edge_start[node[i] + 1]; ++e) {
                const double more = scale * weight[i] * nodes_.p[e];
                productions_.grow(local_[nodes_.production[e]], more);
                if (!flat) postings_.grow(place_[e], more);
            }
        }
    }

    std::size_t bytes() const {
        return edge_node_.size() * (2 * sizeof(Id) + sizeof(double)) + entry_.size() * sizeof(Entry) + productions_.bytes() +
               postings_.bytes();
    }

  private:
    struct Entry { // a column edge with a child of the group's production
        Id rank;   // of the edge, among those of its production
        Id child;  // column of the child
        double p;  // of that production, given the child
    };
    struct Values { // D(u, v) without its constant part, for the columns v where it is not 0
        std::vector<Id> column;
        std::vector<Num> value;
    };
    struct Scratch {
        std::vector<Id> index; // node -> place in the row
        std::vector<Values> row;
        std::vector<Num> product, sum; // per rank
        std::vector<Num> child, own;   // per column
        std::vector<Id> touched, met, own_touched;
        std::vector<Num> sums;
        std::vector<std::pair<Id, double>> productions;
    };
    Id local(Id production) const { return static_cast<std::size_t>(production) < local_.size() ? local_[production] : none; }

    void index_edges(const NodeWeights &w) {
        local_.assign(nodes_.production_count(), none);
        column_of_.assign(nodes_.size(), none);
        for (Id v : w.node) column_of_[v] = 0;
        for (Id v = static_cast<Id>(nodes_.size()) - 1; v >= 0; --v) // with all that is below them
            if (column_of_[v] != none)
                for (std::int64_t k = nodes_.child_start[nodes_.edge_start[v]]; k < nodes_.child_start[nodes_.edge_start[v + 1]];
                     ++k)
                    column_of_[nodes_.child[k]] = 0;
        std::vector<Id> present;
        for (Id v = 0; v < static_cast<Id>(nodes_.size()); ++v) {
            if (column_of_[v] == none || nodes_.is_word(v)) continue;
            column_of_[v] = static_cast<Id>(present.size());
            present.push_back(v);
        }
        columns_ = present.size();
        bucket_.assign(1, 0);
        for (Id v : present)
            for (std::int64_t e = nodes_.edge_start[v]; e < nodes_.edge_start[v + 1]; ++e) {
                Id &number = local_[nodes_.production[e]];
                if (number == none) number = static_cast<Id>(bucket_.size() - 1), bucket_.push_back(0);
                ++bucket_[number + 1];
            }
        for (std::size_t k = 1; k < bucket_.size(); ++k) widest_ = std::max(widest_, bucket_[k]), bucket_[k] += bucket_[k - 1];
        const auto n = static_cast<std::size_t>(bucket_.back());
        edge_.resize(n), edge_node_.resize(n);
        std::vector<Id> next(bucket_.begin(), bucket_.end() - 1);
        std::vector<Id> place(nodes_.edges(), none);
        for (Id v : present)
            for (std::int64_t e = nodes_.edge_start[v]; e < nodes_.edge_start[v + 1]; ++e) {
                const Id at = next[local_[nodes_.production[e]]]++;
                edge_[at] = e, edge_node_[at] = v, place[e] = at;
            }
        const auto each_edge = [&](auto number) {
            return by_node(w, [&, number](Id v, double weight, auto add) {
                for (std::int64_t e = nodes_.edge_start[v]; e < nodes_.edge_start[v + 1]; ++e)
                    if (number(v, e) != none) add(number(v, e), weight * nodes_.p[e]);
            });
        };
        productions_.build(w.rows(), each_edge([&](Id, std::int64_t e) { return local_[nodes_.production[e]]; }));
        postings_.build(w.rows(), each_edge([&](Id v, std::int64_t e) { return nodes_.flat(v) ? none : place[e]; }), n);
        if (size_ == 1) place_ = std::move(place);
    }

    void index_children() {
        struct Member {
            Id production, rank, child;
            double p;
        };
        std::vector<Member> members;
        for (std::size_t p = 0; p + 1 < bucket_.size(); ++p) {
            const Id first = bucket_[p], last = bucket_[p + 1];
            const auto arity = static_cast<std::size_t>(nodes_.child_start[edge_[first] + 1] - nodes_.child_start[edge_[first]]);
            for (std::size_t q = 0; q < arity; ++q) {
                members.clear();
                for (Id at = first; at < last; ++at) {
                    const Id c = nodes_.child[nodes_.child_start[edge_[at]] + static_cast<std::int64_t>(q)];
                    // Edges of a node are ordered by production: those with one are summed up.
                    for (std::int64_t e = nodes_.edge_start[c]; e < nodes_.edge_start[c + 1]; ++e)
                        if (e > nodes_.edge_start[c] && nodes_.production[e] == nodes_.production[e - 1])
                            members.back().p += nodes_.p[e];
                        else
                            members.push_back({nodes_.production[e], at - first, column_of_[c], nodes_.p[e]});
                }
                std::stable_sort(members.begin(), members.end(),
                                 [](const Member &a, const Member &b) { return a.production < b.production; });
                for (std::size_t i = 0; i < members.size(); ++i) {
                    if (i == 0 || members[i].production != members[i - 1].production) {
                        const Key key{static_cast<Id>(p), static_cast<Id>(q), members[i].production};
                        groups_.insert(key.hash(), static_cast<Id>(group_key_.size()));
                        group_key_.push_back(key);
                        group_start_.push_back(static_cast<std::int64_t>(entry_.size()));
                    }
                    entry_.push_back({members[i].rank, members[i].child, members[i].p});
                }
            }
        }
        group_start_.push_back(static_cast<std::int64_t>(entry_.size()));
    }

    void one(const ForestStore &of, RowsOf<ForestStore> &rows, std::size_t row, Scratch &s, Pulse &pulse) {
        const NodeWeights &w = *rows.trees;
        const std::int64_t a = w.start[row], b = w.start[row + 1];
        const std::size_t last = rows.targets(row, size_);
        const Id limit = rows.node_limit(row);
        s.sums.assign(size_, Num(0));
        if (s.row.size() < static_cast<std::size_t>(b - a)) s.row.resize(static_cast<std::size_t>(b - a));
        s.product.resize(static_cast<std::size_t>(widest_), Num(0)), s.sum.resize(static_cast<std::size_t>(widest_), Num(0));
        s.child.resize(columns_, Num(0)), s.own.resize(columns_, Num(0));

        s.productions.clear();
        for (std::int64_t i = a; i < b; ++i) {
            const Id u = w.node[i];
            s.index[u] = static_cast<Id>(i - a);
            for (std::int64_t e = of.edge_start[u]; e < of.edge_start[u + 1]; ++e)
                if (const Id p = local(of.production[e]); p != none) s.productions.push_back({p, w.weight[i] * of.p[e]});
        }
        std::sort(s.productions.begin(), s.productions.end());
        for (std::size_t i = 0; i < s.productions.size();) {
            const Id p = s.productions[i].first;
            double count = 0;
            for (; i < s.productions.size() && s.productions[i].first == p; ++i) count += s.productions[i].second;
            pulse.add(productions_.length(p));
            productions_.add(p, lam_ * Num(count), last, s.sums.data());
        }
        for (std::int64_t i = a; i < b; ++i) {
            const Id u = w.node[i];
            Values &own = s.row[static_cast<std::size_t>(i - a)];
            own.column.clear(), own.value.clear();
            if (of.flat(u)) continue;
            s.own_touched.clear();
            for (std::int64_t e = of.edge_start[u]; e < of.edge_start[u + 1]; ++e)
                correct(of, e, of.p[e], w.weight[i], limit, last, s, pulse);
            for (Id c : s.own_touched) {
                own.column.push_back(c), own.value.push_back(s.own[c]);
                s.own[c] = Num(0);
            }
        }
        for (std::int64_t i = a; i < b; ++i) s.index[w.node[i]] = none;
        write_row(rows, row, s.sums.data(), last);
    }

    // The pairs of one edge of the row in which E is more than lam.
    void correct(const ForestStore &of, std::int64_t e, double p, double weight, Id limit, std::size_t last, Scratch &s,
                 Pulse &pulse) {
        const Id production = local(of.production[e]);
        if (production == none) return;
        const Id first = bucket_[production];
        const Id *const of_edge = edge_node_.data() + first;
        const Id size = bucket_[production + 1] - first;
        const Id ranks =
            of_edge[size - 1] <= limit ? size : static_cast<Id>(std::upper_bound(of_edge, of_edge + size, limit) - of_edge);
        s.touched.clear();
        const std::int64_t k0 = of.child_start[e], k1 = of.child_start[e + 1];
        for (std::int64_t k = k0; k < k1; ++k) {
            const Id c = of.child[k];
            if (of.is_word(c)) continue;
            const Values &known = s.row[s.index[c]];
            for (std::size_t t = 0; t < known.column.size(); ++t) s.child[known.column[t]] = known.value[t];
            s.met.clear();
            for (std::int64_t ce = of.edge_start[c]; ce < of.edge_start[c + 1];) {
                const Id child_production = of.production[ce];
                double q = 0;
                for (; ce < of.edge_start[c + 1] && of.production[ce] == child_production; ++ce) q += of.p[ce];
                const Id group = find_group({production, static_cast<Id>(k - k0), child_production});
                if (group == none) continue;
                const Num part = lam_ * Num(q);
                const Entry *x = entry_.data() + group_start_[group], *end = entry_.data() + group_start_[group + 1];
                pulse.add(static_cast<std::size_t>(end - x));
                for (; x < end && x->rank < ranks; ++x) {
                    Num &sum = s.sum[x->rank];
                    if (sum == 0) {
                        s.met.push_back(x->rank);
                        sum = Num(1) + s.child[x->child];
                    }
                    sum += part * Num(x->p);
                }
            }
            for (Id rank : s.met) {
                Num &product = s.product[rank];
                if (product == 0) {
                    s.touched.push_back(rank);
                    product = s.sum[rank];
                } else
                    product *= s.sum[rank];
                s.sum[rank] = Num(0);
            }
            for (Id column : known.column) s.child[column] = Num(0);
        }
        const Num edge_weight = lam_ * Num(weight * p), edge_p = lam_ * Num(p);
        for (Id rank : s.touched) {
            const Num more = s.product[rank] - Num(1);
            s.product[rank] = Num(0);
            const Id at = first + rank;
            postings_.add(at, edge_weight * more, last, s.sums.data());
            const Id column = column_of_[edge_node_[at]];
            Num &own = s.own[column];
            if (own == 0) s.own_touched.push_back(column);
            own += edge_p * more * Num(nodes_.p[edge_[at]]);
        }
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

    const ForestStore &nodes_;
    Num lam_;
    std::size_t size_, columns_ = 0;
    Id widest_ = 0;
    std::vector<Id> local_;     // production -> number among the columns', none if no column has it
    std::vector<Id> column_of_; // node -> column
    std::vector<Id> bucket_;    // production -> its column edges, by ascending node
    std::vector<std::int64_t> edge_;
    std::vector<Id> edge_node_;
    std::vector<Id> place_; // edge -> its column edge, where there is one target, which may grow
    DensePostings productions_;
    Postings postings_;
    IdTable groups_;
    std::vector<Key> group_key_;
    std::vector<std::int64_t> group_start_;
    std::vector<Entry> entry_;
    ScratchPool<Scratch> scratch_;
};

} // namespace treelet
