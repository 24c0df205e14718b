// Adds the value of two parts to the values of all pairs of examples that contain them.
#pragma once
#include "common.cuh"

constexpr int columns_a_thread = 4; // of kernels whose threads process several columns, to reuse the data of the row

// The rows that contain each part of rows, and the columns that contain each part of columns, with weights.
struct Holders {
    const long long *__restrict__ row_at;
    const int *__restrict__ row;
    const double *__restrict__ row_weight;
    const long long *__restrict__ column_at;
    const int *__restrict__ column;
    const double *__restrict__ column_weight;
    double *__restrict__ out; // starts at row `first_row`; rows are `width` apart
    long long width, first_row;
    bool halves; // row i has only columns 0..i
};

// Adds `value` to all pairs of a row that contains part u and a column that contains part v. All threads of a warp must call this
// function, some with the value 0. If many columns contain v, the whole warp processes them together.
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
