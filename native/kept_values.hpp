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
    std::size_t bytes() const { return column.capacity() * sizeof(Id) + value.capacity() * sizeof(Num); }
};

// Values have clear() and bytes(), the memory that they own.
template <class Values> class KeptValues {
  public:
    void begin(std::size_t nodes) {
        if (row_.size() < nodes) row_.resize(nodes);
    }
    const Values &operator[](std::size_t i) const { return row_[i]; }
    Values &operator[](std::size_t i) { return row_[i]; }

    // Returns empty values for node i, with the memory of values that are no longer needed.
    Values &make(std::size_t i) {
        if (!pool_.empty()) row_[i] = std::move(pool_.back()), pool_.pop_back(), bytes_ -= row_[i].bytes();
        return row_[i];
    }
    // Counts the memory of node i, whose values are complete.
    void count(std::size_t i) { bytes_ += row_[i].bytes(); }
    // Bytes of all values, including those that are no longer needed.
    std::size_t bytes() const { return bytes_; }
    void release(std::size_t i) {
        row_[i].clear();
        if (row_[i].bytes() == 0) return;
        pool_.push_back(std::move(row_[i]));
        row_[i] = Values();
    }

  private:
    std::vector<Values> row_, pool_;
    std::size_t bytes_ = 0;
};

} // namespace treelet
