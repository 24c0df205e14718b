// A column that can extend another column without copying it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace treelet {

// The first part belongs to another column, which must stay alive and unchanged. Added items belong
// to this column.
template <class T> class Segmented {
  public:
    Segmented() = default;
    Segmented(std::initializer_list<T> values) : own_(values) {}

    // Returns a column that begins with the current content of `base`. If `base` has a base itself,
    // the new column shares that base and copies the rest.
    static Segmented over(const Segmented &base) {
        Segmented out;
        if (base.extends_)
            out = base;
        else
            out.base_ = base.own_.data(), out.first_ = base.own_.size(), out.extends_ = true;
        return out;
    }

    // Returns whether the items are contiguous.
    bool whole() const { return first_ == 0 || own_.empty(); }
    // Replaces the content by items that somebody else keeps alive.
    void view(const T *data, std::size_t size) { base_ = data, first_ = size, extends_ = true, own_.clear(); }

    std::size_t size() const { return first_ + own_.size(); }
    const T &operator[](std::size_t i) const { return i < first_ ? base_[i] : own_[i - first_]; }
    // Pointer to item i; items are contiguous up to the end of its segment.
    const T *from(std::size_t i) const { return i < first_ ? base_ + i : own_.data() + (i - first_); }
    const T &back() const { return (*this)[size() - 1]; }
    void reserve(std::size_t n) { own_.reserve(n - std::min(n, first_)); } // n is the total number of items
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
    bool extends_ = false; // also if the other column is empty
    std::vector<T> own_;
};

} // namespace treelet
