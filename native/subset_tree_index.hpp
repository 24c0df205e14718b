// The index of the subset-tree kernel over its columns: the targets' distinct subtrees that can
// have more than the constant value.
//
// A key is (production, position, child's production). Two subtrees share a child pair if they
// share a key. Most keys are in few columns; some are common, such as (NP -> NP PP, 1, PP -> IN
// NP). The shape of a subtree is the rest of it after its edges with other keys are cut. There are
// few shapes, and columns of one shape have the same value unless another key matches.
#pragma once
#include "key_numbers.hpp"
#include "matrix_rows.hpp"
#include "postings.hpp"

namespace treelet {

// Production numbers. With leaves, a word also has a production, numbered by its label; without, it
// has none.
struct Productions {
    const Store &store;
    bool leaves;

    Id of(Id node) const {
        const Id production = store.production(node);
        return !leaves ? production : production == none ? 2 * store.label(node) + 1 : 2 * production;
    }
    // Whether no child has a production.
    bool flat(Id node) const { return leaves ? store.production(node) == none : store.flat(node); }
    // All numbers are below this bound, in a store that contains its labels.
    std::size_t bound() const {
        return leaves ? 2 * std::max(store.production_count(), store.label_count()) : store.production_count();
    }
    auto by_node() const {
        return [*this](Id node, double weight, auto add) {
            if (const Id production = of(node); production != none) add(production, weight);
        };
    }
};

class SubsetTreeIndex {
  public:
    struct Kid {   // a child of a column
        Id key;    // none: a word
        Id column; // none: it cannot have corrections (another child with the same production may, since words can be named like
                   // nodes)
    };
    struct Edge { // an edge of a shape, or of a column
        Id rank;  // rank of the shape, or of the column, within its production
        Id child; // rank of the child's shape, or column of the child; none if there is none
    };

    // Columns are ordered by (production, id). `local` numbers the productions of columns from 0.
    template <class Local> void build(const NodeWeights &w, Productions productions, Id count, Local local) {
        const std::vector<Id> nodes = number_columns(w, productions, count, local);
        postings_.build(w.rows(), by_column(w, [](Id column) { return column; }), columns());
        first_.reserve(columns());
        for (std::size_t c = 0; c < columns(); ++c) first_.push_back({postings_, static_cast<Id>(c)});
        number_keys(productions);
        if (common_keys_ == 0) return;
        number_shapes(nodes, productions, local);
        list_edges();
        list_parents();
        shape_postings_.build(w.rows(), by_column(w, [&](Id column) { return shape_of_[column]; }), shape_node_.size());
    }

    // --- columns ----------------------------------------------------------------------------------------------------
    std::size_t columns() const { return column_.size(); }
    std::size_t nodes() const { return column_of_.size(); }
    Id column_of(Id node) const { return static_cast<std::size_t>(node) < column_of_.size() ? column_of_[node] : none; }
    Id first_column(Id p) const { return bucket_[p]; }
    // Returns the number of columns of production p whose node does not exceed the limit. At least
    // `known` of them do not.
    Id columns(Id p, Id limit, Id known) const {
        return reached(limit, column_.data() + bucket_[p], bucket_[p + 1] - bucket_[p], known);
    }
    Id most_columns() const { return widest(bucket_); }
    // Returns the children of a column of production p. Those of the next column follow.
    const Kid *kids(Id p, Id rank) const {
        return kid_.data() + kid_start_[p] + static_cast<std::int64_t>(rank) * static_cast<std::int64_t>(arity_of(p));
    }
    std::size_t arity_of(Id p) const { return static_cast<std::size_t>(slot_start_[p + 1] - slot_start_[p]); }
    template <class Num> void add(Id column, Num factor, std::size_t last, Num *sums) const {
        first_[column].add(postings_, column, factor, last, sums);
    }

    // --- keys -------------------------------------------------------------------------------------------------------
    // Finds the keys of a node of production p, one per child; none if no column has the key.
    void keys_of(Productions of, Id node, Id p, std::vector<Id> &keys) const {
        const std::size_t arity = of.store.arity(node);
        keys.resize(arity);
        if (const Id column = column_of(node); column != none) {
            const Kid *const kid = kids(p, column - bucket_[p]);
            for (std::size_t q = 0; q < arity; ++q) keys[q] = kid[q].key;
            return;
        }
        for (std::size_t q = 0; q < arity; ++q) keys[q] = find(p, q, of.of(of.store.children(node)[q]));
    }
    bool common(Id key) const { return common_[key] != none; }
    // Returns the columns with a key that is not common, ascending.
    std::span<const Edge> rare(Id key) const { return {rare_.data() + rare_start_[key], rare_.data() + rare_start_[key + 1]}; }

