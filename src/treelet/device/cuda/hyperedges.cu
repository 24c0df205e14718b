// Subset trees that two trees or forests share. A tree is a forest with one edge per node.
//
//   C(e1,e2) = lam * prod_q (1 + C(u_q, v_q))                            for edges of the same production
//   C(u,v)   = sum over the edges of u and v of p(e1) p(e2) C(e1,e2)      for nodes
//
// If no children share a production, C = lam. If one pair of children does and nothing below it, C = lam + lam p p' lam. Both cases
// are products of counts, which are computed elsewhere. This file stores D = C(e1,e2) - lam, dense over the columns with the
// production of a row edge, and adds the part of D that the counts do not cover to the examples.
#include "adding.cuh"

struct Child {            // a pair of children of two edges, at one position
    double value, linear; // C, and the part of C that is a product of counts
    bool deep;            // whether the two differ
};

struct Rows {
    const int *__restrict__ code;     // node -> its edge; -2 - production if that has no D; -1 if no column has the production
    const int *__restrict__ local;    // edge -> its number among the edges of these rows
    const int *__restrict__ kind;     // that number -> number of the production among those of the columns
    const long long *__restrict__ at; // that number -> index of the first value of D
};

struct Columns {
    const int *__restrict__ first; // production -> its first column
    const int *__restrict__ size;
};

// Children in trees: the codes of both nodes determine the value. The row is looked up once for several columns.
struct TreeChild {
    const int *__restrict__ kid; // codes of the columns' children at this position
    const double *__restrict__ D;
    int mine, first, size;
    double lam;

    DEVICE_MEMBER TreeChild(const Rows &rows, const Columns &columns, const double *values, int code, const int *codes, double lam_)
        : kid(codes), D(values), mine(code), first(0), size(0), lam(lam_) {
        if (mine < 0) return;
        const int u = rows.local[mine], kind = rows.kind[u];
        first = columns.first[kind], size = columns.size[kind], D += rows.at[u];
    }
    DEVICE_MEMBER Child operator()(int v) const {
        const int theirs = kid[v];
        if (mine <= -2) return mine == theirs ? Child{lam, lam, false} : Child{0, 0, false};
        const int k = theirs - first;
        if (k < 0 || k >= size) return {0, 0, false};
        const double more = D[k];
        return {lam + more, lam, more != 0};
    }
    DEVICE_MEMBER bool none() const { return mine == -1; }
};

struct Alternatives { // the productions of each node in ascending order, with their probabilities
    const long long *__restrict__ start;
    const int *__restrict__ production;
    const double *__restrict__ p;
    const int *__restrict__ code; // edge of the row, or column; -1 if it has no D
};

// Children in forests: all edges of one node with all edges of the other.
struct ForestChild {
    const Rows &rows;
    const Columns &columns;
    const double *__restrict__ D;
    const Alternatives &mine, &theirs;
    const int *__restrict__ kid;
    int u;
    double lam;

    DEVICE_MEMBER Child operator()(int v) const {
        Child out{0, 0, false};
        long long j = theirs.start[kid[v]];
        const long long end = theirs.start[kid[v] + 1];
        for (long long i = mine.start[u]; i < mine.start[u + 1]; ++i) {
            const int production = mine.production[i];
            while (j < end && theirs.production[j] < production) ++j;
            for (long long k = j; k < end && theirs.production[k] == production; ++k) {
                const double both = mine.p[i] * theirs.p[k];
                double value = lam;
                if (mine.code[i] >= 0 && theirs.code[k] >= 0) {
                    const int row = rows.local[mine.code[i]];
                    const double more = D[rows.at[row] + theirs.code[k] - columns.first[rows.kind[row]]];
                    value += more;
                    out.deep = out.deep || more != 0;
                }
                out.value += both * value, out.linear += both * lam;
            }
        }
        return out;
    }
    DEVICE_MEMBER bool none() const { return false; }
};

