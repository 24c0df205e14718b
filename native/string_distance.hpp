// The Levenshtein distance of two sequences of ids: the least number of insertions, deletions and
// substitutions that turn one into the other. One sequence, the pattern, is compared with many.
//
// Rows of the dynamic program belong to the pattern and columns to the text. A machine word holds
// the differences of neighboring rows in one column (Myers 1999; Hyyrö 2003).
#pragma once
#include "pulse.hpp"
#include "store.hpp"
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <span>
#include <utility>

namespace treelet {

// Numbers the symbols of a pattern from 1 on. Other symbols have the number 0.
class SymbolNumbers {
  public:
    explicit SymbolNumbers(std::size_t most)
        : slots_(std::bit_ceil(std::max<std::size_t>(2 * most, 2))), shift_(64 - std::countr_zero(slots_.size())) {}
    Id add(Id symbol) {
        Slot &slot = slots_[find_slot(symbol)];
        if (!slot.number) slot = {symbol, ++last_};
        return slot.number;
    }
    Id find(Id symbol) const { return slots_[find_slot(symbol)].number; }

  private:
    struct Slot {
        Id symbol = 0, number = 0; // the number is 0 in an empty slot
    };
    std::size_t find_slot(Id symbol) const {
        std::size_t i = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(symbol)) * 0x9e3779b97f4a7c15u) >> shift_;
        while (slots_[i].number && slots_[i].symbol != symbol) i = (i + 1) & (slots_.size() - 1);
        return i;
    }

    std::vector<Slot> slots_; // open addressing with linear probing
    int shift_;
    Id last_ = 0;
};

// Differences of neighboring rows in one column of the dynamic program.
template <class Word> struct Vertical {
    Word plus, minus;
};
// Differences of neighboring columns in the row above a word.
template <class Word> struct Horizontal {
    Word plus, minus;
};

// Advances a word by one column. Returns the rows whose value equals that of their upper left
// neighbor. The casts keep the compiler from computing short words as int.
template <class Word> inline Word advance(Vertical<Word> &v, Horizontal<Word> &h, Word equal) {
    const auto x = static_cast<Word>(equal | h.minus);
    const auto sum = static_cast<Word>(static_cast<Word>(x & v.plus) + v.plus);
    const auto diagonal = static_cast<Word>((sum ^ v.plus) | x | v.minus);
    const auto plus = static_cast<Word>(v.minus | static_cast<Word>(~(diagonal | v.plus)));
    const auto minus = static_cast<Word>(diagonal & v.plus);
    const auto shifted_plus = static_cast<Word>(static_cast<Word>(plus + plus) | h.plus);
    const auto shifted_minus = static_cast<Word>(static_cast<Word>(minus + minus) | h.minus);
    constexpr int top = 8 * sizeof(Word) - 1;
    h = {static_cast<Word>(plus >> top), static_cast<Word>(minus >> top)};
    v = {static_cast<Word>(shifted_minus | static_cast<Word>(~(diagonal | shifted_plus))),
         static_cast<Word>(shifted_plus & diagonal)};
    return diagonal;
}

