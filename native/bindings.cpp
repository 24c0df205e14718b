// Python bindings. This file contains only argument checks, lifetimes and the GIL, no algorithms.
#include "bindings_columns.hpp"
#include "bindings_store.hpp"
#include "brackets.hpp"
#include "checksum.hpp"
#include "partial_tree.hpp"
#include "post_order.hpp"
#include "smo.hpp"
#include "subset_tree.hpp"
#include "subtree.hpp"

using namespace treelet;
using namespace treelet::python;

namespace treelet::python {

template <> struct ParametersOf<SubtreeColumns> {
    template <class Num> static auto of(double lam) { return std::tuple(as_parameter<Num>(lam, 0)); }
};
template <> struct ParametersOf<SubsetTreeColumns> {
    template <class Num> static auto of(double lam, int max_depth, bool leaves) {
        return std::tuple(as_parameter<Num>(lam, 0), max_depth, leaves);
    }
};
template <> struct ParametersOf<PartialTreeColumns> {
    template <class Num> static auto of(double lam, double mu, bool leaves, double terminal, SimilarPtr similar) {
        if (!similar) similar = std::make_shared<const Similar>();
        return std::tuple(as_parameter<Num>(lam, 0), as_parameter<Num>(mu, 1), leaves, terminal, std::move(similar));
    }
};

} // namespace treelet::python

