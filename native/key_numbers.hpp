// Numbers keys of a few ids in the order of insertion, and groups entries by such keys.
#pragma once
#include "store.hpp"
#include <array>
#include <span>

namespace treelet {

template <std::size_t n> class KeyNumbers {
  public:
    using Key = std::array<Id, n>;
    Id add(const Key &key) {
        Id number = find(key);
        if (number == none) {
            number = static_cast<Id>(keys_.size());
            keys_.push_back(key);
            table_.insert(hash(key), number);
        }
        return number;
    }
    Id find(const Key &key) const {
        return table_.find(hash(key), [&](Id number) { return keys_[number] == key; });
    }
    std::size_t size() const { return keys_.size(); }
    template <class Self> static auto parts(Self &self) { return std::tie(self.table_, self.keys_); }
    static std::size_t bytes_for(std::size_t keys) { return IdTable::bytes_for(keys) + bytes_grown<Key>(keys); }
    static std::uint64_t hash(const Key &key) {
        auto hash = static_cast<std::uint64_t>(key[0]);
        for (std::size_t k = 1; k < n; ++k) hash = mix(hash, static_cast<std::uint64_t>(key[k]));
        return hash;
    }

  private:
    IdTable table_;
    Column<Key> keys_;
};

// Maps a key to its entries, which are contiguous and in the order of insertion.
template <std::size_t n, class Entry> class Groups {
  public:
    using Key = typename KeyNumbers<n>::Key;

    // `each(add)` calls add(key, entry) for all entries. It is called twice and must repeat the
    // same calls.
    template <class Each> void build(Each each) {
        std::vector<Id> number; // number of each entry's key
        each([&](const Key &key, const Entry &) { number.push_back(keys_.add(key)); });
        start_.assign(keys_.size() + 1, 0);
        for (Id key : number) ++start_[static_cast<std::size_t>(key) + 1];
        for (std::size_t key = 0; key < keys_.size(); ++key) start_[key + 1] += start_[key];
        std::vector<std::int64_t> next(start_.begin(), start_.end() - 1);
        entry_.resize(number.size());
        std::size_t i = 0;
        each([&](const Key &, const Entry &entry) { entry_[static_cast<std::size_t>(next[number[i++]]++)] = entry; });
    }
    // Sorts the entries of each key in another order.
    template <class Before> void sort(Before before) {
        for (std::size_t key = 0; key < keys_.size(); ++key)
            std::stable_sort(entry_.begin() + start_[key], entry_.begin() + start_[key + 1], before);
    }
    std::span<const Entry> find(const Key &key) const {
        const Id number = keys_.find(key);
        if (number == none) return {};
        return {entry_.data() + start_[number], entry_.data() + start_[number + 1]};
    }
    template <class Self> static auto parts(Self &self) { return std::tie(self.keys_, self.start_, self.entry_); }
    bool consistent() const {
        return start_.size() == keys_.size() + 1 && start_.back() == static_cast<std::int64_t>(entry_.size());
    }

    // Estimates an upper bound for the memory of build. `each` is called twice.
    template <class Each> static Memory estimate(Each each) {
        std::size_t entries = 0;
        each([&](const Key &, const Entry &) { ++entries; });
        Distinct keys(entries);
        each([&](const Key &key, const Entry &) { keys.add(KeyNumbers<n>::hash(key)); });
        const std::size_t most = std::min(entries, keys.most());
        return {KeyNumbers<n>::bytes_for(most) + (most + 1) * sizeof(std::int64_t) + entries * sizeof(Entry),
                bytes_grown<Id>(entries) + most * sizeof(std::int64_t)};
    }

  private:
    KeyNumbers<n> keys_;
    Column<std::int64_t> start_;
    Column<Entry> entry_;
};

} // namespace treelet
