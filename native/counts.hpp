// Which distinct subtrees a tree holds and how often: the sparse matrix F of tree x subtree counts.
// Also the two things every Gram algorithm shares: blocks of row trees, and the matrix it writes into.
#pragma once
#include "dual.hpp"
#include "scaled.hpp"
#include "simd.hpp"
#include "store.hpp"
#include <algorithm>
#include <memory>
#include <mutex>

namespace treelet {

// Row t: nodes[start[t] .. start[t+1]), ascending, with their weights (counts, or a model's coefficients).
struct NodeWeights {
    std::vector<std::int64_t> start{0};
    std::vector<Id> node;
    std::vector<double> weight;
    std::size_t rows() const { return start.size() - 1; }

    // The given rows, in the given order.
    NodeWeights take(const std::int64_t *order, std::size_t n) const {
        NodeWeights out;
        for (std::size_t i = 0; i < n; ++i) {
            out.node.insert(out.node.end(), node.begin() + start[order[i]], node.begin() + start[order[i] + 1]);
            out.weight.insert(out.weight.end(), weight.begin() + start[order[i]], weight.begin() + start[order[i] + 1]);
            out.start.push_back(static_cast<std::int64_t>(out.node.size()));
        }
        return out;
    }
};

// O(distinct subtrees log) a tree, however many nodes the tree has when written out.
inline NodeWeights count_nodes(const Store &store, const Id *roots, std::size_t n) {
    NodeWeights out;
    std::vector<char> seen(store.size(), 0);
    std::vector<double> count(store.size(), 0);
    std::vector<Id> found;
    for (std::size_t t = 0; t < n; ++t) {
        if (roots[t] == none) { // a missing tree holds nothing
            out.start.push_back(static_cast<std::int64_t>(out.node.size()));
            continue;
        }
        found.assign(1, roots[t]);
        seen[roots[t]] = 1;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Id *kids = store.children(found[i]);
            const std::size_t arity = store.arity(found[i]);
            for (std::size_t k = 0; k < arity; ++k)
                if (!seen[kids[k]]) seen[kids[k]] = 1, found.push_back(kids[k]);
        }
        std::sort(found.begin(), found.end());
        count[roots[t]] = 1;
        for (std::size_t i = found.size(); i-- > 0;) {
            const Id *kids = store.children(found[i]);
            const std::size_t arity = store.arity(found[i]);
            for (std::size_t k = 0; k < arity; ++k) count[kids[k]] += count[found[i]];
        }
        for (Id node : found) {
            if (!(count[node] < 0x1p1000))
                throw std::length_error("tree " + std::to_string(t) + " has more nodes than a double can count");
            out.node.push_back(node);
            out.weight.push_back(count[node]);
            seen[node] = 0;
            count[node] = 0;
        }
        out.start.push_back(static_cast<std::int64_t>(out.node.size()));
    }
    return out;
}

// Row `row` of `trees` alone, in a store of its own with small ids in the same order: what a self-value needs.
// Labels keep their numbers. `scratch` is all none before and after.
inline void isolate(const Store &store, const NodeWeights &trees, std::size_t row, std::vector<Id> &scratch, Store &small,
                    NodeWeights &weights) {
    scratch.resize(store.size(), none);
    std::vector<Id> kids;
    for (std::int64_t i = trees.start[row]; i < trees.start[row + 1]; ++i) {
        const Id node = trees.node[i];
        kids.clear();
        for (std::size_t k = 0; k < store.arity(node); ++k) kids.push_back(scratch[store.children(node)[k]]);
        scratch[node] = small.add_node(store.label(node), kids.data(), kids.size());
        weights.node.push_back(scratch[node]);
        weights.weight.push_back(trees.weight[i]);
    }
    weights.start.push_back(static_cast<std::int64_t>(weights.node.size()));
    for (std::int64_t i = trees.start[row]; i < trees.start[row + 1]; ++i) scratch[trees.node[i]] = none;
}

// Consecutive row trees that are worked on together, because they share most of their subtrees (n-best lists).
struct RowBlock {
    struct Occurrence {
        Id row; // within the block
        double count;
    };
    std::size_t first_row = 0, rows = 0;
    std::vector<Id> node;            // distinct, ascending
    std::vector<std::int64_t> start; // occurrences of node[i]: start[i] .. start[i+1]
    std::vector<Occurrence> occurrence;
    std::vector<Id> uses; // edges into node[i] from within the block

    static constexpr std::size_t max_rows = 32;

