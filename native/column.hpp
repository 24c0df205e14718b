// Arrays that an object owns, or that belong to somebody else, for example to a memory-mapped file.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace treelet {

// A vector, or a view of read-only memory that somebody else keeps alive. Only a vector may be
// changed. A copy of a view is a vector.
template <class T> class Column {
  public:
    Column() = default;
    Column(std::initializer_list<T> values) : own_(values) { follow(); }
    Column(const Column &other) : own_(other.begin(), other.end()) { follow(); }
    Column(Column &&other) noexcept
        : own_(std::move(other.own_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {
        other.own_.clear();
    }
    Column &operator=(Column other) noexcept {
        own_.swap(other.own_);
        std::swap(data_, other.data_), std::swap(size_, other.size_);
        return *this;
    }
    void view(const T *data, std::size_t size) {
        static_assert(std::is_trivially_copyable_v<T>);
        own_ = {};
        data_ = const_cast<T *>(data), size_ = size; // never written to: see above
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T *data() const { return data_; }
    const T *begin() const { return data_; }
    const T *end() const { return data_ + size_; }
    const T &operator[](std::size_t i) const { return data_[i]; }
    const T &back() const { return data_[size_ - 1]; }

    T *data() { return data_; }
    T *begin() { return data_; }
    T *end() { return data_ + size_; }
    T &operator[](std::size_t i) { return data_[i]; }
    T &back() { return data_[size_ - 1]; }
    void reserve(std::size_t n) { own_.reserve(n), follow(); }
    void resize(std::size_t n, T value = T()) { own_.resize(n, value), follow(); }
    void assign(std::size_t n, T value) { own_.assign(n, value), follow(); }
    void push_back(T value) { own_.push_back(value), follow(); }
    template <class It> void append(It first, It last) { own_.insert(own_.end(), first, last), follow(); }
    void shrink_to_fit() { own_.shrink_to_fit(), follow(); }
    std::size_t capacity() const { return own_.capacity(); } // 0 for a view

  private:
    void follow() { data_ = own_.data(), size_ = own_.size(); }

    std::vector<T> own_;
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// An object that consists of columns, numbers and other such objects lists them once, in
//   template <class Self> static auto parts(Self &self) { return std::tie(self.first_, self.second_, ...); }
// Calls f for each column and each number in the object, in a fixed order.
template <class Object, class F> void each_part(Object &object, F &f) {
    if constexpr (requires { std::remove_const_t<Object>::parts(object); })
        std::apply([&](auto &...part) { (each_part(part, f), ...); }, std::remove_const_t<Object>::parts(object));
    else
        f(object);
}

} // namespace treelet