    // --- shapes -----------------------------------------------------------------------------------------------------
    std::size_t shapes() const { return shape_node_.size(); }
    Id shape_of(Id column) const { return shape_of_[column]; }
    Id first_shape(Id p) const { return shape_bucket_[p]; }
    Id all_shapes(Id p) const { return shape_bucket_[p + 1] - shape_bucket_[p]; }
    // As for columns; none if no column of production p has a common key.
    Id shapes(Id p, Id limit, Id known) const {
        return shape_bucket_.empty() ? 0 : reached(limit, shape_node_.data() + shape_bucket_[p], all_shapes(p), known);
    }
    // Returns the first shape of the same production.
    Id first_of(Id shape) const { return *(std::upper_bound(shape_bucket_.begin(), shape_bucket_.end(), shape) - 1); }
    Id most_shapes() const { return widest(shape_bucket_); }
    // Returns the shapes with a common key, ascending.
    std::span<const Edge> edges(Id key) const {
        return {edge_.data() + edge_start_[common_[key]], edge_.data() + edge_start_[common_[key] + 1]};
    }
    // Calls f(rank) for the columns whose child with this common key is `child`.
    template <class F> void each_parent(Id child, Id key, F f) const {
        const Parent *at = parent_.data() + parent_start_[child], *const end = parent_.data() + parent_start_[child + 1];
        if (end - at > 8) at = std::lower_bound(at, end, key, [](const Parent &parent, Id wanted) { return parent.key < wanted; });
        for (; at < end && at->key <= key; ++at)
            if (at->key == key) f(at->rank);
    }
    template <class Num> void add_shape(Id shape, Num factor, std::size_t last, Num *sums) const {
        shape_postings_.add(shape, factor, last, sums);
    }

    // Adds to the weight of the only target, which must contain the node.
    void grow(Id node, double more) {
        const Id column = column_of_[node];
        if (column == none) return;
        first_[column].weight += more;
        if (common_keys_ > 0 && shape_of_[column] != none) shape_postings_.grow(shape_of_[column], more);
    }

    // Estimates an upper bound for the memory of build, and the number of columns.
    static std::pair<Memory, std::size_t> estimate(const NodeWeights &w, Productions productions) {
        const Store &store = productions.store;
        std::vector<char> column(store.size(), 0);
        std::size_t columns = 0, entries = 0, edges = 0;
        for (Id node : w.node)
            if (!productions.flat(node)) {
                ++entries;
                if (!column[node]) ++columns, edges += store.arity(node);
                column[node] = 1;
            }
        Distinct keys(edges);
        Distinct slots(edges);
        for (Id v = 0; v < static_cast<Id>(store.size()); ++v)
            for (std::size_t q = 0, arity = column[v] ? store.arity(v) : 0; q < arity; ++q) {
                const std::array<Id, 3> key{productions.of(v), static_cast<Id>(q), productions.of(store.children(v)[q])};
                keys.add(KeyNumbers<3>::hash(key)), slots.add(KeyNumbers<2>::hash({key[0], key[1]}));
            }
        const std::size_t most = std::min(edges, keys.most()), positions = std::min(edges, slots.most());
        const Memory postings = Postings::estimate(columns, entries);
        Memory out{2 * postings.index, bytes_grown<Id>(2 * columns) + postings.working};
        out.index += (store.size() + 1) * sizeof(Id) + columns * (sizeof(FirstPosting) + 3 * sizeof(Id) + sizeof(std::int64_t));
        out.index += bytes_grown<Id>(most) + (most + 1) * (2 * sizeof(Id) + sizeof(std::int64_t));
        out.index += bytes_grown<Id>(positions) + (productions.bound() + 1) * (2 * sizeof(Id) + 2 * sizeof(std::int64_t));
        out.index += edges * (sizeof(Kid) + sizeof(Edge) + sizeof(Parent));
        if (productions.leaves) out.index += most * sizeof(std::int64_t);
        out.working += bytes_grown<Id>(productions.bound()) + bytes_grown<std::int64_t>(most) + IdTable::bytes_for(columns);
        return {out, columns};
    }
    template <class Self> static auto parts(Self &self) {
        return std::tie(self.column_of_, self.column_, self.bucket_, self.postings_, self.first_, self.kid_start_, self.slot_start_,
                        self.kid_, self.key_start_, self.key_production_, self.common_, self.common_keys_, self.rare_start_,
                        self.rare_, self.shape_of_, self.shape_bucket_, self.shape_node_, self.shape_postings_, self.edge_start_,
                        self.edge_, self.parent_start_, self.parent_);
    }
    bool consistent() const {
        const auto ends = [](const auto &start, const auto &column) {
            return column.size() == (start.empty() ? 0 : static_cast<std::size_t>(start.back()));
        };
        return ends(bucket_, column_) && first_.size() == column_.size() && ends(kid_start_, kid_) && ends(key_start_, common_) &&
               key_production_.size() == common_.size() && ends(rare_start_, rare_) && ends(shape_bucket_, shape_node_) &&
               ends(edge_start_, edge_) && ends(parent_start_, parent_);
    }

