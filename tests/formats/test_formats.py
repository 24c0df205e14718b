"""Every file format: what is read, what is written, and what is refused, with the place."""

from __future__ import annotations

import ast
import bz2
import gzip
import io
import lzma
import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import trials
from treelet.errors import FileError, FormatError, InputTypeError, ParameterError, TreeError, TreeletError
from treelet.formats import FORMATS, Document, Format, Source, read_document, register, write_document
from treelet.formats.adapters import safe_label
from treelet.structures import Tree, Treebank, read_trees

NAMES = ["brackets", "lines", "tsv", "svmlight_tk", "kelp"]
KEEPS_MISSING = ["svmlight_tk", "kelp"]
BEFORE = {"brackets": "", "lines": "", "tsv": "yes\t", "svmlight_tk": "1 |BT| ", "kelp": "yes |BT:tree| "}
AFTER = {"brackets": "", "lines": "", "tsv": "", "svmlight_tk": " |ET|", "kelp": " |ET|"}

UNWRITABLE = {"svmlight_tk": re.compile(r"\|(BT|ET|BV|EV|STD)\|"), "kelp": re.compile(r"\|ET\|")}

SAMPLES = {
    "brackets": "( (S (NP (D thé) (N 猫)) \r\n (VP (V sat))) )\n(A (B b)) (C c)\n\n(D)",
    "lines": "(S (NP (D thé) (N 猫)))\r\n\r\n  (A (B b))\n((C c))",
    "tsv": "yes\t(S (NP (D thé) (N 猫)))\r\n\nno\t(A (B b))\n1\t((C c))",
    "svmlight_tk": "# 注释\n1 |BT| (S (NP (D thé) (N 猫))) |BT||ET| 1:0.5 3:2 |BV| 4:1 |EV|\r\n\n"
    "-1 |BT|(A(B b))|BT| (C #) |ET| # é",
    "kelp": "yes sí |BT:tree| (S (D thé) (N 猫)) |ET| |BV:w| a:b:1 é:2e-3 |EV|\r\n\n"
    "no |BS:text| 注 释 |ES| |BDV:d| 1,-2 |EDV|",
}


class Pieces(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size

    def read(self, count: int | None = -1) -> bytes:
        return super().read(self.size if count is None or count < 0 else min(count, self.size))


def content(document: Document) -> tuple[object, ...]:
    """All that a document holds, to compare."""
    trees = {name: Treebank.from_columns(columns).strings() for name, columns in document.trees.items()}
    return trees, document.labels, document.vectors, document.strings


def read(text: str | bytes, format: str = "brackets", **options: Any) -> list[str]:
    """The trees of a text, in brackets."""
    data = text.encode() if isinstance(text, str) else text
    return read_trees(io.BytesIO(data), format, **options).strings()


def read_all(text: str | bytes, format: str, **options: Any) -> Document:
    return read_document(io.BytesIO(text.encode() if isinstance(text, str) else text), format, **options)


def written(document: Document, format: str) -> str:
    stream = io.StringIO()
    write_document(document, stream, format)
    return stream.getvalue()


def refused(text: str | bytes, format: str = "brackets", **options: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read_all(text, format, **options)
    return caught.value


# --- random trees -----------------------------------------------------------------------------------------------

ODD = [
    "-LRB-",
    "-RRB-",
    "-NONE-",
    ",",
    ":",
    "|",
    "#",
    "'",
    "''",
    "``",
    "$",
    "NP-SBJ=1",
    "SYNT##NP",
    "LEX##cat::n",
    "|BX|",
]
ODD += [
    "1:2",
    "猫",
    "é",
    "e\u0301",
    "\u00a0",
    "\u2028",
    "\u0085",
    "\ufeff",
    "\x1c",
    "\U0001f333",
    "a|b",
    "\\",
    '"',
    "|BT:x|",
]
labels = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="() \t\n\r\v\f\0"), min_size=1, max_size=6),
)
trees = st.recursive(labels.map(Tree), lambda kids: st.builds(Tree, labels, st.lists(kids, max_size=4)), max_leaves=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)
writable = trees.filter(lambda tree: not UNWRITABLE["svmlight_tk"].search(str(tree)))


@settings(max_examples=trials(150))
@given(st.lists(trees, max_size=5))
@pytest.mark.parametrize("format", [*NAMES, "csv"])
def test_trees_come_back_as_they_were(format: str, given_trees: list[Tree]) -> None:
    bank = Treebank(given_trees)
    labeled = "labels" in FORMATS[format].holds
    document = Document(trees={"tree": bank.columns}, labels=["yes"] * len(bank) if labeled else None)
    if format in UNWRITABLE and any(UNWRITABLE[format].search(str(tree)) for tree in given_trees):
        with pytest.raises(FormatError, match="cannot be written"):
            written(document, format)
        return
    assert list(read_trees(io.BytesIO(written(document, format).encode()), format)) == given_trees


@settings(max_examples=trials(150))
@given(st.data())
def test_svmlight_tk_documents_come_back(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 4))
    name = st.sampled_from(["1", "-1", "007", "DESC:manner", "C#", "猫", "0.5"])
    banks = [
        data.draw(st.lists(st.none() | writable, min_size=rows, max_size=rows))
        for _ in range(data.draw(st.integers(0, 3)))
    ]
    vector: st.SearchStrategy[dict[str | int, float]] = st.dictionaries(st.integers(1, 2**63 - 1), numbers, max_size=4)
    vectors = [data.draw(st.lists(vector, min_size=rows, max_size=rows)) for _ in range(data.draw(st.integers(0, 3)))]
    document = Document(
        trees={("tree" if len(banks) == 1 else f"tree{k}"): Treebank(bank).columns for k, bank in enumerate(banks, 1)},
        labels=data.draw(st.lists(name, min_size=rows, max_size=rows)),
        vectors={("vector" if len(vectors) == 1 else f"vector{k}"): rows_ for k, rows_ in enumerate(vectors, 1)},
    )
    assert content(read_all(written(document, "svmlight_tk"), "svmlight_tk")) == content(document)


