// The native reader and core under libFuzzer: any bytes are read as trees, in pieces; what is read is compared by every tree
// kernel, and the fragments that it shares must add up to the kernel's value. `make fuzz` builds it, where there is clang.
//
// The first byte says how to read, the second how large the pieces are.
#include "brackets.hpp"
#include "fragment_graphs.hpp"
#include "hashed_fragments.hpp"
#include "matrix_rows.hpp"
#include "partial_tree.hpp"
#include "scaled.hpp"
#include "subset_tree.hpp"
#include "subtree.hpp"
#include <cstdio>
#include <cstdlib>

using namespace treelet;

namespace {

void nothing() {}

void expect(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "not as it should be: %s\n", what);
    std::abort();
}

bool alike(double a, double b) { return a == b || std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)); }

using Matrix = std::vector<double>;

template <class Columns> Matrix filled(Columns &columns, const Store &store, const NodeWeights &trees, bool &fits) {
    Matrix out(trees.rows() * trees.rows());
    Rows rows{&store, &trees, nullptr, 0, trees.rows(), out.data(), static_cast<std::int64_t>(trees.rows())};
    columns.rows(rows, nothing);
    fits = rows.overflow_row == none;
    return out;
}

// Symmetric, and the same in plain numbers and in logarithms.
template <template <class> class Algorithm> Matrix compared(const Store &store, const NodeWeights &trees, bool &fits, auto make) {
    Algorithm<double> plain = make(double());
    Algorithm<Scaled> scaled = make(Scaled());
    bool all = true; // the logarithm of 0 fits no double
    const Matrix K = filled(plain, store, trees, fits), L = filled(scaled, store, trees, all);
    const std::size_t n = trees.rows();
    for (std::size_t i = 0; i < n && fits; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            const double value = K[i * n + j];
            expect(value >= 0 && alike(value, K[j * n + i]), "a matrix that is not symmetric");
            expect(value < 1e-290 || alike(value, std::exp(L[i * n + j])) || std::fabs(std::log(value) - L[i * n + j]) < 1e-9,
                   "another value in logarithms");
        }
    return K;
}

Numbers side(const NodeWeights &trees, std::size_t row) {
    const auto first = static_cast<std::size_t>(trees.start[row]), last = static_cast<std::size_t>(trees.start[row + 1]);
    return {trees.node.data() + first, trees.weight.data() + first, last - first};
}

template <class Graph> void add_up(const Graph &graph, double value) {
    const FoundFragments found = FragmentSearch(graph, 2, 5'000, 200'000, nothing).run();
    if (!found.complete) return;
    double sum = 0;
    for (const FoundFragment &one : found.fragments) sum += one.value;
    expect(alike(sum, value), "fragments that do not add up");
}

void use(const Store &store, const std::vector<Id> &roots) {
    const std::size_t n = std::min<std::size_t>(roots.size(), 6);
    const NodeWeights trees = count_nodes(store, roots.data(), n);
    const Targets targets{&store, trees};
    bool fits = true;
    compared<SubtreeColumns>(store, trees, fits, [&]<class Num>(Num) { return SubtreeColumns<Num>(targets, Num(0.5)); });
    for (const int depth : {0, 2})
        for (const bool leaves : {false, true}) {
            const Matrix K = compared<SubsetTreeColumns>(
                store, trees, fits, [&]<class Num>(Num) { return SubsetTreeColumns<Num>(targets, Num(0.4), depth, leaves); });
            if (fits) add_up(ProductionGraph(TreeEdges{store, leaves}, {side(trees, 0), side(trees, n - 1)}, 0.4, depth), K[n - 1]);
        }
    for (const bool leaves : {false, true}) {
        const Matrix K = compared<PartialTreeColumns>(
            store, trees, fits, [&]<class Num>(Num) { return PartialTreeColumns<Num>(targets, Num(0.4), Num(0.3), leaves, 1.0); });
        if (fits) add_up(Lists::partial_trees(store, {side(trees, 0), side(trees, n - 1)}, 0.4, 0.3, leaves), K[n - 1]);
    }
    for (const Fragments kind : {Fragments::complete, Fragments::subset, Fragments::partial})
        HashedFragments({kind, true, 0.4, 0.3, 4, 3, 64, 100}).rows(store, trees, true, nothing);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size < 2) return 0;
    const std::uint8_t how = data[0];
    const std::size_t piece = 1 + data[1] % 61;
    std::string_view text(reinterpret_cast<const char *>(data) + 2, size - 2);
    BracketReader reader(BracketOptions{(how & 1) != 0, (how & 2) != 0, (how & 4) != 0 ? "ROOT" : ""});
    try {
        while (!text.empty()) {
            // A copy, so that a byte behind the piece is nobody's.
            const std::vector<char> some(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(piece, text.size())));
            text.remove_prefix(reader.feed(std::string_view(some.data(), some.size())));
        }
        reader.finish();
    } catch (const InputError &error) {
        expect(error.line >= 1 && error.column >= 1 && *error.what() != '\0', "an error that does not say where");
        if ((how & 8) == 0) return 0;
        reader.abandon(reader.roots().size());
    }
    const auto [store, roots] = reader.take();
    try {
        if (!roots.empty()) use(store, roots);
    } catch (const std::length_error &) { // more nodes than can be counted: said by name
    }
    return 0;
}
