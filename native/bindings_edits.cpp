// Bindings of the tree edit distance.
#include "bindings_arrays.hpp"
#include "edit_columns.hpp"
#include "edit_mapping.hpp"

namespace treelet::python {

namespace {

using CostsPtr = std::shared_ptr<const EditCosts>;
using CostMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<double> checked_costs(const DoubleArray &costs) {
    for (std::size_t i = 0; i < costs.shape(0); ++i)
        if (!(costs.data()[i] >= 0) || !std::isfinite(costs.data()[i])) refuse("costs must be finite and not negative");
    return {costs.data(), costs.data() + costs.shape(0)};
}

EditCosts make_costs(double insert, double remove, double rename, DoubleArray inserts, DoubleArray removes, IdArray row,
                     IdArray column, CostMatrix renames) {
    EditCosts costs;
    costs.insert = insert, costs.remove = remove, costs.rename = rename;
    costs.inserts = checked_costs(inserts), costs.removes = checked_costs(removes);
    double least_rename = rename;
    const std::size_t rows = renames.shape(0), columns = renames.shape(1);
    if (rows * columns > 0) {
        if (row.shape(0) != column.shape(0)) refuse("row and column must have the same length");
        check_ids(row, rows, "row", none);
        check_ids(column, columns, "column", none);
        costs.row.assign(row.data(), row.data() + row.shape(0));
        costs.column.assign(column.data(), column.data() + column.shape(0));
        costs.renames.assign(renames.data(), renames.data() + rows * columns);
        costs.columns = columns;
        std::vector<Id> label_of(columns, none);
        for (std::size_t l = 0; l < costs.column.size(); ++l)
            if (costs.column[l] != none) label_of[costs.column[l]] = static_cast<Id>(l);
        for (std::size_t l = 0; l < costs.row.size(); ++l) {
            if (costs.row[l] == none) continue;
            for (std::size_t c = 0; c < columns; ++c) {
                const double cost = costs.renames[static_cast<std::size_t>(costs.row[l]) * columns + c];
                if (!(cost >= 0) || !std::isfinite(cost)) refuse("costs must be finite and not negative");
                if (label_of[c] != static_cast<Id>(l)) least_rename = std::min(least_rename, cost);
            }
        }
    }
    const auto least_of = [](const std::vector<double> &all, double otherwise) {
        return all.empty() ? otherwise : *std::min_element(all.begin(), all.end());
    };
    costs.least_gap = std::min(least_of(costs.inserts, insert), least_of(costs.removes, remove));
    costs.least_change = std::min(2 * costs.least_gap, least_rename);
    costs.least = std::min(costs.least_gap, least_rename);
    return costs;
}

void check_labels(const Store &store, const EditCosts &costs) {
    for (const std::size_t known : {costs.inserts.size(), costs.removes.size(), costs.row.size()})
        if (known && known < store.label_count()) refuse("the costs do not cover all labels of the store");
}

// Calls f with the type of gains that suits the costs.
template <class F> auto with_gains(const EditCosts &costs, F f) {
    return costs.integral() ? f(std::type_identity<EqualGains>()) : f(std::type_identity<LabelGains>());
}

class SharedEditColumns {
  public:
    SharedEditColumns(std::shared_ptr<const Store> store, IdArray roots, CostsPtr costs, bool searched)
        : store_(std::move(store)), columns_(make(*store_, roots, std::move(costs), searched)) {}

    // Views the arrays of other columns over the same store with the same costs.
    static SharedEditColumns *from_arrays(std::shared_ptr<const Store> store, const ArrayList &arrays, CostsPtr costs) {
        check_labels(*store, *costs);
        std::unique_ptr<SharedEditColumns> out(new SharedEditColumns(std::move(store), EditColumns(std::move(costs))));
        ArrayReader reader(arrays);
        reader.read(out->columns_);
        check_consistent(out->columns_);
        out->memory_ = reader.memory();
        return out.release();
    }
    ArrayList arrays(nb::handle self) const { return arrays_of(self, columns_); }

    // Returns the rows and columns of the pairs that are too large.
    std::vector<std::pair<std::int64_t, std::int64_t>> rows(const Store &store, IdArray roots, bool halves, std::size_t begin,
                                                            std::size_t end, Matrix out, bool similarity, double threshold,
                                                            std::int64_t best, double memory, double free_bytes, bool skips) {
        if (begin > end || end > roots.shape(0)) refuse("rows out of range");
        if (out.shape(0) < end - begin || out.shape(1) < (halves ? end : columns_.size())) refuse("out is too small");
        if (halves && roots.shape(0) > columns_.size()) refuse("there are more rows than columns");
        const EditSearch search{similarity, threshold, best};
        if (!columns_.searched() && (best > 0 || std::isfinite(threshold))) refuse("the columns were not prepared for a search");
        check_ids(roots, store.size(), "root", none);
        check_place(out);
        check_labels(store, columns_.costs());
        std::vector<std::pair<std::int64_t, std::int64_t>> refused;
        WithoutGil free;
        // The tables of other threads are not free, but will be.
        const double within = free_bytes + tables_.used();
        const EditLimits limits{memory, skips ? std::min(memory, within) : within, skips};
        with_gains(columns_.costs(), [&]<class Gains>(std::type_identity<Gains>) {
            EditColumns::Rows<Gains> rows(columns_, store, search, limits, tables_, check_signals);
            for (std::size_t r = begin; r < end; ++r) {
                if (rows.row(roots.data()[r], halves ? r + 1 : columns_.size(),
                             out.data() + static_cast<std::int64_t>(r - begin) * out.stride(0)))
                    continue;
                for (Id column : rows.refused) refused.emplace_back(r, column);
                if (!skips) break;
            }
            std::lock_guard lock(mutex_);
            counts_.add(rows.counts);
        });
        return refused;
    }
    EditCounts counts() const { return counts_; }

