// Python bindings of fragments as features of trees.
#include "bindings.hpp"
#include "matching.hpp"

namespace treelet::python {

namespace {

Fragments kind_of(const std::string &name) {
    if (name == "complete") return Fragments::complete;
    if (name == "subset") return Fragments::subset;
    if (name != "partial") refuse("unknown kind of fragments: " + name);
    return Fragments::partial;
}

void check_decay(double value) {
    if (!(value > 0 && value <= 1)) refuse("decays out of range");
}

using Arrays = std::tuple<nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>, nb::ndarray<nb::numpy, Id, nb::ndim<1>>,
                          nb::ndarray<nb::numpy, double, nb::ndim<1>>>;

Arrays arrays(SparseRows rows) {
    return std::make_tuple(to_numpy(std::move(rows.start)), to_numpy(std::move(rows.column)), to_numpy(std::move(rows.value)));
}

} // namespace

void bind_features(nb::module_ &m) {
    nb::class_<FragmentMatcher>(m, "FragmentMatcher", "Counts given fragments in trees.")
        .def(
            "__init__",
            [](FragmentMatcher *self, StorePtr patterns, IdArray roots, DoubleArray factor, const std::string &kind, bool leaves,
               double lam) {
                check_ids(roots, patterns->size(), "root");
                check_decay(lam);
                if (factor.shape(0) != roots.shape(0)) refuse("one factor per root is needed");
                WithoutGil free;
                new (self) FragmentMatcher(patterns, roots.data(), factor.data(), roots.shape(0), {kind_of(kind), leaves, lam});
            },
            "patterns"_a, "roots"_a, "factor"_a, "kind"_a, "leaves"_a, "lam"_a)
        .def(
            "rows",
            [](const FragmentMatcher &self, StorePtr store, const NodeWeights &trees, DoubleArray factor, std::size_t begin,
               std::size_t end, bool unit) {
                check_weights(*store, trees);
                if (factor.shape(0) != trees.rows() || begin > end || end > trees.rows()) refuse("rows out of range");
                SparseRows rows;
                {
                    WithoutGil free;
                    rows = self.rows(*store, trees, factor.data(), begin, end, unit, check_signals);
                }
                return arrays(std::move(rows));
            },
            "store"_a, "trees"_a, "factor"_a, "begin"_a, "end"_a, "unit"_a = false, "Starts of rows, columns and values.");
}

} // namespace treelet::python
