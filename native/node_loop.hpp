// The loop over the nodes of a block of rows, bottom-up. The values of a node are stored until its
// parents are done. In addition to the functions for row_loop.hpp, an algorithm provides
//   correct_node(block, i)   computes the values of node i of the block, and adds them to the sums
// and optionally skips(store, node), which is true for nodes that never have values.
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

    template <class Store> bool skips(const Store &, Id) const { return false; }
    template <class Block> std::size_t take_rows(Block &block, std::size_t most = RowBlock::max_rows) const {
        block.s.nodes.build(block.store, *block.rows.trees, block.first, block.rows.end, block.s.index, most,
                            [&](Id node) { return self().skips(block.store, node); });
        return block.s.nodes.rows;
    }
    template <class Block> void correct(Block &block) const {
        RowBlock &b = block.s.nodes;
        auto &kept = block.s.kept;
        kept.begin(b.node.size());
        for (std::size_t i = 0; i < b.node.size(); ++i) {
            self().correct_node(block, i);
            kept.count(i);
            if (kept.bytes() > block.rows.most_stored) throw TooMuchMemory("The values of a row take more memory than allowed.");
            block.store.each_child(b.node[i], [&](Id child, double) {
                const Id at = block.s.index[child];
                if (at != none && --b.uses[at] == 0) kept.release(static_cast<std::size_t>(at));
            });
            if (b.uses[i] == 0) kept.release(i);
        }
        b.forget(block.s.index);
    }

  private:
    const Algorithm &self() const { return static_cast<const Algorithm &>(*this); }
};

} // namespace treelet
