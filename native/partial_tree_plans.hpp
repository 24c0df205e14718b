// The children of a row's production that can match children of each group of columns, computed
// once per pair of productions.
//
// The values of a child form tables: one for the columns with its own label, and one per similar
// label. Tables are numbered over all children.
#pragma once
#include "partial_tree_index.hpp"
#include <unordered_map>

namespace treelet {

struct Plan {
    struct Match {      // child a of the row's production can match child b of the group's
        Id a, b, table; // table: that of child a for the label of child b
    };
    struct Entry {
        Id group;
        std::uint32_t first, count; // range in `match`
    };
    // The rest is about columns that are single groups. Cells are counted from the first cell of the label.
    struct One { // only one child can match
        Id cell, slot, table;
    };
    struct Two { // two children can match
        Id cell, slot[2], table[2];
        Id gaps; // number of children skipped if both match, or `apart` if they cannot both match
    };
    struct More {
        Id cell;
        std::uint32_t first, count; // range in `met`
        std::uint32_t gaps;         // index in `gap`: for each match, the gaps to the matches before, as in Two
    };
    struct Met {
        Id slot, table;
    };
    static constexpr std::uint32_t by_grid = 0;    // count of an entry with too many matches to list
    static constexpr std::size_t chain_limit = 24; // maximum number of matches that are listed
    static constexpr Id apart = 64;                // more gaps than are stored
    std::vector<Entry> entry;                      // per group
    std::vector<Entry> rest;                       // columns with other matches
    std::vector<Match> match;
    std::vector<One> one; // ordered by cell, like the others
    std::vector<Two> two;
    std::vector<More> more;
    std::vector<Met> met;
    std::vector<std::uint8_t> gap;

    std::size_t singles() const { return rest.size() + one.size() + two.size() + more.size(); }
    std::size_t size() const { return entry.size() + singles(); }
    void clear() {
        entry.clear(), rest.clear(), match.clear();
        one.clear(), two.clear(), more.clear(), met.clear(), gap.clear();
    }
    std::size_t bytes() const {
        return bytes_of(entry) + bytes_of(rest) + bytes_of(match) + bytes_of(one) + bytes_of(two) + bytes_of(more) + bytes_of(met) +
               bytes_of(gap);
    }
};

// Plans of productions that occur repeatedly, as far as memory allows. Each thread has its own.
class Plans {
  public:
    // Prepares for rows of another store, in which a number may denote another production, unless
    // both stores grew over the same one.
    void for_store(const Store &store) {
        if (base_ != store.base_serial()) clear(plans_);
        if (serial_ != store.serial()) clear(passing_);
        base_ = store.base_serial(), serial_ = store.serial(), shared_ = store.base_productions(), listed_ = none;
    }

    // Returns the plan for u with this label; `plain` means that words have no factor of their own.
    // The first plan for a production, which for most is the only one, covers single groups only
    // before `stop` and is not stored.
    const Plan &find(const PartialTreeIndex &index, const Similar &similar, bool plain, const Store &store, Id u, Id label,
                     Id stop) {
        const auto production = static_cast<std::size_t>(store.production(u));
        if (production < quick_.size() && quick_[production]) return quick_[production]->used = true, quick_[production]->plan;
        // If only words can be similar, the plan also depends on which children are words, and a
        // production does not determine that.
        std::uint64_t key = static_cast<std::uint32_t>(store.production(u));
        const bool by_words = similar.any() && !similar.inner;
        for (std::size_t a = 0; a < store.arity(u) && by_words; ++a) key = mix(key, store.arity(store.children(u)[a]) == 0);
        Table &plans = production < shared_ ? plans_ : passing_;
        if (const auto it = plans.find(key); it != plans.end() && it->second.made) return it->second.used = true, it->second.plan;
        if (planned_ > bytes(index.cells())) forget(bytes(index.cells()) / 2);
        const auto [it, fresh] = plans.try_emplace(key);
        if (fresh) planned_ += sizeof(Kept);
        const PartialTreeIndex::Label &own = index.label(label);
        const bool again = !fresh || index.is_common(store.production(u));
        make(index, similar, plain, store, u, label, again || !plain ? own.last_group : own.last_group - (own.end - stop));
        if (!again) return draft_;
        it->second = {draft_, true, false};
        if (!by_words && production < shared_) quick_.resize(shared_, nullptr), quick_[production] = &it->second;
        planned_ += it->second.plan.bytes();
        return it->second.plan;
    }
    // Returns the plan for u and a label that is similar to that of u, for the groups before `last`. It is not stored.
    const Plan &for_similar(const PartialTreeIndex &index, const Similar &similar, bool plain, const Store &store, Id u, Id label,
                            Id last) {
        return make(index, similar, plain, store, u, label, last), draft_;
    }
    // Maximum number of bytes, not counting the last plan.
    static constexpr std::size_t bytes(std::size_t cells) { return std::min<std::size_t>(512 * cells + (1 << 16), 1 << 25); }

