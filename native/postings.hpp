// Postings: map a key to the targets that contain it (ascending), with weights.
#pragma once
#include "node_weights.hpp"
#include "simd.hpp"

namespace treelet {

// The keys of each row of `w`: `keys(node, weight, add)` calls add(key, weight) for each key of a
// node.
template <class Keys> struct ByNode {
    const NodeWeights &w;
    Keys keys;

    template <class Add> void operator()(std::size_t row, Add add) const {
        for (std::int64_t i = w.start[row]; i < w.start[row + 1]; ++i) keys(w.node[i], w.weight[i], add);
    }
    std::size_t nodes() const { return w.node.size(); }
};
template <class Keys> ByNode<Keys> by_node(const NodeWeights &w, Keys keys) { return {w, keys}; }

struct Postings {
    Column<std::int64_t> start;
    Column<Id> target;
    Column<double> weight;

    // `each(target, add)` calls add(key, weight) for the keys of a target. Weights of the same key
    // are summed.
    template <class Each> void build(std::size_t targets, Each each, std::size_t keys = 0) {
        std::vector<Seen> seen(keys);
        std::vector<Note> notes;
        std::int64_t before = 0;
        if constexpr (requires { each.nodes(); }) notes.reserve(each.nodes()); // unused memory is never touched
        Pulse pulse;
        for (std::size_t t = 0; t < targets; ++t) {
            const auto first = static_cast<std::int64_t>(notes.size());
            if (t > 0) pulse.add(4 * static_cast<std::size_t>(first - before));
            before = first;
            each(t, [&](Id key, double more) {
                if (static_cast<std::size_t>(key) >= seen.size()) seen.resize(static_cast<std::size_t>(key) + 1);
                Seen &at = seen[key];
                if (at.last >= first) {
                    notes[at.last].weight += more;
                    return;
                }
                at.last = static_cast<std::int64_t>(notes.size()), ++at.count;
                notes.push_back({key, static_cast<Id>(t), more});
            });
        }
        start.assign(seen.size() + 1, 0);
        for (std::size_t k = 0; k < seen.size(); ++k) seen[k].last = start[k], start[k + 1] = start[k] + seen[k].count;
        target.resize(notes.size()), weight.resize(notes.size());
        for (const Note &note : notes) {
            const std::int64_t at = seen[note.key].last++;
            target[at] = note.target, weight[at] = note.weight;
        }
    }
    // Estimates the memory of build from the number of keys and their total number of targets.
    static Memory estimate(std::size_t keys, std::size_t entries) {
        return {(keys + 1) * sizeof(std::int64_t) + entries * (sizeof(Id) + sizeof(double)),
                bytes_grown<Seen>(keys) + bytes_grown<Note>(entries)};
    }
    std::size_t keys() const { return start.size() - 1; }
    std::size_t length(Id key) const { return static_cast<std::size_t>(start[static_cast<std::size_t>(key) + 1] - start[key]); }
    template <class Self> static auto parts(Self &self) { return std::tie(self.start, self.target, self.weight); }
    bool consistent() const {
        const std::int64_t entries = start.empty() ? 0 : start.back();
        return static_cast<std::int64_t>(target.size()) == entries && static_cast<std::int64_t>(weight.size()) == entries;
    }

    // Adds to the weight of the only target of a key.
    void grow(Id key, double more) { weight[start[key]] += more; }

    // sums[target] += factor * weight for the key's targets below `last`.
    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        const std::int64_t end = start[static_cast<std::size_t>(key) + 1];
        for (std::int64_t k = start[key]; k < end && static_cast<std::size_t>(target[k]) < last; ++k)
            sums[target[k]] += factor * Num(weight[k]);
    }

  private:
    struct Seen {
        std::int64_t last = -1, count = 0; // where this key was last recorded, and how often
    };
    struct Note {
        Id key, target;
        double weight;
    };
};

