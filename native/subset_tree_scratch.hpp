// What the subset-tree kernel works with while it compares a row's nodes with the columns.
#pragma once
#include "node_loop.hpp"

namespace treelet {

// Of a row's node, all of level 2, then all of level 3 and so on, until they no longer change.
template <class Num> struct SubsetTreeValues {
    std::size_t levels = 0;
    Id first_shape = 0;       // of its production
    SparseValues<Num> shapes; // S - lam, beside ranks of shapes; of all shapes of its production if no ranks are there
    SparseValues<Num> rest;   // C - S, beside columns
    void clear() { levels = 0, shapes.clear(), rest.clear(); }
    bool memory() const { return shapes.value.capacity() != 0 || rest.memory(); }
};

template <class Num> struct SubsetTreeScratch : NodeScratch<Num, SubsetTreeValues<Num>> {
    std::vector<Id> keys;     // of the node at hand
    std::vector<Num> product; // running prod_j (1 + S), per level and shape's rank; 0: untouched
    std::vector<Id> touched;  // ranks of shapes
    std::vector<Num> exact;   // running prod_j (1 + C), per level and column's rank; 0: untouched
    std::vector<Id> other;    // ranks of columns: where more than the shapes is met
    std::vector<Num> rest;    // C - S of these, per level
    struct Reached {          // how many
        Id columns = 0, shapes = 0;
    };
    std::vector<Reached> reached; // production -> of its columns and shapes, those below
    Id limit = 0;
    std::vector<Num> child_shape;          // S - lam of the child at hand, per level and shape's rank
    std::vector<Num> child_rest;           // C - S likewise, per level and column
    std::vector<Num> total;                // block rows x shapes: sums of S - lam, to be posted when they are complete
    std::vector<std::vector<Id>> held;     // block row -> its shapes with a total
    std::vector<std::vector<Id>> all_held; // block row -> its productions of whose shapes all have a total
};

} // namespace treelet
