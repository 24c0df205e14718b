// Walks over syntax trees that exist as Python objects: nodes of the module ast, and nodes of tree-sitter.
// Only functions of the limited API are used, because one wheel serves several versions of Python.
#include "bindings.hpp"
#include "bindings_arrays.hpp"
#include "code_lines.hpp"
#include "reduced_copy.hpp"
#include "statement_codes.hpp"
#include "syntax.hpp"
#include <array>
#include <deque>
#include <unordered_map>

using namespace treelet;
using namespace treelet::python;

namespace {

std::string_view utf8(PyObject *text) {
    Py_ssize_t n = 0;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &n);
    if (!bytes) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(n)};
}

PyObject *check(PyObject *result) {
    if (!result) throw nb::python_error();
    return result;
}

nb::object call(const nb::object &function, PyObject *argument) { return function(nb::handle(argument)); }

// Returns a qualified name. A very long one ends with an ellipsis: thousands of units may have the same names around them.
std::string joined_name(const std::vector<std::string> &names) {
    constexpr std::size_t most = 1000;
    std::string out;
    for (const std::string &name : names) {
        if (name.empty()) continue;
        if (!out.empty()) out += '.';
        out.append(name, 0, most + 1);
        if (out.size() <= most) continue;
        std::size_t end = most;
        while ((out[end] & 0xC0) == 0x80) --end; // not inside a character
        return out.substr(0, end) + "\u2026";
    }
    return out;
}

// --- nodes of ast ---------------------------------------------------------------------------------------------

// How a field is written, as in treelet.formats.adapters.
enum Holds { plain, constant, documented, named };

struct Field {
    nb::object name;
    Id label;
    Holds holds;
    bool binds; // the names in it are always bound, not only if the context is Store or Del
};

// A class of nodes, or of other values.
struct Kind {
    Id label = none;
    bool is_node = false, is_unit = false, is_scope = false, stores = false, may_hold_units = true;
    std::vector<Field> fields;
};

// The Python functions that describe classes and write values: treelet.formats.python_source.
struct AstRules {
    nb::object describe;     // class -> (label, fields or None, is_unit, is_scope, stores, may_hold_units)
    nb::object constant;     // the label of a constant
    nb::object other;        // the label of any other value
    nb::object is_docstring; // whether a body begins with a docstring
};

class AstWalk {
  public:
    AstWalk(SyntaxReader &reader, AstRules rules, bool whole) : reader_(reader), rules_(std::move(rules)), whole_(whole) {
        for (auto [name, target] : {std::pair{"lineno", &lineno_},
                                    {"end_lineno", &end_lineno_},
                                    {"col_offset", &column_},
                                    {"end_col_offset", &end_column_},
                                    {"ctx", &ctx_},
                                    {"decorator_list", &decorators_},
                                    {"name", &name_}})
            *target = nb::steal(PyUnicode_InternFromString(name));
    }

    // Adds a tree. The units are nodes of the classes that `describe` marks, or, with `whole`, only the root.
    SyntaxReader::Damages file(PyObject *root, CodeLines &lines) {
        lines_ = &lines;
        visit(root, SyntaxReader::root, 1);
        while (!frames_.empty()) step();
        return reader_.end_file(lines);
    }

  private:
    struct Frame {
        PyObject *node, *dict;
        const Kind *kind;
        std::size_t index, field_index, field;
        PyObject *list; // the values of the current field; its items from `at`
        Py_ssize_t at, size;
        std::int64_t line;
        std::size_t unit; // root: none
        bool has_scope;
    };

    const Kind &kind_of(PyObject *object) {
        PyTypeObject *type = Py_TYPE(object);
        auto &[last, kind] = recent_[(reinterpret_cast<std::uintptr_t>(type) >> 4) % recent_.size()];
        if (last != type) last = type, kind = &described(type);
        return *kind;
    }

    const Kind &described(PyTypeObject *type) {
        const auto found = kinds_.find(type);
        if (found != kinds_.end()) return found->second;
        const nb::tuple described = nb::cast<nb::tuple>(call(rules_.describe, reinterpret_cast<PyObject *>(type)));
        Kind kind;
        kind.label = reader_.label(utf8(nb::object(described[0]).ptr()));
        kind.is_node = !nb::object(described[1]).is_none();
        if (kind.is_node)
            for (nb::handle each : nb::cast<nb::tuple>(described[1])) {
                const nb::tuple field = nb::cast<nb::tuple>(each);
                PyObject *name = nb::object(field[0]).release().ptr();
                PyUnicode_InternInPlace(&name);
                kind.fields.push_back({nb::steal(name), reader_.label(utf8(name)), static_cast<Holds>(nb::cast<int>(field[1])),
                                       nb::cast<bool>(field[2])});
            }
        kind.is_unit = nb::cast<bool>(described[2]), kind.is_scope = nb::cast<bool>(described[3]);
        kind.stores = nb::cast<bool>(described[4]), kind.may_hold_units = nb::cast<bool>(described[5]);
        return kinds_.emplace(type, std::move(kind)).first->second;
    }

