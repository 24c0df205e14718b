// Partial trees that two trees share.
//
//   Delta(u,v) = mu (lam^2 + S(u,v))       for nodes with the same label; mu lam^2 times the terminal factor if one has no children
//   S(u,v)     = sum over child subsequences of equal length of lam^(children skipped) * prod Delta
//
// The part that does not depend on S is a product of counts, which is computed elsewhere. This file stores D = mu S, dense over the
// columns with the label of a row node. The sums of D over the parts of a row, then of a column, are the rest of the matrix. S
// takes one pass over the pairs of children: child `o` of one node with all children `i` of the other, for each `o` in order:
//
//   s(o,i) = Delta(o,i) (1 + T(o-1,i-1)),  E(o,i) = lam E(o,i-1) + s(o,i),  T(o,i) = lam T(o-1,i) + E(o,i),  S = sum of all s.
#include "common.cuh"

constexpr int few = 32; // maximum number of children of one of the two nodes for which each thread stores T itself

// A hash of a child's label as one of 64 bits. Nodes whose children share no bit share no label.
DEVICE unsigned long long bit_of(int label) { return 1ull << ((static_cast<unsigned>(label) * 2654435769u) >> 26); }

// Columns with the same label, generation and production form a group.
KERNEL group_masks(long long groups, const long long *__restrict__ label_at, const int *__restrict__ label,
                   long long *__restrict__ mask) {
    const long long g = item();
    if (g >= groups) return;
    unsigned long long bits = 0;
    for (long long i = label_at[g]; i < label_at[g + 1]; ++i) bits |= bit_of(label[i]);
    mask[g] = static_cast<long long>(bits);
}

struct RowChild { // a child of a row node
    int label;
    long long at; // index of its first value of D; -1 if it has none
};

struct RowNodes {
    const int *__restrict__ node; // part -> node
    const long long *__restrict__ child_start;
    const int *__restrict__ child;
    const int *__restrict__ label;     // node -> label
    const int *__restrict__ node_kind; // node -> number of its label among those of the columns; -1 if it has no D
    const int *__restrict__ local;     // node -> part
    const long long *__restrict__ at;  // part -> index of its first value of D
};

DEVICE int arity_of(const RowNodes &rows, long long u) {
    return static_cast<int>(rows.child_start[rows.node[u] + 1] - rows.child_start[rows.node[u]]);
}
DEVICE RowChild child_of(const RowNodes &rows, long long u, int i) {
    const int c = rows.child[rows.child_start[rows.node[u]] + i];
    return {rows.label[c], rows.node_kind[c] < 0 ? -1 : rows.at[rows.local[c]]};
}

struct ColumnChild { // a child of a column: its label, and its index among the columns of that label, -1 if it has no children
    int label, place;
};

struct ColumnNodes {
    const int *__restrict__ first; // kind -> its first column
    const int *__restrict__ node;  // column -> node
    const int *__restrict__ group; // column -> group
    const int *__restrict__ arity; // per group, like the next two
    const int *__restrict__ size;
    const long long *__restrict__ mask;
    const long long *__restrict__ label_at; // group -> index of the labels of its children
    const int *__restrict__ label;
    const long long *__restrict__ kid_at; // column -> index of its first child; the next ones follow at steps of the group size
    const int *__restrict__ kid;
};

DEVICE ColumnChild child_of(const ColumnNodes &columns, long long v, int g, int j) {
    return {columns.label[columns.label_at[g] + j], columns.kid[columns.kid_at[v] + static_cast<long long>(j) * columns.size[g]]};
}

struct Deltas {
    const double *__restrict__ D; // values of lower levels
    double lam, mu, constant, terminal;
};

// Returns Delta of two children, which is 0 if their labels differ.
DEVICE double delta(const Deltas &values, const RowChild &mine, const ColumnChild &theirs) {
    if (mine.label != theirs.label) return 0;
    return mine.at < 0 || theirs.place < 0 ? values.terminal : values.constant + values.D[mine.at + theirs.place];
}

// Returns S, with T stored by the thread; `inner` is at most N. line(o) is child o of one node, and met(line, i) its Delta with
// child i of the other.
template <int N, class Line, class Met> DEVICE double sum_of(int outer, int inner, double lam, Line line, Met met) {
    double T[N], total = 0;
    for (int i = 0; i < (N < few ? N : inner); ++i) T[i] = 0;
    for (int o = 0; o < outer; ++o) {
        const auto own = line(o);
        double E = 0, left = 0;
        for (int i = 0; i < (N < few ? N : inner); ++i) { // unrolled if N is small, to keep T in registers
            if (i >= inner) break;
            const double s = met(own, i) * (1 + left);
            total += s;
            E = lam * E + s;
            left = T[i];
            T[i] = lam * left + E;
        }
    }
    return total;
}

