// The input and output of a Gram algorithm: columns, rows, and a finished row.
#pragma once
#include "dual.hpp"
#include "node_weights.hpp"
#include "scaled.hpp"

namespace treelet {

// Columns of a Gram matrix: weighted sums of subtrees. For trees, the weights are counts.
template <class Store> struct TargetsOf {
    const Store *store;
    const NodeWeights &weights;
    std::size_t size() const { return weights.rows(); }
};
using Targets = TargetsOf<Store>;

// The requested rows: trees of `store`, which is the targets' store or grown from it. With limits,
// row r is compared only with targets 0..r, whose subtrees all have ids <= limit[r].
template <class Store> struct RowsOf {
    const Store *store;
    const NodeWeights *trees;
    const Id *limit; // null: all targets
    std::size_t begin, end;
    double *out; // row `begin` of the matrix
    std::int64_t stride;
    float *small = nullptr;                                   // the same for a matrix of floats, instead of `out`
    double *gradient[2] = {nullptr, nullptr};                 // the same for the matrices of derivatives
    std::int64_t overflow_row = none, overflow_column = none; // the first value that does not fit the number type of the matrix
    std::size_t most_stored = std::numeric_limits<std::size_t>::max(); // bytes of stored values of nodes; more are an error

    std::size_t targets(std::size_t row, std::size_t all) const { return limit ? row + 1 : all; }
    Id node_limit(std::size_t row) const { return limit ? limit[row] : std::numeric_limits<Id>::max(); }
};
using Rows = RowsOf<Store>;

// Returns how many of some ascending ids do not exceed the limit.
inline Id up_to(Id limit, const Id *ids, Id size) {
    if (size == 0 || ids[size - 1] <= limit) return size;
    return static_cast<Id>(std::upper_bound(ids, ids + size, limit) - ids);
}

// Converts the values of a row to the number type of the matrix. Returns false if a value does not
// fit or is NaN.
template <class Num, class Number> bool put(const Num *sums, Number *out, std::size_t m) {
    bool fits = true;
    for (std::size_t j = 0; j < m; ++j) {
        out[j] = static_cast<Number>(output(sums[j]));
        fits &= std::fabs(out[j]) <= std::numeric_limits<Number>::max(); // false for NaN too
    }
    return fits;
}

// Writes a finished row: the sums of the first `m` targets.
template <class Num, class Rows> void write_row(Rows &rows, std::size_t row, const Num *sums, std::size_t m) {
    const std::int64_t at = static_cast<std::int64_t>(row - rows.begin) * rows.stride;
    const auto write = [&](auto *out) {
        using Number = std::remove_pointer_t<decltype(out)>;
        if (put(sums, out, m) || rows.overflow_row != none) return;
        rows.overflow_row = static_cast<std::int64_t>(row);
        rows.overflow_column =
            std::find_if(out, out + m, [](Number x) { return !(std::fabs(x) <= std::numeric_limits<Number>::max()); }) - out;
    };
    rows.small ? write(rows.small + at) : write(rows.out + at);
    for (int k = 0; k < 2; ++k)
        if (rows.gradient[k])
            for (std::size_t j = 0; j < m; ++j) rows.gradient[k][at + static_cast<std::int64_t>(j)] = derivative(sums[j], k);
}

} // namespace treelet