    // Returns an attribute of a node, or null if it is missing or None. The node keeps it alive.
    PyObject *get(PyObject *node, PyObject *dict, PyObject *name) {
        PyObject *value = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
        if (!value) {
            if (PyErr_Occurred()) throw nb::python_error();
            value = PyObject_GetAttr(node, name); // a default of the class
            if (!value) {
                if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
                PyErr_Clear();
                return nullptr;
            }
            Py_DECREF(value);
        }
        return value == Py_None ? nullptr : value;
    }

    std::int64_t number(PyObject *value, std::int64_t otherwise) {
        if (!value || !PyLong_Check(value)) return otherwise;
        const long long number = PyLong_AsLongLong(value);
        if (number == -1 && PyErr_Occurred()) throw nb::python_error();
        return number;
    }

    Id text_label(PyObject *text) {
        Py_ssize_t n = 0;
        const char *bytes = PyUnicode_AsUTF8AndSize(text, &n);
        if (bytes) return reader_.value({bytes, static_cast<std::size_t>(n)});
        PyErr_Clear(); // a lone surrogate
        return reader_.label(utf8(call(rules_.constant, text).ptr()));
    }

    void add_constant(PyObject *value, std::size_t parent, std::int64_t line) {
        if (!value) value = Py_None;
        if (value == Py_None || value == Py_Ellipsis) {
            reader_.add(reader_.label(value == Py_None ? "None" : "Ellipsis"), parent, line);
            return;
        }
        const std::size_t type = reader_.add(kind_of(value).label, parent, line);
        if (rules_.constant.is_none()) return; // types only
        if (PyUnicode_CheckExact(value)) {
            reader_.add(text_label(value), type, line);
            return;
        }
        if (PyLong_CheckExact(value)) {
            int overflow = 0;
            const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
            if (!overflow) {
                reader_.add(reader_.label(std::to_string(number)), type, line);
                return;
            }
        }
        reader_.add(reader_.label(utf8(call(rules_.constant, value).ptr())), type, line);
    }

    void use_names(PyObject *node, PyObject *dict, const Kind &kind) {
        for (const Field &field : kind.fields) {
            if (field.holds != named) continue;
            PyObject *value = get(node, dict, field.name.ptr());
            if (!value) continue;
            bool binds = field.binds;
            if (!binds)
                if (PyObject *ctx = get(node, dict, ctx_.ptr())) binds = kind_of(ctx).stores;
            if (PyUnicode_Check(value)) {
                reader_.use(text_label(value), binds);
            } else if (PyList_Check(value)) {
                for (Py_ssize_t i = 0; i < PyList_Size(value); ++i)
                    if (PyObject *item = PyList_GetItem(value, i); item && PyUnicode_Check(item))
                        reader_.use(text_label(item), binds);
            }
        }
    }

    void visit(PyObject *node, std::size_t parent, std::int64_t line) {
        pulse_.add(256);
        const Kind &kind = kind_of(node);
        if (!kind.may_hold_units && !whole_ && !reader_.is_in_unit()) return;      // not needed
        const nb::object held = nb::steal(PyObject_GenericGetDict(node, nullptr)); // the node keeps it alive
        PyObject *dict = held.ptr();
        if (!dict) PyErr_Clear();
        line = number(get(node, dict, lineno_.ptr()), line);
        const bool is_unit = whole_ ? parent == SyntaxReader::root : kind.is_unit;
        const std::int64_t end_line = is_unit ? number(get(node, dict, end_lineno_.ptr()), lines_->count()) : 0;
        if (is_unit && !whole_ && !is_decorated(node, dict) && reader_.passes_over(line, end_line)) return;
        std::size_t unit = SyntaxReader::root;
        if (is_unit) {
            unit = reader_.begin_unit(line, end_line);
            if (PyObject *column = get(node, dict, column_.ptr())) {
                const std::size_t begin = lines_->byte_at(line, number(column, 0));
                lines_->hide(begin, begin); // code begins here, even if a damaged statement before has an open string
            }
        }
        Frame frame{node, dict, &kind, reader_.add(kind.label, parent, line), 0, 0, nullptr, 0, 0, line, unit, false};
        if (kind.is_scope) {
            PyObject *name = get(node, dict, name_.ptr());
            scopes_.push_back(name && PyUnicode_Check(name) ? nb::cast<std::string>(nb::handle(name)) : "");
            frame.has_scope = true;
        }
        if (reader_.anonymous()) use_names(node, dict, kind);
        frames_.push_back(frame);
    }

