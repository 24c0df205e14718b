// The statements of trees of source code, as sorted numbers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "pulse.hpp"
#include "store.hpp"

namespace treelet {

// Per tree, the codes of its statements in ascending order: those of tree t are code[start[t]] to code[start[t + 1] - 1].
struct StatementCodes {
    std::vector<std::int64_t> start{0}, code;
};

// The statements of a tree are its root and the nodes below edges that begin a statement. Edges are numbered like the children
// in the store. A statement has two codes: its number and 0, and the number of its form and 1, each followed by the number
// of its occurrence in the tree in the last `bits` bits. Missing trees have no statements.
inline StatementCodes statement_codes(const Store &store, const Id *roots, std::size_t count, const std::uint8_t *begins,
                                      const Id *number, const Id *form, int bits) {
    const auto is_first = [&](Id node, std::size_t i) { return begins[store.child_start(node) + static_cast<std::int64_t>(i)]; };
    Pulse pulse;
    std::vector<std::uint8_t> below(store.size()); // whether statements begin below a node: most nodes need no visit
    for (Id node = 0; node < static_cast<Id>(store.size()); ++node) { // children come before their parents
        pulse.add(4);
        const Id *kids = store.children(node);
        for (std::size_t i = 0; i < store.arity(node) && !below[node]; ++i) below[node] = is_first(node, i) || below[kids[i]];
    }
    StatementCodes out;
    const std::int64_t most = (std::int64_t{1} << bits) - 1;
    std::vector<Id> stack;
    std::vector<std::int64_t> here;
    const auto add = [&](Id node) {
        here.push_back(std::int64_t{number[node]} << 1);
        here.push_back((std::int64_t{form[node]} << 1) | 1);
    };
    for (std::size_t t = 0; t < count; ++t) {
        here.clear();
        if (roots[t] != none) add(roots[t]), stack.push_back(roots[t]);
        while (!stack.empty()) {
            pulse.add(8);
            const Id node = stack.back(), *kids = store.children(node);
            stack.pop_back();
            if (!below[node]) continue;
            for (std::size_t i = 0; i < store.arity(node); ++i) {
                if (is_first(node, i)) add(kids[i]);
                stack.push_back(kids[i]);
            }
        }
        std::sort(here.begin(), here.end());
        std::int64_t occurrence = 0;
        for (std::size_t i = 0; i < here.size(); ++i) {
            occurrence = i && here[i] == here[i - 1] ? occurrence + 1 : 0;
            out.code.push_back((here[i] << bits) | std::min(occurrence, most));
        }
        out.start.push_back(static_cast<std::int64_t>(out.code.size()));
    }
    return out;
}

} // namespace treelet
