// CKY over a binarised grammar: the best log probability of every symbol over every span, and from these the k best
// parses and the packed forest.
//
// A derivation in which a node lies above another of the same label and span is left out: unary cycles add
// nothing but such trees. So all counts and sums are finite.
#pragma once
#include "grammar.hpp"
#include "pulse.hpp"
#include <memory>
#include <set>

namespace treelet {

struct Sentence { // what each word can be
    std::vector<std::string> words;
    std::vector<std::int64_t> start{0};
    std::vector<Id> symbol;
    std::vector<double> logp;
    std::size_t size() const { return words.size(); }
};

// Which symbols may stand over which span; symbols are numbered by `number`, none: not restricted.
struct Mask {
    std::vector<Id> number;
    std::size_t width = 0;
    std::vector<char> allowed; // cell x number
};

class Chart {
  public:
    Chart(std::shared_ptr<const Grammar> grammar, Sentence sentence, double beam, const std::vector<double> &prior,
          const Mask *mask, void (*check)())
        : owner_(std::move(grammar)), g_(*owner_), sentence_(std::move(sentence)), check_(check) {
        fill(beam, prior, mask);
    }

    std::size_t size() const { return sentence_.size(); }
    double best() const { return best_; }
    std::size_t items() const { return items_.size(); }
    std::size_t symbols() const { return g_.size(); }

    // The k best parses: trees in `store`, with log probabilities in descending order, no tree twice.
    void kbest(std::size_t k, Store &store, std::vector<Id> &roots, std::vector<double> &logps) {
        if (best_ == impossible) return;
        // All parses within a threshold of the best are made of edges within it: when k of them are, they are the k best.
        for (double threshold = 10;; threshold = threshold < 50 ? 2 * threshold : std::numeric_limits<double>::infinity()) {
            const Outside outside(*this, threshold);
            Graph graph(*this, store, outside.edges);
            LazyKBest<Graph> search(graph, check_);
            std::set<Id> seen;
            double score;
            roots.clear(), logps.clear();
            // Where symbols share labels, derivations can be many more than trees: there is an end to looking for others.
            const std::size_t most = 100 * k + 10000;
            std::size_t i = 0;
            for (; i < most && roots.size() < k && search.find(graph.root, i, score) && score >= outside.least; ++i) {
                const Id tree = search.value(graph.root, i)[0];
                if (!seen.insert(tree).second) continue;
                roots.push_back(tree), logps.push_back(score);
            }
            if (roots.size() == k || i == most || std::isinf(threshold)) return;
        }
    }

    // What is left when edges in no tree within `threshold` of the best are taken out; all of it for infinity.
    Forest forest(double threshold, std::size_t max_edges) {
        Forest::Parts parts;
        Id cycle = none;
        if (best_ == impossible) return Forest::make(parts, cycle);
        Unpacked unpacked(*this, threshold, max_edges, parts);
        Forest out = Forest::make(parts, cycle);
        if (!g_.cyclic) return out; // nothing beyond the threshold was put in
        out = out.merged();
        return std::isinf(threshold) ? out : out.pruned(threshold);
    }

    // Best score of any parse of the sentence that has the symbol over the span, minus the best parse's: 0 or less.
    // For symbols within `threshold`; this is what a coarse pass allows.
    void mask(double threshold, const std::vector<Id> &number, std::size_t width, Mask &out) {
        out.width = width;
        out.allowed.assign(cell_count() * width, 0);
        if (best_ == impossible) {
            out.allowed.assign(cell_count() * width, 1);
            return;
        }
        Outside outside(*this, threshold);
        for (std::size_t c = 0; c < cell_count(); ++c)
            for (std::int64_t i = first_[c]; i < last_[c]; ++i)
                if (number[items_[i].symbol] != none && outside.out[i] + items_[i].top >= outside.least)
                    out.allowed[c * width + static_cast<std::size_t>(number[items_[i].symbol])] = 1;
    }

