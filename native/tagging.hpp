// The tagging kernel of Collins & Duffy (2001): contiguous pieces of tag sequences, each tag with its word or
// without, over a whole matrix at once.
//
//   C(i,j) = lam * (1 + [same word]) * (1 + C(i+1, j+1))      if the tags are equal, else 0
//   K      = sum over all positions i of the one sequence and j of the other
//
// A sequence is a chain in the store: a position is a node with the tag as its label, over the word and the next
// position. So equal suffixes are one node, and as for trees K = F C F' over distinct suffixes.
//
// Where the next tags differ, C = lam * (1 + [same word]): that part is a product of counts of tags, and of tags with
// words. The other pairs agree in two tags at least; suffixes that begin with these two are in one bucket.
#pragma once
#include "matrix_rows.hpp"
#include "pair_numbers.hpp"
#include "pulse.hpp"
#include "row_block.hpp"
#include "scratch_pool.hpp"
#include "totals.hpp"

namespace treelet {

// What the kernel sees of a node: a position of a chain, or nothing. Stores of other trees do no harm.
struct Position {
    Id tag = none, word = none, next = none;

    Position(const Store &store, Id node) {
        const std::size_t arity = store.arity(node);
        if (arity == 0) return; // a word
        const Id *kids = store.children(node);
        tag = store.label(node);
        word = store.label(kids[0]);
        if (arity > 1 && store.arity(kids[1]) > 0) next = kids[1];
    }
};

template <class Num> class TaggingColumns {
  public:
    TaggingColumns(Targets targets, Num lam) : targets_(std::move(targets)), factor_{lam, lam + lam} {
        index_counts();
        index_suffixes();
    }

    void rows(Rows &rows, void (*check)()) {
        std::unique_ptr<Scratch> scratch = scratch_.take(rows.store->size());
        Pulse pulse(check);
        for (std::size_t row = rows.begin; row < rows.end;) {
            scratch->block.build(*rows.store, *rows.trees, row, rows.end, scratch->index);
            block(rows, *scratch, pulse);
            row += scratch->block.rows;
            scratch->block.forget(scratch->index);
        }
        scratch_.give(std::move(scratch));
    }

    // Adds to the weights of the only target, which must hold the nodes. Suffixes become columns when they are first added:
    // what has no weight yet costs nothing.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        const Store &store = *targets_.store;
        for (std::size_t i = 0; i < n; ++i) {
            const Position at(store, node[i]);
            if (at.tag == none) continue;
            tags_.grow(local_tag(at.tag), scale * weight[i]);
            words_.grow(word_keys_.find({at.tag, at.word}), scale * weight[i]);
            if (at.next == none) continue;
            if (rank_of_[node[i]] == none) add_column(store, node[i], at), grown_ = true;
            Bucket &bucket = bucket_[pair_keys_.find({at.tag, store.label(at.next)})];
            bucket.first[rank_of_[node[i]]].weight += scale * weight[i];
        }
    }

    std::size_t bytes() const {
        return columns_ * (5 * sizeof(Id) + sizeof(First)) + tags_.bytes() + words_.bytes() + postings_.bytes();
    }

  private:
    struct First { // a column's first posting, and how many more there are
        double weight;
        Id target, more;
    };
    struct Bucket {             // the columns with the same first two tags; ascending ids, but for those that were added later
        std::int64_t start = 0; // number of the first column
        std::vector<Id> node, word, next_word;  // the first two words
        std::vector<Id> next_bucket, next_rank; // the column of what follows the first tag; none if it is none
        std::vector<First> first;
        Id size() const { return static_cast<Id>(node.size()); }
    };
    struct RowValues { // C(u, v) without its constant part, for the columns of a bucket
        Id bucket = none;
        std::vector<Num> value;
    };
    struct Scratch {
        std::vector<Id> index;
        RowBlock block;
        std::vector<RowValues> row;  // per block node
        std::vector<RowValues> pool; // emptied ones, to reuse their memory
        std::vector<Num> sums;       // block rows x targets
        std::vector<std::pair<Id, double>> tags, words;
    };

    Id local_tag(Id label) const { return static_cast<std::size_t>(label) < local_.size() ? local_[label] : none; }

