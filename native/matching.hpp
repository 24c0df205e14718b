// Counts the occurrences of many fragments in trees.
//
// Fragments are trees in a store of their own, so a part that several fragments share is one
// pattern; children come before parents. The patterns at a node depend only on its subtree. Each
// distinct subtree is therefore processed once, bottom-up, and only patterns with a child that
// occurs at one of its own children are considered.
//   SST, ST:  p is at u  if the productions are equal and every expanded child of p is at the child of u in its position
//   PT:       c(p, u) = sum over children j_1 < ... < j_m of u of  lam^skipped  prod_i c(p_i, u_(j_i)),  labels equal
// A child without children is a node that is not expanded (SST), or a word (ST).
#pragma once
#include "node_weights.hpp"
#include "pulse.hpp"
#include <compare>
#include <span>

namespace treelet {

enum class Fragments { complete, subset, partial };

struct MatchParameters {
    Fragments kind;
    bool leaves; // SST: words may be expanded, into `word`; PT: single words count
    double lam;  // PT: decay per skipped child
};

// A sparse matrix by rows.
struct SparseRows {
    std::vector<std::int64_t> start{0};
    std::vector<Id> column;
    std::vector<double> value;

    void end_row(bool unit) {
        const auto from = static_cast<std::size_t>(start.back());
        start.push_back(static_cast<std::int64_t>(column.size()));
        double squares = 0;
        for (std::size_t i = from; i < value.size() && unit; ++i) squares += value[i] * value[i];
        if (squares > 0)
            for (std::size_t i = from; i < value.size(); ++i) value[i] /= std::sqrt(squares);
    }
};

class FragmentMatcher {
  public:
    static constexpr std::string_view word = "\u2022"; // child of an expanded word

    // Patterns are the trees below `roots`. Column c counts the fragment roots[c]; each occurrence
    // has the weight factor[c].
    FragmentMatcher(std::shared_ptr<const Store> patterns, const Id *roots, const double *factor, std::size_t n, MatchParameters p)
        : p_(p), patterns_(std::move(patterns)), size_(patterns_->size()), columns_(n), factor_(factor, factor + n),
          column_(size_, none),
          alone_(p.kind == Fragments::partial ? patterns_->label_count() : patterns_->production_count(), none),
          use_start_(size_ + 1), expanded_start_(size_ + 1) {
        for (std::size_t c = 0; c < n; ++c) column_[roots[c]] = static_cast<Id>(c);
        const Store &s = *patterns_;
        std::vector<std::pair<Id, Use>> uses;
        for (Id q = 0; q < static_cast<Id>(size_); ++q) {
            const Id *kids = s.children(q);
            const std::size_t arity = s.arity(q);
            for (std::size_t k = 0; k < arity; ++k)
                if (partial() || s.arity(kids[k]) > 0) expanded_.push_back({static_cast<Id>(k), kids[k]});
            expanded_start_[q + 1] = expanded_.size();
            if (expanded_start_[q + 1] > expanded_start_[q]) {
                const Expanded first = expanded_[expanded_start_[q]];
                uses.push_back({first.pattern, {partial() ? s.label(q) : s.production(q), first.position, q}});
            } else if (partial()) {
                alone_[s.label(q)] = q;
            } else if (arity > 0) {
                alone_[s.production(q)] = q;
            }
        }
        std::sort(uses.begin(), uses.end());
        firsts_.resize(alone_.size());
        for (const auto &[child, use] : uses) {
            ++use_start_[child + 1], uses_.push_back(use);
            firsts_[use.what] |= position_bit(static_cast<std::size_t>(use.position));
        }
        for (std::size_t q = 0; q < size_; ++q) use_start_[q + 1] += use_start_[q];
        if (p_.kind == Fragments::subset && p_.leaves) find_words();
    }
    std::size_t columns() const { return columns_; }

    // Returns rows begin .. end of `trees`, each times its factor. With `unit`, rows are then
    // scaled to length 1, except those without fragments.
    SparseRows rows(const Store &store, const NodeWeights &trees, const double *row_factor, std::size_t begin, std::size_t end,
                    bool unit, void (*check)()) const {
        Found found(*this, store, check);
        SparseRows out;
        std::vector<double> sum(columns_);
        std::vector<char> met(columns_);
        std::vector<Id> columns;
        Pulse pulse(check);
        for (std::size_t t = begin; t < end; ++t) {
            for (std::int64_t i = trees.start[t]; i < trees.start[t + 1]; ++i) {
                if (partial() && !p_.leaves && store.arity(trees.node[i]) == 0) continue;
                const std::span<const Match> here = found.of(trees.node[i]);
                pulse.add(here.size() + 1);
                for (const Match &match : here) {
                    const Id c = column_[match.pattern];
                    if (c == none) continue;
                    if (!met[c]) met[c] = 1, columns.push_back(c);
                    sum[c] += trees.weight[i] * match.count;
                }
            }
            sort_distinct(columns);
            for (Id c : columns) {
                if (sum[c] != 0) out.column.push_back(c), out.value.push_back(sum[c] * factor_[c] * row_factor[t]);
                sum[c] = 0, met[c] = 0;
            }
            out.end_row(unit);
            columns.clear();
        }
        return out;
    }