    // The fewest, then the most probable, pieces that cover the sentence: what is left where there is no parse.
    // A word without any item stands alone.
    std::vector<Id> pieces(Store &store) {
        const std::size_t n = size();
        struct Cover {
            std::size_t count;
            double score;
            std::size_t from;
            std::int64_t item;
        };
        std::vector<Cover> best(n + 1, {std::numeric_limits<std::size_t>::max(), impossible, 0, none});
        best[0] = {0, 0, 0, none};
        for (std::size_t j = 1; j <= n; ++j)
            for (std::size_t i = 0; i < j; ++i) {
                Cover here{best[i].count + 1, impossible, i, none};
                const std::size_t c = cell(i, j);
                for (std::int64_t k = first_[c]; k < last_[c]; ++k)
                    if (!g_.hidden(items_[k].symbol) && items_[k].top > here.score) here.score = items_[k].top, here.item = k;
                if (here.item == none && j > i + 1) continue;
                here.score = here.item == none ? -1e6 : here.score;
                here.score += best[i].score;
                if (here.count < best[j].count || (here.count == best[j].count && here.score > best[j].score)) best[j] = here;
            }
        std::vector<Id> out;
        for (std::size_t j = n; j > 0; j = best[j].from) {
            check_();
            if (best[j].item == none) {
                out.push_back(store.add_node(store.add_label(sentence_.words[j - 1]), nullptr, 0));
                continue;
            }
            const Outside outside(*this, 0, {{best[j].item, 0.0}}, items_[best[j].item].top);
            Graph graph(*this, store, outside.edges);
            LazyKBest<Graph> search(graph, check_);
            const Id node = graph.top(best[j].item, cell(best[j].from, j));
            double score;
            search.find(node, 0, score);
            out.push_back(search.value(node, 0)[0]);
        }
        std::reverse(out.begin(), out.end());
        return out;
    }

  private:
    struct Item {
        Id symbol, cell;
        double top, base; // with and without unary rules above
    };
    struct Edge { // one way of making an item without unary rules
        Id head;
        std::int64_t left, right; // items; none, none: the word itself
        double logp, score;
    };

    std::size_t cell_count() const { return size() * (size() + 1) / 2; }
    // Spans in the order in which they are filled: by their end, the shortest first.
    static std::size_t cell(std::size_t i, std::size_t j) { return j * (j - 1) / 2 + (j - 1 - i); }

    void fill(double beam, const std::vector<double> &prior, const Mask *mask) {
        const std::size_t n = size(), S = g_.size(), R = g_.right_symbol.size();
        first_.assign(cell_count(), 0), last_.assign(cell_count(), 0), most_.assign(cell_count(), impossible);
        std::vector<double> right(n * R, impossible), base(S, impossible), top(S, impossible);
        std::vector<Id> touched;
        Pulse pulse(check_);
        for (std::size_t j = 1; j <= n; ++j) {
            std::fill_n(right.begin(), j * R, impossible);
            for (std::size_t i = j; i-- > 0;) {
                touched.clear();
                auto offer = [&](Id head, double score) {
                    if (score > base[head]) {
                        if (base[head] == impossible) touched.push_back(head);
                        base[head] = score;
                    }
                };
                if (j == i + 1)
                    for (std::int64_t k = sentence_.start[i]; k < sentence_.start[i + 1]; ++k)
                        offer(sentence_.symbol[k], sentence_.logp[k]);
                for (std::size_t k = i + 1; k < j; ++k) {
                    const double *const with = right.data() + k * R;
                    const std::size_t left = cell(i, k);
                    for (std::int64_t l = first_[left]; l < last_[left]; ++l) {
                        const Item &item = items_[l];
                        const Grammar::Binary *r = g_.by_left.begin(item.symbol), *end = g_.by_left.end(item.symbol);
                        pulse.add(static_cast<std::size_t>(end - r));
                        for (; r < end; ++r) {
                            const double score = item.top + with[r->right] + r->logp;
                            if (score > base[r->head]) {
                                if (base[r->head] == impossible) touched.push_back(r->head);
                                base[r->head] = score;
                            }
                        }
                    }
                }
                const std::size_t here = cell(i, j);
                if (mask)
                    for (Id s : touched)
                        if (mask->number[s] != none &&
                            !mask->allowed[here * mask->width + static_cast<std::size_t>(mask->number[s])])
                            base[s] = impossible;
                close(here, touched, base, top, beam, prior, j == n);
                for (std::int64_t k = first_[here]; k < last_[here]; ++k)
                    if (const Id number = g_.right_number[items_[k].symbol]; number != none) right[i * R + number] = items_[k].top;
            }
        }
        best_ = impossible;
        if (n)
            for (const auto &[symbol, logp] : g_.start)
                if (const std::int64_t k = find(cell(0, n), symbol); k != none) best_ = std::max(best_, logp + items_[k].top);
    }

