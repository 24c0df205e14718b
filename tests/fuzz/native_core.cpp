// The native reader and core under libFuzzer: any bytes are read as trees, in pieces; what is read is compared by every tree
// kernel, the fragments that it shares must add up to the kernel's value, and counts and sketches must not depend on what stands
// beside a tree. `make fuzz` builds it, where there is clang.
//
// The first byte says how to read and what is done, the second how large the pieces are.
#include "brackets.hpp"
#include "checksum.hpp"
#include "code_lines.hpp"
#include "edit_columns.hpp"
#include "edit_mapping.hpp"
#include "fragment_graphs.hpp"
#include "matching.hpp"
#include "native_checks.hpp"
#include "partial_tree.hpp"
#include "reduced_copy.hpp"
#include "sketch.hpp"
#include "smo.hpp"
#include "statement_codes.hpp"
#include "subset_tree.hpp"
#include "subtree.hpp"
#include "syntax.hpp"
#include <cstring>

using namespace treelet;
using namespace treelet::fuzz;

namespace {

// A machine on a kernel matrix ends at a point within its bounds, whose gradient is that of the matrix.
void train(const Matrix &K, std::size_t n) {
    const double largest = *std::max_element(K.begin(), K.end());
    if (n == 0 || !(largest > 0 && largest < 1e6)) return;
    std::vector<float> block(K.begin(), K.end());
    for (const double tube : {0.0, 0.1}) {
        std::vector<double> diagonal(n), low(n), high(n), b(n, 0.0), gradient(n);
        for (std::size_t i = 0; i < n; ++i) {
            const double y = i % 2 == 0 ? 1 : -1;
            diagonal[i] = K[i * n + i], gradient[i] = -y;
            low[i] = tube > 0 || y < 0 ? -1 : 0, high[i] = tube > 0 || y > 0 ? 1 : 0;
        }
        Pulse pulse(nothing);
        Smo(n, block.data(), static_cast<std::int64_t>(n), diagonal.data(), low.data(), high.data(), tube, true, b.data(),
            gradient.data())
            .solve(1e-3, 1000, pulse);
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            double expected = i % 2 == 0 ? -1 : 1;
            for (std::size_t j = 0; j < n; ++j) expected += static_cast<double>(block[i * n + j]) * b[j];
            expect(low[i] <= b[i] && b[i] <= high[i], "a coefficient beyond its bounds");
            expect(std::fabs(gradient[i] - expected) <= 1e-6 * (1 + largest * static_cast<double>(n)), "another gradient");
            sum += b[i];
        }
        expect(std::fabs(sum) < 1e-6, "coefficients whose sum is not 0");
    }
}

// A copy without marked nodes below others has a node for each node, with at most as many children.
void copy_reduced(const Store &store) {
    std::vector<std::uint8_t> marked(store.size());
    for (std::size_t node = 0; node < marked.size(); ++node) marked[node] = node % 3 == 0;
    Store copy;
    std::vector<Id> labels;
    for (Id label = 0; label < static_cast<Id>(store.label_count()); ++label)
        labels.push_back(copy.add_label(label % 2 ? "a" : "b"));
    const std::vector<Id> nodes = reduced_copy(store, copy, marked.data(), labels);
    expect(nodes.size() == store.size(), "nodes without a copy");
    for (Id node = 0; node < static_cast<Id>(store.size()); ++node) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < store.arity(node); ++i) kept += marked[store.children(node)[i]] == 0;
        expect(copy.arity(nodes[node]) == kept, "a copy with other children");
    }
}