@settings(max_examples=trials(150))
@given(st.data())
def test_kelp_documents_come_back(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 4))

    def column(values: st.SearchStrategy[Any], something: object) -> list[Any]:
        # A column with nothing in it is not kept, so put something into its last row.
        return [*data.draw(st.lists(values, min_size=rows - 1, max_size=rows - 1)), something]

    word = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters=" \t\n\r\v\f|"), min_size=1)
    text = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n"))
    sparse = st.dictionaries(
        word.filter(lambda name: not name.isdecimal()) | st.integers(3, 10**17), numbers, max_size=4
    )
    dense = st.lists(numbers, min_size=2, max_size=2).map(lambda pair: dict(enumerate(pair, 1)))
    left, right = data.draw(st.sampled_from([("left/", "right/"), ("", "right/"), ("left/", "")]))
    document = Document(
        trees={
            "a b": Treebank(column(st.none() | writable, Tree("x"))).columns,
            f"{left}t": Treebank(column(st.none() | writable, Tree("y"))).columns,
            f"{right}t": Treebank(column(st.none() | writable, Tree("|,|", ["|>|"]))).columns,
        },
        labels=data.draw(st.lists(st.sampled_from(["", "a", "a b", "#", "猫:1"]), min_size=rows, max_size=rows)),
        vectors={
            f"{left}sparse": column(sparse, {"01": 1.0}),
            "dense:猫": column(dense | st.just({}), {1: 0.1, 2: 0.0}),
        },
        strings={f"{right}note": column(text.filter(lambda t: "|ES|" not in f" {t} |ES"), " two  spaces ")},
    )
    assert content(read_all(written(document, "kelp"), "kelp")) == content(document)


# --- the same, however it comes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("format", NAMES)
def test_samples_hold_what_they_should(format: str) -> None:
    assert set(NAMES) <= set(FORMATS)
    expected = {
        "brackets": ["(S (NP (D thé) (N 猫)) (VP (V sat)))", "(A (B b))", "(C c)", "(D)"],
        "lines": ["(S (NP (D thé) (N 猫)))", "(A (B b))", "(C c)"],
        "tsv": ["(S (NP (D thé) (N 猫)))", "(A (B b))", "(C c)"],
        "svmlight_tk": ["(S (NP (D thé) (N 猫)))", "(A (B b))"],
        "kelp": ["(S (D thé) (N 猫))", ""],
    }[format]
    document = read_all(SAMPLES[format], format)
    assert Treebank.from_columns(next(iter(document.trees.values()))).strings() == expected
    assert len(document) == len(expected)
    labels = {"tsv": ["yes", "no", "1"], "svmlight_tk": ["1", "-1"], "kelp": ["yes sí", "no"]}
    assert document.labels == labels.get(format)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64])
@pytest.mark.parametrize("format", NAMES)
def test_pieces_equal_the_whole(format: str, size: int) -> None:
    data = SAMPLES[format].encode()
    assert content(read_document(Pieces(data, size), format)) == content(read_all(data, format))


@settings(max_examples=60)
@given(st.lists(trees, min_size=1, max_size=3), st.integers(1, 9))
def test_pieces_equal_the_whole_for_any_tree(given_trees: list[Tree], size: int) -> None:
    data = "\n".join(map(str, given_trees)).encode()
    assert list(read_trees(Pieces(data, size))) == given_trees