    bool is_decorated(PyObject *node, PyObject *dict) {
        PyObject *decorators = get(node, dict, decorators_.ptr());
        return decorators && PyList_Check(decorators) && PyList_Size(decorators) > 0;
    }

    void hide(PyObject *node) {
        const nb::object held = nb::steal(PyObject_GenericGetDict(node, nullptr));
        PyObject *dict = held.ptr();
        if (!dict) PyErr_Clear();
        const auto byte = [&](const nb::object &line, const nb::object &column) {
            return lines_->byte_at(number(get(node, dict, line.ptr()), 0), number(get(node, dict, column.ptr()), 0));
        };
        lines_->hide(byte(lineno_, column_), byte(end_lineno_, end_column_));
    }

    // Adds one value of a field.
    void add_value(PyObject *value, std::size_t parent, std::int64_t line, Holds holds) {
        if (PyUnicode_Check(value)) {
            const Id label = text_label(value);
            holds == named ? reader_.add_name(label, parent, line) : void(reader_.add(label, parent, line));
        } else if (kind_of(value).is_node) {
            visit(value, parent, line);
        } else {
            reader_.add(reader_.label(utf8(call(rules_.other, value).ptr())), parent, line);
        }
    }

    void step() {
        Frame &frame = frames_.back();
        if (frame.list) {
            if (frame.at < frame.size) {
                PyObject *item = PyList_GetItem(frame.list, frame.at++);
                if (!item) throw nb::python_error();
                add_value(item, frame.field_index, frame.line, frame.kind->fields[frame.field - 1].holds);
            } else {
                frame.list = nullptr;
            }
            return;
        }
        if (frame.field == frame.kind->fields.size()) {
            if (frame.unit != SyntaxReader::root)
                if (auto *unit = reader_.end_unit(frame.unit)) unit->name = joined_name(scopes_);
            if (frame.has_scope) scopes_.pop_back();
            frames_.pop_back();
            return;
        }
        const Field &field = frame.kind->fields[frame.field++];
        PyObject *value = get(frame.node, frame.dict, field.name.ptr());
        if (field.holds == constant) {
            add_constant(value, frame.index, frame.line);
            return;
        }
        if (!value) return;
        if (PyList_Check(value)) {
            frame.size = PyList_Size(value);
            frame.at = field.holds == documented && nb::cast<bool>(call(rules_.is_docstring, value)) ? 1 : 0;
            if (frame.at) hide(check(PyList_GetItem(value, 0)));
            if (frame.at == frame.size) return;
            frame.field_index = reader_.add(field.label, frame.index, frame.line);
            frame.list = value;
            return;
        }
        add_value(value, reader_.add(field.label, frame.index, frame.line), frame.line, field.holds);
    }

    SyntaxReader &reader_;
    CodeLines *lines_ = nullptr;
    AstRules rules_;
    nb::object lineno_, end_lineno_, column_, end_column_, ctx_, decorators_, name_;
    std::unordered_map<PyTypeObject *, Kind> kinds_;
    std::array<std::pair<PyTypeObject *, const Kind *>, 256> recent_{}; // some of them, found faster
    std::deque<Frame> frames_;                                          // references stay valid while children are visited
    std::vector<std::string> scopes_;
    bool whole_;
    Pulse pulse_;
};

// --- nodes of tree-sitter ---------------------------------------------------------------------------------------

// What becomes of the nodes of a kind: treelet.formats.languages.
enum Treatment : std::uint8_t { dropped, delimiter, token, kept_token, inner, identifier, literal, content };
constexpr std::uint8_t treatment_bits = 7, member_holder = 8, holder = 16, unit_kind = 32, scope_kind = 64, member_kind = 128;

