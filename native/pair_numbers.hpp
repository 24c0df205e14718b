// Pairs of ids, numbered.
#pragma once
#include "store.hpp"

namespace treelet {

struct IdPair {
    Id first, second;
    bool operator==(const IdPair &) const = default;
};
class PairNumbers { // numbers pairs as they come
  public:
    Id add(IdPair pair) {
        Id number = find(pair);
        if (number == none) {
            number = static_cast<Id>(pairs_.size());
            pairs_.push_back(pair);
            table_.insert(hash(pair), number);
        }
        return number;
    }
    Id find(IdPair pair) const {
        return table_.find(hash(pair), [&](Id number) { return pairs_[number] == pair; });
    }
    std::size_t size() const { return pairs_.size(); }

  private:
    static std::uint64_t hash(IdPair pair) {
        return mix(static_cast<std::uint64_t>(pair.first), static_cast<std::uint64_t>(pair.second));
    }
    IdTable table_;
    std::vector<IdPair> pairs_;
};

} // namespace treelet
