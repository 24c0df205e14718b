// The tagging kernel of Collins & Duffy (2001): contiguous pieces of tag sequences, each tag with
// or without its word, over a whole matrix at once.
//
//   C(i,j) = lam * (1 + [same word]) * (1 + C(i+1, j+1))      if the tags are equal, else 0
//   K      = sum over all positions i of one sequence and j of the other
//
// A sequence is a chain in the store: a position is a node with the tag as its label, over the word
// and the next position. Equal suffixes are therefore one node, and as for trees K = F C F' over
// distinct suffixes.
//
// If the next tags differ, C = lam * (1 + [same word]). That part is a product of counts of tags,
// and of tags with words. The other pairs agree in at least two tags. Suffixes that begin with the
// same two tags are in one bucket.
#pragma once
#include "key_numbers.hpp"
#include "node_loop.hpp"

namespace treelet {

// A node as a position of a chain, or as nothing. Stores of other trees do not cause an error.
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

template <class Num> struct TaggingValues { // C(u, v) without its constant part, for the columns of a bucket
    Id bucket = none;
    std::vector<Num> value;
    void clear() { value.clear(); }
    std::size_t bytes() const { return value.capacity() * sizeof(Num); }
};

template <class Num> class TaggingColumns : public NodeLoop<TaggingColumns<Num>, NodeScratch<Num, TaggingValues<Num>>> {
    using Values = TaggingValues<Num>;
    using Loop = NodeLoop<TaggingColumns<Num>, NodeScratch<Num, Values>>;

  public:
    TaggingColumns(Targets targets, Num lam) : Loop(targets.size()), store_(*targets.store), factor_{lam, lam + lam} {
        tags_.build(targets.weights, tags_of(store_));
        words_.build(targets.weights, [&](Id node, double weight, auto add) {
            if (const Position at(store_, node); at.tag != none) add(word_keys_.add({at.tag, at.word}), weight);
        });
        index_suffixes(targets.weights);
    }

    // lam * (shared tags + shared tags with words)
    template <class Block> void constant_part(Block &b, std::size_t r, Num *sums) const {
        const Num lam = factor_[0];
        tags_.add(b.rows, b.first + r, lam, b.s.seen, b.last, sums, b.pulse, tags_of(b.store));
        words_.add(b.rows, b.first + r, lam, b.s.seen, b.last, sums, b.pulse, [&](Id node, double weight, auto add) {
            if (const Position at(b.store, node); at.tag != none) add(word_keys_.find({at.tag, at.word}), weight);
        });
    }

    // Computes the row C(u, .) - lam * (1 + [same word]) from that of the next position, and adds
    // its sum to the matrix.
    template <class Block> void correct_node(Block &b, std::size_t i) const {
        const Position at(b.store, b.s.nodes.node[i]);
        if (at.next == none) return;
        const Id p = pair_keys_.find({at.tag, b.store.label(at.next)});
        if (p == none) return;
        const Bucket &bucket = bucket_[p];
        const Id size = grown_ ? bucket.size() : up_to(b.limit, bucket.node.data(), bucket.size());
        if (size == 0) return;
        b.pulse.add(4 * static_cast<std::size_t>(size));
        const Values &known = b.s.kept[static_cast<std::size_t>(b.s.index[at.next])];
        Values &row = b.s.kept.make(i);
        row.bucket = p;
        row.value.resize(static_cast<std::size_t>(size));
        Num *const value = row.value.data();

        const Id word = at.word, next_word = Position(b.store, at.next).word;
        const Id *const words = bucket.word.data(), *const next_words = bucket.next_word.data();
        const Id *const ranks = bucket.next_rank.data(), *const buckets = bucket.next_bucket.data();
        // C(i,j) - its constant = lam (1 + [same word]) C(i+1, j+1): Collins & Duffy (2001), section 2, in words
        if (known.value.empty())
            for (Id r = 0; r < size; ++r) value[r] = factor_[words[r] == word] * factor_[next_words[r] == next_word];
        else
            for (Id r = 0; r < size; ++r) {
                Num inner = factor_[next_words[r] == next_word];
                if (buckets[r] == known.bucket) inner += known.value[ranks[r]];
                value[r] = factor_[words[r] == word] * inner;
            }

        const FirstPosting *const posting = bucket.first.data();
        for (const RowBlock::Occurrence &o : b.s.nodes.held(i)) {
            Num *const sums = b.sums(o.row);
            const Num count(o.count);
            for (Id r = 0; r < size; ++r)
                posting[r].add(postings_, static_cast<Id>(bucket.start + r), count * value[r], b.last, sums);
        }
    }

    // Adds to the weights of the only target, which must contain the nodes. Suffixes become columns
    // when they are first added, so suffixes without weight cost nothing.
    void add(const Id *node, const double *weight, std::size_t n, double scale) {
        for (std::size_t i = 0; i < n; ++i) {
            const Position at(store_, node[i]);
            if (at.tag == none) continue;
            tags_.grow(at.tag, scale * weight[i]);
            words_.grow(word_keys_.find({at.tag, at.word}), scale * weight[i]);
            if (at.next == none) continue;
            if (rank_of_[node[i]] == none) add_column(node[i], at), grown_ = true;
            bucket_of(at).first[rank_of_[node[i]]].weight += scale * weight[i];
        }
    }

    static Memory estimate(Targets targets, Num) {
        const Store &store = *targets.store;
        const NodeWeights &w = targets.weights;
        KeyNumbers<2> word_keys, pair_keys;
        const Memory tags = CountProduct::estimate(w, tags_of(store));
        Memory out = CountProduct::estimate(w, [&](Id node, double weight, auto add) {
            if (const Position at(store, node); at.tag != none) add(word_keys.add({at.tag, at.word}), weight);
        });
        std::vector<char> column(store.size(), 0);
        std::vector<std::size_t> bucket;
        std::size_t columns = 0, entries = 0;
        for (Id node : w.node) {
            const Position at(store, node);
            if (at.next == none) continue;
            ++entries;
            if (column[node]) continue;
            column[node] = 1, ++columns;
            const auto p = static_cast<std::size_t>(pair_keys.add({at.tag, store.label(at.next)}));
            if (p >= bucket.size()) bucket.resize(p + 1, 0);
            ++bucket[p];
        }
        const Memory postings = Postings::estimate(columns, entries);
        out.index += tags.index + bytes_of(word_keys) + bytes_of(pair_keys) + postings.index + bytes_grown<Bucket>(bucket.size()) +
                     store.size() * sizeof(Id);
        for (std::size_t size : bucket) out.index += bytes_grown<FirstPosting>(size) + 5 * bytes_grown<Id>(size);
        out.working = std::max(
            {out.working, tags.working, postings.working, Loop::working(targets.size(), store.size()) + columns * sizeof(Num)});
        return out;
    }
    std::size_t bytes() const {
        std::size_t buckets = bytes_of(bucket_);
        for (const Bucket &bucket : bucket_) buckets += bucket.bytes();
        return bytes_of(tags_) + bytes_of(word_keys_) + bytes_of(words_) + bytes_of(pair_keys_) + buckets + bytes_of(rank_of_) +
               bytes_of(postings_);
    }

  private:
    struct Bucket {             // the columns with the same first two tags; ids are ascending, except those added later
        std::int64_t start = 0; // number of the first column
        std::vector<Id> node, word, next_word;  // the first two words
        std::vector<Id> next_bucket, next_rank; // the column of the suffix after the first tag; none if there is none
        std::vector<FirstPosting> first;
        Id size() const { return static_cast<Id>(node.size()); }
        std::size_t bytes() const {
            std::size_t ids = bytes_of(first);
            for (const auto *column : {&node, &word, &next_word, &next_bucket, &next_rank}) ids += bytes_of(*column);
            return ids;
        }
    };

    static auto tags_of(const Store &store) {
        return [&store](Id node, double weight, auto add) {
            if (const Id tag = Position(store, node).tag; tag != none) add(tag, weight);
        };
    }
    Bucket &bucket_of(const Position &at) { return bucket_[pair_keys_.find({at.tag, store_.label(at.next)})]; }

    // Columns are the distinct suffixes of at least two positions that have a weight, or that
    // continue such a suffix.
    void index_suffixes(const NodeWeights &w) {
        std::vector<char> present(store_.size(), 0);
        for (std::size_t i = 0; i < w.node.size(); ++i)
            if (w.weight[i] != 0) present[w.node[i]] = 1;
        for (Id v = static_cast<Id>(store_.size()) - 1; v >= 0; --v)
            if (present[v])
                if (const Id next = Position(store_, v).next; next != none) present[next] = 1;
        rank_of_.assign(store_.size(), none);
        for (Id v = 0; v < static_cast<Id>(store_.size()); ++v)
            if (present[v])
                if (const Position at(store_, v); at.next != none) add_column(v, at);
        std::int64_t columns = 0;
        for (Bucket &bucket : bucket_) bucket.start = columns, columns += bucket.size();
        postings_.build(w.rows(),
                        by_node(w,
                                [&](Id node, double weight, auto add) {
                                    if (weight != 0 && rank_of_[node] != none)
                                        add(static_cast<Id>(bucket_of(Position(store_, node)).start + rank_of_[node]), weight);
                                }),
                        static_cast<std::size_t>(columns));
        for (Bucket &bucket : bucket_)
            for (Id r = 0; r < bucket.size(); ++r) bucket.first[r] = {postings_, static_cast<Id>(bucket.start + r)};
    }

    void add_column(Id v, const Position &at) {
        const Id p = pair_keys_.add({at.tag, store_.label(at.next)});
        if (bucket_.size() <= static_cast<std::size_t>(p)) bucket_.emplace_back();
        Bucket &bucket = bucket_[p];
        const Position next(store_, at.next);
        rank_of_[v] = bucket.size();
        bucket.node.push_back(v), bucket.word.push_back(at.word), bucket.next_word.push_back(next.word);
        bucket.next_rank.push_back(rank_of_[at.next]); // smaller ids come first
        bucket.next_bucket.push_back(rank_of_[at.next] == none ? none : pair_keys_.find({next.tag, store_.label(next.next)}));
        bucket.first.emplace_back();
    }

    const Store &store_;
    Num factor_[2]; // factor of a position: lam, and 2 lam if the words are equal too
    CountProduct tags_;
    KeyNumbers<2> word_keys_; // (tag, word)
    CountProduct words_;
    KeyNumbers<2> pair_keys_; // (tag, next tag)
    std::vector<Bucket> bucket_;
    std::vector<Id> rank_of_; // node -> its rank in its bucket, none if it is not a column
    bool grown_ = false;      // whether ids are no longer ascending
    Postings postings_;
};

} // namespace treelet
