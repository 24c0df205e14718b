// Tree kernels of one pair of trees after another, to be timed: fast and naive as in Moschitti (2006).
//
// fast:   lists of nodes, sorted by production (ST, SST) or label (PT), are merged; only pairs of nodes that agree are
//         worked on, by recursion with a table.
// labels: the same with lists sorted by label for every kernel, as section 3.2 of the paper words it.
// sorting: as fast, but lists are made and sorted anew for every pair of trees.
// naive:  every pair of nodes is worked on, children before parents.
//
// Else the lists are made once a tree, before the clock runs. Numbers stand for labels and productions.
// SPTK (smoothed PT) has only naive: every pair of nodes looks up the similarity of the two labels, equal or not.
// Usage: pair_kernels TREES OUT st|sst|pt|sptk fast|labels|sorting|naive LAM MU REPEATS BLOCKS
// TREES (int32): how many trees; for each: nodes, labels, productions (-1: no children), where its children begin in
// the list of children (one more than nodes), that list. Children come before parents. For SPTK also: how many labels;
// where the similar labels of each begin (one more than labels); the similar labels, ascending; their similarities
// (float64).
// OUT (float64): how many pairs of nodes were worked on a pair of trees; the matrix of values; with BLOCKS > 0 the
// microseconds a pair of every row and block of columns, REPEATS times; with BLOCKS = 0 only half of the matrix is
// computed, and REPEATS totals in seconds follow.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>
#include <vector>

using Ids = std::vector<std::int32_t>;
using Keyed = std::vector<std::pair<std::int32_t, std::int32_t>>;
using Clock = std::chrono::steady_clock;

enum class Kind { st, sst, pt, sptk };
enum class Method { fast, labels, sorting, naive };

struct Tree {
    Ids label, production, first, child;
    Keyed by_production, by_label;

    int size() const { return static_cast<int>(label.size()); }
    int children(int node) const { return first[node + 1] - first[node]; }
    const std::int32_t* begin(int node) const { return child.data() + first[node]; }
};

static double LAM, MU;

static struct { // of labels
    Ids first, label;
    std::vector<double> value;

    double operator()(int a, int b) const {
        if (a == b) return 1;
        const auto begin = label.begin() + first[a], end = label.begin() + first[a + 1];
        const auto found = std::lower_bound(begin, end, b);
        return found != end && *found == b ? value[static_cast<std::size_t>(found - label.begin())] : 0;
    }
} SIMILARITY;

static void list_nodes(const Ids& keys, Keyed& list) {
    list.clear();
    for (int node = 0; node < static_cast<int>(keys.size()); ++node)
        if (keys[node] >= 0) list.emplace_back(keys[node], node);
    std::sort(list.begin(), list.end());
}

// The sum over subsequences of children, length by length; delta(c, d) is the value of two children, and may come back here.
template <class Delta>
double over_subsequences(const Tree& a, int x, const Tree& b, int y, Delta delta) {
    static std::vector<double> values, before, sums;
    static std::size_t top = 0;  // of the values that are in use
    const int n = a.children(x), m = b.children(y), width = m + 1;
    const std::size_t base = top;
    top += static_cast<std::size_t>(n) * m;
    if (values.size() < top) values.resize(2 * top);
    int number = 0;
    double total = 0;
    for (int k = 0; k < n; ++k)
        for (int l = 0; l < m; ++l) {
            const double value = delta(a.begin(x)[k], b.begin(y)[l]);
            values[base + k * m + l] = value;
            number += value != 0;
            total += value;
        }
    top = base;
    if (number < 2 || std::min(n, m) < 2) return total;  // one child each
    const double* met = values.data() + base;
    before.assign(static_cast<std::size_t>(n + 1) * width, 1.0);
    sums.assign(static_cast<std::size_t>(n + 1) * width, 0.0);
    total = 0;
    for (int length = 1; length <= std::min(n, m); ++length) {
        double added = 0;
        for (int l = 0; l <= m; ++l) sums[l] = 0;
        for (int k = 1; k <= n; ++k) {
            sums[k * width] = 0;
            for (int l = 1; l <= m; ++l) {
                const double here = met[(k - 1) * m + l - 1] * before[(k - 1) * width + l - 1];
                added += here;
                sums[k * width + l] = here + LAM * (sums[k * width + l - 1] + sums[(k - 1) * width + l]) -
                                      LAM * LAM * sums[(k - 1) * width + l - 1];
            }
        }
        if (added == 0) break;
        total += added;
        std::swap(before, sums);
    }
    return total;
}