namespace {

// Builds trees in post-order. Node i has the label labels[label[i]] and takes the last arity[i]
// nodes without a parent as children. A negative arity -1 - k repeats the subtree of node k.
// ends[t] is the number of nodes up to the end of tree t.
std::pair<StorePtr, std::vector<Id>> build(const std::vector<std::string> &labels, IdArray label, IdArray arity, LongArray ends) {
    if (label.shape(0) != arity.shape(0)) refuse("label and arity must have the same length");
    check_ids(label, labels.size(), "label");
    auto store = std::make_shared<Store>();
    std::vector<Id> here(labels.size(), none), stack, roots, built;
    std::size_t i = 0;
    Pulse pulse;
    for (std::size_t t = 0; t < ends.shape(0); ++t) {
        const std::int64_t end = ends.data()[t];
        if (end < 0 || static_cast<std::size_t>(end) > label.shape(0)) refuse("ends out of range");
        for (; i < static_cast<std::size_t>(end); ++i) {
            const Id n = arity.data()[i];
            pulse.add(32);
            if (n < 0) {
                if (static_cast<std::size_t>(-(n + 1)) >= built.size())
                    refuse("node " + std::to_string(i) + " repeats a node that does not exist");
                stack.push_back(built[static_cast<std::size_t>(-(n + 1))]);
                built.push_back(stack.back());
                continue;
            }
            if (static_cast<std::size_t>(n) > stack.size())
                refuse("node " + std::to_string(i) + " claims children that do not exist");
            Id &own = here[label.data()[i]];
            if (own == none) own = store->add_label(labels[label.data()[i]]);
            const Id node = store->add_node(own, stack.data() + stack.size() - n, static_cast<std::size_t>(n));
            stack.resize(stack.size() - static_cast<std::size_t>(n));
            stack.push_back(node);
            built.push_back(node);
        }
        if (stack.size() != 1) refuse("tree " + std::to_string(t) + " has " + std::to_string(stack.size()) + " roots");
        roots.push_back(stack[0]);
        stack.clear();
    }
    if (i != label.shape(0)) refuse("nodes after the last tree");
    return {store, roots};
}

// Converts trees given by the parent of each node to post-order: the next node and its number of
// children, in the form that `build` needs. ends[t] is the number of nodes up to the end of tree t.
std::pair<std::vector<Id>, std::vector<Id>> post_order(IdArray parent, LongArray ends) {
    PostOrder order;
    std::int64_t begin = 0;
    for (std::size_t t = 0; t < ends.shape(0); begin = ends.data()[t++]) {
        const std::int64_t end = ends.data()[t];
        if (end < begin || static_cast<std::size_t>(end) > parent.shape(0)) refuse("ends out of range");
        if (!order.add(parent.data() + begin, static_cast<std::size_t>(end - begin)))
            refuse("the parents of tree " + std::to_string(t) + " do not form a tree");
    }
    if (static_cast<std::size_t>(begin) != parent.shape(0)) refuse("nodes after the last tree");
    return {std::move(order.node), std::move(order.arity)};
}

// Converts trees written with parents before children to post-order, in the form that `build`
// needs. The last result is the number of the first input that is not a tree, or -1.
std::tuple<std::vector<Id>, std::vector<Id>, std::int64_t> children_first(IdArray arity, LongArray ends) {
    PostOrder order;
    std::int64_t begin = 0;
    for (std::size_t t = 0; t < ends.shape(0); begin = ends.data()[t++]) {
        const std::int64_t end = ends.data()[t];
        if (end < begin || static_cast<std::size_t>(end) > arity.shape(0)) refuse("ends out of range");
        if (!order.add_downwards(arity.data() + begin, static_cast<std::size_t>(end - begin)))
            return {std::vector<Id>{}, std::vector<Id>{}, static_cast<std::int64_t>(t)};
    }
    if (static_cast<std::size_t>(begin) != arity.shape(0)) refuse("nodes after the last tree");
    return {std::move(order.node), std::move(order.arity), -1};
}

// Rebuilds a store from saved columns: children before parents, every subtree once.
StorePtr from_columns(const std::vector<std::string> &labels, IdArray label, LongArray child_start, IdArray child) {
    const std::size_t n = label.shape(0);
    if (child_start.shape(0) != n + 1 || child_start.data()[0] != 0 ||
        child_start.data()[n] != static_cast<std::int64_t>(child.shape(0)))
        refuse("child_start does not fit label and child");
    check_ids(label, labels.size(), "label");
    auto store = std::make_shared<Store>();
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (store->add_label(labels[i]) != static_cast<Id>(i)) refuse("label " + std::to_string(i) + " occurs twice");
    Pulse pulse;
    for (std::size_t i = 0; i < n; ++i) {
        pulse.add(32);
        const std::int64_t a = child_start.data()[i], b = child_start.data()[i + 1];
        if (a < 0 || b < a || b > static_cast<std::int64_t>(child.shape(0)))
            refuse("child_start of node " + std::to_string(i) + " is out of order");
        for (std::int64_t k = a; k < b; ++k)
            if (child.data()[k] < 0 || child.data()[k] >= static_cast<Id>(i))
                refuse("node " + std::to_string(i) + " has a child that does not come before it");
        if (store->add_node(label.data()[i], child.data() + a, static_cast<std::size_t>(b - a)) != static_cast<Id>(i))
            refuse("node " + std::to_string(i) + " occurs twice");
    }
    return store;
}

// Rebuilds a store from its own columns. It does not check that every subtree occurs only once,
// which would take most of the time.
StorePtr as_it_was(ByteArray texts, LongArray text_end, IdArray label, LongArray child_start, IdArray child, IdArray production) {
    const std::size_t n = label.shape(0), labels = text_end.shape(0);
    const auto ascend = [](const LongArray &ends, std::size_t last) {
        const std::size_t m = ends.shape(0);
        return std::is_sorted(ends.data(), ends.data() + m) &&
               (m ? ends.data()[0] >= 0 && static_cast<std::size_t>(ends.data()[m - 1]) == last : last == 0);
    };
    if (!ascend(text_end, texts.shape(0)) || !ascend(child_start, child.shape(0)) || child_start.shape(0) != n + 1 ||
        child_start.data()[0] != 0 || production.shape(0) != n)
        refuse("the columns do not fit together");
    check_ids(label, labels, "label");
    WithoutGil free;
    auto store = std::make_shared<Store>();
    store->reserve(labels, texts.shape(0), n, child.shape(0));
    const char *text = reinterpret_cast<const char *>(texts.data());
    for (std::size_t i = 0; i < labels; ++i) {
        const std::int64_t begin = i ? text_end.data()[i - 1] : 0;
        store->append_label({text + begin, static_cast<std::size_t>(text_end.data()[i] - begin)});
    }
    std::vector<std::uint64_t> hashes;
    hashes.reserve(n);
    Pulse pulse;
    for (std::size_t i = 0; i < n; ++i) {
        pulse.add(16);
        const Id *kids = child.data() + child_start.data()[i], *end = child.data() + child_start.data()[i + 1];
        const bool before = std::all_of(kids, end, [&](Id kid) { return kid >= 0 && kid < static_cast<Id>(i); });
        if (!before ||
            !store->append_node(label.data()[i], kids, static_cast<std::size_t>(end - kids), production.data()[i], hashes))
            refuse("node " + std::to_string(i) + " has a child or a production that does not come before it");
    }
    store->enter(hashes);
    return store;
}

// Completes rows begin .. end, columns first .. last, of a symmetric matrix whose lower half is
// computed.
template <class Number> void mirror(MatrixOf<Number> out, std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    const std::size_t n = out.shape(0), tile = 8;
    if (begin > end || end > n || first > last || last > n) refuse("rows or columns out of range");
    if (out.shape(1) != n) refuse("out must be square");
    check_place(out);
    WithoutGil free;
    const std::int64_t stride = out.stride(0);
    Number *a = out.data();
    Pulse pulse;
    for (std::size_t j0 = first; j0 < last; pulse.add(tile * (end - begin)), j0 += tile) // reads contiguous memory
        for (std::size_t i0 = begin; i0 < std::min(end, j0 + tile); i0 += tile)
            for (std::size_t i = i0; i < std::min(end, i0 + tile); ++i)
                for (std::size_t j = std::max(j0, i + 1); j < std::min(last, j0 + tile); ++j)
                    a[static_cast<std::int64_t>(i) * stride + static_cast<std::int64_t>(j)] =
                        a[static_cast<std::int64_t>(j) * stride + static_cast<std::int64_t>(i)];
}

// Returns the checksum of the bytes of an object with a buffer.
std::uint64_t checksum(nb::handle bytes) {
    struct Buffer {
        Py_buffer view;
        explicit Buffer(nb::handle from) {
            if (PyObject_GetBuffer(from.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
        }
        ~Buffer() { PyBuffer_Release(&view); }
        Buffer(const Buffer &) = delete;
        Buffer &operator=(const Buffer &) = delete;
    } buffer(bytes);
    WithoutGil free;
    Pulse pulse;
    return Checksum::of(static_cast<const unsigned char *>(buffer.view.buf), static_cast<std::size_t>(buffer.view.len), pulse);
}

struct SharedReader {
    BracketReader reader;
    Busy busy;
    explicit SharedReader(BracketOptions options) : reader(std::move(options)) {}
    Busy::Guard alone() { return Busy::Guard(busy, "this reader"); }
};

// Raises treelet's own error for a lack of memory.
void raise_memory(const char *what) {
    const nb::object error = nb::module_::import_("treelet.errors").attr("NotEnoughMemoryError");
    PyErr_SetString(error.ptr(), what);
}

template <class Value> void bind_smo(nb::module_ &m) {
    using Vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    m.def(
        "smo",
        [](MatrixOf<const Value> K, DoubleArray diagonal, DoubleArray low, DoubleArray high, double tube, bool fixed_sum, Vector b,
           Vector gradient, double tol, std::int64_t max_steps) {
            const std::size_t n = K.shape(0);
            if (K.shape(1) != n || (n > 1 && K.stride(1) != 1)) refuse("K must be square, with contiguous rows");
            for (std::size_t size : {diagonal.shape(0), low.shape(0), high.shape(0), b.shape(0), gradient.shape(0)})
                if (size != n) refuse("all vectors must have one value per row of K");
            WithoutGil free;
            Pulse pulse(check_signals);
            Smo<Value> smo(n, K.data(), K.stride(0), diagonal.data(), low.data(), high.data(), tube, fixed_sum, b.data(),
                           gradient.data());
            const auto result = smo.solve(tol, max_steps, pulse);
            return std::make_pair(result.steps, result.gap);
        },
        "K"_a, "diagonal"_a, "low"_a, "high"_a, "tube"_a, "fixed_sum"_a, "b"_a, "gradient"_a, "tol"_a, "max_steps"_a,
        "Improve a solution on a block of a kernel matrix, in place. Returns the numbers of steps and the gap.");
}

} // namespace

NB_MODULE(_core, m) {
    listen = check_signals;
    m.doc() = "treelet's native core: hash-consed trees and the loops over their nodes.";
    nb::set_leak_warnings(false);

    static nb::object input_error = nb::steal(PyErr_NewException("treelet._core.InputError", PyExc_ValueError, nullptr));
    m.attr("InputError") = input_error;
    nb::register_exception_translator([](const std::exception_ptr &p, void *) {
        try {
            std::rethrow_exception(p);
        } catch (const TooMuchMemory &e) {
            raise_memory(e.what());
        } catch (const std::bad_alloc &) {
            raise_memory("There is not enough memory. Use fewer or smaller examples.");
        } catch (const InputError &e) {
            PyErr_SetObject(input_error.ptr(), nb::make_tuple(e.line, e.column, nb::str(e.what())).ptr());
        }
    });

    m.attr("compiler") = nb::str(__VERSION__);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    m.attr("sanitized") = true;
#else
    m.attr("sanitized") = false;
#endif
#if defined(__OPTIMIZE__)
    m.attr("optimized") = true;
#else
    m.attr("optimized") = false;
#endif

    bind_store<Store>(m, "Store", "Hash-consed subtrees: equal ones are one node, children come before parents.")
        .def_prop_ro(
            "label", [](const Store &s) { return to_numpy(s.label_column()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "child_start", [](const Store &s) { return to_numpy(s.child_start_column()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "child", [](const Store &s) { return to_numpy(s.child_column()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "production", [](const Store &s) { return to_numpy(s.production_column()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "height", [](const Store &s) { return to_numpy(s.height_column()); }, nb::rv_policy::automatic)
        .def_prop_ro(
            "productions_below", [](const Store &s) { return to_numpy(s.size_column()); }, nb::rv_policy::automatic)
        .def_static("from_columns", &from_columns, "labels"_a, "label"_a, "child_start"_a, "child"_a)
        .def_prop_ro("whole", &Store::whole, "Whether the store does not extend another store.")
        .def(
            "arrays",
            [](nb::pointer_and_handle<Store> self) {
                if (!self.p->whole()) refuse("The store extends another store. Compact it first.");
                return arrays_of(self.h, *self.p);
            },
            as_arrays)
        .def_static(
            "from_arrays",
            [](const ArrayList &arrays) {
                auto store = std::make_shared<Store>();
                ArrayReader reader(arrays);
                reader.read(*store);
                check_consistent(*store);
                store->keep(reader.memory());
                return store;
            },
            "arrays"_a, views_arrays)
        .def_static("as_it_was", &as_it_was, "texts"_a, "text_end"_a, "label"_a, "child_start"_a, "child"_a, "production"_a,
                    "A store again, from its own columns: that everything is there once is taken at its word.");

    nb::class_<Stop>(m, "Stop", "A flag that ends long work in the threads that watch it.")
        .def(nb::init<>())
        .def("set", [](Stop &self) { *self.wanted = true; });
    m.def(
        "watch", [](const Stop &stop) { watched = stop.wanted; }, "stop"_a,
        "Let this thread's long work end when the flag is set.");
    m.def("check", &check_signals, "Raise an error if this thread's work is to end. For long loops in Python.");

    m.def(
        "post_order",
        [](IdArray parent, LongArray ends) {
            auto [node, arity] = post_order(parent, ends);
            return std::make_pair(to_numpy(std::move(node)), to_numpy(std::move(arity)));
        },
        "parent"_a, "ends"_a,
        "Trees given by the parent of each node, counted within its tree (-1: the root): the nodes, children before parents, and "
        "how many children each has.");
    m.def(
        "in_brackets",
        [](const Store &store, Id root) {
            if (root < 0 || static_cast<std::size_t>(root) >= store.size()) refuse("there is no such node");
            const std::string text = in_brackets(store, root);
            return nb::str(text.data(), text.size());
        },
        "store"_a, "root"_a, "Write a tree in brackets on one line.");
    m.def(
        "children_first",
        [](IdArray arity, LongArray ends) {
            auto [node, children, wrong] = children_first(arity, ends);
            return std::make_tuple(to_numpy(std::move(node)), to_numpy(std::move(children)), wrong);
        },
        "arity"_a, "ends"_a,
        "Trees written down parents before children, by how many children each node has (-1 - k: node k again): the nodes, "
        "children "
        "before parents, how many children each has, and the first tree that is none, or -1.");
    m.def(
        "build",
        [](const std::vector<std::string> &labels, IdArray label, IdArray arity, LongArray ends) {
            auto [store, roots] = build(labels, label, arity, ends);
            return std::make_pair(store, to_numpy(std::move(roots)));
        },
        "labels"_a, "label"_a, "arity"_a, "ends"_a);

    nb::class_<SharedReader>(m, "BracketReader",
                             "Reads bracketed trees from chunks of bytes. For one thread at a time; others are refused.")
        .def(
            "__init__",
            [](SharedReader *self, bool drop_empty, bool drop_function_tags, const std::string &root) {
                new (self) SharedReader(BracketOptions{drop_empty, drop_function_tags, root});
            },
            "drop_empty"_a = false, "drop_function_tags"_a = false, "root"_a = "")
        .def(
            "feed",
            [](SharedReader &self, nb::bytes bytes, std::optional<std::size_t> most) {
                const Busy::Guard guard = self.alone();
                const std::string_view view(bytes.c_str(), bytes.size());
                WithoutGil free;
                return most ? self.reader.feed(view, *most) : self.reader.feed(view);
            },
            "bytes"_a, "most"_a = nb::none(), "Takes bytes until there are so many trees, and says how many it took.")
        .def(
            "move_to",
            [](SharedReader &self, std::int64_t line, std::int64_t column) {
                const Busy::Guard guard = self.alone();
                self.reader.move_to(line, column);
            },
            "line"_a, "column"_a)
        .def(
            "abandon",
            [](SharedReader &self, std::size_t trees) {
                const Busy::Guard guard = self.alone();
                self.reader.abandon(trees);
            },
            "trees"_a)
        .def_prop_ro("open_at",
                     [](SharedReader &self) {
                         const Busy::Guard guard = self.alone();
                         return self.reader.open_at();
                     })
        .def_prop_ro(
            "lines",
            [](SharedReader &self) {
                const Busy::Guard guard = self.alone();
                const BracketReader::Lines &lines = self.reader.lines();
                return std::tuple(lines.alone, lines.around, lines.line, lines.begun);
            },
            "Trees in a line from its beginning; trees within which a line begins with '('; the first such line; where its tree "
            "began.")
        .def("finish",
             [](SharedReader &self) {
                 const Busy::Guard guard = self.alone();
                 self.reader.finish();
             })
        .def_prop_ro("trees",
                     [](SharedReader &self) {
                         const Busy::Guard guard = self.alone();
                         return self.reader.roots().size();
                     })
        .def("result", [](SharedReader &self) {
            const Busy::Guard guard = self.alone();
            auto [store, roots] = self.reader.take();
            return std::make_pair(std::make_shared<Store>(std::move(store)), to_numpy(std::move(roots)));
        });

    nb::class_<NodeWeights> weights(m, "NodeWeights", "A sparse matrix of tree x distinct subtree.");
    bind_weights<Store>(weights);
    weights
        .def_static(
            "of",
            [](LongArray start, IdArray node, DoubleArray weight) {
                NodeWeights w;
                const std::size_t n = start.shape(0);
                if (n == 0 || start.data()[0] != 0 || start.data()[n - 1] != static_cast<std::int64_t>(node.shape(0)) ||
                    node.shape(0) != weight.shape(0) || !std::is_sorted(start.data(), start.data() + n))
                    refuse("start, node and weight do not fit together");
                for (std::size_t i = 0; i < node.shape(0); ++i)
                    if (node.data()[i] < 0) refuse("negative node");
                w.start = {};
                w.start.append(start.data(), start.data() + n);
                w.node.append(node.data(), node.data() + node.shape(0));
                w.weight.append(weight.data(), weight.data() + weight.shape(0));
                return w;
            },
            "start"_a, "node"_a, "weight"_a)
        .def(
            "arrays", [](nb::pointer_and_handle<NodeWeights> self) { return arrays_of(self.h, *self.p); }, as_arrays)
        .def_static(
            "from_arrays",
            [](const ArrayList &arrays) {
                NodeWeights weights;
                ArrayReader reader(arrays);
                reader.read(weights);
                check_consistent(weights);
                weights.memory = reader.memory();
                return weights;
            },
            "arrays"_a, views_arrays)
        .def(
            "take",
            [](const NodeWeights &self, LongArray order) {
                for (std::size_t i = 0; i < order.shape(0); ++i)
                    if (order.data()[i] < 0 || static_cast<std::size_t>(order.data()[i]) >= self.rows())
                        refuse("order out of range");
                return self.take(order.data(), order.shape(0));
            },
            "order"_a, "The given rows, in the given order.")
        .def(
            "merged",
            [](const NodeWeights &self, LongArray order, MatrixOf<const double> coefficients) {
                const std::size_t n = order.shape(0), outputs = coefficients.shape(0);
                if (coefficients.shape(1) != n || (n > 1 && coefficients.stride(1) != 1) ||
                    (outputs > 1 && coefficients.stride(0) != static_cast<std::int64_t>(n)))
                    refuse("there must be one contiguous vector of coefficients per output");
                for (std::size_t i = 0; i < n; ++i)
                    if (order.data()[i] < 0 || static_cast<std::size_t>(order.data()[i]) >= self.rows())
                        refuse("order out of range");
                WithoutGil free;
                return self.merged(order.data(), n, coefficients.data(), outputs);
            },
            "order"_a, "coefficients"_a, "Weighted sums of the given rows, one per row of coefficients.")
        .def("__len__", &NodeWeights::rows)
        .def_prop_ro("entries", [](const NodeWeights &w) { return w.node.size(); })
        .def_prop_ro(
            "start", [](const NodeWeights &w) { return to_numpy(std::vector(w.start.begin(), w.start.end())); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "node", [](const NodeWeights &w) { return to_numpy(std::vector(w.node.begin(), w.node.end())); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "weight", [](const NodeWeights &w) { return to_numpy(std::vector(w.weight.begin(), w.weight.end())); },
            nb::rv_policy::automatic);

    bind_smo<float>(m);
    bind_smo<double>(m);

    nb::class_<Similar>(m, "Similar", "Which labels are alike, and how much: rows of a sparse matrix over labels.")
        .def_static(
            "of",
            [](LongArray start, IdArray label, DoubleArray sigma, bool inner) {
                const std::size_t n = start.shape(0);
                if (n == 0 || start.data()[0] != 0 || start.data()[n - 1] != static_cast<std::int64_t>(label.shape(0)) ||
                    label.shape(0) != sigma.shape(0) || !std::is_sorted(start.data(), start.data() + n))
                    refuse("start, label and sigma do not fit together");
                for (std::size_t i = 0; i < label.shape(0); ++i)
                    if (label.data()[i] < 0) refuse("negative label");
                Similar s;
                s.start.assign(start.data(), start.data() + n);
                s.label.assign(label.data(), label.data() + label.shape(0));
                s.sigma.assign(sigma.data(), sigma.data() + sigma.shape(0));
                s.inner = inner;
                return s;
            },
            "start"_a, "label"_a, "sigma"_a, "inner"_a);

    bind_columns<SubtreeColumns, double>(m, "SubtreeColumns", "Columns of a subtree-kernel matrix.", "lam"_a);
    bind_columns<SubsetTreeColumns, double, int, bool>(m, "SubsetTreeColumns", "Columns of a subset-tree-kernel matrix.", "lam"_a,
                                                       "max_depth"_a, "leaves"_a);
    bind_columns<PartialTreeColumns, double, double, bool, double, SimilarPtr>(
        m, "PartialTreeColumns", "Columns of a partial-tree-kernel matrix.", "lam"_a, "mu"_a, "leaves"_a, "terminal"_a,
        "similar"_a.none());
    bind_edits(m);
    bind_features(m);
    bind_forests(m, weights);
    bind_fragments(m);
    bind_parsing(m);
    bind_sequences(m);
    bind_sketch(m);
    bind_strings(m);
    bind_syntax(m);
    m.def("checksum", &checksum, "buffer"_a,
          "A 64-bit checksum of the bytes of a contiguous buffer (XXH64 with seed 0), the same on every machine. It finds damage, "
          "not forgery.");
    const char *completes = "Completes a tile of a symmetric matrix of which the lower half is there.";
    m.def("mirror", &mirror<double>, "out"_a, "begin"_a, "end"_a, "first"_a, "last"_a, completes);
    m.def("mirror", &mirror<float>, "out"_a, "begin"_a, "end"_a, "first"_a, "last"_a, completes);
}
