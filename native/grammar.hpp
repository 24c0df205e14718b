// A weighted context-free grammar in the form that the chart needs: binary rules indexed by their
// left symbol, and unary chains.
//
// A symbol without a label is hidden. It stands for the first children of a longer rule, occurs
// only as a left child, and its children are spliced into those of its parent. Symbols from
// `first_word` on are words.
#pragma once
#include "forest.hpp"
#include "pulse.hpp"
#include <cmath>
#include <mutex>
#include <queue>

namespace treelet {

// Rounds a log probability to a multiple of 2^-38 (4e-12). Sums of such numbers down to -2^15 are
// exact, whatever their order and the compiler. Parses with the same rules in different
// arrangements therefore have equal scores, and the order of the rules can break the tie.
inline double on_grid(double logp) { return std::nearbyint(logp * 0x1p38) * 0x1p-38; }

struct Grammar {
    struct Binary {
        Id right, head; // right: a compact number, see `right_symbol`
        double logp;
    };
    struct Unary {
        Id symbol; // the other symbol
        double logp;
    };
    struct Rule {
        Id a, b, head;
        double logp;
    };
    template <class T> struct Rows { // one list per symbol
        std::vector<std::int64_t> start;
        std::vector<T> item;
        const T *begin(Id s) const { return item.data() + start[s]; }
        const T *end(Id s) const { return item.data() + start[s + 1]; }
    };

    std::vector<std::string> labels;
    Id first_word = 0;
    Rows<Binary> by_left;
    struct Finishing { // among the rules with one left symbol, those whose head is not hidden come first
        std::int64_t count;
        double best; // log probability of the best of them
    };
    std::vector<Finishing> finishing;
    Rows<Rule> by_hidden;                       // the rules of each hidden head
    std::vector<Id> right_number, right_symbol; // symbols that can be right children, numbered compactly
    Rows<Unary> by_child;                       // child -> heads, best chain of one or more unary rules
    Rows<Unary> below;                          // the same, head -> children
    Rows<Unary> by_head;                        // head -> children, single rules
    std::vector<std::pair<Id, double>> start;
    std::vector<Id> component; // strongly connected components of the unary graph; heads have larger numbers
    bool cyclic = false;

    std::size_t size() const { return labels.size(); }
    bool hidden(Id s) const { return labels[s].empty(); }

    // Log probabilities are put on the grid. In unary rules, a is the child. `most_chains` limits the number of symbol pairs with a
    // unary chain between them.
    void build(std::vector<Rule> binary, const std::vector<Rule> &unary, std::size_t most_chains) {
        const std::size_t n = size();
        for (Rule &r : binary) r.logp = on_grid(r.logp);
        for (auto &[symbol, logp] : start) logp = on_grid(logp);
        right_number.assign(n, none);
        for (const Rule &r : binary)
            if (right_number[r.b] == none) {
                right_number[r.b] = static_cast<Id>(right_symbol.size());
                right_symbol.push_back(r.b);
            }
        std::stable_sort(binary.begin(), binary.end(), [&](const Rule &x, const Rule &y) {
            if (x.a != y.a) return x.a < y.a;
            if (hidden(x.head) != hidden(y.head)) return hidden(y.head);
            return right_number[x.b] < right_number[y.b];
        });
        by_left.start.assign(n + 1, 0);
        for (const Rule &r : binary) ++by_left.start[r.a + 1], by_left.item.push_back({right_number[r.b], r.head, r.logp});
        for (std::size_t s = 0; s < n; ++s) by_left.start[s + 1] += by_left.start[s];
        finishing.assign(n, {0, impossible});
        for (const Rule &r : binary)
            if (!hidden(r.head)) ++finishing[r.a].count, finishing[r.a].best = std::max(finishing[r.a].best, r.logp);
        std::vector<std::vector<Rule>> lists(n);
        for (const Rule &r : binary)
            if (hidden(r.head)) lists[r.head].push_back(r);
        fill(by_hidden, lists);

        std::vector<std::vector<Unary>> down(n), up(n);
        for (const Rule &r : unary)
            if (r.a != r.head) down[r.head].push_back({r.a, on_grid(r.logp)}); // a node above itself is never useful
        fill(by_head, down);
        find_components();
        std::size_t chains = 0;
        std::vector<char> done(n, 0);
        Pulse pulse;
        for (Id s = 0; s < static_cast<Id>(n); ++s) {
            best_chains(s, down[s], most_chains - chains, done, pulse);
            chains += down[s].size();
        }
        fill(below, down);
        for (Id s = 0; s < static_cast<Id>(n); ++s)
            for (const Unary *u = below.begin(s); u < below.end(s); ++u) up[u->symbol].push_back({s, u->logp});
        fill(by_child, up);
    }

    // Returns the log probability of the best unary chain, 0 for the empty chain.
    double chain(Id head, Id child) const {
        if (head == child) return 0;
        for (const Unary *u = by_child.begin(child); u < by_child.end(child); ++u)
            if (u->symbol == head) return u->logp;
        return impossible;
    }

