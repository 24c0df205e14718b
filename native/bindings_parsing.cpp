// Python bindings of grammars, charts, forests and the kernel between forests.
#include "bindings.hpp"
#include "chart.hpp"
#include "forest_kernel.hpp"

using namespace treelet;
using namespace treelet::python;

namespace {

using Span = std::pair<std::int64_t, std::int64_t>;
using ForestStorePtr = std::shared_ptr<ForestStore>;

void check_probabilities(const DoubleArray &logp) {
    for (std::size_t i = 0; i < logp.shape(0); ++i)
        if (!(logp.data()[i] <= 1e-9) || !(logp.data()[i] > impossible))
            refuse("log probability " + std::to_string(i) + " is not a number of at most 0");
}

std::shared_ptr<Grammar> make_grammar(std::vector<std::string> labels, Id first_word, IdArray left, IdArray right, IdArray head,
                                      DoubleArray logp, IdArray unary_child, IdArray unary_head, DoubleArray unary_logp,
                                      IdArray start, DoubleArray start_logp) {
    const std::size_t n = labels.size();
    if (left.shape(0) != right.shape(0) || left.shape(0) != head.shape(0) || left.shape(0) != logp.shape(0) ||
        unary_child.shape(0) != unary_head.shape(0) || unary_child.shape(0) != unary_logp.shape(0) ||
        start.shape(0) != start_logp.shape(0))
        refuse("the columns of a rule table must be of one length");
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
    g->build(std::move(binary), unary);
    return g;
}

Sentence make_sentence(const Grammar &g, std::vector<std::string> words, LongArray start, IdArray symbol, DoubleArray logp) {
    Sentence s;
    const std::size_t n = words.size();
    if (n > 20000) refuse("a sentence of more than 20,000 words");
    if (start.shape(0) != n + 1 || symbol.shape(0) != logp.shape(0) || start.data()[0] != 0 ||
        start.data()[n] != static_cast<std::int64_t>(symbol.shape(0)) || !std::is_sorted(start.data(), start.data() + n + 1))
        refuse("start, symbol and logp do not fit together");
    check_ids(symbol, g.size(), "symbol");
    check_probabilities(logp);
    for (std::size_t i = 0; i < symbol.shape(0); ++i)
        if (g.hidden(symbol.data()[i])) refuse("a hidden symbol cannot stand over a word");
    s.words = std::move(words);
    s.start.assign(start.data(), start.data() + n + 1);
    s.symbol.assign(symbol.data(), symbol.data() + symbol.shape(0));
    s.logp.assign(logp.data(), logp.data() + logp.shape(0));
    return s;
}

std::shared_ptr<Forest> make_forest(std::vector<std::string> labels, IdArray label, IdArray begin, IdArray end, IdArray head,
                                    LongArray tail_start, IdArray tail, DoubleArray logp, Id root) {
    Forest::Parts parts;
    const std::size_t n = label.shape(0), m = head.shape(0);
    if (begin.shape(0) != n || end.shape(0) != n) refuse("label, begin and end must be of one length");
    if (logp.shape(0) != m || tail_start.shape(0) != m + 1 || tail_start.data()[0] != 0 ||
        tail_start.data()[m] != static_cast<std::int64_t>(tail.shape(0)) ||
        !std::is_sorted(tail_start.data(), tail_start.data() + m + 1))
        refuse("head, tail_start, tail and logp do not fit together");
    check_ids(label, labels.size(), "label");
    check_ids(head, n, "head");
    check_ids(tail, n, "tail");
    if (root < none || root >= static_cast<Id>(n)) refuse("root out of range");
    for (std::size_t e = 0; e < m; ++e) {
        if (tail_start.data()[e] == tail_start.data()[e + 1]) refuse("edge " + std::to_string(e) + " has no tails");
        if (!(std::fabs(logp.data()[e]) < 1e9))
            refuse("the log probability of edge " + std::to_string(e) + " is not a number below 1e9");
    }
    for (std::size_t e = 0; e < m; ++e) {
        Id at = begin.data()[head.data()[e]];
        for (std::int64_t t = tail_start.data()[e]; t < tail_start.data()[e + 1]; ++t) {
            if (begin.data()[tail.data()[t]] != at) at = none;
            if (at == none) break;
            at = end.data()[tail.data()[t]];
        }
        if (at != end.data()[head.data()[e]])
            refuse("the tails of edge " + std::to_string(e) + " do not cover the span of its head, one after the other");
    }
    parts.labels = std::move(labels);
    std::vector<char> heads(n, 0);
    for (std::size_t e = 0; e < m; ++e) heads[head.data()[e]] = 1;
    for (std::size_t v = 0; v < n; ++v) parts.add_node(label.data()[v], begin.data()[v], end.data()[v], !heads[v]);
    for (std::size_t e = 0; e < m; ++e)
        parts.add_edge(head.data()[e], tail.data() + tail_start.data()[e],
                       static_cast<std::size_t>(tail_start.data()[e + 1] - tail_start.data()[e]), logp.data()[e]);
    parts.root = root;
    Id cycle;
    auto forest = std::make_shared<Forest>(Forest::make(parts, cycle));
    if (cycle != none) refuse("node " + std::to_string(cycle) + " is below itself: a forest has no cycles");
    for (Id v = 0; v < static_cast<Id>(forest->nodes()); ++v) {
        if (!forest->hidden(v)) continue;
        bool choice = v == forest->root && !forest->is_word(v);
        for (std::int64_t e = forest->edge_start[v]; e < forest->edge_start[v + 1]; ++e)
            choice = choice && forest->tail_start[e + 1] == forest->tail_start[e] + 1;
        if (!choice) refuse("only a root that is a choice between nodes may have an empty label");
    }
    return forest;
}

// As Columns in bindings.cpp, for forests.
class ForestKernelColumns {
  public:
    ForestKernelColumns(ForestStorePtr store, const NodeWeights &weights, bool scaled, double lam)
        : store_(std::move(store)), size_(weights.rows()) {
        check(*store_, weights, 0, weights.rows());
        nb::gil_scoped_release free;
        if (scaled)
            scaled_ = std::make_unique<ForestColumns<Scaled>>(store_->nodes, weights, Scaled(lam));
        else
            plain_ = std::make_unique<ForestColumns<double>>(store_->nodes, weights, lam);
    }

