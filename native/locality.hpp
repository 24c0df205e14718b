// The locality-convolution kernel of Tsivtsivadze et al. (2006): equal features of two sequences, weighted by how much
// the windows around them have in common, over a whole matrix at once.
//
//   K = sum over i, k with f_i = g_k of kappa, over the pairs (m, l) within reach of i and k with f_m = g_l, at the
//   places m - i and l - k of the two windows:
//     position   product of (1 + exp(-((m - i) - (l - k))^2 / theta^2))
//     exact      how many have m - i = l - k
//     count      how many there are
//
// In the store a sequence is a node over leaves: its label is the sequence's type, the leaves are the features. What kappa
// sees of a place is the features around it, so that equal windows are one, and K = F C F' over distinct windows. Where two
// windows have only their middles in common, C is a constant: a product of counts of features. The others are found
// through an index on (middle, feature in the window).
#pragma once
#include "matrix_rows.hpp"
#include "pair_numbers.hpp"
#include "pulse.hpp"
#include "row_block.hpp"
#include "scratch_pool.hpp"
#include "totals.hpp"

namespace treelet {

struct SequenceType {
    Id label;
    Id reach;      // to each side of the middle
    double weight; // factor of the type's part of the kernel
};

// Sequences lie right above the leaves; trees of another kind do no harm.
inline bool is_sequence(const Store &store, Id node) { return store.arity(node) > 0 && store.arity(store.children(node)[0]) == 0; }

enum class Match { position, exact, count };

template <class Num> class LocalityColumns {
  public:
    LocalityColumns(Targets targets, std::vector<SequenceType> types, Match match, double theta)
        : targets_(std::move(targets)), types_(std::move(types)), match_(match), theta_(theta) {
        Id labels = 0, reach = 0;
        for (const SequenceType &type : types_) labels = std::max(labels, type.label + 1), reach = std::max(reach, type.reach);
        type_of_.assign(static_cast<std::size_t>(labels), none);
        for (std::size_t i = 0; i < types_.size(); ++i) type_of_[types_[i].label] = static_cast<Id>(i);
        for (Id d = 0; d <= 2 * std::min(reach, Id{64}); ++d) near_.push_back(nearness(d, theta_));
        index_windows();
        index_features();
    }

    void rows(Rows &rows, void (*check)()) {
        std::unique_ptr<Scratch> scratch = scratch_.take(0);
        if (scratch->inner.size() < windows_.size()) scratch->inner.resize(windows_.size(), Num(0));
        Pulse pulse(check);
        for (std::size_t row = rows.begin; row < rows.end; row += RowBlock::max_rows)
            block(rows, row, std::min(rows.end, row + RowBlock::max_rows), *scratch, pulse);
        scratch_.give(std::move(scratch));
    }

    // Adds to the weights of the only target, which must hold the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        std::vector<Id> window;
        for (std::size_t i = 0; i < n; ++i)
            each_window(*targets_.store, node[i], window, [&](Id, Id middle, double factor) {
                middles_.grow(middle, scale * weight[i] * factor);
                postings_.grow(windows_.find(window), scale * weight[i] * factor);
            });
    }

    std::size_t bytes() const {
        return windows_.bytes() + middles_.bytes() + postings_.bytes() + member_.size() * sizeof(Id) +
               entry_.size() * sizeof(Entry);
    }

  private:
    // Numbers windows as they come. A window is the number of its middle, how many features are left of it, and the features
    // from left to right: fewer than it might hold where the sequence ends.
    class Windows {
      public:
        Id add(const std::vector<Id> &window) {
            Id number = find(window);
            if (number == none) {
                if (start_.size() > static_cast<std::size_t>(std::numeric_limits<Id>::max()))
                    throw std::length_error("more than 2,147,483,646 distinct windows: split the collection");
                number = static_cast<Id>(start_.size() - 1);
                slot_.insert(slot_.end(), window.begin(), window.end());
                start_.push_back(static_cast<std::int64_t>(slot_.size()));
                table_.insert(hash(window), number);
            }
            return number;
        }
        Id find(const std::vector<Id> &window) const {
            return table_.find(hash(window), [&](Id number) {
                return start_[number + 1] - start_[number] == static_cast<std::int64_t>(window.size()) &&
                       std::equal(window.begin(), window.end(), slot_.begin() + start_[number]);
            });
        }
        Id middle(Id number) const { return slot_[static_cast<std::size_t>(start_[number])]; }
        Id left(Id number) const { return slot_[static_cast<std::size_t>(start_[number]) + 1]; }
        const Id *features(Id number) const { return slot_.data() + start_[number] + 2; }
        Id length(Id number) const { return static_cast<Id>(start_[number + 1] - start_[number] - 2); }
        std::size_t size() const { return start_.size() - 1; }
        std::size_t bytes() const { return slot_.size() * sizeof(Id) + start_.size() * 32; }

