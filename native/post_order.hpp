// Trees given by the parent of each node, put into the order in which a store takes them: children before parents.
#pragma once
#include "store.hpp"

#include <cstddef>
#include <vector>

namespace treelet {

class PostOrder {
  public:
    std::vector<Id> node;  // which node comes next, counted over all trees
    std::vector<Id> arity; // how many children it has

    // Takes a tree of n nodes: parent[i] is above node i, none above the root; children are in the order of their numbers. False
    // if that is no tree.
    bool add(const Id *parent, std::size_t n) {
        const std::size_t before = node.size();
        Id root = none;
        first_.assign(n, none);
        next_.assign(n, none);
        children_.assign(n, 0);
        for (std::size_t i = n; i-- > 0;) {
            const Id above = parent[i];
            if (above == none) {
                if (root != none) return false;
                root = static_cast<Id>(i);
                continue;
            }
            if (above < 0 || static_cast<std::size_t>(above) >= n) return false;
            next_[i] = first_[above];
            first_[above] = static_cast<Id>(i);
            ++children_[above];
        }
        if (root == none) return false;
        stack_.assign(1, root);
        while (!stack_.empty()) {
            const Id here = stack_.back(), child = first_[here];
            if (child != none) {
                first_[here] = next_[child];
                stack_.push_back(child);
                continue;
            }
            node.push_back(static_cast<Id>(before) + here);
            arity.push_back(children_[here]);
            stack_.pop_back();
        }
        return node.size() - before == n; // what hangs on a cycle is not reached
    }

  private:
    std::vector<Id> first_, next_, children_, stack_;
};

} // namespace treelet