@pytest.mark.parametrize(
    "data", [b"(S (A a)", b"(S a))", b"(S \xff\xfe)", b"(S ())", b"(S (A a) ((B b)))", b"(\xc3\xa9 a) b (c)"]
)
def test_errors_are_the_same_in_pieces(data: bytes) -> None:
    whole = refused(data)
    for size in (1, 2, 3):
        with pytest.raises(FormatError) as caught:
            read_document(Pieces(data, size), "brackets")
        assert (caught.value.line, caught.value.column, caught.value.message) == (
            whole.line,
            whole.column,
            whole.message,
        )


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
def test_compressed_files(tmp_path: Path, format: str, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    whole = read_all(SAMPLES[format], format)
    packed = tmp_path / f"in{FORMATS[format].suffixes[0]}{suffix}"
    packed.write_bytes(pack(SAMPLES[format].encode()))
    assert content(read_document(packed)) == content(whole)  # the format, too, is known by the name


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
def test_truncated_compressed_files(tmp_path: Path, format: str, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    noise = random.Random(0)
    line = BEFORE[format] + "(S {})" + AFTER[format] + "\n"
    data = pack("".join(line.format(noise.getrandbits(64)) for _ in range(2000)).encode())
    path = tmp_path / f"x{suffix}"
    for end in (len(data) // 2, len(data) - 5, 3):
        path.write_bytes(data[:end])
        with pytest.raises(FileError, match=re.escape(str(path))) as caught:
            read_trees(path, format)
        assert isinstance(caught.value, OSError)
    path.write_bytes(b"(S x)")
    with pytest.raises(FileError, match=re.escape(str(path))):
        read_trees(path, format)


@pytest.mark.parametrize("format", NAMES)
def test_names_suggest_formats(tmp_path: Path, format: str) -> None:
    for suffix in FORMATS[format].suffixes:
        path = tmp_path / f"x{suffix.upper()}"
        path.write_bytes(SAMPLES[format].encode())
        assert content(read_document(path)) == content(read_all(SAMPLES[format], format))


# --- text -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", NAMES)
def test_encodings(format: str) -> None:
    line = f"{BEFORE[format]}(S (N thé)){AFTER[format]}\n"
    assert read(line.encode("latin-1"), format, encoding="latin-1") == ["(S (N thé))"]
    assert read(line.encode("utf-16"), format, encoding="utf-16") == ["(S (N thé))"]
    assert read(line.encode("utf-8-sig"), format) == ["(S (N thé))"]
    assert read_trees(io.StringIO(line), format).strings() == ["(S (N thé))"]
    error = refused(b"\n" + line.encode("latin-1"), format)
    assert error.line == 2
    # The tree reader names the word, the line reader the first bad byte in it.
    assert error.column == len(BEFORE[format]) + (7 if format in ("brackets", "lines") else 9)
    assert "encoding='latin-1'" in error.message
    with pytest.raises(ParameterError, match=r"'encoding'.*a text encoding"):
        read(line, format, encoding="latin-99")
    with pytest.raises(FormatError, match="encoding ascii"):
        read(line, format, encoding="ascii")


@pytest.mark.parametrize(
    "data", [b"(S \xff)", b"(S \xc3)", b"(S \xc0\xaf)", b"(S \xed\xa0\x80)", b"(S \xf4\x90\x80\x80)", b"(S a\0b)"]
)
def test_bytes_that_are_no_text(data: bytes) -> None:
    error = refused(b"(A \xc3\xa9)\n" + data)
    assert (error.line, error.column) == (2, 4)
    assert "UTF-8" in error.message or (b"\0" in data and "NUL" in error.message)


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("data", ["", "\n", "\r\n \t\n\n", "\ufeff"])
def test_nothing_in_the_file(format: str, data: str) -> None:
    assert len(read_trees(io.BytesIO(data.encode()), format)) == 0
    assert len(read_all(data, format)) == 0


# --- brackets that do not match ---------------------------------------------------------------------------------


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("tree", "column", "message"),
    [
        ("(é (猫 \U0001f333)))", 10, "unexpected ')'. Check for an extra closing bracket."),
        ("(é (猫 \U0001f333)", 1, "missing ')' at the end of the input: 1."),
        ("((é (猫 (x", 1, "missing ')' at the end of the input: 4."),
        ("(é 猫 ())", 6, "empty brackets"),
        ("(é 猫 ((x y)))", 6, "a node inside the tree has no label"),
        ("((é 猫) (x y))", 1, "the root has no label and several children"),
    ],
)
def test_unbalanced_brackets(format: str, end: str, tree: str, column: int, message: str, tmp_path: Path) -> None:
    good = f"{BEFORE[format]}(é 猫){AFTER[format]}"
    path = tmp_path / "in"
    path.write_bytes(end.join([good, "", good, f"{BEFORE[format]}{tree}{AFTER[format]}", ""]).encode())
    with pytest.raises(FormatError) as caught:
        read_trees(path, format)
    place = len(BEFORE[format]) + column
    assert (caught.value.source, caught.value.line, caught.value.column) == (str(path), 4, place)
    assert message in caught.value.message
    assert str(caught.value) == f"{path}:4:{place}: {caught.value.message}"


@pytest.mark.parametrize("format", ["lines", "tsv", "svmlight_tk", "kelp"])
def test_one_tree_is_needed(format: str) -> None:
    error = refused(f"{BEFORE[format]}(A a) (B b){AFTER[format]}\n", format)
    assert (error.line, error.column) == (1, len(BEFORE[format]) + 1)
    assert "needed here, but there are 2 trees" in error.message
    error = refused(f"{BEFORE[format]}(A a) x{AFTER[format]}\n", format)
    assert (error.line, error.column) == (1, len(BEFORE[format]) + 7)
    assert "text outside brackets: 'x'" in error.message


def test_trees_over_lines_and_several_on_a_line() -> None:
    assert read("(A a)(B b) (C\tc)\n(D\n(E\r\n  e)\n)") == ["(A a)", "(B b)", "(C c)", "(D (E e))"]
    assert refused("(A\n(é\n  a\n\n").line == 1
    error = refused("(A\n(é\n  a)))\n")
    assert (error.line, error.column) == (3, 6)


def test_anonymous_roots() -> None:
    assert read("(((S x)))") == ["(S x)"]
    assert read("( ( ( (S (N x)) ) ) )") == ["(S (N x))"]
    assert read("(((S x)))", root="ROOT") == ["(ROOT (S x))"]
    assert read("( (A a) (B b) )", root="ROOT") == ["(ROOT (A a) (B b))"]
    assert read("(S x)", root="ROOT") == ["(S x)"]
    for name in NAMES:
        line = BEFORE[name] + "( (A a) (B b) )" + AFTER[name]
        assert read(line, name, root="ROOT") == ["(ROOT (A a) (B b))"]


@pytest.mark.parametrize("format", NAMES)
def test_drop_empty(format: str) -> None:
    def line(tree: str) -> str:
        return BEFORE[format] + tree + AFTER[format]

    sentence = "(S (NP (X (-NONE- *T*-1)) (Y (-NONE- 0))) (VP (V go) (NP (-NONE- *))))"
    assert read(line(sentence), format, drop_empty=True) == ["(S (VP (V go)))"]
    assert read(line(sentence), format) == [sentence]
    assert read(line("(S (NP -NONE-) (VP go))"), format, drop_empty=True) == ["(S (NP -NONE-) (VP go))"]
    assert read(line("( (S (NP (-NONE- *)) (VP go)) )"), format, drop_empty=True) == ["(S (VP go))"]
    error = refused(line("(é x)") + "\n" + line(" (S (NP (X (-NONE- *))))"), format, drop_empty=True)
    assert (error.line, error.column) == (2, len(BEFORE[format]) + 2)
    assert "after its -NONE- elements are removed" in error.message


@pytest.mark.parametrize("format", NAMES)
def test_drop_function_tags(format: str) -> None:
    line = (
        BEFORE[format] + "(S-TPC-1 (NP-SBJ=2 (-LRB- -LRB-) (NN well-known)) (PRT|ADVP x) (- y-z) (= =))" + AFTER[format]
    )
    plain = "(S (NP (-LRB- -LRB-) (NN well-known)) (PRT x) (- y-z) (= =))"
    assert read(line, format, drop_function_tags=True) == [plain]
    assert read(line, format) == ["(S-TPC-1 (NP-SBJ=2 (-LRB- -LRB-) (NN well-known)) (PRT|ADVP x) (- y-z) (= =))"]


# --- what is given wrongly --------------------------------------------------------------------------------------


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.mrg", tmp_path / "none.gz", tmp_path / "none" / "x.xz"):
        with pytest.raises(FileError, match=rf"{re.escape(str(path))}: the file does not exist"):
            read_trees(path)
    with pytest.raises(FileError, match="suffix that is read here"):
        read_trees(tmp_path)
    with pytest.raises(FileError, match="cannot be written"):
        Treebank(["(S x)"]).write(tmp_path / "none" / "x.mrg")


def test_unknown_formats_and_options() -> None:
    with pytest.raises(ParameterError, match=r"'format'.*'brackets'.*'nope' instead"):
        read("(S x)", "nope")
    for name in NAMES:
        with pytest.raises(ParameterError, match=f"'{name}' has no option 'nope'"):
            read("", name, nope=1)
    with pytest.raises(ParameterError, match=r"'tree_column'.*column or its name"):
        read("a\t(S x)", "tsv", tree_column=1.5)
    with pytest.raises(ParameterError, match=r"but 'last' is not a column name.*columns are 0 'a'"):
        read("a\tb\n1\t(S x)", "tsv", tree_column="last")
    with pytest.raises(TreeError, match="'tree1', 'tree2'"):
        read("1 |BT| (A a) |BT| (B b) |ET|", "svmlight_tk")
    assert read("1 |BT| (A a) |BT| (B b) |ET|", "svmlight_tk", column="tree2") == ["(B b)"]


def test_a_format_that_cannot_be_written() -> None:
    register(Format("readonly", "a test", lambda source: Document()))
    try:
        with pytest.raises(ParameterError, match="'readonly' can be read but not written"):
            written(Document(), "readonly")
    finally:
        del FORMATS["readonly"]


def test_tsv_columns() -> None:
    text = "1\t(A a)\tyes\n2\t(B b)\tno\n"
    document = read_all(text, "tsv", tree_column=1, label_column=2)
    assert (document.labels, Treebank.from_columns(document.trees["tree"]).strings()) == (
        ["yes", "no"],
        ["(A a)", "(B b)"],
    )
    assert read_all("(A a)\n", "tsv", label_column=None).labels is None
    error = refused("a\t(A a)\n(B b)\n", "tsv")
    assert error.line == 2
    assert "this row has 1 tab-separated column but needs label<TAB>tree." in error.message
    assert refused("é\té\t(A\n", "tsv", label_column=0).column == 5


# --- big and broken ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_bytes_are_refused_with_a_place(format: str, seed: int) -> None:
    data = random.Random(seed).randbytes(2_000_000)
    error = refused(data, format)
    assert error.line is not None
    assert 1 <= error.line <= data.count(b"\n") + 1


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_random_bytes_in_other_encodings_are_refused(format: str, seed: int) -> None:
    data = random.Random(seed).randbytes(2_000_000)
    for encoding in ("latin-1", "utf-16-le"):
        assert refused(data, format, encoding=encoding).source == "<stream>"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_words_are_read(seed: int) -> None:
    noise = random.Random(seed).randbytes(2_000_000).translate(None, b"()\0").decode("latin-1").encode()
    bank = read_trees(io.BytesIO(b"(S " + noise + b")"))
    words = re.split(rb"[ \t-\r]+", noise.strip(b" \t\n\v\f\r"))
    assert len(bank) == 1
    assert [word.encode() for tree in bank if tree for word in tree.words()] == words


@pytest.mark.parametrize("seed", [0, 1])
def test_random_brackets_fail_where_a_count_says(seed: int) -> None:
    data = bytes(random.Random(seed).choices(b"()ab \n", [50, 49, 40, 40, 30, 1], k=200_000))
    data = b"(S " + data.replace(b"(", b"(x ")
    depth, at = 0, 0
    for at, byte in enumerate(data):
        depth += (byte == ord("(")) - (byte == ord(")"))
        if depth == 0:
            break
    rest = data[at + 1 :]
    first = re.search(rb"[^ \n]", rest)
    assert depth == 0
    assert first is not None
    assert first[0] != b"("  # else take another seed
    error = refused(data)
    where = at + 1 + first.start()
    assert (error.line, error.column) == (data[:where].count(b"\n") + 1, where - data.rfind(b"\n", 0, where))


@pytest.mark.parametrize("format", NAMES)
def test_a_deep_tree(format: str) -> None:
    depth = 100_000
    text = "(A " * depth + "x" + ")" * depth
    document = read_all(BEFORE[format] + text + AFTER[format], format)
    bank = Treebank.from_columns(document.trees["tree"])
    assert len(bank.columns.store) == depth + 1
    assert bank.strings() == [text]
    assert written(document, format).rstrip("\n").endswith(text + AFTER[format])


def test_a_deep_tree_as_an_object() -> None:
    depth = 100_000
    text = "(A " * depth + "x" + ")" * depth
    tree = Tree.parse(text)
    assert (tree.height(), str(tree), tree.words()) == (depth, text, ["x"])
    assert Treebank([tree]) == Treebank([text])
    assert "missing ')' at the end of the input: 100000" in refused("(A " * depth).message


@pytest.mark.parametrize("format", NAMES)
def test_a_wide_tree(format: str) -> None:
    width = 100_000
    text = "(A" + "".join(f" (B x{k % 7})" for k in range(width)) + ")"
    document = read_all(BEFORE[format] + text + AFTER[format], format)
    bank = Treebank.from_columns(document.trees["tree"])
    assert len(bank.columns.store) == 7 + 7 + 1
    assert [len(tree.children) for tree in bank if tree] == [width]
    assert bank.strings() == [text]


# --- missing trees, and whole files -----------------------------------------------------------------------------


@pytest.mark.parametrize("format", KEEPS_MISSING)
def test_missing_trees_stay_missing(format: str) -> None:
    bank = Treebank([None, "(A a)", None, "(B b)"])
    document = Document(trees={"tree": bank.columns})
    back = read_all(written(document, format), format)
    assert list(Treebank.from_columns(back.trees["tree"])) == [None, Tree("A", ["a"]), None, Tree("B", ["b"])]
    assert back.trees["tree"].roots.dtype == np.int32
    assert back.labels == ["0" if format == "svmlight_tk" else ""] * 4


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_nothing_is_half_written(tmp_path: Path, format: str, suffix: str) -> None:
    usual = FORMATS[format]

    def fails(document: Document, stream: IO[str]) -> None:
        assert usual.write is not None
        usual.write(document, stream)
        stream.write("x" * 100_000)
        raise RuntimeError("the disk is on fire")

    register(Format(format, usual.description, usual.read, fails, usual.suffixes))
    try:
        document = Document(trees={"tree": Treebank(["(S x)"]).columns}, labels=["1"])
        target = tmp_path / f"out{suffix}"
        with pytest.raises(RuntimeError, match="on fire"):
            write_document(document, target, format)
        assert list(tmp_path.iterdir()) == []
        target.write_bytes(b"before")
        with pytest.raises(RuntimeError, match="on fire"):
            write_document(document, target, format)
        assert target.read_bytes() == b"before"
        assert list(tmp_path.iterdir()) == [target]
    finally:
        register(usual)


@pytest.mark.parametrize("format", NAMES)
def test_a_file_is_replaced(tmp_path: Path, format: str) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"before")
    write_document(Document(trees={"tree": Treebank(["(S x)"]).columns}), target, format)
    assert read_trees(target, format).strings() == ["(S x)"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_refused_document_leaves_the_file_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.dat"
    target.write_text("before", encoding="utf-8")
    bank = Treebank(["(A a)", "(A |ET|)"])
    for name in ("svmlight_tk", "kelp"):
        with pytest.raises(FormatError, match="row 1: "):
            bank.write(target, name)
        assert target.read_text(encoding="utf-8") == "before"
        assert list(tmp_path.iterdir()) == [target]


# --- SVM-Light-TK -----------------------------------------------------------------------------------------------


def test_svmlight_tk_lines() -> None:
    document = read_all(
        "# a file\n"
        "\n"
        "1 |BT| (S (A a)) |BT| (B b) |ET| 1:0.5 3:2 |BV| 4:1 |EV| # (c |BT| 1:1\n"
        "-1 |BT| |BT| (C #) |ET|\n"
        "+1 |BT|(D(E e))|ET|7:1e-3 2:-.5|EV|\n"
        "cat 1:0.3 7:1#c\n"
        "dog (F (# #)) |STD| 1:0.3 # c)\n"
        "elk (G g) # c)\n"
        "0\n"
        "x |ET| |BV| 5:0 |EV|\n",
        "svmlight_tk",
    )
    columns, labels, vectors, strings = content(document)
    assert labels == ["1", "-1", "1", "cat", "dog", "elk", "0", "x"]
    assert columns == {
        "tree1": ["(S (A a))", "", "(D (E e))", "", "(F (# #))", "(G g)", "", ""],
        "tree2": ["(B b)", "(C #)", "", "", "", "", "", ""],
    }
    assert vectors == {
        "vector1": [{1: 0.5, 3: 2.0}, {}, {7: 0.001, 2: -0.5}, {1: 0.3, 7: 1.0}, {1: 0.3}, {}, {}, {}],
        "vector2": [{4: 1.0}, {}, {}, {}, {}, {}, {}, {5: 0.0}],
    }
    assert strings == {}


def test_svmlight_tk_columns_without_numbers() -> None:
    document = read_all("1 |BT| (A a) |ET| 1:1 |EV|\n-1 |BT| |ET| |EV|\n", "svmlight_tk")
    assert content(document) == ({"tree": ["(A a)", ""]}, ["1", "-1"], {"vector": [{1: 1.0}, {}]}, {})
    assert content(read_all("1 1:0.3 7:1\n", "svmlight_tk")) == ({}, ["1"], {"vector": [{1: 0.3, 7: 1.0}]}, {})


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("1 é:1", 3, "the index 'é' is not a whole number of at least 1. Number features from 1."),
        ("1 0:1", 3, "the index '0' is not a whole number of at least 1. Number features from 1."),
        ("1 -2:1", 3, "the index '-2'"),
        ("1 99999999999999999999:1", 3, "the index '99999999999999999999'"),
        ("1 2:1 qid:3", 7, "the index 'qid'"),
        ("1 2", 3, "'2' is not a feature. Write features as index:value."),
        ("1 2:x", 5, "'x' is not a number"),
        ("1 2:", 5, "'' is not a number"),
        ("1 2:1_0", 5, "'1_0' is not a number"),
        ("1 2:1 30:nan", 10, "'nan' is not a finite number"),
        ("1 2:-inf", 5, "'-inf' is not a finite number"),
        ("1 2:1e999", 5, "'1e999' is not a finite number"),
        ("1 3:1 2:1 3:1", 11, "the index 3 occurs twice"),
        ("1 |BT| (é x) 1:2 |ET|", 14, "text outside brackets: '1:2'"),
        ("1 |BT| (é x) |EV|", 3, "the trees after this |BT| are not closed. Write |ET| after the last tree."),
        ("1 |BT| (é x)", 3, "the trees after this |BT| are not closed. Write |ET| after the last tree."),
        ("1 |BX| (é x) |ET|", 3, "unknown marker '|BX|'"),
        ("1 |BT| (é x) |BX| 1:2 |ET|", 14, "unknown marker '|BX|'"),
        ("1 |BT| (é x) |ET| 1:2 |XY|", 23, "unknown marker '|XY|'"),
        ("1 |BT| (é x) |ET| 1:2 |BT| (é x)", 23, "unexpected |BT|. Write trees before |ET| and vectors after it."),
        ("1 |BT| (é x) |ET| 1:2 |EV| 2:3", 28, "unexpected text after |EV|"),
        ("1 (é x) 1:2", 9, "a tree without |BT| may be followed only by |STD| and features"),
        ("1 (é x", 3, "never closed"),
        (" |BT| (é x) |ET|", 2, "the target is missing"),
        ("1:2 3:4", 1, "the target is missing"),
        ("(é x)", 1, "the target is missing"),
        ("1 |BT| ((V delivers)(NP x)) |ET|", 8, "the root has no label and several children"),
    ],
)
def test_svmlight_tk_errors(line: str, column: int, message: str) -> None:
    error = refused(f"# é\n\r\n1 1:1\r\n{line}\r\n", "svmlight_tk")
    assert (error.source, error.line, error.column) == ("<stream>", 4, column)
    assert message in error.message