// The statements of a tree are its root and the nodes below marked edges, however often they occur.
void list_statements(const Store &store, const std::vector<Id> &roots) {
    std::vector<std::uint8_t> begins(store.child_count());
    for (std::size_t edge = 0; edge < begins.size(); ++edge) begins[edge] = edge % 3 == 0;
    std::vector<Id> number(store.size());
    for (std::size_t node = 0; node < number.size(); ++node) number[node] = static_cast<Id>(node / 2);
    constexpr int bits = 20;
    const StatementCodes found =
        statement_codes(store, roots.data(), roots.size(), begins.data(), number.data(), number.data(), bits);
    expect(found.start.size() == roots.size() + 1, "trees without statements");
    for (std::size_t t = 0; t < roots.size(); ++t) {
        std::vector<std::int64_t> expected;
        std::vector<std::pair<Id, bool>> stack{{roots[t], true}};
        while (!stack.empty()) {
            const auto [node, begin] = stack.back();
            stack.pop_back();
            if (begin) expected.push_back(number[node]);
            for (std::size_t i = 0; i < store.arity(node); ++i)
                stack.push_back({store.children(node)[i], begins[store.child_start(node) + static_cast<std::int64_t>(i)] != 0});
        }
        std::vector<std::int64_t> listed[2];
        for (std::int64_t i = found.start[t]; i < found.start[t + 1]; ++i) {
            const std::int64_t code = found.code[i];
            expect(i == found.start[t] || found.code[i - 1] < code, "codes that do not ascend");
            listed[(code >> bits) & 1].push_back(code >> (bits + 1));
        }
        std::sort(expected.begin(), expected.end());
        expect(listed[0] == expected && listed[1] == expected, "other statements");
    }
}

void compare_subset_trees(const Store &store, const std::vector<Id> &roots, const NodeWeights &trees) {
    bool fits = true;
    for (const int depth : {0, 2})
        for (const bool leaves : {false, true}) {
            const Matrix K = compared<SubsetTreeColumns>(store, roots, trees, fits, [&]<class Num>(Targets targets, Num) {
                return SubsetTreeColumns<Num>(targets, Num(0.4), depth, leaves);
            });
            if (fits) add_up(ProductionGraph(TreeEdges{store, leaves}, first_and_last(trees), 0.4, depth), K[trees.rows() - 1]);
            if (fits) train(K, trees.rows());
        }
}

// Labels in twos are similar, of words or of all nodes.
SimilarPtr pairs_of_labels(const Store &store, bool inner) {
    auto out = std::make_shared<Similar>();
    out->inner = inner;
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
    Matrix less; // of values that can only grow
    for (const SimilarPtr &similar :
         {std::make_shared<const Similar>(), pairs_of_labels(store, false), pairs_of_labels(store, true)}) {
        PartialTreeColumns<double> columns(targets, 0.4, 0.3, true, 1.0, similar);
        const Matrix K = filled(columns, trees.rows(), store, trees, fits);
        for (std::size_t i = 0; i < less.size() && fits; ++i)
            expect(K[i] >= less[i] * (1 - 1e-9), "less in common with similar labels");
        less = K;
    }
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
                EditMemory memory;
                EditColumns::Rows<Gains> rows(columns, store, search, {1e9, 1e9}, memory, nothing);
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
        SyntaxReader reader(anonymous, 0, std::make_shared<Store>());
        CodeLines lines("\n\n", false);
        for (const Id root : roots) {
            const auto state = store.arity(root) > 2 ? SyntaxReader::State::damaged : SyntaxReader::State::whole;
            std::vector<std::pair<Id, std::size_t>> stack{{root, SyntaxReader::root}};
            const std::size_t unit = reader.begin_unit(1, 2, state);
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
            expect(reader.end_file(lines).size() == (state == SyntaxReader::State::whole ? 0 : 1), "a damage that is not reported");
            const std::vector<Id> stored = reader.take_results().roots;
            if (stored.empty()) continue;
            const TreeSize size = sizer(root), found = TreeSizer(*reader.store())(stored.back());
            expect(size.nodes == found.nodes && size.left == found.left && size.right == found.right, "a tree of another shape");
            if (!anonymous) {
                Store both(store);
                expect(both.absorb(*reader.store(), &stored.back(), 1)[0] == root, "another tree");
            }
        }
    }
}

// The lines with code of any text: no more than there are, and those of a part no more than those of the whole.
void count_lines(std::string_view text) {
    for (const bool python : {false, true}) {
        CodeLines lines(text, python);
        lines.hide(text.size() / 3, text.size() / 2), lines.hide(text.size() / 4, text.size() / 4);
        const std::int64_t all = lines.between(1, lines.count());
        expect(0 <= all && all <= lines.count(), "more lines with code than lines");
        for (const std::size_t byte : {std::size_t{0}, text.size() / 2, text.size()}) {
            const std::int64_t line = lines.line_of(byte);
            expect(lines.between(1, line) + lines.between(line + 1, lines.count()) == all, "a line counted twice");
            expect(lines.byte_at(line, 0) <= byte, "a line that begins after its bytes");
        }
    }
}

