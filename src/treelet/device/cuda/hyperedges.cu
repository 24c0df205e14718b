// Subset trees in common, of trees and of forests: a tree is a forest with one edge a node.
//
//   C(e1,e2) = lam * prod_q (1 + C(u_q, v_q))                            for edges of one production
//   C(u,v)   = sum over the edges of u and v of p(e1) p(e2) C(e1,e2)      for nodes
//
// Where no children have a production in common C = lam, and where one pair has and nothing below it, lam + lam p p' lam: both are
// products of counts, made elsewhere. Here D = C(e1,e2) - lam is kept, dense over the columns of a row edge's production, and what
// is more than the counts know of goes to the examples.
#include "adding.cuh"

struct Child {            // of a pair of edges, at one position
    double value, linear; // C, and what of it is a product of counts
    bool deep;            // whether there is more
};

struct Rows {
    const int *__restrict__ code;  // node -> an edge of its own, -2 - production if that has no columns with D, -1 if none has it
    const int *__restrict__ local; // edge -> its number among those of these rows
    const int *__restrict__ kind;  // of those: production, among the columns'
    const long long *__restrict__ at; // where its D begins
};

struct Columns {
    const int *__restrict__ first; // production -> its columns
    const int *__restrict__ size;
};

// Of trees: codes of both sides tell it all.
DEVICE Child tree_child(const Rows &rows, const Columns &columns, const double *__restrict__ D, int mine, int theirs, double lam) {
    if (mine <= -2) return mine == theirs ? Child{lam, lam, false} : Child{0, 0, false};
    const int u = rows.local[mine], kind = rows.kind[u], k = theirs - columns.first[kind];
    if (k < 0 || k >= columns.size[kind]) return {0, 0, false};
    const double more = D[rows.at[u] + k];
    return {lam + more, lam, more != 0};
}

struct Alternatives { // of a node: its productions, ascending, with their probabilities
    const long long *__restrict__ start;
    const int *__restrict__ production;
    const double *__restrict__ p;
    const int *__restrict__ code; // the row's edge or the column; -1 if it has no D
};

// Of forests: the edges of one node with those of the other.
DEVICE Child forest_child(const Rows &rows, const Columns &columns, const double *__restrict__ D, const Alternatives &mine,
                          const Alternatives &theirs, int u, int v, double lam) {
    Child out{0, 0, false};
    long long j = theirs.start[v];
    const long long end = theirs.start[v + 1];
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

// A block works on one row edge and `threads` columns of its production. With `deepest` 0 the values of children are in D itself,
// of a lower level; else in `below`, of the former depth.
template <class Children> DEVICE void compare(const long long *chunk, long long first, long long last, const int *edge,
                                              const long long *child_start, const Rows &rows, const Columns &columns,
                                              const int *limit, const int *arity, double *D, const Holders &holders, bool adds,
                                              double lam, Children child) {
    const long long at = chunk[first] + block(), u = owner(chunk, first, last, at);
    const int kind = rows.kind[u], v = static_cast<int>((at - chunk[u]) * threads()) + thread();
    double rest = 0;
    if (v < limit[kind]) {
        double product = 1, linear = 0;
        int met = 0;
        bool deep = false;
        for (int q = 0; q < arity[kind]; ++q) {
            const Child c = child(child_start[edge[u]] + q, kind, q, v);
            if (c.linear == 0) continue;
            product *= 1 + c.value, linear += c.linear;
            ++met, deep = deep || c.deep;
        }
        const double more = met ? lam * product - lam : 0;
        D[rows.at[u] + v] = more;
        if (met > 1 || deep) rest = more - lam * linear;
    }
    if (adds) add_to_holders(holders, u, columns.first[kind] + v, rest);
}

KERNEL trees_level(const long long *__restrict__ chunk, long long first, long long last, const int *__restrict__ edge,
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
            [&](long long slot, int p, int q, int v) {
                const int mine = code[child[slot]];
                if (mine == -1) return Child{0, 0, false};
                return tree_child(rows, columns, below, mine, kid[kid_at[p] + static_cast<long long>(q) * column_size[p] + v], lam);
            });
}

KERNEL forests_level(const long long *__restrict__ chunk, long long first, long long last, const int *__restrict__ edge,
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
            [&](long long slot, int p, int q, int v) {
                const int node = kid[kid_at[p] + static_cast<long long>(q) * column_size[p] + v];
                return forest_child(rows, columns, below, mine, theirs, child[slot], node, lam);
            });
}