    // Unary rules, the beam, and the items of a finished cell in the order of their symbols.
    void close(std::size_t here, std::vector<Id> &touched, std::vector<double> &base, std::vector<double> &top, double beam,
               const std::vector<double> &prior, bool at_end) {
        // What is cut goes before unary rules apply, so that chains of them stay whole.
        if (!std::isinf(beam)) {
            double most = impossible;
            for (Id s : touched) most = std::max(most, base[s] + prior[s]);
            for (Id s : touched)
                if (base[s] + prior[s] < most - beam) base[s] = impossible;
        }
        const std::size_t own = touched.size();
        for (std::size_t t = 0; t < own; ++t) top[touched[t]] = base[touched[t]];
        for (std::size_t t = 0; t < own; ++t) {
            const Id s = touched[t];
            if (base[s] == impossible) continue;
            for (const Grammar::Unary *u = g_.by_child.begin(s); u < g_.by_child.end(s); ++u) {
                const double score = base[s] + u->logp;
                if (!(score > top[u->symbol])) continue;
                if (top[u->symbol] == impossible) touched.push_back(u->symbol);
                top[u->symbol] = score;
            }
        }
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        first_[here] = static_cast<std::int64_t>(items_.size());
        for (Id s : touched) {
            // A hidden symbol needs a right sibling, and there is none behind the last word.
            if (top[s] != impossible && !(at_end && g_.hidden(s))) items_.push_back({s, static_cast<Id>(here), top[s], base[s]});
            base[s] = top[s] = impossible;
        }
        last_[here] = static_cast<std::int64_t>(items_.size());
        most_[here] = impossible;
        for (std::int64_t k = first_[here]; k < last_[here]; ++k)
            if (g_.right_number[items_[k].symbol] != none) most_[here] = std::max(most_[here], items_[k].top);
    }

    std::int64_t find(std::size_t c, Id symbol) const {
        const auto begin = items_.begin() + first_[c], end = items_.begin() + last_[c];
        const auto at = std::lower_bound(begin, end, symbol, [](const Item &x, Id s) { return x.symbol < s; });
        return at != end && at->symbol == symbol ? at - items_.begin() : none;
    }