@pytest.mark.parametrize("label", ["", "a b", "a\n", "(x", "|x", "#x", "1:2", "a|BT|b", "a\tb"])
def test_svmlight_tk_labels_that_cannot_be_written(label: str) -> None:
    with pytest.raises(FormatError, match=r"row 1.*cannot be written"):
        written(Document(labels=["ok", label]), "svmlight_tk")


@pytest.mark.parametrize("marker", ["|BT|", "|ET|", "|BV|", "|EV|", "|STD|", "x|BT|y"])
def test_svmlight_tk_trees_that_cannot_be_written(marker: str) -> None:
    for tree in (Tree(marker, ["a"]), Tree("A", ["a", marker])):
        with pytest.raises(FormatError, match=r"row 0.*label cannot be written"):
            written(Document(trees={"tree": Treebank([tree]).columns}), "svmlight_tk")
    with pytest.raises(FormatError, match="row 0: "):
        written(Document(labels=["\ud800"]), "svmlight_tk")


@pytest.mark.parametrize(
    "vector", [{"a": 1.0}, {0: 1.0}, {-1: 1.0}, {1: float("nan")}, {1: float("inf")}, {2**63: 1.0}]
)
def test_svmlight_tk_vectors_that_cannot_be_written(vector: dict[str | int, float]) -> None:
    with pytest.raises(FormatError, match=r"row 0.*cannot be written"):
        written(Document(vectors={"v": [vector]}), "svmlight_tk")


