// Sequences under libFuzzer: bytes choose tags, words and features; the tagging, locality and subsequence kernels must be what
// their definitions say, pair by pair, and the pieces that are shared must add up to them. Besides: trees by the parents of their
// nodes.
#include "fragment_graphs.hpp"
#include "native_checks.hpp"
#include "post_order.hpp"
#include "subsequence.hpp"
#include "tagging.hpp"
#include <fuzzer/FuzzedDataProvider.h>

using namespace treelet;
using namespace treelet::fuzz;

namespace {

using Letters = std::vector<int>;

Letters drawn(FuzzedDataProvider &data, std::size_t most, int letters) {
    Letters out(data.ConsumeIntegralInRange<std::size_t>(0, most));
    for (int &letter : out) letter = data.ConsumeIntegralInRange(0, letters - 1);
    return out;
}

// --- tags ------------------------------------------------------------------------------------------------------------

double tagging(const Letters &a, const Letters &b, double lam) { // a letter: tag + 3 word
    double sum = 0;
    std::vector<double> next(b.size() + 1, 0), here(b.size() + 1, 0);
    for (std::size_t i = a.size(); i-- > 0; next.swap(here))
        for (std::size_t j = 0; j <= b.size(); ++j) {
            here[j] = j < b.size() && a[i] % 3 == b[j] % 3 ? lam * (1 + (a[i] == b[j])) * (1 + next[j + 1]) : 0;
            sum += here[j];
        }
    return sum;
}

void use_tags(FuzzedDataProvider &data) {
    Store store;
    std::vector<Letters> examples(data.ConsumeIntegralInRange<std::size_t>(1, 4));
    std::vector<Id> roots;
    for (Letters &one : examples) {
        one = drawn(data, 9, 9);
        if (one.empty()) one.push_back(0);
        Id below = none;
        for (std::size_t i = one.size(); i-- > 0;) {
            const Id kids[] = {store.add_node(store.add_label("w" + std::to_string(one[i] / 3)), nullptr, 0), below};
            below = store.add_node(store.add_label("t" + std::to_string(one[i] % 3)), kids, below == none ? 1 : 2);
        }
        roots.push_back(below);
    }
    const NodeWeights trees = count_nodes(store, roots.data(), roots.size());
    bool fits = true;
    const Matrix K = compared<TaggingColumns>(
        store, roots, trees, fits, []<class Num>(Targets targets, Num) { return TaggingColumns<Num>(targets, Num(0.4)); });
    for (std::size_t i = 0, n = roots.size(); i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            expect(alike(K[i * n + j], tagging(examples[i], examples[j], 0.4)), "the tagging kernel is not its definition");
    add_up(ProductionGraph(RunEdges{store}, first_and_last(trees), 0.4, 0), K[roots.size() - 1]);
}

// --- features --------------------------------------------------------------------------------------------------------

struct Typed { // sequences by type, several of one type allowed
    std::vector<std::pair<int, Letters>> sequence;
};

double windows(const Letters &f, const Letters &g, int reach, Match match, double theta) {
    double sum = 0;
    for (int i = 0; i < static_cast<int>(f.size()); ++i)
        for (int k = 0; k < static_cast<int>(g.size()); ++k) {
            if (f[i] != g[k]) continue;
            double product = 1, equal = 0, all = 0;
            for (int m = std::max(0, i - reach); m <= std::min(static_cast<int>(f.size()) - 1, i + reach); ++m)
                for (int l = std::max(0, k - reach); l <= std::min(static_cast<int>(g.size()) - 1, k + reach); ++l) {
                    if (f[m] != g[l]) continue;
                    const double apart = (m - i) - (l - k);
                    product *= 1 + std::exp(-apart * apart / (theta * theta)), equal += apart == 0, ++all;
                }
            sum += match == Match::position ? product : match == Match::exact ? equal : all;
        }
    return sum;
}

double subsequences(const Letters &f, const Letters &g, int length, double lam) {
    // ways[k][i][j]: subsequences of k features that end at places i and j.
    const std::size_t n = f.size(), m = g.size();
    std::vector<double> ways(n * m), longer(n * m), decay(n + m, 1);
    for (std::size_t k = 1; k < n + m; ++k) decay[k] = decay[k - 1] * lam;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j) ways[i * m + j] = f[i] == g[j] ? lam * lam : 0;
    for (int k = 1; k < length; ++k, ways.swap(longer))
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < m; ++j) {
                double sum = 0;
                for (std::size_t a = 0; a < i && f[i] == g[j]; ++a)
                    for (std::size_t b = 0; b < j; ++b) sum += ways[a * m + b] * decay[i - a + j - b];
                longer[i * m + j] = sum;
            }
    double sum = 0;
    for (const double one : ways) sum += one;
    return sum;
}

