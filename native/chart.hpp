// CKY over a binarized grammar: the best log probability of every symbol over every span.
//
// Derivations in which a node is above another node with the same label and span are excluded.
// Unary cycles produce only such trees, so all counts and sums are finite.
#pragma once
#include "grammar.hpp"
#include "pulse.hpp"
#include <memory>

namespace treelet {

struct Sentence { // the possible symbols of each word
    std::vector<std::string> words;
    std::vector<std::int64_t> start{0};
    std::vector<Id> symbol;
    std::vector<double> logp;
    std::size_t size() const { return words.size(); }
};

// The symbols that are allowed over each span. Symbols are numbered by `number`; none means not
// restricted.
struct Mask {
    std::vector<Id> number;
    std::size_t width = 0;
    std::vector<char> allowed; // cell x number
};

class Chart {
  public:
    struct Item {
        Id symbol, cell;
        double top, base; // with and without unary rules above
    };
    void (*const check)(); // called from time to time, to check for interrupts

    Chart(std::shared_ptr<const Grammar> grammar, Sentence sentence, double beam, const std::vector<double> &prior,
          const Mask *mask, void (*check_)(), std::size_t most_bytes = std::numeric_limits<std::size_t>::max())
        : check(check_), most_bytes_(most_bytes), pulse_(check_), owner_(std::move(grammar)), g_(*owner_),
          sentence_(std::move(sentence)) {
        for (double &logp : sentence_.logp) logp = on_grid(logp);
        fill(beam, prior, mask);
    }

    const Grammar &grammar() const { return g_; }
    const Sentence &sentence() const { return sentence_; }
    std::size_t size() const { return sentence_.size(); }
    double best() const { return best_; }

    // The items of a cell are first(cell) .. last(cell), ordered by symbol.
    std::size_t items() const { return items_.size(); }
    const Item &item(std::int64_t k) const { return items_[k]; }
    std::int64_t first(std::size_t cell) const { return first_[cell]; }
    std::int64_t last(std::size_t cell) const { return last_[cell]; }
    // The best score in a cell among symbols that can be a right child.
    double most(std::size_t cell) const { return most_[cell]; }
    std::int64_t find(std::size_t c, Id symbol) const {
        const auto begin = items_.begin() + first_[c], end = items_.begin() + last_[c];
        const auto at = std::lower_bound(begin, end, symbol, [](const Item &x, Id s) { return x.symbol < s; });
        return at != end && at->symbol == symbol ? at - items_.begin() : none;
    }
    // The items that can be roots, each with the log probability of its root symbol.
    std::vector<std::pair<std::int64_t, double>> roots() const {
        std::vector<std::pair<std::int64_t, double>> out;
        for (const auto &[symbol, logp] : g_.start)
            if (const std::int64_t k = find(cell(0, size()), symbol); k != none) out.push_back({k, logp});
        return out;
    }

    std::size_t cell_count() const { return size() * (size() + 1) / 2; }
    // Cells are numbered in the order in which they are filled: by their end, the shortest span
    // first.
    static std::size_t cell(std::size_t i, std::size_t j) { return j * (j - 1) / 2 + (j - 1 - i); }
    static std::pair<std::size_t, std::size_t> span(std::size_t cell) {
        auto j = static_cast<std::size_t>((1 + std::sqrt(1.0 + 8.0 * static_cast<double>(cell))) / 2);
        while (j * (j - 1) / 2 > cell) --j;
        while (j * (j + 1) / 2 <= cell) ++j;
        return {j - 1 - (cell - j * (j - 1) / 2), j};
    }
    std::size_t cell_of(std::int64_t item) const { return static_cast<std::size_t>(items_[item].cell); }