def test_svmlight_tk_text() -> None:
    trees = {"a": Treebank(["(A a)", None]).columns, "b": Treebank([None, "(B b)"]).columns}
    vectors: dict[str, list[dict[str | int, float]]] = {"v": [{3: 0.1, 1: np.float64(2)}, {}], "w": [{}, {2: 1e-300}]}
    assert written(Document(trees, ["x", "y"], vectors), "svmlight_tk") == (
        "x |BT| (A a) |BT| |ET| 1:2.0 3:0.1 |BV| |EV|\ny |BT| |BT| (B b) |ET| |BV| 2:1e-300 |EV|\n"
    )
    assert written(Document(vectors={"v": [{1: 1.0}, {}]}), "svmlight_tk") == "0 1:1.0\n0\n"
    with pytest.raises(FormatError, match=r"column 'v' has 2 row.*document has 1"):
        written(Document(labels=["1"], vectors={"v": [{}, {}]}), "svmlight_tk")


# --- KeLP -------------------------------------------------------------------------------------------------------


def test_kelp_lines() -> None:
    document = read_all(
        "a  b |BT:syn| (SYNT##NP (LEX##cat::n)) |ET||BV:bow|a:1 b:c:-.5|EV|\n"
        "\n"
        "|BS:note| some |BT:x| text  |ES| |BDV:d| 0.1, 0.2 3 |EDV|\n"
        "c |BT:syn||ET| |BT:other| (A (|EV| a)) |ET| |BV:bow| |EV|\n"
        "d\n",
        "kelp",
    )
    assert content(document) == (
        {"syn": ["(SYNT##NP LEX##cat::n)", "", "", ""], "other": ["", "", "(A (|EV| a))", ""]},
        ["a b", "", "c", "d"],
        {"bow": [{"a": 1.0, "b:c": -0.5}, {}, {}, {}], "d": [{}, {1: 0.1, 2: 0.2, 3: 3.0}, {}, {}]},
        {"note": ["", "some |BT:x| text ", "", ""]},
    )