// Returns the number of targets that contain each key, as Postings::build would find them.
template <class Each> std::vector<Id> lengths(std::size_t targets, Each each) {
    std::vector<Id> length, last;
    for (std::size_t t = 0; t < targets; ++t)
        each(t, [&](Id key, double) {
            const auto k = static_cast<std::size_t>(key);
            if (k >= last.size()) last.resize(k + 1, none), length.resize(k + 1, 0);
            if (last[k] != static_cast<Id>(t)) last[k] = static_cast<Id>(t), ++length[k];
        });
    return length;
}

// The first posting of a key, stored with the other data of the key, because most keys have only
// one.
struct FirstPosting {
    double weight = 0;
    Id target = 0, more = 0;

    FirstPosting() = default;
    FirstPosting(const Postings &all, Id key) {
        if (all.length(key) == 0) return;
        weight = all.weight[all.start[key]], target = all.target[all.start[key]];
        more = static_cast<Id>(all.length(key) - 1);
    }
    template <class Num> void add(const Postings &all, Id key, Num factor, std::size_t last, Num *sums) const {
        if (more)
            all.add(key, factor, last, sums);
        else // beyond `last`, it is never read
            sums[target] += factor * Num(weight);
    }
};

// Postings for keys that may occur in most targets. Such keys are stored as plain vectors, which
// are several times faster to add.
class DensePostings {
  public:
    template <class Each> void build(std::size_t targets, Each each) {
        sparse_.build(targets, each);
        targets_ = targets;
        dense_.assign(sparse_.keys(), none);
        std::size_t rows = 0;
        for (std::size_t key = 0; key < sparse_.keys(); ++key)
            if (is_dense(sparse_.length(static_cast<Id>(key)), targets, rows)) dense_[key] = static_cast<Id>(rows++);
        values_.assign(rows * targets, 0);
        for (std::size_t key = 0; key < sparse_.keys(); ++key)
            if (dense_[key] != none)
                for (std::int64_t k = sparse_.start[key]; k < sparse_.start[key + 1]; ++k)
                    values_[static_cast<std::size_t>(dense_[key]) * targets + static_cast<std::size_t>(sparse_.target[k])] =
                        sparse_.weight[k];
    }
    template <class Self> static auto parts(Self &self) { return std::tie(self.sparse_, self.dense_, self.values_, self.targets_); }
    bool consistent() const { return dense_.empty() || dense_.size() == sparse_.keys(); }

    template <class Num> void add(Id key, Num factor, std::size_t last, Num *sums) const {
        if (dense_[key] == none) return sparse_.add(key, factor, last, sums);
        const double *row = values_.data() + static_cast<std::size_t>(dense_[key]) * targets_;
        if constexpr (std::is_same_v<Num, double>)
            add_scaled(sums, factor, row, last);
        else
            for (std::size_t j = 0; j < last; ++j) sums[j] += factor * Num(row[j]);
    }
    void grow(Id key, double more) {
        sparse_.grow(key, more);
        if (dense_[key] != none) values_[static_cast<std::size_t>(dense_[key]) * targets_] += more;
    }
    std::size_t length(Id key) const { return sparse_.length(key); }

    // Estimates the memory of build from the number of targets per key. Keys without targets do not
    // count.
    static Memory estimate(const std::vector<Id> &lengths, std::size_t targets) {
        std::size_t keys = 0, entries = 0, rows = 0;
        for (Id length : lengths) {
            keys += length > 0, entries += static_cast<std::size_t>(length);
            rows += length > 0 && is_dense(static_cast<std::size_t>(length), targets, rows);
        }
        Memory out = Postings::estimate(keys, entries);
        out.index += keys * sizeof(Id) + rows * targets * sizeof(double);
        return out;
    }

  private:
    static constexpr std::size_t max_cells = std::size_t{1} << 23;
    static bool is_dense(std::size_t length, std::size_t targets, std::size_t rows) {
        return length * 8 >= targets && rows * targets <= max_cells;
    }
    Postings sparse_;
    Column<Id> dense_; // key -> its vector, or none
    Column<double> values_;
    std::size_t targets_ = 0;
};

} // namespace treelet
