// Copies the nodes of a store with other labels and without some of the nodes.
#pragma once
#include <optional>

#include "pulse.hpp"
#include "store.hpp"

namespace treelet {

// Returns the copy of each node in `to`. A marked node is missing below its parents, but has a copy of its own.
// `labels` has the number in `to` of the new label of each label. If `leaf` is given, it is the label of all leaves below
// other nodes.
inline std::vector<Id> reduced_copy(const Store &from, Store &to, const std::uint8_t *marked, const std::vector<Id> &labels,
                                    std::optional<Id> leaf = {}) {
    std::vector<Id> copy, kids;
    const Id any_leaf = leaf ? to.add_node(*leaf, nullptr, 0) : Id{};
    copy.reserve(from.size());
    Pulse pulse;
    for (Id node = 0; node < static_cast<Id>(from.size()); ++node) { // children come before their parents
        pulse.add(8);
        kids.clear();
        for (std::size_t i = 0; i < from.arity(node); ++i)
            if (const Id child = from.children(node)[i]; !marked[child])
                kids.push_back(leaf && from.arity(child) == 0 ? any_leaf : copy[child]);
        copy.push_back(to.add_node(labels[from.label(node)], kids.data(), kids.size()));
    }
    return copy;
}

} // namespace treelet
