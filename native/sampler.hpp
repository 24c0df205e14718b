// Draws trees from a grammar: from the start symbol down, each symbol is expanded by one of its
// rules, chosen by weight.
#pragma once
#include "portable.hpp"
#include "pulse.hpp"
#include "store.hpp"

#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace treelet {

// Draws an index with given weights in constant time: the alias method (Walker 1977, Vose 1991).
class Alias {
  public:
    Alias() = default;
    Alias(const double *weight, std::size_t n) : keep_(n), other_(n) {
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) total += weight[i];
        std::vector<double> share(n);
        std::vector<std::uint32_t> less, more;
        for (std::size_t i = 0; i < n; ++i) {
            share[i] = weight[i] / total * static_cast<double>(n);
            other_[i] = static_cast<std::uint32_t>(i);
            (share[i] < 1 ? less : more).push_back(static_cast<std::uint32_t>(i));
        }
        keep_.assign(n, 1);
        while (!less.empty() && !more.empty()) {
            const std::uint32_t small = less.back(), large = more.back();
            less.pop_back();
            keep_[small] = share[small];
            other_[small] = large;
            share[large] -= 1 - share[small];
            if (share[large] < 1) {
                more.pop_back();
                less.push_back(large);
            }
        }
    }
    std::size_t size() const { return keep_.size(); }
    std::size_t operator()(std::uint64_t random) const {
        const Wide wide = wide_product(random, keep_.size());
        const auto i = static_cast<std::size_t>(wide.high);
        return static_cast<double>(wide.low >> 11) * 0x1p-53 < keep_[i] ? i : other_[i];
    }

  private:
    std::vector<double> keep_;         // probability that a position stands for itself
    std::vector<std::uint32_t> other_; // the index that it stands for otherwise
};

class Sampler {
  public:
    // Symbols, then words. A symbol without a label is hidden: its children become children of its
    // parent.
    std::vector<std::string> labels;
    std::size_t first_word = 0;
    // Rule r has the symbols tail[tail_start[r]] .. ; the rules of symbol s are rule_start[s] ..
    // rule_start[s + 1] - 1.
    std::vector<std::int64_t> rule_start, tail_start;
    std::vector<Id> tail;
    std::vector<Alias> choice; // choice of a rule, per symbol
    std::vector<Id> start;
    Alias start_choice;

    std::vector<Id> sample(std::size_t n, std::uint64_t seed, std::size_t max_words, Store &store, void (*check)()) const {
        std::mt19937_64 random(seed);
        std::vector<Id> roots, here(labels.size(), none), stack;
        Drawn drawn;
        Pulse pulse(check);
        for (std::size_t refused = 0; roots.size() < n;) {
            const bool taken = draw(random, max_words, drawn);
            pulse.add(64 * (drawn.steps + 16));
            if (!taken) {
                if (++refused == patience)
                    throw std::length_error("of " + std::to_string(patience) + " consecutive trees, none has at most " +
                                            std::to_string(max_words) + " words. Increase max_words.");
                continue;
            }
            refused = 0;
            stack.clear();
            for (const Node &node : drawn.nodes) {
                Id &label = here[node.symbol];
                if (label == none) label = store.add_label(labels[node.symbol]);
                const std::size_t below = stack.size() - node.children;
                const Id made = store.add_node(label, stack.data() + below, node.children);
                stack.resize(below);
                stack.push_back(made);
            }
            roots.push_back(stack[0]);
        }
        return roots;
    }

  private:
    static constexpr std::size_t patience = 100000, most_steps = std::size_t{1} << 24;
    struct Node {
        Id symbol;
        std::size_t children;
    };
    struct Frame {
        Id symbol;
        std::int64_t next, end;
        std::size_t children;
    };
    struct Drawn {
        std::vector<Node> nodes; // children before parents
        std::vector<Frame> open;
        std::size_t steps = 0;
    };

    Frame opened(Id symbol, std::mt19937_64 &random) const {
        const auto rule = static_cast<std::size_t>(rule_start[symbol]) + choice[symbol](random());
        return {symbol, tail_start[rule], tail_start[rule + 1], 0};
    }

    // Draws one tree. Returns false if it has too many words.
    bool draw(std::mt19937_64 &random, std::size_t max_words, Drawn &out) const {
        std::size_t words = 0;
        out.nodes.clear();
        out.open.assign(1, opened(start[start_choice(random())], random));
        for (out.steps = 0; !out.open.empty(); ++out.steps) {
            if (out.steps == most_steps)
                throw std::length_error("a tree is not complete after " + std::to_string(most_steps) +
                                        " steps. With these probabilities, trees may grow without end. Limit them with max_words.");
            Frame &frame = out.open.back();
            if (frame.next < frame.end) {
                const Id below = tail[frame.next++];
                if (static_cast<std::size_t>(below) < first_word) {
                    out.open.push_back(opened(below, random));
                } else {
                    if (++words > max_words) return false;
                    out.nodes.push_back({below, 0});
                    ++frame.children;
                }
                continue;
            }
            const Frame done = frame;
            out.open.pop_back();
            const bool hidden = labels[done.symbol].empty();
            if (!hidden) out.nodes.push_back({done.symbol, done.children});
            if (!out.open.empty()) out.open.back().children += hidden ? done.children : 1;
        }
        return true;
    }
};

} // namespace treelet
