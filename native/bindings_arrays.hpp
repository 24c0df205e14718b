// Native objects as lists of NumPy arrays, and back: an object can view arrays that are in a file,
// without a copy and without reading them. See column.hpp for the parts of an object.
//
// The first array contains the numbers of the object, and one that identifies the layout of its
// parts. The other arrays are its columns. Items that are not numbers are bytes.
#pragma once
#include "bindings.hpp"

namespace treelet::python {

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T> using ItemOf =
    std::conditional_t<std::is_arithmetic_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, bool>, T, std::uint8_t>;

using ArrayList = nb::typed<nb::list, nb::any>; // of arrays

// Docstrings that all classes share.
inline const char *const as_arrays = "The content as arrays, which are views and cannot be written to.";
inline const char *const views_arrays =
    "Views the arrays of another object without a copy and without reading them, and keeps them alive. Their content is "
    "trusted: compare the checksums of a file first.";

// Identifies the layout of an object's parts. Increase the first number when the meaning of a part
// changes.
class Layout {
  public:
    template <class T> void operator()(const Column<T> &) { add(sizeof(T)); }
    template <class T> void operator()(const Segmented<T> &) { add(sizeof(T)); }
    template <class T>
        requires std::is_arithmetic_v<T>
    void operator()(const T &) {
        ++numbers;
    }

    std::size_t columns = 0, numbers = 0;
    std::int64_t id() const { return static_cast<std::int64_t>(mix(hash_, numbers) >> 1); }

  private:
    void add(std::size_t bytes) { hash_ = mix(hash_, bytes), ++columns; }
    std::uint64_t hash_ = 1;
};
template <class Object> Layout layout_of(const Object &object) {
    Layout layout;
    each_part(object, layout);
    return layout;
}

// The parts of an object as arrays, which are views and keep `owner` alive.
class ArrayWriter {
  public:
    explicit ArrayWriter(nb::handle owner) : owner_(owner) {}
    template <class T> void operator()(const Column<T> &column) { add(column.data(), column.size()); }
    template <class T> void operator()(const Segmented<T> &column) { add(column.from(0), column.size()); }
    template <class T>
        requires std::is_arithmetic_v<T>
    void operator()(const T &number) {
        numbers_.push_back(static_cast<std::int64_t>(number));
    }
    ArrayList take(const Layout &layout) {
        numbers_.push_back(layout.id());
        const nb::object numbers = nb::cast(to_numpy(std::move(numbers_)));
        numbers.attr("setflags")("write"_a = false);
        columns_.insert(0, numbers);
        return nb::borrow<ArrayList>(columns_);
    }

  private:
    template <class T> void add(const T *data, std::size_t size) {
        using Item = ItemOf<T>;
        static const T nothing{}; // an empty vector has no memory
        columns_.append(nb::cast(nb::ndarray<nb::numpy, const Item, nb::ndim<1>>(
            reinterpret_cast<const Item *>(size ? data : &nothing), {size * sizeof(T) / sizeof(Item)}, owner_)));
    }
    nb::handle owner_;
    nb::list columns_;
    std::vector<std::int64_t> numbers_;
};

template <class Object> ArrayList arrays_of(nb::handle owner, const Object &object) {
    ArrayWriter writer(owner);
    each_part(object, writer);
    return writer.take(layout_of(object));
}

// Lets the parts of an object view arrays.
class ArrayReader {
  public:
    explicit ArrayReader(const ArrayList &arrays) {
        for (nb::handle array : arrays) {
            AnyArray taken;
            if (!nb::try_cast(array, taken, false)) refuse(name(arrays_.size()) + " is not a NumPy array of numbers.");
            arrays_.push_back(std::move(taken));
        }
    }
    template <class Object> void read(Object &object) {
        const Layout layout = layout_of(object);
        if (arrays_.size() != layout.columns + 1)
            refuse(std::to_string(layout.columns + 1) + " arrays are needed. Got " + std::to_string(arrays_.size()) + ".");
        const auto [numbers, count] = next<std::int64_t>();
        if (count != layout.numbers + 1 || numbers[count - 1] != layout.id())
            refuse("The arrays were written by another version of treelet, or belong to another kind of object.");
        numbers_ = numbers;
        each_part(object, *this);
    }
    template <class T> void operator()(Column<T> &column) {
        const auto [data, size] = next<T>();
        column.view(data, size);
    }
    template <class T> void operator()(Segmented<T> &column) {
        const auto [data, size] = next<T>();
        column.view(data, size);
    }
    template <class T>
        requires std::is_arithmetic_v<T>
    void operator()(T &number) {
        number = static_cast<T>(*numbers_++);
    }

    // Keeps the arrays alive. The last owner may be a thread that does not hold the GIL.
    std::shared_ptr<const void> memory() {
        return {new std::vector<AnyArray>(std::move(arrays_)), [](std::vector<AnyArray> *arrays) {
                    if (!nb::is_alive()) return;
                    WithGil gil;
                    delete arrays;
                }};
    }

  private:
    static std::string name(std::size_t number) { return "array " + std::to_string(number); }
    template <class T> std::pair<const T *, std::size_t> next() {
        const std::size_t number = taken_++;
        const AnyArray &array = arrays_[number];
        if (array.ndim() != 1 || (array.shape(0) > 1 && array.stride(0) != 1))
            refuse(name(number) + " is not one-dimensional and contiguous.");
        if (array.dtype() != nb::dtype<ItemOf<T>>()) refuse(name(number) + " has the wrong dtype.");
        const std::size_t bytes = array.shape(0) * sizeof(ItemOf<T>);
        if (bytes % sizeof(T) != 0)
            refuse(name(number) + " has " + std::to_string(bytes) + " bytes, which is not a multiple of " +
                   std::to_string(sizeof(T)) + ".");
        if (bytes > 0 && reinterpret_cast<std::uintptr_t>(array.data()) % 8 != 0)
            refuse(name(number) + " is not aligned to 8 bytes.");
        return {static_cast<const T *>(array.data()), bytes / sizeof(T)};
    }

    std::vector<AnyArray> arrays_;
    std::size_t taken_ = 0;
    const std::int64_t *numbers_ = nullptr;
};

// Checks of an object and all objects in it that read only the ends of columns.
template <class Object> bool all_consistent(const Object &object) {
    if constexpr (requires { object.consistent(); })
        if (!object.consistent()) return false;
    if constexpr (requires { Object::parts(object); })
        return std::apply([](const auto &...part) { return (all_consistent(part) && ...); }, Object::parts(object));
    return true;
}
template <class Object> void check_consistent(const Object &object) {
    if (!all_consistent(object)) refuse("The arrays do not fit together.");
}

} // namespace treelet::python