    // Takes row `first` and as many of the following (before `end`) as share more than half of their subtrees with it.
    // `index` maps a node to its place in the block, or none; it is all none before and filled after.
    void build(const Store &store, const NodeWeights &trees, std::size_t first, std::size_t end, std::vector<Id> &index) {
        first_row = first;
        rows = 0;
        entries_.clear();
        for (std::size_t row = first; row < end && rows < max_rows; ++row) {
            std::int64_t shared = 0;
            const std::int64_t a = trees.start[row], b = trees.start[row + 1];
            for (std::int64_t i = a; i < b; ++i) shared += index[trees.node[i]] != none;
            if (rows > 0 && 2 * shared <= b - a) break;
            for (std::int64_t i = a; i < b; ++i) {
                index[trees.node[i]] = 0;
                entries_.push_back({trees.node[i], {static_cast<Id>(rows), trees.weight[i]}});
            }
            ++rows;
        }
        if (rows > 1)
            std::stable_sort(entries_.begin(), entries_.end(), [](const Entry &x, const Entry &y) { return x.node < y.node; });
        node.clear(), start.clear(), occurrence.clear();
        for (const Entry &entry : entries_) {
            if (node.empty() || node.back() != entry.node) {
                index[entry.node] = static_cast<Id>(node.size());
                node.push_back(entry.node);
                start.push_back(static_cast<std::int64_t>(occurrence.size()));
            }
            occurrence.push_back(entry.occurrence);
        }
        start.push_back(static_cast<std::int64_t>(occurrence.size()));
        uses.assign(node.size(), 0);
        for (Id u : node)
            for (std::size_t k = 0; k < store.arity(u); ++k) {
                const Id child = index[store.children(u)[k]];
                if (child == none) throw std::invalid_argument("a row lacks a child of one of its nodes");
                ++uses[child];
            }
    }
    void forget(std::vector<Id> &index) const {
        for (Id u : node) index[u] = none;
    }

  private:
    struct Entry {
        Id node;
        Occurrence occurrence;
    };
    std::vector<Entry> entries_;
};

// Columns of a Gram matrix: weighted sums of subtrees. For trees the weights are counts.
struct Targets {
    const Store *store = nullptr;
    NodeWeights weights;
    std::size_t size() const { return weights.rows(); }
};

// The rows asked for: trees of `store`, which is the targets' store or one grown from it.
// By halves: row r is compared with targets 0..r only, whose subtrees all have ids <= limit[r].
struct Rows {
    const Store *store;
    const NodeWeights *trees;
    const Id *limit; // null: all targets
    std::size_t begin, end;
    double *out; // row `begin` of the matrix
    std::int64_t stride;
    double *gradient[2] = {nullptr, nullptr};                 // likewise, of the matrices of derivatives
    std::int64_t overflow_row = none, overflow_column = none; // the first value that did not fit a double

    std::size_t targets(std::size_t row, std::size_t all) const { return limit ? row + 1 : all; }
    Id node_limit(std::size_t row) const { return limit ? limit[row] : std::numeric_limits<Id>::max(); }
};

// Writes a finished row: the sums of the first `m` targets.
template <class Num> void write_row(Rows &rows, std::size_t row, const Num *sums, std::size_t m) {
    double *out = rows.out + static_cast<std::int64_t>(row - rows.begin) * rows.stride;
    bool fits = true;
    for (std::size_t j = 0; j < m; ++j) {
        out[j] = output(sums[j]);
        fits = fits && std::fabs(out[j]) <= std::numeric_limits<double>::max(); // false for NaN too
    }
    for (int k = 0; k < 2; ++k)
        if (rows.gradient[k])
            for (std::size_t j = 0; j < m; ++j)
                rows.gradient[k][static_cast<std::int64_t>(row - rows.begin) * rows.stride + static_cast<std::int64_t>(j)] =
                    derivative(sums[j], k);
    if (fits || rows.overflow_row != none) return;
    rows.overflow_row = static_cast<std::int64_t>(row);
    rows.overflow_column =
        std::find_if(out, out + m, [](double x) { return !(std::fabs(x) <= std::numeric_limits<double>::max()); }) - out;
}

// Called now and then from long loops, so that a user can interrupt them.
class Pulse {
  public:
    explicit Pulse(void (*check)()) : check_(check) {}
    void add(std::size_t work) {
        work_ += work;
        if (work_ > (std::size_t{1} << 26)) {
            work_ = 0;
            check_();
        }
    }

  private:
    void (*check_)();
    std::size_t work_ = 0;
};

