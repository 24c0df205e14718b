// The core data structure of treelet: a hash-consed store of ordered labeled trees.
//
// Equal complete subtrees, wherever they occur, are one node. Children always have smaller ids than
// their parents, so ascending id order is a bottom-up order. Nodes are never changed or removed, so
// an id stays valid in every store that was grown from this one.
//
// A store can be grown over another store. It then begins with all nodes of that store, under the
// same ids, without a copy.
#pragma once
#include "bytes.hpp"
#include "portable.hpp"
#include "reach.hpp"
#include "segmented.hpp"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace treelet {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const Wide wide = wide_product(a ^ 0x9E3779B97F4A7C15ull, b ^ 0xD6E8FEB86659FD93ull);
    return wide.low ^ wide.high;
}

inline std::uint64_t hash_text(std::string_view text) {
    std::uint64_t hash = text.size();
    const char *p = text.data();
    std::size_t left = text.size();
    for (; left >= 8; left -= 8, p += 8) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        hash = mix(hash, word);
    }
    std::uint64_t tail = 0;
    std::memcpy(&tail, p, left);
    return mix(hash, tail);
}

// Open-addressing table from content to id. The content is stored elsewhere and compared by `same`.
// Half of a hash is enough, because there are fewer than 2^31 ids, and keeps a slot to eight bytes.
class IdTable {
  public:
    template <class Same> Id find(std::uint64_t hash, Same same) const {
        if (slots_.empty()) return none;
        const std::uint32_t half = half_of(hash);
        for (std::size_t i = half & mask();; i = (i + 1) & mask()) {
            const Slot &slot = slots_[i];
            if (slot.id == none) return none;
            if (slot.half == half && same(slot.id)) return slot.id;
        }
    }

    // The content must not be in the table yet.
    void insert(std::uint64_t hash, Id id) {
        if ((used_ + 1) * 2 > slots_.size()) grow();
        place({half_of(hash), id});
        ++used_;
    }
    // Inserts many ids, numbered from 0, that are not in the table yet. Memory is prefetched some
    // steps ahead.
    void insert_all(const std::vector<std::uint64_t> &hashes) {
        constexpr std::size_t ahead = 16;
        reserve(used_ + hashes.size());
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            if (i + ahead < hashes.size()) prefetch(&slots_[half_of(hashes[i + ahead]) & mask()]);
            insert(hashes[i], static_cast<Id>(i));
        }
    }
    // Reserves room for n entries in total.
    void reserve(std::size_t n) {
        if (bytes_for(n) > slots_.size() * sizeof(Slot)) resize(bytes_for(n) / sizeof(Slot));
    }
    std::size_t size() const { return used_; }
    template <class Self> static auto parts(Self &self) { return std::tie(self.slots_, self.used_); }
    // A search ends at a free slot, so there must be one.
    bool consistent() const { return slots_.empty() ? used_ == 0 : std::has_single_bit(slots_.size()) && used_ < slots_.size(); }
    static std::size_t bytes_for(std::size_t n) { return n ? std::max(std::size_t{64}, std::bit_ceil(2 * n)) * sizeof(Slot) : 0; }

  private:
    struct Slot {
        std::uint32_t half = 0;
        Id id = none;
    };
    static std::uint32_t half_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ (hash >> 32)); }
    std::size_t mask() const { return slots_.size() - 1; }
    void place(Slot slot) {
        std::size_t i = slot.half & mask();
        while (slots_[i].id != none) i = (i + 1) & mask();
        slots_[i] = slot;
    }
    void grow() { resize(slots_.empty() ? 64 : slots_.size() * 2); }
    void resize(std::size_t n) {
        Column<Slot> old;
        old.resize(n);
        std::swap(old, slots_);
        for (const Slot &slot : std::as_const(old))
            if (slot.id != none) place(slot);
    }
    Column<Slot> slots_;
    std::size_t used_ = 0;
};

