// A streaming, iterative reader of bracketed trees: "(S (NP (D the) (N cat)) (VP (V sat)))". Bytes
// come in chunks of any size, and finished trees are added to a Store at once. Deep trees need heap
// memory, never stack.
#pragma once
#include "pulse.hpp"
#include "store.hpp"
#include <algorithm>
#include <utility>

namespace treelet {

struct InputError : std::runtime_error {
    InputError(std::int64_t line, std::int64_t column, const std::string &what)
        : std::runtime_error(what), line(line), column(column) {}
    std::int64_t line, column; // counted from 1
};

struct BracketOptions {
    bool drop_empty = false;         // remove -NONE- elements, and nodes that have no other children
    bool drop_function_tags = false; // NP-SBJ-1 -> NP
    std::string root;                // label for anonymous roots; if empty, they are removed
};

class BracketReader {
  public:
    explicit BracketReader(BracketOptions options = {}) : options_(std::move(options)) {}

    // Reads bytes until `most` trees are complete. Returns the number of bytes read.
    std::size_t feed(std::string_view bytes, std::size_t most = std::numeric_limits<std::size_t>::max()) {
        const char *p = bytes.data(), *end = p + bytes.size();
        Pulse pulse;
        while (p < end && roots_.size() < most) {
            const char c = *p;
            if (is_token(c)) {
                const char *start = p;
                while (p < end && is_token(*p)) ++p;
                if (token_.empty()) token_at_ = {line_, column_};
                column_ += count_characters(start, p);
                if (p == end || !token_.empty()) {
                    token_.append(start, p); // the token may continue in the next chunk
                    if (p == end) {
                        if (std::find(start, p, '\0') != p) finish_token(token_); // a NUL byte is not text: stop here
                        return bytes.size();
                    }
                    finish_token(token_);
                    token_.clear();
                } else {
                    finish_token(std::string_view(start, static_cast<std::size_t>(p - start)));
                }
                continue;
            }
            if (!token_.empty()) {
                finish_token(token_);
                token_.clear();
            }
            if (c == '(') {
                if (column_ == 1 && !frames_.empty()) found_within();
                frames_.push_back({none, kids_.size(), {line_, column_}, false, false});
            } else if (c == ')') {
                close();
                pulse.add(64);
            }
            if (c == '\n') {
                ++line_;
                column_ = 1;
            } else {
                ++column_;
            }
            ++p;
        }
        return static_cast<std::size_t>(p - bytes.data());
    }

    // Ends the input. Every open bracket must have been closed.
    void finish() {
        if (!token_.empty()) {
            finish_token(token_);
            token_.clear();
        }
        if (!frames_.empty())
            throw InputError(frames_.front().at.line, frames_.front().at.column,
                             "this '(' starts a tree that is never closed. Number of missing ')' at the end of the input: " +
                                 std::to_string(frames_.size()) + ".");
    }

    // Returns the position where the open tree begins; {0, 0} if no tree is open.
    std::pair<std::int64_t, std::int64_t> open_at() const {
        return frames_.empty() ? std::pair<std::int64_t, std::int64_t>{0, 0}
                               : std::pair{frames_.front().at.line, frames_.front().at.column};
    }

    // The number of trees that start at the beginning of a line and lie within it; the number of
    // trees that contain a line that begins with '('; the first such line; and the line where its
    // tree began.
    struct Lines {
        std::int64_t alone = 0, around = 0, line = 0, begun = 0;
    };
    const Lines &lines() const { return lines_; }

    // After an error: discards open nodes, and all trees except the first `trees`. Their subtrees
    // stay in the store.
    void abandon(std::size_t trees) {
        frames_.clear();
        kids_.clear();
        token_.clear();
        if (trees < roots_.size()) roots_.resize(trees);
    }

    // Sets the position of the next byte, for callers that feed parts of lines.
    void move_to(std::int64_t line, std::int64_t column) { line_ = line, column_ = column; }

    const std::vector<Id> &roots() const { return roots_; }
    // Returns the trees so far in their own store. Later trees go into a new store. No tree may be
    // open.
    std::pair<Store, std::vector<Id>> take() { return {std::exchange(store_, Store()), std::exchange(roots_, {})}; }

  private:
    struct Place {
        std::int64_t line, column;
    };
    struct Frame {
        Id label;
        std::size_t first_kid;
        Place at;
        bool dropped; // whether a descendant was removed
        bool empty_element;
    };
    static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
    static bool is_token(char c) { return !is_space(c) && c != '(' && c != ')'; }

    // Columns count characters, not bytes.
    static std::int64_t count_characters(const char *p, const char *end) {
        std::int64_t n = 0;
        for (; p < end; ++p) n += (*p & 0xC0) != 0x80;
        return n;
    }

    static bool valid_utf8(std::string_view s) {
        for (std::size_t i = 0; i < s.size();) {
            const auto c = static_cast<unsigned char>(s[i]);
            if (c == 0) return false;
            if (c < 0x80) {
                ++i;
                continue;
            }
            const std::size_t extra = c >= 0xC2 && c < 0xE0 ? 1 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xF0 && c < 0xF5 ? 3 : 0;
            if (extra == 0 || i + extra >= s.size()) return false;
            std::uint32_t code = c & (0x3F >> extra);
            for (std::size_t k = 1; k <= extra; ++k) {
                const auto d = static_cast<unsigned char>(s[i + k]);
                if ((d & 0xC0) != 0x80) return false;
                code = code << 6 | (d & 0x3F);
            }
            if ((extra == 2 && code < 0x800) || (extra == 3 && (code < 0x10000 || code > 0x10FFFF)) ||
                (code >= 0xD800 && code <= 0xDFFF))
                return false;
            i += extra + 1;
        }
        return true;
    }