  private:
    struct Parent { // parent of a column that is a child with a common key
        Id key, rank;
    };
    // A key is common if at least this many columns, and this fraction of all columns, have it.
    static constexpr Id least_common = 64, common_part = 256;

    // Nodes are ascending, and limits usually are.
    static Id reached(Id limit, const Id *nodes, Id size, Id known) {
        if (size == 0 || nodes[size - 1] <= limit) return size;
        while (nodes[known] <= limit) ++known;
        return known;
    }
    static Id widest(const Column<Id> &start) {
        Id most = 0;
        for (std::size_t p = 1; p < start.size(); ++p) most = std::max(most, start[p] - start[p - 1]);
        return most;
    }
    // The content of the targets, by a number of each column.
    template <class Number> auto by_column(const NodeWeights &w, Number number) const {
        return by_node(w, [this, number](Id node, double weight, auto add) {
            if (column_of_[node] == none) return;
            if (const Id key = number(column_of_[node]); key != none) add(key, weight);
        });
    }

    // Numbers the columns and returns their nodes, ascending.
    template <class Local> std::vector<Id> number_columns(const NodeWeights &w, Productions productions, Id count, Local local) {
        const Store &store = productions.store;
        column_of_.assign(store.size(), none);
        std::vector<Id> nodes;
        for (Id node : w.node)
            if (column_of_[node] == none && !productions.flat(node)) column_of_[node] = 0, nodes.push_back(node);
        sort_marked(nodes, store.size(), [&](Id node) { return column_of_[node] != none; });
        bucket_.assign(static_cast<std::size_t>(count) + 1, 0);
        for (Id v : nodes) ++bucket_[(column_of_[v] = local(productions.of(v))) + 1];
        for (std::size_t p = 1; p < bucket_.size(); ++p) bucket_[p] += bucket_[p - 1];
        column_.resize(nodes.size());
        std::vector<Id> next(bucket_.begin(), bucket_.end() - 1);
        for (Id v : nodes) {
            const Id column = next[column_of_[v]]++;
            column_[column] = v, column_of_[v] = column;
        }
        return nodes;
    }

