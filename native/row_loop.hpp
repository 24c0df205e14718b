// The loop over the rows of a matrix that all Gram algorithms share. An algorithm provides
//   take_rows(block)               returns how many rows, from block.first on, are processed together
//   constant_part(block, r, sums)  adds the part of row r that depends only on counts
//   correct(block)                 adds the rest
// and optionally prepare(store, scratch, pulse), called before the first block, and finish(block,
// r, sums), called before a row is written.
#pragma once
#include "count_product.hpp"
#include "row_block.hpp"
#include "scratch_pool.hpp"

namespace treelet {

template <class Num_> struct RowScratch {
    using Num = Num_;
    std::vector<Id> index; // node -> its position in the block, or none
    std::vector<Num> sums; // block rows x targets
    Counts seen;
};

// Consecutive rows that are processed together.
template <class Store, class Scratch> struct Block {
    using Num = typename Scratch::Num;
    RowsOf<Store> &rows;
    const Store &store;
    Scratch &s;
    Pulse &pulse;
    std::size_t targets;   // number of all columns
    std::size_t first;     // first row
    std::size_t count = 0; // number of rows
    std::size_t last = 0;  // the rows are compared only with targets below `last`
    Id limit = none;       // and these targets have no nodes above `limit`

    Num *sums(std::size_t r) const { return s.sums.data() + r * targets; }
    Num *sums(Id r) const { return sums(static_cast<std::size_t>(r)); }
};

template <class Algorithm, class Scratch> class RowLoop {
  public:
    using Num = typename Scratch::Num;

    template <class Store> void rows(RowsOf<Store> &rows, void (*check)()) {
        std::unique_ptr<Scratch> scratch = scratch_.take(rows.store->size());
        Pulse pulse(check);
        self().prepare(*rows.store, *scratch, pulse);
        for (std::size_t row = rows.begin; row < rows.end;) {
            Block<Store, Scratch> block{rows, *rows.store, *scratch, pulse, size_, row};
            block.count = self().take_rows(block);
            row += block.count;
            block.last = rows.targets(row - 1, size_), block.limit = rows.node_limit(row - 1);
            fill(block);
        }
        // With a limit, nothing is kept between calls: the limit holds for all columns together, which are used in turn.
        if (rows.most_stored == std::numeric_limits<std::size_t>::max()) scratch_.give(std::move(scratch));
    }

    std::size_t size() const { return size_; }

    // Optional functions of an algorithm.
    template <class Store> void prepare(const Store &, Scratch &, Pulse &) const {}
    template <class Block> std::size_t take_rows(Block &) const { return 1; }
    template <class Block> void constant_part(Block &, std::size_t, Num *) const {}
    template <class Block> void correct(Block &) const {}
    template <class Block> void finish(Block &, std::size_t, Num *) const {}

    // Bytes of the working memory of a thread, except stored values: the sums of the rows of a
    // block.
    static std::size_t working(std::size_t targets, std::size_t nodes) {
        return RowBlock::max_rows * targets * sizeof(Num) + nodes * sizeof(Id);
    }

  protected:
    std::size_t size_; // number of targets
    explicit RowLoop(std::size_t targets) : size_(targets) {}

  private:
    Algorithm &self() { return static_cast<Algorithm &>(*this); }

    template <class Block> void fill(Block &block) {
        if (block.s.sums.size() < block.count * size_) block.s.sums.resize(block.count * size_);
        for (std::size_t r = 0; r < block.count; ++r) {
            std::fill_n(block.sums(r), block.last, Num(0)); // the others may be written, but are never read
            self().constant_part(block, r, block.sums(r));
        }
        self().correct(block);
        for (std::size_t r = 0; r < block.count; ++r) {
            self().finish(block, r, block.sums(r));
            write_row(block.rows, block.first + r, block.sums(r), block.rows.targets(block.first + r, size_));
        }
    }

    ScratchPool<Scratch> scratch_;
};

} // namespace treelet
