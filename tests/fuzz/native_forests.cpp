// Grammars, charts and forests under libFuzzer: bytes choose a grammar and a sentence. The best parses, the packed forest, the
// chart with a mask and the store of forests must tell the same story; forests of one tree have the tree's kernel value.
#include "forest_kernel.hpp"
#include "fragment_graphs.hpp"
#include "native_checks.hpp"
#include "parses.hpp"
#include "sampler.hpp"
#include "subset_tree.hpp"
#include <fuzzer/FuzzedDataProvider.h>

using namespace treelet;
using namespace treelet::fuzz;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

bool near(double a, double b) { return a == b || std::fabs(a - b) <= 1e-6 * (1 + std::fabs(a)); }

double log_probability(FuzzedDataProvider &data, bool wild) {
    if (wild && data.ConsumeProbability<float>() < 0.1) return data.ConsumeBool() ? -1e300 : -1e5;
    return -data.ConsumeIntegralInRange(0, 64) / 16.0;
}

// Symbols: visible ones, which may share labels, then hidden ones, then words.
std::shared_ptr<Grammar> grammar(FuzzedDataProvider &data, bool wild) {
    auto g = std::make_shared<Grammar>();
    const int visible = data.ConsumeIntegralInRange(1, 5), hidden = data.ConsumeIntegralInRange(0, 2), words = 2;
    for (int i = 0; i < visible; ++i) g->labels.push_back("N" + std::to_string(data.ConsumeIntegralInRange(0, visible)));
    g->labels.resize(static_cast<std::size_t>(visible + hidden));
    for (int i = 0; i < words; ++i) g->labels.push_back("w" + std::to_string(i));
    g->first_word = visible + hidden;
    const auto shown = [&](bool word) { // a symbol that is not hidden
        const int which = data.ConsumeIntegralInRange(0, visible - 1 + (word ? words : 0));
        return which < visible ? which : which + hidden;
    };
    std::vector<Grammar::Rule> binary, unary;
    for (int i = data.ConsumeIntegralInRange(0, 10); i > 0; --i) {
        const Id left = data.ConsumeIntegralInRange(0, visible + hidden + words - 1), right = shown(true);
        binary.push_back({left, right, data.ConsumeIntegralInRange(0, visible + hidden - 1), log_probability(data, wild)});
    }
    for (int i = data.ConsumeIntegralInRange(0, 6); i > 0; --i) {
        const Id child = shown(false), head = shown(false);
        unary.push_back({child, none, head, log_probability(data, wild)});
    }
    for (int i = data.ConsumeIntegralInRange(0, 3); i > 0; --i) g->start.push_back({shown(false), log_probability(data, wild)});
    g->build(std::move(binary), unary, 1000);
    return g;
}

Sentence sentence(FuzzedDataProvider &data, const Grammar &g, bool wild) {
    Sentence out;
    for (int n = data.ConsumeIntegralInRange(0, 7); n > 0; --n) {
        out.words.push_back("v" + std::to_string(n % 3));
        std::set<Id> seen;
        for (int i = data.ConsumeIntegralInRange(0, 3); i > 0; --i) {
            const Id symbol = data.ConsumeIntegralInRange(0, static_cast<int>(g.size()) - 1);
            if (g.hidden(symbol) || !seen.insert(symbol).second) continue;
            out.symbol.push_back(symbol); // a word is itself, which costs nothing
            out.logp.push_back(symbol < g.first_word ? log_probability(data, wild) : 0);
        }
        out.start.push_back(static_cast<std::int64_t>(out.symbol.size()));
    }
    return out;
}

std::size_t words_of(const Store &store, Id node) {
    if (store.arity(node) == 0) return 1;
    std::size_t sum = 0;
    for (std::size_t k = 0; k < store.arity(node); ++k) sum += words_of(store, store.children(node)[k]);
    return sum;
}