// Returns S for two wide nodes, computed by a warp. Each lane has one child of the column, and is one child of the row behind the
// previous lane. `memory` passes the results of the last lane to the first lane, which uses them for the next children of the
// column. Only the first lane accesses `memory`.
DEVICE double sum_of_wide(const RowNodes &rows, long long u, const ColumnNodes &columns, long long v, int g, const Deltas &values,
                          double *memory) {
    const int lane = thread() % lanes, mine = arity_of(rows, u), theirs = columns.arity[g];
    double total = 0;
    for (int from = 0; from < theirs; from += lanes) {
        const bool there = from + lane < theirs;
        const ColumnChild kid = there ? child_of(columns, v, g, from + lane) : ColumnChild{-1, -1};
        double T = 0, E = 0, left = 0;
        for (int step = 0; step < mine + lanes - 1; ++step) {
            const int i = step - lane;
            double before = shared_by(lane > 0 ? lane - 1 : 0, T);
            if (i >= 0 && i < mine) {
                if (lane == 0) before = from > 0 ? memory[i] : 0;
                const double s = there ? delta(values, child_of(rows, u, i), kid) * (1 + left) : 0;
                total += s;
                E = values.lam * E + s;
                T = values.lam * before + E;
                left = before;
            }
            const double end = shared_by(lanes - 1, T);
            const int done = step - (lanes - 1);
            if (lane == 0 && done >= 0) memory[done] = end;
        }
    }
    double sum = 0;
    for (int other = 0; other < lanes; ++other) sum += shared_by(other, total);
    return sum;
}

// Processes chunks `at .. end` of the columns of one row node. N children are in registers or, if N is `few`, in local memory.
template <int N> DEVICE void sweep(const RowNodes &rows, long long u, int kind, long long at, long long end, long long chunk,
                                   const ColumnNodes &columns, int limit, long long last_node, const Deltas &values,
                                   double *__restrict__ D) {
    const int mine = arity_of(rows, u);
    RowChild child[N];
    unsigned long long mask = mine > N ? ~0ull : 0;
    for (int i = 0; i < (N < few ? N : mine) && mine <= N; ++i) {
        if (i >= mine) break;
        child[i] = child_of(rows, u, i);
        mask |= bit_of(child[i].label);
    }
    for (; at < end; ++at) {
        const int k = static_cast<int>((at - chunk) * threads()) + thread();
        const long long v = columns.first[kind] + k;
        if (k >= limit || columns.node[v] > last_node) continue;
        const int g = columns.group[v];
        double sum = 0;
        if ((mask & static_cast<unsigned long long>(columns.mask[g])) != 0) {
            const int theirs = columns.arity[g];
            if (mine <= N)
                sum = sum_of<N>(
                    theirs, mine, values.lam, [&](int j) { return child_of(columns, v, g, j); },
                    [&](const ColumnChild &kid, int i) { return delta(values, child[i], kid); });
            else if (theirs <= N)
                sum = sum_of<N>(
                    mine, theirs, values.lam, [&](int i) { return child_of(rows, u, i); },
                    [&](const RowChild &own, int j) { return delta(values, own, child_of(columns, v, g, j)); });
            else
                continue;
        }
        D[rows.at[u] + k] = values.mu * sum;
    }
}

// A block processes `run` chunks. A chunk is one row node, and as many columns with its label as the block has threads. Columns
// whose node exceeds `last_node` are skipped. Pairs in which both nodes have more than `few` children are left out.
KERNEL partial_trees_level(long long first, long long last, long long run, const long long *__restrict__ chunk,
                           const int *__restrict__ node, const long long *__restrict__ child_start, const int *__restrict__ child,
                           const int *__restrict__ label, const int *__restrict__ node_kind, const int *__restrict__ local,
                           const int *__restrict__ kind, const long long *__restrict__ row_at, const int *__restrict__ column_first,
                           const int *__restrict__ limit, const int *__restrict__ column_node, const int *__restrict__ group,
                           const int *__restrict__ arity, const int *__restrict__ size, const long long *__restrict__ mask,
                           const long long *__restrict__ label_at, const int *__restrict__ group_label,
                           const long long *__restrict__ kid_at, const int *__restrict__ kid, double *__restrict__ D,
                           const double *__restrict__ below, long long last_node, double lam, double mu, double constant,
                           double terminal) {
    const RowNodes rows{node, child_start, child, label, node_kind, local, row_at};
    const ColumnNodes columns{column_first, column_node, group, arity, size, mask, label_at, group_label, kid_at, kid};
    const Deltas values{below, lam, mu, constant, terminal};
    long long at = chunk[first] + block() * run;
    const long long end = at + run < chunk[last] ? at + run : chunk[last];
    for (long long u = owner(chunk, first, last, at); at < end; ++u) {
        const long long stop = chunk[u + 1] < end ? chunk[u + 1] : end;
        const int mine = arity_of(rows, u), most = limit[kind[u]];
        if (mine <= 2)
            sweep<2>(rows, u, kind[u], at, stop, chunk[u], columns, most, last_node, values, D);
        else if (mine <= 4)
            sweep<4>(rows, u, kind[u], at, stop, chunk[u], columns, most, last_node, values, D);
        else
            sweep<few>(rows, u, kind[u], at, stop, chunk[u], columns, most, last_node, values, D);
        at = stop;
    }
}

