// Similar labels, and their similarities.
#pragma once
#include "store.hpp"
#include <limits>

namespace treelet {

// Words that are similar but not equal (Croce, Moschitti & Basili 2011). Label l has the similarity
// sigma[k] to label[k], for k = start[l] .. start[l+1]. Only childless nodes are compared in this
// way. A label is not listed under itself.
struct Similar {
    std::vector<std::int64_t> start{0};
    std::vector<Id> label;
    std::vector<double> sigma;
    static constexpr double equal = std::numeric_limits<double>::infinity(); // replaces a similarity if the labels are equal
    bool any() const { return !label.empty(); }
    // Calls f(label, sigma) for the words that are similar to a childless node.
    template <class F> void each(const Store &store, Id node, F f) const {
        const auto l = static_cast<std::size_t>(store.label(node));
        if (store.arity(node) || l + 1 >= start.size()) return;
        for (std::int64_t k = start[l]; k < start[l + 1]; ++k) f(label[k], sigma[k]);
    }
    std::size_t bytes() const { return bytes_of(start) + bytes_of(label) + bytes_of(sigma); }
};
using SimilarPtr = std::shared_ptr<const Similar>; // there may be very many pairs, so they are never copied

} // namespace treelet