// A property of a class, read without looking up its name again for every object.
class Getter {
  public:
    Getter(nb::handle type, const char *name) : descriptor_(nb::getattr(type, name)) {
        get_ = reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(descriptor_.ptr()), Py_tp_descr_get));
        if (!get_) refuse(std::string(name) + " is not a property");
    }
    nb::object operator()(PyObject *object) const {
        return nb::steal(check(get_(descriptor_.ptr(), object, reinterpret_cast<PyObject *>(Py_TYPE(object)))));
    }
    std::size_t number(PyObject *object) const {
        const nb::object value = (*this)(object);
        const std::size_t number = PyLong_AsSize_t(value.ptr());
        if (number == static_cast<std::size_t>(-1) && PyErr_Occurred()) throw nb::python_error();
        return number;
    }

  private:
    nb::object descriptor_;
    descrgetfunc get_;
};

// One node on the path to a name that is bound: its kind, and its field and position among the children of its parent.
enum Position : std::uint8_t { anywhere, first, later };
struct Step {
    std::size_t kind, field; // field 0: any
    Position position;
};
using Path = std::vector<Step>; // from the name upwards

// What a language makes of its nodes: treelet.formats.languages. The same for all files.
class NodeRules {
  public:
    using Steps = std::vector<std::tuple<std::size_t, std::size_t, int>>;

    NodeRules(ByteArray treatments, std::vector<std::string> labels, const std::vector<Steps> &bindings, std::string never_bound,
              bool macros)
        : kinds(treatments.data(), treatments.data() + treatments.shape(0)), texts(std::move(labels)),
          never_bound(std::move(never_bound)), macros(macros), bindings_(kinds.size()), has_field_(kinds.size()) {
        if (kinds.size() != texts.size()) refuse("one label per kind is needed");
        for (const Steps &steps : bindings) {
            Path path;
            for (const auto &[kind, field, position] : steps) {
                if (kind >= kinds.size() || position < anywhere || position > later) refuse("a binding is invalid");
                path.push_back({kind, field, static_cast<Position>(position)});
                if (field) has_field_[kind] = true;
            }
            if (path.empty()) refuse("a binding has no steps");
            bindings_[path[0].kind].push_back(std::move(path));
        }
    }

    // The paths that end at a name of this kind.
    const std::vector<Path> &bindings(std::size_t kind) const { return bindings_[kind]; }
    // Whether a path depends on the field of nodes of this kind.
    bool has_field(std::size_t kind) const { return kind < has_field_.size() && has_field_[kind]; }

    std::vector<std::uint8_t> kinds; // treatments and flags
    std::vector<std::string> texts;
    std::string never_bound;
    bool macros; // which the parser does not know: syntax errors before the body of a unit are no damage

  private:
    std::vector<std::vector<Path>> bindings_;
    std::vector<bool> has_field_;
};

class NodeWalk {
  public:
    NodeWalk(SyntaxReader &reader, nb::handle type, const NodeRules &rules, bool whole, bool values)
        : reader_(reader), rules_(rules), kind_id_(type, "kind_id"), children_(type, "children"), named_(type, "named_child_count"),
          start_(type, "start_byte"), end_(type, "end_byte"), has_error_(type, "has_error"), values_(values), whole_(whole),
          labels_(rules.kinds.size() + 1, none) {}

    SyntaxReader::Damages file(PyObject *root, std::string_view source, CodeLines &lines, nb::object name_of) {
        lines_ = &lines, source_ = source, name_of_ = std::move(name_of);
        line_ = 1, line_end_ = next_line(0);
        cursor_ = nb::getattr(nb::handle(root), "walk")();
        walk();
        return reader_.end_file(lines);
    }

  private:
    struct Frame {
        nb::object node;
        std::size_t kind, index, start;
        Step step;                                    // its field is known if a path depends on it
        std::size_t unit = SyntaxReader::root;        // root: none
        std::size_t children = 0, named_children = 0; // visited so far
        bool has_scope = false;
        std::optional<bool> keeps_tokens = std::nullopt; // known when it is first needed
    };

    // Visits all nodes. A cursor keeps no objects for nodes that it has left, unlike lists of children.
    void walk() {
        const nb::object &cursor = cursor_;
        const Getter node(cursor.type(), "node");
        const auto move = [&](const char *name) { return nb::getattr(cursor, name); };
        const nb::object down = move("goto_first_child"), next = move("goto_next_sibling"), up = move("goto_parent");
        const auto moved = [](const nb::object &way) { return nb::steal(check(PyObject_CallNoArgs(way.ptr()))).ptr() == Py_True; };
        for (bool entered = visit(node(cursor.ptr()));; entered = visit(node(cursor.ptr()))) {
            if (entered) {
                if (moved(down)) continue;
                const Frame &leaf = frames_.back();
                if (reader_.is_in_unit()) add_text(leaf.node.ptr(), leaf.start, leaf.kind, leaf.index);
                leave();
            }
            while (!frames_.empty() && !moved(next)) moved(up), leave();
            if (frames_.empty()) return;
        }
    }