    // All ways of making the items of a cell without unary rules, grouped by head, where their score reaches
    // least[item of the cell].
    void edges_of(std::size_t i, std::size_t j, const std::vector<double> &least, std::vector<Edge> &out) {
        out.clear();
        const std::size_t c = cell(i, j);
        if (first_[c] == last_[c]) return;
        if (where_.size() < g_.size()) where_.resize(g_.size(), none), right_here_.resize(g_.right_symbol.size(), none);
        for (std::int64_t k = first_[c]; k < last_[c]; ++k)
            if (items_[k].base >= least[k - first_[c]]) where_[items_[k].symbol] = k;
        if (j == i + 1)
            for (std::int64_t k = sentence_.start[i]; k < sentence_.start[i + 1]; ++k) {
                const std::int64_t head = where_[sentence_.symbol[k]];
                if (head != none && sentence_.logp[k] >= least[head - first_[c]])
                    out.push_back({sentence_.symbol[k], none, none, sentence_.logp[k], sentence_.logp[k]});
            }
        // The least that any head needs: left items from which no rule can reach it are passed over. A hidden head has few
        // rules, so there it is quicker to look for their symbols.
        double floor = std::numeric_limits<double>::infinity();
        for (std::int64_t h = first_[c]; h < last_[c]; ++h) {
            const Id head = items_[h].symbol;
            if (where_[head] == none) continue;
            if (!g_.hidden(head)) {
                floor = std::min(floor, least[h - first_[c]]);
                continue;
            }
            for (const Grammar::Rule *r = g_.by_hidden.begin(head); r < g_.by_hidden.end(head); ++r)
                for (std::size_t k = i + 1; k < j; ++k) {
                    const std::int64_t right = find(cell(k, j), r->b);
                    const std::int64_t left = right == none ? none : find(cell(i, k), r->a);
                    if (left == none) continue;
                    const double score = items_[left].top + items_[right].top + r->logp;
                    if (score >= least[h - first_[c]]) out.push_back({head, left, right, r->logp, score});
                }
        }
        if (bound_.empty()) find_bounds();
        for (std::size_t k = i + 1; k < j; ++k) {
            const std::size_t lc = cell(i, k), rc = cell(k, j);
            if (most_[rc] == impossible || farthest_[lc] + most_[rc] < floor) continue;
            bool scattered = false;
            for (std::int64_t l = first_[lc]; l < last_[lc]; ++l) {
                if (!(bound_[l] + most_[rc] >= floor) || bound_[l] == impossible) continue;
                const Id left = items_[l].symbol;
                const Grammar::Binary *r = g_.by_left.begin(left), *end = r + g_.finishing[left].count;
                if (!scattered) scatter(rc), scattered = true;
                for (; r < end; ++r) {
                    const Id with = right_here_[r->right];
                    if (with == none) continue;
                    const std::int64_t head = where_[r->head];
                    if (head == none) continue;
                    const double score = items_[l].top + items_[first_[rc] + with].top + r->logp;
                    if (score >= least[head - first_[c]]) out.push_back({r->head, l, first_[rc] + with, r->logp, score});
                }
            }
            if (scattered) unscatter(rc);
        }
        for (std::int64_t k = first_[c]; k < last_[c]; ++k) where_[items_[k].symbol] = none;
        std::stable_sort(out.begin(), out.end(), [](const Edge &a, const Edge &b) { return a.head < b.head; });
    }
    // For each item, the most that it can reach as the left child of a rule that ends, with a right one of score 0.
    void find_bounds() {
        bound_.reserve(items_.size());
        for (const Item &item : items_) bound_.push_back(item.top + g_.finishing[item.symbol].best);
        farthest_.assign(cell_count(), impossible);
        for (std::size_t c = 0; c < cell_count(); ++c)
            for (std::int64_t k = first_[c]; k < last_[c]; ++k) farthest_[c] = std::max(farthest_[c], bound_[k]);
    }
    void scatter(std::size_t cell) {
        for (std::int64_t r = first_[cell]; r < last_[cell]; ++r)
            if (const Id number = g_.right_number[items_[r].symbol]; number != none)
                right_here_[number] = static_cast<Id>(r - first_[cell]);
    }
    void unscatter(std::size_t cell) {
        for (std::int64_t r = first_[cell]; r < last_[cell]; ++r)
            if (const Id number = g_.right_number[items_[r].symbol]; number != none) right_here_[number] = none;
    }
    static std::pair<std::size_t, std::size_t> of_head(const std::vector<Edge> &edges, Id head) {
        const auto range = std::equal_range(edges.begin(), edges.end(), Edge{head, 0, 0, 0, 0},
                                            [](const Edge &a, const Edge &b) { return a.head < b.head; });
        return {range.first - edges.begin(), range.second - edges.begin()};
    }

    // --- the chart as a hypergraph for the k-best search, made as far as it is asked for -------------------------
    // Nodes: an item with unary chains above (top), without (base), or the list of chains between two symbols.
    class Graph {
      public:
        using Value = std::vector<Id>; // a tree; the children of a hidden symbol; the symbols of a chain
        Id root;

        Graph(Chart &chart, Store &store, const std::vector<std::vector<Edge>> &edges) : c_(chart), store_(store), edges_(edges) {
            nodes_.push_back({root_kind, none, 0, false, 0, 0, 0});
            root = 0;
            node_of_top_.assign(c_.items_.size(), none);
            node_of_base_.assign(c_.items_.size(), none);
            label_here_.assign(c_.g_.size(), none);
        }

