// All small fragments of trees as features. The coordinate of a fragment is a hash of it, so no
// list of fragments is stored, and the number of trees is unlimited.
//
// The fragments at a node follow from those of its children and depend only on its subtree, so
// those of each distinct subtree are listed once.
//   SST:  a production, and for each child nothing or one of its fragments
//   ST:   a production, and for each child its complete subtree
//   PT:   a label over some of the children, in order, each with one of its fragments
// A key is computed from the texts of the labels, so it is the same in every store.
#pragma once
#include "matching.hpp"

namespace treelet {

struct HashParameters {
    Fragments kind;
    bool leaves;
    double lam, mu;   // mu: PT only
    Id size;          // maximum number of productions; PT: of nodes
    Id depth;         // 0: no limit
    Id columns;       // number of coordinates
    std::size_t most; // maximum number of fragments per node; if there are more, only smaller ones count
};

struct HashedRows {
    SparseRows rows;
    std::int64_t crowded = 0; // number of distinct subtrees with more than `most` fragments
};

class HashedFragments {
  public:
    explicit HashedFragments(HashParameters p) : p_(p), own_(std::sqrt(partial() ? p.mu : p.lam)) {}

    // Returns the rows of `trees`. With `unit`, rows are scaled to length 1, except those without
    // fragments.
    HashedRows rows(const Store &store, const NodeWeights &trees, bool unit, void (*check)()) const {
        Listed listed(*this, store, trees, check);
        HashedRows out{{}, listed.crowded()};
        std::vector<std::pair<Id, double>> entries;
        Pulse pulse(check);
        for (std::size_t t = 0; t < trees.rows(); ++t) {
            entries.clear();
            for (std::int64_t i = trees.start[t]; i < trees.start[t + 1]; ++i) {
                if (partial() && !p_.leaves && store.arity(trees.node[i]) == 0) continue;
                for (const Fragment &f : listed.at(trees.node[i]))
                    entries.push_back({column(f.key), trees.weight[i] * (f.key >> 63 ? -f.value : f.value)});
            }
            pulse.add(16 * entries.size() + 1);
            add_row(entries, unit, out.rows);
        }
        return out;
    }

    // Returns the coordinates of fragments that are themselves trees in a store.
    std::vector<Id> columns(const Store &store, const Id *roots, std::size_t n) const {
        Marks place(store.size());
        const std::vector<Id> nodes = below(store, roots, n, place);
        std::vector<std::uint64_t> key(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            key[i] = own_key(store, nodes[i]);
            const Id *kids = store.children(nodes[i]);
            for (std::size_t k = 0; k < store.arity(nodes[i]); ++k)
                if (partial() || store.arity(kids[k]) > 0) key[i] = with_child(key[i], k, key[place[kids[k]]]);
        }
        std::vector<Id> out(n);
        for (std::size_t i = 0; i < n; ++i) out[i] = column(key[place[roots[i]]]);
        return out;
    }

  private:
    struct Fragment {
        std::uint64_t key;
        double value; // value of one occurrence
        Id size, depth;
        Id last; // PT, during growth: position of its last child
    };

    bool partial() const { return p_.kind == Fragments::partial; }
    Id column(std::uint64_t key) const {
        return static_cast<Id>((key & ~(std::uint64_t{1} << 63)) % static_cast<std::uint64_t>(p_.columns));
    }
    // Returns the key of a node that expands nothing below its own production.
    std::uint64_t own_key(const Store &store, Id node) const {
        const std::uint64_t own = hash_text(store.label_text(store.label(node)));
        if (partial()) return mix(own, 1);
        const std::size_t n = store.arity(node);
        std::uint64_t key = mix(own, n);
        for (std::size_t k = 0; k < n; ++k) key = mix(key, hash_text(store.label_text(store.label(store.children(node)[k]))));
        return key;
    }
    std::uint64_t word_key(const Store &store, Id node) const {
        return mix(mix(hash_text(store.label_text(store.label(node))), 1), hash_text(FragmentMatcher::word));
    }
    std::uint64_t with_child(std::uint64_t key, std::size_t position, std::uint64_t child) const {
        return mix(key, mix(child, partial() ? 1 : position + 1));
    }

    static void add_row(std::vector<std::pair<Id, double>> &entries, bool unit, SparseRows &out) {
        std::sort(entries.begin(), entries.end());
        for (std::size_t i = 0; i < entries.size();) {
            const Id c = entries[i].first;
            double sum = 0;
            for (; i < entries.size() && entries[i].first == c; ++i) sum += entries[i].second;
            if (sum != 0) out.column.push_back(c), out.value.push_back(sum);
        }
        out.end_row(unit);
    }

