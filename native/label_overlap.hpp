// The sizes of the intersections of the label multisets of trees, which bound how many nodes an
// edit script can keep.
#pragma once
#include "node_weights.hpp"

namespace treelet {

// The labels of a tree with their counts, in time that depends on its distinct subtrees only.
class LabelCounts {
  public:
    explicit LabelCounts(const Store &store) : store_(store), place_(store.size()) {}

    // Calls f(label, count) for each label of a tree.
    template <class F> void operator()(Id root, F f) {
        if (root == none) return;
        place_.clear();
        below(store_, &root, 1, place_, nodes_);
        count_.assign(nodes_.size(), 0);
        count_.back() = 1;
        sum_.resize(std::max(sum_.size(), store_.label_count()), 0);
        for (std::size_t i = nodes_.size(); i-- > 0;) {
            const Id label = store_.label(nodes_[i]);
            if (sum_[label] == 0) seen_.push_back(label);
            sum_[label] += count_[i];
            store_.each_child(nodes_[i], [&](Id child, double) { count_[place_[child]] += count_[i]; });
        }
        for (Id label : seen_) f(label, sum_[label]), sum_[label] = 0;
        seen_.clear();
    }

  private:
    const Store &store_;
    Marks place_;
    std::vector<Id> nodes_, seen_;
    std::vector<double> count_, sum_;
};

// Columns by label. The columns are numbered by ascending size.
class LabelOverlap {
  public:
    void build(const Store &store, const std::vector<Id> &roots, Pulse &pulse) {
        LabelCounts counts(store);
        std::vector<Entry> entries;
        start_.assign(store.label_count() + 1, 0);
        for (std::size_t t = 0; t < roots.size(); ++t)
            counts(roots[t], [&](Id label, double count) {
                entries.push_back({label, static_cast<Id>(t), static_cast<float>(count)});
                ++start_[label + 1];
                pulse.add(8);
            });
        for (std::size_t l = 1; l < start_.size(); ++l) start_[l] += start_[l - 1];
        std::vector<std::int64_t> next(start_.begin(), start_.end());
        column_.resize(entries.size()), count_.resize(entries.size());
        for (const Entry &entry : entries) {
            const std::int64_t at = next[entry.label]++;
            column_[at] = entry.column, count_[at] = entry.count;
        }
    }

    // Adds the sizes of the intersections of a tree with the columns first .. last.
    void add(LabelCounts &counts, Id root, Id first, Id last, float *sums, Pulse &pulse) const {
        counts(root, [&](Id label, double count) {
            if (static_cast<std::size_t>(label) + 1 >= start_.size()) return;
            const Id *begin = column_.data() + start_[label], *end = column_.data() + start_[label + 1];
            const Id *from = std::lower_bound(begin, end, first), *to = std::lower_bound(from, end, last);
            const float *weight = count_.data() + (from - column_.data());
            const auto own = static_cast<float>(count);
            for (const Id *c = from; c < to; ++c, ++weight) sums[*c - first] += std::min(own, *weight);
            pulse.add(static_cast<std::size_t>(to - from));
        });
    }

    template <class Self> static auto parts(Self &self) { return std::tie(self.start_, self.column_, self.count_); }
    bool consistent() const {
        return column_.size() == count_.size() && column_.size() == (start_.empty() ? 0 : static_cast<std::size_t>(start_.back()));
    }

  private:
    struct Entry {
        Id label, column;
        float count;
    };
    Column<std::int64_t> start_; // label -> its first entry
    Column<Id> column_;
    Column<float> count_;
};

} // namespace treelet
