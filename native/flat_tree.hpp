// A tree as arrays in post-order, for algorithms that compare all nodes of two trees.
#pragma once
#include "node_weights.hpp"

namespace treelet {

// The number of nodes of a tree, and the sums of the sizes of its keyroot subtrees for both
// directions. A float64, because a small store can hold a tree with 2^100 nodes.
struct TreeSize {
    double nodes = 0, left = 0, right = 0;
};

// Computes the sizes of trees in time that depends on their distinct subtrees only.
class TreeSizer {
  public:
    explicit TreeSizer(const Store &store) : store_(store), place_(store.size()) {}

    TreeSize operator()(Id root) {
        if (root == none) return {};
        place_.clear();
        below(store_, &root, 1, place_, nodes_);
        sizes_.resize(nodes_.size());
        for (std::size_t i = 0; i < nodes_.size(); ++i) sizes_[i] = of(nodes_[i], [&](Id child) { return sizes_[place_[child]]; });
        return sizes_.back();
    }
    // The number of nodes that were visited for the last root.
    std::size_t visited() const { return nodes_.size(); }
    // Returns the sizes of all subtrees of the store. If many are needed, this is faster than one by one.
    std::vector<TreeSize> all() const {
        std::vector<TreeSize> sizes;
        sizes.reserve(store_.size());
        for (Id node = 0; node < static_cast<Id>(store_.size()); ++node) // children come before their parents
            sizes.push_back(of(node, [&](Id child) { return sizes[static_cast<std::size_t>(child)]; }));
        return sizes;
    }

  private:
    template <class SizeOf> TreeSize of(Id node, SizeOf size_of) const {
        const Id *kids = store_.children(node);
        const std::size_t n = store_.arity(node);
        TreeSize sum{1, 0, 0};
        for (std::size_t k = 0; k < n; ++k) {
            const TreeSize child = size_of(kids[k]);
            sum.nodes += child.nodes, sum.left += child.left, sum.right += child.right;
        }
        // The first child (or the last, from the right) continues the path of its parent.
        sum.left += sum.nodes - (n ? size_of(kids[0]).nodes : 0);
        sum.right += sum.nodes - (n ? size_of(kids[n - 1]).nodes : 0);
        return sum;
    }

    const Store &store_;
    Marks place_;
    std::vector<Id> nodes_;
    std::vector<TreeSize> sizes_;
};

// The nodes in post-order; if mirrored, the children of each node come from right to left. The
// subtree of node i is the nodes first(i) .. i.
struct FlatTree {
    std::vector<Id> node; // the node of the store
    std::vector<Id> label;
    std::vector<Id> size;     // number of nodes of the subtree
    std::vector<Id> parent;   // size() for the root
    std::vector<Id> start;    // the first node of the subtree
    std::vector<Id> depth;    // number of ancestors
    std::vector<Id> keyroots; // the root, and all nodes that are not the first child of their parent
    std::vector<char> chain;  // whether no node below the keyroot of this node has two children
    bool mirrored = false;

    std::size_t length() const { return node.size(); }
    bool on_path(Id i, Id keyroot) const { return start[i] == start[keyroot]; }

    // `n` is the number of nodes of the tree.
    void build(const Store &store, Id root, std::size_t n, bool from_right) {
        mirrored = from_right;
        for (auto *column : {&node, &label, &parent, &start, &depth}) column->resize(n);
        size.assign(n, 1);
        keyroots.clear();
        stack_.clear();
        if (root != none) stack_.push_back({root, static_cast<Id>(n), -1});
        // A walk with parents first, in the opposite direction, is the post-order backwards.
        for (std::size_t at = n; !stack_.empty();) {
            const Waiting next = stack_.back();
            stack_.pop_back();
            const auto here = static_cast<Id>(--at);
            node[here] = next.node, label[here] = store.label(next.node);
            parent[here] = next.parent, depth[here] = next.depth + 1;
            const Id *kids = store.children(next.node);
            const std::size_t count = store.arity(next.node);
            for (std::size_t k = 0; k < count; ++k) stack_.push_back({kids[mirrored ? count - 1 - k : k], here, depth[here]});
        }
        for (Id i = 0; i < static_cast<Id>(n); ++i) {
            start[i] = i - size[i] + 1;
            if (parent[i] < static_cast<Id>(n)) size[parent[i]] += size[i];
        }
        for (Id i = 0; i < static_cast<Id>(n); ++i)
            if (parent[i] == static_cast<Id>(n) || start[i] != start[parent[i]]) keyroots.push_back(i);
        chain.assign(n, 0);
        for (Id k : keyroots)
            if (size[k] == store.height(node[k]) + 1) std::fill(chain.begin() + start[k], chain.begin() + k + 1, char{1});
    }

    // The position of each node in pre-order, from left to right.
    std::vector<Id> preorder() const {
        const auto n = static_cast<Id>(length());
        std::vector<Id> out(length());
        for (Id i = n; i-- > 0;) {
            if (mirrored) // the mirrored post-order is the pre-order backwards
                out[i] = n - 1 - i;
            else // nodes that start before this one ends: those to the left, and the ancestors
                out[i] = start[i] + depth[i];
        }
        return out;
    }

  private:
    struct Waiting {
        Id node, parent, depth;
    };
    std::vector<Waiting> stack_;
};

} // namespace treelet
