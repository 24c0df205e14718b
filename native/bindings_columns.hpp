// A Gram algorithm over hash-consed chains or trees as a Python class. Shared by several bindings.
#pragma once
#include "bindings_arrays.hpp"
#include "matrix_rows.hpp"

namespace treelet::python {

// Converts real parameter number `which` of a kernel to the number type of the algorithm. Other
// parameters stay as they are.
template <class Num> Num as_parameter(double value, int which) {
    if constexpr (std::is_same_v<Num, Dual>)
        return Dual::parameter(value, which);
    else
        return Num(value);
}

// Parameters of a kernel in the form that an algorithm needs; specialized next to its binding.
template <template <class> class Algorithm> struct ParametersOf;

// The type of store that an algorithm works on.
template <template <class> class Algorithm> struct StoreOf {
    using type = Store;
};

// One kernel with two number types: doubles, or scaled logarithms for values that do not fit
// doubles.
template <template <class> class Algorithm> class Columns {
  public:
    using Store = typename StoreOf<Algorithm>::type;
    using StorePtr = std::shared_ptr<const Store>;
    using Targets = TargetsOf<Store>;
    using Rows = RowsOf<Store>;

    template <class... Parameters> Columns(StorePtr store, const NodeWeights &weights, bool scaled, Parameters... parameters)
        : store_(std::move(store)), size_(weights.rows()) {
        for (Id node : weights.node)
            if (static_cast<std::size_t>(node) >= store_->size()) refuse("weights do not belong to this store");
        WithoutGil free;
        if (size_ == 1) {
            held_.assign(store_->size(), 0);
            for (Id node : weights.node) held_[node] = 1;
        }
        if (scaled)
            scaled_ = make<Scaled>(Targets{store_.get(), weights}, parameters...);
        else
            plain_ = make<double>(Targets{store_.get(), weights}, parameters...);
    }

    // Views the arrays of other columns in plain numbers, over the same store with the same parameters.
    template <class... Parameters> static Columns *from_arrays(StorePtr store, const ArrayList &arrays, Parameters... parameters) {
        std::unique_ptr<Columns> out(new Columns(std::move(store)));
        ArrayReader reader(arrays);
        out->plain_ = make<double>(*out->store_, parameters...);
        reader.read(*out->plain_);
        check_consistent(*out->plain_);
        if (!out->plain_->consistent(*out->store_)) refuse("The arrays belong to another store.");
        out->memory_ = reader.memory(), out->size_ = out->plain_->size();
        return out.release();
    }
    ArrayList arrays(nb::handle self) const {
        if (!plain_) refuse("Columns in scaled numbers have no arrays.");
        return arrays_of(self, *plain_);
    }

    // Fills `out` with doubles or floats. Returns the first (row, column) whose value does not fit,
    // or None. Raises an error if the values that nodes store for their parents exceed `most_stored` bytes. With `limit` (one per
    // row, ascending), each row gets only columns 0..row.
    template <class Number>
    std::optional<std::pair<std::int64_t, std::int64_t>> rows(StorePtr store, const NodeWeights &trees,
                                                              std::optional<IdArray> limit, std::size_t begin, std::size_t end,
                                                              MatrixOf<Number> out, std::optional<std::size_t> most_stored) {
        if (begin > end || end > trees.rows()) refuse("rows out of range");
        const std::size_t columns = limit ? end : size_;
        if (out.shape(0) != end - begin || out.shape(1) != columns || columns > size_) refuse("out has the wrong shape");
        check_place(out);
        if (limit && (limit->shape(0) != trees.rows() || !std::is_sorted(limit->data(), limit->data() + limit->shape(0))))
            refuse("limit must be ascending, with one value per row");
        for (std::int64_t i = trees.start[begin]; i < trees.start[end]; ++i)
            if (static_cast<std::size_t>(trees.node[i]) >= store->size()) refuse("trees do not belong to this store");
        Rows rows{store.get(), &trees, limit ? limit->data() : nullptr, begin, end, nullptr, out.stride(0)};
        if (most_stored) rows.most_stored = *most_stored;
        const Reading reading(readers_);
        if constexpr (std::is_same_v<Number, double>)
            rows.out = out.data();
        else
            rows.small = out.data();
        {
            WithoutGil free;
            if (plain_)
                plain_->rows(rows, check_signals);
            else
                scaled_->rows(rows, check_signals);
        }
        if (rows.overflow_row == none) return std::nullopt;
        return std::make_pair(rows.overflow_row, rows.overflow_column);
    }

    // Adds scale times a row of `trees` to the weights of the only target. No other thread may
    // compute rows meanwhile.
    void add(const NodeWeights &trees, std::size_t row, double scale) {
        if (readers_ > 0) refuse("these columns are in use by another thread, so they cannot grow now.");
        if (memory_) refuse("columns that view arrays cannot grow");
        if (!plain_ || size_ != 1) refuse("only a single target in plain numbers can grow");
        if (row >= trees.rows()) refuse("row out of range");
        const auto first = static_cast<std::size_t>(trees.start[row]), last = static_cast<std::size_t>(trees.start[row + 1]);
        for (std::size_t i = first; i < last; ++i)
            if (static_cast<std::size_t>(trees.node[i]) >= held_.size() || !held_[trees.node[i]])
                refuse("the target does not contain all nodes of this tree");
        plain_->add(trees.node.data() + first, trees.weight.data() + first, last - first, scale);
    }

    // Returns K(t, t) of every tree, inf if it does not fit a double; or its logarithm, -inf if K
    // is 0.
    template <class... Parameters> static nb::ndarray<nb::numpy, double, nb::ndim<1>>
    self_values(StorePtr store, const NodeWeights &trees, bool logs, Parameters... parameters) {
        for (Id node : trees.node)
            if (static_cast<std::size_t>(node) >= store->size()) refuse("trees do not belong to this store");
        std::vector<double> values(trees.rows());
        {
            WithoutGil free;
            Marks here(store->size()), number(store->production_count());
            for (std::size_t t = 0; t < trees.rows(); ++t) {
                Store small;
                NodeWeights weights;
                isolate(*store, trees, t, here, number, small, weights);
                double value = 0;
                Rows rows{&small, &weights, nullptr, 0, 1, &value, 1};
                make<double>(Targets{&small, weights}, parameters...)->rows(rows, check_signals);
                const bool fits = rows.overflow_row == none && value >= least_exact;
                if (logs) value = std::log(value);
                if (rows.overflow_row != none && !logs) value = std::numeric_limits<double>::infinity();
                if (!fits && logs) // too large, or so small that it loses digits
                    make<Scaled>(Targets{&small, weights}, parameters...)->rows(rows, check_signals);
                values[t] = value;
            }
        }
        return to_numpy(std::move(values));
    }

    // Computes K and its derivatives with respect to the logarithms of lam and (PT) mu: three
    // matrices of row trees x targets.
    template <class... Parameters>
    static std::optional<std::pair<std::int64_t, std::int64_t>> gradient(StorePtr store, const NodeWeights &trees,
                                                                         const NodeWeights &targets, Matrix out, Matrix by_lam,
                                                                         Matrix by_mu, Parameters... parameters) {
        for (const NodeWeights *w : {&trees, &targets})
            for (Id node : w->node)
                if (static_cast<std::size_t>(node) >= store->size()) refuse("trees do not belong to this store");
        for (const Matrix *m : {&out, &by_lam, &by_mu})
            if (m->shape(0) != trees.rows() || m->shape(1) != targets.rows() || m->stride(1) != 1 ||
                m->stride(0) != static_cast<std::int64_t>(targets.rows()))
                refuse("the three matrices must be contiguous, with one row per tree and one column per target");
        Rows rows{store.get(), &trees, nullptr, 0, trees.rows(), out.data(), static_cast<std::int64_t>(targets.rows())};
        rows.gradient[0] = by_lam.data(), rows.gradient[1] = by_mu.data();
        {
            WithoutGil free;
            make<Dual>(Targets{store.get(), targets}, parameters...)->rows(rows, check_signals);
        }
        if (rows.overflow_row == none) return std::nullopt;
        return std::make_pair(rows.overflow_row, rows.overflow_column);
    }

    std::size_t bytes() const { return bytes_of(held_) + (plain_ ? plain_->bytes() : scaled_->bytes()); }

    // Returns an upper bound for the bytes of the index over these columns, and of the working
    // memory per thread.
    template <class... Parameters>
    static std::pair<std::size_t, std::size_t> estimate(StorePtr store, const NodeWeights &weights, Parameters... parameters) {
        for (Id node : weights.node)
            if (static_cast<std::size_t>(node) >= store->size()) refuse("weights do not belong to this store");
        WithoutGil free;
        const Memory memory =
            std::apply([&](const auto &...taken) { return Algorithm<double>::estimate(Targets{store.get(), weights}, taken...); },
                       ParametersOf<Algorithm>::template of<double>(parameters...));
        return {memory.index + (weights.rows() == 1 ? store->size() : 0), memory.working};
    }

  private:
    static constexpr double least_exact = 1e-280;

    explicit Columns(StorePtr store) : store_(std::move(store)), size_(0) {}

    // From targets, or from a store without an index.
    template <class Num, class From, class... Parameters> static auto make(const From &from, Parameters... parameters) {
        return std::apply([&](auto... taken) { return std::make_unique<Algorithm<Num>>(from, std::move(taken)...); },
                          ParametersOf<Algorithm>::template of<Num>(parameters...));
    }

    struct Reading { // exists while rows are computed
        std::atomic<int> &readers;
        explicit Reading(std::atomic<int> &all) : readers(all) { ++readers; }
        ~Reading() { --readers; }
    };

    StorePtr store_;
    std::shared_ptr<const void> memory_; // keeps the arrays alive that the columns view
    std::size_t size_;
    std::atomic<int> readers_ = 0; // columns grow and rows begin only under the GIL
    std::vector<char> held_;       // per node: whether the only target contains it
    std::unique_ptr<Algorithm<double>> plain_;
    std::unique_ptr<Algorithm<Scaled>> scaled_;
};

template <template <class> class Algorithm, class... Parameters, class... Names>
void bind_columns(nb::module_ &m, const char *name, const char *doc, Names... names) {
    using C = Columns<Algorithm>;
    nb::class_<C> columns(m, name, doc);
    columns
        .def(nb::init<typename C::StorePtr, const NodeWeights &, bool, Parameters...>(), "store"_a, "weights"_a, "scaled"_a,
             names...)
        .def("rows", &C::template rows<double>, "store"_a, "trees"_a, "limit"_a.none(), "begin"_a, "end"_a, "out"_a,
             "most_stored"_a.none() = nb::none())
        .def("rows", &C::template rows<float>, "store"_a, "trees"_a, "limit"_a.none(), "begin"_a, "end"_a, "out"_a,
             "most_stored"_a.none() = nb::none())
        .def("add", &C::add, "trees"_a, "row"_a, "scale"_a)
        .def_static("self_values", &C::template self_values<Parameters...>, "store"_a, "trees"_a, "logs"_a, names...)
        .def_static("gradient", &C::template gradient<Parameters...>, "store"_a, "trees"_a, "targets"_a, "out"_a, "by_lam"_a,
                    "by_mu"_a, names...)
        .def_static("estimate", &C::template estimate<Parameters...>, "store"_a, "weights"_a, names...,
                    "Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.")
        .def_prop_ro("bytes", &C::bytes);
    if constexpr (requires(const Algorithm<double> &plain) { Algorithm<double>::parts(plain); })
        columns.def(
                   "arrays", [](nb::pointer_and_handle<C> self) { return self.p->arrays(self.h); }, as_arrays)
            .def_static("from_arrays", &C::template from_arrays<Parameters...>, "store"_a, "arrays"_a, names..., views_arrays);
}

} // namespace treelet::python