// Processes the pairs that were left out, with one warp per pair: the first `lanes` threads of a block. `pair` is the index of the
// first pair of each wide row node, and `wide` lists the wide columns of each kind.
KERNEL partial_trees_wide(long long first, long long last, long long blocks, const long long *__restrict__ pair,
                          const long long *__restrict__ part, const long long *__restrict__ wide_at,
                          const long long *__restrict__ wide, double *__restrict__ memory, long long memory_each,
                          const int *__restrict__ node, const long long *__restrict__ child_start, const int *__restrict__ child,
                          const int *__restrict__ label, const int *__restrict__ node_kind, const int *__restrict__ local,
                          const int *__restrict__ kind, const long long *__restrict__ row_at, const int *__restrict__ column_first,
                          const int *__restrict__ limit, const int *__restrict__ column_node, const int *__restrict__ group,
                          const int *__restrict__ arity, const int *__restrict__ size, const long long *__restrict__ mask,
                          const long long *__restrict__ label_at, const int *__restrict__ group_label,
                          const long long *__restrict__ kid_at, const int *__restrict__ kid, double *__restrict__ D,
                          const double *__restrict__ below, long long last_node, double lam, double mu, double constant,
                          double terminal) {
    const RowNodes rows{node, child_start, child, label, node_kind, local, row_at};
    const ColumnNodes columns{column_first, column_node, group, arity, size, mask, label_at, group_label, kid_at, kid};
    const Deltas values{below, lam, mu, constant, terminal};
    if (thread() >= lanes) return;
    for (long long p = pair[first] + block(); p < pair[last]; p += blocks) {
        const long long w = owner(pair, first, last, p), u = part[w];
        const long long v = wide[wide_at[kind[u]] + p - pair[w]], k = v - column_first[kind[u]];
        if (k >= limit[kind[u]] || column_node[v] > last_node) continue;
        const double sum = sum_of_wide(rows, u, columns, v, group[v], values, memory + block() * memory_each);
        if (thread() == 0) D[row_at[u] + k] = mu * sum;
    }
}

// G(r,v) = sum over the parts u of example r of the weight of u times D(u,v). A block has one row and adjacent columns. The entries
// of a row are ordered by kind.
KERNEL partial_trees_rows(long long first, long long last_node, long long blocks_a_row, long long columns,
                          const long long *__restrict__ entry_start, const int *__restrict__ entry_kind,
                          const long long *__restrict__ entry_at, const double *__restrict__ weight,
                          const int *__restrict__ column_kind, const int *__restrict__ column_first,
                          const int *__restrict__ column_node, const double *__restrict__ D, double *__restrict__ G) {
    const long long r = block() / blocks_a_row, v = block() % blocks_a_row * threads() + thread();
    if (v >= columns || column_node[v] > last_node) return;
    const int kind = column_kind[v], k = static_cast<int>(v) - column_first[kind];
    long long e = entry_start[first + r];
    const long long end = entry_start[first + r + 1];
    for (long long above = end; e < above;) {
        const long long middle = (e + above) / 2;
        if (entry_kind[middle] < kind)
            e = middle + 1;
        else
            above = middle;
    }
    double sum = 0;
    for (; e < end && entry_kind[e] == kind; ++e) sum += weight[e] * D[entry_at[e] + k];
    G[r * columns + v] = sum;
}

constexpr int together = 4; // rows per thread

// K(r,c) += sum over the parts v of example c of the weight of v times G(r,v). A thread has `together` rows and one piece of the
// parts of a column; adjacent threads have adjacent pieces. With `halves`, only columns up to the row are computed.
KERNEL partial_trees_columns(long long rows, long long out_row, long long first_row, long long pieces,
                             const int *__restrict__ piece_column, const long long *__restrict__ piece_start,
                             const int *__restrict__ part, const double *__restrict__ weight, long long columns,
                             const double *__restrict__ G, double *__restrict__ out, long long width, long long halves) {
    const long long blocks_a_row = (pieces + threads() - 1) / threads();
    const long long r = block() / blocks_a_row * together, piece = block() % blocks_a_row * threads() + thread();
    if (piece >= pieces) return;
    const int column = piece_column[piece];
    const long long last = r + together < rows ? r + together : rows;
    if (halves && column >= first_row + last) return;
    double sum[together];
    for (int q = 0; q < together; ++q) sum[q] = 0;
    for (long long i = piece_start[piece]; i < piece_start[piece + 1]; ++i) {
        const double *const from = G + r * columns + part[i];
        for (int q = 0; q < together; ++q)
            if (r + q < last) sum[q] += weight[i] * from[q * columns];
    }
    for (int q = 0; q < together; ++q)
        if (r + q < last && !(halves && column > first_row + r + q)) add(out + (out_row + r + q) * width + column, sum[q]);
}
