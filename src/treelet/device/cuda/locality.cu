// Windows with the same middle: the contribution of the pairs of equal features other than the two middles.
//
//   by position   alone * (product of (1 + near[distance]) - 1)
//   otherwise     alone * sum of near[distance]
//
// over pairs whose positions in the two windows are less than `span` apart. The contribution of the middles is a product of counts,
// which is computed elsewhere. A window is stored as the position of its middle in an array of features, and the number of features
// to the left and to the right.
#include "adding.cuh"

// A block processes one row window, and `columns_a_thread` column windows with the same middle per thread.
KERNEL windows_beside(const long long *__restrict__ chunk, long long parts, const int *__restrict__ part,
                      const int *__restrict__ kind, const int *__restrict__ feature, const long long *__restrict__ middle,
                      const int *__restrict__ left, const int *__restrict__ right, const int *__restrict__ column_first,
                      const int *__restrict__ limit, const int *__restrict__ column_feature,
                      const long long *__restrict__ column_middle, const int *__restrict__ column_left,
                      const int *__restrict__ column_right, const double *__restrict__ near, long long span, long long product,
                      double alone, const long long *__restrict__ held_at, const int *__restrict__ held_row,
                      const double *__restrict__ held_weight, const long long *__restrict__ post_at,
                      const int *__restrict__ post_column, const double *__restrict__ post_weight, double *__restrict__ out,
                      long long width, long long first_row, long long halves) {
    const Holders holders{held_at, held_row, held_weight, post_at, post_column, post_weight, out, width, first_row, halves != 0};
    const long long u = owner(chunk, 0, parts, block());
    const int window = part[u], left_end = -left[window], right_end = right[window], apart = static_cast<int>(span) - 1;
    const int *const mine = feature + middle[window];
    const int begin = static_cast<int>((block() - chunk[u]) * threads()) * columns_a_thread + thread();
    for (int r = 0; r < columns_a_thread; ++r) {
        const int k = begin + r * threads(), v = column_first[kind[u]] + k;
        double inner = 0;
        if (k < limit[kind[u]]) {
            const int *const theirs = column_feature + column_middle[v];
            for (int l = -column_left[v]; l <= column_right[v]; ++l) {
                const int other = theirs[l];
                const int from = l - apart > left_end ? l - apart : left_end, to = l + apart < right_end ? l + apart : right_end;
                for (int m = from; m <= to; ++m)
                    if (mine[m] == other && (m != 0 || l != 0)) inner += near[m < l ? l - m : m - l] * (product ? inner + 1 : 1);
            }
        }
        add_to_holders(holders, u, v, alone * inner);
    }
}