  private:
    void fill(double beam, const std::vector<double> &prior, const Mask *mask) {
        const std::size_t n = size(), S = g_.size(), R = g_.right_symbol.size();
        first_.assign(cell_count(), 0), last_.assign(cell_count(), 0), most_.assign(cell_count(), impossible);
        std::vector<double> right(n * R, impossible), base(S, impossible), top(S, impossible);
        std::vector<Id> touched;
        Pulse &pulse = pulse_;
        for (std::size_t j = 1; j <= n; ++j) {
            std::fill_n(right.begin(), j * R, impossible);
            for (std::size_t i = j; i-- > 0;) {
                touched.clear();
                auto offer = [&](Id head, double score) {
                    if (score > base[head]) {
                        if (base[head] == impossible) touched.push_back(head);
                        base[head] = score;
                    }
                };
                if (j == i + 1)
                    for (std::int64_t k = sentence_.start[i]; k < sentence_.start[i + 1]; ++k)
                        offer(sentence_.symbol[k], sentence_.logp[k]);
                pulse.add(8 * (j - i));
                for (std::size_t k = i + 1; k < j; ++k) {
                    const double *const with = right.data() + k * R;
                    const std::size_t left = cell(i, k);
                    for (std::int64_t l = first_[left]; l < last_[left]; ++l) {
                        const Item &item = items_[l];
                        const Grammar::Binary *r = g_.by_left.begin(item.symbol), *end = g_.by_left.end(item.symbol);
                        pulse.add(8 + static_cast<std::size_t>(end - r));
                        for (; r < end; ++r) {
                            const double score = item.top + with[r->right] + r->logp;
                            if (score > base[r->head]) {
                                if (base[r->head] == impossible) touched.push_back(r->head);
                                base[r->head] = score;
                            }
                        }
                    }
                }
                const std::size_t here = cell(i, j);
                if (mask)
                    for (Id s : touched)
                        if (mask->number[s] != none &&
                            !mask->allowed[here * mask->width + static_cast<std::size_t>(mask->number[s])])
                            base[s] = impossible;
                close(here, touched, base, top, beam, prior, j == n);
                for (std::int64_t k = first_[here]; k < last_[here]; ++k)
                    if (const Id number = g_.right_number[items_[k].symbol]; number != none) right[i * R + number] = items_[k].top;
            }
        }
        best_ = impossible;
        if (n)
            for (const auto &[symbol, logp] : g_.start)
                if (const std::int64_t k = find(cell(0, n), symbol); k != none) best_ = std::max(best_, logp + items_[k].top);
    }

    // Finishes a cell: applies unary rules and the beam, and orders the items by symbol.
    void close(std::size_t here, std::vector<Id> &touched, std::vector<double> &base, std::vector<double> &top, double beam,
               const std::vector<double> &prior, bool at_end) {
        // Items are pruned before unary rules apply, so chains of unary rules stay whole.
        if (!std::isinf(beam)) {
            double most = impossible;
            for (Id s : touched) most = std::max(most, base[s] + prior[s]);
            for (Id s : touched)
                if (base[s] + prior[s] < most - beam) base[s] = impossible;
        }
        const std::size_t own = touched.size();
        for (std::size_t t = 0; t < own; ++t) top[touched[t]] = base[touched[t]];
        for (std::size_t t = 0; t < own; ++t) {
            const Id s = touched[t];
            if (base[s] == impossible) continue;
            pulse_.add(static_cast<std::size_t>(g_.by_child.end(s) - g_.by_child.begin(s)));
            for (const Grammar::Unary *u = g_.by_child.begin(s); u < g_.by_child.end(s); ++u) {
                const double score = base[s] + u->logp;
                if (!(score > top[u->symbol])) continue;
                if (top[u->symbol] == impossible) touched.push_back(u->symbol);
                top[u->symbol] = score;
            }
        }
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        first_[here] = static_cast<std::int64_t>(items_.size());
        if ((items_.size() + touched.size()) * sizeof(Item) > most_bytes_)
            throw TooMuchMemory("the chart of " + std::to_string(size()) +
                                " words does not fit into memory. Prune the chart (beam=, coarse=), or parse shorter sentences.");
        for (Id s : touched) {
            // A hidden symbol needs a right sibling, which does not exist behind the last word.
            if (top[s] != impossible && !(at_end && g_.hidden(s))) items_.push_back({s, static_cast<Id>(here), top[s], base[s]});
            base[s] = top[s] = impossible;
        }
        last_[here] = static_cast<std::int64_t>(items_.size());
        most_[here] = impossible;
        for (std::int64_t k = first_[here]; k < last_[here]; ++k)
            if (g_.right_number[items_[k].symbol] != none) most_[here] = std::max(most_[here], items_[k].top);
    }

    std::size_t most_bytes_; // limit for items
    Pulse pulse_;
    std::shared_ptr<const Grammar> owner_;
    const Grammar &g_;
    Sentence sentence_;
    std::vector<Item> items_;
    std::vector<std::int64_t> first_, last_;
    std::vector<double> most_;
    double best_ = impossible;
};

} // namespace treelet
