// Similar labels, and their similarities.
#pragma once
#include "store.hpp"

namespace treelet {

// Labels with words that are similar but not equal (Croce, Moschitti & Basili 2011). Label l has the
// similarity sigma[k] to label[k], for k = start[l] .. start[l+1]. A label is not listed under
// itself.
struct Similar {
    std::vector<std::int64_t> start{0};
    std::vector<Id> label;
    std::vector<double> sigma;
    bool inner = false; // whether nodes with children are compared in this way, too
    bool any() const { return !label.empty(); }
    // Returns the number of labels that are similar to that of a node.
    std::size_t count(const Store &store, Id node) const {
        const auto l = static_cast<std::size_t>(store.label(node));
        if (l + 1 >= start.size() || (store.arity(node) && !inner)) return 0;
        return static_cast<std::size_t>(start[l + 1] - start[l]);
    }
    // Calls f(label, sigma) for the labels that are similar to that of a node.
    template <class F> void each(const Store &store, Id node, F f) const {
        const std::size_t n = count(store, node), first = n ? static_cast<std::size_t>(start[store.label(node)]) : 0;
        for (std::size_t k = first; k < first + n; ++k) f(label[k], sigma[k]);
    }
    std::size_t bytes() const { return bytes_of(start) + bytes_of(label) + bytes_of(sigma); }
};
using SimilarPtr = std::shared_ptr<const Similar>; // there may be very many pairs, so they are never copied

} // namespace treelet
