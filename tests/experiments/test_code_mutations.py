"""Copies with known changes, the ground truth of `benchmarks.clones`."""

from __future__ import annotations

import io
import random

import pytest

import treelet as tl

mutations = pytest.importorskip("benchmarks.code_mutations", reason="source distributions have no benchmarks")

PYTHON = '''
def rows_of(reader, path, limit=None, *, strict=False):
    """Return the rows.

    The text goes on.
    """
    rows = []
    count = 0
    header = None
    # The first line.
    for line in open(path):
        fields = line.split(",")
        if header is None:
            header = fields
            continue
        if strict and len(fields) != len(header):
            raise ValueError(f"{path}: {fields!r} in {count}")
        count += 1
        text = """a
  b"""
        rows.append(dict(zip(header, fields)))
        rows.sort(key=len)
        if limit is not None:
            rows = rows[:limit]
            reader.log(text, count=count)
    total = sum(map(len, rows))
    reader.done(total)
    return rows
'''
JAVASCRIPT = """
class Reader {
  rowsOf(lines, limit, { strict }) {
    const rows = [];
    let count = 0;
    let header = null;
    // The first line.
    for (const line of lines) {
      const fields = line.split(",");
      if (header === null) {
        header = fields;
        continue;
      }
      if (strict && fields.length !== header.length) {
        throw new Error(`${count} of ${fields}`);
      }
      count += 1;
      rows.push(this.zip(header, fields, { count }));
      rows.length = Math.min(rows.length, limit);
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
    char *header = NULL;
    /* The first line. */
    for (int i = 0; lines[i]; i++) {
        char *line = lines[i];
        int width = strlen(line);
        if (header == NULL) {
            header = line;
            continue;
        }
        if (width > limit) {
            report("too \\
long", count);
            goto done;
        }
        count += 1;
        total += width;
        reader->push(reader, line, width);
    }
    reader->count = count;
done:
    reader->total = total;
    return total;
}
"""
SOURCES = {"python": PYTHON, "javascript": JAVASCRIPT, "c": C}
KINDS = (*mutations.OPERATIONS, "mixed", "mixed, renamed")


def function_of(language: str) -> mutations.Function:
    (function,) = mutations.functions(language, SOURCES[language])
    return function


def donors() -> mutations.Donors:
    return mutations.Donors({}, [f"name{number}" for number in range(20)])


def tree_of(function: mutations.Function, **options: str) -> str:
    source = io.StringIO(function.file_text())
    return tl.read_code(source, language=function.language, **options).strings()[0]


@pytest.mark.parametrize("language", SOURCES)
def test_the_function_and_its_statements_are_found(language: str) -> None:
    function = function_of(language)
    assert function.is_method == (language == "javascript")
    assert mutations.is_correct(language, function.file_text())
    lines = SOURCES[language].split("\n")
    assert [line.strip() for line in lines[function.line - 1 : function.end_line]] == [
        line.strip() for line in function.lines
    ]
    statements = mutations.statements(function)
    texts = [function.lines[each.first].strip() for each in statements if each.simple]
    assert any("count += 1" in text for text in texts)
    assert any(text.startswith("return") for text in texts)
    assert not any(text.startswith(("for", "if", "#", "//", "/*", '"""')) for text in texts)
    assert all(each.last >= each.first for each in statements)


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("seed", range(10))
def test_another_layout_is_the_same_tree(language: str, seed: int) -> None:
    function = function_of(language)
    copy = mutations.mutated(function, "layout", 0, donors(), random.Random(seed))
    assert copy is not None
    assert copy.lines != function.lines
    assert tree_of(copy) == tree_of(function)


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("seed", range(10))
def test_other_names_are_the_same_anonymous_tree(language: str, seed: int) -> None:
    function = function_of(language)
    copy = mutations.mutated(function, "renamed", 0, donors(), random.Random(seed))
    assert copy is not None
    assert tree_of(copy) != tree_of(function)
    assert tree_of(copy, identifiers="anonymous") == tree_of(function, identifiers="anonymous")
    names = mutations.renamable(function)
    assert (
        {"header", "fields", "rows"} <= names.keys() if language != "c" else {"header", "line", "width"} <= names.keys()
    )
    assert not {"self", "strict" if language == "javascript" else "log", "push", "done"} & names.keys()


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_edited_statements_parse_and_change_the_tree(language: str, kind: str, share: float) -> None:
    function = function_of(language)
    given = mutations.Donors.of([function])
    given.names += donors().names
    if kind == "replaced":  # by statements of the same kind, but not by themselves
        assert any(len(lines) > 1 for lines in given.statements.values())
    made = 0
    for seed in range(20):
        copy = mutations.mutated(function, kind, share, given, random.Random(seed))
        if copy is None:
            continue
        made += 1
        assert mutations.is_correct(language, copy.file_text())
        assert tree_of(copy, identifiers="anonymous") != tree_of(function, identifiers="anonymous")
        count, edits = len(mutations.statements(function)), max(1, round(share * len(mutations.statements(function))))
        after = len(mutations.statements(copy))
        expected = {"inserted": count + edits, "deleted": count - edits, "replaced": count, "moved": count}
        assert after == expected.get(kind, after)
        assert copy.end_line - copy.line + 1 == len(copy.lines)
    assert made > 5


def test_the_same_seed_makes_the_same_copy() -> None:
    function = function_of("python")
    given = mutations.Donors.of([function])
    copies = [mutations.mutated(function, "mixed", 0.3, given, random.Random(1)) for _ in range(2)]
    assert copies[0] is not None
    assert copies[0] == copies[1]
