// Finds the fragments with the largest values, best first. Fragments grow step by step, together
// with all their occurrences.
//
// Fragments grow on a graph (fragment_graphs.hpp). An open node has edges, and a fragment grows by
// a key: by all edges with this key at one of its open nodes, the same node in all occurrences. An
// occurrence consists of the open nodes of the fragment and a number: the count in a tree, or the
// weight in a model. There are one or two sides. The value of a fragment is the product over the
// sides of the sums of these numbers, times the decay for its size.
//
// Why the search is exact: let `most` of a node be an upper bound for the factor by which growing
// there can multiply an occurrence, including sums over edges with one key and decay, and at least
// 1 if the fragment may stay as it is. On each side, all fragments that grow from a fragment have
// at most the sum over the positive occurrences, each times the `most` of its open nodes, or the
// same sum over the negative ones. When no waiting fragment can exceed the `limit` largest values
// found, these are the largest. Occurrences that agree in all open nodes have the same future and
// are merged, so their numbers cancel before the bound is computed.
#pragma once
#include "pulse.hpp"
#include "store.hpp"
#include <cmath>
#include <numeric>
#include <optional>
#include <queue>

namespace treelet {

struct Numbers { // the numbers of one side for nodes of a store
    const Id *node;
    const double *number;
    std::size_t size;
};

struct FragmentStep {
    std::int64_t before; // the previous step, -1 for the first
    Id where;            // number of the fragment's node that is expanded
    std::int64_t what;   // an example of its expansion: see the graph
};

struct FoundFragment {
    double value;
    std::vector<FragmentStep> steps;
    std::vector<double> sums; // sum of the numbers per side, without decay
};

struct FoundFragments {
    std::vector<FoundFragment> fragments; // the largest absolute value first
    bool complete = false;                // no other fragments exist
    bool exact = false;                   // no larger fragments exist
};

struct FragmentSize {
    std::int64_t nodes = 0, ends = 0; // exponents of the decays
};

template <class Graph> class FragmentSearch {
  public:
    // `most_steps` is the number of steps after which the search is cut off: edges that are followed,
    // and fragments that are kept. The initial fragments are always processed once.
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
    struct Side { // occurrences: one row of open nodes each
        std::vector<Id> open;
        std::vector<double> number, weight; // sums without and with the discount of the graph
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
    struct Sum {                            // sums per key while an open node is expanded
        double total = 0, up = 0, down = 0; // of the current side
        double value = 1, most = 1;         // of all sides so far
        std::size_t sides = 0;              // number of sides with this key
        bool here = false;                  // whether the current side has this key
        Id group = none;
    };

    // Steps per kept fragment beyond the number wanted. Keeping one takes a few microseconds and about
    // 700 bytes. Where little can be ruled out, as with wide trees and no decay, these fragments would
    // take most of the time and the memory.
    static constexpr std::size_t keeping = 128;

    bool more() const { return seen_ > limit_ || left_out_; }
    void work(std::size_t steps) {
        pulse_.add(16 * steps); // a step of the search takes about 60 nanoseconds
        if ((steps_left_ -= static_cast<std::int64_t>(steps)) < 0) throw Enough();
    }
    double most_of(const State &state, const Id *open, std::size_t from) const {
        double product = 1;
        for (std::size_t c = from; c < state.slots.size(); ++c) product *= graph_.most(state.slots[c].kind, open[c]);
        return product;
    }

    // Creates all fragments that are one step larger, at one of the open nodes. The open nodes
    // before it are closed, so each fragment is grown in only one way.
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

    // Chooses the keys that all sides have, except those that cannot lead to a large enough value.
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
                    if (sum.sides != s) return; // another side does not have the key
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
        if (counts && met_.size() > limit_) { // so many new fragments set a bound of their own
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

    // Computes the occurrences of the larger fragments on one side.
    void spread(const State &state, std::size_t at, std::size_t s, std::vector<State> &made, std::vector<std::int64_t> &example) {
        const std::size_t width = state.slots.size();
        const Slot slot = state.slots[at];
        const Side &side = state.sides[s];
        for (std::size_t i = 0; i < side.weight.size(); ++i) {
            const Id *open = side.open.data() + i * width;
            graph_.each_edge(slot.kind, open[at], [&](Id key, double p, const Id *kids, std::size_t n, std::int64_t what) {
                const Id group = sum_[key].group;
                if (group == none) return;
                pulse_.add(16 + n + width - at);
                State &one = made[group];
                if (example[group] < 0) { // the first occurrence defines the open nodes
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

    // Closes nodes that cannot be expanded, merges equal occurrences, and adds the fragment to the
    // best and to the waiting fragments.
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
        if (bound > least_ || !more()) {
            std::size_t occurrences = 0;
            for (const Side &side : state.sides) occurrences += side.open.size();
            waiting_.push({bound, count_, std::make_shared<State>(std::move(state))});
            if (waiting_.size() > limit_) work(keeping + occurrences);
        }
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
    bool left_out_ = false; // whether some fragments were skipped because they do not exceed it
    std::vector<FragmentStep> steps_;
    std::priority_queue<Waiting> waiting_;
    std::vector<Best> best_; // a heap, the smallest first
    std::vector<Sum> sum_;   // by key
    std::vector<Id> touched_, met_, wanted_;
};

} // namespace treelet
