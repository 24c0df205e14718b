// Python bindings of grammars and charts.
#include "bindings.hpp"
#include "parses.hpp"
#include "sampler.hpp"

using namespace treelet;
using namespace treelet::python;

namespace {

void check_probabilities(const DoubleArray &logp) {
    for (std::size_t i = 0; i < logp.shape(0); ++i)
        if (!(logp.data()[i] <= 1e-9) || !(logp.data()[i] > impossible))
            refuse("log probability " + std::to_string(i) + " is not a number of at most 0");
}

std::shared_ptr<Grammar> make_grammar(std::vector<std::string> labels, Id first_word, IdArray left, IdArray right, IdArray head,
                                      DoubleArray logp, IdArray unary_child, IdArray unary_head, DoubleArray unary_logp,
                                      IdArray start, DoubleArray start_logp, std::size_t most_chains) {
    const std::size_t n = labels.size();
    if (left.shape(0) != right.shape(0) || left.shape(0) != head.shape(0) || left.shape(0) != logp.shape(0) ||
        unary_child.shape(0) != unary_head.shape(0) || unary_child.shape(0) != unary_logp.shape(0) ||
        start.shape(0) != start_logp.shape(0))
        refuse("the columns of a rule table must have the same length");
    if (first_word < 0 || static_cast<std::size_t>(first_word) > n) refuse("first_word out of range");
    for (const IdArray *ids : {&left, &right, &head, &unary_child, &unary_head, &start}) check_ids(*ids, n, "symbol");
    for (const DoubleArray *p : {&logp, &unary_logp, &start_logp}) check_probabilities(*p);
    auto g = std::make_shared<Grammar>();
    g->labels = std::move(labels);
    g->first_word = first_word;
    std::vector<Grammar::Rule> binary, unary;
    for (std::size_t i = 0; i < left.shape(0); ++i) {
        binary.push_back({left.data()[i], right.data()[i], head.data()[i], logp.data()[i]});
        if (g->hidden(right.data()[i])) refuse("a hidden symbol cannot be a right child");
        if (head.data()[i] >= first_word) refuse("a word cannot be a head");
    }
    for (std::size_t i = 0; i < unary_child.shape(0); ++i) {
        unary.push_back({unary_child.data()[i], none, unary_head.data()[i], unary_logp.data()[i]});
        if (g->hidden(unary_child.data()[i]) || g->hidden(unary_head.data()[i]))
            refuse("a hidden symbol cannot be in a unary rule");
        if (unary_head.data()[i] >= first_word || unary_child.data()[i] >= first_word) refuse("a word cannot be in a unary rule");
    }
    for (std::size_t i = 0; i < start.shape(0); ++i) {
        if (g->hidden(start.data()[i])) refuse("a hidden symbol cannot be the start");
        g->start.push_back({start.data()[i], start_logp.data()[i]});
    }
    WithoutGil free;
    g->build(std::move(binary), unary, most_chains);
    return g;
}

Sentence make_sentence(const Grammar &g, std::vector<std::string> words, LongArray start, IdArray symbol, DoubleArray logp) {
    Sentence s;
    const std::size_t n = words.size();
    if (n > 20000) refuse("a sentence has more than 20,000 words");
    if (start.shape(0) != n + 1 || symbol.shape(0) != logp.shape(0) || start.data()[0] != 0 ||
        start.data()[n] != static_cast<std::int64_t>(symbol.shape(0)) || !std::is_sorted(start.data(), start.data() + n + 1))
        refuse("start, symbol and logp do not fit together");
    check_ids(symbol, g.size(), "symbol");
    check_probabilities(logp);
    for (std::size_t i = 0; i < symbol.shape(0); ++i)
        if (g.hidden(symbol.data()[i])) refuse("a hidden symbol cannot be the tag of a word");
    s.words = std::move(words);
    s.start.assign(start.data(), start.data() + n + 1);
    s.symbol.assign(symbol.data(), symbol.data() + symbol.shape(0));
    s.logp.assign(logp.data(), logp.data() + logp.shape(0));
    return s;
}

std::shared_ptr<Sampler> make_sampler(std::vector<std::string> labels, std::size_t first_word, LongArray rule_start,
                                      LongArray tail_start, IdArray tail, DoubleArray weight, IdArray start,
                                      DoubleArray start_weight) {
    const std::size_t symbols = first_word, rules = weight.shape(0);
    const auto covers = [](const LongArray &starts, std::size_t n, std::size_t end) {
        return starts.shape(0) == n + 1 && starts.data()[0] == 0 && starts.data()[n] == static_cast<std::int64_t>(end) &&
               std::adjacent_find(starts.data(), starts.data() + n + 1, std::greater_equal()) == starts.data() + n + 1;
    };
    if (first_word > labels.size()) refuse("first_word out of range");
    if (!covers(rule_start, symbols, rules)) refuse("every symbol must have rules");
    if (!covers(tail_start, rules, tail.shape(0))) refuse("every rule must have a tail");
    check_ids(tail, labels.size(), "symbol");
    check_ids(start, symbols, "start");
    if (start.shape(0) == 0 || start.shape(0) != start_weight.shape(0))
        refuse("at least one start symbol is needed, with one weight per symbol");
    for (const DoubleArray *w : {&weight, &start_weight})
        for (std::size_t i = 0; i < w->shape(0); ++i)
            if (!(w->data()[i] > 0) || !(w->data()[i] < 1e150)) refuse("every weight must be above 0 and finite");
    for (std::size_t i = 0; i < start.shape(0); ++i)
        if (labels[start.data()[i]].empty()) refuse("a hidden symbol cannot be the start");
    for (std::size_t i = first_word; i < labels.size(); ++i)
        if (labels[i].empty()) refuse("a word cannot be hidden");
    auto made = std::make_shared<Sampler>();
    made->labels = std::move(labels);
    made->first_word = first_word;
    made->rule_start.assign(rule_start.data(), rule_start.data() + rule_start.shape(0));
    made->tail_start.assign(tail_start.data(), tail_start.data() + tail_start.shape(0));
    made->tail.assign(tail.data(), tail.data() + tail.shape(0));
    for (std::size_t s = 0; s < symbols; ++s) {
        const std::int64_t begin = made->rule_start[s];
        made->choice.emplace_back(weight.data() + begin, static_cast<std::size_t>(made->rule_start[s + 1] - begin));
    }
    made->start.assign(start.data(), start.data() + start.shape(0));
    made->start_choice = Alias(start_weight.data(), start_weight.shape(0));
    return made;
}

using Trees =
    std::tuple<std::shared_ptr<Store>, nb::ndarray<nb::numpy, Id, nb::ndim<1>>, nb::ndarray<nb::numpy, double, nb::ndim<1>>>;

} // namespace