        Id top(std::int64_t item, std::size_t cell) {
            const Grammar &g = c_.g_;
            const Id symbol = c_.items_[item].symbol;
            if (g.by_head.begin(symbol) == g.by_head.end(symbol)) return base(item, cell);
            if (node_of_top_[item] == none) {
                node_of_top_[item] = static_cast<Id>(nodes_.size());
                nodes_.push_back({top_kind, item, cell, false, 0, 0, c_.items_[item].top});
            }
            return node_of_top_[item];
        }
        Id base(std::int64_t item, std::size_t cell) {
            if (node_of_base_[item] == none) {
                node_of_base_[item] = static_cast<Id>(nodes_.size());
                nodes_.push_back({base_kind, item, cell, false, 0, 0, c_.items_[item].base});
            }
            return node_of_base_[item];
        }

        std::pair<std::int64_t, std::int64_t> edges(Id v) {
            if (!nodes_[v].known) {
                const auto first = static_cast<std::int64_t>(weight_.size());
                expand(v);
                nodes_[v].known = true;
                nodes_[v].first = first, nodes_[v].last = static_cast<std::int64_t>(weight_.size());
            }
            return {nodes_[v].first, nodes_[v].last};
        }
        std::pair<const Id *, const Id *> tails(std::int64_t e) const {
            const Id *t = tail_[e].node;
            return {t, t + tail_[e].count};
        }
        double weight(std::int64_t e) const { return weight_[e]; }
        double best(Id v) const { return nodes_[v].best; }
        bool complete(Id) const { return false; }
        bool listed(Id v) const { return nodes_[v].kind == chain_kind; }
        bool list(Id v, std::size_t k, double &score) { return chains_[nodes_[v].item].find(k, score); }

        Value compose_list(Id v, std::size_t k) { return chains_[nodes_[v].item].symbols(k); }
        Value compose(Id v, std::int64_t e, const std::vector<const Value *> &parts) {
            const Node &node = nodes_[v];
            if (node.kind == root_kind) return *parts[0];
            if (node.kind == top_kind) {
                if (parts.size() == 1) return *parts[0];
                const Value &chain = *parts[0]; // from this symbol down to that of the base
                Id tree = (*parts[1])[0];
                for (std::size_t k = chain.size() - 1; k-- > 0;) tree = store_.add_node(label(chain[k]), &tree, 1);
                return {tree};
            }
            const Id symbol = c_.items_[node.item].symbol;
            if (tail_[e].count == 0) { // over a word
                const std::size_t j = c_.end_of(node.cell);
                const Id word = store_.add_node(store_.add_label(c_.sentence_.words[j - 1]), nullptr, 0);
                return {symbol >= c_.g_.first_word ? word : store_.add_node(label(symbol), &word, 1)};
            }
            kids_ = *parts[0];
            kids_.push_back((*parts[1])[0]);
            if (c_.g_.hidden(symbol)) return kids_;
            return {store_.add_node(label(symbol), kids_.data(), kids_.size())};
        }

      private:
        enum Kind : char { root_kind, top_kind, base_kind, chain_kind };
        struct Node {
            Kind kind;
            std::int64_t item; // for chains: which
            std::size_t cell;
            bool known;
            std::int64_t first, last;
            double best;
        };
        struct Tails {
            Id node[2];
            int count;
        };
        void add(double weight, std::initializer_list<Id> tails) {
            Tails t{{none, none}, 0};
            for (Id v : tails) t.node[t.count++] = v;
            weight_.push_back(weight), tail_.push_back(t);
        }