    // The fragments of each distinct subtree of some trees.
    class Listed {
      public:
        Listed(const HashedFragments &of, const Store &store, const NodeWeights &trees, void (*check)())
            : of_(of), p_(of.p_), store_(store), place_(store.size()), pulse_(check) {
            std::vector<Id> nodes;
            below(store, trees.node.data(), trees.node.size(), place_, nodes);
            for (Id node : nodes) {
                Id size = p_.size;
                while (!list(node, size)) --size, listed_.resize(start_.back());
                crowded_ += size < p_.size;
                if (of.partial()) merge();
                start_.push_back(listed_.size());
            }
        }
        std::span<const Fragment> at(Id node) const {
            const auto i = static_cast<std::size_t>(place_[node]);
            return {listed_.data() + start_[i], start_[i + 1] - start_[i]};
        }
        std::int64_t crowded() const { return crowded_; }

      private:
        // Lists the fragments of a node up to a size. Returns false if there are too many, which
        // never happens for size 1.
        bool list(Id node, Id size) {
            const std::size_t n = store_.arity(node), from = listed_.size();
            const Id *kids = store_.children(node);
            pulse_.add(64);
            if (of_.partial()) {
                listed_.push_back({of_.own_key(store_, node), of_.own_ * p_.lam, 1, 0, none});
            } else if (n > 0) {
                listed_.push_back({of_.own_key(store_, node), of_.own_, 1, 1, none});
                if (p_.kind == Fragments::complete) return complete(node, size);
            } else {
                if (p_.kind == Fragments::subset && p_.leaves)
                    listed_.push_back({of_.word_key(store_, node), of_.own_, 1, 1, none});
                return true;
            }
            for (std::size_t k = 0; k < n; ++k) {
                const auto i = static_cast<std::size_t>(place_[kids[k]]);
                const std::size_t so_far = listed_.size();
                for (std::size_t a = from; a < so_far; ++a)
                    for (std::size_t b = start_[i]; b < start_[i + 1]; ++b)
                        if (!extend(a, b, k, from, size)) return false;
            }
            return true;
        }
        bool extend(std::size_t a, std::size_t b, std::size_t k, std::size_t from, Id size) {
            const Fragment whole = listed_[a], child = listed_[b];
            pulse_.add(4);
            if (whole.size + child.size > size || (p_.depth > 0 && child.depth + 1 > p_.depth)) return true;
            if (listed_.size() - from >= p_.most && size > 1) return false;
            const auto at = static_cast<Id>(k);
            double value = whole.value * child.value;
            if (of_.partial()) {
                if (whole.last == none)
                    value /= p_.lam; // the node is no longer at the edge of the fragment
                else
                    value *= std::pow(p_.lam, at - whole.last - 1);
            }
            listed_.push_back({of_.with_child(whole.key, k, child.key), value, whole.size + child.size,
                               std::max(whole.depth, child.depth + 1), at});
            return true;
        }
        bool complete(Id node, Id size) {
            Fragment whole = listed_.back();
            const Id *kids = store_.children(node);
            listed_.pop_back();
            for (std::size_t k = 0; k < store_.arity(node); ++k) {
                if (store_.arity(kids[k]) == 0) continue;
                const auto below = at(kids[k]);
                if (below.empty()) return true;
                whole.key = of_.with_child(whole.key, k, below[0].key);
                whole.value *= below[0].value, whole.size += below[0].size;
                whole.depth = std::max(whole.depth, below[0].depth + 1);
                if (whole.size > size || (p_.depth > 0 && whole.depth > p_.depth)) return true;
            }
            listed_.push_back(whole);
            return true;
        }
        // Merges entries of the same fragment over different children.
        void merge() {
            const auto begin = listed_.begin() + static_cast<std::ptrdiff_t>(start_.back());
            std::sort(begin, listed_.end(), [](const Fragment &a, const Fragment &b) { return a.key < b.key; });
            auto out = begin;
            for (auto i = begin; i != listed_.end(); ++i)
                if (out != begin && (out - 1)->key == i->key)
                    (out - 1)->value += i->value;
                else
                    *out++ = *i;
            listed_.erase(out, listed_.end());
        }

        const HashedFragments &of_;
        const HashParameters &p_;
        const Store &store_;
        Marks place_;
        std::vector<std::size_t> start_{0};
        std::vector<Fragment> listed_;
        std::int64_t crowded_ = 0;
        Pulse pulse_;
    };

    HashParameters p_;
    double own_;
};

} // namespace treelet
