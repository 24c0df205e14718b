// The working memory of the subset-tree kernel while it compares the nodes of a row with the
// columns.
#pragma once
#include "node_loop.hpp"

namespace treelet {

// The values of a row's node: all of level 2, then all of level 3 and so on, until they no longer
// change.
template <class Num> struct SubsetTreeValues {
    std::size_t levels = 0;
    Id first_shape = 0;       // first shape of its production
    SparseValues<Num> shapes; // S - lam by rank of shape; without ranks, of all shapes of its production
    SparseValues<Num> rest;   // C - S by column
    void clear() { levels = 0, shapes.clear(), rest.clear(); }
    std::size_t bytes() const { return shapes.bytes() + rest.bytes(); }
};

template <class Num> struct SubsetTreeScratch : NodeScratch<Num, SubsetTreeValues<Num>> {
    std::vector<Id> keys;     // of the current node
    std::vector<Num> product; // running prod_j (1 + S), per level and shape's rank; 0: untouched
    std::vector<Id> touched;  // ranks of shapes
    std::vector<Num> exact;   // running prod_j (1 + C), per level and column's rank; 0: untouched
    std::vector<Id> other;    // ranks of columns that match more than their shapes
    std::vector<Num> rest;    // C - S of these, per level
    struct Reached {          // numbers of columns and shapes
        Id columns = 0, shapes = 0;
    };
    std::vector<Reached> reached; // production -> numbers of its columns and shapes below the limit
    Id limit = 0;
    std::vector<Num> child_shape;          // S - lam of the current child, per level and shape's rank
    std::vector<Num> child_rest;           // C - S of the current child, per level and column
    std::vector<Num> total;                // block rows x shapes: sums of S - lam, posted when they are complete
    std::vector<std::vector<Id>> held;     // block row -> its shapes with a total
    std::vector<std::vector<Id>> all_held; // block row -> its productions for which all shapes have a total
};

} // namespace treelet