        void expand(Id v) {
            const Node node = nodes_[v]; // a copy: nodes_ grows
            const Grammar &g = c_.g_;
            if (node.kind == root_kind) {
                const std::size_t whole = cell(0, c_.size());
                for (const auto &[symbol, logp] : g.start)
                    if (const std::int64_t k = c_.find(whole, symbol); k != none) add(logp, {top(k, whole)});
            } else if (node.kind == top_kind) {
                const Id symbol = c_.items_[node.item].symbol;
                for (std::int64_t k = c_.first_[node.cell]; k < c_.last_[node.cell]; ++k) {
                    const auto [first, last] = of_head(edges_[node.cell], c_.items_[k].symbol);
                    if (first == last) continue; // it has no base, or none that is wanted
                    if (k == node.item)
                        add(0, {base(k, node.cell)});
                    else if (const double chain = g.chain(symbol, c_.items_[k].symbol); chain != impossible)
                        add(0, {chains(symbol, c_.items_[k].symbol, chain), base(k, node.cell)});
                }
            } else {
                const std::vector<Edge> &all = edges_[node.cell];
                const auto [first, last] = of_head(all, c_.items_[node.item].symbol);
                for (std::size_t k = first; k < last; ++k) {
                    const Edge &edge = all[k];
                    if (edge.left == none)
                        add(edge.logp, {});
                    else
                        add(edge.logp, {top(edge.left, c_.cell_of(edge.left)), top(edge.right, c_.cell_of(edge.right))});
                }
            }
        }
        Id chains(Id head, Id child, double best) {
            const auto [at, fresh] = chain_node_.emplace(std::make_pair(head, child), static_cast<Id>(nodes_.size()));
            if (fresh) {
                nodes_.push_back({chain_kind, static_cast<std::int64_t>(chains_.size()), 0, false, 0, 0, best});
                chains_.emplace_back(c_.g_, head, child, c_.check_);
            }
            return at->second;
        }
        Id label(Id symbol) {
            Id &own = label_here_[symbol];
            if (own == none) own = store_.add_label(c_.g_.labels[symbol]);
            return own;
        }

        Chart &c_;
        Store &store_;
        std::deque<Node> nodes_;
        std::vector<double> weight_;
        std::vector<Tails> tail_;
        std::vector<Id> node_of_top_, node_of_base_, label_here_;
        const std::vector<std::vector<Edge>> &edges_; // per cell
        std::deque<Chains> chains_;
        std::map<std::pair<Id, Id>, Id> chain_node_;
        Value kids_;
    };

    std::vector<std::pair<std::int64_t, double>> roots() const {
        std::vector<std::pair<std::int64_t, double>> out;
        for (const auto &[symbol, logp] : g_.start)
            if (const std::int64_t k = find(cell(0, size()), symbol); k != none) out.push_back({k, logp});
        return out;
    }

    static std::pair<std::size_t, std::size_t> span(std::size_t cell) {
        auto j = static_cast<std::size_t>((1 + std::sqrt(1.0 + 8.0 * static_cast<double>(cell))) / 2);
        while (j * (j - 1) / 2 > cell) --j;
        while (j * (j + 1) / 2 <= cell) ++j;
        return {j - 1 - (cell - j * (j - 1) / 2), j};
    }
    static std::size_t end_of(std::size_t cell) { return span(cell).second; }
    std::size_t cell_of(std::int64_t item) const { return static_cast<std::size_t>(items_[item].cell); }

    // --- Viterbi outside scores, and the edges that come within a threshold of the best parse ---------------------
    struct Outside {
        double least;
        std::vector<double> out;              // per item
        std::vector<std::vector<Edge>> edges; // per cell, grouped by head

        Outside(Chart &c, double threshold) : Outside(c, threshold, c.roots(), c.best_) {}
        // Of the trees below some items, each with a log probability of its own.
        Outside(Chart &c, double threshold, const std::vector<std::pair<std::int64_t, double>> &roots, double best)
            : out(c.items_.size(), impossible), edges(c.cell_count()) {
            const std::size_t n = c.size();
            least = best - threshold - 1e-9 * (1 + std::fabs(best));
            for (const auto &[item, logp] : roots) out[item] = std::max(out[item], logp);
            std::vector<double> need;
            for (std::size_t length = n; length > 0; --length)
                for (std::size_t i = 0; i + length <= n; ++i) {
                    const std::size_t here = cell(i, i + length);
                    const std::int64_t a = c.first_[here], b = c.last_[here];
                    bool any = false;
                    for (std::int64_t k = a; k < b; ++k) any = any || out[k] + c.items_[k].top >= least;
                    if (!any) continue;
                    // Down the unary chains: the best of all above.
                    need.assign(out.begin() + a, out.begin() + b);
                    for (std::int64_t head = a; head < b; ++head) {
                        if (out[head] + c.items_[head].top < least) continue;
                        const Id s = c.items_[head].symbol;
                        for (const Grammar::Unary *u = c.g_.below.begin(s); u < c.g_.below.end(s); ++u)
                            if (const std::int64_t k = c.find(here, u->symbol); k != none)
                                need[k - a] = std::max(need[k - a], out[head] + u->logp);
                    }
                    for (std::int64_t k = a; k < b; ++k) {
                        out[k] = need[k - a];
                        const bool wanted = out[k] != impossible && c.items_[k].base != impossible;
                        need[k - a] = wanted ? least - out[k] : std::numeric_limits<double>::infinity();
                    }
                    c.edges_of(i, i + length, need, edges[here]);
                    for (const Edge &e : edges[here]) {
                        if (e.left == none) continue;
                        const double around = out[c.find(here, e.head)] + e.logp;
                        out[e.left] = std::max(out[e.left], around + c.items_[e.right].top);
                        out[e.right] = std::max(out[e.right], around + c.items_[e.left].top);
                    }
                }
        }
    };

