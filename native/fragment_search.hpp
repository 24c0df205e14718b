// The fragments of the largest value, best first: grown step by step along all the places where they occur.
//
// What fragments grow on is a graph (fragment_graphs.hpp): an open node has edges, and a fragment grows by a key, that is
// by all edges with this key at one of its open nodes, the same one in all places. A place is the open nodes of a fragment
// where it occurs, and what the side says of it there: how often a tree holds it, or what it weighs in a model. There are one
// or two sides; a fragment's value is what all of them say, multiplied, with the decay of its size.
//
// Exact, and why: let `most` of a node be a bound of what growing there can multiply a place by, sums over edges with one key and
// decay included, at least 1 where the fragment may stay as it is. What grows from a fragment has, on each side, at most the sum
// of the positive places, each with the `most` of its open nodes, or that of the negative ones. Where no waiting fragment can
// exceed the `limit` largest values seen, these are the largest. Places that agree in all that is open have the same future and
// are one, so that their numbers cancel before the bound is taken.
#pragma once
#include "pulse.hpp"
#include "store.hpp"
#include <cmath>
#include <numeric>
#include <optional>
#include <queue>

namespace treelet {

struct Numbers { // what a side says of nodes of a store
    const Id *node;
    const double *number;
    std::size_t size;
};

struct FragmentStep {
    std::int64_t before; // the step before it, -1 for the first
    Id where;            // the number of the fragment's node that is grown
    std::int64_t what;   // an example of what it gets: see the graph
};

struct FoundFragment {
    double value;
    std::vector<FragmentStep> steps;
    std::vector<double> sums; // of each side's numbers, without decay
};

struct FoundFragments {
    std::vector<FoundFragment> fragments; // the largest absolute value first
    bool complete = false;                // there are no others
    bool exact = false;                   // there are no larger ones
};

struct FragmentSize {
    std::int64_t nodes = 0, ends = 0; // counts that decays are powers of
};

template <class Graph> class FragmentSearch {
  public:
    // `most_steps`: edges looked at, before the search is cut off; what there is to begin with is looked at once in any case.
    FragmentSearch(const Graph &graph, std::size_t sides, std::size_t limit, std::int64_t most_steps, void (*check)())
        : graph_(graph), sides_(sides), limit_(limit), most_steps_(most_steps), pulse_(check), sum_(graph.keys()) {}

    FoundFragments run() {
        State everywhere;
        everywhere.slots.push_back({0, 0, graph_.first_kind()});
        everywhere.next = 1;
        everywhere.sides.resize(sides_);
        for (std::size_t s = 0; s < sides_; ++s)
            graph_.each_root(s, [&](Id node, double number) {
                Side &side = everywhere.sides[s];
                side.open.push_back(node), side.number.push_back(number), side.weight.push_back(number);
            });
        grow(everywhere, 0);
        steps_left_ = most_steps_;
        bool finished = true;
        try {
            while (!waiting_.empty() && !(more() && waiting_.top().bound <= least_)) {
                const std::shared_ptr<State> state = waiting_.top().state;
                waiting_.pop();
                for (std::size_t at = 0; at < state->slots.size(); ++at) grow(*state, at);
            }
        } catch (const Enough &) {
            finished = false;
        }
        return told(finished);
    }

  private:
    struct Enough {};
    struct Slot { // an open node of a fragment
        Id number, level, kind;
    };
    struct Side { // places: a row of open nodes each
        std::vector<Id> open;
        std::vector<double> number, weight; // summed without what the graph discounts, and with it
    };
    struct State {
        std::int64_t step = -1;
        FragmentSize size;
        Id next = 0; // number of the next node
        std::vector<Slot> slots;
        std::vector<Side> sides;
    };
    struct Waiting {
        double bound;
        std::int64_t number;
        std::shared_ptr<State> state;
        bool operator<(const Waiting &other) const { return bound != other.bound ? bound < other.bound : number > other.number; }
    };
    struct Best {
        double value;
        std::int64_t number, step;
        std::vector<double> sums;
    };
    static bool larger(const Best &a, const Best &b) {
        const double x = std::fabs(a.value), y = std::fabs(b.value);
        return x != y ? x > y : a.number < b.number;
    }
    struct Sum {                            // of a key, while an open node is grown
        double total = 0, up = 0, down = 0; // on the side at hand
        double value = 1, most = 1;         // of all sides so far
        std::size_t sides = 0;              // that have it
        bool here = false;                  // the side at hand does
        Id group = none;
    };

    bool more() const { return seen_ > limit_ || left_out_; }
    void work(std::size_t steps) {
        pulse_.add(steps);
        if ((steps_left_ -= static_cast<std::int64_t>(steps)) < 0) throw Enough();
    }
    double most_of(const State &state, const Id *open, std::size_t from) const {
        double product = 1;
        for (std::size_t c = from; c < state.slots.size(); ++c) product *= graph_.most(state.slots[c].kind, open[c]);
        return product;
    }

    // All fragments that are one step larger, at one of the open nodes. Those before it are closed: each fragment has one way to
    // be grown.
    void grow(const State &state, std::size_t at) {
        const Slot slot = state.slots[at];
        if (graph_.too_deep(slot.level)) return;
        FragmentSize size = state.size;
        graph_.add(slot.kind, size);
        const double decay = graph_.decay(size, sides_);
        choose(state, at, decay, graph_.counts(size));
        std::vector<State> made(wanted_.size());
        std::vector<std::int64_t> example(wanted_.size(), -1);
        for (State &one : made) one.size = size, one.sides.resize(sides_);
        for (std::size_t s = 0; s < sides_ && !made.empty(); ++s) spread(state, at, s, made, example);
        for (Id key : touched_) sum_[key] = Sum();
        touched_.clear(), wanted_.clear();
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i].step = static_cast<std::int64_t>(steps_.size());
            steps_.push_back({state.step, slot.number, example[i]});
            settle(made[i], decay);
        }
    }

    // The keys that all sides have, without those that lead to nothing large enough.
    void choose(const State &state, std::size_t at, double decay, bool counts) {
        const std::size_t width = state.slots.size();
        const Id kind = state.slots[at].kind;
        for (std::size_t s = 0; s < sides_; ++s) {
            const Side &side = state.sides[s];
            met_.clear();
            for (std::size_t i = 0; i < side.weight.size(); ++i) {
                const Id *open = side.open.data() + i * width;
                const double weight = side.weight[i], later = most_of(state, open, at + 1);
                work(1 + width / 4);
                graph_.each_edge(kind, open[at], [&](Id key, double p, const Id *kids, std::size_t n, std::int64_t) {
                    work(1);
                    Sum &sum = sum_[key];
                    if (sum.sides != s) return; // another side has it not
                    if (!sum.here) sum.here = true, sum.total = sum.up = sum.down = 0, met_.push_back(key);
                    double most = later;
                    for (std::size_t k = 0; k < n; ++k) most *= graph_.most(graph_.kid_kind(kind, k), kids[k]);
                    sum.total += weight * p;
                    (weight > 0 ? sum.up : sum.down) += weight * p * most;
                });
            }
            if (s == 0) touched_ = met_;
            for (Id key : met_) {
                Sum &sum = sum_[key];
                sum.here = false, ++sum.sides;
                sum.value *= sum.total, sum.most *= std::max(sum.up, -sum.down);
            }
        }
        double least = least_;
        if (counts && met_.size() > limit_) { // so many fragments at once set a measure themselves
            std::vector<double> values;
            for (Id key : met_) values.push_back(decay * std::fabs(sum_[key].value));
            std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(limit_ - 1), values.end(),
                             std::greater<>());
            least = std::max(least, values[limit_ - 1]);
        }
        for (Id key : touched_) {
            if (sum_[key].sides != sides_) continue;
            if (decay * sum_[key].most >= least)
                sum_[key].group = static_cast<Id>(wanted_.size()), wanted_.push_back(key);
            else
                left_out_ = true;
        }
    }

    // The places of the larger fragments, on one side.
    void spread(const State &state, std::size_t at, std::size_t s, std::vector<State> &made, std::vector<std::int64_t> &example) {
        const std::size_t width = state.slots.size();
        const Slot slot = state.slots[at];
        const Side &side = state.sides[s];
        for (std::size_t i = 0; i < side.weight.size(); ++i) {
            const Id *open = side.open.data() + i * width;
            graph_.each_edge(slot.kind, open[at], [&](Id key, double p, const Id *kids, std::size_t n, std::int64_t what) {
                const Id group = sum_[key].group;
                if (group == none) return;
                State &one = made[group];
                if (example[group] < 0) { // the first place says what is open
                    example[group] = what;
                    one.next = state.next + graph_.new_nodes(n);
                    for (std::size_t k = 0; k < n; ++k)
                        one.slots.push_back(
                            {graph_.kid_number(slot.number, state.next, k), slot.level + 1, graph_.kid_kind(slot.kind, k)});
                    one.slots.insert(one.slots.end(), state.slots.begin() + static_cast<std::ptrdiff_t>(at) + 1, state.slots.end());
                }
                Side &there = one.sides[s];
                there.open.insert(there.open.end(), kids, kids + n);
                there.open.insert(there.open.end(), open + at + 1, open + width);
                there.number.push_back(side.number[i] * graph_.times(p)), there.weight.push_back(side.weight[i] * p);
            });
        }
    }

    // Closes what cannot be grown, makes one of equal places, and puts the fragment among the best and the waiting ones.
    void settle(State &state, double decay) {
        close(state);
        Best found{decay, ++count_, state.step, {}};
        double bound = decay;
        for (Side &side : state.sides) {
            merge(side, state.slots.size());
            double up = 0, down = 0;
            for (std::size_t i = 0; i < side.weight.size(); ++i) {
                const double most = side.weight[i] * most_of(state, side.open.data() + i * state.slots.size(), 0);
                (most > 0 ? up : down) += most;
            }
            bound *= std::max(up, -down);
            found.value *= std::accumulate(side.weight.begin(), side.weight.end(), 0.0);
            found.sums.push_back(std::accumulate(side.number.begin(), side.number.end(), 0.0));
        }
        if (graph_.counts(state.size)) {
            ++seen_;
            if (std::fabs(found.value) > least_) {
                best_.push_back(std::move(found)), std::push_heap(best_.begin(), best_.end(), larger);
                if (best_.size() > limit_) std::pop_heap(best_.begin(), best_.end(), larger), best_.pop_back();
                if (best_.size() == limit_) least_ = std::fabs(best_.front().value);
            }
        }
        if (state.slots.empty()) return;
        if (bound > least_ || !more()) waiting_.push({bound, count_, std::make_shared<State>(std::move(state))});
    }

    void close(State &state) const {
        const std::size_t width = state.slots.size();
        std::vector<std::size_t> keep;
        for (std::size_t c = 0; c < width; ++c) {
            bool all = !graph_.too_deep(state.slots[c].level);
            for (const Side &side : state.sides) {
                bool some = false;
                for (std::size_t i = c; all && !some && i < side.open.size(); i += width)
                    some = graph_.has_edges(state.slots[c].kind, side.open[i]);
                all = all && some;
            }
            if (all) keep.push_back(c);
        }
        if (keep.size() == width) return;
        for (Side &side : state.sides) {
            std::vector<Id> open;
            for (std::size_t i = 0; i < side.weight.size(); ++i)
                for (std::size_t c : keep) open.push_back(side.open[i * width + c]);
            side.open.swap(open);
        }
        std::vector<Slot> slots;
        for (std::size_t c : keep) slots.push_back(state.slots[c]);
        state.slots.swap(slots);
    }

    void merge(Side &side, std::size_t width) const {
        if (side.weight.size() < 2) return;
        IdTable table;
        std::size_t n = 0;
        for (std::size_t i = 0; i < side.weight.size(); ++i) {
            const Id *open = side.open.data() + i * width;
            std::uint64_t hash = width;
            for (std::size_t c = 0; c < width; ++c) hash = mix(hash, static_cast<std::uint64_t>(open[c]));
            const Id same = table.find(hash, [&](Id other) {
                return std::equal(open, open + width, side.open.data() + static_cast<std::size_t>(other) * width);
            });
            if (same != none) {
                side.number[same] += side.number[i], side.weight[same] += side.weight[i];
                continue;
            }
            table.insert(hash, static_cast<Id>(n));
            if (n != i) {
                std::copy(open, open + width, side.open.begin() + static_cast<std::ptrdiff_t>(n * width));
                side.number[n] = side.number[i], side.weight[n] = side.weight[i];
            }
            ++n;
        }
        side.open.resize(n * width), side.number.resize(n), side.weight.resize(n);
        side.open.shrink_to_fit(), side.number.shrink_to_fit(), side.weight.shrink_to_fit();
    }

    FoundFragments told(bool finished) {
        FoundFragments out;
        out.complete = finished && !more(), out.exact = finished;
        std::sort(best_.begin(), best_.end(), larger);
        for (const Best &b : best_) {
            FoundFragment one{b.value, {}, b.sums};
            for (std::int64_t at = b.step; at >= 0; at = steps_[static_cast<std::size_t>(at)].before)
                one.steps.push_back(steps_[static_cast<std::size_t>(at)]);
            std::reverse(one.steps.begin(), one.steps.end());
            out.fragments.push_back(std::move(one));
        }
        return out;
    }

    const Graph &graph_;
    std::size_t sides_, limit_;
    std::int64_t most_steps_, steps_left_ = std::numeric_limits<std::int64_t>::max(), count_ = 0;
    Pulse pulse_;
    std::size_t seen_ = 0;
    double least_ = -1;     // the value that further fragments must exceed
    bool left_out_ = false; // whether some were not made, since they do not
    std::vector<FragmentStep> steps_;
    std::priority_queue<Waiting> waiting_;
    std::vector<Best> best_; // a heap, the smallest in front
    std::vector<Sum> sum_;   // by key
    std::vector<Id> touched_, met_, wanted_;
};

} // namespace treelet
