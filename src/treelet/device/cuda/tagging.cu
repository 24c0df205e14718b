// Pieces that two tag sequences share. R(u,v) is the sum over pieces of at least `tags` tags at the beginning of two suffixes,
//
//   R(u,v) = f_0 * (f_1 * .. * f_(tags-1) + R(next of u, next of v)),   f_i = lam * (1 + [same word at position i])
//
// if the suffixes start with the same tags, and 0 otherwise. Shorter pieces are products of counts, which are computed elsewhere.
#include "adding.cuh"

// A block processes one row suffix, and `columns_a_thread` columns per thread that start with the same tags. The values of shorter
// suffixes are already known.
KERNEL tags_level(long long first, long long last, const long long *__restrict__ chunk, const int *__restrict__ node,
                  const int *__restrict__ next, const int *__restrict__ local, const int *__restrict__ kind,
                  const long long *__restrict__ row_at, const int *__restrict__ word, long long nodes,
                  const int *__restrict__ column_first, const int *__restrict__ column_size, const int *__restrict__ limit,
                  const int *__restrict__ column_next, const int *__restrict__ column_word, long long columns, long long tags,
                  double *__restrict__ R, const long long *__restrict__ held_at, const int *__restrict__ held_row,
                  const double *__restrict__ held_weight, const long long *__restrict__ post_at,
                  const int *__restrict__ post_column, const double *__restrict__ post_weight, double *__restrict__ out,
                  long long width, long long first_row, long long halves, double lam) {
    const Holders holders{held_at, held_row, held_weight, post_at, post_column, post_weight, out, width, first_row, halves != 0};
    const long long at = chunk[first] + block(), u = owner(chunk, first, last, at);
    const int mine = kind[u], begin = static_cast<int>((at - chunk[u]) * threads()) * columns_a_thread + thread();
    const int own = node[u], after = next[own], end = limit[mine];
    const double *known = R; // values of the next suffix, if there is one, with the columns of its kind
    int next_first = 0, next_size = 0;
    if (after >= 0) {
        const int there = local[after];
        known += row_at[there], next_first = column_first[kind[there]], next_size = column_size[kind[there]];
    }
    double value[columns_a_thread];
    for (int r = 0; r < columns_a_thread; ++r) value[r] = begin + r * threads() < end ? 1 : 0;
    for (long long i = 1; i < tags; ++i) {
        const int mine_there = word[i * nodes + own], *const theirs = column_word + i * columns + column_first[mine];
        for (int r = 0; r < columns_a_thread; ++r)
            if (begin + r * threads() < end) value[r] *= theirs[begin + r * threads()] == mine_there ? lam + lam : lam;
    }
    for (int r = 0; r < columns_a_thread; ++r) {
        const int k = begin + r * threads(), v = column_first[mine] + k;
        if (k < end) {
            const int place = column_next[v] - next_first; // the next suffix of the column may be of another kind
            if (place >= 0 && place < next_size) value[r] += known[place];
            value[r] *= word[own] == column_word[v] ? lam + lam : lam;
            R[row_at[u] + k] = value[r];
        }
        add_to_holders(holders, u, v, value[r]);
    }
}
