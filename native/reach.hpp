// What lies below some nodes of a store, at the price of just those nodes, however large the store is.
#pragma once
#include "pulse.hpp"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace treelet {

using Id = std::int32_t;
constexpr Id none = -1;

// A number for each node that was given one, none for the others. The memory is this thread's and used again.
class Marks {
  public:
    explicit Marks(std::size_t size) {
        if (!spare().empty()) marks_.swap(spare().back()), spare().pop_back();
        if (marks_.size() < size) marks_.resize(size, none);
    }
    ~Marks() {
        clear();
        if (marks_.size() <= most_kept) spare().push_back(std::move(marks_));
    }
    Marks(const Marks &) = delete;
    Marks &operator=(const Marks &) = delete;

    Id operator[](Id node) const { return marks_[node]; }
    bool has(Id node) const { return marks_[node] != none; }
    void set(Id node, Id number) {
        if (marks_[node] == none) given_.push_back(node);
        marks_[node] = number;
    }
    void clear() {
        for (Id node : given_) marks_[node] = none;
        given_.clear();
    }
    const std::vector<Id> &given() const { return given_; }

  private:
    static constexpr std::size_t most_kept = std::size_t{1} << 24;
    static std::vector<std::vector<Id>> &spare() {
        static thread_local std::vector<std::vector<Id>> vectors;
        return vectors;
    }
    std::vector<Id> marks_, given_;
};

// Sorts, ascending, ids that differ: few of them by how many are smaller, which takes no branches.
inline void sort_distinct(std::vector<Id> &ids) {
    constexpr std::size_t few = 64;
    const std::size_t n = ids.size();
    if (n > few) return std::sort(ids.begin(), ids.end());
    Id copy[few];
    std::copy(ids.begin(), ids.end(), copy);
    for (std::size_t i = 0; i < n; ++i) {
        Id smaller = 0;
        for (std::size_t j = 0; j < n; ++j) smaller += copy[j] < copy[i];
        ids[smaller] = copy[i];
    }
}

// Sorts, ascending, what mostly falls by little: what keeps to that is only turned round, the rest sorted and merged in.
inline void sort_falling(std::vector<Id> &ids) {
    static thread_local std::vector<Id> rest;
    rest.clear();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (kept == 0 || (ids[i] < ids[kept - 1] && ids[i] > ids[kept - 1] - 64))
            ids[kept++] = ids[i];
        else
            rest.push_back(ids[i]);
    std::reverse(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept));
    sort_distinct(rest);
    for (std::size_t at = ids.size(), a = kept, b = rest.size(); b > 0;)
        ids[--at] = a > 0 && ids[a - 1] > rest[b - 1] ? ids[--a] : rest[--b];
}

// Sorts nodes of a store of some size, which are those that are marked.
template <class Marked> void sort_marked(std::vector<Id> &nodes, std::size_t size, Marked marked) {
    if (nodes.size() <= size / 8) return sort_falling(nodes);
    nodes.clear(); // most of them: cheaper to look at all than to sort
    for (Id node = 0; node < static_cast<Id>(size); ++node)
        if (marked(node)) nodes.push_back(node);
}

// The nodes below `roots` (none: a missing one), themselves included, ascending: children come before parents.
// Each is marked with its place in that list.
template <class Store> void below(const Store &store, const Id *roots, std::size_t n, Marks &marks, std::vector<Id> &found) {
    static thread_local std::vector<Id> waiting;
    found.clear(), waiting.clear();
    const auto meet = [&](Id node) {
        if (!marks.has(node)) marks.set(node, 0), waiting.push_back(node);
    };
    for (std::size_t i = 0; i < n; ++i)
        if (roots[i] != none) meet(roots[i]);
    while (
        !waiting.empty()) { // right children first: nodes that were numbered bottom-up, left to right, are found in falling order
        const Id node = waiting.back();
        waiting.pop_back();
        found.push_back(node);
        store.each_child(node, [&](Id child, double) { meet(child); });
    }
    sort_marked(found, store.size(), [&](Id node) { return marks.has(node); });
    for (std::size_t i = 0; i < found.size(); ++i) marks.set(found[i], static_cast<Id>(i));
}
template <class Store> std::vector<Id> below(const Store &store, const Id *roots, std::size_t n, Marks &marks) {
    std::vector<Id> found;
    below(store, roots, n, marks, found);
    return found;
}

// The same nodes in the order in which a reader of one root after the other completes them: children before parents, from left to
// right. It depends on what the nodes are, not on their numbers.
template <class Store> std::vector<Id> completed(const Store &store, const Id *roots, std::size_t n, Marks &marks) {
    std::vector<Id> found, open, kids;
    Pulse pulse;
    for (std::size_t i = 0; i < n; ++i) {
        if (roots[i] != none) open.push_back(roots[i]);
        while (!open.empty()) {
            const Id node = open.back();
            pulse.add(8);
            if (marks.has(node)) { // complete, or all its children are
                open.pop_back();
                if (marks[node] == none - 1) marks.set(node, static_cast<Id>(found.size())), found.push_back(node);
                continue;
            }
            marks.set(node, none - 1);
            kids.clear();
            store.each_child(node, [&](Id child, double) { kids.push_back(child); });
            open.insert(open.end(), kids.rbegin(), kids.rend());
        }
    }
    return found;
}

} // namespace treelet
