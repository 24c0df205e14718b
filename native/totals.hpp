// Sums of weights by key.
#pragma once
#include "postings.hpp"

namespace treelet {

// Calls f(key, sum of weights) for every key.
template <class F> void each_total(std::vector<std::pair<Id, double>> &seen, F f) {
    std::sort(seen.begin(), seen.end());
    for (std::size_t i = 0; i < seen.size();) {
        const Id key = seen[i].first;
        double total = 0;
        for (; i < seen.size() && seen[i].first == key; ++i) total += seen[i].second;
        f(key, total);
    }
}

struct Tally { // sums weights by key, one target at a time
    std::vector<Postings::Triple> triples;
    std::vector<std::pair<Id, double>> seen;
    void add(Id key, double weight) { seen.push_back({key, weight}); }
    void next(Id target) {
        each_total(seen, [&](Id key, double total) { triples.push_back({key, target, total}); });
        seen.clear();
    }
};

} // namespace treelet