  private:
    // Empties the lists as it goes.
    template <class T> static void fill(Rows<T> &rows, std::vector<std::vector<T>> &lists) {
        std::size_t all = 0;
        for (const auto &list : lists) all += list.size();
        rows.item.reserve(all);
        rows.start.assign(1, 0);
        for (auto &list : lists) {
            rows.item.insert(rows.item.end(), list.begin(), list.end());
            rows.start.push_back(static_cast<std::int64_t>(rows.item.size()));
            std::vector<T>().swap(list);
        }
    }

    // Dijkstra's algorithm from one head over single rules. `found` receives the best chain to each
    // symbol below the head. `done` marks symbols and is all 0 before and after.
    void best_chains(Id head, std::vector<Unary> &found, std::size_t most, std::vector<char> &done, Pulse &pulse) const {
        found.clear();
        if (by_head.begin(head) == by_head.end(head)) return;
        std::priority_queue<std::pair<double, Id>> queue;
        queue.push({0, head});
        while (!queue.empty()) {
            const auto [score, s] = queue.top();
            queue.pop();
            pulse.add(16);
            if (done[s]) continue;
            done[s] = 1;
            if (s != head) found.push_back({s, score});
            if (found.size() > most)
                throw TooMuchMemory(
                    "the unary rules of this grammar form too many chains: the table of these chains does not fit into "
                    "memory. Remove unary rules, or use a smaller grammar.");
            for (const Unary *u = by_head.begin(s); u < by_head.end(s); ++u)
                if (!done[u->symbol]) queue.push({score + u->logp, u->symbol});
        }
        done[head] = 0;
        for (const Unary &u : found) done[u.symbol] = 0;
        std::sort(found.begin(), found.end(), [](const Unary &x, const Unary &y) { return x.symbol < y.symbol; });
        found.shrink_to_fit();
    }

    // Tarjan's algorithm without recursion. Components come out children first.
    void find_components() {
        const Id n = static_cast<Id>(size());
        component.assign(n, none);
        std::vector<Id> number(n, none), low(n, 0), stack;
        std::vector<char> on_stack(n, 0);
        std::vector<std::pair<Id, const Unary *>> calls;
        Id counter = 0, components = 0;
        for (Id top = 0; top < n; ++top) {
            if (number[top] != none) continue;
            calls.push_back({top, by_head.begin(top)});
            while (!calls.empty()) {
                auto &[s, next] = calls.back();
                if (number[s] == none) number[s] = low[s] = counter++, stack.push_back(s), on_stack[s] = 1;
                if (next < by_head.end(s)) {
                    const Id child = (next++)->symbol;
                    if (number[child] == none)
                        calls.push_back({child, by_head.begin(child)});
                    else if (on_stack[child])
                        low[s] = std::min(low[s], number[child]);
                    continue;
                }
                if (low[s] == number[s]) {
                    Id size = 0;
                    for (Id last = none; last != s; ++size) {
                        last = stack.back(), stack.pop_back();
                        on_stack[last] = 0, component[last] = components;
                    }
                    cyclic = cyclic || size > 1;
                    ++components;
                }
                const Id done = s;
                calls.pop_back();
                if (!calls.empty()) low[calls.back().first] = std::min(low[calls.back().first], low[done]);
            }
        }
    }
};

// Enumerates all chains of unary rules from one symbol down to another that pass no symbol twice,
// best first.
class Chains {
  public:
    Chains(const Grammar &grammar, Id head, Id child, void (*check)()) : grammar_(grammar), child_(child), check_(check) {
        paths_.push_back({{head}, 0});
        queue_.push({grammar.chain(head, child), 0});
    }
    // Finds the k-th chain (from 0), if there is one.
    bool find(std::size_t k, double &score) {
        while (found_.size() <= k && !queue_.empty()) {
            const auto [bound, at] = queue_.top();
            queue_.pop();
            if ((++work_ & 0xFFF) == 0) check_();
            if (paths_.size() > max_paths)
                throw std::length_error("more than " + std::to_string(max_paths) +
                                        " chains of unary rules connect two symbols. Request fewer parses.");
            const Path path = paths_[-at];
            const Id last = path.symbols.back();
            if (last == child_) {
                found_.push_back(path);
                continue;
            }
            for (const Grammar::Unary *u = grammar_.by_head.begin(last); u < grammar_.by_head.end(last); ++u) {
                const double rest = grammar_.chain(u->symbol, child_);
                if (rest == impossible || std::find(path.symbols.begin(), path.symbols.end(), u->symbol) != path.symbols.end())
                    continue;
                Path longer{path.symbols, path.score + u->logp};
                longer.symbols.push_back(u->symbol);
                queue_.push({longer.score + rest, -static_cast<std::int64_t>(paths_.size())});
                paths_.push_back(std::move(longer));
            }
        }
        if (found_.size() <= k) return false;
        score = found_[k].score;
        return true;
    }
    const std::vector<Id> &symbols(std::size_t k) const { return found_[k].symbols; }

  private:
    struct Path {
        std::vector<Id> symbols;
        double score;
    };
    static constexpr std::size_t max_paths = 5'000'000;
    const Grammar &grammar_;
    Id child_;
    void (*check_)();
    std::size_t work_ = 0;
    std::vector<Path> paths_, found_;
    std::priority_queue<std::pair<double, std::int64_t>> queue_;
};

} // namespace treelet