    bool is_error(std::size_t kind) const { return kind >= rules_.kinds.size(); }
    std::uint8_t treatment(std::size_t kind) const {
        return is_error(kind) ? static_cast<std::uint8_t>(inner) : rules_.kinds[kind];
    }
    Treatment of(std::size_t kind) const { return static_cast<Treatment>(treatment(kind) & treatment_bits); }
    Id label(std::size_t kind) {
        Id &id = labels_[std::min(kind, rules_.kinds.size())];
        if (id == none) id = is_error(kind) ? reader_.label("ERROR") : reader_.value(rules_.texts[kind]);
        return id;
    }

    std::size_t next_line(std::size_t from) const {
        const std::size_t found = source_.find('\n', from);
        return found == std::string_view::npos ? source_.size() + 1 : found + 1;
    }
    // Nodes are visited in the order of their first bytes, so lines are counted along the way.
    std::int64_t line_at(std::size_t byte) {
        while (byte >= line_end_) ++line_, line_end_ = next_line(line_end_);
        return line_;
    }
    std::string_view text(std::size_t start, std::size_t end) const {
        if (start > end || end > source_.size()) refuse("a node lies outside the source");
        return source_.substr(start, end - start);
    }

    // Returns the text of a node, or an empty text if it follows from the kind.
    std::string_view own_text(PyObject *node, std::size_t start, std::size_t kind) const {
        const std::string_view written = text(start, end_.number(node));
        return !is_error(kind) && written == rules_.texts[kind] ? std::string_view() : written;
    }
    void add_text(PyObject *node, std::size_t start, std::size_t kind, std::size_t parent) {
        if (const std::string_view written = own_text(node, start, kind); !written.empty())
            reader_.add(reader_.value(written), parent, line_);
    }
    void add_name(PyObject *node, std::size_t start, std::size_t kind, std::size_t parent, bool is_member) {
        const std::string_view written = own_text(node, start, kind);
        if (written.empty()) return;
        const Id label = reader_.value(written);
        const bool binds = reader_.anonymous() && is_bound(kind) && written != rules_.never_bound;
        if (is_member && !binds) {
            reader_.add(label, parent, line_);
            return;
        }
        reader_.add_name(label, parent, line_);
        reader_.use(label, binds);
    }

    // Where the node at the cursor is among the children of its parent.
    Step step(std::size_t kind) const {
        Step step{kind, 0, !frames_.empty() && frames_.back().named_children > 1 ? later : first};
        if (reader_.anonymous() && rules_.has_field(kind))
            if (const nb::object field = nb::getattr(cursor_, "field_id"); !field.is_none())
                step.field = nb::cast<std::size_t>(field);
        return step;
    }
    static bool fits(const Step &step, const Step &wanted) {
        return step.kind == wanted.kind && (!wanted.field || step.field == wanted.field) &&
               (!wanted.position || step.position == wanted.position);
    }
    // Whether the name at the cursor, which is of this kind, is bound.
    bool is_bound(std::size_t kind) const {
        std::optional<Step> own; // looking up the field takes time
        for (const Path &path : rules_.bindings(kind)) {
            if (path.size() > frames_.size() + 1) continue;
            bool fit = true;
            for (std::size_t i = 1; fit && i < path.size(); ++i) fit = fits(frames_[frames_.size() - i].step, path[i]);
            if (!fit) continue;
            if (!own) own = step(kind);
            if (fits(*own, path[0])) return true;
        }
        return false;
    }

    // Adds the node at the cursor. Returns whether its children are to be visited.
    bool visit(nb::object node) {
        pulse_.add(256);
        const std::size_t kind = kind_id_.number(node.ptr());
        const Treatment what = of(kind);
        if (frames_.empty()) return enter(std::move(node), kind, false);
        Frame &above = frames_.back();
        ++above.children;
        if (what != delimiter && what != token && what != kept_token) ++above.named_children;
        if (what == dropped) {
            lines_->hide(start_.number(node.ptr()), end_.number(node.ptr()));
            return false;
        }
        if (what == delimiter) return false;
        if (what == token && (!keeps_tokens(above) || begins_with(above.kind, kind))) return false;
        if (what == content && of(above.kind) == literal && !values_) return false;
        if (what < inner) {
            reader_.add(label(kind), above.index, line_at(start_.number(node.ptr())));
            return false;
        }
        // Such as `size` in `x.size`: all but the first child.
        return enter(std::move(node), kind, above.children > 1 && (treatment(above.kind) & member_holder));
    }