def test_kelp_pairs() -> None:
    text = (
        "yes |<| |BT:t| (A a) |ET| |BV:w| x:1 |EV| |,| |BT:t| (A b) |ET| |>| |BV:pair| sim:0.5 |EV|\n"
        "no |<||BT:t|(A |,|)|ET||,||>|\n"
        "|<| |,| |BT:t| (A c) |ET||>||BT:t| (B b) |ET|\n"
    )
    document = read_all(text, "kelp")
    assert content(document) == (
        {"left/t": ["(A a)", "(A |,|)", ""], "right/t": ["(A b)", "", "(A c)"], "t": ["", "", "(B b)"]},
        ["yes", "no", ""],
        {"left/w": [{"x": 1.0}, {}, {}], "pair": [{"sim": 0.5}, {}, {}]},
        {},
    )
    assert written(document, "kelp") == (
        "yes |<| |BT:t| (A a) |ET| |BV:w| x:1.0 |EV| |,| |BT:t| (A b) |ET| |>| |BV:pair| sim:0.5 |EV|\n"
        "no |<| |BT:t| (A |,|) |ET| |,| |>|\n"
        "|<| |,| |BT:t| (A c) |ET| |>| |BT:t| (B b) |ET|\n"
    )
    assert content(read_all(written(document, "kelp"), "kelp")) == content(document)


def test_pairs_of_one_format_are_pairs_of_the_other() -> None:
    text = "1 |BT| (A a) |BT| (B b) |ET| 1:2.0 |EV|\n-1 |BT| |BT| (B b) |ET| |EV|\n2 |BT| (A a) |BT| |ET| |EV|\n"
    pairs = read_all(text, "svmlight_tk")
    assert list(pairs.trees) == ["tree1", "tree2"]
    assert written(pairs, "svmlight_tk") == text
    named = Document(dict(zip(("left/t", "right/t"), pairs.trees.values(), strict=True)), pairs.labels, pairs.vectors)
    again = read_all(written(named, "kelp"), "kelp")
    assert content(again) == content(named)
    assert written(again, "svmlight_tk") == text


def test_kelp_features_that_are_numbers_are_those_of_svm_light() -> None:
    document = read_all("a |BT:t| (A a) |ET| |BV:v| 2:0.5 07:1 0:2 7:3 x1:4 |EV|", "kelp")
    assert document.vectors["v"] == [{2: 0.5, "07": 1.0, "0": 2.0, 7: 3.0, "x1": 4.0}]
    text = written(read_all("1 |BT| (A a) |ET| 2:0.5 7:3 |EV|", "svmlight_tk"), "kelp")
    assert read_all(text, "kelp").vectors["vector"] == [{2: 0.5, 7: 3.0}]
    with pytest.raises(FormatError, match="'cat' cannot be written"):
        written(read_all("a |BV:v| cat:1 |EV|", "kelp"), "svmlight_tk")


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("é |BT:x| (é x", 3, "|BT:x| is not closed on this line. Write |ET| at its end."),
        ("é |BT:x| (é x) |BT:y| (é x) |ET|", 3, "|BT:x| is not closed before the next part"),
        ("é |BT| (é x) |ET|", 3, "unexpected '|BT| (é x) |ET|'. Begin each part with |BT:name|"),
        ("é |BX:x| (é x) |ET|", 3, "unexpected '|BX:x| (é x) |ET|'."),
        ("é |BT:x| (é x) |ET| é", 21, "unexpected 'é'. Begin each part with |BT:name|"),
        ("é |BT:x| (é x) |ET| |BT:x| (é x) |ET|", 21, "|BT:x| occurs twice"),
        ("é |BV:x| é:1 |EV| |BDV:x| 1 |EDV|", 19, "|BDV:x| occurs twice"),
        ("é |BV:x| é:1 é |EV|", 14, "'é' is not a feature. Write features as name:value."),
        ("é |BV:x| é:1 :2 |EV|", 14, "':2' is not a feature. Write features as name:value."),
        ("é |BV:x| é:1 b:x |EV|", 16, "'x' is not a number"),
        ("é |BV:x| é:inf |EV|", 12, "'inf' is not a finite number"),
        ("é |BV:x| é:1 é:2 |EV|", 14, "the feature 'é' occurs twice"),
        ("é |BDV:x| 1,é |EDV|", 13, "'é' is not a number"),
        ("é |BS:x| text", 3, "|BS:x| is not closed on this line. Write |ES| at its end."),
        ("(é x)", 1, "this tree has no marker. Write |BT:name| before the tree"),
        ("|<||BT:x| (é x) |ET||>|", 21, "unexpected |>|. Write a pair as |<| left |,| right |>|."),
        ("é |<| |BT:x| (é x) |ET|", 3, "this pair is not closed. Write |,| between its sides"),
        ("é |<| |BT:x| (é x) |ET| |,| |BT:x| (é x) |ET|", 3, "this pair is not closed"),
        ("é |,| |BT:x| (é x) |ET|", 3, "unexpected |,|."),
        ("é |<| |<| |BT:x| (é x) |ET| |,| |>| |,| |>|", 7, "its sides are not pairs"),
        ("é |<| |,| |>| |<| |,| |>|", 15, "There can be one pair per line"),
        ("|<| é |BT:x| (é x) |ET| |,| |>|", 5, "Write labels before |<|."),
        ("|<| |BT:x| (é x) |ET| |BT:x| (é x) |ET| |,| |>|", 23, "|BT:x| occurs twice"),
        ("|<| |,| |BT:x| (é x |BT:y| (é x) |ET| |>|", 9, "|BT:x| is not closed before the next part"),
    ],
)
def test_kelp_errors(line: str, column: int, message: str) -> None:
    error = refused(f"é\r\n\r\n{line}\r\n", "kelp")
    assert (error.source, error.line, error.column) == ("<stream>", 3, column)
    assert message in error.message


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document(labels=["a  b"]), "the label 'a  b' cannot be written"),
        (Document(labels=["a|b"]), "the label 'a|b' cannot be written"),
        (Document(labels=["(a"]), r"the label '\(a' cannot be written"),
        (Document(labels=[""]), "row is empty, so it cannot be written"),
        (Document(strings={"s": ["a\nb"]}), "which cannot be written"),
        (Document(strings={"s": ["a |ES| b"]}), "Replace this text"),
        (Document(strings={"s|": ["a"]}), "cannot be written"),
        (Document(strings={"s": ["\ud800"]}), "is not valid Unicode text"),
        (Document(vectors={"v": [{"a b": 1.0}]}), "the feature 'a b' cannot be written"),
        (Document(vectors={"v": [{"1": 1.0, 1: 1.0}]}), "must be one word that occurs once"),
        (Document(vectors={"v": [{"a": float("inf")}]}), "the value inf cannot be written"),
        (Document(vectors={"v": [{"a|EV|": 1.0}]}), "Replace this text"),
        (Document(trees={"t": Treebank([Tree("A", ["|ET|"])]).columns}), "Replace this text"),
    ],
)
def test_kelp_documents_that_cannot_be_written(document: Document, message: str) -> None:
    with pytest.raises(FormatError, match=rf"row 0: .*{message}"):
        written(document, "kelp")