  private:
    struct Kept {
        Plan plan;
        bool made = false, used = false; // used: again, after it was made
    };
    using Table = std::unordered_map<std::uint64_t, Kept>;
    struct Candidate {
        std::uint16_t a, b;
        Id slot, table;
        // Number of children skipped if both match, or `apart` if they cannot.
        Id gaps(const Candidate &next) const { return a < next.a && b < next.b ? next.a - a + next.b - b - 2 : Plan::apart; }
        bool far() const { return a > Plan::apart / 2 || b > Plan::apart / 2; } // there may be more gaps than `apart`
    };
    struct List { // the columns with a child that one of the row's children can match
        const PartialTreeIndex::Pair *next, *end;
        Id child, table;
        Candidate take() {
            const PartialTreeIndex::Pair &pair = *next++;
            return {static_cast<std::uint16_t>(child), static_cast<std::uint16_t>(pair.position), pair.slot, table};
        }
    };
    struct Child { // a child of the row's node, with the next one that matches the same label
        Id a, table, next;
    };

    // Adds the matches of a group to a plan.
    struct Adding {
        Plan &plan;
        const PartialTreeIndex::Label &label;
        Id first_single; // group

        void add(Id group, const Candidate *match, std::size_t count) const {
            if (group < first_single) return add_entry(plan.entry, group, match, count);
            const Id cell = group - first_single + (label.single - label.begin);
            if (count == 1) return plan.one.push_back({cell, match->slot, match->table});
            if (count == 0 || count > Plan::chain_limit || std::any_of(match, match + count, [](auto &x) { return x.far(); }))
                return add_entry(plan.rest, group, match, count);
            if (count == 2)
                return plan.two.push_back(
                    {cell, {match[0].slot, match[1].slot}, {match[0].table, match[1].table}, match[0].gaps(match[1])});
            plan.more.push_back({cell, static_cast<std::uint32_t>(plan.met.size()), static_cast<std::uint32_t>(count),
                                 static_cast<std::uint32_t>(plan.gap.size())});
            for (std::size_t x = 0; x < count; ++x) {
                plan.met.push_back({match[x].slot, match[x].table});
                for (std::size_t y = 0; y < x; ++y) plan.gap.push_back(static_cast<std::uint8_t>(match[y].gaps(match[x])));
            }
        }
        void add_entry(std::vector<Plan::Entry> &entries, Id group, const Candidate *match, std::size_t count) const {
            if (count == 0 || count > Plan::chain_limit) return entries.push_back({group, 0, Plan::by_grid});
            entries.push_back({group, static_cast<std::uint32_t>(plan.match.size()), static_cast<std::uint32_t>(count)});
            for (std::size_t x = 0; x < count; ++x) plan.match.push_back({match[x].a, match[x].b, match[x].table});
        }
    };

    void clear(Table &plans) {
        for (const auto &item : plans) planned_ -= sizeof(Kept) + item.second.plan.bytes();
        plans.clear();
        if (&plans == &plans_) quick_.clear();
    }
    // Removes the plans that were not used again; all plans if that is not enough.
    void forget(std::size_t enough) {
        quick_.clear();
        for (Table *plans : {&plans_, &passing_})
            for (auto it = plans->begin(); it != plans->end();) {
                const bool used = std::exchange(it->second.used, false);
                if (!used) planned_ -= sizeof(Kept) + it->second.plan.bytes();
                it = used ? std::next(it) : plans->erase(it);
            }
        if (planned_ > enough) clear(plans_), clear(passing_);
    }

    // Calls f(a, label, table) for each child a of u and each label that it can match.
    template <class F> static void each_label(const Similar &similar, const Store &store, Id u, F f) {
        Id table = 0;
        for (Id a = 0; a < static_cast<Id>(store.arity(u)); ++a) {
            const Id child = store.children(u)[a];
            f(a, store.label(child), table++);
            similar.each(store, child, [&](Id label, double) { f(a, label, table++); });
        }
    }

    // Lists the children of u by the labels that they match.
    void list_children(const PartialTreeIndex &index, const Similar &similar, const Store &store, Id u) {
        if (std::exchange(listed_, u) == u) return;
        for (Id label : matched_) first_[label] = none;
        matched_.clear(), child_.clear();
        first_.resize(index.labels(), none);
        each_label(similar, store, u, [&](Id a, Id child_label, Id table) {
            const Id label = index.local(child_label);
            if (label == none) return;
            if (first_[label] == none) matched_.push_back(label);
            child_.push_back({a, table, std::exchange(first_[label], static_cast<Id>(child_.size()))});
        });
    }
    // Adds the groups of a label before `last` by looking up each child of a column among the children of u.
    void scan(const Adding &to, const PartialTreeIndex &index, Id first, Id last) {
        for (Id g = first; g < last; ++g) {
            const PartialTreeIndex::Group &group = index.group(g);
            match_.clear();
            if (group.arity <= index.wide) {
                const Id *labels = index.child_labels(group);
                for (Id b = 0; b < group.arity; ++b)
                    for (Id k = first_[labels[b]]; k != none; k = child_[k].next)
                        match_.push_back({static_cast<std::uint16_t>(child_[k].a), static_cast<std::uint16_t>(b),
                                          *index.slots(group, b), child_[k].table});
                if (match_.empty()) continue;
            }
            to.add(g, match_.data(), match_.size());
        }
    }

