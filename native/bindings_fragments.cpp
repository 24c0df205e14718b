// Python bindings of the fragment search.
#include "bindings.hpp"
#include "fragment_graphs.hpp"

namespace treelet::python {

namespace {

using Nodes = std::vector<IdArray>;
using Values = std::vector<DoubleArray>;

// Values; the first step of each fragment; the node and the expansion of each step; sums per
// fragment and side; complete; exact.
using Told = std::tuple<nb::ndarray<nb::numpy, double, nb::ndim<1>>, nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>,
                        nb::ndarray<nb::numpy, Id, nb::ndim<1>>, nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>,
                        nb::ndarray<nb::numpy, double, nb::ndim<1>>, bool, bool>;

std::vector<Numbers> checked(const Nodes &nodes, const Values &values, std::size_t size, std::size_t limit) {
    if (nodes.empty() || nodes.size() > 2 || nodes.size() != values.size()) refuse("one or two sides are needed");
    if (limit == 0) refuse("limit must be at least 1");
    std::vector<Numbers> sides;
    for (std::size_t s = 0; s < nodes.size(); ++s) {
        if (nodes[s].shape(0) != values[s].shape(0)) refuse("one number per node is needed");
        check_ids(nodes[s], size, "node");
        sides.push_back({nodes[s].data(), values[s].data(), nodes[s].shape(0)});
    }
    return sides;
}

template <class Make>
Told found(const Nodes &nodes, const Values &values, std::size_t size, std::size_t limit, std::int64_t steps, Make make) {
    const std::vector<Numbers> sides = checked(nodes, values, size, limit);
    FoundFragments all;
    {
        WithoutGil free;
        const auto graph = make(sides);
        all = FragmentSearch(graph, sides.size(), limit, steps, check_signals).run();
    }
    std::vector<double> value, sum;
    std::vector<std::int64_t> start{0}, what;
    std::vector<Id> where;
    for (const FoundFragment &one : all.fragments) {
        value.push_back(one.value);
        for (const FragmentStep &step : one.steps) where.push_back(step.where), what.push_back(step.what);
        start.push_back(static_cast<std::int64_t>(what.size()));
        sum.insert(sum.end(), one.sums.begin(), one.sums.end());
    }
    return {to_numpy(std::move(value)),
            to_numpy(std::move(start)),
            to_numpy(std::move(where)),
            to_numpy(std::move(what)),
            to_numpy(std::move(sum)),
            all.complete,
            all.exact};
}

void check_decay(double value) {
    if (!(value > 0 && value <= 1)) refuse("a decay is out of range");
}

} // namespace

void bind_fragments(nb::module_ &m) {
    m.def(
        "subset_trees",
        [](std::shared_ptr<const Store> store, Nodes nodes, Values values, std::size_t limit, std::int64_t steps, double lam,
           Id max_depth, bool leaves) {
            check_decay(lam);
            return found(nodes, values, store->size(), limit, steps, [&](const std::vector<Numbers> &sides) {
                return ProductionGraph(TreeEdges{*store, leaves}, sides, lam, max_depth);
            });
        },
        "store"_a, "nodes"_a, "values"_a, "limit"_a, "steps"_a, "lam"_a, "max_depth"_a, "leaves"_a,
        "The subset trees of the largest value that all sides have.");
    m.def(
        "forest_subset_trees",
        [](std::shared_ptr<const ForestStore> store, Nodes nodes, Values values, std::size_t limit, std::int64_t steps, double lam,
           bool leaves) {
            check_decay(lam);
            return found(nodes, values, store->size(), limit, steps, [&](const std::vector<Numbers> &sides) {
                return ProductionGraph(ForestEdges{*store, leaves}, sides, lam, 0);
            });
        },
        "store"_a, "nodes"_a, "values"_a, "limit"_a, "steps"_a, "lam"_a, "leaves"_a, "The same of forests.");
    m.def(
        "tag_runs",
        [](std::shared_ptr<const Store> store, Nodes nodes, Values values, std::size_t limit, std::int64_t steps, double lam) {
            check_decay(lam);
            return found(nodes, values, store->size(), limit, steps,
                         [&](const std::vector<Numbers> &sides) { return ProductionGraph(RunEdges{*store}, sides, lam, 0); });
        },
        "store"_a, "nodes"_a, "values"_a, "limit"_a, "steps"_a, "lam"_a,
        "The same of runs of tags, each with its word or without.");
    m.def(
        "partial_trees",
        [](std::shared_ptr<const Store> store, Nodes nodes, Values values, std::size_t limit, std::int64_t steps, double lam,
           double mu, bool leaves) {
            check_decay(lam), check_decay(mu);
            return found(nodes, values, store->size(), limit, steps,
                         [&](const std::vector<Numbers> &sides) { return Lists::partial_trees(*store, sides, lam, mu, leaves); });
        },
        "store"_a, "nodes"_a, "values"_a, "limit"_a, "steps"_a, "lam"_a, "mu"_a, "leaves"_a, "The same of partial trees.");
    m.def(
        "subsequences",
        [](std::shared_ptr<const Store> store, Nodes nodes, Values values, std::size_t limit, std::int64_t steps, double lam,
           Id length) {
            check_decay(lam);
            if (length < 1) refuse("a subsequence needs at least one feature");
            return found(nodes, values, store->size(), limit, steps,
                         [&](const std::vector<Numbers> &sides) { return Lists::subsequences(*store, sides, lam, length); });
        },
        "store"_a, "nodes"_a, "values"_a, "limit"_a, "steps"_a, "lam"_a, "length"_a,
        "The same of subsequences of one length, with gaps.");
}

} // namespace treelet::python
