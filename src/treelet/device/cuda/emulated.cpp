// The device code as a library for the CPU. Kernels are launched by name, as on a GPU, and their parameter types are checked.
#include "counts.cu"
#include "hyperedges.cu"
#include "locality.cu"
#include "partial_tree.cu"
#include "subsequence.cu"
#include "tagging.cu"
#include <cstring>
#include <utility>

namespace {

// One letter per parameter; see launching.py.
template <class T> constexpr char letter = '?';
template <> constexpr char letter<int> = 'i';
template <> constexpr char letter<long long> = 'l';
template <> constexpr char letter<float> = 'f';
template <> constexpr char letter<double> = 'd';
template <class T> constexpr char letter<T *> = static_cast<char>(letter<T> - 'a' + 'A');
template <class T> constexpr char letter<const T *> = letter<T *>;

template <class... P> int start(void (*kernel)(P...), long long blocks, int threads, const char *given, void **values) {
    const char wanted[] = {letter<P>..., 0};
    if (std::strcmp(wanted, given) != 0) return 2;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        for (here = {0, 0, threads}; here.block < blocks; ++here.block)
            for (here.thread = 0; here.thread < threads; ++here.thread) kernel(*static_cast<P *>(values[I])...);
    }(std::index_sequence_for<P...>());
    return 0;
}

} // namespace

#define CASE(kernel)                                                                                                               \
    if (std::strcmp(name, #kernel) == 0) return start(kernel, blocks, threads, given, values)

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

// Returns 0 on success, 1 if the kernel is unknown, and 2 if its parameters have other types.
extern "C" EXPORTED int treelet_launch(const char *name, long long blocks, int threads, const char *given, void **values) {
    CASE(rare_keys);
    CASE(add_scaled);
    CASE(mirror);
    CASE(mirror_single);
    CASE(trees_level);
    CASE(forests_level);
    CASE(tags_level);
    CASE(windows_beside);
    CASE(subsequences);
    CASE(group_masks);
    CASE(partial_trees_level);
    CASE(partial_trees_wide);
    CASE(partial_trees_rows);
    CASE(partial_trees_columns);
    return 1;
}
