// The columns of a partial-tree matrix in groups with the same production, and the positions of
// their children.
//
// A production with many columns is one group, which is processed in one sweep. Most productions
// have few columns. Each of these columns is a group of its own. They follow the other columns of
// their label, ordered by id, so those up to a limit are contiguous.
#pragma once
#include "key_numbers.hpp"
#include "matrix_rows.hpp"
#include "similar.hpp"
#include <utility>

namespace treelet {

class PartialTreeIndex {
  public:
    struct Label { // the columns with this label: begin .. end, then one cell for its childless nodes
        Id begin, end;
        Id single;      // from here on, each column is a group of its own
        bool sparse;    // whether all columns are pre-terminals
        bool words;     // whether all columns are nodes over one word
        char unused[2]; // no byte is undefined, so equal data have equal checksums
        Id first_group, last_group;
        Id first_single() const { return last_group - (end - single); } // group
    };
    struct Group { // columns with the same production
        Id begin, size;
        Id arity, unused;
        std::int64_t children; // labelled_child_[children ..]: its children by (label, position)
        std::int64_t slots;    // slot_[slots + b * size + r]: cell of child b of column begin + r, within its label
    };
    struct Pair { // group, position of a child with the label that is looked up, and its slot if the group is one column
        Id group, position, slot;
    };
    struct Meeting { // a child that can match: its label is the one that is looked up (0), or number k - 1 of the similar ones
        Id position, k;
    };
    static constexpr Id wide = 512; // maximum number of children for which pairs are listed
    static constexpr Id swept = 8;  // minimum number of columns for which a production is one group

    explicit PartialTreeIndex(const Store &store) : store_(store) {} // the caller builds the index or sets its parts
    void build(const NodeWeights &w) {
        index_columns(w);
        index_slots();
        index_pairs();
    }

    // Returns the number of a label among those that some target contains, or none.
    Id local(Id label) const { return static_cast<std::size_t>(label) < local_.size() ? local_[label] : none; }
    const Label &label(Id local) const { return label_[local]; }
    const Label &label_of(Id node) const { return label_[local_[store_.label(node)]]; }
    std::size_t nodes() const { return column_of_.size(); }
    std::size_t groups() const { return group_.size(); }
    std::size_t labels() const { return label_.size(); }
    // Returns the number of children of all columns in these groups of a label.
    std::size_t children(Id first, Id last) const {
        if (first == last) return 0;
        const Group &g = group_[last - 1];
        return static_cast<std::size_t>(g.slots + std::int64_t{g.size} * g.arity - group_[first].slots);
    }
    // Returns the labels of the children of a group, by position.
    const Id *child_labels(const Group &g) const { return child_label_.data() + g.children; }
    const Group &group(Id g) const { return group_[g]; }
    // Returns whether several columns have this production.
    bool is_common(Id production) const { return static_cast<std::size_t>(production) < common_.size() && common_[production]; }
    Id group_of(Id column) const { return group_of_[column]; }
    // Number of columns, plus the cells between them.
    std::size_t cells() const { return column_node_.size(); }
    Id column_of(Id node) const { return static_cast<std::size_t>(node) < column_of_.size() ? column_of_[node] : none; }
    // Returns the end of the label's single-column groups that do not exceed the limit.
    Id singles_up_to(const Label &label, Id limit) const {
        return label.single + up_to(limit, column_node_.data() + label.single, label.end - label.single);
    }
    const Id *slots(const Group &g, Id child) const { return slot_.data() + g.slots + static_cast<std::int64_t>(child) * g.size; }
    // Returns the cell of a childless node that is child `b` of a group's columns, relative to the
    // first cell of its label.
    Id childless(const Group &g, Id b) const {
        const Label &label = label_[child_label_[g.children + b]];
        return label.end - label.begin;
    }
    // Returns the groups of this label with too many children to list pairs.
    std::span<const Id> wide_groups(const Label &label) const {
        const auto first = std::lower_bound(wide_group_.begin(), wide_group_.end(), label.first_group);
        return {first, std::lower_bound(first, wide_group_.end(), label.last_group)};
    }
    // Returns the positions at which nodes with this label have a child with that label, ordered by
    // group and position, except in wide groups.
    std::span<const Pair> pairs(Id label, Id child) const { return pairs_.find({label, child}); }

