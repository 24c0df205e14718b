// The Python interface that all native stores share: labels, and growth.
#pragma once
#include "bindings.hpp"
#include "node_weights.hpp"
#include <unordered_map>

namespace treelet::python {

template <class Store> nb::typed<nb::list, nb::str> label_list(const Store &store) {
    nb::typed<nb::list, nb::str> out;
    for (Id id = 0; id < static_cast<Id>(store.label_count()); ++id) {
        const std::string_view text = store.label_text(id);
        out.append(nb::str(text.data(), text.size()));
    }
    return out;
}

// Returns all labels in UTF-8, concatenated, and the end of each.
template <class Store> auto label_texts(const Store &store) {
    std::vector<std::uint8_t> texts;
    std::vector<std::int64_t> ends;
    for (Id id = 0; id < static_cast<Id>(store.label_count()); ++id) {
        const std::string_view text = store.label_text(id);
        texts.insert(texts.end(), text.begin(), text.end());
        ends.push_back(static_cast<std::int64_t>(texts.size()));
    }
    return std::make_pair(to_numpy(std::move(texts)), to_numpy(std::move(ends)));
}

// Returns a store that also contains the parts of `other` below `roots`, and these roots in the new
// store.
template <class Store, class Other> auto grown(std::shared_ptr<const Store> self, const Other &other, IdArray roots) {
    check_ids(roots, other.size(), "root", none);
    std::shared_ptr<Store> store;
    std::vector<Id> here;
    {
        WithoutGil free;
        store = self->size() > 0 ? std::make_shared<Store>(self) : std::make_shared<Store>();
        here = store->absorb(other, roots.data(), roots.shape(0));
    }
    return std::make_pair(store, to_numpy(std::move(here)));
}

// Returns a store whose numbers depend only on the content of the roots, and the roots in it.
// Returns nothing if the numbers are already in that order.
template <class Store> std::optional<std::pair<std::shared_ptr<Store>, nb::ndarray<nb::numpy, Id, nb::ndim<1>>>>
ordered(const Store &self, IdArray roots) {
    check_ids(roots, self.size(), "root", none);
    auto store = std::make_shared<Store>();
    std::vector<Id> here;
    {
        WithoutGil free;
        Marks place(self.size());
        const std::vector<Id> nodes = completed(self, roots.data(), roots.shape(0), place);
        if (std::is_sorted(nodes.begin(), nodes.end())) return std::nullopt;
        here = store->absorb(self, roots.data(), roots.shape(0), false);
    }
    return std::make_pair(store, to_numpy(std::move(here)));
}

// Returns one store with the parts below the roots of several stores, and all those roots in it.
// Each store is absorbed once. If all stores are the same one, it is returned.
template <class Store> auto joined(const std::vector<std::shared_ptr<Store>> &stores, const std::vector<IdArray> &roots) {
    if (stores.size() != roots.size()) refuse("one array of roots per store is needed");
    for (std::size_t i = 0; i < stores.size(); ++i) check_ids(roots[i], stores[i]->size(), "root", none);
    std::shared_ptr<Store> store;
    std::vector<Id> out;
    {
        WithoutGil free;
        std::vector<const Store *> distinct; // in the order of their first roots
        std::vector<std::vector<Id>> here;   // per distinct store, all its roots, and then these in the new store
        std::unordered_map<const Store *, std::size_t> number;
        for (std::size_t i = 0; i < stores.size(); ++i) {
            const auto [found, is_new] = number.try_emplace(stores[i].get(), distinct.size());
            if (is_new) distinct.push_back(stores[i].get()), here.emplace_back();
            here[found->second].insert(here[found->second].end(), roots[i].data(), roots[i].data() + roots[i].shape(0));
        }
        // If most of the first store is needed, copying it, which keeps ids, is faster than absorbing it.
        bool keeps_first = distinct.size() == 1;
        if (keeps_first) {
            store = stores[0];
        } else if (!distinct.empty()) {
            Marks place(distinct[0]->size());
            keeps_first = 2 * below(*distinct[0], here[0].data(), here[0].size(), place).size() > distinct[0]->size();
            store = keeps_first ? std::make_shared<Store>(*distinct[0]) : std::make_shared<Store>();
        } else {
            store = std::make_shared<Store>();
        }
        for (std::size_t i = keeps_first; i < distinct.size(); ++i)
            here[i] = store->absorb(*distinct[i], here[i].data(), here[i].size());
        std::vector<std::size_t> next(distinct.size());
        for (std::size_t i = 0; i < stores.size(); ++i) {
            const std::size_t which = number[stores[i].get()];
            const auto first = here[which].begin() + static_cast<std::ptrdiff_t>(next[which]);
            out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(roots[i].shape(0)));
            next[which] += roots[i].shape(0);
        }
    }
    return std::make_pair(store, to_numpy(std::move(out)));
}

template <class Store> nb::class_<Store> bind_store(nb::module_ &m, const char *name, const char *doc) {
    return nb::class_<Store>(m, name, doc)
        .def(nb::init<>())
        .def("__len__", &Store::size)
        .def_prop_ro("labels", &label_list<Store>)
        .def_prop_ro("texts", &label_texts<Store>, nb::rv_policy::automatic,
                     "All labels in UTF-8, one after the other, and where each ends.")
        .def_prop_ro("child_count", &Store::child_count)
        .def("grown", &grown<Store, Store>, "other"_a, "roots"_a,
             "A store over this one that also holds other's parts below roots, and those roots in it. Nothing is copied.")
        .def("ordered", &ordered<Store>, "roots"_a,
             "A store whose numbers follow from what the roots are alone, and the roots in it; None if the numbers here rise "
             "likewise.")
        .def_static("joined", &joined<Store>, "stores"_a, "roots"_a,
                    "One store of the parts below the roots of several, and all those roots in it.");
}

template <class Store, class Class> void bind_weights(Class &weights) {
    weights
        .def_static(
            "count",
            [](const Store &store, IdArray roots) {
                check_ids(roots, store.size(), "root", none);
                WithoutGil free;
                return count_nodes(store, roots.data(), roots.shape(0));
            },
            "store"_a, "roots"_a, "How often each tree, or forest, holds each distinct part of it.")
        .def_static(
            "spread",
            [](const Store &store, IdArray roots, const NodeWeights &at_roots) {
                check_ids(roots, store.size(), "root");
                for (Id which : at_roots.node)
                    if (static_cast<std::size_t>(which) >= roots.shape(0)) refuse("a weight belongs to a root that does not exist");
                WithoutGil free;
                return spread(store, roots.data(), at_roots);
            },
            "store"_a, "roots"_a, "at_roots"_a, "Weights of whole trees, as weights of all their parts.");
}

} // namespace treelet::python