    // Fills draft_ with the groups before `last`.
    void make(const PartialTreeIndex &index, const Similar &similar, bool plain, const Store &store, Id u, Id label, Id last) {
        const PartialTreeIndex::Label &own = index.label(label);
        const Adding to{draft_, own, plain ? own.first_single() : own.last_group};
        draft_.clear(), lists_.clear();
        const auto arity = static_cast<Id>(store.arity(u));
        if (arity > index.wide) {
            for (Id g = own.first_group; g < last; ++g) to.add(g, nullptr, 0);
            return;
        }
        if (similar.inner) { // a lookup in the table of pairs costs as much as those of many children
            list_children(index, similar, store, u);
            if (index.children(own.first_group, last) <= 32 * child_.size()) return scan(to, index, own.first_group, last);
        }
        each_label(similar, store, u, [&](Id a, Id child_label, Id table) {
            if (index.local(child_label) == none) return;
            const auto all = index.pairs(label, index.local(child_label));
            if (all.empty()) return;
            const auto before = [&](const PartialTreeIndex::Pair &pair) { return pair.group < last; };
            const std::size_t n =
                last == own.last_group
                    ? all.size()
                    : static_cast<std::size_t>(std::partition_point(all.begin(), all.end(), before) - all.begin());
            lists_.push_back({all.data(), all.data() + n, a, table});
        });
        const std::span<const Id> wide = index.wide_groups(own);
        lists_.size() <= few ? merge(to, wide, last) : sort(to, wide, last, index.groups());
    }

    // Visits all matches group by group, ordered by (a, b), by merging a few sorted lists.
    void merge(const Adding &to, std::span<const Id> wide, Id last) {
        Id next[few + 1]; // the first group of each list
        const std::size_t n = lists_.size();
        candidate_.resize(few * PartialTreeIndex::wide);
        const auto first = [&](const List &list) { return list.next < list.end ? list.next->group : last; };
        for (std::size_t k = 0; k < n; ++k) next[k] = first(lists_[k]);
        for (auto unlisted = wide.begin();;) {
            Id group = unlisted < wide.end() ? std::min(*unlisted, last) : last;
            for (std::size_t k = 0; k < n; ++k) group = std::min(group, next[k]);
            if (group == last) return;
            if (unlisted < wide.end() && *unlisted == group) ++unlisted;
            std::size_t count = 0;
            for (std::size_t k = 0; k < n; ++k)
                for (List &list = lists_[k]; next[k] == group; next[k] = first(list)) candidate_[count++] = list.take();
            to.add(group, candidate_.data(), count);
        }
    }
    // The same for many lists: a counting sort.
    void sort(const Adding &to, std::span<const Id> wide, Id last, std::size_t groups) {
        count_.resize(groups, 0), touched_.assign(wide.begin(), wide.end());
        std::size_t all = 0;
        for (const List &list : lists_) {
            for (const PartialTreeIndex::Pair *pair = list.next; pair < list.end; ++pair)
                if (count_[pair->group]++ == 0) touched_.push_back(pair->group);
            all += static_cast<std::size_t>(list.end - list.next);
        }
        std::sort(touched_.begin(), touched_.end());
        candidate_.resize(std::max(all, candidate_.size()));
        Id next = 0;
        for (Id group : touched_) next += std::exchange(count_[group], next);
        for (List &list : lists_)
            while (list.next < list.end) {
                Id &at = count_[list.next->group];
                candidate_[at++] = list.take();
            }
        const Candidate *match = candidate_.data(); // count_ holds the end of each group's matches
        for (Id group : touched_) {
            const Candidate *const end = candidate_.data() + std::exchange(count_[group], 0);
            if (group < last) to.add(group, match, static_cast<std::size_t>(end - match));
            match = end;
        }
    }

    Table plans_, passing_;     // of productions that stay, and of this store's own
    std::vector<Kept *> quick_; // plans_ by production, if the production determines the plan
    std::size_t planned_ = 0, shared_ = 0;
    std::uint64_t base_ = 0, serial_ = 0;
    Plan draft_;
    static constexpr std::size_t few = 16;
    std::vector<List> lists_;
    std::vector<Candidate> candidate_, match_;
    std::vector<Id> count_, touched_; // per group
    Id listed_ = none;                // the node whose children are listed
    std::vector<Id> first_, matched_; // label -> the first child that matches it, or none; the labels with one
    std::vector<Child> child_;
};

} // namespace treelet
