// How long loops let a user interrupt them, and how they refuse to take more memory than they may.
#pragma once
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace treelet {

// What pulses call that were given nothing else; the bindings put their check of signals here.
inline void (*listen)() = [] {};

// Called now and then from long loops, so that a user can interrupt them. A step of work is a few nanoseconds.
class Pulse {
  public:
    explicit Pulse(void (*check)() = listen) : check_(check) {}
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

// As values.resize(n). The system fills memory page by page as it is first written to, which takes seconds for gigabytes.
template <class T> void resize(std::vector<T> &values, std::size_t n, Pulse &pulse) {
    values.reserve(n);
    while (values.size() < n) {
        const std::size_t more = std::min(n - values.size(), std::size_t{1} << 20);
        values.resize(values.size() + more, T(0));
        pulse.add(2 * more);
    }
    values.resize(n);
}

// More memory would be needed than may be taken: what for, and what to do.
struct TooMuchMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace treelet
