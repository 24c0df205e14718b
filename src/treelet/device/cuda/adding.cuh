// From the value of two parts to the values of all examples that hold them.
#pragma once
#include "common.cuh"

constexpr int columns_a_thread = 4; // where a thread works on several: what is known of the row serves them all

// Which rows hold a row's part, and which columns a column's part, how often.
struct Holders {
    const long long *__restrict__ row_at;
    const int *__restrict__ row;
    const double *__restrict__ row_weight;
    const long long *__restrict__ column_at;
    const int *__restrict__ column;
    const double *__restrict__ column_weight;
    double *__restrict__ out; // rows from `first_row` on, `width` apart
    long long width, first_row;
    bool halves; // of row i only columns 0..i
};

// Adds `value` wherever row part u and column part v are held. All threads of a warp must come here, some with the value 0: where
// many columns hold v, the warp works on them together.
DEVICE void add_to_holders(const Holders &h, long long u, long long v, double value) {
    const long long most = 4 * lanes;
    long long first = 0, last = 0;
    if (value != 0) first = h.column_at[v], last = h.column_at[v + 1];
    const long long rows = h.row_at[u + 1] - h.row_at[u];
    const bool many = lanes > 1 && (last - first) * rows > most;
    if (!many)
        for (long long o = h.row_at[u]; o < h.row_at[u + 1] && first < last; ++o) {
            double *const to = h.out + (h.row[o] - h.first_row) * h.width;
            const double weighted = value * h.row_weight[o];
            for (long long k = first; k < last && !(h.halves && h.column[k] > h.row[o]); ++k)
                add(to + h.column[k], weighted * h.column_weight[k]);
        }
    for (unsigned left = votes(many); left != 0; left &= left - 1) {
        const int lane = first_of(left);
        const long long u_ = shared_by(lane, u), first_ = shared_by(lane, first), last_ = shared_by(lane, last);
        const double value_ = shared_by(lane, value);
        for (long long o = h.row_at[u_]; o < h.row_at[u_ + 1]; ++o) {
            double *const to = h.out + (h.row[o] - h.first_row) * h.width;
            const double weighted = value_ * h.row_weight[o];
            for (long long k = first_ + thread() % lanes; k < last_ && !(h.halves && h.column[k] > h.row[o]); k += lanes)
                add(to + h.column[k], weighted * h.column_weight[k]);
        }
    }
}