// What the forest, stored and taken out again, says; and the kernel between it and trees drawn from it.
void use_forest(const Forest &made, bool wild) {
    auto store = std::make_shared<ForestStore>();
    const Id root = store->take(made);
    if (root == none) return;
    const Forest back = store->forest(root);
    expect(back.root != none, "a forest that is empty when it is taken out");
    if (!wild) {
        expect(near(back.inside(false)[back.root], 0), "probabilities that do not add up to 1");
        expect(back.count()[back.root] <= made.count()[made.root], "more trees than there were");
    }
    Store trees;
    const std::vector<Id> drawn = made.sample(3, 7, trees, nothing);
    std::vector<Id> roots = store->absorb(trees, drawn.data(), drawn.size());
    roots.insert(roots.begin(), root);
    const NodeWeights weights = count_nodes(*store, roots.data(), roots.size());
    bool fits = true, all = true;
    for (const bool leaves : {false, true}) {
        const Matrix K = compared<ForestColumns>(*store, roots, weights, fits, [&]<class Num>(TargetsOf<ForestStore> targets, Num) {
            return ForestColumns<Num>(targets, Num(0.4), leaves);
        });
        if (!fits) continue;
        add_up(ProductionGraph(ForestEdges{*store, leaves}, first_and_last(weights), 0.4, 0), K[roots.size() - 1]);
        const NodeWeights counts = count_nodes(trees, drawn.data(), drawn.size());
        SubsetTreeColumns<double> columns(Targets{&trees, counts}, 0.4, 0, leaves);
        const Matrix T = filled(columns, drawn.size(), trees, counts, all);
        for (std::size_t i = 0, n = drawn.size(); i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                expect(alike_or_tiny(K[(i + 1) * (n + 1) + j + 1], T[i * n + j]), "another value for a forest of one tree");
    }
}

void use_chart(FuzzedDataProvider &data) {
    const bool wild = data.ConsumeBool();
    const std::shared_ptr<Grammar> g = grammar(data, wild);
    const Sentence words = sentence(data, *g, wild);
    const std::vector<double> prior(g->size(), 0.0);
    const Chart chart(g, words, infinite, prior, nullptr, nothing, 1 << 26);
    Store store;
    std::size_t covered = 0;
    for (const Id piece : pieces(chart, store)) covered += words_of(store, piece);
    expect(covered == words.size(), "pieces that do not cover the sentence");
    const Chart narrow(g, words, 0.5 + data.ConsumeIntegralInRange(0, 8), prior, nullptr, nothing);
    std::vector<Id> roots;
    std::vector<double> logps;
    kbest(chart, 6, store, roots, logps);
    if (chart.best() == impossible) return expect(roots.empty(), "a parse where there is none");
    if (!wild) {
        expect(!roots.empty() && near(logps[0], chart.best()), "the best parse is another one");
        expect(narrow.best() <= chart.best() + 1e-6, "a beam that finds more");
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
        expect(words_of(store, roots[i]) == words.size(), "a parse of another sentence");
        expect(i == 0 || logps[i] <= logps[i - 1] + 1e-6 * (1 + std::fabs(logps[i])), "parses that are not in order");
        expect(std::count(roots.begin(), roots.end(), roots[i]) == 1, "a tree twice");
    }
    std::vector<Id> number(g->size());
    for (std::size_t i = 0; i < number.size(); ++i) number[i] = static_cast<Id>(i);
    Mask allowed;
    allowed.number = number;
    mask(chart, 1.0, number, number.size(), allowed);
    const Chart masked(g, words, infinite, prior, &allowed, nothing);
    if (!wild) expect(near(masked.best(), chart.best()), "a mask that hides the best parse");
    const Forest all = forest(chart, infinite, 3000), some = forest(chart, 1.0, 3000);
    for (const Forest *one : {&all, &some}) {
        if (one->root == none) {
            expect(wild, "an empty forest of a sentence with a parse");
            continue;
        }
        if (!wild) expect(near(one->inside(true)[one->root], chart.best()), "another best parse in the forest");
        Store trees;
        Forest::Graph graph(*one, trees);
        LazyKBest<Forest::Graph> search(graph, nothing);
        double score = 0;
        if (search.find(one->root, 0, score) && !wild) expect(near(score, chart.best()), "another best tree in the forest");
        one->pruned(0.5), one->merged();
        use_forest(*one, wild);
    }
}

void use_sampler(FuzzedDataProvider &data) {
    Sampler s;
    const int symbols = data.ConsumeIntegralInRange(1, 4), words = 2;
    for (int i = 0; i < symbols; ++i) s.labels.push_back(i > 0 && data.ConsumeBool() ? "" : "N" + std::to_string(i));
    for (int i = 0; i < words; ++i) s.labels.push_back("w" + std::to_string(i));
    s.first_word = static_cast<std::size_t>(symbols);
    s.rule_start.push_back(0), s.tail_start.push_back(0);
    for (int i = 0; i < symbols; ++i) {
        std::vector<double> weight;
        for (int rules = data.ConsumeIntegralInRange(1, 3); rules > 0; --rules) {
            weight.push_back(rules > 1 ? (1 + data.ConsumeIntegral<std::uint8_t>()) / 64.0 : data.ConsumeBool() ? 1e149 : 20);
            for (int n = data.ConsumeIntegralInRange(1, 3); n > 0; --n)
                s.tail.push_back(rules > 1 ? data.ConsumeIntegralInRange(0, symbols + words - 1) : symbols);
            s.tail_start.push_back(static_cast<std::int64_t>(s.tail.size()));
        }
        s.choice.emplace_back(weight.data(), weight.size());
        s.rule_start.push_back(static_cast<std::int64_t>(s.tail_start.size()) - 1);
    }
    const double one = 1;
    s.start.push_back(0), s.start_choice = Alias(&one, 1);
    Store store;
    for (const Id root : s.sample(4, data.ConsumeIntegral<std::uint64_t>(), 30, store, nothing)) {
        const std::size_t found = words_of(store, root);
        expect(found >= 1 && found <= 30, "a tree with too many words");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
    if (size == 0) return 0;
    FuzzedDataProvider data(bytes + 1, size - 1);
    try {
        bytes[0] % 8 == 0 ? use_sampler(data) : use_chart(data);
    } catch (const std::length_error &) { // more edges or chains than are allowed: said by name
    } catch (const TooMuchMemory &) {
    }
    return 0;
}
