// The edit distance of two ordered trees: the dynamic program of Zhang & Shasha (1989), from the
// left or from the right, whichever has fewer subproblems.
//
// The tables hold gains instead of distances. The gain of two forests is the cost of deleting one
// and inserting the other, minus their distance: the most that a mapping of nodes can save. A pair
// of mapped nodes saves delete(u) + insert(v) - rename(u, v). The gain of a forest with nothing is
// 0, and 0 is a lower bound of every gain. Entries that cannot matter are therefore left at 0.
#pragma once
#include "edit_costs.hpp"
#include "flat_tree.hpp"

namespace treelet {

// The larger number, without a branch: which one it is cannot be predicted.
template <class Num> Num larger(Num p, Num q) {
#if defined(__GNUC__) && !defined(__clang__)
    return __builtin_expect_with_probability(p > q, 1, 0.5) ? p : q;
#else
    return p > q ? p : q;
#endif
}

// Gains of two nodes if all costs are integers that do not depend on labels.
struct EqualGains {
    using Num = std::int32_t;
    Num equal, different;

    EqualGains(const EditCosts &costs, const FlatTree &, const FlatTree &)
        : equal(static_cast<Num>(costs.insert + costs.remove)),
          different(static_cast<Num>(costs.insert + costs.remove - costs.rename)) {}
    // The gains of a node of the first tree with the nodes of the second.
    struct Row {
        const Id *labels, label;
        Num equal, different;
        Num operator[](Id j) const { return labels[j] == label ? equal : different; }
    };
    Row row(const FlatTree &a, const FlatTree &b, Id i) const { return {b.label.data(), a.label[i], equal, different}; }
};

// Gains of two nodes for any costs.
struct LabelGains {
    using Num = double;
    const EditCosts &costs;