// A table that extends another table; see Segmented.
class SegmentedTable {
  public:
    static SegmentedTable over(const SegmentedTable &base) {
        SegmentedTable out;
        if (base.base_)
            out = base;
        else
            out.base_ = &base.own_;
        return out;
    }
    template <class Same> Id find(std::uint64_t hash, Same same) const {
        const Id found = base_ ? base_->find(hash, same) : none;
        return found != none ? found : own_.find(hash, same);
    }
    void insert(std::uint64_t hash, Id id) { own_.insert(hash, id); }
    void insert_all(const std::vector<std::uint64_t> &hashes) { own_.insert_all(hashes); }
    void reserve(std::size_t n) { own_.reserve(n); }
    std::size_t size() const { return own_.size() + (base_ ? base_->size() : 0); }
    template <class Self> static auto parts(Self &self) { return std::tie(self.own_); }

  private:
    const IdTable *base_ = nullptr;
    IdTable own_;
};

// A number that no other object has, not even a copy. Cached data use it to identify their source.
class Serial {
  public:
    Serial() : value_(next()) {}
    Serial(const Serial &) : value_(next()) {}
    Serial &operator=(const Serial &) { return value_ = next(), *this; }
    operator std::uint64_t() const { return value_; }

  private:
    static std::uint64_t next() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }
    std::uint64_t value_;
};

inline Id next_id(std::size_t n) {
    if (n >= static_cast<std::size_t>(std::numeric_limits<Id>::max()))
        throw std::length_error("The bank has more than 2,147,483,646 distinct parts or labels. Split the bank.");
    return static_cast<Id>(n);
}

class Store {
  public:
    Store() = default;
    // Grows over `base`, which must not change any more.
    explicit Store(const std::shared_ptr<const Store> &base)
        : base_(base->base_ ? base->base_ : base), label_bytes_(Segmented<char>::over(base->label_bytes_)),
          label_end_(Segmented<std::size_t>::over(base->label_end_)), label_(Segmented<Id>::over(base->label_)),
          child_(Segmented<Id>::over(base->child_)), production_(Segmented<Id>::over(base->production_)),
          height_(Segmented<Id>::over(base->height_)), production_node_(Segmented<Id>::over(base->production_node_)),
          child_start_(Segmented<std::int64_t>::over(base->child_start_)), size_(Segmented<double>::over(base->size_)),
          flat_(Segmented<char>::over(base->flat_)), labels_(SegmentedTable::over(base->labels_)),
          nodes_(SegmentedTable::over(base->nodes_)), productions_(SegmentedTable::over(base->productions_)) {}

    std::uint64_t serial() const { return serial_; }
    // The serial number of the base, or of this store if it has no base. Productions with numbers
    // below `base_productions` are the same in all stores that grow over one base.
    std::uint64_t base_serial() const { return base_ ? base_->serial_ : serial_; }
    std::size_t base_productions() const { return (base_ ? *base_ : *this).production_count(); }

    // --- labels -------------------------------------------------------------------------------------------
    Id add_label(std::string_view text) {
        const std::uint64_t hash = hash_text(text);
        Id id = find_label(text, hash);
        if (id != none) return id;
        id = next_id(label_end_.size());
        label_bytes_.append(text.begin(), text.end());
        label_end_.push_back(label_bytes_.size());
        labels_.insert(hash, id);
        return id;
    }
    // Returns none if there is no such label.
    Id find_label(std::string_view text) const { return find_label(text, hash_text(text)); }
    void append_label(std::string_view text) { // must not exist yet
        labels_.insert(hash_text(text), next_id(label_end_.size()));
        label_bytes_.append(text.begin(), text.end());
        label_end_.push_back(label_bytes_.size());
    }
    std::string_view label_text(Id id) const {
        const std::size_t start = id == 0 ? 0 : label_end_[id - 1];
        return {label_bytes_.from(start), label_end_[id] - start};
    }
    std::size_t label_count() const { return label_end_.size(); }