// The value of two nodes that agree, from those of their children.
template <Kind kind, class Delta>
double from_children(const Tree& a, int x, const Tree& b, int y, Delta delta) {
    if constexpr (kind == Kind::pt || kind == Kind::sptk) {
        if (!a.children(x) || !b.children(y)) return MU * LAM * LAM;
        return MU * (LAM * LAM + over_subsequences(a, x, b, y, delta));
    } else {
        double value = LAM;
        for (int k = 0; k < a.children(x); ++k) {
            const int c = a.begin(x)[k], d = b.begin(y)[k];
            if constexpr (kind == Kind::sst) value *= 1 + delta(c, d);
            else if (a.children(c) || b.children(d)) value *= delta(c, d);
        }
        return value;
    }
}

template <Kind kind>
bool agree(const Tree& a, int x, const Tree& b, int y) {
    if constexpr (kind == Kind::pt) return a.label[x] == b.label[y];
    return a.production[x] >= 0 && a.production[x] == b.production[y];
}

class Pairs {
  public:
    explicit Pairs(int nodes) : width_(nodes), table_(static_cast<std::size_t>(nodes) * nodes) {}

    long worked_on = 0;

    template <Kind kind>
    double fast(const Tree& a, const Tree& b, const Keyed& left, const Keyed& right) {
        matched_.clear();
        auto i = left.begin();
        auto j = right.begin();
        while (i != left.end() && j != right.end()) {
            if (i->first < j->first) ++i;
            else if (j->first < i->first) ++j;
            else {
                const auto key = i->first;
                auto end = j;
                for (; i != left.end() && i->first == key; ++i)
                    for (end = j; end != right.end() && end->first == key; ++end) {
                        matched_.emplace_back(i->second, end->second);
                        at(i->second, end->second) = -1;
                    }
                j = end;
            }
        }
        worked_on += static_cast<long>(matched_.size());
        double sum = 0;
        for (const auto& [x, y] : matched_) sum += remembered<kind>(a, x, b, y);
        return sum;
    }

    template <Kind kind>
    double naive(const Tree& a, const Tree& b) {
        worked_on += static_cast<long>(a.size()) * b.size();
        double sum = 0;
        const auto known = [&](int c, int d) { return at(c, d); };
        for (int x = 0; x < a.size(); ++x)
            for (int y = 0; y < b.size(); ++y)
                if constexpr (kind == Kind::sptk) {
                    const double similarity = SIMILARITY(a.label[x], b.label[y]);
                    sum += at(x, y) = similarity ? similarity * from_children<kind>(a, x, b, y, known) : 0;
                } else
                    sum += at(x, y) = agree<kind>(a, x, b, y) ? from_children<kind>(a, x, b, y, known) : 0;
        return sum;
    }

  private:
    int width_;
    std::vector<double> table_;
    Keyed matched_;

    double& at(int x, int y) { return table_[static_cast<std::size_t>(x) * width_ + y]; }

    // Recursion as deep as the tree: treebanks only.
    template <Kind kind>
    double remembered(const Tree& a, int x, const Tree& b, int y) {
        if (!agree<kind>(a, x, b, y)) return 0;
        if (at(x, y) >= 0) return at(x, y);
        return at(x, y) = from_children<kind>(a, x, b, y, [&](int c, int d) { return remembered<kind>(a, c, b, d); });
    }
};

template <Kind kind>
double value(Pairs& pairs, Method method, const Tree& a, const Tree& b) {
    if (kind == Kind::sptk || method == Method::naive) return pairs.naive<kind>(a, b);
    if (method == Method::sorting) {
        static Keyed left, right;
        list_nodes(kind == Kind::pt ? a.label : a.production, left);
        list_nodes(kind == Kind::pt ? b.label : b.production, right);
        return pairs.fast<kind>(a, b, left, right);
    }
    if (kind == Kind::pt || method == Method::labels) return pairs.fast<kind>(a, b, a.by_label, b.by_label);
    return pairs.fast<kind>(a, b, a.by_production, b.by_production);
}