// A sequence that is compared with many others.
class StringPattern {
  public:
    explicit StringPattern(std::span<const Id> symbols)
        : symbols_(symbols.begin(), symbols.end()), numbers_(symbols.size()), lists_{{0, 0}} {
        std::vector<Id> number, last{none};
        for (std::size_t row = 0; row < symbols.size(); ++row) {
            number.push_back(numbers_.add(symbols[row]));
            if (number[row] == static_cast<Id>(lists_.size())) lists_.push_back({0, 0}), last.push_back(none);
            const auto block = static_cast<Id>(row / width);
            if (std::exchange(last[number[row]], block) != block) ++lists_[number[row]].count;
        }
        std::size_t start = 1; // entry 0 is the list of the symbols that do not occur
        for (std::size_t i = 1; i < lists_.size(); ++i) lists_[i].start = start, start += std::exchange(lists_[i].count, 0) + 1;
        entries_.assign(start, {none, 0});
        for (std::size_t row = 0; row < symbols.size(); ++row) {
            List &list = lists_[number[row]];
            const auto block = static_cast<Id>(row / width);
            if (!list.count || entries_[list.start + list.count - 1].block != block)
                entries_[list.start + list.count++].block = block;
            entries_[list.start + list.count - 1].rows |= Word{1} << (row % width);
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
        if (limit == 0) return 1;
        const Band band{prefix,
                        columns - suffix,
                        rows - suffix,
                        (limit + rows - columns) / 2,
                        (limit + columns - rows) / 2,
                        limit,
                        static_cast<std::ptrdiff_t>(columns) - static_cast<std::ptrdiff_t>(rows)};
        if (rows > width) return many_blocks(text, band, pulse);
        pulse.add(4 * columns);
        return single_block(text, band);
    }

  private:
    using Word = std::uint64_t;
    static constexpr std::size_t width = 64;

    // The rows of one block of 64 rows that have a symbol. The entries of a symbol are in the order
    // of their blocks and end with an entry for the block `none`.
    struct Entry {
        Id block;
        Word rows;
    };
    // The entries of a symbol, without the end.
    struct List {
        std::size_t start, count;
    };
    // The part of the table to compute. Only the blocks that a path of cost at most `limit` can
    // cross are computed (Ukkonen 1985).
    struct Band {
        std::size_t first, last;  // the columns without a common prefix and suffix
        std::size_t rows;         // rows without the common suffix
        std::size_t below, above; // how far a path may go below and above the main diagonal
        std::size_t limit;
        std::ptrdiff_t offset; // the column of the corner minus its row
    };

    const Entry *entries(Id symbol, Id block) const {
        const List &list = lists_[numbers_.find(symbol)];
        const Entry *first = entries_.data() + list.start;
        return block ? std::lower_bound(first, first + list.count, block, [](const Entry &e, Id b) { return e.block < b; }) : first;
    }

    // The column of a block after a common prefix: the distance falls to the row `prefix` and rises after it.
    static Vertical<Word> after_prefix(std::size_t prefix, std::size_t block) {
        const std::size_t begin = block * width;
        const Word minus = prefix <= begin ? 0 : prefix >= begin + width ? ~Word{0} : (Word{1} << (prefix - begin)) - 1;
        return {~minus, minus};
    }

    // Values never decrease along a diagonal. The values on the diagonal that ends in the corner are
    // therefore lower bounds of the distance, and the last of them is the distance.
    std::size_t single_block(std::span<const Id> text, const Band &band) const {
        Vertical<Word> v = after_prefix(band.first, 0);
        auto distance = static_cast<std::size_t>(std::abs(band.offset));
        for (std::size_t column = band.first; column < band.last && distance <= band.limit; ++column) {
            Horizontal<Word> h{1, 0};
            const Word diagonal = advance(v, h, entries(text[column], 0)->rows);
            const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(column) - band.offset; // counted from 0
            if (row >= 0) distance += ~diagonal >> row & 1;
        }
        return distance;
    }

    std::size_t many_blocks(std::span<const Id> text, const Band &band, Pulse &pulse) const {
        std::vector<Vertical<Word>> v((band.rows + width - 1) / width);
        for (std::size_t block = 0; block < v.size(); ++block) v[block] = after_prefix(band.first, block);
        auto distance = static_cast<std::size_t>(std::abs(band.offset));
        for (std::size_t column = band.first; column < band.last && distance <= band.limit; ++column) {
            // Outside the band, values are taken too large. No path within the limit leaves the band.
            const std::size_t first = column < band.above ? 0 : (column - band.above) / width;
            const std::size_t last = std::min(band.rows - 1, column + band.below) / width;
            const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(column) - band.offset;
            const std::size_t corner_block = row < 0 ? v.size() : static_cast<std::size_t>(row) / width;
            const Entry *entry = entries(text[column], static_cast<Id>(first));
            Horizontal<Word> h{1, 0};
            for (std::size_t block = first; block <= last; ++block) {
                const bool found = entry->block == static_cast<Id>(block);
                const Word diagonal = advance(v[block], h, found ? entry->rows : 0);
                entry += found;
                if (block == corner_block) distance += ~diagonal >> (static_cast<std::size_t>(row) % width) & 1;
            }
            pulse.add(4 * (last - first + 1));
        }
        return distance;
    }

    std::vector<Id> symbols_;
    SymbolNumbers numbers_;
    std::vector<List> lists_; // by the number of the symbol
    std::vector<Entry> entries_;
};

// Several short sequences that are compared with others at once: a word per sequence, which the
// compiler packs into vector registers.
template <class Word> class ShortPatterns {
  public:
    static constexpr std::size_t longest = 8 * sizeof(Word), most = 64 / sizeof(Word);

    explicit ShortPatterns(std::span<const std::span<const Id>> patterns)
        : patterns_(patterns), numbers_(most * longest), equal_(1) {
        for (std::size_t i = 0; i < patterns.size(); ++i)
            for (std::size_t row = 0; row < patterns[i].size(); ++row) {
                const Id number = numbers_.add(patterns[i][row]);
                if (number == static_cast<Id>(equal_.size())) equal_.emplace_back();
                equal_[number][i] |= static_cast<Word>(Word{1} << row);
            }
    }

    // Calls give(i, distance) for each pattern.
    template <class Give> void distances(std::span<const Id> text, Pulse &pulse, Give give) const {
        std::array<Word, most> plus, minus;
        plus.fill(static_cast<Word>(~Word{0})), minus.fill(0);
        for (Id symbol : text) {
            const std::array<Word, most> &equal = equal_[numbers_.find(symbol)];
            for (std::size_t i = 0; i < most; ++i) {
                Vertical<Word> v{plus[i], minus[i]};
                Horizontal<Word> h{1, 0};
                advance(v, h, equal[i]);
                plus[i] = v.plus, minus[i] = v.minus;
            }
        }
        // The last column begins with the length of the text.
        for (std::size_t i = 0; i < patterns_.size(); ++i) {
            const std::size_t rows = patterns_[i].size();
            const auto used = rows == longest ? static_cast<Word>(~Word{0}) : static_cast<Word>((Word{1} << rows) - 1);
            give(i, text.size() + std::popcount(static_cast<Word>(plus[i] & used)) -
                        std::popcount(static_cast<Word>(minus[i] & used)));
        }
        pulse.add(4 * (text.size() + patterns_.size()));
    }

  private:
    std::span<const std::span<const Id>> patterns_;
    SymbolNumbers numbers_;
    std::vector<std::array<Word, most>> equal_; // by the number of a symbol: its rows in each pattern
};

} // namespace treelet