    // --- nodes --------------------------------------------------------------------------------------------
    Id add_node(Id label, const Id *kids, std::size_t n) {
        const std::uint64_t hash = hash_node(label, kids, n);
        Id id = nodes_.find(hash, [&](Id other) {
            return label_[other] == label && arity(other) == n && std::equal(kids, kids + n, children(other));
        });
        if (id != none) return id;
        id = append(label, kids, n);
        nodes_.insert(hash, id);
        production_.push_back(n ? add_production(id) : none);
        return id;
    }
    // Adds a node that does not exist yet, with its production number, to a store that is rebuilt.
    // Returns false if the data are invalid. The node can be found only after all hashes have been
    // passed to `enter`.
    bool append_node(Id label, const Id *kids, std::size_t n, Id production, std::vector<std::uint64_t> &hashes) {
        const Id known = static_cast<Id>(production_count());
        if (n ? production < 0 || production > known : production != none) return false;
        const Id id = append(label, kids, n);
        hashes.push_back(hash_node(label, kids, n));
        production_.push_back(production);
        if (production == known) productions_.insert(hash_production(id), production), production_node_.push_back(id);
        return true;
    }
    void enter(const std::vector<std::uint64_t> &hashes) { nodes_.insert_all(hashes); }
    // Reserves memory for these total sizes.
    void reserve(std::size_t labels, std::size_t bytes, std::size_t nodes, std::size_t children) {
        label_bytes_.reserve(bytes), label_end_.reserve(labels), labels_.reserve(labels);
        label_.reserve(nodes), production_.reserve(nodes), height_.reserve(nodes), size_.reserve(nodes), flat_.reserve(nodes);
        child_start_.reserve(nodes + 1), child_.reserve(children);
    }
    std::size_t size() const { return label_.size(); }
    std::size_t child_count() const { return child_.size(); }
    Id label(Id node) const { return label_[node]; }
    std::size_t arity(Id node) const { return static_cast<std::size_t>(child_start_[node + 1] - child_start_[node]); }
    const Id *children(Id node) const { return child_.from(child_start_[node]); }
    // The position of the first child among the children of all nodes.
    std::int64_t child_start(Id node) const { return child_start_[node]; }
    Id production(Id node) const { return production_[node]; }
    Id height(Id node) const { return height_[node]; }
    double productions_below(Id node) const { return size_[node]; }
    // True for words and pre-terminals: no child has a production of its own.
    bool flat(Id node) const { return flat_[node]; }

    std::size_t production_count() const { return production_node_.size(); }
    // Returns none if there is no such production.
    Id find_production(Id label, const Id *kids, std::size_t n) const {
        return productions_.find(hash_node(label, kids, n), [&](Id other) {
            const Id twin = production_node_[other];
            if (label_[twin] != label || arity(twin) != n) return false;
            for (std::size_t i = 0; i < n; ++i)
                if (label_[children(twin)[i]] != kids[i]) return false;
            return true;
        });
    }

    static constexpr bool hidden(Id) { return false; } // see forest_store.hpp

    // Calls f(child, number of occurrences given the node), which is 1 in a tree.
    template <class F> void each_child(Id node, F f) const {
        const Id *kids = children(node);
        for (std::size_t k = 0, n = arity(node); k < n; ++k) f(kids[k], 1.0);
    }

