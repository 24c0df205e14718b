// The syntax trees of source files, and the units (functions, classes, whole files) that are cut out
// of them and stored.
//
// A walker visits a file once, parents before children, and reports nodes, names and units. At the
// end of the file, every unit becomes a tree of the store. Names that a unit binds can be replaced by
// $0, $1, ..., separately for each unit, which is why units are stored after the walk. One reader reads
// many files into one store. After an exception, it must not be used again.
#pragma once
#include "code_lines.hpp"
#include "pulse.hpp"
#include "store.hpp"
#include <cstdio>
#include <utility>

namespace treelet {

// Appends a text as a label, without white space and brackets. Different texts have different labels.
// This is `value_label` of treelet.formats.adapters.
inline void append_escaped(std::string &out, std::string_view text) {
    if (text.empty()) {
        out += "\\e";
        return;
    }
    for (const char c : text) {
        switch (c) {
        case ' ':
            out += "\\s";
            break;
        case '\t':
            out += "\\t";
            break;
        case '\n':
            out += "\\n";
            break;
        case '\r':
            out += "\\r";
            break;
        case '\\':
            out += "\\\\";
            break;
        case '(':
            out += "\\x28";
            break;
        case ')':
            out += "\\x29";
            break;
        case '\v':
            out += "\\x0b";
            break;
        case '\f':
            out += "\\x0c";
            break;
        case '\0':
            out += "\\x00";
            break;
        default:
            out += c;
        }
    }
}

class SyntaxReader {
  public:
    // lost: text outside units that the parser could not read; nested: a unit with too many others inside each other in it
    enum class State { whole, damaged, lost, nested };
    struct Unit {
        std::size_t first, last; // nodes
        std::size_t first_name, last_name;
        std::int64_t line, end_line;
        std::string name;
        State state;
        std::size_t levels = 0; // of units inside each other in it
        std::int64_t code_lines = 0;
    };
    using Damages = std::vector<std::pair<std::int64_t, State>>; // line and state of units that were not stored

    // Units with more levels of units in them are skipped. So a node is part of few units, whose trees are copies if names
    // are replaced.
    static constexpr std::size_t max_nesting = 100;

    // Units with fewer lines of code than `min_lines` are left out.
    SyntaxReader(bool anonymous, std::int64_t min_lines, std::shared_ptr<Store> store)
        : anonymous_(anonymous), min_lines_(min_lines), store_(std::move(store)) {}
    bool anonymous() const { return anonymous_; }

    // --- during the walk over a file ------------------------------------------------------------------------
    Id label(std::string_view text) { return labels_.add_label(text); }
    Id value(std::string_view text) {
        escaped_.clear();
        append_escaped(escaped_, text);
        return labels_.add_label(escaped_);
    }

    // Adds the next child of `parent`, which is `root` for a node directly below none. Returns the number of the node, or
    // `root` outside units, whose nodes are not needed.
    std::size_t add(Id label, std::size_t parent, std::int64_t line) {
        if (!is_in_unit()) return root;
        if (parent != root) ++arity_[parent];
        label_.push_back(label);
        arity_.push_back(0);
        line_.push_back(static_cast<std::int32_t>(line));
        return label_.size() - 1;
    }
    // Adds a leaf that is replaced if its unit binds the name.
    void add_name(Id label, std::size_t parent, std::int64_t line) { add(-2 - label, parent, line); }
    // Reports a use of a name. The order of the first uses in a unit determines the numbers.
    void use(Id label, bool binds) {
        if (is_in_unit()) uses_.push_back({label, binds});
    }

    // Begins a unit. The next node is its root.
    std::size_t begin_unit(std::int64_t line, std::int64_t end_line, State state = State::whole) {
        units_.push_back({label_.size(), 0, uses_.size(), 0, line, end_line, "", state});
        open_.push_back(units_.size() - 1);
        return units_.size() - 1;
    }
    // Ends the unit that was begun last, and returns it if it will be stored, so that it can be named.
    Unit *end_unit(std::size_t number) {
        Unit &unit = units_[number];
        unit.last = label_.size(), unit.last_name = uses_.size();
        if (unit.levels >= max_nesting && unit.state == State::whole) unit.state = State::nested;
        open_.pop_back();
        if (!open_.empty()) units_[open_.back()].levels = std::max(units_[open_.back()].levels, unit.levels + 1);
        return unit.state == State::whole ? &unit : nullptr;
    }
    // Whether a unit has begun and not ended.
    bool is_in_unit() const { return !open_.empty(); }
    // Whether the walk may pass over a unit with these lines, which is then counted as left out: it is not inside another one,
    // and neither it nor a unit in it can have enough lines of code.
    bool passes_over(std::int64_t line, std::int64_t end_line) {
        const bool is_short = !is_in_unit() && end_line - line + 1 < min_lines_;
        short_ += is_short;
        return is_short;
    }

