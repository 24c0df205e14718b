// The Levenshtein distance of two sequences of ids: the least number of insertions, deletions and
// substitutions that turn one into the other. One sequence, the pattern, is compared with many.
//
// Rows of the dynamic program belong to the pattern and columns to the text. A machine word holds
// the differences of 64 neighboring rows in one column (Myers 1999; Hyyrö 2003). Only the blocks of
// 64 rows that a path of cost at most `limit` can cross are computed (Ukkonen 1985).
#pragma once
#include "pulse.hpp"
#include "store.hpp"
#include <algorithm>
#include <bit>
#include <span>

namespace treelet {

class StringPattern {
  public:
    explicit StringPattern(std::span<const Id> symbols) : symbols_(symbols.begin(), symbols.end()) {
        slots_.resize(std::bit_ceil(std::max<std::size_t>(2 * symbols.size(), 2)));
        shift_ = 64 - std::countr_zero(slots_.size());
        for (std::size_t row = 0; row < symbols.size(); ++row) { // count the entries; `start` is the last block plus one
            Slot &slot = slots_[slot_of(symbols[row])];
            const auto after = static_cast<std::int64_t>(row / width) + 1;
            slot.symbol = symbols[row], slot.count += slot.start != after, slot.start = after;
        }
        std::int64_t start = 1; // entry 0 is the list of the symbols that do not occur
        for (Slot &slot : slots_)
            if (slot.start) slot.start = start, start += slot.count + 1, slot.count = 0;
        entries_.assign(static_cast<std::size_t>(start), {none, 0});
        for (std::size_t row = 0; row < symbols.size(); ++row) {
            Slot &slot = slots_[slot_of(symbols[row])];
            const auto block = static_cast<Id>(row / width);
            Entry *next = entries_.data() + slot.start + slot.count;
            if (slot.count && next[-1].block == block) {
                --next;
            } else {
                next->block = block, ++slot.count;
            }
            next->rows |= Word{1} << (row % width);
        }
    }

    std::size_t size() const { return symbols_.size(); }
    std::size_t distance(std::span<const Id> text, Pulse &pulse) const {
        return distance(text, std::max(size(), text.size()), pulse);
    }

    // The distance if it is at most `limit`, otherwise limit + 1.
    std::size_t distance(std::span<const Id> text, std::size_t limit, Pulse &pulse) const {
        const std::size_t rows = size(), columns = text.size(), least = rows < columns ? columns - rows : rows - columns;
        if (least > limit) return limit + 1;
        limit = std::min(limit, std::max(rows, columns));
        const std::size_t shorter = std::min(rows, columns);
        std::size_t prefix = 0, suffix = 0;
        while (prefix < shorter && symbols_[prefix] == text[prefix]) ++prefix;
        while (suffix < shorter - prefix && symbols_[rows - 1 - suffix] == text[columns - 1 - suffix]) ++suffix;
        if (prefix + suffix == shorter) return least;
        if (least == limit && least == 0) return 1; // the sequences have one length and differ
        Band band{prefix, columns - suffix, rows - suffix, (limit + rows - columns) / 2, (limit + columns - rows) / 2, limit};
        band.offset = static_cast<std::ptrdiff_t>(columns) - static_cast<std::ptrdiff_t>(rows);
        if (rows <= width) {
            pulse.add(4 * columns);
            return single_block(text, band);
        }
        return many_blocks(text, band, pulse);
    }

  private:
    using Word = std::uint64_t;
    static constexpr std::size_t width = 64;

    // The rows of one block that have a symbol. The entries of a symbol are in the order of their
    // blocks and end with an entry for the block `none`.
    struct Entry {
        Id block;
        Word rows;
    };
    struct Slot {
        Id symbol = 0;
        Id count = 0;           // number of its entries without the end
        std::int64_t start = 0; // position of its first entry; 0 in an empty slot
    };
    // The part of the table to compute.
    struct Band {
        std::size_t first, last;  // after column `first` up to column `last`; the rest is a common prefix and suffix
        std::size_t rows;         // rows without the common suffix
        std::size_t below, above; // the number of rows below and above the main diagonal
        std::size_t limit;
        std::ptrdiff_t offset = 0; // the corner's column minus its row
    };
    // Differences of neighboring rows in one column.
    struct Vertical {
        Word plus, minus;
    };
    // Differences of neighboring columns in the row above a block.
    struct Horizontal {
        Word plus, minus;
    };

