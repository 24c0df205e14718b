// Pieces of tag sequences in common: R(u,v) is what the pieces at the beginning of two suffixes give that have `tags` tags or more,
//
//   R(u,v) = f_0 * (f_1 * .. * f_(tags-1) + R(next of u, next of v)),   f_i = lam * (1 + [same word at place i])
//
// for suffixes that begin with the same tags, else 0. Shorter pieces are products of counts, made elsewhere.
#include "adding.cuh"

// A block works on one row suffix and `threads` columns that begin with its tags; those of shorter suffixes are known.
KERNEL tags_level(const long long *__restrict__ chunk, long long first, long long last, const int *__restrict__ node,
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
    const int mine = kind[u], k = static_cast<int>((at - chunk[u]) * threads()) + thread(), v = column_first[mine] + k;
    double value = 0;
    if (k < limit[mine]) {
        const int own = node[u], after = next[own];
        value = 1;
        for (long long i = 1; i < tags; ++i) value *= word[i * nodes + own] == column_word[i * columns + v] ? lam + lam : lam;
        if (after >= 0) { // it is of some kind, but perhaps not of that of the column's next
            const int there = local[after], at_next = column_next[v] - column_first[kind[there]];
            if (at_next >= 0 && at_next < column_size[kind[there]]) value += R[row_at[there] + at_next];
        }
        value *= word[own] == column_word[v] ? lam + lam : lam;
        R[row_at[u] + k] = value;
    }
    add_to_holders(holders, u, v, value);
}