    // Adds a node that is not a token.
    bool enter(nb::object node, std::size_t kind, bool is_member) {
        const Treatment what = of(kind);
        const bool is_root = frames_.empty(), is_unit = whole_ ? is_root : treatment(kind) & unit_kind;
        const bool is_lost = is_error(kind) && !reader_.is_in_unit() && !is_unit; // an error outside units
        const std::size_t start = start_.number(node.ptr());
        const std::int64_t line = line_at(start);
        std::size_t unit = SyntaxReader::root;
        if (is_unit || is_lost) {
            using State = SyntaxReader::State;
            const State state = is_lost ? State::lost : is_damaged(node.ptr()) ? State::damaged : State::whole;
            // A unit may end with a line break, which belongs to its last line.
            const std::int64_t end_line = lines_->line_of(std::max(start + 1, end_.number(node.ptr())) - 1);
            if (state == State::whole && !whole_ && reader_.passes_over(line, end_line)) return false;
            unit = reader_.begin_unit(line, end_line, state);
        }
        const std::size_t index = reader_.add(label(kind), is_root ? SyntaxReader::root : frames_.back().index, line);
        const bool is_needed = reader_.is_in_unit();
        if (what == identifier) {
            if (is_needed) add_name(node.ptr(), start, kind, index, is_member || (treatment(kind) & member_kind));
            return false;
        }
        if (what == content || (what == literal && !has_parts(node.ptr()))) {
            if (values_ && is_needed) add_text(node.ptr(), start, kind, index);
            return false;
        }
        Frame frame{std::move(node), kind, index, start, step(kind), unit};
        if (treatment(kind) & scope_kind) {
            const nb::object above = is_root ? nb::none() : frames_.back().node;
            scopes_.push_back(nb::cast<std::string>(name_of_(frame.node, above)));
            frame.has_scope = true;
        }
        frames_.push_back(std::move(frame));
        return true;
    }

    bool is_damaged(PyObject *unit) const {
        if (has_error_(unit).ptr() != Py_True) return false;
        if (!rules_.macros) return true;
        const nb::object body = nb::getattr(unit, "child_by_field_name")("body");
        return body.is_none() || has_error_(body.ptr()).ptr() == Py_True;
    }

    void leave() {
        const Frame &frame = frames_.back();
        if (frame.unit != SyntaxReader::root)
            if (auto *unit = reader_.end_unit(frame.unit)) unit->name = joined_name(scopes_);
        if (frame.has_scope) scopes_.pop_back();
        frames_.pop_back();
    }

    // Whether a literal has parts other than its text, such as the expressions in a template.
    bool has_parts(PyObject *node) const {
        const nb::object children = children_(node);
        for (Py_ssize_t i = 0, n = PyList_Size(children.ptr()); i < n; ++i)
            if (const Treatment what = of(kind_id_.number(PyList_GetItem(children.ptr(), i))); what >= inner && what != content)
                return true;
        return false;
    }
    bool keeps_tokens(Frame &frame) const {
        if (!frame.keeps_tokens) frame.keeps_tokens = (treatment(frame.kind) & holder) || named_.number(frame.node.ptr()) == 0;
        return *frame.keeps_tokens;
    }
    // The keyword with which the name of a kind begins follows from the kind: "break" in "break_statement".
    bool begins_with(std::size_t parent, std::size_t token) const {
        return !is_error(parent) && !is_error(token) && rules_.texts[parent].starts_with(rules_.texts[token]);
    }

    SyntaxReader &reader_;
    CodeLines *lines_ = nullptr;
    const NodeRules &rules_;
    Getter kind_id_, children_, named_, start_, end_, has_error_;
    bool values_, whole_;
    nb::object name_of_, cursor_;
    std::vector<Id> labels_; // by kind, the last one for errors; none until it is needed
    std::string_view source_;
    std::int64_t line_ = 1;
    std::size_t line_end_ = 0;
    std::deque<Frame> frames_;
    std::vector<std::string> scopes_;
    Pulse pulse_;
};

// The text of a source, in pieces. tree-sitter calls it without asking whether the parse is to go on, and cannot deal with
// errors here. So an error of `check` is kept, and the parser believes that the text ends.
class Chunks {
  public:
    Chunks(nb::bytes text, nb::object check) : text_(std::move(text)), check_(std::move(check)) {}