template <class F> Matrix by_definition(const std::vector<Typed> &examples, F f) {
    Matrix out;
    for (const Typed &a : examples)
        for (const Typed &b : examples) {
            double sum = 0;
            for (const auto &[type, one] : a.sequence)
                for (const auto &[other_type, other] : b.sequence)
                    if (type == other_type) sum += f(type, one, other);
            out.push_back(sum);
        }
    return out;
}

void use_features(FuzzedDataProvider &data) {
    Store store;
    std::vector<Typed> examples(data.ConsumeIntegralInRange<std::size_t>(1, 4));
    std::vector<Id> roots, kids, leaves;
    const Id types[] = {store.add_label("0"), store.add_label("1")};
    for (Typed &example : examples) {
        kids.clear();
        for (int i = data.ConsumeIntegralInRange(1, 2); i > 0; --i) {
            const int type = data.ConsumeIntegralInRange(0, 1);
            Letters letters = drawn(data, 7, 3);
            if (letters.empty()) letters.push_back(0);
            leaves.clear();
            for (int letter : letters) leaves.push_back(store.add_node(store.add_label("f" + std::to_string(letter)), nullptr, 0));
            kids.push_back(store.add_node(types[type], leaves.data(), leaves.size()));
            example.sequence.push_back({type, letters});
        }
        roots.push_back(store.add_node(store.add_label("all"), kids.data(), kids.size()));
    }
    const NodeWeights trees = count_nodes(store, roots.data(), roots.size());
    const int reach[] = {data.ConsumeIntegralInRange(0, 4), data.ConsumeIntegralInRange(0, 4)};
    const double weight[] = {1.0, 0.5};
    bool fits = true;
    for (const Match match : {Match::position, Match::exact, Match::count}) {
        const Matrix K = compared<LocalityColumns>(store, roots, trees, fits, [&]<class Num>(Targets targets, Num) {
            std::vector<SequenceType> known; // a row that stands alone keeps its labels' numbers, and no texts
            for (int k = 0; k < 2; ++k)
                if (const Id label = targets.store->label_count() ? targets.store->find_label(std::to_string(k)) : types[k];
                    label != none)
                    known.push_back({label, reach[k], weight[k]});
            return LocalityColumns<Num>(targets, known, match, 0.7);
        });
        const Matrix slow = by_definition(examples, [&](int type, const Letters &f, const Letters &g) {
            return weight[type] * windows(f, g, reach[type], match, 0.7);
        });
        for (std::size_t i = 0; i < K.size(); ++i)
            expect(!fits || alike(K[i], slow[i]), "the locality kernel is not its definition");
    }
    const int length = data.ConsumeIntegralInRange(1, 4);
    const Matrix K = compared<SubsequenceColumns>(store, roots, trees, fits, [&]<class Num>(Targets targets, Num) {
        return SubsequenceColumns<Num>(targets, Num(0.5), length);
    });
    const Matrix slow =
        by_definition(examples, [&](int, const Letters &f, const Letters &g) { return subsequences(f, g, length, 0.5); });
    for (std::size_t i = 0; i < K.size(); ++i) expect(alike(K[i], slow[i]), "the subsequence kernel is not its definition");
    add_up(Lists::subsequences(store, first_and_last(trees), 0.5, length), K[roots.size() - 1]);
}

// --- trees by their nodes' parents -----------------------------------------------------------------------------------

void use_parents(FuzzedDataProvider &data) {
    PostOrder order;
    std::size_t taken = 0;
    for (int trees = 0; trees < 4 && data.remaining_bytes() > 0; ++trees) {
        std::vector<Id> numbers(data.ConsumeIntegralInRange<std::size_t>(0, 30));
        for (Id &number : numbers) number = data.ConsumeBool() ? data.ConsumeIntegral<Id>() : data.ConsumeIntegralInRange(-3, 30);
        PostOrder alone;
        const std::vector<Id> copy(numbers);
        if (alone.add_downwards(copy.data(), copy.size())) expect(alone.node.size() == copy.size(), "nodes that are missing");
        if (!order.add(numbers.data(), numbers.size())) return; // what is no tree ends the reading
        taken += numbers.size();
        expect(order.node.size() == taken, "nodes that are missing");
        std::int64_t open = 0;
        for (std::size_t i = taken - numbers.size(); i < taken; ++i) {
            open += 1 - order.arity[i];
            expect(open > 0, "a parent before its children");
        }
        expect(open == 1, "more than one root");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
    if (size == 0) return 0;
    FuzzedDataProvider data(bytes + 1, size - 1);
    switch (bytes[0] % 3) {
    case 0:
        use_tags(data);
        break;
    case 1:
        use_features(data);
        break;
    default:
        use_parents(data);
    }
    return 0;
}