    LabelGains(const EditCosts &all, const FlatTree &, const FlatTree &) : costs(all) {}
    struct Row {
        const EditCosts &costs;
        const Id *labels, label;
        double removed;
        double operator[](Id j) const { return removed + costs.inserting(labels[j]) - costs.renaming(label, labels[j]); }
    };
    Row row(const FlatTree &a, const FlatTree &b, Id i) const {
        return {costs, b.label.data(), a.label[i], costs.removing(a.label[i])};
    }
};

// Computes the gains of all pairs of subtrees of two trees. The memory is reused for the next pair.
template <class Gains> class EditTable {
  public:
    using Num = typename Gains::Num;

    // Both trees must have nodes. With `most` >= 0, gains are exact only where a mapping with at
    // most that many insertions and deletions in total needs them.
    void fill(const Store &store, const FlatTree &a, const FlatTree &b, const EditCosts &costs, Id most, Pulse &pulse) {
        a_ = &a, b_ = &b, width_ = b.length();
        most_ = most;
        const Gains gains(costs, a, b);
        if (most >= 0) {
            table_.clear(); // all gains are 0 at first
            resize(table_, a.length() * width_, pulse);
        } else {
            resize(table_, a.length() * width_, pulse);
            find_copies(store, a, first_a_);
            find_copies(store, b, first_b_);
        }
        resize(forest_, (a.length() + 1) * (width_ + 1), pulse);
        for (Id x : a.keyroots)
            if (a.chain[x]) chain_rows(x, gains, pulse);
        for (Id y : b.keyroots)
            if (b.chain[y]) chain_columns(y, gains, pulse);
        for (Id x : a.keyroots) {
            if (a.chain[x]) continue;
            if (most < 0 && first_a_[x] != x) {
                copy_rows(x, first_a_[x]);
                continue;
            }
            for (Id y : b.keyroots) {
                if (b.chain[y]) continue;
                if (most >= 0) {
                    const Id band = budget(x, y);
                    pulse.add(8);
                    if (band >= 0) forests<true>(x, y, band, gains, pulse);
                } else if (first_b_[y] != y) {
                    copy_columns(x, y, first_b_[y]);
                } else {
                    forests<false>(x, y, 0, gains, pulse);
                }
            }
        }
    }

    Num gain(Id i, Id j) const { return at(i)[j]; }
    Num total() const { return table_[a_->length() * width_ - 1]; }

    // Fills the table of forests for the subtrees of nodes x and y, whose inner gains are known.
    // Entry (i + 1 - start(x), j + 1) is the gain of the nodes start(x) .. i with start(y) .. j.
    void fill_forests(Id x, Id y, const EditCosts &costs, Pulse &pulse) { forests<false>(x, y, 0, Gains(costs, *a_, *b_), pulse); }
    const Num *forest_row(std::size_t r) const { return forest_.data() + r * (width_ + 1); }

    // The size of the tables of two trees.
    static double bytes(const FlatTree &a, const FlatTree &b) {
        const auto rows = static_cast<double>(a.length()) + 1, columns = static_cast<double>(b.length()) + 1;
        Id longest = 0;
        for (Id y : b.keyroots)
            if (b.chain[y]) longest = std::max(longest, b.size[y]);
        return sizeof(Num) * rows * (2 * columns + longest);
    }
    // Gives the memory back.
    void clear() {
        for (auto *values : {&table_, &forest_, &below_}) std::vector<Num>().swap(*values);
    }

  private:
    Num *at(Id i) { return table_.data() + static_cast<std::size_t>(i) * width_; }
    const Num *at(Id i) const { return table_.data() + static_cast<std::size_t>(i) * width_; }
    Num *forest(std::size_t r) { return forest_.data() + r * (width_ + 1); }

    // For each keyroot, the first keyroot with an equal subtree.
    static void find_copies(const Store &store, const FlatTree &tree, std::vector<Id> &first) {
        Marks seen(store.size());
        first.resize(tree.length());
        for (Id k : tree.keyroots) {
            if (!seen.has(tree.node[k])) seen.set(tree.node[k], k);
            first[k] = seen[tree.node[k]];
        }
    }

    // A chain x of the first tree with all nodes of the second. The best mapping of a chain and a
    // tree deletes the top of either, or maps both tops and continues below one child.
    void chain_rows(Id x, const Gains &gains, Pulse &pulse) {
        const FlatTree &b = *b_;
        const Id m = static_cast<Id>(width_);
        if (most_ < 0 && first_a_[x] != x) return copy_rows(x, first_a_[x]);
        const Id low = most_ < 0 ? 0 : std::max(Id{0}, a_->start[x] - most_);
        const Id high = most_ < 0 ? m : static_cast<Id>(std::min<std::int64_t>(m, std::int64_t{x} + most_ + 1));
        below_.assign(width_ + 1, 0);
        for (Id i = a_->start[x]; i <= x; ++i) {
            const auto gain = gains.row(*a_, b, i);
            const Num *under = i > a_->start[x] ? at(i - 1) : nullptr;
            Num *row = at(i);
            here_.assign(width_ + 1, 0);
            for (Id j = low; j < high; ++j) {
                Num best = std::max(here_[j], gain[j] + below_[j]);
                if (under) best = std::max(best, under[j]);
                row[j] = best;
                Num &above = here_[b.parent[j]];
                above = std::max(above, best);
            }
            below_.swap(here_);
            pulse.add(width_);
        }
    }

    // A chain y of the second tree with all nodes of the first that are not in a chain themselves.
    void chain_columns(Id y, const Gains &gains, Pulse &pulse) {
        const FlatTree &a = *a_;
        const Id n = static_cast<Id>(a.length()), low_y = b_->start[y];
        const auto length = static_cast<std::size_t>(b_->size[y]);
        if (most_ < 0 && first_b_[y] != y) {
            const Id shift = y - first_b_[y];
            for (Id i = 0; i < n; ++i)
                for (Id j = low_y; j <= y; ++j) at(i)[j] = at(i)[j - shift];
            pulse.add(a.length() * length);
            return;
        }
        const Id low = most_ < 0 ? 0 : std::max(Id{0}, low_y - most_);
        const Id high = most_ < 0 ? n : static_cast<Id>(std::min<std::int64_t>(n, std::int64_t{y} + most_ + 1));
        below_.assign((a.length() + 1) * length, 0); // node of a x position in the chain: the best gain of a child
        for (Id i = low; i < high; ++i) {
            Num *row = at(i) + low_y, *under = below_.data() + static_cast<std::size_t>(i) * length;
            Num *above = below_.data() + static_cast<std::size_t>(a.parent[i]) * length;
            if (!a.chain[i]) {
                const auto gain = gains.row(a, *b_, i);
                Num previous = 0, under_previous = 0;
                for (std::size_t k = 0; k < length; ++k) {
                    previous = std::max({previous, under[k], gain[low_y + static_cast<Id>(k)] + under_previous});
                    under_previous = under[k];
                    row[k] = previous;
                }
            }
            for (std::size_t k = 0; k < length; ++k) above[k] = std::max(above[k], row[k]);
        }
        pulse.add(a.length() * length);
    }
    void copy_rows(Id x, Id first) {
        for (Id i = a_->start[x]; i <= x; ++i)
            if (a_->on_path(i, x)) std::copy_n(at(i - (x - first)), width_, at(i));
    }
    void copy_columns(Id x, Id y, Id first) {
        for (Id i = a_->start[x]; i <= x; ++i)
            if (a_->on_path(i, x))
                for (Id j = b_->start[y]; j <= y; ++j)
                    if (b_->on_path(j, y)) at(i)[j] = at(i)[j - (y - first)];
    }

    // How many insertions and deletions may happen within the subtrees of two nodes that are mapped
    // to each other: those outside are at least the differences of the numbers of nodes to the left,
    // to the right and above. Negative if the nodes cannot be mapped.
    Id budget_of(Id i, Id j) const {
        const auto distance = [](Id p, Id q) { return p < q ? q - p : p - q; };
        const Id after_i = static_cast<Id>(a_->length()) - 1 - i - a_->depth[i];
        const Id after_j = static_cast<Id>(b_->length()) - 1 - j - b_->depth[j];
        const Id left =
            most_ - distance(a_->start[i], b_->start[j]) - distance(a_->depth[i], b_->depth[j]) - distance(after_i, after_j);
        return left < distance(a_->size[i], b_->size[j]) ? -1 : left;
    }
    // The largest budget of two nodes on the paths of two keyroots.
    Id budget(Id x, Id y) const {
        Id best = -1;
        if (std::max(a_->start[x], b_->start[y]) - std::min(a_->start[x], b_->start[y]) > most_) return best;
        for (Id i = x; i != static_cast<Id>(a_->length()) && a_->start[i] == a_->start[x]; i = first_child(*a_, i)) {
            for (Id j = y; j != static_cast<Id>(b_->length()) && b_->start[j] == b_->start[y]; j = first_child(*b_, j)) {
                best = std::max(best, budget_of(i, j));
                if (b_->size[j] == 1) break;
            }
            if (a_->size[i] == 1) break;
        }
        return best;
    }
    // The child of an inner node on its path.
    static Id first_child(const FlatTree &tree, Id i) {
        Id child = i - 1; // the last child; walk back over the siblings
        while (tree.start[child] != tree.start[i]) child = tree.start[child] - 1;
        return child;
    }

    // The gains of all pairs of forests that begin where the subtrees of x and y begin. If
    // `bounded`, only pairs whose numbers of nodes differ by at most `band`.
    template <bool bounded> void forests(Id x, Id y, Id band, const Gains &gains, Pulse &pulse) {
        const FlatTree &a = *a_, &b = *b_;
        const Id low_x = a.start[x], low_y = b.start[y];
        const Id *__restrict start = b.start.data();
        const auto rows = static_cast<std::size_t>(x - low_x + 1);
        std::fill(forest(0) + low_y, forest(0) + y + 2, Num(0));
        for (std::size_t r = 1; r <= rows; ++r) {
            const Id i = low_x + static_cast<Id>(r) - 1;
            const Num *up = forest(r - 1);
            Num *row = forest(r), *known = at(i);
            Id from = low_y, to = y;
            if constexpr (bounded) {
                std::fill(row + low_y, row + y + 2, Num(0));
                from = std::max(from, low_y + static_cast<Id>(r) - 1 - band);
                to = static_cast<Id>(std::min<std::int64_t>(to, std::int64_t{low_y} + static_cast<Id>(r) - 1 + band));
                if (from > to) continue;
            } else {
                row[low_y] = 0;
            }
            Num left = row[from];
            if (a.start[i] != low_x) {
                const Num *before = forest(static_cast<std::size_t>(a.start[i] - low_x));
                for (Id j = from; j <= to; ++j) {
                    left =
                        larger(left, larger<Num>(up[j + 1], before[start[j]] + known[j])); // `left` last: it is the longest chain
                    row[j + 1] = left;
                }
            } else {
                const auto gain = gains.row(a, b, i);
                for (Id j = from; j <= to; ++j) {
                    if (start[j] == low_y)
                        known[j] = left = larger(left, larger<Num>(up[j + 1], up[j] + gain[j]));
                    else
                        left = larger(left, larger(up[j + 1], known[j]));
                    row[j + 1] = left;
                }
            }
            pulse.add(static_cast<std::size_t>(to - from + 1));
        }
    }

    const FlatTree *a_ = nullptr, *b_ = nullptr;
    std::size_t width_ = 0;
    Id most_ = -1;
    std::vector<Num> table_;  // the gains of all pairs of subtrees
    std::vector<Num> forest_; // the gains of the forests of one pair of keyroots
    std::vector<Num> below_, here_;
    std::vector<Id> first_a_, first_b_;
};

} // namespace treelet
