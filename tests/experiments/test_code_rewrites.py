"""Rewritten copies, the harder ground truth of `benchmarks.clones`."""

from __future__ import annotations

import random
import re

import pytest

mutations = pytest.importorskip("benchmarks.code_mutations", reason="source distributions have no benchmarks")
rewrites = pytest.importorskip("benchmarks.code_rewrites")

PYTHON = """
def rows_of(reader, path, limit=None):
    rows = []
    count = 0
    for line in reader.lines(path):
        fields = line.split(",")
        count += len(fields)
        reader.log("read", count)
        rows.append(fields)
    while count > 100:
        count -= 1
        rows.pop()
    sizes = [len(row) for row in rows if row]
    total = sum(sizes)
    reader.done(total, "ready")
    return rows
"""
JAVASCRIPT = """
class Reader {
  rowsOf(lines, limit) {
    const rows = [];
    let count = 0;
    for (const line of lines) {
      const fields = line.split(",");
      count += fields.length;
      rows.push(this.zip(fields, count));
    }
    for (let i = 0; i < limit; i++) {
      this.log("read", i);
    }
    while (count > 100) {
      count -= 1;
    }
    const total = rows.reduce((sum, row) => sum + row.length, 0);
    this.done(total);
    return rows;
  }
}
"""
C = """
static int rows_of(struct table *reader, char **lines, int limit)
{
    int count = 0;
    int total = 0;
    for (int i = 0; i < limit; i++) {
        char *line = lines[i];
        int width = strlen(line);
        count += 1;
        total += width;
        reader->push(reader, line, width);
    }
    while (total > 100) {
        total -= 1;
    }
    reader->count = count;
    report("ready", count);
    return total;
}
"""
JAVA = """
class Reader {
    private int rowsOf(List<String> lines, int limit) {
        int count = 0;
        int total = 0;
        for (String line : lines) {
            int width = line.length();
            count += 1;
            total += width;
            this.table.push(line, width);
        }
        for (int i = 0; i < limit; i++) {
            report("read", i);
        }
        while (total > 100) {
            total -= 1;
        }
        this.count = count;
        return total;
    }
}
"""
SOURCES = {"python": PYTHON, "javascript": JAVASCRIPT, "c": C, "java": JAVA}
SHARES = (0.3, 0.6, 0.9)


def function_of(language: str) -> mutations.Function:
    (function,) = mutations.functions(language, SOURCES[language])
    return function


def donors(function: mutations.Function) -> mutations.Donors:
    given = mutations.Donors.of([function])
    given.names += [f"name{number}" for number in range(30)]
    return given


def copies(language: str, kind: str, share: float = 0.5) -> list[rewrites.Rewritten]:
    """Return the copies with 8 seeds, as far as the function can be rewritten in this way."""
    function = function_of(language)
    other = function_of(language)
    other.lines = [re.sub(r"count|total|report|lines?|width", "number", line) for line in other.lines]
    found = []
    for seed in range(8):
        arguments = (kind, share, donors(function), [function, other], random.Random(seed))
        result = rewrites.rewritten(function, *arguments)
        if result is not None:
            assert rewrites.rewritten(function, *arguments[:-1], random.Random(seed)) == result  # one seed, one copy
            found.append(result[0])
    return found


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("kind", rewrites.REWRITES)
def test_copies_parse_and_their_parts_are_functions(language: str, kind: str) -> None:
    found = copies(language, kind)
    assert len(found) >= 4
    for copy in found:
        assert mutations.is_correct(language, copy.text)
        assert copy.text != function_of(language).file_text()
        kinds = mutations.FUNCTIONS[language]
        functions = [
            node for node in mutations.nodes_below(mutations.parsed(language, copy.text)) if node.type in kinds
        ]
        assert copy.parts == [(node.start_point[0] + 1, node.end_point[0] + 1) for node in functions]
        assert len(copy.parts) == (2 if kind in ("extracted", "split") else 1)


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("share", SHARES)
def test_edits_inside_change_one_place_per_statement(language: str, share: float) -> None:
    function = function_of(language)
    text = function.file_text()
    blocks = [
        node
        for node in mutations.nodes_below(mutations.parsed(language, text))
        if node.type in mutations.BLOCKS[language]
    ]
    count = sum(child.type not in mutations.NO_STATEMENTS for block in blocks for child in block.named_children)
    for copy in copies(language, "inside", share):
        before, after = text.split("\n"), copy.text.split("\n")
        assert len(before) == len(after)
        changed = sum(first != second for first, second in zip(before, after, strict=True))
        assert changed == max(1, round(share * count))  # each statement of the sources begins on its own line


@pytest.mark.parametrize("language", SOURCES)
def test_no_statement_is_lost(language: str) -> None:
    function = function_of(language)
    before = {function.lines[each.first].strip() for each in mutations.statements(function) if each.simple}
    for kind in ("extracted", "split"):
        for copy in copies(language, kind):
            after = {line.strip() for line in copy.text.split("\n")}
            assert before <= after
            rest, helper = (copy.text.split("\n")[first - 1 : last] for first, last in copy.parts)
            assert len(helper) >= 0.3 * len(function.lines)
            name = re.search(r"(\w+)\(", helper[0])
            assert name is not None
            assert any(f"{name[1]}(" in line for line in rest)  # which calls the new function
    for copy in copies(language, "merged"):
        lines = [line.strip() for line in copy.text.split("\n")]
        assert {line for line in before if not line.startswith("return")} <= set(lines)
        assert len(lines) > 1.5 * len(function.lines)


@pytest.mark.parametrize("language", SOURCES)
def test_inlined_pieces_come_from_the_other_function(language: str) -> None:
    function = function_of(language)
    for copy in copies(language, "inlined"):
        new = set(copy.text.split("\n")) - set(function.file_text().split("\n"))
        assert any("number" in line for line in new)
        assert copy.parts[0][1] - copy.parts[0][0] + 1 >= 1.15 * len(function.lines)


def test_all_loops_are_rewritten() -> None:
    expected = {
        "python": (["while", "len(reader.lines(path))", "for _ in iter(int, 1):", "if not (count > 100):", "sizes.append(len(row))"], []),
        "javascript": (["i < limit", "for (; count > 100;) {", "lines.length", "i++;"], ["for (let i = 0; i < limit; i++)", " of lines"]),
        "c": (["while (i < limit) {", "i++;", "for (; total > 100;) {"], ["for (int i"]),
        "java": (["lines.get(", "while (i < limit) {", "for (; total > 100;) {"], ["line : lines"]),
    }  # fmt: skip
    for language, (there, gone) in expected.items():
        for copy in copies(language, "loops"):
            assert all(text in copy.text for text in there), copy.text
            assert not any(text in copy.text for text in gone), copy.text
            kept = set(words(function_of(language).file_text())) - {"for", "while", "of", "const", "in", "if"}
            assert kept <= set(words(copy.text))