// A block processes one row edge, and `columns_a_thread` columns of its production per thread. The values of children are those of
// D at a lower level or, with a depth limit, those of the previous depth.
template <class Children> DEVICE void compare(const long long *chunk, long long first, long long last, const int *edge,
                                              const long long *child_start, const Rows &rows, const Columns &columns,
                                              const int *limit, const int *arity, double *D, const Holders &holders, bool adds,
                                              double lam, Children children) {
    const long long at = chunk[first] + block(), u = owner(chunk, first, last, at), slot = child_start[edge[u]];
    const int kind = rows.kind[u], begin = static_cast<int>((at - chunk[u]) * threads()) * columns_a_thread + thread();
    const int end = limit[kind];
    double product[columns_a_thread], linear[columns_a_thread];
    int met[columns_a_thread]; // number of matching children, where a deep one counts twice
    for (int r = 0; r < columns_a_thread; ++r) product[r] = 1, linear[r] = 0, met[r] = 0;
    for (int q = 0; q < arity[kind]; ++q) {
        const auto child = children(slot + q, kind, q);
        if (child.none()) continue;
        for (int r = 0; r < columns_a_thread; ++r) {
            const int v = begin + r * threads();
            if (v >= end) continue;
            const Child c = child(v);
            if (c.linear == 0) continue;
            product[r] *= 1 + c.value, linear[r] += c.linear, met[r] += 1 + c.deep;
        }
    }
    for (int r = 0; r < columns_a_thread; ++r) {
        const int v = begin + r * threads();
        const double more = met[r] ? lam * product[r] - lam : 0;
        if (v < end) D[rows.at[u] + v] = more;
        if (adds) add_to_holders(holders, u, columns.first[kind] + v, v < end && met[r] > 1 ? more - lam * linear[r] : 0);
    }
}

KERNEL trees_level(long long first, long long last, const long long *__restrict__ chunk, const int *__restrict__ edge,
                   const long long *__restrict__ child_start, const int *__restrict__ child, const int *__restrict__ code,
                   const int *__restrict__ local, const int *__restrict__ kind, const long long *__restrict__ row_at,
                   const int *__restrict__ column_first, const int *__restrict__ column_size, const int *__restrict__ limit,
                   const int *__restrict__ arity, const long long *__restrict__ kid_at, const int *__restrict__ kid,
                   double *__restrict__ D, const double *__restrict__ below, const long long *__restrict__ held_at,
                   const int *__restrict__ held_row, const double *__restrict__ held_weight, const long long *__restrict__ post_at,
                   const int *__restrict__ post_column, const double *__restrict__ post_weight, double *__restrict__ out,
                   long long width, long long first_row, long long halves, long long adds, double lam) {
    const Rows rows{code, local, kind, row_at};
    const Columns columns{column_first, column_size};
    const Holders holders{held_at, held_row, held_weight, post_at, post_column, post_weight, out, width, first_row, halves != 0};
    compare(chunk, first, last, edge, child_start, rows, columns, limit, arity, D, holders, adds != 0, lam,
            [&](long long slot, int p, int q) {
                const int *const codes = kid + kid_at[p] + static_cast<long long>(q) * column_size[p];
                return TreeChild(rows, columns, below, code[child[slot]], codes, lam);
            });
}

KERNEL forests_level(long long first, long long last, const long long *__restrict__ chunk, const int *__restrict__ edge,
                     const long long *__restrict__ child_start, const int *__restrict__ child, const int *__restrict__ local,
                     const int *__restrict__ kind, const long long *__restrict__ row_at, const int *__restrict__ column_first,
                     const int *__restrict__ column_size, const int *__restrict__ limit, const int *__restrict__ arity,
                     const long long *__restrict__ kid_at, const int *__restrict__ kid, const long long *__restrict__ mine_start,
                     const int *__restrict__ mine_production, const double *__restrict__ mine_p, const int *__restrict__ mine_code,
                     const long long *__restrict__ theirs_start, const int *__restrict__ theirs_production,
                     const double *__restrict__ theirs_p, const int *__restrict__ theirs_code, double *__restrict__ D,
                     const double *__restrict__ below, const long long *__restrict__ held_at, const int *__restrict__ held_row,
                     const double *__restrict__ held_weight, const long long *__restrict__ post_at,
                     const int *__restrict__ post_column, const double *__restrict__ post_weight, double *__restrict__ out,
                     long long width, long long first_row, long long halves, long long adds, double lam) {
    const Rows rows{nullptr, local, kind, row_at};
    const Columns columns{column_first, column_size};
    const Holders holders{held_at, held_row, held_weight, post_at, post_column, post_weight, out, width, first_row, halves != 0};
    const Alternatives mine{mine_start, mine_production, mine_p, mine_code};
    const Alternatives theirs{theirs_start, theirs_production, theirs_p, theirs_code};
    compare(chunk, first, last, edge, child_start, rows, columns, limit, arity, D, holders, adds != 0, lam,
            [&](long long slot, int p, int q) {
                const int *const nodes = kid + kid_at[p] + static_cast<long long>(q) * column_size[p];
                return ForestChild{rows, columns, below, mine, theirs, nodes, child[slot], lam};
            });
}