  private:
    struct Use {     // use of a pattern as the first expanded child of another pattern
        Id what;     // production of the other pattern; PT: its label
        Id position; // position among its children
        Id pattern;
        auto operator<=>(const Use &) const = default;
    };
    struct Expanded {
        Id position, pattern;
    };
    struct Match {
        Id pattern;
        double count;
        bool operator<(const Match &other) const { return pattern < other.pattern; } // a node matches a pattern once
    };

    static std::uint64_t position_bit(std::size_t k) { return std::uint64_t{1} << std::min<std::size_t>(k, 63); }
    bool partial() const { return p_.kind == Fragments::partial; }
    std::span<const Expanded> expanded(Id pattern) const {
        return {expanded_.data() + expanded_start_[pattern], expanded_start_[pattern + 1] - expanded_start_[pattern]};
    }
    void find_words() {
        word_.assign(patterns_->label_count(), none);
        const Id below = patterns_->find_label(word);
        for (Id q = 0; q < static_cast<Id>(size_); ++q)
            if (patterns_->arity(q) == 1 && patterns_->arity(*patterns_->children(q)) == 0 &&
                patterns_->label(*patterns_->children(q)) == below)
                word_[patterns_->label(q)] = q;
    }

    // The patterns at each distinct subtree of some rows.
    class Found {
      public:
        Found(const FragmentMatcher &of, const Store &store, void (*check)())
            : of_(of), store_(store), place_(store.size()), labels_(store.label_count()), productions_(store.production_count()),
              asked_(of.partial() ? of.size_ : 0, none), pulse_(check) {}

        std::span<const Match> of(Id node) {
            if (!place_.has(node)) look_at(node);
            return at(node);
        }

      private:
        static constexpr Id unknown = none - 1; // looked up, but not found

        void look_at(Id node) {
            const Id *kids = store_.children(node);
            bool ready = true; // holds if the nodes of each row are all nodes of a tree
            for (std::size_t k = 0; k < store_.arity(node) && ready; ++k) ready = place_.has(kids[k]);
            if (ready) return add(node);
            Marks order(store_.size());
            for (Id other : below(store_, &node, 1, order))
                if (!place_.has(other)) add(other);
        }
        void add(Id node) {
            const std::size_t from = matches_.size();
            of_.partial() ? add_partial(node) : add_subset(node);
            if (matches_.size() > from + 1) std::sort(matches_.begin() + static_cast<std::ptrdiff_t>(from), matches_.end());
            place_.set(node, static_cast<Id>(start_.size() - 1));
            start_.push_back(matches_.size());
            pulse_.add(8 + matches_.size() - from);
        }
        std::span<const Match> at(Id node) const {
            const auto i = static_cast<std::size_t>(place_[node]);
            return {matches_.data() + start_[i], start_[i + 1] - start_[i]};
        }

        Id label(Id theirs) {
            if (!labels_.has(theirs)) {
                const Id found = of_.patterns_->find_label(store_.label_text(theirs));
                labels_.set(theirs, found == none ? unknown : found);
            }
            return labels_[theirs];
        }
        Id production(Id node) {
            const Id theirs = store_.production(node);
            if (!productions_.has(theirs)) productions_.set(theirs, find_production(node));
            return productions_[theirs];
        }
        Id find_production(Id node) {
            const Id own = label(store_.label(node));
            if (own == unknown) return unknown;
            kids_.clear();
            for (std::size_t k = 0; k < store_.arity(node); ++k) {
                kids_.push_back(label(store_.label(store_.children(node)[k])));
                if (kids_.back() == unknown) return unknown;
            }
            const Id found = of_.patterns_->find_production(own, kids_.data(), kids_.size());
            return found == none ? unknown : found;
        }
        double count(Id node, Id pattern) const {
            const auto here = at(node);
            const auto i = std::lower_bound(here.begin(), here.end(), Match{pattern, 0});
            return i != here.end() && i->pattern == pattern ? i->count : 0;
        }
        // Calls f(use) for each pattern whose first expanded child is `child`, at this position
        // below this production or label.
        template <class F> void each_use(Id child, Id what, Id position, F f) {
            const Use *begin = of_.uses_.data() + of_.use_start_[child], *end = of_.uses_.data() + of_.use_start_[child + 1];
            if (begin == end) return;
            pulse_.add(1);
            for (const Use *use = std::lower_bound(begin, end, Use{what, position, none});
                 use != end && use->what == what && use->position == position; ++use)
                f(*use);
        }

