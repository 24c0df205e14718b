// How much memory something holds.
#pragma once
#include <cstddef>
#include <vector>

namespace treelet {

template <class T> std::size_t bytes_of(const std::vector<T> &values) { return values.capacity() * sizeof(T); }

} // namespace treelet
