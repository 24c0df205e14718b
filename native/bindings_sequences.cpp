// Python bindings of the kernels between sequences.
#include "bindings_columns.hpp"
#include "tagging.hpp"

namespace treelet::python {

template <> struct Make<TaggingColumns> {
    template <class Num> static auto columns(Targets t, double lam) {
        return std::make_unique<TaggingColumns<Num>>(std::move(t), as_parameter<Num>(lam, 0));
    }
};

void bind_sequences(nb::module_ &m) {
    bind_columns<TaggingColumns, double>(m, "TaggingColumns", "Columns of a tagging-kernel matrix.", "lam"_a);
}

} // namespace treelet::python
