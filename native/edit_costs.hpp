// The costs of edit operations on nodes.
#pragma once
#include "store.hpp"

namespace treelet {

// Costs by label. Renaming a label to itself is free.
struct EditCosts {
    double insert = 1, remove = 1, rename = 1; // used where the vectors below are empty
    std::vector<double> inserts, removes;      // by label
    std::vector<Id> row, column;               // label -> its row or column in the table, or none
    std::vector<double> renames;               // rows x columns
    std::size_t columns = 0;
    double least_gap = 1;    // the smallest cost of an insertion or deletion
    double least_change = 1; // the smallest cost of changing the label of a node, also by a deletion and an insertion
    double least = 1;        // the smallest cost of any operation

    double inserting(Id label) const { return inserts.empty() ? insert : inserts[label]; }
    double removing(Id label) const { return removes.empty() ? remove : removes[label]; }
    double renaming(Id from, Id to) const {
        if (from == to) return 0;
        if (renames.empty()) return rename;
        const Id r = row[from], c = column[to];
        return r == none || c == none ? rename : renames[static_cast<std::size_t>(r) * columns + static_cast<std::size_t>(c)];
    }
    // Whether all costs are the same for all labels, and small integers.
    bool integral() const {
        const auto small = [](double cost) { return cost == std::floor(cost) && cost <= 1024; };
        return inserts.empty() && removes.empty() && renames.empty() && small(insert) && small(remove) && small(rename);
    }
};

} // namespace treelet