    void number_keys(Productions productions) {
        const Store &store = productions.store;
        const std::size_t count = bucket_.size() - 1;
        kid_start_.assign(count + 1, 0), slot_start_.assign(count + 1, 0);
        for (std::size_t p = 0; p < count; ++p) {
            const Id size = bucket_[p + 1] - bucket_[p];
            const auto arity = static_cast<std::int64_t>(size > 0 ? store.arity(column_[bucket_[p]]) : 0);
            kid_start_[p + 1] = kid_start_[p] + arity * size, slot_start_[p + 1] = slot_start_[p] + arity;
        }
        kid_.resize(static_cast<std::size_t>(kid_start_.back()));
        key_start_.assign(1, 0), key_start_.reserve(static_cast<std::size_t>(slot_start_.back()) + 1);
        std::vector<Id> number; // production -> its key at this production and position
        std::vector<std::int64_t> length;
        for (Id p = 0; p < static_cast<Id>(count); ++p)
            for (std::int64_t q = 0; q < slot_start_[p + 1] - slot_start_[p]; ++q)
                number_keys_at(productions, p, static_cast<std::size_t>(q), number, length);
        choose_common(length, productions.leaves);
        list_rare(length);
    }
    void number_keys_at(Productions productions, Id p, std::size_t q, std::vector<Id> &number, std::vector<std::int64_t> &length) {
        const Id size = bucket_[p + 1] - bucket_[p];
        const std::size_t arity = arity_of(p);
        Kid *const kids = kid_.data() + kid_start_[p] + q;
        const auto first = static_cast<Id>(key_production_.size());
        for (Id rank = 0; rank < size; ++rank) {
            const Id child = productions.store.children(column_[bucket_[p] + rank])[q], production = productions.of(child);
            kids[static_cast<std::size_t>(rank) * arity] = {production, column_of_[child]};
            if (production == none) continue;
            if (static_cast<std::size_t>(production) >= number.size())
                number.resize(static_cast<std::size_t>(production) + 1, none);
            if (number[production] < first) number[production] = first, key_production_.push_back(production);
        }
        std::sort(key_production_.begin() + first, key_production_.end()); // sorted, to be searched
        const auto end = static_cast<Id>(key_production_.size());
        for (Id key = first; key < end; ++key) number[key_production_[key]] = key;
        length.resize(static_cast<std::size_t>(end), 0);
        for (Id rank = 0; rank < size; ++rank)
            if (Kid &kid = kids[static_cast<std::size_t>(rank) * arity]; kid.key != none) ++length[kid.key = number[kid.key]];
        key_start_.push_back(end);
    }
    Id find(Id p, std::size_t q, Id production) const {
        if (production == none || bucket_[p] == bucket_[p + 1]) return none;
        const std::size_t slot = static_cast<std::size_t>(slot_start_[p]) + q;
        const Id *const all = key_production_.data(), *const end = all + key_start_[slot + 1];
        const Id *const at = std::lower_bound(all + key_start_[slot], end, production);
        return at < end && *at == production ? static_cast<Id>(at - all) : none;
    }
    // A word that all columns of a production have does not distinguish them, and is common as
    // well.
    void choose_common(std::vector<std::int64_t> &length, bool leaves) {
        const auto least = static_cast<std::int64_t>(std::max<std::size_t>(least_common, columns() / common_part));
        common_.assign(length.size(), none);
        for (Id p = 0; p + 1 < static_cast<Id>(bucket_.size()); ++p)
            for (Id key = key_start_[slot_start_[p]]; key < key_start_[slot_start_[p + 1]]; ++key)
                if (length[key] >= least || (leaves && key_production_[key] % 2 == 1 && length[key] == bucket_[p + 1] - bucket_[p]))
                    common_[key] = common_keys_++, length[key] = 0;
    }
    void list_rare(std::vector<std::int64_t> &length) {
        rare_start_.assign(length.size() + 1, 0);
        for (std::size_t key = 0; key < length.size(); ++key)
            rare_start_[key + 1] = rare_start_[key] + length[key], length[key] = rare_start_[key];
        rare_.resize(static_cast<std::size_t>(rare_start_.back()));
        each_kid([&](Id, Id rank, const Kid &kid) {
            if (kid.key != none && !common(kid.key)) rare_[length[kid.key]++] = {rank, kid.column};
        });
    }
    // Calls f(production, rank, kid) for all kids of columns, by production and position.
    template <class F> void each_kid(F f) const {
        for (Id p = 0; p + 1 < static_cast<Id>(bucket_.size()); ++p)
            for (std::size_t q = 0, arity = arity_of(p); q < arity; ++q)
                for (Id rank = 0; rank < bucket_[p + 1] - bucket_[p]; ++rank) f(p, rank, kids(p, rank)[q]);
    }

    // Bottom-up. The shapes of a production are ordered by their first column.
    template <class Local> void number_shapes(const std::vector<Id> &nodes, Productions productions, Local local) {
        const std::size_t count = bucket_.size() - 1;
        std::vector<char> shaped(count, 0);
        each_kid([&](Id p, Id, const Kid &kid) {
            if (kid.key != none && common(kid.key)) shaped[p] = 1;
        });
        shape_of_.assign(columns(), none);
        shape_bucket_.assign(count + 1, 0);
        IdTable table;
        std::vector<Id> first; // the first column of each shape, in the order of discovery
        std::vector<Id> production;
        for (Id v : nodes) {
            const Id p = local(productions.of(v)), column = column_of_[v];
            if (!shaped[p]) continue;
            const std::uint64_t hash = hash_shape(p, column);
            Id found = table.find(hash, [&](Id other) { return production[other] == p && same_shape(p, first[other], column); });
            if (found == none) {
                found = static_cast<Id>(first.size());
                first.push_back(column), production.push_back(p);
                table.insert(hash, found);
                shape_of_[column] = shape_bucket_[p + 1]++;
            } else
                shape_of_[column] = shape_of_[first[found]];
        }
        for (std::size_t p = 0; p < count; ++p) shape_bucket_[p + 1] += shape_bucket_[p];
        shape_node_.resize(first.size());
        for (std::size_t s = 0; s < first.size(); ++s)
            shape_node_[shape_bucket_[production[s]] + shape_of_[first[s]]] = column_[first[s]];
        for (std::size_t p = 0; p < count; ++p) // until here, shapes were numbered within their production
            for (Id c = bucket_[p]; c < bucket_[p + 1]; ++c)
                if (shape_of_[c] != none) shape_of_[c] += shape_bucket_[p];
    }
    Id shape_below(const Kid &kid) const { return kid.column == none ? none : shape_of_[kid.column]; }
    std::uint64_t hash_shape(Id p, Id column) const {
        auto hash = static_cast<std::uint64_t>(p);
        const Kid *const all = kids(p, column - bucket_[p]);
        for (std::size_t q = 0, arity = arity_of(p); q < arity; ++q)
            if (const Kid &kid = all[q]; kid.key != none && common(kid.key))
                hash = mix(hash, mix(static_cast<std::uint64_t>(kid.key), static_cast<std::uint64_t>(shape_below(kid))));
        return hash;
    }
    bool same_shape(Id p, Id a, Id b) const {
        const Kid *const mine = kids(p, a - bucket_[p]), *const others = kids(p, b - bucket_[p]);
        for (std::size_t q = 0, arity = arity_of(p); q < arity; ++q) {
            const Kid &x = mine[q], &y = others[q];
            const bool here = x.key != none && common(x.key), there = y.key != none && common(y.key);
            if (here != there || (here && (x.key != y.key || shape_below(x) != shape_below(y)))) return false;
        }
        return true;
    }

