// What the targets under libFuzzer share: matrices filled in all the ways there are, which must agree.
#pragma once
#include "fragment_search.hpp"
#include "matrix_rows.hpp"
#include "scaled.hpp"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace treelet::fuzz {

inline void nothing() {}

inline void expect(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "not as it should be: %s\n", what);
    std::abort();
}

inline bool alike(double a, double b) { return a == b || std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)); }

// Values of this size have all their digits, however they were computed.
inline bool alike_or_tiny(double a, double b) { return alike(a, b) || std::max(a, b) < 1e-290; }

using Matrix = std::vector<double>;

// With limits, one a row: only the lower half.
template <class Columns, class Store> Matrix filled(Columns &columns, std::size_t targets, const Store &store,
                                                    const NodeWeights &trees, bool &fits, const Id *limit = nullptr) {
    Matrix out(trees.rows() * targets);
    RowsOf<Store> rows{&store, &trees, limit, 0, trees.rows(), out.data(), static_cast<std::int64_t>(targets)};
    columns.rows(rows, nothing);
    fits = rows.overflow_row == none;
    return out;
}

inline std::vector<Id> limits(const std::vector<Id> &roots) {
    std::vector<Id> out(roots);
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = std::max(out[i], out[i - 1]);
    return out;
}

// Symmetric, and the same by halves, in plain numbers, in logarithms and in numbers with derivatives; each row alone has its value
// with itself; and rows of a store that was grown later have the same values with columns that were there before.
template <template <class> class Algorithm, class Store>
Matrix compared(const Store &store, const std::vector<Id> &roots, const NodeWeights &trees, bool &fits, auto make) {
    const std::size_t n = trees.rows();
    const TargetsOf<Store> targets{&store, trees};
    Algorithm<double> plain = make(targets, double());
    Algorithm<Scaled> scaled = make(targets, Scaled());
    Algorithm<Dual> dual = make(targets, Dual());
    bool all = true; // the logarithm of 0 fits no double
    const Matrix K = filled(plain, n, store, trees, fits), L = filled(scaled, n, store, trees, all);
    if (!fits) return K;
    const std::vector<Id> limit = limits(roots);
    const Matrix H = filled(plain, n, store, trees, all, limit.data()), D = filled(dual, n, store, trees, all);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            const double value = K[i * n + j];
            expect(value >= 0 && alike_or_tiny(value, K[j * n + i]), "a matrix that is not symmetric");
            expect(j > i || alike_or_tiny(value, H[i * n + j]), "another value by halves");
            expect(alike_or_tiny(value, D[i * n + j]), "another value with derivatives");
            expect(value < 1e-290 || alike(value, std::exp(L[i * n + j])) || std::fabs(std::log(value) - L[i * n + j]) < 1e-9,
                   "another value in logarithms");
        }
    Marks here(store.size()), number(store.production_count());
    for (std::size_t i = 0; i < n; ++i) {
        Store small;
        NodeWeights own;
        isolate(store, trees, i, here, number, small, own);
        Algorithm<double> alone = make(TargetsOf<Store>{&small, own}, double());
        expect(alike_or_tiny(K[i * n + i], filled(alone, 1, small, own, all)[0]), "another value for a row alone");
    }
    const auto first = std::make_shared<Store>();
    const std::size_t some = (n + 1) / 2;
    const std::vector<Id> known = first->absorb(store, roots.data(), some);
    const NodeWeights before = count_nodes(*first, known.data(), some);
    Algorithm<double> columns = make(TargetsOf<Store>{first.get(), before}, double());
    Store grown{std::shared_ptr<const Store>(first)};
    const std::vector<Id> again = grown.absorb(store, roots.data(), n);
    const Matrix G = filled(columns, some, grown, count_nodes(grown, again.data(), n), all);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < some; ++j)
            expect(alike_or_tiny(K[i * n + j], G[i * some + j]), "another value in a grown store");
    return K;
}

inline Numbers side(const NodeWeights &trees, std::size_t row) {
    const auto first = static_cast<std::size_t>(trees.start[row]), last = static_cast<std::size_t>(trees.start[row + 1]);
    return {trees.node.data() + first, trees.weight.data() + first, last - first};
}
inline std::vector<Numbers> first_and_last(const NodeWeights &trees) { return {side(trees, 0), side(trees, trees.rows() - 1)}; }

// The fragments that two examples share are their kernel's value.
template <class Graph> void add_up(const Graph &graph, double value) {
    const FoundFragments found = FragmentSearch(graph, 2, 2'000, 50'000, nothing).run();
    if (!found.complete) return;
    double sum = 0;
    for (const FoundFragment &one : found.fragments) sum += one.value;
    expect(alike_or_tiny(sum, value), "fragments that do not add up");
}

} // namespace treelet::fuzz
