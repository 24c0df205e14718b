// Products of counts: the additions for rare keys. Frequent keys use a dense matrix product.
#include "common.cuh"

// One block per entry (row, key): adds to the columns that contain the key.
KERNEL rare_keys(const int *__restrict__ row, const int *__restrict__ key, const double *__restrict__ weight,
                 const long long *__restrict__ column_at, const int *__restrict__ column, const double *__restrict__ column_weight,
                 double *__restrict__ out, long long width, long long first_row, long long halves, double scale) {
    const long long i = block();
    const int k = key[i], last = row[i];
    double *const to = out + (last - first_row) * width;
    const double weighted = scale * weight[i];
    for (long long at = column_at[k] + thread(); at < column_at[k + 1]; at += threads()) {
        if (halves && column[at] > last) break;
        add(to + column[at], weighted * column_weight[at]);
    }
}

// out += scale * product. Rows of `out` are `width` apart, rows of `product` are `from_width` apart.
KERNEL add_scaled(double *__restrict__ out, long long width, const float *__restrict__ product, long long from_width,
                  long long rows, long long columns, double scale) {
    const long long i = item();
    if (i >= rows * columns) return;
    out[i / columns * width + i % columns] += scale * product[i / columns * from_width + i % columns];
}

template <class T> DEVICE void mirror_columns(T *matrix, long long width, long long begin, long long end) {
    const long long i = item(), row = i / (end - begin), column = begin + i % (end - begin);
    if (row < column) matrix[row * width + column] = matrix[column * width + row];
}

// Copies columns begin..end of the upper half from the lower half, with one thread per cell of the rows before `end`.
KERNEL mirror(double *matrix, long long width, long long begin, long long end) { mirror_columns(matrix, width, begin, end); }
KERNEL mirror_single(float *matrix, long long width, long long begin, long long end) { mirror_columns(matrix, width, begin, end); }