def test_kelp_text() -> None:
    document = Document(
        {"t": Treebank(["(A a)", None]).columns},
        ["x y", "z"],
        {"dense": [{1: 1.0, 2: 0.1}, {}], "sparse": [{3: 1.0}, {"w": 2.0}]},
        {"s": ["", "hello"]},
    )
    assert written(document, "kelp") == (
        "x y |BT:t| (A a) |ET| |BDV:dense| 1.0,0.1 |EDV| |BV:sparse| 3:1.0 |EV|\n"
        "z |BV:sparse| w:2.0 |EV| |BS:s| hello |ES|\n"
    )


# --- other libraries' trees -------------------------------------------------------------------------------------


def test_nltk_trees() -> None:
    nltk_tree = pytest.importorskip("nltk").tree.Tree
    tree = nltk_tree.fromstring("(S (NP (D the) (N cat)) (VP (V sat)))")
    chunks = nltk_tree("S", [nltk_tree("NP", [("the", "DT"), ("(", "-LRB-")]), ("sat", "VBD")])
    assert Treebank([chunks]).strings() == ["(S (NP (DT the) (-LRB- -LRB-)) (VBD sat))"]
    odd = nltk_tree("A (b)", ["two words", 3, nltk_tree("E", []), ""])
    bank = Treebank([tree, None, odd, "(S x)"])
    assert bank.strings() == [
        "(S (NP (D the) (N cat)) (VP (V sat)))",
        "",
        "(A_-LRB-b-RRB- two_words 3 E '')",
        "(S x)",
    ]


def test_python_syntax_trees() -> None:
    assert Treebank([ast.parse("x = f(1, 'a b')").body[0]]).strings() == [
        "(Assign (targets (Name (id x)))"
        r" (value (Call (func (Name (id f))) (args (Constant (int 1)) (Constant (str a\sb))))))"
    ]
    assert Treebank([ast.parse("{**a}", mode="eval").body]).strings() == ["(Dict (keys None) (values (Name (id a))))"]


XML = '<a xmlns:n="u"> one <!-- not this --> two<b k="v">three</b> four five<n:c/><?pi no?> six </a>'


def test_xml_elements() -> None:
    expected = ["(a (#text one two) (b (@k v) (#text three)) (#text four five) {u}c (#text six))"]
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True, insert_pis=True))
    assert Treebank([ElementTree.fromstring(XML)]).strings() == expected
    assert Treebank([ElementTree.fromstring(XML, parser)]).strings() == expected
    etree = pytest.importorskip("lxml.etree")
    assert Treebank([etree.fromstring(XML)]).strings() == expected
    # The tail of the element itself is not part of it.
    assert Treebank([etree.fromstring("<a><b>x (y)</b> tail</a>")[0]]).strings() == [r"(b (#text x \x28y\x29))"]
    with pytest.raises(InputTypeError, match=r"Item 0 is an? ( \(.*\))?"):
        Treebank([etree.Comment("x")])


class Labeled(list[object]):
    def label(self) -> str:
        return "X"


def test_a_tree_in_itself() -> None:
    inner, outer = Labeled(), Labeled()
    outer.append(inner)
    inner.append(outer)
    with pytest.raises(TreeError, match=r"Item 1.*Labeled is its own descendant"):
        Treebank([Labeled(["a"]), outer])
    shared = Labeled(["a"])
    assert Treebank([Labeled([shared, shared])]).strings() == ["(X (X a) (X a))"]
    inner.clear()
    inner += [shared, shared]  # shared first, and only then within itself
    assert Treebank([outer]).strings() == ["(X (X (X a) (X a)))"]
    inner.append(outer)
    with pytest.raises(TreeError, match=r"Item 0.*Labeled is its own descendant"):
        Treebank([outer])


class Made:
    """A tree whose children are made when asked for, and forgotten."""

    def __init__(self, depth: int) -> None:
        self.depth, self.label = depth, f"N{depth}"

    @property
    def children(self) -> tuple[object, ...]:
        return (Made(self.depth - 1), "w", Made(self.depth - 1)) if self.depth else ()


def test_own_trees_of_other_kinds() -> None:
    assert Treebank([Made(2), Made(1)]).strings() == ["(N2 (N1 N0 w N0) w (N1 N0 w N0))", "(N1 N0 w N0)"]
    looped = SimpleNamespace(label="A", children=())
    looped.children = (SimpleNamespace(label="B", children=(looped,)),)
    with pytest.raises(TreeError, match=r"Item 1.*node is its own descendant"):
        Treebank([Made(1), looped])
    with pytest.raises(TreeError, match=r"Item 0 has a node whose.*\('a', 'b'\), a tuple, not a string"):
        Treebank([SimpleNamespace(label="A", children=(("a", "b"),))])


@pytest.mark.parametrize("item", [3, 2.5, b"(S x)", ["(S x)"], object(), {"a"}, Tree])
@pytest.mark.parametrize("before", [[], [None], ["(S x)", None], [Tree("S")]])
def test_things_that_are_no_trees(before: list[object], item: object) -> None:
    with pytest.raises(InputTypeError, match=rf"Item {len(before)} is an? {type(item).__name__}.*but a tree is needed"):
        Treebank([*before, item])


@pytest.mark.parametrize("collection", ["(S x)", Tree("S"), b"x", 3, None, np.zeros((2, 2))])
def test_things_that_are_no_collections(collection: Any) -> None:
    with pytest.raises(InputTypeError):
        Treebank(collection)


@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_any_text_can_be_made_a_label(text: str) -> None:
    label = safe_label(text)
    assert Tree.parse(f"({label} x)") == Tree(label, ["x"])


# --- registering ------------------------------------------------------------------------------------------------


def test_ones_own_format(tmp_path: Path) -> None:
    def read_words(source: Source, *, tag: str = "S") -> Document:
        texts = [f"({tag} {line})" for _, line in source.text_lines()]
        return Document(trees={"tree": Treebank(texts).columns})

    register(Format("words", "sentences", read_words, suffixes=(".words",)))
    try:
        (tmp_path / "x.words.gz").write_bytes(gzip.compress(b"the cat\r\nsat"))
        assert read_trees(tmp_path / "x.words.gz").strings() == ["(S the cat)", "(S sat)"]
        assert read_trees(tmp_path / "x.words.gz", tag="Q").strings() == ["(Q the cat)", "(Q sat)"]
    finally:
        del FORMATS["words"]


