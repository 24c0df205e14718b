// The columns of a partial-tree matrix in groups of one production, and where their children are.
#pragma once
#include "key_numbers.hpp"
#include "matrix_rows.hpp"
#include "similar.hpp"

namespace treelet {

class PartialTreeIndex {
  public:
    struct Label { // the columns with this label: begin .. end, then one cell that stands for its childless nodes
        Id begin, end;
        bool sparse; // all columns are pre-terminals
        Id first_group, last_group;
    };
    struct Group { // the columns with one production
        Id begin, size;
        Id arity;
        std::int64_t children; // labelled_child_[children ..]: its children, by (label, position)
        std::int64_t slots;    // slot_[slots + b * size + r]: cell of child b of column begin + r, relative to its label's begin
    };
    struct Pair { // group, position of a child with the label looked up
        Id group, position;
    };
    struct Meeting { // a child that can be met, and how alike the two are
        Id position;
        double sigma;
    };
    static constexpr Id wide = 512; // children above which pairs are not listed at all

    PartialTreeIndex(const Store &store, const NodeWeights &w) : store_(store) {
        index_columns(w);
        index_slots();
        index_pairs();
    }

    // A label's number among those that some target holds, or none.
    Id local(Id label) const { return static_cast<std::size_t>(label) < local_.size() ? local_[label] : none; }
    const Label &label(Id local) const { return label_[local]; }
    const Label &label_of(Id node) const { return label_[local_[store_.label(node)]]; }
    std::size_t groups() const { return group_.size(); }
    const Group &group(Id g) const { return group_[g]; }
    // Columns and the cells between them.
    std::size_t cells() const { return column_node_.size(); }
    Id column_of(Id node) const { return column_of_[node]; }
    Id columns_up_to(const Group &g, Id limit) const { return up_to(limit, column_node_.data() + g.begin, g.size); }
    const Id *slots(const Group &g, Id child) const { return slot_.data() + g.slots + static_cast<std::int64_t>(child) * g.size; }
    // The cell of a childless node that is child `b` of a group's columns, relative to its label's begin.
    Id childless(const Group &g, Id b) const {
        const Label &label = label_[child_label_[g.children + b]];
        return label.end - label.begin;
    }
    // Where nodes with this label have a child with that one, by group, then position; not in wide groups.
    std::span<const Pair> pairs(Id label, Id child) const { return pairs_.find({label, child}); }

    // Which of a group's children a child can meet, by position.
    void meetings(const Store &store, Id child, const Group &g, const Similar &similar, std::vector<Meeting> &out) const {
        out.clear();
        const LabelledChild *begin = labelled_child_.data() + g.children, *end = begin + g.arity;
        const auto add = [&](Id label, double sigma) {
            if (local(label) == none) return;
            auto [first, last] = std::equal_range(begin, end, LabelledChild{local(label), 0}, LabelledChild::by_label);
            for (; first != last; ++first) out.push_back({first->position, sigma});
        };
        add(store.label(child), 1);
        if (!similar.any()) return;
        similar.each(store, child, add);
        std::sort(out.begin(), out.end(), [](const Meeting &x, const Meeting &y) { return x.position < y.position; });
    }

    // What this will take, at most; `cells` is set to the number of its cells.
    static Memory estimate(const Store &store, const NodeWeights &w, std::size_t &cells) {
        std::vector<char> column(store.size(), 0), label(store.label_count(), 0), production(store.production_count(), 0);
        std::vector<Id> first; // a column of each production
        std::size_t columns = 0, labels = 0, children = 0, slots = 0;
        for (Id v : w.node) {
            if (static_cast<std::size_t>(store.label(v)) >= label.size())
                label.resize(static_cast<std::size_t>(store.label(v)) + 1, 0);
            labels += !label[store.label(v)], label[store.label(v)] = 1;
            if (store.arity(v) == 0 || column[v]) continue;
            column[v] = 1, ++columns, slots += store.arity(v);
            if (production[store.production(v)]) continue;
            production[store.production(v)] = 1, children += store.arity(v), first.push_back(v);
        }
        cells = columns + labels;
        Memory out = Groups<2, Pair>::estimate([&](auto add) {
            for (Id v : first)
                for (std::size_t b = 0; b < store.arity(v) && store.arity(v) <= static_cast<std::size_t>(wide); ++b)
                    add({store.label(v), store.label(store.children(v)[b])}, Pair{});
        });
        out.index += (label.size() + cells + store.size() + slots) * sizeof(Id) + bytes_grown<Label>(labels) +
                     bytes_grown<Group>(first.size()) + bytes_grown<LabelledChild>(children) + bytes_grown<Id>(children);
        out.working += bytes_grown<Id>(columns);
        return out;
    }
    std::size_t bytes() const {
        return bytes_of(local_) + bytes_of(label_) + bytes_of(group_) + bytes_of(labelled_child_) + bytes_of(child_label_) +
               bytes_of(column_node_) + bytes_of(column_of_) + bytes_of(slot_) + pairs_.bytes();
    }

