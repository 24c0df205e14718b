// Python bindings of forests, their store, and the forest kernel.
#include "bindings_columns.hpp"
#include "bindings_store.hpp"
#include "forest_kernel.hpp"

using namespace treelet;
using namespace treelet::python;

namespace treelet::python {

template <> struct StoreOf<ForestColumns> {
    using type = ForestStore;
};
template <> struct ParametersOf<ForestColumns> {
    template <class Num> static auto of(double lam, bool leaves) { return std::tuple(as_parameter<Num>(lam, 0), leaves); }
};

} // namespace treelet::python

namespace {

std::shared_ptr<Forest> make_forest(std::vector<std::string> labels, IdArray label, IdArray begin, IdArray end, IdArray head,
                                    LongArray tail_start, IdArray tail, DoubleArray logp, Id root) {
    Forest::Parts parts;
    const std::size_t n = label.shape(0), m = head.shape(0);
    if (begin.shape(0) != n || end.shape(0) != n) refuse("label, begin and end must have the same length");
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

// Rebuilds a store from saved columns: children before parents, every sub-forest once, edges in
// order.
std::shared_ptr<ForestStore> forest_store(const std::vector<std::string> &labels, IdArray label, LongArray edge_start,
                                          LongArray child_start, IdArray child, DoubleArray p) {
    const auto starts = [](const LongArray &start, std::size_t n, std::size_t last) {
        return start.shape(0) == n + 1 && start.data()[0] == 0 && start.data()[n] == static_cast<std::int64_t>(last) &&
               std::is_sorted(start.data(), start.data() + n + 1);
    };
    if (!starts(edge_start, label.shape(0), p.shape(0)) || !starts(child_start, p.shape(0), child.shape(0)))
        refuse("edge_start, child_start, child and p do not fit together");
    check_ids(label, labels.size(), "label");
    auto store = std::make_shared<ForestStore>();
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (store->add_label(labels[i]) != static_cast<Id>(i)) refuse("label " + std::to_string(i) + " occurs twice");
    std::vector<ForestStore::Edge> edges;
    for (std::size_t v = 0; v < label.shape(0); ++v) {
        edges.clear();
        for (std::int64_t e = edge_start.data()[v]; e < edge_start.data()[v + 1]; ++e) {
            ForestStore::Edge edge{p.data()[e], {child.data() + child_start.data()[e], child.data() + child_start.data()[e + 1]}};
            if (!(edge.p > 0 && edge.p <= 1 + 1e-6) || edge.child.empty())
                refuse("edge " + std::to_string(e) + " has no probability, or no children");
            for (Id c : edge.child)
                if (c < 0 || c >= static_cast<Id>(v))
                    refuse("node " + std::to_string(v) + " has a child that does not come before it");
            edges.push_back(std::move(edge));
        }
        if (store->add_node(label.data()[v], edges) != static_cast<Id>(v)) refuse("node " + std::to_string(v) + " occurs twice");
    }
    if (store->edges() != p.shape(0)) refuse("an edge occurs twice");
    return store;
}

} // namespace

void treelet::python::bind_forests(nb::module_ &m, nb::class_<NodeWeights> &weights) {
    using Trees = std::tuple<StorePtr, nb::ndarray<nb::numpy, Id, nb::ndim<1>>, nb::ndarray<nb::numpy, double, nb::ndim<1>>>;
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
            "kbest",
            [](const Forest &f, std::size_t k) -> Trees {
                auto store = std::make_shared<Store>();
                std::vector<Id> roots;
                std::vector<double> logps;
                if (f.root != none) {
                    WithoutGil free;
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
                    WithoutGil free;
                    roots = f.sample(n, seed, *store, check_signals);
                }
                return std::make_pair(store, to_numpy(std::move(roots)));
            },
            "n"_a, "seed"_a);
    m.def("forest", &make_forest, "labels"_a, "label"_a, "begin"_a, "end"_a, "head"_a, "tail_start"_a, "tail"_a, "logp"_a,
          "root"_a);

    bind_store<ForestStore>(m, "ForestStore", "Hash-consed sub-forests: equal ones are one node, children come before parents.")
        .def_prop_ro(
            "label", [](const ForestStore &s) { return to_numpy(s.label.all()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "edge_start", [](const ForestStore &s) { return to_numpy(s.edge_start.all()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "production", [](const ForestStore &s) { return to_numpy(s.production.all()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "child_start", [](const ForestStore &s) { return to_numpy(s.child_start.all()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "child", [](const ForestStore &s) { return to_numpy(s.child.all()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "p", [](const ForestStore &s) { return to_numpy(s.p.all()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "height", [](const ForestStore &s) { return to_numpy(s.heights()); }, nb::rv_policy::automatic)
        .def_static("from_columns", &forest_store, "labels"_a, "label"_a, "edge_start"_a, "child_start"_a, "child"_a, "p"_a)
        .def("grown", &grown<ForestStore, Store>, "other"_a, "roots"_a, "The same for trees: forests of one tree each.")
        .def_static(
            "of_forests",
            [](const std::vector<std::shared_ptr<Forest>> &forests) {
                auto store = std::make_shared<ForestStore>();
                std::vector<Id> roots;
                {
                    WithoutGil free;
                    for (const auto &forest : forests) roots.push_back(forest ? store->take(*forest) : none);
                }
                return std::make_pair(store, to_numpy(std::move(roots)));
            },
            "forests"_a.noconvert())
        .def(
            "nodes_of",
            [](std::shared_ptr<const ForestStore> self, const Forest &forest) {
                ForestStore store = self->size() > 0 ? ForestStore(self) : ForestStore();
                std::vector<Id> here = store.take_nodes(forest);
                for (Id &v : here)
                    if (v >= static_cast<Id>(self->size())) v = none;
                return to_numpy(std::move(here));
            },
            "forest"_a, "What each node of a forest is here; -1 if it is not.")
        .def(
            "forest",
            [](const ForestStore &self, Id root) {
                if (root < none || root >= static_cast<Id>(self.size())) refuse("root out of range");
                return std::make_shared<Forest>(self.forest(root));
            },
            "root"_a, "The forest below a root, its words counted from 0.");
    bind_weights<ForestStore>(weights);
    bind_columns<ForestColumns, double, bool>(m, "ForestColumns", "Columns of a forest-kernel matrix.", "lam"_a, "leaves"_a);
}
