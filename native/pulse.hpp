// Interrupts in long loops, and errors for a lack of memory.
#pragma once
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace treelet {

// The function that pulses call by default. The bindings set it to their check of signals.
inline void (*listen)() = [] {};

// Called from time to time in long loops, so a user can interrupt them. A step of work takes a few
// nanoseconds, so the check follows about every 20 milliseconds.
class Pulse {
  public:
    explicit Pulse(void (*check)() = listen) : check_(check) {}
    void add(std::size_t work) {
        work_ += work;
        if (work_ > (std::size_t{1} << 22)) {
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

// More memory is needed than allowed. The text names the purpose and the remedy.
struct TooMuchMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace treelet
