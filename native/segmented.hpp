// A column that may go on where another one ends, so that something large grows without being copied.
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace treelet {

// The first part is another column's, which must live on unchanged; what is added is this one's own.
template <class T> class Segmented {
  public:
    Segmented() = default;
    Segmented(std::initializer_list<T> values) : own_(values) {}

    // A column that begins as `base` is now. Over a column that has a base itself: over the same, with a copy of the rest.
    static Segmented over(const Segmented &base) {
        Segmented out;
        if (base.first_ > 0)
            out = base;
        else
            out.base_ = base.own_.data(), out.first_ = base.own_.size();
        return out;
    }

    std::size_t size() const { return first_ + own_.size(); }
    const T &operator[](std::size_t i) const { return i < first_ ? base_[i] : own_[i - first_]; }
    // From the i-th on, contiguous to the end of the segment that it is in.
    const T *from(std::size_t i) const { return i < first_ ? base_ + i : own_.data() + (i - first_); }
    const T &back() const { return (*this)[size() - 1]; }
    void reserve(std::size_t n) { own_.reserve(n - std::min(n, first_)); } // for so many in all
    void push_back(T value) { own_.push_back(value); }
    template <class It> void append(It begin, It end) { own_.insert(own_.end(), begin, end); }

    std::vector<T> all() const {
        std::vector<T> out(base_, base_ + first_);
        out.insert(out.end(), own_.begin(), own_.end());
        return out;
    }

  private:
    const T *base_ = nullptr;
    std::size_t first_ = 0;
    std::vector<T> own_;
};

} // namespace treelet
