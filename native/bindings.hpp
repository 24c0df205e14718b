// Shared by all bindings: array types, argument checks, interrupts.
#pragma once
#include "node_weights.hpp"

#include <atomic>
#include <chrono>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <thread>
#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace treelet::python {

using StorePtr = std::shared_ptr<Store>;
using IdArray = nb::ndarray<const Id, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ByteArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using LongArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DoubleArray = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Number> using MatrixOf = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;
using Matrix = MatrixOf<double>;

template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T> values) {
    auto *owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

[[noreturn]] inline void refuse(const std::string &what) { throw nb::value_error(what.c_str()); }

inline void check_ids(const IdArray &ids, std::size_t size, const char *what, Id least = 0) {
    for (std::size_t i = 0; i < ids.shape(0); ++i)
        if (ids.data()[i] < least || ids.data()[i] >= static_cast<std::int64_t>(size))
            refuse(std::string(what) + " " + std::to_string(i) + " is " + std::to_string(ids.data()[i]) + ", outside 0.." +
                   std::to_string(size));
}

// Numbers need aligned memory, and rows must not overlap.
template <class Number> void check_place(const MatrixOf<Number> &out) {
    const std::size_t rows = out.shape(0), columns = out.shape(1);
    if (rows == 0 || columns == 0) return;
    if (columns > 1 && out.stride(1) != 1) refuse("out must have contiguous rows");
    if (rows > 1 && static_cast<std::size_t>(std::abs(out.stride(0))) < columns) refuse("the rows of out overlap");
    if (reinterpret_cast<std::uintptr_t>(out.data()) % alignof(Number) != 0) refuse("out is not aligned");
}

// Marks an object as in use. Only one thread at a time may change an object; other threads get an
// error.
class Busy {
  public:
    class Guard {
      public:
        Guard(Busy &busy, const char *what) : busy_(busy) {
            if (busy_.taken_.exchange(true)) refuse(std::string(what) + " is in use by another thread. Create one per thread.");
        }
        ~Guard() { busy_.taken_ = false; }
        Guard(const Guard &) = delete;
        Guard &operator=(const Guard &) = delete;

      private:
        Busy &busy_;
    };

  private:
    std::atomic<bool> taken_ = false;
};

inline void check_weights(const Store &store, const NodeWeights &trees) {
    for (Id node : trees.node)
        if (static_cast<std::size_t>(node) >= store.size()) refuse("trees do not belong to this store");
}

// A flag that any thread can set to stop the threads that watch it. It is not a Python object,
// because a thread may release it after the interpreter has ended.
struct Stop {
    std::shared_ptr<std::atomic<bool>> wanted = std::make_shared<std::atomic<bool>>(false);
};
inline thread_local std::shared_ptr<std::atomic<bool>> watched;

// Acquires the interpreter. If the interpreter has ended meanwhile, Python ends the calling thread
// by unwinding its frames. Destructors are noexcept, so this would abort the process. Such a thread
// instead waits for the process to end, as in Python 3.14.
template <class Ask> void or_wait_for_the_end(Ask ask) noexcept {
#ifdef __GLIBCXX__
    try {
        ask();
    } catch (abi::__forced_unwind &) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
#else
    ask();
#endif
}

// Releases the interpreter to other threads during its lifetime.
class WithoutGil {
  public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() {
        or_wait_for_the_end([this] { PyEval_RestoreThread(state_); });
    }
    WithoutGil(const WithoutGil &) = delete;
    WithoutGil &operator=(const WithoutGil &) = delete;

  private:
    PyThreadState *state_;
};

// Holds the interpreter during its lifetime.
class WithGil {
  public:
    WithGil() {
        or_wait_for_the_end([this] { state_ = PyGILState_Ensure(); });
    }
    ~WithGil() { PyGILState_Release(state_); }
    WithGil(const WithGil &) = delete;
    WithGil &operator=(const WithGil &) = delete;

  private:
    PyGILState_STATE state_{};
};

// Waiting for the interpreter takes longer than reading the flag, so signals are checked less often.
inline void check_signals() {
    if (watched && *watched) throw std::runtime_error("stopped");
    thread_local std::chrono::steady_clock::time_point last;
    const auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    WithGil gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void bind_parsing(nb::module_ &m);
void bind_edits(nb::module_ &m);
void bind_features(nb::module_ &m);
void bind_forests(nb::module_ &m, nb::class_<NodeWeights> &weights);
void bind_fragments(nb::module_ &m);
void bind_sequences(nb::module_ &m);
void bind_sketch(nb::module_ &m);
void bind_strings(nb::module_ &m);
void bind_syntax(nb::module_ &m);

} // namespace treelet::python