    // Adds the nodes of `other` below `roots`, in the order of their numbers or of their
    // completion. Returns the ids of the roots in this store.
    std::vector<Id> absorb(const Store &other, const Id *roots, std::size_t n, bool by_number = true) {
        Marks place(other.size());
        const std::vector<Id> nodes = by_number ? below(other, roots, n, place) : completed(other, roots, n, place);
        Marks label_here(other.label_count());
        std::vector<Id> here(nodes.size()), kids, out(n, none);
        Pulse pulse;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            pulse.add(32);
            const Id theirs = other.label(nodes[i]);
            if (!label_here.has(theirs)) label_here.set(theirs, add_label(other.label_text(theirs)));
            kids.clear();
            other.each_child(nodes[i], [&](Id child, double) { kids.push_back(here[place[child]]); });
            here[i] = add_node(label_here[theirs], kids.data(), kids.size());
        }
        for (std::size_t i = 0; i < n; ++i)
            if (roots[i] != none) out[i] = here[place[roots[i]]];
        return out;
    }

    std::vector<Id> label_column() const { return label_.all(); }
    std::vector<std::int64_t> child_start_column() const { return child_start_.all(); }
    std::vector<Id> child_column() const { return child_.all(); }
    std::vector<Id> production_column() const { return production_.all(); }
    std::vector<Id> height_column() const { return height_.all(); }
    std::vector<double> size_column() const { return size_.all(); }

    // The columns of a store without a base; `whole` is false for others.
    template <class Self> static auto parts(Self &self) {
        return std::tie(self.label_bytes_, self.label_end_, self.label_, self.child_, self.production_, self.height_,
                        self.production_node_, self.child_start_, self.size_, self.flat_, self.labels_, self.nodes_,
                        self.productions_);
    }
    bool whole() const { return !base_ && label_end_.whole() && child_start_.whole(); }
    bool consistent() const {
        const std::size_t n = size();
        return label_bytes_.size() == (label_count() ? label_end_.back() : 0) && production_.size() == n && height_.size() == n &&
               size_.size() == n && flat_.size() == n && child_start_.size() == n + 1 && child_start_[0] == 0 &&
               child_start_.back() == static_cast<std::int64_t>(child_.size()) && labels_.size() == label_count() &&
               nodes_.size() == n && productions_.size() == production_count();
    }
    // Keeps the memory alive that the columns view.
    void keep(std::shared_ptr<const void> memory) { memory_ = std::move(memory); }

  private:
    Id find_label(std::string_view text, std::uint64_t hash) const {
        return labels_.find(hash, [&](Id other) { return label_text(other) == text; });
    }
    static std::uint64_t hash_node(Id label, const Id *kids, std::size_t n) {
        std::uint64_t hash = mix(static_cast<std::uint64_t>(label), n);
        for (std::size_t i = 0; i < n; ++i) hash = mix(hash, static_cast<std::uint64_t>(kids[i]));
        return hash;
    }
    std::uint64_t hash_production(Id node) const {
        const std::size_t n = arity(node);
        std::uint64_t hash = mix(static_cast<std::uint64_t>(label_[node]), n);
        for (std::size_t i = 0; i < n; ++i) hash = mix(hash, static_cast<std::uint64_t>(label_[children(node)[i]]));
        return hash;
    }

    // Appends all columns of a new node except its production.
    Id append(Id label, const Id *kids, std::size_t n) {
        const Id id = next_id(label_.size());
        label_.push_back(label);
        child_.append(kids, kids + n);
        child_start_.push_back(static_cast<std::int64_t>(child_.size()));
        // Height and size count productions. A word has none.
        Id height = 0;
        double size = n ? 1 : 0;
        bool flat = true;
        for (std::size_t i = 0; i < n; ++i) {
            height = std::max(height, height_[kids[i]]);
            size += size_[kids[i]];
            flat = flat && arity(kids[i]) == 0;
        }
        height_.push_back(n ? height + 1 : 0);
        size_.push_back(size);
        flat_.push_back(flat);
        return id;
    }

    // A production is a label with the ordered labels of the children. It does not distinguish
    // words from other nodes with the same label.
    Id add_production(Id node) {
        const std::size_t n = arity(node);
        const std::uint64_t hash = hash_production(node);
        Id id = productions_.find(hash, [&](Id other) {
            const Id twin = production_node_[other];
            if (label_[twin] != label_[node] || arity(twin) != n) return false;
            for (std::size_t i = 0; i < n; ++i)
                if (label_[children(twin)[i]] != label_[children(node)[i]]) return false;
            return true;
        });
        if (id != none) return id;
        id = next_id(production_node_.size());
        production_node_.push_back(node);
        productions_.insert(hash, id);
        return id;
    }

    std::shared_ptr<const Store> base_;  // keeps the store alive whose columns this one extends
    std::shared_ptr<const void> memory_; // keeps the memory alive that the columns view, if it belongs to somebody else
    Segmented<char> label_bytes_;
    Segmented<std::size_t> label_end_;
    Segmented<Id> label_, child_, production_, height_, production_node_;
    Segmented<std::int64_t> child_start_{0};
    Segmented<double> size_;
    Segmented<char> flat_;
    SegmentedTable labels_, nodes_, productions_;
    Serial serial_;
};

} // namespace treelet
