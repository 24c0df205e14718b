// The sum over child subsequences in the partial-tree kernel, Moschitti (2006), eq. 3, for many columns at once.
//
//   S(u,v) = sum over equally long child subsequences J1 of u, J2 of v of
//            lam^(children skipped) * prod_i Delta(u[J1_i], v[J2_i])
#pragma once
#include "partial_tree_plans.hpp"
#include "pulse.hpp"
#include "simd.hpp"

namespace treelet {

template <class Num> struct PartialTreeValues { // Delta(u, .)
    enum Kind { constant, one_exception, dense } kind = constant;
    Id exception = none; // cell, relative to the label's begin
    Num exceptional{};
    std::vector<Num> value; // per cell of the label
    void clear() { kind = constant, value.clear(); }
    bool memory() const { return value.capacity() != 0; }
};

template <class Num> struct ChildScratch {
    std::vector<Num> met, chain, total;
    std::vector<Id> active, still_active;
    std::vector<PartialTreeIndex::Meeting> meeting;
};

template <class Num> class ChildSequences {
    using Group = PartialTreeIndex::Group;
    using Values = PartialTreeValues<Num>;

  public:
    static constexpr std::size_t sweep = 128; // columns computed together

    // `constant` is Delta of two nodes with nothing below in common, `terminal` that of two of which one has no children.
    ChildSequences(const PartialTreeIndex &index, const Similar &similar, Num lam, Num constant, Num terminal, bool plain)
        : index_(index), similar_(similar), lam_(lam), constant_(constant), terminal_(terminal), plain_(plain), power_(64, Num(1)) {
        for (std::size_t i = 1; i < power_.size(); ++i) power_[i] = power_[i - 1] * lam_;
    }

    // S(u, v) for `width` columns of a group from `from` on; values(child) are those of a child of u.
    template <class Of> const Num *sum(const Store &store, Id u, const Group &g, const Plan::Match *match, std::size_t count,
                                       Id from, std::size_t width, Of values, ChildScratch<Num> &s, Pulse &pulse) const {
        if (s.total.size() < sweep) s.total.resize(sweep);
        if (count == Plan::by_grid)
            by_grid(store, u, g, from, width, values, s, pulse);
        else
            by_chains(store, store.children(u), g, match, count, from, width, values, s);
        return s.total.data();
    }
    std::size_t bytes() const { return bytes_of(power_); }

  private:
    // T_x = Delta_x * (1 + sum of lam^gaps T_y over the matches y before x on both sides); S = sum of T_x.
    template <class Of> void by_chains(const Store &store, const Id *kids, const Group &g, const Plan::Match *match,
                                       std::size_t count, Id from, std::size_t width, Of values, ChildScratch<Num> &s) const {
        Num *const total = s.total.data();
        if (count == 1)
            return meet(values(kids[match[0].a]), is_word(store, kids[match[0].a]), g, match[0].b, match[0].sigma, from, width,
                        total);
        s.met.resize(Plan::chain_limit * sweep);
        if (s.chain.size() < Plan::chain_limit * sweep) s.chain.resize(Plan::chain_limit * sweep);
        for (std::size_t x = 0; x < count; ++x) {
            Num *met = s.met.data() + x * sweep, *chain = s.chain.data() + x * sweep;
            meet(values(kids[match[x].a]), is_word(store, kids[match[x].a]), g, match[x].b, match[x].sigma, from, width, met);
            bool first = true;
            for (std::size_t y = 0; y < x; ++y) {
                if (match[y].a >= match[x].a || match[y].b >= match[x].b) continue;
                const Num gap = gap_weight((match[x].a - match[y].a - 1) + (match[x].b - match[y].b - 1));
                const Num *before = s.chain.data() + y * sweep;
                if (first)
                    set_scaled(chain, gap, before, Num(1), width);
                else
                    add_scaled(chain, gap, before, width);
                first = false;
            }
            if (first)
                std::copy_n(met, width, chain);
            else
                multiply(chain, met, width);
            if (x == 0)
                std::copy_n(chain, width, total);
            else
                add_scaled(total, Num(1), chain, width);
        }
    }

    // The same sum where many children meet: O(cells that count) a column instead of O(matches^2).
    //   E(a,b) = sum_{b' <= b} lam^(b-b') T(a,b'),  D(a,b) = lam D(a-1,b) + E(a,b),  T(a,b) = Delta (1 + D(a-1,b-1)).
    // D and E only ever enter as 1 + D, so cells where they have decayed to nothing are passed over.
    template <class Of> void by_grid(const Store &store, Id u, const Group &g, Id from, std::size_t width, Of values,
                                     ChildScratch<Num> &s, Pulse &pulse) const {
        if (s.chain.size() < static_cast<std::size_t>(g.arity)) s.chain.resize(static_cast<std::size_t>(g.arity));
        Num *D = s.chain.data();
        const Id *kids = store.children(u);
        const auto arity = static_cast<Id>(store.arity(u));
        const Num lam = lam_, one(1);
        for (std::size_t r = 0; r < width; ++r) {
            std::fill_n(D, g.arity, Num(0));
            Num total(0);
            s.active.clear();
            for (Id a = 0; a < arity; ++a) {
                index_.meetings(store, kids[a], g, similar_, s.meeting);
                auto match = s.meeting.begin(), match_end = s.meeting.end();
                s.still_active.clear();
                Num E(0), left(0); // left: D(a-1, b-1) as it was, if b-1 was the cell before
                Id before = -2;
                auto old = s.active.begin();
                for (;;) {
                    Id b = g.arity;
                    if (old != s.active.end()) b = *old;
                    if (match != match_end) b = std::min(b, match->position);
                    if (!negligible(E)) b = std::min(b, before + 1);
                    if (b >= g.arity) break;
                    if (b != before + 1) E = Num(0), left = b > 0 ? D[b - 1] : Num(0);
                    E *= lam;
                    if (match != match_end && match->position == b) {
                        Num met;
                        meet(values(kids[a]), is_word(store, kids[a]), g, b, match->sigma, from + static_cast<Id>(r), 1, &met);
                        const Num T = met * (one + left);
                        total += T;
                        E += T;
                        ++match;
                    }
                    if (old != s.active.end() && *old == b) ++old;
                    left = D[b];
                    D[b] = lam * D[b] + E;
                    if (negligible(D[b]))
                        D[b] = Num(0);
                    else
                        s.still_active.push_back(b);
                    before = b;
                }
                pulse.add(s.still_active.size());
                s.active.swap(s.still_active);
            }
            s.total[r] = total;
        }
    }
    static bool negligible(double value) { return value < 1e-40; }
    template <class Other> static bool negligible(Other value) { return value == 0; }

    // Only asked where words have a factor of their own.
    bool is_word(const Store &store, Id child) const { return !plain_ && store.arity(child) == 0; }

    // Delta(child, child b of each column).
    void meet(const Values &row, bool word, const Group &g, Id b, double sigma, Id from, std::size_t width, Num *out) const {
        const Id *slot = index_.slots(g, b) + from;
        const Num constant = word ? terminal_ : constant_;
        if (sigma != 1) {
            const Id childless = index_.childless(g, b);
            const Num alike = terminal_ * Num(sigma), unlike(0);
            for (std::size_t r = 0; r < width; ++r) out[r] = slot[r] == childless ? alike : unlike;
            return;
        }
        switch (row.kind) {
        case Values::constant:
            std::fill_n(out, width, constant);
            break;
        case Values::one_exception:
            for (std::size_t r = 0; r < width; ++r) out[r] = slot[r] == row.exception ? row.exceptional : constant;
            break;
        case Values::dense:
            gather(out, row.value.data(), slot, width);
            return;
        }
        if (plain_ || word) return;
        const Id childless = index_.childless(g, b);
        for (std::size_t r = 0; r < width; ++r)
            if (slot[r] == childless) out[r] = terminal_;
    }
    Num gap_weight(Id gaps) const { return static_cast<std::size_t>(gaps) < power_.size() ? power_[gaps] : power(lam_, gaps); }

    const PartialTreeIndex &index_;
    const Similar &similar_;
    Num lam_, constant_, terminal_;
    bool plain_;             // the two are one
    std::vector<Num> power_; // of lam
};

} // namespace treelet