    void index_counts() {
        const Store &store = *targets_.store;
        const NodeWeights &w = targets_.weights;
        Id labels = 0; // not the store's: one that holds a single sequence has labels of another
        for (Id node : w.node) labels = std::max(labels, store.label(node) + 1);
        local_.assign(static_cast<std::size_t>(labels), none);
        Id locals = 0;
        Tally tags, words;
        for (std::size_t t = 0; t < w.rows(); ++t) {
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) {
                const Position at(store, w.node[i]);
                if (at.tag == none) continue;
                if (local_[at.tag] == none) local_[at.tag] = locals++;
                tags.add(local_[at.tag], w.weight[i]);
                words.add(word_keys_.add({at.tag, at.word}), w.weight[i]);
            }
            tags.next(static_cast<Id>(t)), words.next(static_cast<Id>(t));
        }
        tags_.build(tags.triples, static_cast<std::size_t>(locals), w.rows());
        words_.build(words.triples, word_keys_.size(), w.rows());
    }

    // Columns are the distinct suffixes of two positions or more that have a weight, or that one of those goes on with.
    void index_suffixes() {
        const Store &store = *targets_.store;
        const NodeWeights &w = targets_.weights;
        std::vector<char> present(store.size(), 0);
        for (std::size_t i = 0; i < w.node.size(); ++i)
            if (w.weight[i] != 0) present[w.node[i]] = 1;
        for (Id v = static_cast<Id>(store.size()) - 1; v >= 0; --v)
            if (present[v])
                if (const Id next = Position(store, v).next; next != none) present[next] = 1;
        rank_of_.assign(store.size(), none);
        for (Id v = 0; v < static_cast<Id>(store.size()); ++v)
            if (present[v])
                if (const Position at(store, v); at.next != none) add_column(store, v, at);
        std::int64_t start = 0;
        for (Bucket &bucket : bucket_) bucket.start = start, start += bucket.size();
        std::vector<Postings::Triple> triples;
        for (std::size_t t = 0; t < w.rows(); ++t)
            for (std::int64_t i = w.start[t]; i < w.start[t + 1]; ++i) {
                if (w.weight[i] == 0 || rank_of_[w.node[i]] == none) continue;
                const Position at(store, w.node[i]);
                const Bucket &bucket = bucket_[pair_keys_.find({at.tag, store.label(at.next)})];
                triples.push_back({static_cast<Id>(bucket.start + rank_of_[w.node[i]]), static_cast<Id>(t), w.weight[i]});
            }
        postings_.build(triples, columns_);
        for (Bucket &bucket : bucket_)
            for (Id r = 0; r < bucket.size(); ++r) {
                const std::int64_t at = postings_.start[bucket.start + r], end = postings_.start[bucket.start + r + 1];
                if (at < end) bucket.first[r] = {postings_.weight[at], postings_.target[at], static_cast<Id>(end - at - 1)};
            }
    }

    void add_column(const Store &store, Id v, const Position &at) {
        const Id p = pair_keys_.add({at.tag, store.label(at.next)});
        if (bucket_.size() <= static_cast<std::size_t>(p)) bucket_.emplace_back();
        Bucket &bucket = bucket_[p];
        const Position next(store, at.next);
        rank_of_[v] = bucket.size();
        bucket.node.push_back(v), bucket.word.push_back(at.word), bucket.next_word.push_back(next.word);
        bucket.next_rank.push_back(rank_of_[at.next]); // smaller ids come first
        bucket.next_bucket.push_back(rank_of_[at.next] == none ? none : pair_keys_.find({next.tag, store.label(next.next)}));
        bucket.first.push_back({0, 0, 0});
        ++columns_;
    }

    void block(Rows &rows, Scratch &s, Pulse &pulse) {
        const Store &store = *rows.store;
        const RowBlock &b = s.block;
        const std::size_t n = targets_.size();
        const std::size_t last_row = b.first_row + b.rows - 1;
        const std::size_t last = rows.targets(last_row, n); // targets compared with some row of the block
        const Id limit = rows.node_limit(last_row);
        if (s.sums.size() < b.rows * n) s.sums.resize(b.rows * n);
        std::fill_n(s.sums.begin(), b.rows * n, Num(0));
        if (s.row.size() < b.node.size()) s.row.resize(b.node.size());
        for (std::size_t r = 0; r < b.rows; ++r) add_constant_part(rows, b.first_row + r, s, s.sums.data() + r * n, last, pulse);
        for (std::size_t i = 0; i < b.node.size(); ++i) {
            const Position at(store, b.node[i]);
            if (at.next == none) continue;
            const Id next = s.index[at.next];
            correct(store, s, i, at, s.row[next], limit, last, pulse);
            if (--s.block.uses[next] == 0) release(s, next);
            if (b.uses[i] == 0) release(s, static_cast<Id>(i));
        }
        for (std::size_t i = 0; i < b.node.size(); ++i) release(s, static_cast<Id>(i));
        for (std::size_t r = 0; r < b.rows; ++r) {
            const std::size_t row = b.first_row + r;
            write_row(rows, row, s.sums.data() + r * n, rows.targets(row, n));
        }
    }

    static void release(Scratch &s, Id i) {
        RowValues &row = s.row[i];
        if (row.value.capacity() == 0) return;
        row.value.clear();
        s.pool.push_back(std::move(row));
        row = RowValues();
    }

    // lam * (tags in common + tags with their words in common)
    void add_constant_part(const Rows &rows, std::size_t row, Scratch &s, Num *sums, std::size_t last, Pulse &pulse) const {
        s.tags.clear(), s.words.clear();
        for (std::int64_t i = rows.trees->start[row]; i < rows.trees->start[row + 1]; ++i) {
            const Position at(*rows.store, rows.trees->node[i]);
            if (at.tag == none) continue;
            if (const Id tag = local_tag(at.tag); tag != none) s.tags.push_back({tag, rows.trees->weight[i]});
            if (const Id word = word_keys_.find({at.tag, at.word}); word != none) s.words.push_back({word, rows.trees->weight[i]});
        }
        for (const auto &[seen, postings] : {std::pair(&s.tags, &tags_), std::pair(&s.words, &words_)})
            each_total(*seen, [&, postings = postings](Id key, double count) {
                pulse.add(postings->length(key));
                postings->add(key, factor_[0] * Num(count), last, sums);
            });
    }

    // The row C(u, .) - lam * (1 + [same word]), from that of the next position, and its sum into the matrix.
    void correct(const Store &store, Scratch &s, std::size_t i, const Position &at, const RowValues &known, Id limit,
                 std::size_t last, Pulse &pulse) {
        const Id p = pair_keys_.find({at.tag, store.label(at.next)});
        if (p == none) return;
        const Bucket &bucket = bucket_[p];
        const Id size =
            grown_ ? bucket.size()
                   : static_cast<Id>(std::upper_bound(bucket.node.begin(), bucket.node.end(), limit) - bucket.node.begin());
        if (size == 0) return;
        pulse.add(static_cast<std::size_t>(size));
        RowValues &row = s.row[i];
        if (!s.pool.empty()) row = std::move(s.pool.back()), s.pool.pop_back();
        row.bucket = p;
        row.value.resize(static_cast<std::size_t>(size));
        Num *const value = row.value.data();

        const Id word = at.word, next_word = Position(store, at.next).word;
        const Id *const words = bucket.word.data(), *const next_words = bucket.next_word.data();
        const Id *const ranks = bucket.next_rank.data(), *const buckets = bucket.next_bucket.data();
        if (known.value.empty())
            for (Id r = 0; r < size; ++r) value[r] = factor_[words[r] == word] * factor_[next_words[r] == next_word];
        else
            for (Id r = 0; r < size; ++r) {
                Num inner = factor_[next_words[r] == next_word];
                if (buckets[r] == known.bucket) inner += known.value[ranks[r]];
                value[r] = factor_[words[r] == word] * inner;
            }

        const RowBlock &b = s.block;
        const First *const posting = bucket.first.data();
        for (std::int64_t o = b.start[i]; o < b.start[i + 1]; ++o) {
            Num *const sums = s.sums.data() + static_cast<std::size_t>(b.occurrence[o].row) * targets_.size();
            const Num count(b.occurrence[o].count);
            for (Id r = 0; r < size; ++r) {
                if (posting[r].more)
                    postings_.add(static_cast<Id>(bucket.start + r), count * value[r], last, sums);
                else // beyond `last` it is never read
                    sums[posting[r].target] += count * value[r] * Num(posting[r].weight);
            }
        }
    }

    Targets targets_;
    Num factor_[2];         // of a position: lam, and 2 lam where the words are equal too
    std::vector<Id> local_; // label -> local tag, none if no column has it
    PairNumbers word_keys_; // (tag, word)
    DensePostings tags_, words_;
    PairNumbers pair_keys_; // (tag, next tag)
    std::vector<Bucket> bucket_;
    std::vector<Id> rank_of_; // node -> its place in its bucket, none if it is no column
    std::size_t columns_ = 0;
    bool grown_ = false; // ids no longer ascend
    Postings postings_;
    ScratchPool<Scratch> scratch_;
};

} // namespace treelet