      private:
        static std::uint64_t hash(const std::vector<Id> &window) {
            std::uint64_t h = window.size();
            for (Id slot : window) h = mix(h, static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot)));
            return h;
        }
        IdTable table_;
        std::vector<std::int64_t> start_{0};
        std::vector<Id> slot_;
    };
    struct Entry { // a window that holds a feature, and where: 0 is its middle
        Id window, place;
    };
    struct Occurrence {
        Id window, row;
        double weight;
    };
    struct Scratch {
        std::vector<Id> index; // unused: the pool's
        std::vector<Num> inner, sums;
        std::vector<Id> touched, window;
        std::vector<Occurrence> occurrence;
        std::vector<std::pair<Id, double>> middles;
    };

    // How much a pair that is d places apart adds to the factor 1.
    static Num nearness(Id d, double theta) {
        if (d == 0) return Num(1);
        return Num(theta == 0 ? 0 : std::exp(-std::pow(d / theta, 2)));
    }

    Id type_of(const Store &store, Id node) const {
        if (!is_sequence(store, node)) return none;
        const Id label = store.label(node);
        return static_cast<std::size_t>(label) < type_of_.size() ? type_of_[label] : none;
    }

    // Fills `window` and calls f(its type, number of its middle, the type's weight) for each place of a sequence whose feature
    // some column has.
    template <class F> void each_window(const Store &store, Id node, std::vector<Id> &window, F f) const {
        const Id type = type_of(store, node);
        if (type == none || types_[type].weight == 0) return;
        const Id *feature = store.children(node);
        const Id length = static_cast<Id>(store.arity(node)), reach = types_[type].reach;
        for (Id i = 0; i < length; ++i) {
            const Id middle = middle_keys_.find({type, store.label(feature[i])});
            if (middle == none) continue;
            const Id begin = i > reach ? i - reach : 0, end = length - i > reach ? i + reach + 1 : length;
            window.assign({middle, i - begin});
            for (Id m = begin; m < end; ++m) window.push_back(store.label(feature[m]));
            f(type, middle, types_[type].weight);
        }
    }

    void index_windows() {
        const Store &store = *targets_.store;
        const NodeWeights &w = targets_.weights;
        for (Id node : w.node)
            if (const Id type = type_of(store, node); type != none)
                for (std::size_t i = 0; i < store.arity(node); ++i) middle_keys_.add({type, store.label(store.children(node)[i])});
        Tally middles, windows;
        std::vector<Id> window;
        for (std::size_t t = 0; t < w.rows(); ++t) {
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i)
                each_window(store, w.node[i], window, [&](Id, Id middle, double factor) {
                    middles.add(middle, w.weight[i] * factor);
                    windows.add(windows_.add(window), w.weight[i] * factor);
                });
            middles.next(static_cast<Id>(t)), windows.next(static_cast<Id>(t));
        }
        middles_.build(middles.triples, middle_keys_.size(), w.rows());
        postings_.build(windows.triples, windows_.size());
    }

    void index_features() {
        const Id windows = static_cast<Id>(windows_.size());
        member_start_.assign(middle_keys_.size() + 1, 0);
        for (Id v = 0; v < windows; ++v) ++member_start_[static_cast<std::size_t>(windows_.middle(v)) + 1];
        for (std::size_t m = 0; m < middle_keys_.size(); ++m) member_start_[m + 1] += member_start_[m];
        member_.resize(windows_.size());
        std::vector<std::int64_t> next(member_start_.begin(), member_start_.end() - 1);
        for (Id v = 0; v < windows; ++v) member_[static_cast<std::size_t>(next[windows_.middle(v)]++)] = v;

        std::vector<Id> keys; // of the features beside the middles, in the order of windows and places
        each_place([&](Id v, Id, Id feature) { keys.push_back(feature_keys_.add({windows_.middle(v), feature})); });
        entry_start_.assign(feature_keys_.size() + 1, 0);
        for (Id key : keys) ++entry_start_[static_cast<std::size_t>(key) + 1];
        for (std::size_t k = 0; k < feature_keys_.size(); ++k) entry_start_[k + 1] += entry_start_[k];
        entry_.resize(keys.size());
        next.assign(entry_start_.begin(), entry_start_.end() - 1);
        std::size_t i = 0;
        each_place([&](Id v, Id place, Id) { entry_[static_cast<std::size_t>(next[keys[i++]]++)] = {v, place}; });
    }
    // f(window, place, feature) for all places but the middles.
    template <class F> void each_place(F f) const {
        for (Id v = 0; v < static_cast<Id>(windows_.size()); ++v) {
            const Id left = windows_.left(v), length = windows_.length(v), *feature = windows_.features(v);
            for (Id place = -left; place < length - left; ++place)
                if (place != 0) f(v, place, feature[left + place]);
        }
    }

    void block(Rows &rows, std::size_t begin, std::size_t end, Scratch &s, Pulse &pulse) const {
        const std::size_t n = targets_.size(), last = rows.targets(end - 1, n);
        s.sums.assign((end - begin) * n, Num(0));
        s.occurrence.clear();
        Windows found;
        for (std::size_t row = begin; row < end; ++row) {
            s.middles.clear();
            for (std::int64_t i = rows.trees->start[row]; i < rows.trees->start[row + 1]; ++i)
                each_window(*rows.store, rows.trees->node[i], s.window, [&](Id type, Id middle, double) {
                    s.middles.push_back({middle, rows.trees->weight[i]});
                    if (types_[type].reach > 0)
                        s.occurrence.push_back({found.add(s.window), static_cast<Id>(row - begin), rows.trees->weight[i]});
                });
            Num *const sums = s.sums.data() + (row - begin) * n;
            const Num alone(match_ == Match::position ? 2 : 1);
            each_total(s.middles, [&](Id middle, double count) {
                pulse.add(middles_.length(middle));
                middles_.add(middle, alone * Num(count), last, sums);
            });
        }
        std::sort(s.occurrence.begin(), s.occurrence.end(), [](const Occurrence &x, const Occurrence &y) {
            return x.window != y.window ? x.window < y.window : x.row < y.row;
        });
        for (std::size_t i = 0; i < s.occurrence.size();) {
            const Id u = s.occurrence[i].window;
            std::size_t next = i;
            while (next < s.occurrence.size() && s.occurrence[next].window == u) ++next;
            compare(found, u, s, pulse);
            const Num factor(match_ == Match::position ? 2 : 1);
            for (Id v : s.touched) {
                const Num value = factor * s.inner[v];
                s.inner[v] = Num(0);
                for (std::size_t o = i; o < next; ++o)
                    postings_.add(v, value * Num(s.occurrence[o].weight), last,
                                  s.sums.data() + static_cast<std::size_t>(s.occurrence[o].row) * n);
            }
            pulse.add(s.touched.size() * (next - i));
            s.touched.clear();
            i = next;
        }
        for (std::size_t row = begin; row < end; ++row)
            write_row(rows, row, s.sums.data() + (row - begin) * n, rows.targets(row, n));
    }

    // What the pairs of features beside the two middles add, for each column window with the same middle that has such a pair:
    // their number, or the product less 1.
    void compare(const Windows &found, Id u, Scratch &s, Pulse &pulse) const {
        const Id middle = found.middle(u), left = found.left(u), length = found.length(u);
        const Id *const feature = found.features(u) + left; // of place 0
        for (Id place = -left; place < length - left; ++place) {
            if (const Id key = feature_keys_.find({middle, feature[place]}); key != none) {
                const auto begin = static_cast<std::size_t>(entry_start_[key]),
                           end = static_cast<std::size_t>(entry_start_[key + 1]);
                pulse.add(end - begin);
                for (std::size_t e = begin; e < end; ++e) meet(entry_[e].window, place - entry_[e].place, s);
            }
            if (place == 0 || feature[place] != feature[0] || match_ == Match::exact) continue;
            pulse.add(static_cast<std::size_t>(member_start_[middle + 1] - member_start_[middle])); // meets every middle
            for (std::int64_t m = member_start_[middle]; m < member_start_[middle + 1]; ++m)
                meet(member_[static_cast<std::size_t>(m)], place, s);
        }
    }
    void meet(Id v, Id apart, Scratch &s) const {
        Num &inner = s.inner[v];
        const bool first = inner == 0;
        if (match_ == Match::position) {
            const Id d = std::abs(apart);
            const Num near = static_cast<std::size_t>(d) < near_.size() ? near_[d] : nearness(d, theta_);
            inner += near * (inner + Num(1));
        } else if (match_ == Match::count || apart == 0) {
            inner += Num(1);
        }
        if (first && !(inner == 0)) s.touched.push_back(v);
    }

    Targets targets_;
    std::vector<SequenceType> types_;
    Match match_;
    double theta_;
    std::vector<Id> type_of_;  // label -> number of the type
    std::vector<Num> near_;    // by distance
    PairNumbers middle_keys_;  // (type, feature)
    PairNumbers feature_keys_; // (middle, feature beside it)
    Windows windows_;
    DensePostings middles_;
    Postings postings_; // of windows
    std::vector<std::int64_t> member_start_, entry_start_;
    std::vector<Id> member_;   // windows by middle
    std::vector<Entry> entry_; // by feature key
    ScratchPool<Scratch> scratch_;
};

} // namespace treelet
