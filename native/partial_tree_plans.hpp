// Which children of a row's production can meet which of each group of columns: worked out once a pair of productions.
#pragma once
#include "partial_tree_index.hpp"
#include <unordered_map>

namespace treelet {

struct Plan {
    struct Match { // child a of the row's production can meet child b of the group's
        Id a, b;
        double sigma; // 1: equal labels; else alike, if both are words
    };
    struct Entry {
        Id group;
        std::uint32_t first, count; // of `match`
    };
    // The rest is about columns that are a group. Cells count from the label's begin.
    struct One { // only one child can be met
        Id cell, slot, a;
    };
    struct Two { // likewise, two children
        Id cell, slot[2];
        std::uint16_t a[2];
        Id gaps; // children skipped where both are met, or `apart`: they cannot be
    };
    struct More {
        Id cell;
        std::uint32_t first, count; // of `met`
    };
    struct Met {
        Id slot;
        std::uint16_t a, b;
    };
    static constexpr std::uint32_t by_grid = 0;    // count of an entry whose matches are too many to list
    static constexpr std::size_t chain_limit = 24; // matches above which they are
    static constexpr Id apart = 64;                // more gaps than a Two has
    std::vector<Entry> entry;                      // by group
    std::vector<Match> match;
    std::vector<One> one; // by cell, as are the others
    std::vector<Two> two;
    std::vector<More> more;
    std::vector<Met> met;
    std::size_t uses = 0;

    std::size_t size() const { return entry.size() + one.size() + two.size() + more.size(); }
    std::size_t bytes() const {
        return sizeof(Plan) + 64 + bytes_of(entry) + bytes_of(match) + bytes_of(one) + bytes_of(two) + bytes_of(more) +
               bytes_of(met);
    }
};

// Each thread has its own.
class Plans {
  public:
    // For rows of another store; there a production's number is another's, unless both grew over the same.
    void for_store(const Store &store) {
        if (base_ != store.base_serial()) plans_.clear(), planned_ = 0;
        if (serial_ != store.serial()) passing_.clear();
        base_ = store.base_serial(), serial_ = store.serial(), shared_ = store.base_productions();
    }

    // `plain`: words have no factor of their own.
    const Plan &find(const PartialTreeIndex &index, const Similar &similar, bool plain, const Store &store, Id u, Id label) {
        // With similar words it matters which children are words, and a production does not tell.
        std::uint64_t key = static_cast<std::uint32_t>(store.production(u));
        if (similar.any())
            for (std::size_t a = 0; a < store.arity(u); ++a) key = mix(key, store.arity(store.children(u)[a]) == 0);
        auto &plans = static_cast<std::size_t>(store.production(u)) < shared_ ? plans_ : passing_;
        if (auto it = plans.find(key); it != plans.end()) return ++it->second.uses, it->second;
        if (planned_ > bytes(index.cells())) forget(bytes(index.cells()) / 2);
        Plan plan = make(index, similar, plain && !similar.any(), store, u, label);
        planned_ += plan.bytes();
        return plans.emplace(key, std::move(plan)).first->second;
    }
    // At most, but for the last one.
    static constexpr std::size_t bytes(std::size_t cells) { return std::min<std::size_t>(512 * cells + (1 << 16), 1 << 25); }

  private:
    struct List { // where the columns have a child that one of the row's can meet
        std::span<const PartialTreeIndex::Pair> pairs;
        Id child;
        double sigma;
    };
    struct Candidate {
        Plan::Match match;
        Id slot;
    };

    // Those that were used once only; all, if that is not enough.
    void forget(std::size_t enough) {
        for (auto *plans : {&plans_, &passing_})
            for (auto it = plans->begin(); it != plans->end();) {
                const bool used = std::exchange(it->second.uses, 0) > 0;
                if (!used) planned_ -= it->second.bytes();
                it = used ? std::next(it) : plans->erase(it);
            }
        if (planned_ > enough) plans_.clear(), passing_.clear(), planned_ = 0;
    }