# --- once wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_writing_compressed_files(tmp_path: Path, format: str, suffix: str) -> None:
    whole = read_all(SAMPLES[format], format)
    path = tmp_path / f"out{FORMATS[format].suffixes[0]}{suffix}"
    write_document(whole, path)
    assert path.read_bytes()[:2] in (b"\x1f\x8b", b"\xfd7", b"BZ")
    assert content(read_document(path)) == content(whole)


def test_messages_with_long_words() -> None:
    error = refused("(é x) a" + "é" * 30)
    assert (error.line, error.column) == (1, 7)


@pytest.mark.parametrize("format", ["brackets", "lines"])
def test_random_latin_1(format: str) -> None:
    assert refused(random.Random(2).randbytes(2_000_000), format, encoding="latin-1").line == 1


@pytest.mark.parametrize("size", [1, 2, 3])
def test_byte_order_mark_in_pieces(size: int) -> None:
    assert read_trees(Pieces(b"\xef\xbb\xbf(S x)", size)).strings() == ["(S x)"]


@pytest.mark.parametrize("encoding", ["utf-16", "shift_jis"])
def test_other_encodings_in_pieces(encoding: str) -> None:
    assert read_trees(Pieces("(S 日本)".encode(encoding), 1), encoding=encoding).strings() == ["(S 日本)"]


@pytest.mark.parametrize("format", ["tsv", "svmlight_tk", "kelp"])
def test_columns_of_bytes_that_are_no_text(format: str) -> None:
    error = refused(f"{BEFORE[format]}(é ".encode() + b"\xff)" + AFTER[format].encode(), format)
    assert error.column == len(BEFORE[format]) + 4


def test_text_streams_that_are_no_text() -> None:
    with pytest.raises(TreeletError):
        read_trees(io.StringIO("(S \ud800)"))


@pytest.mark.parametrize("format", ["brackets", "lines", "tsv"])
def test_missing_trees_are_not_lost(format: str) -> None:
    try:
        text = written(Document(trees={"tree": Treebank(["(A a)", None]).columns}), format)
    except TreeletError:
        return
    assert read(text, format) == ["(A a)", ""]


QUOTED = ['(S (`` ``) (X "))', '(S (A "a") (B b))', "(S (A a))", '(" (" "))']
QUOTING_LABELS = ["plain", '"', '"in quotes"', 'one " inside']


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_quoted_cells_of_pandas(format: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"label": QUOTING_LABELS, "tree": QUOTED})
    text = frame.to_csv(sep="\t" if format == "tsv" else ",", index=False)
    for named in (format, None):
        document = read_all(text, named)
        assert document.format == format
        assert document.labels == QUOTING_LABELS
        assert Treebank.from_columns(document.trees["tree"]).strings() == QUOTED


def test_quotes_in_tsv_that_do_not_enclose_a_cell() -> None:
    text = '"\t(`` ``)\n"open\t(X ")\nclosed"\t(Y "" z")\n"a"b"\t(Z z)\n"""\t(Z z)\n'
    document = read_all(text, "tsv")
    assert document.labels == ['"', '"open', 'closed"', '"a"b"', '"""']
    assert Treebank.from_columns(document.trees["tree"]).strings()[1:3] == ['(X ")', '(Y "" z")']


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_labels_with_quotes_are_read_as_they_were_written(format: str) -> None:
    labels = [*QUOTING_LABELS, '"""', '""x""', '"a""b"']
    document = Document(trees={"tree": Treebank(QUOTED + QUOTED[:3]).columns}, labels=labels)
    assert read_all(written(document, format), format).labels == labels


def test_a_malformed_quoted_tree_is_reported_at_its_line() -> None:
    for tree in ('"(S (A a)', '"(S (A ""a"")"', '"(S "(A a))"'):
        assert refused(f"label\ttree\nyes\t{tree}\n", "tsv").line == 2


def test_tsv_labels_that_cannot_be_written() -> None:
    with pytest.raises(TreeletError):
        written(Document(trees={"tree": Treebank(["(A a)"]).columns}, labels=["a\tb\nc"]), "tsv")


@pytest.mark.parametrize("options", [{"root": "A B"}, {"root": "("}, {"root": 5}, {"drop_empty": "yes"}])
def test_bad_values_of_options(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        read("((S x))", **options)


@pytest.mark.parametrize("encoding", ["rot13", "base64", 5])
def test_codecs_that_are_no_text_encodings(encoding: object) -> None:
    with pytest.raises(ParameterError):
        read("(S x)", encoding=encoding)


@pytest.mark.parametrize(("label", "children"), [("a b)", ()), ("a", (5,)), ("\ud800", ())])
def test_look_alikes_with_bad_labels(label: str, children: tuple[object, ...]) -> None:
    fake = SimpleNamespace(label=label, children=children)
    with pytest.raises(TreeletError):
        Treebank([fake])


def test_surrogates_in_other_trees() -> None:
    bank = Treebank([Labeled(["\ud800"])])
    assert Tree.parse(bank.strings()[0]) == bank[0]


def test_a_tree_in_itself_beside_strings() -> None:
    loop = Labeled()
    loop.append(loop)
    with pytest.raises(TreeError, match="Item 2 is not a tree: "):
        Treebank(["(S x)", None, loop])


def test_writing_over_a_directory(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        Treebank(["(S x)"]).write(tmp_path)


ODD = [
    "S",
    "\\",
    "'",
    '"',
    "\u2028",
    "\x85",
    "\xa0",
    "S##",
    "LEX##cat::n",
    "::",
    "|BT|",
    "|BT:t|",
    "|",
    "\x1c",
    "#",
    "\ufeff",
    "\u3000",
]


@settings(max_examples=trials(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.lists(
                st.lists(st.sampled_from([*ODD, "a"]), min_size=1, max_size=3).map("".join), min_size=1, max_size=4
            ),
            st.sampled_from(["", "a", "a b", "\ufeffa", "a\ufeff", "\u2028"]),
            st.lists(st.sampled_from([*ODD, " "]), max_size=3).map("".join),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_kelp_gives_back_odd_trees_labels_and_texts(tmp_path: Path, rows: list[tuple[list[str], str, str]]) -> None:
    bank = Treebank([Tree(first, others) for (first, *others), _, _ in rows])
    labels, texts = [row[1] for row in rows], [row[2] for row in rows]
    document = Document(trees={"t": bank.columns}, labels=labels, strings={"s": texts})
    path = tmp_path / "odd.klp"
    try:
        write_document(document, path)
    except FormatError:  # only what says why
        assert any("|" in text for text in texts) or any(label.startswith("\ufeff") for label in labels)
        return
    again = read_document(path)
    assert Treebank.from_columns(again.trees["t"]) == bank
    assert again.labels == labels
    assert again.strings.get("s", [""] * len(rows)) == texts