// Working memory that threads take and give back, so that strips of one matrix do not allocate it anew.
// What an exception interrupted is not given back: its state is unknown.
template <class Scratch> class ScratchPool {
  public:
    std::unique_ptr<Scratch> take(std::size_t store_size) {
        std::unique_ptr<Scratch> scratch;
        {
            std::lock_guard lock(mutex_);
            if (!spare_.empty()) scratch = std::move(spare_.back()), spare_.pop_back();
        }
        if (!scratch) scratch = std::make_unique<Scratch>();
        if (scratch->index.size() < store_size) scratch->index.resize(store_size, none);
        return scratch;
    }
    void give(std::unique_ptr<Scratch> scratch) {
        std::lock_guard lock(mutex_);
        spare_.push_back(std::move(scratch));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> spare_;
};

// Postings: for each key, the targets that hold it (ascending) with a weight.
struct Postings {
    std::vector<std::int64_t> start;
    std::vector<Id> target;
    std::vector<double> weight;

    // `triples` come in ascending target order.
    struct Triple {
        Id key, target;
        double weight;
    };
    void build(const std::vector<Triple> &triples, std::size_t keys) {
        start.assign(keys + 1, 0);
        for (const Triple &t : triples) ++start[static_cast<std::size_t>(t.key) + 1];
        for (std::size_t k = 0; k < keys; ++k) start[k + 1] += start[k];
        target.resize(triples.size()), weight.resize(triples.size());
        std::vector<std::int64_t> next(start.begin(), start.end() - 1);
        for (const Triple &t : triples) {
            const auto at = static_cast<std::size_t>(next[t.key]++);
            target[at] = t.target, weight[at] = t.weight;
        }
    }
    std::size_t bytes() const { return target.size() * 12 + start.size() * 8; }

    // More weight for the only target of a key.
    void grow(Id key, double more) { weight[start[key]] += more; }

    // sums[target] += factor * weight for the key's targets below `last`.
    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        const std::int64_t end = start[static_cast<std::size_t>(key) + 1];
        for (std::int64_t k = start[key]; k < end && static_cast<std::size_t>(target[k]) < last; ++k)
            sums[target[k]] += factor * Num(weight[k]);
    }
};

// Postings whose keys may be in most targets: those are kept as plain vectors, which add several times faster.
class DensePostings {
  public:
    void build(const std::vector<Postings::Triple> &triples, std::size_t keys, std::size_t targets) {
        sparse_.build(triples, keys);
        dense_.assign(keys, none);
        for (std::size_t key = 0; key < keys; ++key) {
            const std::int64_t begin = sparse_.start[key], end = sparse_.start[key + 1];
            if (static_cast<std::size_t>(end - begin) * 5 < targets || values_.size() > max_cells) continue;
            dense_[key] = static_cast<Id>(values_.size() / targets);
            values_.resize(values_.size() + targets, 0);
            double *row = values_.data() + static_cast<std::size_t>(dense_[key]) * targets;
            for (std::int64_t k = begin; k < end; ++k) row[sparse_.target[k]] = sparse_.weight[k];
        }
        targets_ = targets;
    }
    std::size_t bytes() const { return sparse_.bytes() + values_.size() * 8; }

    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        if (dense_[key] == none) return sparse_.add(key, factor, last, sums);
        const double *row = values_.data() + static_cast<std::size_t>(dense_[key]) * targets_;
        if constexpr (std::is_same_v<Num, double>)
            add_scaled(sums, factor, row, last);
        else
            for (std::size_t j = 0; j < last; ++j) sums[j] += factor * Num(row[j]);
    }
    void grow(Id key, double more) {
        sparse_.grow(key, more);
        if (dense_[key] != none) values_[static_cast<std::size_t>(dense_[key]) * targets_] += more;
    }
    std::size_t length(Id key) const {
        return static_cast<std::size_t>(sparse_.start[static_cast<std::size_t>(key) + 1] - sparse_.start[key]);
    }

  private:
    static constexpr std::size_t max_cells = std::size_t{1} << 23;
    Postings sparse_;
    std::vector<Id> dense_;
    std::vector<double> values_;
    std::size_t targets_ = 0;
};

struct IdPair {
    Id first, second;
    bool operator==(const IdPair &) const = default;
};
class PairNumbers { // numbers pairs as they come
  public:
    Id add(IdPair pair) {
        Id number = find(pair);
        if (number == none) {
            number = static_cast<Id>(pairs_.size());
            pairs_.push_back(pair);
            table_.insert(hash(pair), number);
        }
        return number;
    }
    Id find(IdPair pair) const {
        return table_.find(hash(pair), [&](Id number) { return pairs_[number] == pair; });
    }
    std::size_t size() const { return pairs_.size(); }

  private:
    static std::uint64_t hash(IdPair pair) {
        return mix(static_cast<std::uint64_t>(pair.first), static_cast<std::uint64_t>(pair.second));
    }
    IdTable table_;
    std::vector<IdPair> pairs_;
};

// Calls f(key, sum of weights) for every key.
template <class F> void each_total(std::vector<std::pair<Id, double>> &seen, F f) {
    std::sort(seen.begin(), seen.end());
    for (std::size_t i = 0; i < seen.size();) {
        const Id key = seen[i].first;
        double total = 0;
        for (; i < seen.size() && seen[i].first == key; ++i) total += seen[i].second;
        f(key, total);
    }
}

struct Tally { // sums weights by key, one target at a time
    std::vector<Postings::Triple> triples;
    std::vector<std::pair<Id, double>> seen;
    void add(Id key, double weight) { seen.push_back({key, weight}); }
    void next(Id target) {
        each_total(seen, [&](Id key, double total) { triples.push_back({key, target, total}); });
        seen.clear();
    }
};

} // namespace treelet