    // Finds the children of a group that a child can match, by position.
    void meetings(const Store &store, Id child, const Group &g, const Similar &similar, std::vector<Meeting> &out) const {
        out.clear();
        const LabelledChild *begin = labelled_child_.data() + g.children, *end = begin + g.arity;
        Id k = 0;
        const auto add = [&](Id label, double) {
            const Id number = k++;
            if (local(label) == none) return;
            auto [first, last] = std::equal_range(begin, end, LabelledChild{local(label), 0}, LabelledChild::by_label);
            for (; first != last; ++first) out.push_back({first->position, number});
        };
        add(store.label(child), 1);
        if (!similar.any()) return;
        similar.each(store, child, add);
        // A position has one label, so it occurs once.
        std::sort(out.begin(), out.end(), [](const Meeting &x, const Meeting &y) { return x.position < y.position; });
    }

    // Estimates an upper bound for the memory of the index, and sets `cells` to its number of
    // cells.
    static Memory estimate(const Store &store, const NodeWeights &w, std::size_t &cells) {
        std::vector<char> column(store.size(), 0), label(store.label_count(), 0);
        std::vector<Id> held(store.production_count(), 0), columns; // number of columns per production; all columns
        std::size_t labels = 0, children = 0, slots = 0, groups = 0, wides = 0;
        for (Id v : w.node) {
            if (static_cast<std::size_t>(store.label(v)) >= label.size())
                label.resize(static_cast<std::size_t>(store.label(v)) + 1, 0);
            labels += !label[store.label(v)], label[store.label(v)] = 1;
            if (store.arity(v) == 0 || column[v]) continue;
            column[v] = 1, columns.push_back(v), slots += store.arity(v);
            const Id size = ++held[store.production(v)];
            if (size == 1) children += store.arity(v);
            groups += size < swept, groups -= size == swept ? swept - 2 : 0;
            wides += store.arity(v) > static_cast<std::size_t>(wide);
        }
        cells = columns.size() + labels;
        std::vector<char> listed(held.size(), 0); // whether a production is a group
        Memory out = Groups<2, Pair>::estimate([&](auto add) {
            std::fill(listed.begin(), listed.end(), 0);
            for (Id v : columns) {
                char &known = listed[store.production(v)];
                if (std::exchange(known, held[store.production(v)] >= swept)) continue;
                for (std::size_t b = 0; b < store.arity(v) && store.arity(v) <= static_cast<std::size_t>(wide); ++b)
                    add({store.label(v), store.label(store.children(v)[b])}, Pair{});
            }
        });
        out.index += (label.size() + 2 * cells + store.size() + slots) * sizeof(Id) + bytes_grown<Label>(labels) +
                     bytes_grown<Group>(groups) + bytes_grown<Id>(wides) + held.size() + bytes_grown<LabelledChild>(children) +
                     bytes_grown<Id>(children);
        out.working += columns.size() * sizeof(Order) + held.size() * sizeof(std::int64_t);
        return out;
    }
    template <class Self> static auto parts(Self &self) {
        return std::tie(self.local_, self.label_, self.group_, self.wide_group_, self.common_, self.labelled_child_,
                        self.child_label_, self.column_node_, self.group_of_, self.column_of_, self.slot_, self.pairs_);
    }
    bool consistent() const {
        return labelled_child_.size() == child_label_.size() && column_node_.size() == group_of_.size() &&
               column_of_.size() == store_.size();
    }

  private:
    struct LabelledChild {
        Id label, position;
        static bool by_label(const LabelledChild &x, const LabelledChild &y) { return x.label < y.label; }
    };
    struct Order { // of the columns
        Id label, production, node;
        auto operator<=>(const Order &) const = default;
    };
    static constexpr Id single = std::numeric_limits<Id>::max(); // replaces the production of columns that are single groups
    Id child_label(Id column, Id b) const { return local_[store_.label(store_.children(column_node_[column])[b])]; }