    // --- the forest of whole productions ------------------------------------------------------------------------
    // A node is an item, and where its symbol is in a unary cycle, also the symbols of that cycle passed above it.
    class Unpacked {
      public:
        Unpacked(Chart &chart, double threshold, std::size_t max_edges, Forest::Parts &parts)
            : c_(chart), outside_(chart, threshold), max_edges_(max_edges), parts_(parts) {
            const std::size_t n = c_.size();
            word_.assign(n, none), label_of_.assign(c_.g_.size(), none);
            states_.resize(c_.cell_count());
            const std::size_t whole = cell(0, n);
            std::vector<std::pair<Id, double>> roots;
            for (const auto &[symbol, logp] : c_.g_.start)
                if (const std::int64_t k = c_.find(whole, symbol); k != none && logp + c_.items_[k].top >= outside_.least)
                    roots.push_back({state(whole, k, {}, logp), logp});
            if (c_.g_.start.size() == 1 && c_.g_.start[0].second == 0)
                parts_.root = roots[0].first;
            else {
                const Id nameless = static_cast<Id>(parts_.labels.size());
                parts_.labels.push_back("");
                parts_.root = parts_.add_node(nameless, 0, static_cast<Id>(n), false);
                for (const auto &[node, logp] : roots) add_edge(parts_.root, &node, 1, logp);
            }
            for (std::size_t length = n; length > 0; --length)
                for (std::size_t i = 0; i + length <= n; ++i) expand(cell(i, i + length), i, i + length);
        }

      private:
        struct State {
            std::int64_t item;
            std::vector<Id> passed; // sorted
            double out;
            Id node;
        };
        // In the order in which they are worked on: heads before children.
        using Key = std::tuple<Id, std::size_t, std::int64_t, std::vector<Id>>;

        Id state(std::size_t cell, std::int64_t item, const std::vector<Id> &passed, double out) {
            const Id symbol = c_.items_[item].symbol;
            auto &here = states_[cell];
            const auto [at, fresh] =
                here.emplace(Key{-c_.g_.component[symbol], passed.size(), item, passed}, State{item, passed, out, none});
            if (fresh) {
                const auto [i, j] = span(cell);
                Id &label = label_of_[symbol];
                if (label == none) label = static_cast<Id>(parts_.labels.size()), parts_.labels.push_back(c_.g_.labels[symbol]);
                at->second.node = parts_.add_node(label, static_cast<Id>(i), static_cast<Id>(j), false);
            } else
                at->second.out = std::max(at->second.out, out);
            return at->second.node;
        }
        Id word(std::size_t i) {
            if (word_[i] == none) {
                const Id label = static_cast<Id>(parts_.labels.size());
                parts_.labels.push_back(c_.sentence_.words[i]);
                word_[i] = parts_.add_node(label, static_cast<Id>(i), static_cast<Id>(i + 1), true);
            }
            return word_[i];
        }
        void add_edge(Id head, const Id *tails, std::size_t n, double logp) {
            if (parts_.head.size() >= max_edges_)
                throw std::length_error("the forest has more than " + std::to_string(max_edges_) +
                                        " hyper-edges: prune it (prune=8.0), or use a smaller grammar");
            if ((++work_ & 0xFFFF) == 0) c_.check_();
            parts_.add_edge(head, tails, n, logp);
        }

