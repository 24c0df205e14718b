// An optimal mapping between the nodes of two trees: the pairs that an edit script keeps or renames.
#pragma once
#include "edit_distance.hpp"
#include <utility>

namespace treelet {

// Returns the mapped pairs of an optimal mapping, as positions in the flat trees. `table` must be
// filled completely. If several mappings are optimal, nodes near the root are mapped first.
template <class Gains> std::vector<std::pair<Id, Id>> edit_mapping(EditTable<Gains> &table, const FlatTree &a, const FlatTree &b,
                                                                   const EditCosts &costs, Pulse &pulse) {
    using Num = typename Gains::Num;
    std::vector<std::pair<Id, Id>> mapped;
    std::vector<std::pair<Id, Id>> open{{static_cast<Id>(a.length()) - 1, static_cast<Id>(b.length()) - 1}};
    const Gains gains(costs, a, b);
    while (!open.empty()) {
        const auto [x, y] = open.back();
        open.pop_back();
        const Id low_x = a.start[x], low_y = b.start[y];
        table.fill_forests(x, y, costs, pulse);
        for (Id i = x, j = y; i >= low_x && j >= low_y;) {
            const Num *row = table.forest_row(static_cast<std::size_t>(i - low_x + 1));
            const Num *up = table.forest_row(static_cast<std::size_t>(i - low_x));
            const Num value = row[j + 1];
            const bool paths = a.on_path(i, x) && b.on_path(j, y);
            if (paths && value == up[j] + gains.row(a, b, i)[j]) {
                mapped.push_back({i--, j--});
            } else if (!paths &&
                       value == table.forest_row(static_cast<std::size_t>(a.start[i] - low_x))[b.start[j]] + table.gain(i, j) &&
                       value != up[j + 1] && value != row[j]) {
                open.push_back({i, j});
                const Id above = i;
                i = a.start[above] - 1, j = b.start[j] - 1;
            } else if (value == up[j + 1]) {
                --i;
            } else {
                --j;
            }
        }
    }
    return mapped;
}

} // namespace treelet
