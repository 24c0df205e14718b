// How long loops let a user interrupt them.
#pragma once
#include <cstddef>

namespace treelet {

// Called now and then from long loops, so that a user can interrupt them.
class Pulse {
  public:
    explicit Pulse(void (*check)()) : check_(check) {}
    void add(std::size_t work) {
        work_ += work;
        if (work_ > (std::size_t{1} << 26)) {
            work_ = 0;
            check_();
        }
    }

  private:
    void (*check_)();
    std::size_t work_ = 0;
};

} // namespace treelet
