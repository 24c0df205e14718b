// Stores the values of the nodes of a block until their parents are done. Memory is reused.
#pragma once
#include "store.hpp"

namespace treelet {

// The values of a node, with the columns where they are not 0. A node may have several values per
// column.
template <class Num> struct SparseValues {
    std::vector<Id> column;
    std::vector<Num> value;
    void clear() { column.clear(), value.clear(); }
    bool memory() const { return column.capacity() != 0; }
};

// Values have clear() and memory(), which returns whether they own memory.
template <class Values> class KeptValues {
  public:
    void begin(std::size_t nodes) {
        if (row_.size() < nodes) row_.resize(nodes);
    }
    const Values &operator[](std::size_t i) const { return row_[i]; }
    Values &operator[](std::size_t i) { return row_[i]; }

    // Returns empty values for node i, with the memory of values that are no longer needed.
    Values &make(std::size_t i) {
        if (!pool_.empty()) row_[i] = std::move(pool_.back()), pool_.pop_back();
        return row_[i];
    }
    void release(std::size_t i) {
        row_[i].clear();
        if (!row_[i].memory()) return;
        pool_.push_back(std::move(row_[i]));
        row_[i] = Values();
    }

  private:
    std::vector<Values> row_, pool_;
};

} // namespace treelet