        void expand(std::size_t here, std::size_t i, std::size_t) {
            const Grammar &g = c_.g_;
            for (auto at = states_[here].begin(); at != states_[here].end(); ++at) { // grows behind `at` only
                const State s = at->second;
                const Id symbol = c_.items_[s.item].symbol;
                for (const Grammar::Unary *u = g.by_head.begin(symbol); u < g.by_head.end(symbol); ++u) {
                    const std::int64_t child = c_.find(here, u->symbol);
                    if (child == none || s.out + u->logp + c_.items_[child].top < outside_.least) continue;
                    std::vector<Id> passed;
                    if (g.component[u->symbol] == g.component[symbol]) {
                        if (std::binary_search(s.passed.begin(), s.passed.end(), u->symbol)) continue;
                        passed = s.passed;
                        passed.insert(std::upper_bound(passed.begin(), passed.end(), symbol), symbol);
                    }
                    const Id node = state(here, child, passed, s.out + u->logp);
                    add_edge(s.node, &node, 1, u->logp);
                }
                if (c_.items_[s.item].base == impossible) continue;
                const auto [first, last] = of_head(outside_.edges[here], symbol);
                for (std::size_t k = first; k < last; ++k) {
                    const Edge &edge = outside_.edges[here][k];
                    if (s.out + edge.score < outside_.least) continue;
                    if (edge.left == none) {
                        const Id leaf = word(i);
                        add_edge(s.node, &leaf, 1, edge.logp);
                    } else
                        splice(s, edge);
                }
            }
        }

        // One edge of the binarised grammar, with every way of unfolding the hidden symbols on its left.
        void splice(const State &s, const Edge &edge) {
            struct Partial {
                std::int64_t left;
                double logp, score;             // score: of the whole edge, with the best of what is not unfolded yet
                std::vector<std::int64_t> rest; // items, from the right
            };
            std::vector<Partial> open{{edge.left, edge.logp, edge.score, {edge.right}}};
            std::vector<std::int64_t> items;
            std::vector<Id> tails;
            while (!open.empty()) {
                const Partial p = std::move(open.back());
                open.pop_back();
                const Item &left = c_.items_[p.left];
                if (g().hidden(left.symbol)) {
                    const std::size_t lc = c_.cell_of(p.left);
                    const auto [first, last] = of_head(outside_.edges[lc], left.symbol);
                    for (std::size_t k = last; k-- > first;) {
                        const Edge &inner = outside_.edges[lc][k];
                        const double score = p.score - left.top + inner.score;
                        if (s.out + score < outside_.least) continue;
                        Partial next{inner.left, p.logp + inner.logp, score, p.rest};
                        next.rest.push_back(inner.right);
                        open.push_back(std::move(next));
                    }
                    continue;
                }
                items = p.rest;
                items.push_back(p.left);
                std::reverse(items.begin(), items.end());
                tails.clear();
                for (std::int64_t item : items) {
                    const std::size_t cell = c_.cell_of(item);
                    if (c_.items_[item].symbol >= g().first_word)
                        tails.push_back(word(span(cell).first));
                    else
                        tails.push_back(state(cell, item, {}, s.out + p.score - c_.items_[item].top));
                }
                add_edge(s.node, tails.data(), tails.size(), p.logp);
            }
        }
        const Grammar &g() const { return c_.g_; }

        Chart &c_;
        Outside outside_;
        std::size_t max_edges_, work_ = 0;
        Forest::Parts &parts_;
        std::vector<Id> word_, label_of_;
        std::vector<std::map<Key, State>> states_;
    };

    std::shared_ptr<const Grammar> owner_;
    const Grammar &g_;
    Sentence sentence_;
    void (*check_)();
    std::vector<Item> items_;
    std::vector<std::int64_t> first_, last_; // of each cell
    std::vector<double> most_;               // the best score in each cell of a symbol that can be a right child
    double best_ = impossible;
    std::vector<std::int64_t> where_;
    std::vector<double> bound_, farthest_; // of each item; of each cell
    std::vector<Id> right_here_;
};

} // namespace treelet
