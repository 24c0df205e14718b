// The locality-convolution kernel of Tsivtsivadze et al. (2006): equal features of two sequences,
// weighted by how much the windows around them have in common, over a whole matrix at once.
//
//   K = sum over i, k with f_i = g_k of kappa, over the pairs (m, l) within reach of i and k with f_m = g_l, at the
//   positions m - i and l - k of the two windows:
//     position   product of (1 + exp(-((m - i) - (l - k))^2 / theta^2))
//     exact      number of pairs with m - i = l - k
//     count      number of pairs
//
// In the store, a sequence is a node over leaves: its label is the type of the sequence, and the
// leaves are the features. kappa depends only on the features in the window around a position.
// Equal windows are therefore stored once, and K = F C F' over distinct windows. If two windows
// share only their middles, C is a constant, and the sum is a product of counts of features. The
// other pairs are found through an index on (middle, feature in the window).
#pragma once
#include "key_numbers.hpp"
#include "row_block.hpp"
#include "row_loop.hpp"

namespace treelet {

struct SequenceType {
    Id label;
    Id reach;      // to each side of the middle
    double weight; // factor of the type's part of the kernel
};

// Sequences are directly above the leaves. Stores of other trees do not cause an error.
inline bool is_sequence(const Store &store, Id node) { return store.arity(node) > 0 && store.arity(store.children(node)[0]) == 0; }

enum class Match { position, exact, count };

// Numbers windows in the order of insertion. A window is the number of its middle, the number of
// features to the left, and the features from left to right. It has fewer features at the ends of a
// sequence.
class Windows {
  public:
    Id add(const std::vector<Id> &window) {
        Id number = find(window);
        if (number == none) {
            if (start_.size() > static_cast<std::size_t>(std::numeric_limits<Id>::max()))
                throw std::length_error("the examples have more than 2,147,483,646 distinct windows: split the collection");
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
    bool before(Id one, Id other) const {
        const Id *const slot = slot_.data();
        return std::lexicographical_compare(slot + start_[one], slot + start_[one + 1], slot + start_[other],
                                            slot + start_[other + 1]);
    }
    std::size_t size() const { return start_.size() - 1; }
    std::size_t bytes() const { return bytes_of(table_) + bytes_of(start_) + bytes_of(slot_); }
    static std::size_t bytes_for(std::size_t windows, std::size_t slots) {
        return IdTable::bytes_for(windows) + bytes_grown<std::int64_t>(windows + 1) + 2 * slots * sizeof(Id);
    }
    static std::uint64_t hash(const std::vector<Id> &window) {
        std::uint64_t h = window.size();
        for (Id slot : window) h = mix(h, static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot)));
        return h;
    }

  private:
    IdTable table_;
    std::vector<std::int64_t> start_{0};
    std::vector<Id> slot_;
};

template <class Num> struct LocalityScratch : RowScratch<Num> {
    struct Occurrence {
        Id window, row;
        double weight;
    };
    Windows found; // windows of the block's rows
    std::vector<Occurrence> occurrence;
    std::vector<Num> inner; // per column: contribution of the pairs other than the middles
    std::vector<Id> touched, window;
};

template <class Num> class LocalityColumns : public RowLoop<LocalityColumns<Num>, LocalityScratch<Num>> {
    using Scratch = LocalityScratch<Num>;
    using Loop = RowLoop<LocalityColumns<Num>, Scratch>;

  public:
    LocalityColumns(Targets targets, std::vector<SequenceType> types, Match match, double theta)
        : LocalityColumns(targets, std::move(types), match, theta, Bare()) {
        index_windows(targets.weights);
        index_features();
    }

    void prepare(const Store &, Scratch &s, Pulse &) const {
        if (s.inner.size() < windows_.size()) s.inner.resize(windows_.size(), Num(0));
    }
    template <class Block> std::size_t take_rows(Block &b) const {
        b.s.found = Windows();
        b.s.occurrence.clear();
        return std::min(RowBlock::max_rows, b.rows.end - b.first);
    }

    // Adds the contribution of equal middles, and records the windows around them.
    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        middles_.add(b.rows, b.first + r, alone_, b.s.seen, b.last, sums, b.pulse, [&](Id node, double weight, auto add) {
            each_window(b.store, node, b.s.window, [&](Id type, Id middle, double) {
                add(middle, weight);
                if (types_[type].reach > 0) b.s.occurrence.push_back({b.s.found.add(b.s.window), static_cast<Id>(r), weight});
            });
        });
    }

