// The native reader and core under libFuzzer: any bytes are read as trees, in pieces; what is read is compared by every tree
// kernel, the fragments that it shares must add up to the kernel's value, and counts and sketches must not depend on what stands
// beside a tree. `make fuzz` builds it, where there is clang.
//
// The first byte says how to read and what is done, the second how large the pieces are.
#include "brackets.hpp"
#include "edit_columns.hpp"
#include "edit_mapping.hpp"
#include "fragment_graphs.hpp"
#include "hashed_fragments.hpp"
#include "native_checks.hpp"
#include "partial_tree.hpp"
#include "sketch.hpp"
#include "subset_tree.hpp"
#include "subtree.hpp"
#include "syntax.hpp"
#include <cstring>

using namespace treelet;
using namespace treelet::fuzz;

namespace {

void compare_subset_trees(const Store &store, const std::vector<Id> &roots, const NodeWeights &trees) {
    bool fits = true;
    for (const int depth : {0, 2})
        for (const bool leaves : {false, true}) {
            const Matrix K = compared<SubsetTreeColumns>(store, roots, trees, fits, [&]<class Num>(Targets targets, Num) {
                return SubsetTreeColumns<Num>(targets, Num(0.4), depth, leaves);
            });
            if (fits) add_up(ProductionGraph(TreeEdges{store, leaves}, first_and_last(trees), 0.4, depth), K[trees.rows() - 1]);
        }
}

// Labels in twos are alike.
SimilarPtr pairs_of_labels(const Store &store) {
    auto out = std::make_shared<Similar>();
    for (Id label = 0; label < static_cast<Id>(store.label_count()); ++label) {
        if (const Id other = label ^ 1; other < static_cast<Id>(store.label_count()))
            out->label.push_back(other), out->sigma.push_back(0.5);
        out->start.push_back(static_cast<std::int64_t>(out->label.size()));
    }
    return out;
}

void compare_partial_trees(const Store &store, const std::vector<Id> &roots, const NodeWeights &trees) {
    bool fits = true;
    for (const double terminal : {1.0, 0.0, 0.7})
        for (const bool leaves : {false, true}) {
            const Matrix K = compared<PartialTreeColumns>(store, roots, trees, fits, [&]<class Num>(Targets targets, Num) {
                return PartialTreeColumns<Num>(targets, Num(0.4), Num(0.3), leaves, terminal);
            });
            if (fits && terminal == 1)
                add_up(Lists::partial_trees(store, first_and_last(trees), 0.4, 0.3, leaves), K[trees.rows() - 1]);
        }
    const Targets targets{&store, trees};
    PartialTreeColumns<double> smoothed(targets, 0.4, 0.3, true, 1.0, pairs_of_labels(store)), plain(targets, 0.4, 0.3, true, 1.0);
    bool both = true;
    const Matrix S = filled(smoothed, trees.rows(), store, trees, fits), K = filled(plain, trees.rows(), store, trees, both);
    for (std::size_t i = 0; i < K.size() && fits && both; ++i) expect(S[i] >= K[i] * (1 - 1e-9), "less in common with words alike");
}

// Every tree counts itself once at least, and a row does not depend on the rows beside it.
void count_fragments(const Store &store, const std::vector<Id> &roots, const NodeWeights &trees) {
    const std::size_t n = roots.size();
    const std::vector<double> one(n, 1.0);
    std::vector<Id> distinct(roots);
    sort_distinct(distinct);
    const auto patterns = std::make_shared<const Store>(store);
    for (const Fragments kind : {Fragments::complete, Fragments::subset, Fragments::partial}) {
        const FragmentMatcher matcher(patterns, distinct.data(), one.data(), distinct.size(), {kind, true, 0.4});
        const SparseRows all = matcher.rows(store, trees, one.data(), 0, n, false, nothing);
        for (std::size_t t = 0; t < n; ++t) {
            const SparseRows row = matcher.rows(store, trees, one.data(), t, t + 1, false, nothing);
            const auto from = all.column.begin() + all.start[t], to = all.column.begin() + all.start[t + 1];
            expect(std::equal(from, to, row.column.begin(), row.column.end()), "other fragments for a row alone");
            const auto own = std::find_if(from, to, [&](Id c) { return distinct[c] == roots[t]; });
            if (store.arity(roots[t]) > 0)
                expect(own != to && all.value[own - all.column.begin()] >= 1 - 1e-9, "a tree that is not in itself");
        }
        const HashedFragments hashed({kind, true, 0.4, 0.3, 4, 3, 64, 100});
        const HashedRows found = hashed.rows(store, trees, true, nothing);
        expect(found.rows.start.size() == n + 1, "rows that are missing");
        for (const Id column : hashed.columns(store, distinct.data(), distinct.size()))
            expect(column >= 0 && column < 64, "a coordinate that is not there");
    }
}

// A row of a sketch depends on its tree alone, to the last bit, whatever is kept.
void sketch_trees(const Store &store, const std::vector<Id> &roots, const NodeWeights &trees) {
    const std::size_t n = roots.size();
    const std::vector<double> logs(n, 0.0), share(n, 1.0);
    for (const bool partial : {false, true})
        for (const bool leaves : {false, true}) {
            PartCounts counts({!partial, leaves}, leaves, true);
            counts.add(store, trees, share.data());
            std::vector<Id> coordinate(counts.key.size(), none);
            for (std::size_t i = 0; i < coordinate.size(); i += 2) coordinate[i] = static_cast<Id>(i / 2);
            const KnownParts known(counts.key.data(), coordinate.data(), coordinate.size());
            const SketchParameters p{partial, 0.4, 0.3, partial ? 0 : 2, leaves};
            const TreeSketch large(p, 8, 7, known, false, 1 << 20), small(p, 8, 7, known, false, 0),
                only(p, 8, 7, known, true, 100);
            std::vector<float> all(n * large.width()), row(large.width());
            const auto stride = static_cast<std::int64_t>(large.width());
            large.rows(store, trees, roots.data(), logs.data(), 0, n, all.data(), stride, nothing);
            for (std::size_t t = 0; t < n; ++t) {
                small.rows(store, trees, roots.data(), logs.data(), t, t + 1, row.data(), stride, nothing);
                expect(std::memcmp(row.data(), all.data() + t * large.width(), row.size() * sizeof(float)) == 0,
                       "another sketch for a row alone");
            }
            only.rows(store, trees, roots.data(), logs.data(), 0, n, all.data(), stride, nothing);
        }
}

// A search finds the same values as the whole matrix, the cost of a mapping is the distance, and unit costs give a metric.
void compare_edits(const Store &store, const std::vector<Id> &roots) {
    const std::size_t n = roots.size();
    for (const double rename : {1.0, 0.75}) {
        auto costs = std::make_shared<EditCosts>();
        costs->rename = costs->least = costs->least_change = rename;
        const auto all = [&]<class Gains>(std::type_identity<Gains>) {
            const EditColumns columns(store, roots, costs, true);
            const auto filled = [&](EditSearch search) {
                EditColumns::Rows<Gains> rows(columns, store, search, 1e9, nothing);
                std::vector<double> out(n * n);
                for (std::size_t r = 0; r < n; ++r) rows.row(roots[r], n, out.data() + r * n);
                return out;
            };
            const std::vector<double> D = filled({});
            for (const double threshold : {0.0, 2.0, 7.0}) {
                const std::vector<double> found = filled({false, threshold, 0});
                for (std::size_t i = 0; i < n * n; ++i)
                    expect(D[i] <= threshold ? std::fabs(found[i] - D[i]) < 1e-9 : found[i] == INFINITY, "a search that differs");
            }
            const std::vector<double> best = filled({false, INFINITY, 1});
            TreeSizer sizer(store);
            for (std::size_t r = 0; r < n; ++r) {
                const std::size_t row = r * n;
                const double least = *std::min_element(D.begin() + row, D.begin() + row + n);
                for (std::size_t c = 0; c < n; ++c) {
                    expect(std::fabs(D[row + c] - D[c * n + r]) < 1e-9, "a distance that is not symmetric");
                    expect((D[row + c] < 1e-9) == (roots[r] == roots[c]), "a distance of 0 between different trees");
                    if (D[row + c] <= least) expect(std::fabs(best[row + c] - least) < 1e-9, "a nearest tree that is not found");
                    for (std::size_t k = 0; k < n; ++k)
                        expect(D[row + c] <= D[row + k] + D[k * n + c] + 1e-9, "a longer way without a detour");
                    FlatTree a, b;
                    a.build(store, roots[r], static_cast<std::size_t>(sizer(roots[r]).nodes), c % 2);
                    b.build(store, roots[c], static_cast<std::size_t>(sizer(roots[c]).nodes), c % 2);
                    EditTable<Gains> table;
                    Pulse pulse(nothing);
                    table.fill(store, a, b, *costs, -1, pulse);
                    const auto pairs = edit_mapping(table, a, b, *costs, pulse);
                    double cost = static_cast<double>(a.length() + b.length() - 2 * pairs.size());
                    for (const auto &[i, j] : pairs) cost += costs->renaming(a.label[i], b.label[j]);
                    expect(std::fabs(cost - D[row + c]) < 1e-9, "a mapping with another cost");
                }
            }
        };
        rename == 1 ? all(std::type_identity<EqualGains>()) : all(std::type_identity<LabelGains>());
    }
}

// A tree that is read as a unit of source code, node by node, is the same tree. If its leaves are names that it binds, they
// are replaced by numbers, and the shape stays.
void read_as_source(const Store &store, const std::vector<Id> &roots) {
    TreeSizer sizer(store);
    for (const bool anonymous : {false, true}) {
        SyntaxReader reader(anonymous);
        for (const Id root : roots) {
            const auto state = store.arity(root) > 2 ? SyntaxReader::State::damaged : SyntaxReader::State::whole;
            std::vector<std::pair<Id, std::size_t>> stack{{root, SyntaxReader::root}};
            const std::size_t unit = reader.begin_unit(0, 1, 2, "unit", state);
            while (!stack.empty()) {
                const auto [node, parent] = stack.back();
                stack.pop_back();
                const Id label = reader.label(store.label_text(store.label(node)));
                if (store.arity(node) == 0) {
                    reader.add_name(label, parent, 1), reader.use(label, true);
                    continue;
                }
                const std::size_t here = reader.add(label, parent, 1);
                for (std::size_t k = store.arity(node); k-- > 0;) stack.push_back({store.children(node)[k], here});
            }
            reader.end_unit(unit);
            const std::size_t before = reader.roots.size();
            expect(reader.end_file().size() == (state == SyntaxReader::State::whole ? 0 : 1), "a damage that is not reported");
            if (reader.roots.size() == before) continue;
            const TreeSize size = sizer(root), found = TreeSizer(*reader.store)(reader.roots.back());
            expect(size.nodes == found.nodes && size.left == found.left && size.right == found.right, "a tree of another shape");
            if (!anonymous) {
                Store both(store);
                expect(both.absorb(*reader.store, &reader.roots.back(), 1)[0] == root, "another tree");
            }
        }
    }
}

void use(const Store &store, std::vector<Id> roots, int what) {
    roots.resize(std::min<std::size_t>(roots.size(), 6));
    const NodeWeights trees = count_nodes(store, roots.data(), roots.size());
    bool fits = true;
    switch (what) {
    case 0:
        compared<SubtreeColumns>(store, roots, trees, fits,
                                 [&]<class Num>(Targets targets, Num) { return SubtreeColumns<Num>(targets, Num(0.5)); });
        return compare_subset_trees(store, roots, trees);
    case 1:
        return compare_partial_trees(store, roots, trees);
    case 2:
        return count_fragments(store, roots, trees);
    case 3:
        return compare_edits(store, roots);
    case 4:
        return read_as_source(store, roots);
    default:
        return sketch_trees(store, roots, trees);
    }
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
        if (!roots.empty()) use(store, roots, how >> 4 & 7);
    } catch (const std::length_error &) { // more nodes than can be counted: said by name
    }
    return 0;
}
