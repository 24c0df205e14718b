// Converts trees given by the parent of each node, or with parents first, to the order of a store:
// children before parents.
#pragma once
#include "store.hpp"

#include <cstddef>
#include <vector>

namespace treelet {

class PostOrder {
  public:
    std::vector<Id> node;  // the next node, counted over all trees
    std::vector<Id> arity; // its number of children

    // Adds a tree of n nodes. parent[i] is the parent of node i, none for the root; children are in
    // the order of their numbers. Returns false if the input is not a tree.
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
        return node.size() - before == n; // nodes on a cycle are not reached
    }

    // Adds a tree that is written with parents before children. Node `first` + i has arity[i]
    // children, and each child is followed by all its descendants. -1 - k children repeat node k of
    // all trees. Returns false if nodes are left over or missing, or if a node contains itself.
    bool add_downwards(const Id *arity_of, std::size_t n) {
        const std::size_t first = place_.size();
        place_.resize(first + n, none);
        stack_.clear();
        left_.clear();
        for (std::size_t i = 0; i < n; ++i) {
            if (i > 0 && stack_.empty()) return false;
            const auto here = static_cast<Id>(first + i);
            if (arity_of[i] > 0) {
                stack_.push_back(here);
                left_.push_back(arity_of[i]);
                continue;
            }
            if (arity_of[i] == 0) {
                close(here, 0);
            } else {
                const auto again = static_cast<std::size_t>(-(arity_of[i] + 1));
                if (again >= place_.size() || place_[again] == none) return false;
                close(here, -1 - place_[again]);
            }
            while (!stack_.empty() && --left_.back() == 0) {
                close(stack_.back(), arity_of[static_cast<std::size_t>(stack_.back()) - first]);
                stack_.pop_back();
                left_.pop_back();
            }
        }
        return n > 0 && stack_.empty();
    }

  private:
    void close(Id here, Id children) {
        place_[here] = static_cast<Id>(node.size());
        node.push_back(here);
        arity.push_back(children);
    }

    std::vector<Id> first_, next_, children_, stack_;
    std::vector<Id> place_, left_; // index of each node in the new order; remaining children of the nodes on the stack
};

} // namespace treelet