static double seconds(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <Kind kind>
void timed(const std::vector<Tree>& trees, Method method, int repeats, int blocks, std::ofstream& out) {
    const int n = static_cast<int>(trees.size());
    int nodes = 0;
    for (const auto& tree : trees) nodes = std::max(nodes, tree.size());
    Pairs pairs(nodes);
    std::vector<double> K(static_cast<std::size_t>(n) * n), times;
    long computed = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const std::clock_t whole = std::clock(); // CPU time, because machines are shared
        for (int i = 0; i < n; ++i) {
            double* row = K.data() + static_cast<std::size_t>(i) * n;
            if (!blocks) {
                for (int j = 0; j <= i; ++j) row[j] = value<kind>(pairs, method, trees[i], trees[j]);
                computed += i + 1;
                continue;
            }
            for (int block = 0; block < blocks; ++block) {
                const int from = static_cast<int>(static_cast<long>(n) * block / blocks);
                const int to = static_cast<int>(static_cast<long>(n) * (block + 1) / blocks);
                const auto begin = Clock::now();
                for (int j = from; j < to; ++j) row[j] = value<kind>(pairs, method, trees[i], trees[j]);
                times.push_back(1e6 * seconds(begin) / (to - from));
            }
            computed += n;
        }
        if (!blocks) times.push_back(static_cast<double>(std::clock() - whole) / CLOCKS_PER_SEC);
    }
    const double worked_on = static_cast<double>(pairs.worked_on) / static_cast<double>(computed);
    out.write(reinterpret_cast<const char*>(&worked_on), sizeof worked_on);
    for (const auto& values : {K, times})
        out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(8 * values.size()));
}

template <class Number = std::int32_t>
std::vector<Number> read(std::ifstream& in, std::size_t number) {
    std::vector<Number> numbers(number);
    in.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(sizeof(Number) * number));
    return numbers;
}

int main(int count, char** given) {
    if (count != 9) return std::fputs("see the head of pair_kernels.cpp\n", stderr), 2;
    std::ifstream in(given[1], std::ios::binary);
    std::vector<Tree> trees(static_cast<std::size_t>(read(in, 1)[0]));
    for (auto& tree : trees) {
        const auto nodes = static_cast<std::size_t>(read(in, 1)[0]);
        tree.label = read(in, nodes);
        tree.production = read(in, nodes);
        tree.first = read(in, nodes + 1);
        tree.child = read(in, static_cast<std::size_t>(tree.first.back()));
        list_nodes(tree.label, tree.by_label);
        list_nodes(tree.production, tree.by_production);
    }
    if (!std::strcmp(given[3], "sptk")) {
        SIMILARITY.first = read(in, static_cast<std::size_t>(read(in, 1)[0]) + 1);
        SIMILARITY.label = read(in, static_cast<std::size_t>(SIMILARITY.first.back()));
        SIMILARITY.value = read<double>(in, static_cast<std::size_t>(SIMILARITY.first.back()));
    }
    if (!in) return std::fputs("the file of trees is too short\n", stderr), 2;
    LAM = std::atof(given[5]);
    MU = std::atof(given[6]);
    const auto method = !std::strcmp(given[4], "naive")     ? Method::naive
                        : !std::strcmp(given[4], "labels")  ? Method::labels
                        : !std::strcmp(given[4], "sorting") ? Method::sorting
                                                            : Method::fast;
    const int repeats = std::atoi(given[7]), blocks = std::atoi(given[8]);
    std::ofstream out(given[2], std::ios::binary);
    if (!std::strcmp(given[3], "sptk")) timed<Kind::sptk>(trees, method, repeats, blocks, out);
    else if (!std::strcmp(given[3], "pt")) timed<Kind::pt>(trees, method, repeats, blocks, out);
    else if (!std::strcmp(given[3], "sst")) timed<Kind::sst>(trees, method, repeats, blocks, out);
    else timed<Kind::st>(trees, method, repeats, blocks, out);
    return out ? 0 : 1;
}