    // --- after the walk -------------------------------------------------------------------------------------
    // Stores the undamaged units of the file that are long enough, and forgets the others. Returns the places of damages.
    Damages end_file(CodeLines &lines) {
        Damages damaged;
        for (Unit &unit : units_) {
            if (unit.state != State::whole) {
                damaged.emplace_back(unit.line, unit.state);
                continue;
            }
            // Decorators stand above the line of the unit.
            const auto [begin, end] = std::pair{position(unit.first), position(unit.last)};
            unit.code_lines = lines.between(std::min<std::int64_t>(unit.line, *std::min_element(begin, end)), unit.end_line);
            if (unit.code_lines < min_lines_) {
                ++short_;
                continue;
            }
            store_unit(unit);
            results_.units.push_back(std::move(unit));
        }
        outermost_ = 0;
        label_.clear(), arity_.clear(), line_.clear(), uses_.clear(), units_.clear();
        return damaged;
    }

    // The stored units of a file.
    struct Results {
        std::vector<Unit> units;
        std::vector<Id> roots;
        std::vector<std::int32_t> node_lines;             // of the nodes of all units, parents before children
        std::vector<std::int64_t> node_begins, node_ends; // per unit, in node_lines; inner units share the lines of outer ones
    };
    Results take_results() { return std::exchange(results_, {}); }
    // The number of units that were too short, without those inside units that the walk has passed over.
    std::size_t take_short() { return std::exchange(short_, 0); }
    const std::shared_ptr<Store> &store() const { return store_; }

    static constexpr std::size_t root = static_cast<std::size_t>(-1);

  private:
    struct Use {
        Id label;
        bool binds;
    };

    Id here(Id label) {
        if (static_cast<std::size_t>(label) >= here_.size()) here_.resize(labels_.label_count(), none);
        Id &id = here_[label];
        if (id == none) id = store_->add_label(labels_.label_text(label));
        return id;
    }

    // Most nodes are leaves, and a leaf follows from its label.
    Id leaf(Id label) {
        if (static_cast<std::size_t>(label) >= leaf_.size()) leaf_.resize(store_->label_count(), none);
        Id &id = leaf_[label];
        if (id == none) id = store_->add_node(label, nullptr, 0);
        return id;
    }

    // Numbers the names that the unit binds, in the order of their first use.
    void number_names(const Unit &unit) {
        if (replaced_.size() < labels_.label_count()) replaced_.resize(labels_.label_count(), none);
        for (std::size_t i = unit.first_name; i < unit.last_name; ++i)
            if (uses_[i].binds) replaced_[uses_[i].label] = bound;
        Id next = 0;
        for (std::size_t i = unit.first_name; i < unit.last_name; ++i) {
            Id &number = replaced_[uses_[i].label];
            if (number == bound) number = next++;
        }
        while (static_cast<Id>(numbered_.size()) < next) {
            std::string text(1, '$');
            text += std::to_string(numbered_.size());
            numbered_.push_back(store_->add_label(text));
        }
    }

    std::vector<std::int32_t>::const_iterator position(std::size_t node) const {
        return line_.begin() + static_cast<std::ptrdiff_t>(node);
    }

    void store_unit(const Unit &unit) {
        if (anonymous_) number_names(unit);
        stack_.clear();
        for (std::size_t i = unit.last; i-- > unit.first;) { // children come before parents, the last child first
            pulse_.add(64);
            Id label = label_[i];
            if (label < 0) {
                label = -2 - label;
                const Id number = anonymous_ ? replaced_[label] : none;
                label = number == none ? here(label) : numbered_[number];
            } else {
                label = here(label);
            }
            const std::size_t n = static_cast<std::size_t>(arity_[i]);
            std::reverse(stack_.end() - static_cast<std::ptrdiff_t>(n), stack_.end());
            if (n) {
                const Id node = store_->add_node(label, stack_.data() + stack_.size() - n, n);
                stack_.resize(stack_.size() - n);
                stack_.push_back(node);
            } else {
                stack_.push_back(leaf(label));
            }
        }
        results_.roots.push_back(stack_.back());
        auto &node_lines = results_.node_lines;
        const auto first = position(unit.first), last = position(unit.last);
        if (unit.last > outermost_) { // not inside a unit that was stored before
            node_lines.insert(node_lines.end(), first, last);
            outermost_ = unit.last;
        }
        results_.node_ends.push_back(static_cast<std::int64_t>(node_lines.size() - (outermost_ - unit.last)));
        results_.node_begins.push_back(results_.node_ends.back() - (last - first));
        if (anonymous_)
            for (std::size_t i = unit.first_name; i < unit.last_name; ++i) replaced_[uses_[i].label] = none;
    }

    static constexpr Id bound = -2; // not none, and not a number yet

    bool anonymous_;
    std::int64_t min_lines_;
    std::size_t short_ = 0;
    std::shared_ptr<Store> store_;
    Results results_;
    Store labels_; // only its labels are used: of all nodes, also outside units
    std::string escaped_;
    std::vector<Id> label_, arity_; // per node of the file; -2 - label marks a name
    std::vector<std::int32_t> line_;
    std::vector<Use> uses_;
    std::vector<Unit> units_;
    std::vector<std::size_t> open_;   // the units that have not ended, outermost first
    std::size_t outermost_ = 0;       // the node after the last outermost unit that was stored
    std::vector<Id> here_, replaced_; // by label: the label in the store, and the number of a name
    std::vector<Id> leaf_;            // by label of the store
    std::vector<Id> numbered_;        // by number: the label in the store
    std::vector<Id> stack_;           // the children whose parents follow
    Pulse pulse_;
};

} // namespace treelet
