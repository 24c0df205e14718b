// Finds the nodes below some nodes of a store, in time that depends only on these nodes, not on the
// size of the store.
#pragma once
#include "pulse.hpp"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace treelet {

using Id = std::int32_t;
constexpr Id none = -1;

// A number for each marked node, none for other nodes. The memory belongs to this thread and is
// reused.
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

// Sorts distinct ids in ascending order. For few ids, counting the smaller ones avoids branches.
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

// Sorts ids that are mostly descending. The descending part is only reversed; the rest is sorted
// and merged in.
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

// Sorts nodes of a store, which are exactly the marked nodes.
template <class Marked> void sort_marked(std::vector<Id> &nodes, std::size_t size, Marked marked) {
    if (nodes.size() <= size / 8) return sort_falling(nodes);
    nodes.clear(); // for most of the nodes, a scan is cheaper than sorting
    for (Id node = 0; node < static_cast<Id>(size); ++node)
        if (marked(node)) nodes.push_back(node);
}

// Finds the nodes below `roots` (none: a missing root), including the roots, in ascending order:
// children before parents. Each node is marked with its index in that list.
template <class Store> void below(const Store &store, const Id *roots, std::size_t n, Marks &marks, std::vector<Id> &found) {
    static thread_local std::vector<Id> waiting;
    found.clear(), waiting.clear();
    const auto meet = [&](Id node) {
        if (!marks.has(node)) marks.set(node, 0), waiting.push_back(node);
    };
    for (std::size_t i = 0; i < n; ++i)
        if (roots[i] != none) meet(roots[i]);
    // Right children first: nodes that were numbered bottom-up, left to right, are then found in
    // descending order.
    while (!waiting.empty()) {
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

// Returns the same nodes in the order in which a reader of one root after the other completes them:
// children before parents, from left to right. The order depends on the content of the nodes, not
// on their numbers.
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