    nb::bytes read(std::size_t begin, const nb::object &) {
        if (!error_) {
            try {
                if (PyErr_CheckSignals()) throw nb::python_error();
                check_(begin);
            } catch (nb::python_error &error) {
                error_.emplace(std::move(error));
            }
        }
        const std::size_t size = text_.size();
        if (error_ || begin >= size) return nb::bytes("", 0);
        std::size_t end = std::min(begin + piece, size);
        while (end < size && end > begin + 1 && (text_.c_str()[end] & 0xC0) == 0x80) --end; // not inside a character
        return nb::bytes(text_.c_str() + begin, end - begin);
    }
    // Raises the error that ended the text.
    void raise() {
        if (error_) throw nb::python_error(std::move(*std::exchange(error_, std::nullopt)));
    }

  private:
    static constexpr std::size_t piece = 1024;

    nb::bytes text_;
    nb::object check_;
    std::optional<nb::python_error> error_;
};

using Columns = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

Columns columns(SyntaxReader &reader, const SyntaxReader::Damages &damaged) {
    SyntaxReader::Results found = reader.take_results();
    const std::size_t left_out = reader.take_short();
    std::vector<std::int64_t> lines, end_lines, code_lines;
    nb::list names, skipped;
    for (const SyntaxReader::Unit &unit : found.units) {
        lines.push_back(unit.line), end_lines.push_back(unit.end_line);
        code_lines.push_back(unit.code_lines);
        names.append(nb::str(unit.name.data(), unit.name.size()));
    }
    for (const auto &[line, state] : damaged) skipped.append(nb::make_tuple(line, static_cast<int>(state)));
    return nb::make_tuple(reader.store(), to_numpy(std::move(found.roots)), to_numpy(std::move(lines)),
                          to_numpy(std::move(end_lines)), names, to_numpy(std::move(found.node_lines)),
                          to_numpy(std::move(found.node_begins)), to_numpy(std::move(found.node_ends)),
                          to_numpy(std::move(code_lines)), skipped, left_out);
}

// Reads files of one language with the same options into one store.
class AstReader {
  public:
    AstReader(std::shared_ptr<Store> store, bool whole, bool anonymous, AstRules rules, std::int64_t min_lines)
        : reader_(anonymous, min_lines, std::move(store)), walk_(reader_, std::move(rules), whole) {}
    AstReader(const AstReader &) = delete;
    AstReader &operator=(const AstReader &) = delete;

    Columns read(const nb::typed<nb::list, nb::any> &roots, const nb::str &text) {
        CodeLines lines(utf8(text.ptr()), true);
        SyntaxReader::Damages damaged;
        for (nb::handle root : roots) {
            const auto more = walk_.file(root.ptr(), lines);
            damaged.insert(damaged.end(), more.begin(), more.end());
        }
        return columns(reader_, damaged);
    }

  private:
    SyntaxReader reader_;
    AstWalk walk_;
};

class NodeReader {
  public:
    NodeReader(std::shared_ptr<Store> store, bool whole, bool anonymous, nb::object type, std::shared_ptr<const NodeRules> rules,
               bool values, std::int64_t min_lines)
        : reader_(anonymous, min_lines, std::move(store)), rules_(std::move(rules)), walk_(reader_, type, *rules_, whole, values) {}
    NodeReader(const NodeReader &) = delete;
    NodeReader &operator=(const NodeReader &) = delete;

    Columns read(const nb::object &root, const nb::bytes &source, nb::object name_of) {
        const std::string_view text(source.c_str(), source.size());
        CodeLines lines(text, false);
        return columns(reader_, walk_.file(root.ptr(), text, lines, std::move(name_of)));
    }

  private:
    SyntaxReader reader_;
    std::shared_ptr<const NodeRules> rules_;
    NodeWalk walk_;
};

} // namespace