// Lets the parts of an object view copies of the parts of another one, which end where the memory ends.
class Viewer {
  public:
    template <class Object> void copy(const Object &from, Object &to) {
        std::vector<void *> targets;
        const auto list = [&](auto &part) { targets.push_back(&part); };
        each_part(to, list);
        std::size_t next = 0;
        const auto copy_part = [&]<class Part>(const Part &part) { set(part, *static_cast<Part *>(targets[next++])); };
        each_part(from, copy_part);
    }

  private:
    template <class Part> void set(const Part &from, Part &to) {
        if constexpr (std::is_arithmetic_v<Part>)
            to = from;
        else {
            const auto *const data = begin_of(from);
            using Item = std::remove_cvref_t<decltype(*data)>;
            auto items = std::shared_ptr<Item[]>(new Item[from.size()]);
            std::copy_n(data, from.size(), items.get());
            to.view(items.get(), from.size());
            memory_.push_back(std::move(items));
        }
    }
    template <class T> static const T *begin_of(const Column<T> &column) { return column.data(); }
    template <class T> static const T *begin_of(const Segmented<T> &column) { return column.from(0); }
    std::vector<std::shared_ptr<void>> memory_;
};

// Columns that view the memory of others, over a store that does, have the same values for trees of a store grown from it.
void view_columns(const Store &store, const std::vector<Id> &roots, const NodeWeights &trees) {
    Viewer viewer;
    const auto viewed = std::make_shared<Store>();
    NodeWeights weights;
    viewer.copy(store, *viewed), viewer.copy(trees, weights);
    expect(viewed->consistent() && weights.consistent(), "a store that does not fit together");
    Store grown{std::shared_ptr<const Store>(viewed)};
    expect(grown.absorb(store, roots.data(), roots.size()) == roots, "other numbers for known trees");
    const Id again = grown.add_node(grown.add_label("new"), roots.data(), roots.size());
    const NodeWeights rows = count_nodes(grown, &again, 1);
    const Targets targets{&store, trees};
    const auto same = [&]<class Algorithm>(std::type_identity<Algorithm>, auto... parameters) {
        Algorithm made(targets, parameters...), other(*viewed, parameters...);
        viewer.copy(made, other);
        bool fits = true, both = true;
        const Matrix wanted = filled(made, trees.rows(), grown, rows, fits), found = filled(other, trees.rows(), grown, rows, both);
        expect(fits == both && (!fits || wanted == found), "other values of a view");
    };
    same(std::type_identity<SubtreeColumns<double>>(), 0.5);
    for (const int depth : {0, 1, 3}) same(std::type_identity<SubsetTreeColumns<double>>(), 0.4, depth, depth == 3);
    same(std::type_identity<PartialTreeColumns<double>>(), 0.4, 0.3, true, 0.7, pairs_of_labels(store, true));
}

// A flipped bit and a missing byte change the checksum.
void damage(std::vector<unsigned char> bytes) {
    Pulse pulse;
    const std::uint64_t sum = Checksum::of(bytes.data(), bytes.size(), pulse);
    expect(sum != Checksum::of(bytes.data(), bytes.size() - 1, pulse), "a checksum without the last byte");
    bytes[sum % bytes.size()] ^= static_cast<unsigned char>(1 << (sum >> 61));
    expect(sum != Checksum::of(bytes.data(), bytes.size(), pulse), "a checksum that does not find damage");
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
    case 5:
        copy_reduced(store);
        list_statements(store, roots);
        return view_columns(store, roots, trees);
    default:
        return sketch_trees(store, roots, trees);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size < 2) return 0;
    damage({data, data + size});
    const std::uint8_t how = data[0];
    const std::size_t piece = 1 + data[1] % 61;
    std::string_view text(reinterpret_cast<const char *>(data) + 2, size - 2);
    count_lines(text);
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