  private:
    SharedEditColumns(std::shared_ptr<const Store> store, EditColumns columns)
        : store_(std::move(store)), columns_(std::move(columns)) {}
    static EditColumns make(const Store &store, IdArray roots, CostsPtr costs, bool searched) {
        check_ids(roots, store.size(), "root", none);
        check_labels(store, *costs);
        std::vector<Id> all(roots.data(), roots.data() + roots.shape(0));
        WithoutGil free;
        return EditColumns(store, std::move(all), std::move(costs), searched);
    }

    std::shared_ptr<const Store> store_;
    std::shared_ptr<const void> memory_; // keeps the arrays alive that the columns view
    EditColumns columns_;
    EditMemory tables_;
    std::mutex mutex_;
    EditCounts counts_;
};

// The mapped pairs of an optimal mapping of two trees, as positions in pre-order, by ascending
// position in the first tree.
std::pair<std::vector<Id>, std::vector<Id>> mapping(const Store &store, Id a, Id b, const EditCosts &costs) {
    for (Id root : {a, b})
        if (root < 0 || static_cast<std::size_t>(root) >= store.size()) refuse("root out of range");
    check_labels(store, costs);
    WithoutGil free;
    TreeSizer sizer(store);
    const TreeSize size_a = sizer(a), size_b = sizer(b);
    const bool mirrored = size_a.right * size_b.right < size_a.left * size_b.left;
    FlatTree first, second;
    first.build(store, a, static_cast<std::size_t>(size_a.nodes), mirrored);
    second.build(store, b, static_cast<std::size_t>(size_b.nodes), mirrored);
    Pulse pulse;
    auto pairs = with_gains(costs, [&]<class Gains>(std::type_identity<Gains>) {
        EditTable<Gains> table;
        table.fill(store, first, second, costs, -1, pulse);
        return edit_mapping(table, first, second, costs, pulse);
    });
    const std::vector<Id> pre_a = first.preorder(), pre_b = second.preorder();
    for (auto &[i, j] : pairs) i = pre_a[i], j = pre_b[j];
    std::sort(pairs.begin(), pairs.end());
    std::pair<std::vector<Id>, std::vector<Id>> out;
    for (const auto &[i, j] : pairs) out.first.push_back(i), out.second.push_back(j);
    return out;
}

} // namespace

void bind_edits(nb::module_ &m) {
    nb::class_<EditCosts>(m, "EditCosts", "Costs of edit operations on nodes.")
        .def_static("of", &make_costs, "insert"_a, "remove"_a, "rename"_a, "inserts"_a, "removes"_a, "row"_a, "column"_a,
                    "renames"_a)
        .def_prop_ro("integral", &EditCosts::integral, "Whether all costs are integers that do not depend on labels.");
    nb::class_<SharedEditColumns>(m, "EditColumns", "Columns of a matrix of tree edit distances.")
        .def(nb::init<std::shared_ptr<const Store>, IdArray, CostsPtr, bool>(), "store"_a, "roots"_a, "costs"_a, "searched"_a)
        .def("rows", &SharedEditColumns::rows, "store"_a, "roots"_a, "halves"_a, "begin"_a, "end"_a, "out"_a, "similarity"_a,
             "threshold"_a, "best"_a, "memory"_a = std::numeric_limits<double>::infinity(),
             "free"_a = std::numeric_limits<double>::infinity(), "skips"_a = false)
        .def(
            "arrays", [](nb::pointer_and_handle<SharedEditColumns> self) { return self.p->arrays(self.h); }, as_arrays)
        .def_static("from_arrays", &SharedEditColumns::from_arrays, "store"_a, "arrays"_a, "costs"_a, views_arrays)
        .def_prop_ro(
            "counts",
            [](const SharedEditColumns &self) {
                const EditCounts c = self.counts();
                return std::make_tuple(c.pairs, c.size, c.labels, c.strings, c.matches);
            },
            "How many pairs there were, how many each filter left over, and how many matched.");
    m.def(
        "tree_sizes",
        [](const Store &store, IdArray roots) {
            check_ids(roots, store.size(), "root", none);
            std::vector<double> nodes, left, right;
            {
                WithoutGil free;
                TreeSizer sizer(store);
                std::vector<TreeSize> all; // as soon as one by one would visit more nodes than there are
                for (std::size_t i = 0, visited = 0; i < roots.shape(0); ++i) {
                    const Id root = roots.data()[i];
                    const TreeSize size = all.empty() || root == none ? sizer(root) : all[static_cast<std::size_t>(root)];
                    if (all.empty() && (visited += sizer.visited()) > store.size()) all = sizer.all();
                    nodes.push_back(size.nodes), left.push_back(size.left), right.push_back(size.right);
                }
            }
            return std::make_tuple(to_numpy(std::move(nodes)), to_numpy(std::move(left)), to_numpy(std::move(right)));
        },
        "store"_a, "roots"_a,
        "Number of nodes of each tree, and sums of the sizes of the keyroot subtrees from the left and from the right.");
    m.def(
        "edit_mapping",
        [](const Store &store, Id a, Id b, const EditCosts &costs) {
            auto [from, to] = mapping(store, a, b, costs);
            return std::make_pair(to_numpy(std::move(from)), to_numpy(std::move(to)));
        },
        "store"_a, "a"_a, "b"_a, "costs"_a, "The mapped pairs of an optimal mapping, as positions in pre-order.");
}

} // namespace treelet::python