    Plan make(const PartialTreeIndex &index, const Similar &similar, bool plain, const Store &store, Id u, Id label) {
        const PartialTreeIndex::Label &own = index.label(label);
        touch(index, similar, store, u, label);
        // Counting sort by group; within a group the matches stay ordered by (a, b).
        Plan plan;
        const Id first_single = plain ? own.first_single() : own.last_group;
        std::size_t of_kind[4] = {0, 0, 0, 0}; // entries; columns with one match, two, more
        Id all = 0, swept = 0, many = 0;       // matches; those of entries, and of columns with more
        for (Id group : touched_) {
            const Id count = std::exchange(count_[group], all);
            all += count;
            const int kind = group < first_single || count == 0 ? 0 : count > 2 ? 3 : count;
            ++of_kind[kind], swept += kind == 0 ? count : 0, many += kind == 3 ? count : 0;
        }
        if (candidate_.size() < static_cast<std::size_t>(all)) candidate_.resize(static_cast<std::size_t>(all));
        for (const List &list : lists_)
            for (const PartialTreeIndex::Pair &pair : list.pairs)
                candidate_[count_[pair.group]++] = {{list.child, pair.position, list.sigma}, pair.slot};
        plan.entry.reserve(of_kind[0]), plan.match.reserve(static_cast<std::size_t>(swept));
        plan.one.reserve(of_kind[1]), plan.two.reserve(of_kind[2]);
        plan.more.reserve(of_kind[3]), plan.met.reserve(static_cast<std::size_t>(many));
        const Candidate *match = candidate_.data(); // count_ holds where a group's matches end
        for (Id g : touched_) {
            const Candidate *const end = candidate_.data() + std::exchange(count_[g], 0);
            if (g >= first_single)
                add_single(plan, g - first_single + (own.single - own.begin), g, match, static_cast<std::size_t>(end - match));
            else
                add_entry(plan, g, match, static_cast<std::size_t>(end - match));
            match = end;
        }
        return plan;
    }

    // Fills lists_, touched_ (ascending) and count_: all matches, the groups that have some or are not listed, how many each has.
    void touch(const PartialTreeIndex &index, const Similar &similar, const Store &store, Id u, Id label) {
        lists_.clear(), touched_.clear();
        count_.resize(index.groups(), 0);
        const PartialTreeIndex::Label &own = index.label(label);
        const auto arity = static_cast<Id>(store.arity(u));
        const auto groups = static_cast<std::size_t>(own.last_group - own.first_group);
        std::size_t found = 0;
        for (Id a = 0; a < arity && arity <= index.wide; ++a) {
            const auto list = [&](Id child_label, double sigma) {
                lists_.push_back({index.pairs(label, index.local(child_label)), a, sigma});
                found += lists_.back().pairs.size();
            };
            list(store.label(store.children(u)[a]), 1);
            similar.each(store, store.children(u)[a], list);
        }
        const bool few = found * 8 < groups; // then cheaper to sort than to look at all
        for (const List &list : lists_)
            for (const PartialTreeIndex::Pair &pair : list.pairs)
                if (count_[pair.group]++ == 0 && few) touched_.push_back(pair.group);
        const std::span<const Id> wide = index.wide_groups(own);
        if (few && arity <= index.wide) {
            touched_.insert(touched_.end(), wide.begin(), wide.end());
            return std::sort(touched_.begin(), touched_.end());
        }
        touched_.clear();
        auto next = wide.begin();
        for (Id g = own.first_group; g < own.last_group; ++g) {
            const bool listed = arity <= index.wide && (next == wide.end() || *next != g);
            if (!listed && next != wide.end() && *next == g) ++next;
            if (count_[g] || !listed) touched_.push_back(g);
        }
    }

    static void add_entry(Plan &plan, Id group, const Candidate *match, std::size_t count) {
        if (count == 0 || count > Plan::chain_limit) return plan.entry.push_back({group, 0, Plan::by_grid});
        plan.entry.push_back({group, static_cast<std::uint32_t>(plan.match.size()), static_cast<std::uint32_t>(count)});
        for (std::size_t x = 0; x < count; ++x) plan.match.push_back(match[x].match);
    }
    static void add_single(Plan &plan, Id cell, Id group, const Candidate *match, std::size_t count) {
        const auto child = [&](std::size_t x) { return static_cast<std::uint16_t>(match[x].match.a); };
        if (count == 1) return plan.one.push_back({cell, match->slot, match->match.a});
        if (count == 2) {
            const Plan::Match &x = match[0].match, &y = match[1].match;
            const Id gaps = x.a < y.a && x.b < y.b ? y.a - x.a + y.b - x.b - 2 : Plan::apart;
            if (gaps <= Plan::apart) return plan.two.push_back({cell, {match[0].slot, match[1].slot}, {child(0), child(1)}, gaps});
        }
        if (count == 0 || count > Plan::chain_limit) return plan.entry.push_back({group, 0, Plan::by_grid});
        plan.more.push_back({cell, static_cast<std::uint32_t>(plan.met.size()), static_cast<std::uint32_t>(count)});
        for (std::size_t x = 0; x < count; ++x)
            plan.met.push_back({match[x].slot, child(x), static_cast<std::uint16_t>(match[x].match.b)});
    }

    std::unordered_map<std::uint64_t, Plan> plans_, passing_; // of productions that stay, and of this store's own
    std::size_t planned_ = 0, shared_ = 0;
    std::uint64_t base_ = 0, serial_ = 0;
    std::vector<List> lists_;
    std::vector<Candidate> candidate_;
    std::vector<Id> count_, touched_; // groups
};

} // namespace treelet