        void add_subset(Id node) {
            const std::size_t n = store_.arity(node);
            if (n == 0) {
                if (of_.word_.empty()) return;
                const Id own = label(store_.label(node));
                if (own != unknown && of_.word_[own] != none) matches_.push_back({of_.word_[own], 1});
                return;
            }
            const Id p = production(node);
            if (p == unknown) return;
            const bool complete = of_.p_.kind == Fragments::complete;
            std::size_t open = 0; // number of children that a complete subtree expands
            for (std::size_t k = 0; k < n && complete; ++k) open += store_.arity(store_.children(node)[k]) > 0;
            if (of_.alone_[p] != none && open == 0) matches_.push_back({of_.alone_[p], 1});
            const Id *kids = store_.children(node);
            for (std::size_t k = 0; k < n; ++k) {
                if (!(of_.firsts_[p] & position_bit(k))) continue;
                const auto i = static_cast<std::size_t>(place_[kids[k]]);
                for (std::size_t m = start_[i]; m < start_[i + 1]; ++m) // matches_ grows in this loop
                    each_use(matches_[m].pattern, p, static_cast<Id>(k), [&](const Use &use) {
                        const auto expanded = of_.expanded(use.pattern);
                        pulse_.add(expanded.size());
                        if (complete && expanded.size() != open) return;
                        for (std::size_t e = 1; e < expanded.size(); ++e)
                            if (count(kids[expanded[e].position], expanded[e].pattern) == 0) return;
                        matches_.push_back({use.pattern, 1});
                    });
            }
        }

        void add_partial(Id node) {
            const Id own = label(store_.label(node));
            if (own == unknown) return;
            if (of_.alone_[own] != none) matches_.push_back({of_.alone_[own], 1});
            const std::size_t n = of_.firsts_[own] ? store_.arity(node) : 0;
            const Id *kids = store_.children(node);
            for (std::size_t k = 0; k < n; ++k) {
                const auto i = static_cast<std::size_t>(place_[kids[k]]);
                for (std::size_t m = start_[i]; m < start_[i + 1]; ++m)
                    each_use(matches_[m].pattern, own, 0, [&](const Use &use) {
                        if (asked_[use.pattern] == node) return;
                        asked_[use.pattern] = node;
                        if (const double ways = sequences(kids, n, of_.expanded(use.pattern)); ways > 0)
                            matches_.push_back({use.pattern, ways});
                    });
            }
        }
        // Returns the sum over subsequences of children that match the children of a pattern, with
        // decay for skipped ones.
        double sequences(const Id *kids, std::size_t n, std::span<const Expanded> wanted) {
            if (wanted.size() > n) return 0;
            ways_.assign(n, 0);
            for (std::size_t j = 0; j < n; ++j) ways_[j] = count(kids[j], wanted[0].pattern);
            for (std::size_t e = 1; e < wanted.size(); ++e) {
                double before = 0; // sequences that end before child j, decayed
                for (std::size_t j = 0; j < n; ++j) {
                    const double last = ways_[j];
                    ways_[j] = before > 0 ? before * count(kids[j], wanted[e].pattern) : 0;
                    before = of_.p_.lam * before + last;
                }
            }
            pulse_.add(n * wanted.size() * 4);
            double sum = 0;
            for (double ways : ways_) sum += ways;
            return sum;
        }

        const FragmentMatcher &of_;
        const Store &store_;
        Marks place_, labels_, productions_;
        std::vector<Id> asked_, kids_;
        std::vector<std::size_t> start_{0};
        std::vector<Match> matches_;
        std::vector<double> ways_;
        Pulse pulse_;
    };

    MatchParameters p_;
    std::shared_ptr<const Store> patterns_;
    std::size_t size_, columns_;
    std::vector<double> factor_;
    std::vector<Id> column_; // per pattern
    std::vector<Id> alone_;  // production -> the pattern that expands nothing else; PT: label -> the pattern of the single node
    std::vector<Id> word_;   // label -> the pattern of the expanded word
    std::vector<std::uint64_t> firsts_; // production (PT: label) -> positions of first expanded children
    std::vector<std::size_t> use_start_, expanded_start_;
    std::vector<Use> uses_;
    std::vector<Expanded> expanded_;
};

} // namespace treelet