    std::optional<Span> rows(ForestStorePtr store, const NodeWeights &trees, std::optional<IdArray> limit, std::size_t begin,
                             std::size_t end, Matrix out) {
        if (begin > end || end > trees.rows()) refuse("rows out of range");
        const std::size_t columns = limit ? end : size_;
        if (out.shape(0) != end - begin || out.shape(1) != columns || columns > size_ || (out.stride(1) != 1 && columns > 1))
            refuse("out has the wrong shape or layout");
        if (limit && (limit->shape(0) != trees.rows() || !std::is_sorted(limit->data(), limit->data() + limit->shape(0))))
            refuse("limit must be ascending, one a row");
        check(*store, trees, begin, end);
        Rows rows{nullptr, &trees, limit ? limit->data() : nullptr, begin, end, out.data(), out.stride(0)};
        {
            nb::gil_scoped_release free;
            if (plain_)
                plain_->rows(store->nodes, rows, check_signals);
            else
                scaled_->rows(store->nodes, rows, check_signals);
        }
        if (rows.overflow_row == none) return std::nullopt;
        return Span(rows.overflow_row, rows.overflow_column);
    }

    static nb::ndarray<nb::numpy, double, nb::ndim<1>> self_values(ForestStorePtr store, const NodeWeights &trees, bool logs,
                                                                   double lam) {
        check(*store, trees, 0, trees.rows());
        std::vector<double> values(trees.rows());
        {
            nb::gil_scoped_release free;
            std::vector<Id> scratch;
            for (std::size_t t = 0; t < trees.rows(); ++t) {
                ForestNodes small;
                NodeWeights weights;
                store->nodes.isolate(trees, t, scratch, small, weights);
                double value = 0;
                Rows rows{nullptr, &weights, nullptr, 0, 1, &value, 1};
                ForestColumns<double>(small, weights, lam).rows(small, rows, check_signals);
                if (logs) value = std::log(value);
                if (rows.overflow_row != none && !logs) value = std::numeric_limits<double>::infinity();
                if (rows.overflow_row != none && logs)
                    ForestColumns<Scaled>(small, weights, Scaled(lam)).rows(small, rows, check_signals);
                values[t] = value;
            }
        }
        return to_numpy(std::move(values));
    }

