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
    static constexpr std::uint32_t by_grid = 0;    // count of an entry whose matches are too many to list
    static constexpr std::size_t chain_limit = 24; // matches above which they are
    std::vector<Entry> entry;
    std::vector<Match> match;
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

    const Plan &find(const PartialTreeIndex &index, const Similar &similar, const Store &store, Id u, Id label) {
        // With similar words it matters which children are words, and a production does not tell.
        std::uint64_t key = static_cast<std::uint32_t>(store.production(u));
        if (similar.any())
            for (std::size_t a = 0; a < store.arity(u); ++a) key = mix(key, store.arity(store.children(u)[a]) == 0);
        auto &plans = static_cast<std::size_t>(store.production(u)) < shared_ ? plans_ : passing_;
        if (auto it = plans.find(key); it != plans.end()) return it->second;
        if (planned_ > budget) plans_.clear(), passing_.clear(), planned_ = 0;
        Plan plan = make(index, similar, store, u, label);
        planned_ += plan.match.size() + plan.entry.size() + 8;
        return plans.emplace(key, std::move(plan)).first->second;
    }
    static constexpr std::size_t bytes() { return budget * sizeof(Plan::Match); } // at most, but for the last one

  private:
    static constexpr std::size_t budget = 1 << 20; // matches and entries
    struct Found {
        PartialTreeIndex::Pair pair;
        Id child;
        double sigma;
    };

    Plan make(const PartialTreeIndex &index, const Similar &similar, const Store &store, Id u, Id label) {
        found_.clear(), touched_.clear();
        count_.resize(index.groups(), 0);
        const auto arity = static_cast<Id>(store.arity(u));
        Plan plan;
        for (Id g = index.label(label).first_group; g < index.label(label).last_group; ++g)
            if (arity > index.wide || index.group(g).arity > index.wide) plan.entry.push_back({g, 0, Plan::by_grid});
        for (Id a = 0; a < arity && arity <= index.wide; ++a) {
            const auto list = [&](Id child_label, double sigma) {
                for (const auto &pair : index.pairs(label, index.local(child_label))) {
                    found_.push_back({pair, a, sigma});
                    if (count_[pair.group]++ == 0) touched_.push_back(pair.group);
                }
            };
            list(store.label(store.children(u)[a]), 1);
            similar.each(store, store.children(u)[a], list);
        }
        // Counting sort by group; within a group the matches stay ordered by (a, b).
        std::sort(touched_.begin(), touched_.end());
        plan.entry.reserve(plan.entry.size() + touched_.size());
        plan.match.resize(found_.size());
        std::uint32_t next = 0;
        for (Id group : touched_) {
            const auto count = static_cast<std::uint32_t>(count_[group]);
            plan.entry.push_back({group, next, count > Plan::chain_limit ? Plan::by_grid : count});
            count_[group] = static_cast<Id>(next);
            next += count;
        }
        for (const Found &f : found_) plan.match[count_[f.pair.group]++] = {f.child, f.pair.position, f.sigma};
        for (Id group : touched_) count_[group] = 0;
        return plan;
    }

    std::unordered_map<std::uint64_t, Plan> plans_, passing_; // of productions that stay, and of this store's own
    std::size_t planned_ = 0, shared_ = 0;
    std::uint64_t base_ = 0, serial_ = 0;
    std::vector<Found> found_;
    std::vector<Id> count_, touched_; // groups
};

} // namespace treelet