    void list_edges() {
        std::vector<std::int64_t> length(static_cast<std::size_t>(common_keys_) + 1, 0);
        for (int fill = 0; fill < 2; ++fill) {
            for (Id p = 0; p + 1 < static_cast<Id>(shape_bucket_.size()); ++p)
                for (Id s = shape_bucket_[p]; s < shape_bucket_[p + 1]; ++s)
                    for (std::size_t q = 0, arity = arity_of(p); q < arity; ++q) {
                        const Kid &kid = kids(p, column_of_[shape_node_[s]] - bucket_[p])[q];
                        if (kid.key == none || !common(kid.key)) continue;
                        const std::int64_t at = length[common_[kid.key]]++;
                        if (fill) edge_[at] = {s - shape_bucket_[p], rank_below(kid)};
                    }
            if (fill) break;
            edge_start_.assign(length.size(), 0);
            for (std::size_t k = 1; k < length.size(); ++k) edge_start_[k] = edge_start_[k - 1] + length[k - 1];
            length.assign(edge_start_.begin(), edge_start_.end());
            edge_.resize(static_cast<std::size_t>(edge_start_.back()));
        }
    }
    Id rank_below(const Kid &kid) const {
        const Id shape = shape_below(kid);
        if (shape == none) return none;
        return shape - first_of(shape);
    }

    void list_parents() {
        parent_start_.assign(columns() + 1, 0);
        const auto counts = [&](const Kid &kid) { return kid.column != none && common(kid.key); };
        each_kid([&](Id, Id, const Kid &kid) {
            if (counts(kid)) ++parent_start_[kid.column + 1];
        });
        for (std::size_t c = 0; c < columns(); ++c) parent_start_[c + 1] += parent_start_[c];
        parent_.resize(static_cast<std::size_t>(parent_start_.back()));
        std::vector<std::int64_t> next(parent_start_.begin(), parent_start_.end() - 1);
        each_kid([&](Id, Id rank, const Kid &kid) {
            if (counts(kid)) parent_[next[kid.column]++] = {kid.key, rank};
        });
    }

    Column<Id> column_of_; // node -> column, or none
    Column<Id> column_;    // column -> node
    Column<Id> bucket_;    // production -> its first column
    Postings postings_;    // per column
    Column<FirstPosting> first_;

    Column<std::int64_t> kid_start_, slot_start_; // production -> the kids of its columns, by position; and its positions
    Column<Kid> kid_;
    Column<Id> key_start_;      // production and position -> its keys
    Column<Id> key_production_; // key -> the child's production, ascending
    Column<Id> common_;         // key -> its number among the common keys, or none
    Id common_keys_ = 0;
    Column<std::int64_t> rare_start_; // key -> the columns that have it, if it is not common
    Column<Edge> rare_;

    Column<Id> shape_of_;     // column -> shape, none if its production has no common key
    Column<Id> shape_bucket_; // production -> its shapes
    Column<Id> shape_node_;   // shape -> the node of its first column
    Postings shape_postings_;
    Column<std::int64_t> edge_start_; // common key -> its edges
    Column<Edge> edge_;
    Column<std::int64_t> parent_start_; // column -> its parents by common keys
    Column<Parent> parent_;
};

} // namespace treelet
