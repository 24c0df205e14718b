// Rows of a matrix of edit distances or similarities, and searches in them: pairs that cannot reach
// the wanted value are removed by lower bounds of the distance, from cheap to expensive, and the
// others are verified by a distance that stops counting at the limit.
#pragma once
#include "edit_distance.hpp"
#include "label_overlap.hpp"
#include "string_distance.hpp"
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <set>

namespace treelet {

// The values that are wanted; all others may be replaced by the worst value.
struct EditSearch {
    bool similarity = false;                                    // 1 - distance / the larger number of nodes
    double threshold = std::numeric_limits<double>::infinity(); // largest distance, or smallest similarity
    std::int64_t best = 0;                                      // number of best values per row; 0: all

    double worst() const { return (similarity ? -1 : 1) * std::numeric_limits<double>::infinity(); }
    double value(double distance, double larger) const { return similarity ? (larger > 0 ? 1 - distance / larger : 1) : distance; }
    // The largest distance whose value reaches `least`, generously rounded.
    double limit(double least, double larger) const {
        const double exact = similarity ? (1 - least) * larger : least;
        return exact + slack * std::max(1.0, std::max(larger, std::fabs(exact)));
    }
    static constexpr double slack = 1e-9;
};

// How many pairs each filter has left over.
struct EditCounts {
    std::int64_t pairs = 0, size = 0, labels = 0, strings = 0, matches = 0;
    void add(const EditCounts &more) {
        pairs += more.pairs, size += more.size, labels += more.labels, strings += more.strings, matches += more.matches;
    }
};

// The memory that the tables of several threads take together. Threads that have to wait are served in the order in which
// they came, so that a large pair is not put off until the end.
class EditMemory {
  public:
    // Waits until `bytes` more stay within `limit`. A pair that exceeds the limit alone waits until it is alone.
    void take(double bytes, double limit, void (*check)()) {
        std::unique_lock lock(mutex_);
        const Turn turn(*this);
        while (*queue_.begin() != turn.number || (used_ > 0 && used_ + bytes > limit)) {
            changed_.wait_for(lock, std::chrono::milliseconds(50));
            lock.unlock(); // the check may need the GIL, whose holder may need the lock
            try {
                check();
            } catch (...) {
                lock.lock(); // to leave the queue
                throw;
            }
            lock.lock();
        }
        used_ += bytes;
    }
    void give(double bytes) {
        const std::lock_guard lock(mutex_);
        used_ -= bytes;
        changed_.notify_all();
    }
    double used() const {
        const std::lock_guard lock(mutex_);
        return used_;
    }
    bool is_wanted() const {
        const std::lock_guard lock(mutex_);
        return !queue_.empty();
    }

  private:
    struct Turn { // a place in the queue
        explicit Turn(EditMemory &memory) : memory(memory), number(memory.next_++) { memory.queue_.insert(number); }
        ~Turn() {
            memory.queue_.erase(number);
            memory.changed_.notify_all();
        }
        EditMemory &memory;
        const std::uint64_t number;
    };

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0;
    std::set<std::uint64_t> queue_;
    double used_ = 0;
};

// The limits of the tables of edit distances, in bytes.
struct EditLimits {
    double all = std::numeric_limits<double>::infinity();  // of all threads, unless one pair needs more
    double pair = std::numeric_limits<double>::infinity(); // of one pair; larger pairs are refused
    bool skips = false;                                    // whether to go on after a pair that was refused
};

class EditColumns {
  public:
    // Without columns: the caller sets all parts.
    explicit EditColumns(std::shared_ptr<const EditCosts> costs) : costs_(std::move(costs)) {}
    // All labels of later rows must be labels of `costs`. Only a search needs the index of labels.
    EditColumns(const Store &store, const std::vector<Id> &roots, std::shared_ptr<const EditCosts> costs, bool searched)
        : costs_(std::move(costs)) {
        roots_.append(roots.begin(), roots.end());
        Pulse pulse;
        TreeSizer sizer(store);
        for (Id root : roots_) {
            sizes_.push_back(sizer(root));
            pulse.add(64);
        }
        if (!searched) return;
        by_size_.resize(roots_.size());
        std::iota(by_size_.begin(), by_size_.end(), Id{0});
        std::stable_sort(by_size_.begin(), by_size_.end(), [&](Id p, Id q) { return sizes_[p].nodes < sizes_[q].nodes; });
        std::vector<Id> ordered(roots_.size());
        for (std::size_t k = 0; k < by_size_.size(); ++k) ordered[k] = roots_[by_size_[k]];
        overlap_.build(store, ordered, pulse);
    }

