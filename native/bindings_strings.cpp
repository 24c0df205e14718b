// Python bindings of the distance between sequences of ids.
#include "bindings.hpp"
#include "string_distance.hpp"
#include <numeric>

namespace treelet::python {

namespace {

using Sequences = std::vector<std::span<const Id>>;

// Sequences of 32-bit numbers. The bytes must outlive them.
Sequences sequences(const std::vector<nb::bytes> &items) {
    Sequences made;
    for (const nb::bytes &item : items) {
        if (item.size() % sizeof(Id)) refuse("a sequence must consist of 32-bit numbers");
        made.emplace_back(static_cast<const Id *>(item.data()), item.size() / sizeof(Id));
    }
    return made;
}

// Fills the rows of the sequences that fit a word, from `next` on. `order` contains the rows by length.
template <class Word> void short_rows(const Sequences &rows, const std::vector<std::size_t> &order, std::size_t &next,
                                      const Sequences &columns, double *out, Pulse &pulse) {
    using Patterns = ShortPatterns<Word>;
    while (next < order.size() && rows[order[next]].size() <= Patterns::longest) {
        Sequences group;
        const std::size_t begin = next;
        while (next < order.size() && group.size() < Patterns::most && rows[order[next]].size() <= Patterns::longest)
            group.push_back(rows[order[next++]]);
        const Patterns patterns(group);
        for (std::size_t column = 0; column < columns.size(); ++column)
            patterns.distances(columns[column], pulse, [&](std::size_t i, std::size_t distance) {
                out[order[begin + i] * columns.size() + column] = static_cast<double>(distance);
            });
    }
}

void all_rows(const Sequences &rows, const Sequences &columns, std::optional<std::size_t> limit, double *out, Pulse &pulse) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::size_t next = 0;
    if (!limit) {
        std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return rows[i].size() < rows[j].size(); });
        short_rows<std::uint8_t>(rows, order, next, columns, out, pulse);
        short_rows<std::uint16_t>(rows, order, next, columns, out, pulse);
        short_rows<std::uint32_t>(rows, order, next, columns, out, pulse);
        short_rows<std::uint64_t>(rows, order, next, columns, out, pulse);
    }
    for (; next < order.size(); ++next) {
        const StringPattern pattern(rows[order[next]]);
        double *row = out + order[next] * columns.size();
        for (const auto &column : columns)
            *row++ = static_cast<double>(limit ? pattern.distance(column, *limit, pulse) : pattern.distance(column, pulse));
        pulse.add(8 * (pattern.size() + columns.size()));
    }
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> string_distances(const std::vector<nb::bytes> &a, const std::vector<nb::bytes> &b,
                                                             std::optional<std::size_t> limit, bool normalized) {
    const Sequences rows = sequences(a), columns = sequences(b);
    auto *values = new std::vector<double>();
    nb::capsule owner(values, [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
    {
        WithoutGil without;
        Pulse pulse;
        resize(*values, rows.size() * columns.size(), pulse);
        all_rows(rows, columns, limit, values->data(), pulse);
        double *value = values->data();
        if (normalized)
            for (const auto &row : rows)
                for (const auto &column : columns)
                    *value++ /= static_cast<double>(std::max({row.size(), column.size(), std::size_t{1}}));
    }
    return {values->data(), {rows.size(), columns.size()}, owner};
}

} // namespace

void bind_strings(nb::module_ &m) {
    m.def("string_distances", &string_distances, "a"_a, "b"_a, "limit"_a = nb::none(), "normalized"_a = false,
          "Levenshtein distances of all pairs of sequences of 32-bit numbers. A distance above the limit is given as limit + 1. "
          "A normalized distance is divided by the larger length.");
}

} // namespace treelet::python