    // Adds the contribution of the features beside the middles.
    template <class Block> void correct(Block &b) const {
        auto &occurrence = b.s.occurrence;
        // Ordered by content, not by number: the sum of a row must not depend on the other rows. The order is total, so
        // the sum does not depend on the standard library either.
        std::sort(occurrence.begin(), occurrence.end(), [&](const auto &x, const auto &y) {
            if (x.window != y.window) return b.s.found.before(x.window, y.window);
            return x.row != y.row ? x.row < y.row : x.weight < y.weight;
        });
        for (std::size_t i = 0, next = 0; i < occurrence.size(); i = next) {
            while (next < occurrence.size() && occurrence[next].window == occurrence[i].window) ++next;
            compare(b, occurrence[i].window);
            for (Id v : b.s.touched) {
                const Num value = alone_ * b.s.inner[v]; // kappa without its constant: Tsivtsivadze et al. (2006), eq. 5 to 7
                b.s.inner[v] = Num(0);
                for (std::size_t o = i; o < next; ++o)
                    postings_.add(v, value * Num(occurrence[o].weight), b.last, b.sums(occurrence[o].row));
            }
            b.pulse.add(b.s.touched.size() * (next - i));
            b.s.touched.clear();
        }
    }

    // Adds to the weights of the only target, which must contain the nodes.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        std::vector<Id> window;
        for (std::size_t i = 0; i < n; ++i)
            each_window(store_, node[i], window, [&](Id, Id middle, double factor) {
                middles_.grow(middle, scale * weight[i] * factor);
                postings_.grow(windows_.find(window), scale * weight[i] * factor);
            });
    }

    static Memory estimate(Targets targets, std::vector<SequenceType> types, Match match, double theta) {
        const NodeWeights &w = targets.weights;
        const LocalityColumns bare(targets, std::move(types), match, theta, Bare());
        std::vector<Id> window;
        std::size_t places = 0, longest = 0, beside = 0;
        const auto each = [&](auto f) {
            for (Id node : w.node) bare.each_window(bare.store_, node, window, [&](Id, Id middle, double) { f(middle); });
        };
        each([&](Id) { ++places, beside += window.size() - 3, longest = std::max(longest, window.size()); });
        Distinct windows(places), keys(std::min(beside, 8 * places));
        each([&](Id middle) {
            windows.add(Windows::hash(window));
            for (std::size_t k = 2; k < window.size(); ++k) keys.add(KeyNumbers<2>::hash({middle, window[k]}));
        });
        const std::size_t most = std::min(places, windows.most()), features = std::min(beside, keys.most());
        const std::size_t entries = std::min(beside, most * (longest - std::min<std::size_t>(longest, 3)));
        Memory out = CountProduct::estimate(w, [&](Id node, double weight, auto add) {
            bare.each_window(bare.store_, node, window, [&](Id, Id middle, double) { add(middle, weight); });
        });
        const Memory postings = Postings::estimate(most, places);
        out.index += postings.index + bare.bytes() + Windows::bytes_for(most, entries + 3 * most) +
                     KeyNumbers<2>::bytes_for(features) + (features + 1) * sizeof(std::int64_t) + entries * sizeof(Place) +
                     most * sizeof(Id) + (bare.middle_keys_.size() + 1) * sizeof(std::int64_t);
        out.working = std::max({out.working, postings.working + bytes_grown<Id>(places) + bytes_grown<double>(places),
                                bytes_grown<Id>(entries), Loop::working(targets.size(), 0) + most * sizeof(Num)});
        return out;
    }
    std::size_t bytes() const {
        return bytes_of(types_) + bytes_of(type_of_) + bytes_of(near_) + bytes_of(middle_keys_) + windows_.bytes() +
               bytes_of(middles_) + bytes_of(postings_) + bytes_of(member_start_) + bytes_of(member_) + bytes_of(places_);
    }

  private:
    struct Bare {}; // a copy without the index, except the numbers of middles
    LocalityColumns(Targets targets, std::vector<SequenceType> types, Match match, double theta, Bare)
        : Loop(targets.size()), store_(*targets.store), types_(std::move(types)), match_(match), theta_(theta),
          alone_(match == Match::position ? 2 : 1) {
        Id labels = 0, reach = 0;
        for (const SequenceType &type : types_) labels = std::max(labels, type.label + 1), reach = std::max(reach, type.reach);
        type_of_.assign(static_cast<std::size_t>(labels), none);
        for (std::size_t i = 0; i < types_.size(); ++i) type_of_[types_[i].label] = static_cast<Id>(i);
        Id longest = 64;
        for (Id node : targets.weights.node)
            if (const Id type = type_of(store_, node); type != none) {
                longest = std::max(longest, static_cast<Id>(store_.arity(node)));
                for (std::size_t i = 0; i < store_.arity(node); ++i)
                    middle_keys_.add({type, store_.label(store_.children(node)[i])});
            }
        for (Id d = 0; d <= 2 * std::min(reach, longest); ++d) near_.push_back(nearness(d, theta_));
        if (match_ == Match::exact) farthest_ = 0;
        if (match_ == Match::position) // pairs farther apart add nothing
            for (farthest_ = static_cast<Id>(near_.size()) - 1; farthest_ > 0 && near_[farthest_] == 0;) --farthest_;
        by_place_ = std::min(reach, longest) - 8 > farthest_; // farthest_ may be the largest number
        if (match_ == Match::position && !(near_.back() == 0)) farthest_ = std::numeric_limits<Id>::max();
    }

    struct Place { // a window that contains a feature, and its position there; 0 is the middle
        Id window, place;
    };

    // Returns the value that a pair at distance d adds to the factor 1.
    static Num nearness(Id d, double theta) {
        if (d == 0) return Num(1);
        return Num(theta == 0 ? 0 : std::exp(-std::pow(d / theta, 2)));
    }

    Id type_of(const Store &store, Id node) const {
        if (!is_sequence(store, node)) return none;
        const Id label = store.label(node);
        return static_cast<std::size_t>(label) < type_of_.size() ? type_of_[label] : none;
    }

    // Fills `window` and calls f(type, number of the middle, weight of the type) for each position
    // of a sequence whose feature some column has.
    template <class F> void each_window(const Store &store, Id node, std::vector<Id> &window, F f) const {
        const Id type = type_of(store, node);
        if (type == none || types_[type].weight == 0) return;
        const Id *feature = store.children(node);
        const Id length = static_cast<Id>(store.arity(node)), reach = types_[type].reach;
        Pulse pulse;
        for (Id i = 0; i < length; ++i) {
            const Id middle = middle_keys_.find({type, store.label(feature[i])});
            if (middle == none) continue;
            const Id begin = i > reach ? i - reach : 0, end = length - i > reach ? i + reach + 1 : length;
            pulse.add(static_cast<std::size_t>(end - begin));
            window.assign({middle, i - begin});
            for (Id m = begin; m < end; ++m) window.push_back(store.label(feature[m]));
            f(type, middle, types_[type].weight);
        }
    }

    void index_windows(const NodeWeights &w) {
        std::vector<Id> window;
        NodeWeights middles; // middles of each target's windows
        postings_.build(w.rows(), [&](std::size_t t, auto add) {
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i)
                each_window(store_, w.node[i], window, [&](Id, Id middle, double factor) {
                    middles.node.push_back(middle), middles.weight.push_back(w.weight[i] * factor);
                    add(windows_.add(window), w.weight[i] * factor);
                });
            middles.start.push_back(static_cast<std::int64_t>(middles.node.size()));
        });
        middles_.build(middles, [](Id middle, double weight, auto add) { add(middle, weight); });
    }

    void index_features() {
        const Id windows = static_cast<Id>(windows_.size());
        member_start_.assign(middle_keys_.size() + 1, 0);
        for (Id v = 0; v < windows; ++v) ++member_start_[static_cast<std::size_t>(windows_.middle(v)) + 1];
        for (std::size_t m = 0; m < middle_keys_.size(); ++m) member_start_[m + 1] += member_start_[m];
        member_.resize(windows_.size());
        std::vector<std::int64_t> next(member_start_.begin(), member_start_.end() - 1);
        for (Id v = 0; v < windows; ++v) member_[static_cast<std::size_t>(next[windows_.middle(v)]++)] = v;
        places_.build([&](auto add) {
            for (Id v = 0; v < windows; ++v) {
                const Id left = windows_.left(v), length = windows_.length(v), *feature = windows_.features(v) + left;
                for (Id place = -left; place < length - left; ++place)
                    if (place != 0) add({windows_.middle(v), feature[place]}, Place{v, place});
            }
        });
        if (by_place_) places_.sort([](const Place &x, const Place &y) { return x.place < y.place; });
    }

    // Computes the contribution of the pairs of features beside the two middles, for each column
    // window with the same middle that has such a pair: their number, or the product minus 1.
    template <class Block> void compare(Block &b, Id u) const {
        Scratch &s = b.s;
        const Windows &found = s.found;
        const Id middle = found.middle(u), left = found.left(u), length = found.length(u);
        const Id *const feature = found.features(u) + left; // points to position 0
        for (Id place = -left; place < length - left; ++place) {
            std::span<const Place> places = places_.find({middle, feature[place]});
            if (by_place_) {
                const auto before = [](const Place &x, std::int64_t wanted) { return x.place < wanted; };
                const auto from = std::lower_bound(places.begin(), places.end(), std::int64_t{place} - farthest_, before);
                places = {from, std::lower_bound(from, places.end(), std::int64_t{place} + farthest_ + 1, before)};
            }
            b.pulse.add(8 + 4 * places.size());
            for (const Place &other : places) meet(other.window, place - other.place, s);
            if (place == 0 || feature[place] != feature[0] || std::abs(place) > farthest_) continue;
            // Visits every window with this middle.
            b.pulse.add(4 * static_cast<std::size_t>(member_start_[middle + 1] - member_start_[middle]));
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

    const Store &store_;
    std::vector<SequenceType> types_;
    Match match_;
    double theta_;
    Num alone_;                                    // kappa of two windows that share only their middles
    std::vector<Id> type_of_;                      // label -> number of the type
    std::vector<Num> near_;                        // by distance
    Id farthest_ = std::numeric_limits<Id>::max(); // largest distance at which a pair counts
    bool by_place_ = false;                        // whether places_ are ordered by position, because most pairs are farther apart
    KeyNumbers<2> middle_keys_;                    // (type, feature)
    Windows windows_;
    CountProduct middles_;
    Postings postings_; // per window
    std::vector<std::int64_t> member_start_;
    std::vector<Id> member_;  // windows, ordered by middle
    Groups<2, Place> places_; // by (middle, feature beside it)
};

} // namespace treelet