  private:
    struct LabelledChild {
        Id label, position;
        static bool by_label(const LabelledChild &x, const LabelledChild &y) { return x.label < y.label; }
    };
    Id child_label(Id column, Id b) const { return local_[store_.label(store_.children(column_node_[column])[b])]; }

    // Columns: the distinct subtrees with children, by (label, production, id).
    void index_columns(const NodeWeights &w) {
        Id labels = 0, locals = 0;
        for (Id node : w.node) labels = std::max(labels, store_.label(node) + 1);
        local_.assign(static_cast<std::size_t>(labels), none);
        column_of_.assign(store_.size(), none);
        std::vector<Id> nodes;
        for (Id node : w.node) {
            if (local_[store_.label(node)] == none) local_[store_.label(node)] = locals++;
            if (store_.arity(node) > 0 && column_of_[node] == none) column_of_[node] = 0, nodes.push_back(node);
        }
        std::sort(nodes.begin(), nodes.end(), [&](Id x, Id y) {
            const Id lx = local_[store_.label(x)], ly = local_[store_.label(y)];
            if (lx != ly) return lx < ly;
            return store_.production(x) != store_.production(y) ? store_.production(x) < store_.production(y) : x < y;
        });
        column_node_.reserve(nodes.size() + static_cast<std::size_t>(locals));
        std::size_t next = 0;
        for (Id l = 0; l < locals; ++l) {
            Label label{static_cast<Id>(column_node_.size()), 0, true, static_cast<Id>(group_.size()), 0};
            for (; next < nodes.size() && local_[store_.label(nodes[next])] == l; ++next) {
                const Id v = nodes[next], c = static_cast<Id>(column_node_.size());
                label.sparse = label.sparse && store_.flat(v);
                if (c == label.begin || store_.production(column_node_.back()) != store_.production(v))
                    group_.push_back({c, 0, static_cast<Id>(store_.arity(v)), 0, 0});
                ++group_.back().size;
                column_of_[v] = c;
                column_node_.push_back(v);
            }
            label.end = static_cast<Id>(column_node_.size());
            label.last_group = static_cast<Id>(group_.size());
            label_.push_back(label);
            column_node_.push_back(none); // the cell of the childless
        }
    }

    void index_slots() {
        std::size_t slots = 0;
        for (const Group &g : group_) slots += static_cast<std::size_t>(g.size) * static_cast<std::size_t>(g.arity);
        slot_.reserve(slots);
        for (Group &g : group_) {
            g.children = static_cast<std::int64_t>(labelled_child_.size());
            for (Id b = 0; b < g.arity; ++b) {
                child_label_.push_back(child_label(g.begin, b));
                labelled_child_.push_back({child_label_.back(), b});
            }
            std::stable_sort(labelled_child_.begin() + g.children, labelled_child_.end(), LabelledChild::by_label);
            g.slots = static_cast<std::int64_t>(slot_.size());
            for (Id b = 0; b < g.arity; ++b)
                for (Id r = 0; r < g.size; ++r) {
                    const Id column = column_of_[store_.children(column_node_[g.begin + r])[b]];
                    slot_.push_back(column == none ? childless(g, b) : column - label_[child_label_[g.children + b]].begin);
                }
        }
    }

    void index_pairs() {
        pairs_.build([&](auto add) {
            for (Id g = 0; g < static_cast<Id>(group_.size()); ++g)
                for (Id b = 0; b < group_[g].arity && group_[g].arity <= wide; ++b)
                    add({local_[store_.label(column_node_[group_[g].begin])], child_label(group_[g].begin, b)}, Pair{g, b});
        });
    }

    const Store &store_;
    std::vector<Id> local_; // label -> its number
    std::vector<Label> label_;
    std::vector<Group> group_;
    std::vector<LabelledChild> labelled_child_;
    std::vector<Id> child_label_; // the same, by position
    std::vector<Id> column_node_, column_of_, slot_;
    Groups<2, Pair> pairs_; // by (label, child's label)
};

} // namespace treelet