    // Columns are the distinct subtrees with children, ordered by (label, production if it is a
    // group, id).
    void index_columns(const NodeWeights &w) {
        Id labels = 0, locals = 0;
        for (Id node : w.node) labels = std::max(labels, store_.label(node) + 1);
        local_.assign(static_cast<std::size_t>(labels), none);
        column_of_.assign(store_.size(), none);
        std::vector<Id> held(store_.production_count(), 0); // number of columns per production
        for (Id node : w.node) {
            if (local_[store_.label(node)] == none) local_[store_.label(node)] = locals++;
            if (store_.arity(node) > 0 && column_of_[node] == none) column_of_[node] = 0, ++held[store_.production(node)];
        }
        common_.reserve(held.size());
        for (Id size : held) common_.push_back(size > 1);
        std::vector<Order> columns;
        columns.reserve(static_cast<std::size_t>(std::count(column_of_.begin(), column_of_.end(), 0)));
        for (Id v = 0; v < static_cast<Id>(store_.size()); ++v)
            if (column_of_[v] != none) {
                const Id production = store_.production(v), size = held[production];
                columns.push_back({local_[store_.label(v)], size < swept ? single : production, v});
            }
        std::sort(columns.begin(), columns.end());
        column_node_.reserve(columns.size() + static_cast<std::size_t>(locals));
        group_of_.reserve(column_node_.capacity());
        std::size_t next = 0;
        for (Id l = 0; l < locals; ++l) {
            Label label{static_cast<Id>(column_node_.size()), 0, none, true, true, {}, static_cast<Id>(group_.size()), 0};
            for (Id before = none; next < columns.size() && columns[next].label == l; ++next) {
                const auto [_, production, v] = columns[next];
                const Id c = static_cast<Id>(column_node_.size());
                if (production == single && label.single == none) label.single = c;
                label.sparse = label.sparse && store_.flat(v);
                label.words = label.sparse && label.words && store_.arity(v) == 1;
                if (production == single || production != before) {
                    group_.push_back({c, 0, static_cast<Id>(store_.arity(v)), 0, 0, 0});
                    if (group_.back().arity > wide) wide_group_.push_back(static_cast<Id>(group_.size() - 1));
                }
                before = production;
                ++group_.back().size;
                column_of_[v] = c;
                column_node_.push_back(v), group_of_.push_back(static_cast<Id>(group_.size() - 1));
            }
            label.end = static_cast<Id>(column_node_.size());
            if (label.single == none) label.single = label.end;
            label.last_group = static_cast<Id>(group_.size());
            label_.push_back(label);
            column_node_.push_back(none), group_of_.push_back(none); // the cell of childless nodes
        }
    }

    void index_slots() {
        std::size_t slots = 0;
        for (const Group &g : group_) slots += static_cast<std::size_t>(g.size) * static_cast<std::size_t>(g.arity);
        slot_.reserve(slots);
        std::vector<std::int64_t> children(store_.production_count(), none); // per production
        for (Group &g : group_) {
            std::int64_t &known = children[store_.production(column_node_[g.begin])];
            if (known == none) known = list_children(g);
            g.children = known;
            g.slots = static_cast<std::int64_t>(slot_.size());
            for (Id b = 0; b < g.arity; ++b)
                for (Id r = 0; r < g.size; ++r) {
                    const Id column = column_of_[store_.children(column_node_[g.begin + r])[b]];
                    slot_.push_back(column == none ? childless(g, b) : column - label_[child_label_[g.children + b]].begin);
                }
        }
    }
    std::int64_t list_children(const Group &g) {
        const auto first = static_cast<std::int64_t>(labelled_child_.size());
        for (Id b = 0; b < g.arity; ++b) {
            child_label_.push_back(child_label(g.begin, b));
            labelled_child_.push_back({child_label_.back(), b});
        }
        std::stable_sort(labelled_child_.begin() + first, labelled_child_.end(), LabelledChild::by_label);
        return first;
    }

    void index_pairs() {
        pairs_.build([&](auto add) {
            for (Id g = 0; g < static_cast<Id>(group_.size()); ++g)
                for (Id b = 0; b < group_[g].arity && group_[g].arity <= wide; ++b)
                    add({local_[store_.label(column_node_[group_[g].begin])], child_label(group_[g].begin, b)},
                        Pair{g, b, *slots(group_[g], b)});
        });
    }

    const Store &store_;
    Column<Id> local_; // label -> its number
    Column<Label> label_;
    Column<Group> group_;
    Column<Id> wide_group_;
    Column<char> common_; // per production
    Column<LabelledChild> labelled_child_;
    Column<Id> child_label_; // the same, ordered by position
    Column<Id> column_node_, group_of_, column_of_, slot_;
    Groups<2, Pair> pairs_; // by (label, child's label)
};

// The number of columns of each group that do not exceed a limit. It is updated from one limit to
// the next, which is usually slightly higher.
class GroupSizes {
  public:
    void set(const PartialTreeIndex &index, Id limit) {
        if (size_.empty() || limit < next_ - 1) size_.assign(index.groups(), 0), next_ = 0;
        for (; next_ <= limit && static_cast<std::size_t>(next_) < index.nodes(); ++next_)
            if (const Id column = index.column_of(next_); column != none) ++size_[index.group_of(column)];
    }
    Id operator[](Id group) const { return size_[group]; }

  private:
    std::vector<Id> size_;
    Id next_ = 0; // the first node that is not yet counted
};

} // namespace treelet