    void finish_token(std::string_view text) {
        if (!valid_utf8(text))
            throw InputError(token_at_.line, token_at_.column,
                             text.find('\0') != text.npos ? "the file contains a NUL byte, so it is not a text file."
                                                          : "these bytes are not UTF-8 text. If the file has another encoding, "
                                                            "name the encoding (encoding='latin-1').");
        if (frames_.empty())
            throw InputError(token_at_.line, token_at_.column,
                             "unexpected text outside brackets: '" + beginning(text) + "'. A tree starts with '('.");
        Frame &frame = frames_.back();
        const bool is_label = frame.label == none && kids_.size() == frame.first_kid && !frame.dropped;
        if (is_label) {
            frame.empty_element = options_.drop_empty && text == "-NONE-";
            if (options_.drop_function_tags) text = bare_label(text);
            frame.label = store_.add_label(text);
        } else {
            kids_.push_back(store_.add_node(store_.add_label(text), nullptr, 0));
        }
    }

    // Returns at most 40 bytes of the text, without cutting a character in two.
    static std::string beginning(std::string_view text) {
        std::size_t n = std::min<std::size_t>(text.size(), 40);
        while (n < text.size() && n > 0 && (text[n] & 0xC0) == 0x80) --n;
        return std::string(text.substr(0, n));
    }

    // "NP-SBJ-1" -> "NP", "S=2" -> "S", "ADVP|PRT" -> "ADVP". Labels that begin with '-' (-LRB-,
    // -NONE-) stay whole.
    static std::string_view bare_label(std::string_view text) {
        if (text.find_first_of("-=|") == 0) return text;
        return text.substr(0, text.find_first_of("-=|"));
    }

    void close() {
        if (frames_.empty()) throw InputError(line_, column_, "unexpected ')'. Check for an extra closing bracket.");
        const Frame frame = frames_.back();
        frames_.pop_back();
        const std::size_t n = kids_.size() - frame.first_kid;
        Id node;
        if (frame.empty_element || (frame.dropped && n == 0)) {
            kids_.resize(frame.first_kid);
            if (frames_.empty())
                throw InputError(frame.at.line, frame.at.column,
                                 "this tree is empty after its -NONE- elements are removed. Remove the tree, or keep -NONE-.");
            frames_.back().dropped = true;
            return;
        }
        if (frame.label != none) {
            node = store_.add_node(frame.label, kids_.data() + frame.first_kid, n);
        } else if (n == 0) {
            throw InputError(frame.at.line, frame.at.column, "empty brackets '()'. A tree needs a label.");
        } else if (frames_.empty() && !options_.root.empty()) {
            node = store_.add_node(store_.add_label(options_.root), kids_.data() + frame.first_kid, n);
        } else if (n == 1 && (frames_.empty() || frames_.back().label == none)) {
            node = kids_[frame.first_kid]; // remove an anonymous root around one tree
        } else {
            throw InputError(frame.at.line, frame.at.column,
                             frames_.empty()
                                 ? "the root has no label and several children. Write \"(ROOT ...\", or pass root=\"ROOT\"."
                                 : "a node inside the tree has no label. Write the label directly after '('.");
        }
        kids_.resize(frame.first_kid);
        if (frames_.empty()) {
            roots_.push_back(node);
            lines_.alone += frame.at.line == line_ && frame.at.column == 1;
        } else
            kids_.push_back(node);
    }

    void found_within() {
        const std::int64_t begun = frames_.front().at.line;
        if (begun == counted_) return;
        counted_ = begun;
        if (lines_.around++ == 0) lines_.line = line_, lines_.begun = begun;
    }

    BracketOptions options_;
    Lines lines_;
    std::int64_t counted_ = 0; // the line where the last tree counted in `around` began
    Store store_;
    std::vector<Id> roots_, kids_;
    std::vector<Frame> frames_;
    std::string token_;
    Place token_at_{1, 1};
    std::int64_t line_ = 1, column_ = 1;
};

// Writes a tree in brackets on one line. Its nodes are written as often as they occur.
inline std::string in_brackets(const Store &store, Id root) {
    struct Open {
        Id node;
        std::size_t next; // child to write
    };
    const auto label = [&](Id node) { return store.label_text(store.label(node)); };
    std::string out = "(";
    out += label(root);
    std::vector<Open> open{{root, 0}};
    Pulse pulse;
    while (!open.empty()) {
        pulse.add(8);
        Open &last = open.back();
        if (last.next == store.arity(last.node)) {
            out += ')';
            open.pop_back();
            continue;
        }
        const Id child = store.children(last.node)[last.next++];
        out += store.arity(child) ? " (" : " ";
        out += label(child);
        if (store.arity(child)) open.push_back({child, 0});
    }
    return out;
}

} // namespace treelet
