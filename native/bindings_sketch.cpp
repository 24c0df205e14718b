// Python bindings of the sketch of trees.
#include "bindings.hpp"
#include "sketch.hpp"

namespace treelet::python {

using KeyArray = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = MatrixOf<float>;

namespace {

KnownParts known_parts(const KeyArray &key, const IdArray &coordinate) {
    if (key.shape(0) != coordinate.shape(0)) refuse("keys and coordinates must have the same length");
    check_ids(coordinate, key.shape(0), "coordinate", none);
    return {key.data(), coordinate.data(), key.shape(0)};
}

std::optional<Id> rows(const TreeSketch &self, std::shared_ptr<const Store> store, const NodeWeights &trees, IdArray roots,
                       DoubleArray logs, std::size_t begin, std::size_t end, FloatMatrix out) {
    check_weights(*store, trees);
    check_ids(roots, store->size(), "root", none);
    if (roots.shape(0) != trees.rows() || logs.shape(0) != trees.rows() || begin > end || end > trees.rows())
        refuse("rows out of range");
    if (out.shape(0) != end - begin || out.shape(1) != self.width()) refuse("out has the wrong shape");
    check_place(out);
    WithoutGil free;
    const Id large = self.rows(*store, trees, roots.data(), logs.data(), begin, end, out.data(), out.stride(0), check_signals);
    return large == none ? std::nullopt : std::optional(large);
}

struct SharedCounts : PartCounts {
    using PartCounts::PartCounts;
    Busy busy;
};

} // namespace

void bind_sketch(nb::module_ &m) {
    nb::class_<SharedCounts>(m, "PartCounts",
                             "In how many trees each node on its own, or with one child, is, and how much it weighs. "
                             "For one thread at a time; others are refused.")
        .def(
            "__init__",
            [](SharedCounts *self, bool partial, bool leaves, bool pairs) {
                new (self) SharedCounts(PartKeys{!partial, leaves}, leaves, pairs);
            },
            "partial"_a, "leaves"_a, "pairs"_a)
        .def(
            "add",
            [](SharedCounts &self, std::shared_ptr<const Store> store, const NodeWeights &trees, DoubleArray share) {
                check_weights(*store, trees);
                if (share.shape(0) != trees.rows()) refuse("one share per tree is needed");
                const Busy::Guard guard(self.busy, "this count of parts");
                WithoutGil free;
                self.add(*store, trees, share.data());
            },
            "store"_a, "trees"_a, "share"_a)
        .def_prop_ro(
            "key",
            [](SharedCounts &self) {
                const Busy::Guard guard(self.busy, "this count of parts");
                return to_numpy(self.key);
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "trees",
            [](SharedCounts &self) {
                const Busy::Guard guard(self.busy, "this count of parts");
                return to_numpy(self.trees());
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "mass",
            [](SharedCounts &self) {
                const Busy::Guard guard(self.busy, "this count of parts");
                return to_numpy(self.mass());
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "pair",
            [](SharedCounts &self) {
                const Busy::Guard guard(self.busy, "this count of parts");
                return to_numpy(self.pair());
            },
            nb::rv_policy::automatic);

    nb::class_<TreeSketch>(m, "TreeSketch", "Random features of trees.")
        .def(
            "__init__",
            [](TreeSketch *self, bool partial, double lam, double mu, int max_depth, bool leaves, std::size_t waves,
               std::uint64_t seed, KeyArray key, IdArray coordinate, bool only_known, std::size_t budget) {
                if (waves == 0 || waves > (std::size_t{1} << 30)) refuse("waves out of range");
                if (!(lam > 0 && lam <= 1 && mu > 0 && mu <= 1) || max_depth < 0) refuse("parameters out of range");
                new (self) TreeSketch({partial, lam, mu, max_depth, leaves}, waves, seed, known_parts(key, coordinate), only_known,
                                      budget);
            },
            "partial"_a, "lam"_a, "mu"_a, "max_depth"_a, "leaves"_a, "waves"_a, "seed"_a, "key"_a, "coordinate"_a, "only_known"_a,
            "budget"_a = std::size_t{1} << 27)
        .def("rows", &rows, "store"_a, "trees"_a, "roots"_a, "logs"_a, "begin"_a, "end"_a, "out"_a,
             "Fills out with rows divided by exp(logs / 2); returns the first that does not fit a float32, or None.")
        .def_prop_ro("width", &TreeSketch::width)
        .def_prop_ro("single_weight", &TreeSketch::single_weight)
        .def_prop_ro("pair_weight", &TreeSketch::pair_weight);
}

} // namespace treelet::python
