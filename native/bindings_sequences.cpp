// Python bindings of the kernels between sequences.
#include "bindings_columns.hpp"
#include "subsequence.hpp"
#include "tagging.hpp"

namespace treelet::python {

template <> struct ParametersOf<TaggingColumns> {
    template <class Num> static auto of(double lam) { return std::tuple(as_parameter<Num>(lam, 0)); }
};

// Types as (label, reach, weight).
using Types = std::vector<std::tuple<Id, Id, double>>;

template <> struct ParametersOf<LocalityColumns> {
    template <class Num> static auto of(Types types, int match, double theta) {
        std::vector<SequenceType> made;
        for (const auto &[label, reach, weight] : types) {
            if (label < 0 || reach < 0) refuse("a type needs a label and a reach of at least 0");
            made.push_back({label, reach, weight});
        }
        if (match < 0 || match > 2) refuse("match must be 0, 1 or 2");
        return std::tuple(std::move(made), static_cast<Match>(match), theta);
    }
};
template <> struct ParametersOf<SubsequenceColumns> {
    template <class Num> static auto of(double lam, Id length) {
        if (length < 1) refuse("a subsequence needs at least one feature");
        return std::tuple(as_parameter<Num>(lam, 0), length);
    }
};

void bind_sequences(nb::module_ &m) {
    bind_columns<TaggingColumns, double>(m, "TaggingColumns", "Columns of a tagging-kernel matrix.", "lam"_a);
    bind_columns<LocalityColumns, Types, int, double>(m, "LocalityColumns", "Columns of a locality-convolution matrix.", "types"_a,
                                                      "match"_a, "theta"_a);
    bind_columns<SubsequenceColumns, double, Id>(m, "SubsequenceColumns", "Columns of a gap-weighted subsequence matrix.", "lam"_a,
                                                 "length"_a);
}

} // namespace treelet::python
