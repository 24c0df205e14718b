// The sum over child subsequences in the partial-tree kernel, Moschitti (2006), eq. 3, for many
// columns at once.
//
//   S(u,v) = sum over child subsequences J1 of u and J2 of v with equal length of
//            lam^(children skipped) * prod_i Delta(u[J1_i], v[J2_i])
#pragma once
#include "partial_tree_plans.hpp"
#include "pulse.hpp"
#include "simd.hpp"

namespace treelet {

template <class Num> struct PartialTreeValues { // Delta(u, .)
    struct Part {                               // for the columns with one label
        enum Kind { constant, one_exception, dense } kind = constant;
        Id exception = none; // cell, relative to the first cell of the label
        Num exceptional{};
        std::size_t first = 0; // of its values
    };
    Part own;                  // for the label of u
    std::vector<Part> similar; // per similar label; empty if all are constant
    std::vector<Num> value;    // per cell of each dense part
    std::size_t used = 0;

    void clear() { own.kind = Part::constant, used = 0, similar.clear(); } // values are overwritten before they are read
    // Makes a part dense and returns its values.
    Num *make_dense(Part &part, std::size_t cells) {
        part.kind = Part::dense, part.first = used;
        used += cells;
        if (value.size() < used) value.resize(used);
        return value.data() + part.first;
    }
    std::size_t bytes() const { return value.capacity() * sizeof(Num) + similar.capacity() * sizeof(Part); }
};

// One part of the values of a child in the form that its parent needs: single cells are looked up
// without a branch.
template <class Num> struct PartialTreeCells {
    const Num *table;
    Num few[2], terminal; // terminal: of a childless column
    Id exception, dense;  // dense: all bits set, or none
    bool word;            // used only if words have their own factor
    Num operator[](Id cell) const { return table[(cell & dense) | ((cell == exception) & ~dense)]; }
};

template <class Num> struct ChildScratch {
    std::vector<Num> met, chain, total;
    std::vector<PartialTreeCells<Num>> cells; // per table
    std::vector<std::size_t> first;           // child -> its first table
    std::vector<Id> active, still_active;
    std::vector<PartialTreeIndex::Meeting> meeting;
};

template <class Num> class ChildSequences {
    using Group = PartialTreeIndex::Group;
    using Values = PartialTreeValues<Num>;

  public:
    static constexpr std::size_t sweep = 512; // columns computed together

    // `constant` is Delta of two nodes with nothing in common below them; `terminal` is Delta of
    // two nodes of which one has no children.
    ChildSequences(const PartialTreeIndex &index, const Similar &similar, Num lam, Num constant, Num terminal, bool plain)
        : index_(index), similar_(similar), lam_(lam), constant_(constant), terminal_(terminal), plain_(plain),
          power_(Plan::apart + 1, Num(1)) {
        for (std::size_t i = 1; i < power_.size(); ++i) power_[i] = power_[i - 1] * lam_;
        power_[Plan::apart] = Num(0);
    }

    // Prepares the values of u's children for the following functions. values(child) returns the
    // values of a child.
    template <class Of> void look_up(const Store &store, Id u, Of values, ChildScratch<Num> &s) const {
        const std::size_t arity = store.arity(u);
        const Id *kids = store.children(u);
        s.first.resize(arity);
        std::size_t tables = 0;
        for (std::size_t a = 0; a < arity; ++a) s.first[a] = tables, tables += 1 + similar_.count(store, kids[a]);
        if (s.cells.size() < tables) s.cells.resize(tables);
        for (std::size_t a = 0; a < arity; ++a) {
            const Values &known = values(kids[a]);
            PartialTreeCells<Num> *cells = s.cells.data() + s.first[a];
            const bool word = store.arity(kids[a]) == 0;
            set(*cells, known, known.own, word, Num(1));
            auto part = known.similar.begin();
            similar_.each(store, kids[a], [&](Id label, double sigma) {
                set(*++cells, known, part < known.similar.end() ? *part++ : Part(), word, Num(sigma));
                if (similar_.inner) return;
                const Id local = index_.local(label); // only another word can match
                cells->exception = local == none ? none : index_.label(local).end - index_.label(local).begin;
                cells->few[0] = Num(0), cells->few[1] = cells->terminal;
            });
        }
    }
    // Returns S(u, v) for `width` columns of a group, starting at `from`.
    const Num *sum(const Store &store, Id u, const Group &g, const Plan::Match *match, std::size_t count, Id from,
                   std::size_t width, ChildScratch<Num> &s, Pulse &pulse) const {
        if (s.total.size() < sweep) s.total.resize(sweep);
        if (count == Plan::by_grid)
            by_grid(store, u, g, from, width, s, pulse);
        else
            by_chains(g, match, count, from, width, s);
        return s.total.data();
    }
    // y += a S, z = b S + c, where S is the value of the only match.
    void add_and_set_one(const Group &g, const Plan::Match &match, Id from, std::size_t width, const ChildScratch<Num> &s, Num *y,
                         Num a, Num *z, Num b, Num c) const {
        const PartialTreeCells<Num> &cells = s.cells[match.table];
        const Id *slot = index_.slots(g, match.b) + from;
        if (cells.dense)
            add_and_set(y, a, z, b, c, cells.table, slot, width);
        else
            add_and_set(y, a, z, b, c, slot, cells.exception, cells.few[1], cells.few[0], width);
    }
    // Calls use(cell, S) for the single columns of a plan before cell `stop`. Cells are counted
    // from the first cell of the label.
    template <class Use>
    void singles(const Store &store, Id u, const Plan &plan, Id begin, Id stop, ChildScratch<Num> &s, Pulse &pulse, Use use) const {
        for (const Plan::Entry &x : plan.rest) {
            const Group &g = index_.group(x.group);
            if (g.begin - begin >= stop) break;
            use(g.begin - begin, *sum(store, u, g, plan.match.data() + x.first, x.count, 0, 1, s, pulse));
        }
        const PartialTreeCells<Num> *const row = s.cells.data();
        for (const Plan::One *x = plan.one.data(), *end = x + plan.one.size(); x < end && x->cell < stop; ++x)
            use(x->cell, row[x->table][x->slot]);
        for (const Plan::Two *x = plan.two.data(), *end = x + plan.two.size(); x < end && x->cell < stop; ++x) {
            const Num before = row[x->table[0]][x->slot[0]], met = row[x->table[1]][x->slot[1]];
            use(x->cell, before + met * (power_[x->gaps] * before + Num(1)));
        }
        for (const Plan::More *x = plan.more.data(), *end = x + plan.more.size(); x < end && x->cell < stop; ++x)
            use(x->cell, chained(row, plan.met.data() + x->first, x->count, plan.gap.data() + x->gaps));
    }
    // Whether words have no factor of their own.
    bool plain() const { return plain_; }
    std::size_t bytes() const { return bytes_of(power_); }

  private:
    using Part = typename Values::Part;
    void set(PartialTreeCells<Num> &cells, const Values &values, const Part &part, bool word, Num sigma) const {
        const bool dense = part.kind == Part::dense;
        cells.word = !plain_ && word;
        cells.terminal = terminal_ * sigma;
        cells.few[0] = word ? cells.terminal : constant_ * sigma, cells.few[1] = part.exceptional;
        cells.table = dense ? values.value.data() + part.first : cells.few;
        cells.exception = part.kind == Part::one_exception ? part.exception : none;
        cells.dense = dense ? ~0 : 0;
    }
    // T_x = Delta_x * (1 + sum of lam^gaps T_y over the matches y before x on both sides); S = sum of T_x.
    void by_chains(const Group &g, const Plan::Match *match, std::size_t count, Id from, std::size_t width,
                   ChildScratch<Num> &s) const {
        const auto meet_child = [&](std::size_t x, Num *out) { meet(s.cells[match[x].table], g, match[x].b, from, width, out); };
        Num *const total = s.total.data();
        if (count == 1) return meet_child(0, total);
        if (s.chain.size() < Plan::chain_limit * sweep) s.chain.resize(Plan::chain_limit * sweep);
        Num *const chains = s.chain.data();
        meet_child(0, chains);
        if (count == 2) {
            meet_child(1, total);
            return chain(total, gap_between(match[0], match[1]), chains, width);
        }
        std::copy_n(chains, width, total);
        s.met.resize(sweep);
        for (std::size_t x = 1; x < count; ++x) {
            Num *const own = chains + x * sweep, *const met = s.met.data();
            bool follows = false;
            for (std::size_t y = 0; y < x; ++y) {
                const Num gap = gap_between(match[y], match[x]);
                if (gap == 0) continue;
                if (follows)
                    add_scaled(own, gap, chains + y * sweep, width);
                else
                    set_scaled(own, gap, chains + y * sweep, Num(1), width);
                follows = true;
            }
            meet_child(x, follows ? met : own);
            if (follows) multiply(own, met, width);
            add_scaled(total, Num(1), own, width);
        }
    }
    // Returns the same sum for a single column.
    Num chained(const PartialTreeCells<Num> *row, const Plan::Met *match, std::size_t count, const std::uint8_t *gap) const {
        Num chain[Plan::chain_limit], total(0);
        for (std::size_t x = 0; x < count; ++x) {
            Num before(1);
            for (std::size_t y = 0; y < x; ++y) before += power_[*gap++] * chain[y];
            chain[x] = before * row[match[x].table][match[x].slot];
            total += chain[x];
        }
        return total;
    }
    // Returns lam^(children skipped) if match x can follow match y, and 0 otherwise.
    Num gap_between(const Plan::Match &y, const Plan::Match &x) const {
        if (y.a >= x.a || y.b >= x.b) return Num(0);
        return gap_weight((x.a - y.a - 1) + (x.b - y.b - 1));
    }

    // The same sum if many children match: O(relevant cells) per column instead of O(matches^2).
    //   E(a,b) = sum_{b' <= b} lam^(b-b') T(a,b'),  D(a,b) = lam D(a-1,b) + E(a,b),  T(a,b) = Delta (1 + D(a-1,b-1)).
    // D and E are used only as 1 + D, so cells where they have decayed to nothing are skipped.
    void by_grid(const Store &store, Id u, const Group &g, Id from, std::size_t width, ChildScratch<Num> &s, Pulse &pulse) const {
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
                Num E(0), left(0); // left: the previous D(a-1, b-1), if b-1 was the previous cell
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
                        const std::size_t table = s.first[static_cast<std::size_t>(a)] + static_cast<std::size_t>(match->k);
                        meet(s.cells[table], g, b, from + static_cast<Id>(r), 1, &met);
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
                pulse.add(4 * (s.still_active.size() + s.meeting.size()));
                s.active.swap(s.still_active);
            }
            s.total[r] = total;
        }
    }
    static bool negligible(double value) { return value < 1e-40; }
    template <class Other> static bool negligible(Other value) { return value == 0; }

    // Sets Delta(child, child b of each column).
    void meet(const PartialTreeCells<Num> &cells, const Group &g, Id b, Id from, std::size_t width, Num *out) const {
        const Id *slot = index_.slots(g, b) + from;
        if (cells.dense) return gather(out, cells.table, slot, width);
        if (cells.exception != none)
            select(out, slot, cells.exception, cells.few[1], cells.few[0], width);
        else
            fill(out, cells.few[0], width);
        if (plain_ || cells.word) return;
        const Id childless = index_.childless(g, b);
        for (std::size_t r = 0; r < width; ++r)
            if (slot[r] == childless) out[r] = cells.terminal;
    }
    Num gap_weight(Id gaps) const { return gaps < Plan::apart ? power_[gaps] : power(lam_, gaps); }

    const PartialTreeIndex &index_;
    const Similar &similar_;
    Num lam_, constant_, terminal_;
    bool plain_;             // whether the two are equal
    std::vector<Num> power_; // powers of lam, then 0 for matches that cannot follow each other
};

} // namespace treelet
