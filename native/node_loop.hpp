// The loop over the nodes of a block of rows, bottom-up: a node's values are there when its parents need them, and no longer.
// An algorithm supplies, beside what row_loop.hpp asks for,
//   correct_node(block, i)   the values of node i of the block, and what they add to the sums
#pragma once
#include "kept_values.hpp"
#include "row_block.hpp"
#include "row_loop.hpp"

namespace treelet {

template <class Num, class Values> struct NodeScratch : RowScratch<Num> {
    RowBlock nodes;
    KeptValues<Values> kept; // per node of the block
};

template <class Algorithm, class Scratch> class NodeLoop : public RowLoop<Algorithm, Scratch> {
  public:
    using Num = typename Scratch::Num;
    using RowLoop<Algorithm, Scratch>::RowLoop;

    template <class Block> std::size_t take_rows(Block &block) const {
        block.s.nodes.build(block.store, *block.rows.trees, block.first, block.rows.end, block.s.index);
        return block.s.nodes.rows;
    }
    template <class Block> void correct(Block &block) const {
        RowBlock &b = block.s.nodes;
        auto &kept = block.s.kept;
        kept.begin(b.node.size());
        for (std::size_t i = 0; i < b.node.size(); ++i) {
            static_cast<const Algorithm &>(*this).correct_node(block, i);
            block.store.each_child(b.node[i], [&](Id child, double) {
                const auto at = static_cast<std::size_t>(block.s.index[child]);
                if (--b.uses[at] == 0) kept.release(at);
            });
            if (b.uses[i] == 0) kept.release(i);
        }
        b.forget(block.s.index);
    }
};

} // namespace treelet