void treelet::python::bind_parsing(nb::module_ &m) {
    nb::class_<Grammar>(m, "Grammar", "A binarized weighted grammar, ready for charts.").def("__len__", &Grammar::size);
    m.def("grammar", &make_grammar, "labels"_a, "first_word"_a, "left"_a, "right"_a, "head"_a, "logp"_a, "unary_child"_a,
          "unary_head"_a, "unary_logp"_a, "start"_a, "start_logp"_a, "most_chains"_a = std::numeric_limits<std::size_t>::max());

    nb::class_<Sampler>(m, "Sampler", "A grammar from which trees are drawn.")
        .def_static("of", &make_sampler, "labels"_a, "first_word"_a, "rule_start"_a, "tail_start"_a, "tail"_a, "weight"_a,
                    "start"_a, "start_weight"_a)
        .def(
            "sample",
            [](const Sampler &self, std::size_t n, std::uint64_t seed, std::size_t max_words) {
                auto store = std::make_shared<Store>();
                std::vector<Id> roots;
                {
                    WithoutGil free;
                    roots = self.sample(n, seed, max_words, *store, check_signals);
                }
                return std::make_pair(store, to_numpy(std::move(roots)));
            },
            "n"_a, "seed"_a, "max_words"_a);

    nb::class_<Mask>(m, "Mask", "Which symbols may stand over which span.");

    nb::class_<Chart>(
        m, "Chart",
        "The best log probability of every symbol over every span of a sentence. It does not change: threads may share it.")
        .def(
            "__init__",
            [](Chart *self, std::shared_ptr<Grammar> g, std::vector<std::string> words, LongArray start, IdArray symbol,
               DoubleArray logp, double beam, DoubleArray prior, const Mask *mask, std::size_t most_bytes) {
                Sentence sentence = make_sentence(*g, std::move(words), start, symbol, logp);
                if (!(beam > 0)) refuse("beam must be positive");
                if (!std::isinf(beam) && prior.shape(0) != g->size()) refuse("prior must have one value per symbol");
                const std::size_t cells = sentence.size() * (sentence.size() + 1) / 2;
                if (mask && (mask->number.size() != g->size() || mask->allowed.size() != cells * mask->width))
                    refuse("the mask belongs to another sentence or grammar");
                const std::vector<double> priors(prior.data(), prior.data() + prior.shape(0));
                WithoutGil free;
                new (self) Chart(std::move(g), std::move(sentence), beam, priors, mask, check_signals, most_bytes);
            },
            "grammar"_a, "words"_a, "start"_a, "symbol"_a, "logp"_a, "beam"_a, "prior"_a, "mask"_a.none(),
            "most_bytes"_a = std::numeric_limits<std::size_t>::max())
        .def_prop_ro("best", &Chart::best)
        .def(
            "kbest",
            [](const Chart &self, std::size_t k) -> Trees {
                auto store = std::make_shared<Store>();
                std::vector<Id> roots;
                std::vector<double> logps;
                {
                    WithoutGil free;
                    kbest(self, k, *store, roots, logps);
                }
                return {store, to_numpy(std::move(roots)), to_numpy(std::move(logps))};
            },
            "k"_a)
        .def(
            "forest",
            [](const Chart &self, double threshold, std::size_t max_edges) {
                WithoutGil free;
                return std::make_shared<Forest>(forest(self, threshold, max_edges));
            },
            "threshold"_a, "max_edges"_a)
        .def(
            "mask",
            [](const Chart &self, double threshold, IdArray number, std::size_t width, IdArray of_fine) {
                if (width == 0) refuse("a mask needs a width");
                for (std::size_t i = 0; i < number.shape(0); ++i)
                    if (number.data()[i] >= static_cast<std::int64_t>(width) || number.data()[i] < none)
                        refuse("number out of range");
                for (std::size_t i = 0; i < of_fine.shape(0); ++i)
                    if (of_fine.data()[i] >= static_cast<std::int64_t>(width) || of_fine.data()[i] < none)
                        refuse("number out of range");
                if (number.shape(0) != self.grammar().size()) refuse("number must have one value per symbol");
                const std::vector<Id> numbers(number.data(), number.data() + number.shape(0));
                auto mask = std::make_shared<Mask>();
                mask->number.assign(of_fine.data(), of_fine.data() + of_fine.shape(0));
                WithoutGil free;
                treelet::mask(self, threshold, numbers, width, *mask);
                return mask;
            },
            "threshold"_a, "number"_a, "width"_a, "of_fine"_a)
        .def("pieces", [](const Chart &self) {
            auto store = std::make_shared<Store>();
            std::vector<Id> roots;
            {
                WithoutGil free;
                roots = pieces(self, *store);
            }
            return std::make_pair(store, to_numpy(std::move(roots)));
        });
}