namespace treelet::python {

void bind_syntax(nb::module_ &m) {
    nb::class_<AstReader>(m, "AstReader",
                          "Stores the units of trees of ast nodes, or with whole=True the trees themselves, of many files in one "
                          "store. After an exception, it must not be used again.")
        .def(
            "__init__",
            [](AstReader *self, std::shared_ptr<Store> store, bool whole, bool anonymous, nb::object describe, nb::object constant,
               nb::object other, nb::object is_docstring, std::int64_t min_lines) {
                new (self)
                    AstReader(std::move(store), whole, anonymous,
                              {std::move(describe), std::move(constant), std::move(other), std::move(is_docstring)}, min_lines);
            },
            "store"_a, "whole"_a, "anonymous"_a, "describe"_a, "constant"_a.none(), "other"_a, "is_docstring"_a, "min_lines"_a = 0)
        .def("read", &AstReader::read, "roots"_a, "text"_a,
             "Read a file. Return the store, the roots; for each unit its first and last line and its qualified name; the lines "
             "of nodes, and for each unit the begin and end of its nodes in them and its number of lines with code; the line of "
             "each skipped unit and why: 1 it contains a syntax error, 2 a syntax error is outside units, 3 too many units are "
             "inside each other in it; the number of units with fewer than `min_lines` lines of code, which are left out, without "
             "those inside others.");
    nb::class_<NodeRules>(
        m, "NodeRules",
        "What becomes of the nodes of a language: treatments and labels of the kinds, paths from bound names "
        "upwards, with (kind, field, position) per step, a name that is never bound, and whether syntax errors before "
        "the body of a unit are macros.")
        .def(nb::init<ByteArray, std::vector<std::string>, const std::vector<NodeRules::Steps> &, std::string, bool>(),
             "treatments"_a, "labels"_a, "bindings"_a, "never_bound"_a, "macros"_a);
    nb::class_<NodeReader>(m, "NodeReader",
                           "Stores the units of trees of tree-sitter nodes, which are of this type, as AstReader does.")
        .def(nb::init<std::shared_ptr<Store>, bool, bool, nb::object, std::shared_ptr<const NodeRules>, bool, std::int64_t>(),
             "store"_a, "whole"_a, "anonymous"_a, "type"_a, "rules"_a, "values"_a, "min_lines"_a = 0)
        .def("read", &NodeReader::read, "root"_a, "source"_a, "name_of"_a, "Read a file, as AstReader does.");
    m.def(
        "reduced_copy",
        [](const Store &store, ByteArray marked, const std::vector<std::string> &labels, std::optional<std::shared_ptr<Store>> base,
           const std::optional<std::string> &leaf) {
            if (marked.shape(0) != store.size() || labels.size() != store.label_count())
                refuse("there must be a mark for each node and a name for each label");
            auto copy = base ? std::make_shared<Store>(std::shared_ptr<const Store>(*base)) : std::make_shared<Store>();
            std::vector<Id> numbers, nodes;
            {
                WithoutGil free;
                for (const std::string &label : labels) numbers.push_back(copy->add_label(label));
                nodes =
                    reduced_copy(store, *copy, marked.data(), numbers, leaf ? std::optional(copy->add_label(*leaf)) : std::nullopt);
            }
            return std::make_pair(copy, to_numpy(std::move(nodes)));
        },
        "store"_a, "marked"_a, "labels"_a, "base"_a = nb::none(), "leaf"_a = nb::none(),
        "Copy all nodes, without marked nodes below others and with other labels, to a new store over a base. All leaves below "
        "others get the label `leaf` if it is given. Return the store and the copy of each node.");
    m.def(
        "statement_codes",
        [](const Store &store, IdArray roots, ByteArray begins, IdArray number, IdArray form, int bits) {
            check_ids(roots, store.size(), "root", none);
            if (begins.shape(0) != store.child_count() || number.shape(0) != store.size() || form.shape(0) != store.size())
                refuse("there must be a mark for each child, and two numbers for each node");
            if (bits < 0 || bits > 30) refuse("the number of bits must be between 0 and 30");
            StatementCodes found;
            {
                WithoutGil free;
                found = statement_codes(store, roots.data(), roots.shape(0), begins.data(), number.data(), form.data(), bits);
            }
            return std::make_pair(to_numpy(std::move(found.start)), to_numpy(std::move(found.code)));
        },
        "store"_a, "roots"_a, "begins"_a, "number"_a, "form"_a, "bits"_a,
        "Return where the codes of each tree start, and the codes of its statements in ascending order: a code is the number "
        "of the statement and 0, or that of its form and 1, then the number of its occurrence in the last bits.");
    nb::class_<Chunks>(
        m, "Chunks",
        "Text that tree-sitter reads in pieces. `check` is called with the offset of each piece; if it raises an error, "
        "or a signal does, the text ends there.")
        .def(nb::init<nb::bytes, nb::object>(), "text"_a, "check"_a)
        .def("__call__", &Chunks::read, "offset"_a, "point"_a.none())
        .def("raise_error", &Chunks::raise, "Raise the error that ended the text, if there is one.");
    m.attr("MAX_NESTING") = SyntaxReader::max_nesting;
}

} // namespace treelet::python