    std::size_t size() const { return roots_.size(); }

    // Writes the values of one tree with the first `last` columns. `store` is the store of the
    // columns, or grown from it.
    template <class Gains> class Rows {
      public:
        // `memory` is shared by all threads.
        Rows(const EditColumns &columns, const Store &store, const EditSearch &search, const EditLimits &limits, EditMemory &memory,
             void (*check)())
            : all_(columns), store_(store), costs_(*columns.costs_), search_(search), limits_(limits), memory_(memory),
              check_(check), pulse_(check), sizer_(store), labels_(store) {}
        Rows(const Rows &) = delete;
        Rows &operator=(const Rows &) = delete;
        ~Rows() { release(); }

        // Returns whether all values are known. If not, `refused` has the columns that are too large; unless pairs are
        // skipped, the row ends at the first of them.
        bool row(Id root, std::size_t last, double *out) {
            root_ = root, size_ = sizer_(root);
            built_[0] = built_[1] = false;
            patterns_[0].reset(), patterns_[1].reset();
            removed_ = -1;
            refused.clear();
            counts.pairs += static_cast<std::int64_t>(last);
            try {
                if (search_.best > 0)
                    best_values(last, out);
                else if (std::isfinite(search_.threshold))
                    values_within(last, out);
                else
                    for (std::size_t j = 0; j < last; ++j) out[j] = value(j, unlimited());
            } catch (const Refused &) {
            }
            return refused.empty();
        }

        EditCounts counts;
        std::vector<Id> refused;

      private:
        struct Refused {};

        static double unlimited() { return std::numeric_limits<double>::infinity(); }

        // All values that reach the threshold.
        void values_within(std::size_t last, double *out) {
            std::fill_n(out, last, search_.worst());
            const auto near = [&](Id column) { return gap_bound(column) <= limit_of(column, search_.threshold); };
            // The bound falls up to the column of equal size and then rises.
            const auto begin = all_.by_size_.begin(), end = all_.by_size_.end();
            const auto middle = std::partition_point(begin, end, [&](Id c) { return all_.sizes_[c].nodes < size_.nodes; });
            const auto from = std::partition_point(begin, middle, [&](Id c) { return !near(c); });
            const auto to = std::partition_point(middle, end, near);
            const auto first = static_cast<Id>(from - begin), after = static_cast<Id>(to - begin);
            overlaps(first, after);
            for (Id k = first; k < after; ++k) {
                const Id column = all_.by_size_[k];
                if (static_cast<std::size_t>(column) >= last) continue;
                ++counts.size;
                const double limit = limit_of(column, search_.threshold);
                if (overlap_bound(column, sums_[k - first]) > limit) continue;
                ++counts.labels;
                if (string_bound(column, limit) > limit) continue;
                if (const double v = verified(column, limit); v != search_.worst()) out[column] = v;
            }
        }

        // At least the best values, in any case all that equal the last of them. Columns are
        // compared in the order of their bounds, until no bound reaches the last of the best.
        void best_values(std::size_t last, double *out) {
            std::fill_n(out, last, search_.worst());
            const auto m = static_cast<Id>(all_.size());
            overlaps(0, m);
            candidates_.clear();
            const double sign = search_.similarity ? -1 : 1; // smaller is better
            for (Id k = 0; k < m; ++k) {
                const Id column = all_.by_size_[k];
                if (static_cast<std::size_t>(column) >= last) continue;
                const double bound = search_.value(overlap_bound(column, sums_[k]), larger(column));
                candidates_.push_back({sign * bound, column, false});
            }
            std::make_heap(candidates_.begin(), candidates_.end());
            counts.size += static_cast<std::int64_t>(candidates_.size());
            std::vector<double> best; // a heap with the worst of the best on top
            const auto most = static_cast<std::size_t>(search_.best);
            while (!candidates_.empty()) {
                std::pop_heap(candidates_.begin(), candidates_.end());
                const Candidate next = candidates_.back();
                candidates_.pop_back();
                double least = search_.threshold;
                if (best.size() == most) least = sign * std::min(best.front(), sign * least);
                const double limit = std::isfinite(least) ? limit_of(next.column, least) : unlimited();
                if (std::isfinite(least) && next.bound > sign * least + EditSearch::slack * std::max(1.0, std::fabs(least))) break;
                if (!next.has_strings) { // back to the heap with the better bound
                    ++counts.labels;
                    const double bound = string_bound(next.column, limit);
                    if (bound > limit) continue;
                    const double value = sign * search_.value(bound, larger(next.column));
                    candidates_.push_back({std::max(next.bound, value), next.column, true});
                    std::push_heap(candidates_.begin(), candidates_.end());
                    continue;
                }
                const double v = verified(next.column, limit);
                if (v == search_.worst()) continue;
                out[next.column] = v;
                best.push_back(sign * v), std::push_heap(best.begin(), best.end());
                if (best.size() > most) std::pop_heap(best.begin(), best.end()), best.pop_back();
            }
        }

        struct Candidate {
            double bound; // the smaller, the better
            Id column;
            bool has_strings; // whether the strings of labels have been compared
            // The smallest is on top of a heap. Equal bounds are ordered, too, so all standard libraries do the same work.
            bool operator<(const Candidate &other) const {
                if (bound != other.bound) return bound > other.bound;
                return column != other.column ? column > other.column : has_strings < other.has_strings;
            }
        };

        double larger(Id column) const { return std::max(size_.nodes, all_.sizes_[column].nodes); }
        double limit_of(Id column, double least) const { return search_.limit(least, larger(column)); }
        double gap_bound(Id column) const { return costs_.least_gap * std::fabs(size_.nodes - all_.sizes_[column].nodes); }
        double overlap_bound(Id column, float overlap) const {
            const double smaller = std::min(size_.nodes, all_.sizes_[column].nodes);
            if (larger(column) >= 0x1p24) return gap_bound(column); // a float does not count further
            return gap_bound(column) + costs_.least_change * std::max(0.0, smaller - static_cast<double>(overlap));
        }
        void overlaps(Id first, Id after) {
            sums_.assign(static_cast<std::size_t>(after - first), 0);
            all_.overlap_.add(labels_, root_, first, after, sums_.data(), pulse_);
        }

        // The value of a pair, or the worst value if the distance exceeds the limit.
        double verified(Id column, double limit) {
            ++counts.strings;
            const double v = value(static_cast<std::size_t>(column), limit);
            counts.matches += v != search_.worst();
            return v;
        }

        // A lower bound of the distance, or a larger number than the limit if the distance exceeds it. A tree operation is
        // one operation on the strings of labels in pre-order and in post-order.
        double string_bound(Id column, double limit) {
            const Id other = all_.roots_[column];
            if (root_ == other || root_ == none || other == none || costs_.least <= 0) return 0;
            if (!fits(column)) return unlimited();
            const auto most = static_cast<std::size_t>(std::min(limit / costs_.least, larger(column)));
            std::size_t operations = 0;
            for (const bool mirrored : {false, true}) {
                build(tree_[mirrored], built_[mirrored], root_, size_, mirrored);
                auto &pattern = patterns_[mirrored];
                if (!pattern) pattern = std::make_unique<StringPattern>(std::span<const Id>(tree_[mirrored].label));
                other_.build(store_, other, static_cast<std::size_t>(all_.sizes_[column].nodes), mirrored);
                operations = std::max(operations, pattern->distance(std::span<const Id>(other_.label), most, pulse_));
                if (operations > most) return unlimited();
            }
            return costs_.least * static_cast<double>(operations);
        }

        double value(std::size_t j, double limit) {
            const double distance = distance_to(j, limit);
            return distance <= limit ? search_.value(distance, larger(static_cast<Id>(j))) : search_.worst();
        }

        // The distance, or a larger number than the limit if the distance exceeds it.
        double distance_to(std::size_t j, double limit) {
            const Id other = all_.roots_[j];
            if (root_ == other) return 0;
            const TreeSize &size = all_.sizes_[j];
            if (!fits(static_cast<Id>(j))) return unlimited();
            const bool mirrored = size_.right * size.right < size_.left * size.left;
            build(tree_[mirrored], built_[mirrored], root_, size_, mirrored);
            other_.build(store_, other, static_cast<std::size_t>(size.nodes), mirrored);
            const FlatTree &tree = tree_[mirrored];
            if (removed_ < 0) removed_ = cost_of(tree, [&](Id label) { return costs_.removing(label); });
            const double apart = removed_ + cost_of(other_, [&](Id label) { return costs_.inserting(label); });
            if (root_ == none || other == none) return apart;
            Id most = -1;
            if (costs_.least_gap > 0 && limit / costs_.least_gap < size_.nodes + size.nodes)
                most = static_cast<Id>(limit / costs_.least_gap);
            const double bytes = EditTable<Gains>::bytes(tree, other_);
            if (bytes > limits_.pair) return refuse(static_cast<Id>(j));
            take(bytes);
            try {
                table_.fill(store_, tree, other_, costs_, most, pulse_);
            } catch (const std::bad_alloc &) {
                release();
                return refuse(static_cast<Id>(j));
            }
            pulse_.add(64);
            const double distance = std::max(0.0, apart - static_cast<double>(table_.total()));
            if (memory_.is_wanted()) release();
            return distance;
        }

        // Whether a tree can be compared apart from the tables, which are known later. If not, the pair is refused.
        bool fits(Id column) {
            constexpr double most = std::numeric_limits<Id>::max() / 2;
            const double nodes = all_.sizes_[column].nodes;
            if (64 * (size_.nodes + nodes) <= limits_.pair && size_.nodes < most && nodes < most) return true;
            refuse(column);
            return false;
        }
        // Records a pair that is too large.
        double refuse(Id column) {
            refused.push_back(column);
            if (!limits_.skips) throw Refused();
            return unlimited();
        }
        void take(double bytes) {
            if (bytes <= held_) return;
            release();
            memory_.take(bytes, limits_.all, check_);
            held_ = bytes;
        }
        void release() {
            if (held_ == 0) return;
            table_.clear();
            memory_.give(held_);
            held_ = 0;
        }
        void build(FlatTree &tree, bool &built, Id root, const TreeSize &size, bool mirrored) {
            if (!built) tree.build(store_, root, static_cast<std::size_t>(size.nodes), mirrored);
            built = true;
        }
        template <class Cost> static double cost_of(const FlatTree &tree, Cost cost) {
            double sum = 0;
            for (Id label : tree.label) sum += cost(label);
            return sum;
        }

        const EditColumns &all_;
        const Store &store_;
        const EditCosts &costs_;
        const EditSearch search_;
        const EditLimits limits_;
        EditMemory &memory_;
        double held_ = 0; // bytes of the tables
        void (*const check_)();
        Pulse pulse_;
        TreeSizer sizer_;
        LabelCounts labels_;
        Id root_ = none;
        TreeSize size_;
        double removed_ = -1; // the cost of deleting the tree
        FlatTree tree_[2], other_;
        bool built_[2] = {false, false};
        std::unique_ptr<StringPattern> patterns_[2];
        std::vector<float> sums_;
        std::vector<Candidate> candidates_;
        EditTable<Gains> table_;
    };

    const EditCosts &costs() const { return *costs_; }
    template <class Self> static auto parts(Self &self) { return std::tie(self.roots_, self.sizes_, self.by_size_, self.overlap_); }
    bool consistent() const { return sizes_.size() == roots_.size() && (by_size_.empty() || by_size_.size() == roots_.size()); }
    bool searched() const { return by_size_.size() == roots_.size(); } // whether a search can use the columns

  private:
    std::shared_ptr<const EditCosts> costs_;
    Column<Id> roots_;
    Column<TreeSize> sizes_;
    Column<Id> by_size_;   // columns in ascending order of their sizes
    LabelOverlap overlap_; // over this order
};

} // namespace treelet