    std::size_t slot_of(Id symbol) const {
        std::size_t i = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(symbol)) * 0x9e3779b97f4a7c15u) >> shift_;
        while (slots_[i].start && slots_[i].symbol != symbol) i = (i + 1) & (slots_.size() - 1);
        return i;
    }
    // The entries of a symbol from a block on.
    const Entry *entries(Id symbol, Id block = 0) const {
        const Slot &slot = slots_[slot_of(symbol)];
        const Entry *first = entries_.data() + slot.start;
        return block ? std::lower_bound(first, first + slot.count, block, [](const Entry &e, Id b) { return e.block < b; }) : first;
    }

    // The column of a block after a common prefix: the distance falls to the row `prefix` and rises after it.
    static Vertical after_prefix(std::size_t prefix, std::size_t block) {
        const std::size_t begin = block * width;
        const Word minus = prefix <= begin ? 0 : prefix >= begin + width ? ~Word{0} : (Word{1} << (prefix - begin)) - 1;
        return {~minus, minus};
    }

    // Advances a block by one column. Returns the rows whose value equals that of their upper left neighbor.
    static Word advance(Vertical &v, Horizontal &h, Word equal) {
        const Word x = equal | h.minus, diagonal = (((x & v.plus) + v.plus) ^ v.plus) | x | v.minus;
        const Word plus = v.minus | ~(diagonal | v.plus), minus = diagonal & v.plus;
        const Word shifted_plus = plus << 1 | h.plus, shifted_minus = minus << 1 | h.minus;
        h = {plus >> (width - 1), minus >> (width - 1)};
        v = {shifted_minus | ~(diagonal | shifted_plus), shifted_plus & diagonal};
        return diagonal;
    }

    // Values never decrease along a diagonal. The values on the diagonal that ends in the corner are
    // therefore lower bounds of the distance, and the last of them is the distance.
    std::size_t single_block(std::span<const Id> text, const Band &band) const {
        Vertical v = after_prefix(band.first, 0);
        std::size_t distance = static_cast<std::size_t>(std::abs(band.offset));
        for (std::size_t column = band.first; column < band.last; ++column) {
            const Entry *entry = entries(text[column]);
            Horizontal h{1, 0};
            const Word diagonal = advance(v, h, entry->rows);
            const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(column) - band.offset; // counted from 0
            if (row >= 0) distance += ~diagonal >> row & 1;
            if (distance > band.limit) break;
        }
        return distance;
    }

    std::size_t many_blocks(std::span<const Id> text, const Band &band, Pulse &pulse) const {
        std::vector<Vertical> v((band.rows + width - 1) / width);
        for (std::size_t block = 0; block < v.size(); ++block) v[block] = after_prefix(band.first, block);
        std::size_t distance = static_cast<std::size_t>(std::abs(band.offset));
        for (std::size_t column = band.first; column < band.last; ++column) {
            // Outside the band, values are taken too large. No path within the limit leaves the band.
            const std::size_t first = column < band.above ? 0 : (column - band.above) / width;
            const std::size_t last = std::min(band.rows - 1, column + band.below) / width;
            const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(column) - band.offset;
            const auto corner_block = static_cast<std::size_t>(std::max<std::ptrdiff_t>(row, 0)) / width;
            const Entry *entry = entries(text[column], static_cast<Id>(first));
            Horizontal h{1, 0};
            for (std::size_t block = first; block <= last; ++block) {
                const bool found = entry->block == static_cast<Id>(block);
                const Word diagonal = advance(v[block], h, found ? entry->rows : 0);
                entry += found;
                if (block == corner_block && row >= 0) distance += ~diagonal >> (static_cast<std::size_t>(row) % width) & 1;
            }
            pulse.add(4 * (last - first + 1));
            if (distance > band.limit) break;
        }
        return distance;
    }

    std::vector<Id> symbols_;
    std::vector<Slot> slots_; // open addressing with linear probing
    int shift_ = 0;
    std::vector<Entry> entries_;
};

} // namespace treelet
