// Lines of a source that contain code: anything but white space, comments and hidden text.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace treelet {

class CodeLines {
  public:
    // In Python, comments are found here, and a line may also end with a carriage return. In other languages, the parser
    // finds the comments, which are then hidden.
    CodeLines(std::string_view text, bool python) : text_(text), python_(python) {
        for (std::size_t i = 0; i < text.size(); ++i)
            if (ends_line(i)) begin_.push_back(i + 1);
        if (begin_.size() > 1 && begin_.back() == text.size()) begin_.pop_back();
    }

    std::int64_t count() const { return static_cast<std::int64_t>(begin_.size()); }
    // The byte at a line, from 1, and a column, from 0 and in bytes.
    std::size_t byte_at(std::int64_t line, std::int64_t column) const {
        if (line < 1 || line > count() || column < 0) return text_.size();
        return std::min(begin_[static_cast<std::size_t>(line - 1)] + static_cast<std::size_t>(column), text_.size());
    }
    // The line, from 1, with a byte.
    std::int64_t line_of(std::size_t byte) const { return std::upper_bound(begin_.begin(), begin_.end(), byte) - begin_.begin(); }
    // Text that does not count, such as a docstring. It may be empty. No string is open after it, whatever came before: in a
    // damaged file, the end of a string may be missing.
    void hide(std::size_t begin, std::size_t end) { hidden_.emplace_back(begin, end); }

    // Counts the lines with code among the lines from `first` to `last`. Nothing can be hidden afterwards.
    std::int64_t between(std::int64_t first, std::int64_t last) {
        if (total_.empty()) scan();
        const auto inside = [&](std::int64_t line) { return static_cast<std::size_t>(std::clamp<std::int64_t>(line, 0, count())); };
        return std::max<std::int64_t>(0, total_[inside(last)] - total_[inside(first - 1)]);
    }

  private:
    bool ends_line(std::size_t at) const {
        return text_[at] == '\n' || (python_ && text_[at] == '\r' && (at + 1 == text_.size() || text_[at + 1] != '\n'));
    }

    void scan() {
        std::sort(hidden_.begin(), hidden_.end());
        total_.push_back(0);
        std::size_t next = 0, hidden_until = 0;
        std::string_view quotes; // that close the string which is open
        bool is_code = false, is_comment = false, is_continued = false;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            for (; next < hidden_.size() && hidden_[next].first <= i; ++next)
                hidden_until = std::max(hidden_until, hidden_[next].second), quotes = {};
            const char c = text_[i];
            if (ends_line(i)) {
                total_.push_back(total_.back() + is_code);
                if (quotes.size() == 1 && !is_continued) quotes = {};
                is_code = is_comment = is_continued = false;
                continue;
            }
            if (i < hidden_until || is_comment || c == ' ' || (c >= '\t' && c <= '\r')) continue;
            is_comment = python_ && quotes.empty() && c == '#';
            if (is_comment) continue;
            is_code = true;
            if (!python_) continue;
            if (!quotes.empty() && c == '\\') {
                is_continued = i + 1 == text_.size() || text_[i + 1] == '\r' || text_[i + 1] == '\n';
                i += !is_continued;
            } else if (!quotes.empty() && text_.substr(i).starts_with(quotes)) {
                i += quotes.size() - 1;
                quotes = {};
            } else if (quotes.empty() && (c == '"' || c == '\'')) {
                quotes = text_.substr(i, text_.substr(i).starts_with(c == '"' ? R"(""")" : "'''") ? 3 : 1);
                i += quotes.size() - 1;
            }
        }
        if (static_cast<std::int64_t>(total_.size()) <= count()) total_.push_back(total_.back() + is_code);
    }

    std::string_view text_;
    bool python_;
    std::vector<std::size_t> begin_{0};                       // per line, its first byte
    std::vector<std::pair<std::size_t, std::size_t>> hidden_; // first byte, and the byte after the last one
    std::vector<std::int32_t> total_;                         // per line, the number of lines with code up to it; before all: 0
};

} // namespace treelet