    static std::optional<Span> gradient(ForestStorePtr store, const NodeWeights &trees, const NodeWeights &targets, Matrix out,
                                        Matrix by_lam, Matrix by_mu, double lam) {
        check(*store, trees, 0, trees.rows());
        check(*store, targets, 0, targets.rows());
        for (const Matrix *m : {&out, &by_lam, &by_mu})
            if (m->shape(0) != trees.rows() || m->shape(1) != targets.rows() || m->stride(1) != 1 ||
                m->stride(0) != static_cast<std::int64_t>(targets.rows()))
                refuse("the three matrices must be contiguous, one row a forest, one column a target");
        Rows rows{nullptr, &trees, nullptr, 0, trees.rows(), out.data(), static_cast<std::int64_t>(targets.rows())};
        rows.gradient[0] = by_lam.data(), rows.gradient[1] = by_mu.data();
        {
            nb::gil_scoped_release free;
            ForestColumns<Dual>(store->nodes, targets, Dual::parameter(lam, 0)).rows(store->nodes, rows, check_signals);
        }
        if (rows.overflow_row == none) return std::nullopt;
        return Span(rows.overflow_row, rows.overflow_column);
    }

    std::size_t bytes() const { return plain_ ? plain_->bytes() : scaled_->bytes(); }
    std::size_t matched() const { return plain_ ? plain_->matched() : scaled_->matched(); }

  private:
    static void check(const ForestStore &store, const NodeWeights &w, std::size_t begin, std::size_t end) {
        for (std::int64_t i = w.start[begin]; i < w.start[end]; ++i)
            if (static_cast<std::size_t>(w.node[i]) >= store.label.size()) refuse("weights do not belong to this store");
    }
    ForestStorePtr store_;
    std::size_t size_;
    std::unique_ptr<ForestColumns<double>> plain_;
    std::unique_ptr<ForestColumns<Scaled>> scaled_;
};

using Trees =
    std::tuple<std::shared_ptr<Store>, nb::ndarray<nb::numpy, Id, nb::ndim<1>>, nb::ndarray<nb::numpy, double, nb::ndim<1>>>;

} // namespace

