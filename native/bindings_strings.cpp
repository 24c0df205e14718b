// Python bindings of the distance between sequences of ids.
#include "bindings.hpp"
#include "string_distance.hpp"

namespace treelet::python {

namespace {

// Sequence i is symbols[ends[i - 1]..ends[i]].
std::vector<std::span<const Id>> sequences(const IdArray &symbols, const LongArray &ends) {
    std::vector<std::span<const Id>> made;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.shape(0); ++i) {
        const std::int64_t end = ends.data()[i];
        if (end < begin || end > static_cast<std::int64_t>(symbols.shape(0))) refuse("ends out of range");
        made.emplace_back(symbols.data() + begin, static_cast<std::size_t>(end - begin));
        begin = end;
    }
    if (begin != static_cast<std::int64_t>(symbols.shape(0))) refuse("symbols after the last sequence");
    return made;
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> string_distances(IdArray symbols, LongArray ends, IdArray other_symbols,
                                                             LongArray other_ends, std::optional<std::int64_t> limit) {
    if (limit && *limit < 0) refuse("limit must be at least 0");
    const auto rows = sequences(symbols, ends), columns = sequences(other_symbols, other_ends);
    auto *values = new std::vector<double>();
    nb::capsule owner(values, [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
    {
        WithoutGil without;
        Pulse pulse;
        resize(*values, rows.size() * columns.size(), pulse);
        double *out = values->data();
        for (const auto &row : rows) {
            const StringPattern pattern(row);
            for (const auto &column : columns)
                *out++ = static_cast<double>(limit ? pattern.distance(column, static_cast<std::size_t>(*limit), pulse)
                                                   : pattern.distance(column, pulse));
            pulse.add(8 * (row.size() + columns.size()));
        }
    }
    return {values->data(), {rows.size(), columns.size()}, owner};
}

} // namespace

void bind_strings(nb::module_ &m) {
    m.def("string_distances", &string_distances, "symbols"_a, "ends"_a, "other_symbols"_a, "other_ends"_a, "limit"_a = nb::none(),
          "Levenshtein distances of all pairs of sequences of ids. A distance above the limit is given as limit + 1.");
}

} // namespace treelet::python
