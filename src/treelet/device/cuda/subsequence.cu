// Subsequences of `size` features that two sequences share. Each pair of occurrences is weighted by lam for each position that the
// occurrences span. Let S_p(i,k) be the sum over subsequences of p features in the first i and k positions, weighted as if they
// extended to the ends of these positions. Then
//
//   S_p(i,k) = lam * S_p(i-1,k) + sum over l <= k with equal features at i and l of lam^(k-l+2) * S_(p-1)(i-1,l-1),   S_0 = 1
//
// Rows of S without equal features only decay. They are skipped, and the decay is applied later.
#include "adding.cuh"

// A block processes one row sequence and `threads` columns of its type; the first block has the number `begin`. Each thread stores
// size - 1 rows of S, for the last i that had equal features. The rows of the threads of a block are interleaved.
KERNEL subsequences(long long begin, const long long *__restrict__ chunk, long long parts, const int *__restrict__ part,
                    const int *__restrict__ kind, const int *__restrict__ feature, const long long *__restrict__ start,
                    const int *__restrict__ column_first, const int *__restrict__ limit, const int *__restrict__ column_feature,
                    const long long *__restrict__ column_start, const int *__restrict__ column_node, double *__restrict__ scratch,
                    long long longest, long long size, double lam, const long long *__restrict__ held_at,
                    const int *__restrict__ held_row, const double *__restrict__ held_weight, const long long *__restrict__ post_at,
                    const int *__restrict__ post_column, const double *__restrict__ post_weight, double *__restrict__ out,
                    long long width, long long first_row, long long halves) {
    const Holders holders{held_at, held_row, held_weight, post_at, post_column, post_weight, out, width, first_row, halves != 0};
    const long long at = begin + block(), u = owner(chunk, 0, parts, at);
    const int number = static_cast<int>((at - chunk[u]) * threads()) + thread(), v = column_first[kind[u]] + number;
    double total = 0;
    if (number < limit[kind[u]]) {
        const long long first = start[part[u]], rows = start[part[u] + 1] - first, other = column_start[column_node[v]];
        const long long columns = column_start[column_node[v] + 1] - other, step = threads();
        const int *const theirs = column_feature + other;
        double *const S = scratch + block() * step * (size - 1) * longest + thread();
        const auto place = [=](long long p, long long k) { return step * ((p - 1) * longest + k); }; // index of S_p(., k + 1)
        for (long long p = 1; p < size; ++p)
            for (long long k = 0; k < columns; ++k) S[place(p, k)] = 0;
        const double square = lam * lam;
        double decay = 1; // from the last row with equal features to the previous row
        for (long long i = 0; i < rows; ++i) {
            const int mine = feature[first + i];
            long long met = 0;
            while (met < columns && theirs[met] != mine) ++met;
            if (met == columns) {
                decay *= lam;
                continue;
            }
            for (long long k = met; k < columns; ++k)
                if (theirs[k] == mine) total += square * (size == 1 ? 1 : k == 0 ? 0 : decay * S[place(size - 1, k - 1)]);
            for (long long p = size - 1; p > 0; --p) { // downward, because S_(p-1) of the previous row is needed
                double ends_here = 0;
                for (long long k = 0; k < columns; ++k) {
                    ends_here *= lam;
                    if (theirs[k] == mine) ends_here += square * (p == 1 ? 1 : k == 0 ? 0 : decay * S[place(p - 1, k - 1)]);
                    S[place(p, k)] = lam * decay * S[place(p, k)] + ends_here;
                }
            }
            decay = 1;
        }
    }
    add_to_holders(holders, u, v, total);
}