void treelet::python::bind_parsing(nb::module_ &m) {
    nb::class_<Grammar>(m, "Grammar", "A binarised weighted grammar, ready for charts.")
        .def_prop_ro("cyclic", [](const Grammar &g) { return g.cyclic; })
        .def("__len__", &Grammar::size);
    m.def("grammar", &make_grammar, "labels"_a, "first_word"_a, "left"_a, "right"_a, "head"_a, "logp"_a, "unary_child"_a,
          "unary_head"_a, "unary_logp"_a, "start"_a, "start_logp"_a);

    nb::class_<Mask>(m, "Mask", "Which symbols may stand over which span.");

    nb::class_<Chart>(m, "Chart", "The best log probability of every symbol over every span of a sentence.")
        .def(
            "__init__",
            [](Chart *self, std::shared_ptr<Grammar> g, std::vector<std::string> words, LongArray start, IdArray symbol,
               DoubleArray logp, double beam, DoubleArray prior, const Mask *mask) {
                Sentence sentence = make_sentence(*g, std::move(words), start, symbol, logp);
                if (!(beam > 0)) refuse("beam must be positive");
                if (!std::isinf(beam) && prior.shape(0) != g->size()) refuse("one prior a symbol");
                const std::size_t cells = sentence.size() * (sentence.size() + 1) / 2;
                if (mask && (mask->number.size() != g->size() || mask->allowed.size() != cells * mask->width))
                    refuse("the mask is of another sentence or grammar");
                const std::vector<double> priors(prior.data(), prior.data() + prior.shape(0));
                nb::gil_scoped_release free;
                new (self) Chart(std::move(g), std::move(sentence), beam, priors, mask, check_signals);
            },
            "grammar"_a, "words"_a, "start"_a, "symbol"_a, "logp"_a, "beam"_a, "prior"_a, "mask"_a.none())
        .def_prop_ro("best", &Chart::best)
        .def_prop_ro("items", &Chart::items)
        .def(
            "kbest",
            [](Chart &self, std::size_t k) -> Trees {
                auto store = std::make_shared<Store>();
                std::vector<Id> roots;
                std::vector<double> logps;
                {
                    nb::gil_scoped_release free;
                    self.kbest(k, *store, roots, logps);
                }
                return {store, to_numpy(std::move(roots)), to_numpy(std::move(logps))};
            },
            "k"_a)
        .def(
            "forest",
            [](Chart &self, double threshold, std::size_t max_edges) {
                nb::gil_scoped_release free;
                return std::make_shared<Forest>(self.forest(threshold, max_edges));
            },
            "threshold"_a, "max_edges"_a)
        .def(
            "mask",
            [](Chart &self, double threshold, IdArray number, std::size_t width, IdArray of_fine) {
                if (width == 0) refuse("a mask needs a width");
                for (std::size_t i = 0; i < number.shape(0); ++i)
                    if (number.data()[i] >= static_cast<std::int64_t>(width) || number.data()[i] < none)
                        refuse("number out of range");
                for (std::size_t i = 0; i < of_fine.shape(0); ++i)
                    if (of_fine.data()[i] >= static_cast<std::int64_t>(width) || of_fine.data()[i] < none)
                        refuse("number out of range");
                if (number.shape(0) != self.symbols()) refuse("one number a symbol");
                const std::vector<Id> numbers(number.data(), number.data() + number.shape(0));
                auto mask = std::make_shared<Mask>();
                mask->number.assign(of_fine.data(), of_fine.data() + of_fine.shape(0));
                nb::gil_scoped_release free;
                self.mask(threshold, numbers, width, *mask);
                return mask;
            },
            "threshold"_a, "number"_a, "width"_a, "of_fine"_a)
        .def("pieces", [](Chart &self) {
            auto store = std::make_shared<Store>();
            std::vector<Id> roots;
            {
                nb::gil_scoped_release free;
                roots = self.pieces(*store);
            }
            return std::make_pair(store, to_numpy(std::move(roots)));
        });

    nb::class_<Forest>(m, "Forest", "A packed forest: nodes in topological order, hyper-edges grouped by head.")
        .def_prop_ro("root", [](const Forest &f) { return f.root; })
        .def_prop_ro("labels", [](const Forest &f) { return f.labels; })
        .def_prop_ro(
            "label", [](const Forest &f) { return to_numpy(f.label); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "begin", [](const Forest &f) { return to_numpy(f.begin); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "end", [](const Forest &f) { return to_numpy(f.end); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "edge_start", [](const Forest &f) { return to_numpy(f.edge_start); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "tail_start", [](const Forest &f) { return to_numpy(f.tail_start); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "tail", [](const Forest &f) { return to_numpy(f.tail); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "logp", [](const Forest &f) { return to_numpy(f.logp); }, nb::rv_policy::automatic)
        .def(
            "inside", [](const Forest &f, bool viterbi) { return to_numpy(f.inside(viterbi)); }, "viterbi"_a = false)
        .def(
            "outside", [](const Forest &f, bool viterbi) { return to_numpy(f.outside(f.inside(viterbi), viterbi)); },
            "viterbi"_a = false)
        .def("count", [](const Forest &f) { return to_numpy(f.count()); })
        .def(
            "pruned", [](const Forest &f, double threshold) { return std::make_shared<Forest>(f.pruned(threshold)); },
            "threshold"_a)
        .def(
            "below",
            [](const Forest &f, Id node) {
                if (node < 0 || static_cast<std::size_t>(node) >= f.nodes()) refuse("node out of range");
                return std::make_shared<Forest>(f.part(node, std::vector<char>(f.edges(), 1)));
            },
            "node"_a)
        .def(
            "kbest",
            [](const Forest &f, std::size_t k) -> Trees {
                auto store = std::make_shared<Store>();
                std::vector<Id> roots;
                std::vector<double> logps;
                if (f.root != none) {
                    nb::gil_scoped_release free;
                    Forest::Graph graph(f, *store);
                    LazyKBest<Forest::Graph> search(graph, check_signals);
                    double score;
                    for (std::size_t i = 0; i < k && search.find(f.root, i, score); ++i) {
                        roots.push_back(search.value(f.root, i));
                        logps.push_back(score);
                    }
                }
                return {store, to_numpy(std::move(roots)), to_numpy(std::move(logps))};
            },
            "k"_a)
        .def(
            "sample",
            [](const Forest &f, std::size_t n, std::uint64_t seed) {
                auto store = std::make_shared<Store>();
                std::vector<Id> roots;
                {
                    nb::gil_scoped_release free;
                    roots = f.sample(n, seed, *store, check_signals);
                }
                return std::make_pair(store, to_numpy(std::move(roots)));
            },
            "n"_a, "seed"_a);
    m.def("forest", &make_forest, "labels"_a, "label"_a, "begin"_a, "end"_a, "head"_a, "tail_start"_a, "tail"_a, "logp"_a,
          "root"_a);

    nb::class_<ForestStore>(m, "ForestStore", "Hash-consed sub-forests: equal ones are one node, children come before parents.")
        .def(nb::init<>())
        .def("__len__", [](const ForestStore &s) { return s.label.size(); })
        .def_prop_ro("edges", [](const ForestStore &s) { return s.nodes.p.size(); })
        .def_static(
            "of_forests",
            [](const std::vector<std::shared_ptr<Forest>> &forests) {
                auto store = std::make_shared<ForestStore>();
                NodeWeights rows;
                {
                    nb::gil_scoped_release free;
                    for (const auto &forest : forests) {
                        if (!forest)
                            rows.start.push_back(static_cast<std::int64_t>(rows.node.size()));
                        else
                            store->take(*forest, rows);
                    }
                }
                return std::make_pair(store, rows);
            },
            "forests"_a.noconvert())
        .def_static(
            "of_trees",
            [](const Store &trees, const NodeWeights &counts) {
                for (Id node : counts.node)
                    if (static_cast<std::size_t>(node) >= trees.size()) refuse("trees do not belong to this store");
                auto store = std::make_shared<ForestStore>();
                nb::gil_scoped_release free;
                const std::vector<Id> here = store->absorb(trees);
                return std::make_pair(store, ForestStore::moved(counts, here));
            },
            "trees"_a, "counts"_a)
        .def(
            "grown",
            [](const ForestStore &self, const ForestStore &other, const NodeWeights &rows) {
                for (Id node : rows.node)
                    if (static_cast<std::size_t>(node) >= other.label.size()) refuse("rows do not belong to this store");
                nb::gil_scoped_release free;
                auto store = std::make_shared<ForestStore>(self);
                const std::vector<Id> here = store->absorb(other);
                return std::make_pair(store, ForestStore::moved(rows, here));
            },
            "other"_a, "rows"_a, "A copy that also holds other's sub-forests, and other's rows in it.");

    nb::class_<ForestKernelColumns>(m, "ForestColumns", "Columns of a forest-kernel matrix.")
        .def(nb::init<ForestStorePtr, const NodeWeights &, bool, double>(), "store"_a, "weights"_a, "scaled"_a, "lam"_a)
        .def("rows", &ForestKernelColumns::rows, "store"_a, "trees"_a, "limit"_a.none(), "begin"_a, "end"_a, "out"_a)
        .def_static("self_values", &ForestKernelColumns::self_values, "store"_a, "trees"_a, "logs"_a, "lam"_a)
        .def_static("gradient", &ForestKernelColumns::gradient, "store"_a, "trees"_a, "targets"_a, "out"_a, "by_lam"_a, "by_mu"_a,
                    "lam"_a)
        .def_prop_ro("bytes", &ForestKernelColumns::bytes)
        .def_prop_ro("matched", &ForestKernelColumns::matched);
}
