// Working memory that threads share.
#pragma once
#include "store.hpp"
#include <memory>
#include <mutex>

namespace treelet {

// Working memory that threads take and return, so the strips of a matrix do not allocate it again.
// After an exception, memory is not returned, because its state is unknown.
template <class Scratch> class ScratchPool {
  public:
    std::unique_ptr<Scratch> take(std::size_t store_size) {
        std::unique_ptr<Scratch> scratch;
        {
            std::lock_guard lock(mutex_);
            if (!spare_.empty()) scratch = std::move(spare_.back()), spare_.pop_back();
        }
        if (!scratch) scratch = std::make_unique<Scratch>();
        if (scratch->index.size() < store_size) scratch->index.resize(store_size, none);
        return scratch;
    }
    void give(std::unique_ptr<Scratch> scratch) {
        std::lock_guard lock(mutex_);
        spare_.push_back(std::move(scratch));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> spare_;
};

} // namespace treelet
