"""What a file is taken for, and what becomes of files that are not quite what they should be."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import treelet as tl
from conftest import fail, succeed
from experiments.data import question_bank
from treelet.errors import FileError, FormatError, ParameterError, TreeletWarning
from treelet.formats import FORMATS, Document, Format, Source, read_document, register
from treelet.formats.files import CHUNK
from treelet.structures import Treebank

CONTENTS = {
    "brackets": "( (S (A a)\n     (B b)) )\n(S (B b))\n",
    "tsv": "yes\t(S (A a))\nno\t(S (B b))\n",
    "svmlight_tk": "# made by hand\n1 |BT| (S (A a)) |ET| 1:0.5 |EV|\n-1 |BT| (S (B b)) |ET|\n",
    "kelp": "yes |BT:syn| (S (A a)) |ET|\nno |BT:syn| (S (B b)) |ET| |BV:w| x:1 |EV|\n",
}
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


class Once(io.RawIOBase):
    """A stream that can be read only once, a few bytes at a time, as a pipe."""

    def __init__(self, data: bytes) -> None:
        self.rest = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.rest.read(min(size, 999) if size >= 0 else -1)


# --- the content tells ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data", "data.txt", "data.xyz", "data.mrg"])
@pytest.mark.parametrize("format", CONTENTS)
def test_a_format_is_known_by_its_content(tmp_path: Path, name: str, format: str) -> None:
    for suffix, pack in PACK.items():
        path = tmp_path / (name + suffix)
        path.write_bytes(pack(CONTENTS[format].encode()))
        document = read_document(path)
        assert document.format == format
        assert len(document) == 2
        assert len(tl.read_trees(path)) == 2
        _, labels = tl.read_examples(path)
        assert (labels is None) == (format == "brackets")


@pytest.mark.parametrize("format", CONTENTS)
def test_nothing_of_a_stream_is_lost(format: str) -> None:
    times = CHUNK // len(CONTENTS[format]) + 1  # more than is read at once
    data = CONTENTS[format].encode() * times
    for stream in (io.BytesIO(data), Once(data), io.StringIO(data.decode())):
        document = read_document(stream)
        assert (document.format, len(document)) == (format, 2 * times)


def test_content_tells_on_the_command_line(tmp_path: Path) -> None:
    for name, text in CONTENTS.items():
        assert "2 x 2 values" in succeed("gram", "-", "-o", "-", input=text).stderr
        assert f"{name} -> kelp" in succeed("convert", "-", "-", "--to", "kelp", input=text).stderr
    text = CONTENTS["tsv"] * 3
    (tmp_path / "examples.txt").write_text(text, encoding="utf-8")
    for file in (tmp_path / "examples.txt", "-"):
        assert (
            "classes   2: no 3, yes 3"
            in succeed("train", file, "-o", tmp_path / "m.treelet", input=text if file == "-" else None).stdout
        )
    assert "accuracy  100.00 %" in succeed("evaluate", tmp_path / "m.treelet", "-", input=text).stdout


def test_other_ways_to_write_the_same() -> None:
    def format_of(text: str) -> str | None:
        return read_document(io.StringIO(text)).format

    assert format_of("1 1:0.3 7:1\n") == "svmlight_tk"
    assert format_of("-1 (S (A a)) |STD| 1:0.3\n") == "svmlight_tk"
    assert format_of("-1 (S (A a))\n") == "svmlight_tk"
    assert format_of("yes |BV:w| a:1 |EV|\n") == "kelp"
    assert format_of("(S (A a))\tyes\n") == "tsv"  # the label may stand last
    assert format_of("id\tlabel\ttree\n1\tyes\t(S (A a))\n") == "tsv"
    assert format_of('yes,"(S (A a) (, ,))"\n') == format_of("label,tree\nyes,(S (A a))\n") == "csv"
    # What belongs to a tree says nothing.
    assert format_of("(S (A a) (, ,) (B b))\n") == "brackets"
    assert format_of("(S (A |BT|) (B |BT:x|))\n") == "brackets"
    assert format_of("(S\t(A a)\t(B b))\n") == "brackets"
    assert format_of("(S (A\ta)\t(B b))\n") == "brackets"
    assert format_of("(S (A a))\t(S (B b))\n") == "brackets"
    assert format_of("") == format_of(" \n") == "brackets"
    # A tree that is longer than what is looked at.
    assert format_of("yes\t(S " + "(A a) " * 50_000 + ")\n") == "tsv"


def test_a_name_counts_where_the_content_does_not_contradict(tmp_path: Path) -> None:
    def format_of(name: str, text: str) -> str | None:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_document(tmp_path / name).format

    assert format_of("x.txt", "(S (A a))\n(S (B b))\n") == "lines"
    assert format_of("x.tsv", "") == "tsv"
    assert format_of("x.tsv", "yes\t(S (A a))\n") == "tsv"
    assert format_of("x.tsv", "1\t(S (A a))\n") == "tsv"
    assert format_of("x.dat", "1\t(S (A a))\n") == "tsv"
    assert format_of("x.dat", "(S (A a))\n") == "brackets"
    # A tree that is not closed is still found on its own line.
    (tmp_path / "x.txt").write_text("(S (A a)\n(S (B b)))\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"x\.txt:1:1.*never closed"):
        tl.read_trees(tmp_path / "x.txt")


def test_a_tree_that_swallows_the_next_line_is_doubted(tmp_path: Path) -> None:
    def doubts(text: str, **options: object) -> list[str]:
        (tmp_path / "x.mrg").write_text(text, encoding="utf-8")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            tl.read_trees(tmp_path / "x.mrg", **options)
            assert all(warning.filename == __file__ for warning in seen)
            again = [*tl.iter_trees(tmp_path / "x.mrg", block=2, **options)]
        assert len(again) >= 1
        assert len(seen) % 2 == 0
        return [str(warning.message) for warning in seen[::2]]

    (doubt,) = doubts("(A (B x))\n(A (B x)\n(C (D y)))\n(E (F z))\n")
    assert re.search(r"x\.mrg:3:1: .* inside the tree of line 2, .* Is a '\)' missing before this line\?", doubt)
    (doubt,) = doubts("(A a)\n(A (B x)\n(B y)\n(C (D y)))\n(E (F z))\n")  # counted once
    assert ":3:1: " in doubt
    assert len(doubts("(A (B x))\n(A (B x)\n(C (D y)))\n(E (F z))\n(A", on_error="skip")) == 2
    # Written over several lines on purpose.
    assert not doubts("(A a)\n(A (B x)\n (C (D y)))\n(E (F z))\n")
    assert not doubts("(A\n(B x)\n(C (D y)))\n(E (F z))\n(E\n(F z))")
    assert not doubts("(A\n(B x)\n(C (D y)))\n")


def test_a_text_where_a_name_belongs(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="file name is needed here"):
        tl.read_trees("(A (B x))\n" * 1000)


def test_a_tsv_without_tabs_has_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("(S (A a))\n(S (B b))\n", encoding="utf-8")
    with pytest.warns(TreeletWarning, match=r"no labels \(format 'brackets'\), so y"):
        assert tl.read_examples(path)[1] is None
    with pytest.warns(TreeletWarning, match=r"has no labels \(format 'tsv'\), so y"):
        assert tl.read_examples(path, "tsv")[1] is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tl.read_examples(path, label_column=None)[1] is None
        assert tl.read_examples(path, "tsv:label_column=none")[1] is None
        assert tl.read_examples(path, labels=False)[1] is None
    assert "have no class labels" in fail("train", path, "-o", tmp_path / "m.treelet")


UNLABELED = {
    "brackets": "(S (A a)) (S (B b))",
    "lines": "(S (A a))\n(S (B b))\n",
    "conllu": "1\tJohn\t_\tN\t_\t_\t2\tsubj\t_\t_\n2\truns\t_\tV\t_\t_\t0\troot\t_\t_\n",
    "python": "x = 1\n",
    "xml": "<a>text</a>",
    "tsv": "(S (A a))\n(S (B b))\n",
    "csv": "(S (A a))\n(S (B b))\n",
}


@pytest.mark.parametrize("format", UNLABELED)
def test_examples_without_labels_are_reported(format: str) -> None:
    with pytest.warns(TreeletWarning, match=rf"format '{format}'\), so y is None") as caught:
        X, y = tl.read_examples(io.StringIO(UNLABELED[format]), format)
    assert len(X) > 0
    assert y is None
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(tl.read_trees(io.StringIO(UNLABELED[format]), format)) == len(X)
        assert read_document(io.StringIO(UNLABELED[format]), format).labels is None


@pytest.mark.parametrize("format", ["brackets", "lines", "tsv", "csv"])
def test_blocks_without_labels_are_reported_once_and_before_the_first(format: str) -> None:
    blocks = tl.iter_examples(io.BytesIO(UNLABELED[format].encode()), format, block=1)
    with pytest.warns(TreeletWarning, match=rf"format '{format}'\), so y is None"):
        assert next(blocks)[1] is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [y for _, y in blocks] == [None]


@pytest.mark.parametrize(
    ("format", "text"),
    [("tsv", "\t(A x)\n\t(A y)\n"), ("csv", ",(A x)\n,(A y)\n"), ("kelp", "|BT:t| (A x) |ET|\n|BT:t| (A y) |ET|\n")],
)
def test_empty_labels_are_reported(format: str, text: str) -> None:
    with pytest.warns(TreeletWarning, match="every entry of y is an empty string"):
        assert tl.read_examples(io.StringIO(text), format)[1] == ["", ""]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tl.read_examples(io.StringIO("spam" + text), format)[1] == ["spam", ""]
        assert tl.read_examples(io.StringIO(""), format)[1] == []
    if format != "kelp":
        with pytest.warns(TreeletWarning, match="every entry of y is an empty string"):
            assert [y for _, y in tl.iter_examples(io.StringIO(text), format, block=1)] == [[""], [""]]


# --- where it does not ------------------------------------------------------------------------------------------


def test_an_error_says_what_was_guessed() -> None:
    with pytest.raises(FormatError) as caught:
        tl.read_trees(io.StringIO("hello world\n"))
    assert "'hello world' is plain text, but a tree such as '(NP (D the) (N cat))' is needed." in str(caught.value)
    assert "does not look like any other format" in str(caught.value)
    assert all(name in str(caught.value) for name in FORMATS)
    assert (caught.value.line, caught.value.column) == (1, 1)
    with pytest.raises(FormatError, match=r"'brackets', because it begins with '\('"):
        tl.read_trees(io.StringIO("(S (A a)\n"))
    with pytest.raises(FormatError) as caught:
        tl.read_trees(io.StringIO("(S (A a)\n"), "brackets")  # no guess
    assert "read as" not in str(caught.value)


def test_an_error_says_what_would_fit_better(tmp_path: Path) -> None:
    register(Format("odd", "a test", _refuse, None, (".odd",), lambda head: None))
    try:
        path = tmp_path / "x.odd"
        path.write_text("nothing that is known\n", encoding="utf-8")
        with pytest.raises(FormatError, match=r"'odd', because its name ends in \.odd"):
            tl.read_trees(path)
    finally:
        del FORMATS["odd"]
    register(Format("greedy", "a test", _refuse, None, (), lambda head: "it is a test"))
    try:
        with pytest.raises(FormatError, match=r"read as 'greedy'.*format='tsv' may fit better"):
            tl.read_trees(io.StringIO(CONTENTS["tsv"]))
    finally:
        del FORMATS["greedy"]


def _refuse(source: Source) -> Document:
    raise source.error("not odd", 1)


def test_options_narrow_the_guess(tmp_path: Path) -> None:
    path = tmp_path / "x.mrg"
    path.write_text("yes\t(S (A a))\n", encoding="utf-8")
    assert read_document(path, label_column=0).labels == ["yes"]
    path.write_text("(S (A a))\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="'brackets' has no option 'label_column'"):
        tl.read_trees(path, label_column=0)


def test_a_format_of_ones_own_is_asked_first() -> None:
    def read(source: Source) -> Document:
        text = b"".join(source.chunks()).decode()
        return Document(trees={"tree": Treebank([text.removeprefix("%%")]).columns})

    register(Format("percent", "a test", read, None, (), lambda head: "it is ours" if head[:2] == b"%%" else None))
    try:
        assert tl.read_trees(io.StringIO("%%(S (A a))")).strings() == ["(S (A a))"]
    finally:
        del FORMATS["percent"]


# --- labels -----------------------------------------------------------------------------------------------------


def test_equal_numbers_are_one_label_in_every_format() -> None:
    labels = ["+1", "1", "1.0", "-1", "-1.50", "0.0", "-0", "007", "1e3", "1234567890123456", "+", "a", "1."]
    expected = ["1", "1", "1", "-1", "-1.5", "0", "0", "007", "1e3", "1234567890123456", "+", "a", "1"]
    before_after = {"tsv": ("\t", ""), "svmlight_tk": (" |BT| ", " |ET|"), "kelp": (" |BT:tree| ", " |ET|")}
    for name, (before, after) in before_after.items():
        text = "".join(f"{label}{before}(S (A a)){after}\n" for label in labels)
        assert tl.read_examples(io.StringIO(text), name)[1] == expected
    assert read_document(io.StringIO("spam +1 |BT:x| (A a) |ET|\n"), "kelp").labels == ["spam 1"]


def test_equal_numbers_are_one_label_after_conversion(tmp_path: Path) -> None:
    source, test = tmp_path / "a.dat", tmp_path / "b.dat"
    source.write_text("+1 |BT| (S (A a)) |ET|\n-1 |BT| (S (B b)) |ET|\n" * 5, encoding="utf-8")
    test.write_text("1 |BT| (S (A a)) |ET|\n-1.0 |BT| (S (B b)) |ET|\n" * 5, encoding="utf-8")
    for suffix in (".dat", ".klp", ".tsv"):
        for path in (source, test):
            if path.suffix != suffix:
                succeed("convert", path, path.with_suffix(suffix))
        X, y = tl.read_examples(source.with_suffix(suffix))
        model = tl.KernelSVC(tl.SubsetTree()).fit(X, y)
        assert model.score(*tl.read_examples(test.with_suffix(suffix))) == 1
        saved = tmp_path / "m.treelet"
        tl.save(tl.KernelSVC(tl.SubsetTree()).fit(X, ["+1" if label == "1" else label for label in y or ()]), saved)
        assert "accuracy  100.00 %" in succeed("evaluate", saved, test.with_suffix(suffix)).stdout


# --- columns ----------------------------------------------------------------------------------------------------

THREE = "q1\tyes\t(S (A a))\nq2\tno\t(S (B b))\nq3\tyes\t(S (C c))\nq4\tno\t(S (D d))\n"
HEADER = "id\tgold\ttree\n"


def test_columns_are_chosen_or_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(THREE, encoding="utf-8")
    with pytest.raises(FormatError, match=r"x\.tsv:1.*several columns could contain") as caught:
        tl.read_examples(path)
    assert "The columns are 0: q1, q2, q3, ...; 1: yes, no, yes, ...; 2: (S (A a)), (S (B b))" in str(caught.value)
    assert tl.read_examples(path, label_column=1)[1] == ["yes", "no", "yes", "no"]
    assert tl.read_examples(path, label_column=-2, tree_column=-1)[1] == ["yes", "no", "yes", "no"]
    assert tl.read_examples(path, label_column=None)[1] is None
    assert len(tl.read_trees(path)) == 4  # labels are not needed
    path.write_text(HEADER + THREE, encoding="utf-8")
    for label in ("gold", 1):
        X, y = tl.read_examples(path, label_column=label)
        assert y == ["yes", "no", "yes", "no"]
        assert len(X) == 4
    assert tl.read_examples(path, label_column="gold", tree_column="tree")[1] == ["yes", "no", "yes", "no"]
    with pytest.raises(FormatError, match="0 'id': q1, q2; 1 'gold': yes, no"):
        tl.read_examples(path)
    path.write_text(HEADER.replace("gold", "Label") + THREE, encoding="utf-8")
    assert tl.read_examples(path)[1] == ["yes", "no", "yes", "no"]
    for name in ("label", "nope"):
        with pytest.raises(ParameterError, match=rf"'{name}' is not a column name.*0 'id'.*1 'Label'"):
            tl.read_examples(path, label_column=name)
    path.write_text("a\ta\ttree\n" + THREE, encoding="utf-8")
    with pytest.raises(ParameterError, match="'a' occurs twice"):
        tl.read_examples(path, label_column="a")


def test_the_tree_is_found_wherever_it_stands(tmp_path: Path) -> None:
    for text in (
        "(S (A a))\tyes\n(S (B b))\tno\n",
        "yes\t(S (A a))\nno\t(S (B b))\n",
        "l\tt\nyes\t(S (A a))\nno\t(S (B b))\n",
    ):
        X, y = tl.read_examples(io.StringIO(text), "tsv")
        assert (Treebank(X).strings(), y) == (["(S (A a))", "(S (B b))"], ["yes", "no"])
    with pytest.raises(FormatError, match="several columns contain trees"):
        tl.read_trees(io.StringIO("yes\t(A a)\t(B b)\n"), "tsv")
    assert tl.read_trees(io.StringIO("yes\t(A a)\t(B b)\n"), "tsv", tree_column=1).strings() == ["(A a)"]
    with pytest.raises(FormatError, match="no column contains trees, which begin"):
        tl.read_trees(io.StringIO("yes\ta\tb\nno\tc\td\n"), "tsv")


def test_an_example_is_not_taken_for_a_header() -> None:
    for text in ("yes\tmissing\nno\t(S (B b))\nyes\t(S (A a))\n", "yes\t\nno\t(S (B b))\n"):
        with pytest.raises(FormatError, match=r"<stream>:1:[45]: "):
            tl.read_examples(io.StringIO(text), "tsv")
        with pytest.raises(FormatError, match=r"<stream>:1:[45]: "):
            tl.read_trees(io.StringIO(text), "tsv")


def test_rows_that_do_not_fit(tmp_path: Path) -> None:
    for text, message in (
        (THREE + "q5\t(S (A a))\n", "this row has 2 tab-separated column"),
        ("yes\t(S (A a))\nno (S (B b))\n", "row has 1 tab-separated.*Separate label and tree by a tab"),
        ("yes\tx\t(S (A a))\nno\t(S (B b))\n", "2: this row has 2 tab-separated column"),
    ):
        with pytest.raises(FormatError, match=message):
            tl.read_examples(io.StringIO(text), "tsv", **({"label_column": 1} if "q1" in text or "x" in text else {}))


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id,label,tree\n1,"a, ""b""","(S (A a) (, ,))"\n2, c ,(S (B b))\n', encoding="utf-8")
    X, y = tl.read_examples(path)
    assert (Treebank(X).strings(), y) == (["(S (A a) (, ,))", "(S (B b))"], ['a, "b"', "c"])
    path.write_text("yes,(S (A a))\nno,(S (A a) (, ,))\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"x\.csv:2.*this row has 4 comma-separated column"):
        tl.read_examples(path)
    path.write_text('yes,(S (A a))\nno,"(S (B b))\n', encoding="utf-8")
    with pytest.raises(FormatError, match=r"x\.csv:2.*valid CSV \(unexpected end of data\)"):
        tl.read_examples(path)
    path.write_text('yes,"(S ' + "(A a) " * 50_000 + ')"\n', encoding="utf-8")
    assert tl.read_examples(path)[1] == ["yes"]
    (tmp_path / "x.tsv").write_text('a,"b"\t(S (A a) (, ,))\n', encoding="utf-8")
    succeed("convert", tmp_path / "x.tsv", path)
    assert path.read_text(encoding="utf-8") == '"a,""b""","(S (A a) (, ,))"\n'
    assert tl.read_examples(path)[1] == ['a,"b"']


# --- what is wrong is left out ----------------------------------------------------------------------------------

BAD = {
    "brackets": "( (S (A a)) )\n(S (B ( ))\n   (C c))\n(D\n  (E e)) (F f)\n",
    "lines": "(S (A a))\n(S (B ( )))\n(D (E e))\n(F f)\n(G g\n",
    "tsv": "1\t(S (A a))\n2\t(S (B ( )))\n3\t(D (E e))\n4\t(F f)\n5\n6\t\n",
    "csv": '1,(S (A a))\n2,(S (B ( )))\n3,"(D (E e))"\n4,(F f)\n5\n',
    "svmlight_tk": "1 |BT| (S (A a)) |ET| 1:1\n2 |BT| (X x) |BT| (S (B ( ))) |ET| 1:2\n3 |BT| (D (E e)) |ET|\n"
    "4 |BT| (F f) |ET| 2:1\n5 |BT| (G g) |ET| x\n",
    "kelp": "1 |BT:tree| (S (A a)) |ET| |BV:v| a:1 |EV|\n2 |BV:w| b:1 |EV| |BT:tree| (S x) |ET| |BT:u| ( ) |ET|\n"
    "3 |BT:tree| (D (E e)) |ET|\n4 |BT:tree| (F f) |ET| |BV:v| a:2 |EV|\n5 |BT:tree| (G g) |ET| |BV:v| a:x |EV|\n",
}


@pytest.mark.parametrize("format", BAD)
def test_a_bad_tree_is_left_out_with_all_that_belongs_to_it(format: str) -> None:
    with pytest.raises(FormatError):
        read_document(io.StringIO(BAD[format]), format)
    with pytest.warns(TreeletWarning, match="<stream>:2") as told:
        document = read_document(io.StringIO(BAD[format]), format, on_error="skip")
    assert len(told) == 1
    assert list(document.trees) == ["tree"]
    trees = Treebank.from_columns(document.trees["tree"])
    assert trees.strings() == ["(S (A a))", "(D (E e))", "(F f)"]
    assert document.labels == (["1", "3", "4"] if format not in ("brackets", "lines") else None)
    if format == "svmlight_tk":
        assert document.vectors == {"vector": [{1: 1.0}, {}, {2: 1.0}]}
    if format == "kelp":
        assert document.vectors == {"v": [{"a": 1.0}, {}, {"a": 2.0}]}
    assert document.strings == {}


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in CONTENTS.values():
            read_document(io.StringIO(text), on_error="skip")
    with pytest.raises(ParameterError, match=r"'on_error'.*'raise' or 'skip'.*'ignore' instead"):
        tl.read_trees(io.StringIO("(S x)"), on_error="ignore")


@pytest.mark.parametrize(
    ("text", "kept", "places"),
    [
        ("(S (A a)\n(S (B b))\n(S (C c))\n", ["(S (B b))", "(S (C c))"], ["1:1"]),
        ("(S (A a)\n (S (B b))\n(S (C c)\n\n(S (D d))\n", ["(S (D d))"], ["1:1", "3:1"]),
        ("hello (S (A é)) world (B b)\nthere\n", ["(S (A é))", "(B b)"], ["1:1", "1:17", "2:1"]),
        ("(S (A a)))\n(S (B b))\n", ["(S (A a))", "(S (B b))"], ["1:10"]),
        ("() (S (B b))\n((A a) (B b)) (C c)", ["(S (B b))", "(C c)"], ["1:1", "2:1"]),
        ("(S (A\n( )\n) )\n(S (B b))", ["(S (B b))"], ["2:1"]),  # its own lines are no trees
        ("(S (é ( )) (B b)) (C c)\n(D (", ["(C c)"], ["1:7", "2:1"]),
        ("\udcbf(A a)é\udcbf (B b) \udcbf\udcbf(C c)", ["(A a)", "(B b)", "(C c)"], ["1:1", "1:6", "1:14"]),
        ("\udcbf(A (\n(B b)", ["(B b)"], ["1:1", "1:1"]),  # a byte in the place of the character that follows it
    ],
)
def test_where_brackets_go_on(text: str, kept: list[str], places: list[str]) -> None:
    data = io.BytesIO(text.encode("utf-8", "surrogateescape"))
    with pytest.warns(TreeletWarning) as told:
        assert tl.read_trees(data, "brackets", on_error="skip").strings() == kept
    message = str(told[0].message)
    assert message.startswith(f"{len(places)} of {len(places) + len(kept)} ")
    assert [part.split(": ")[0] for part in message.split("<stream>:")[1:]] == places


def test_many_errors_take_no_longer_than_they_should() -> None:
    text = "(S (A a)\n" * 20_000 + "(S (B b))\n" + "(S ( ))\n" * 20_000  # each of them once, or this would not end
    with pytest.warns(TreeletWarning, match="40,000.*40,001 trees"):
        assert tl.read_trees(io.StringIO(text), on_error="skip").strings() == ["(S (B b))"]


def test_bytes_that_are_no_text_are_left_out() -> None:
    with pytest.warns(TreeletWarning, match="<stream>:2:6.*these bytes are not UTF-8"):
        _, labels = tl.read_examples(io.BytesIO(b"a\t(A a)\nb\t(B \xff)\nc\t(C c)\n"), on_error="skip")
    assert labels == ["a", "c"]
    conllu = b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n2\t\xff\t_\tX\t_\t_\t1\tx\t_\t_\n\n1\tb\t_\tX\t_\t_\t0\troot\t_\t_\n"
    with pytest.warns(TreeletWarning, match="1 of 2 sentences.*skipped: <stream>:2:3: these bytes"):
        bank = tl.structures.read_conllu(io.BytesIO(conllu), on_error="skip")
    assert [parse.words for parse in bank if parse] == [("b",)]  # no sentence of half its words


def test_what_is_no_tree_is_left_out_too(tmp_path: Path) -> None:
    with pytest.warns(TreeletWarning, match="3 sentences.*there is no column 1 for tag="):
        tagged = tl.read_tagged(io.StringIO("a X\n\nb\nc Y\n\nd Z\n"), on_error="skip")
    assert list(map(str, tagged)) == ["a/X", "d/Z"]
    with pytest.warns(TreeletWarning, match="1 of 2 sentences.*'c' is not of the form word/tag"):
        tagged = tl.read_tagged(io.StringIO("a/X\nb/Y c\n"), "slashes", on_error="skip")
    assert list(map(str, tagged)) == ["a/X"]
    forest = tl.Forest.from_tree(tl.Tree.parse("(S (A a))")).to_json()
    with pytest.warns(TreeletWarning, match="2 forests.*this is not a forest in JSON"):
        assert len(tl.structures.read_forests(io.StringIO("{}\n" + forest), on_error="skip")) == 1
    good = '{"tree": "(S (NP (N Mary)) (VP (V slept)))", "predicate": 1, "arguments": [["ARG0", 0, 1]]}\n'
    text = '{"tree": "(S (A a))"}\n' + good + good.replace('"predicate": 1', '"predicate": 9')
    with pytest.warns(TreeletWarning, match="3 lines.*the field 'predicate' is missing"):
        assert len(tl.structures.read_instances(io.StringIO(text), "roles", on_error="skip")) == 1
    lists = tmp_path / "lists.jsonl"
    lists.write_text(
        '{"gold": "(S (A a))", "nbest": [[-1, "(S (B a))"], [-2, "(S (A a)"]]}\n'
        '{"gold": "(S (A a))", "nbest": [[-1, "(S (B a))"], [-2, "(S (A a))"]]}\n{}\n',
        encoding="utf-8",
    )
    with pytest.warns(TreeletWarning, match="3 sentences.*candidate 1"):
        parses = tl.tasks.CandidateParses.read(lists, on_error="skip")
    assert (len(parses), parses.documents) == (1, ["2"])


def test_the_public_question_bank(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = data_dir / "questionbank" / "4000qs.mrg.xz"
    with pytest.raises(FormatError, match=r"4000qs\.mrg\.xz:496:27: empty brackets"):
        tl.read_trees(path)
    with pytest.warns(TreeletWarning, match="4,000 trees"):
        assert len(tl.read_trees(path, on_error="skip")) == 3994
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    with pytest.warns(TreeletWarning, match="6.*4,000 trees"):
        assert len(question_bank()) == 3994


# --- the same on the command line -------------------------------------------------------------------------------


def test_columns_on_the_command_line(tmp_path: Path) -> None:
    path, model = tmp_path / "x.tsv", tmp_path / "m.treelet"
    path.write_text(HEADER + THREE * 3, encoding="utf-8")
    message = fail("train", path, "-o", model)
    assert "0 'id': q1, q2; 1 'gold': yes, no" in message
    for label in ("gold", 1, -2):
        assert "classes   2: no 6, yes 6" in succeed("train", path, "-o", model, "--label-column", label).stdout
    assert "accuracy" in succeed("evaluate", model, path, "--label-column", "gold", "--tree-column", "tree").stdout
    assert len(succeed("predict", model, path).stdout.splitlines()) == 12  # needs no labels
    assert "12 x 12 values" in succeed("gram", path, "-o", "-").stderr
    assert "column or its name" in fail("train", path, "-o", model, "--label-column", "nope")


def test_bad_trees_on_the_command_line(tmp_path: Path) -> None:
    path, model = tmp_path / "x.tsv", tmp_path / "m.treelet"
    path.write_text("yes\t(S (A a))\nno\t(S ( ))\nno\t(S (B b))\n", encoding="utf-8")
    warning = f"treelet: warning: 1 of 3 examples was skipped: {path}:2:7: empty brackets"
    line = f"treelet: error: {path}:2:7: empty brackets '()'. A tree needs a label. Pass --skip-bad to skip such items."
    assert fail("train", path, "-o", model).strip() == line
    for command in (("train", path, "-o", model), ("evaluate", model, path)):
        assert warning in succeed(*command, "--skip-bad").stderr
    for command in (
        ("predict", model, path),
        ("gram", path, "-o", "-"),
        ("nearest", path, "--k", 1),
        ("convert", path, "-", "--to", "kelp"),
    ):
        result = succeed(*command, "--skip-bad")
        assert " of 3 " in result.stderr
    path.write_text("(S ( ))\n(S (A a))\n", encoding="utf-8")
    bank = path.with_suffix(".mrg")
    bank.write_text("(S (A a))\n(S ( ))\n", encoding="utf-8")
    assert "Pass --skip-bad to skip such items" in fail("rerank", bank)
    bank.write_text("(S (A a))\n(S (B b)\n", encoding="utf-8")
    assert "Pass --skip-bad to skip such items" in fail("rerank", bank)
    assert "--skip-bad" not in fail("compare", "(S ( ))", "(S (A a))")  # it is all there is
    assert "--skip-bad" not in fail("gram", tmp_path / "m.treelet", "-o", "-")
    assert "1 of 2 trees was skipped" in succeed("compare", path, "(S (A a))", "--skip-bad").stderr
    assert "1 of 2 trees was skipped" in succeed("parse", "--treebank", path, "--text", "a", "--skip-bad").stderr
    assert "--skip-bad applies to --treebank" in fail("parse", "--grammar", path, "--text", "a", "--skip-bad")


def test_encodings_and_options_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "x.mrg"
    path.write_bytes("( (S (A-1 thé) (-NONE- *)) )\n".encode("latin-1"))
    assert "encoding (--encoding latin-1)" in fail("gram", path, "-o", "-")
    for command in (
        ("gram", path, "-o", "-"),
        ("nearest", path, "--query", "(S (A a))", "--k", 1),
        ("compare", path, path),
        ("convert", path, "-"),
    ):
        succeed(*command, "--encoding", "latin-1")
    done = succeed("convert", path, "-", "--encoding", "latin-1", "--option", "drop_empty=true", "--option", "root=TOP")
    assert done.stdout == "(TOP (S (A-1 thé)))\n"
    latin = ("--encoding", "latin-1")
    assert "drop_empty, drop_function_tags, root" in fail("gram", path, "-o", "-", *latin, "--option", "nope=1")
    assert "drop_empty" in fail("gram", path, "-o", "-", *latin, "--option", "drop_empty=3")
    assert "--option must be NAME=VALUE" in fail("gram", path, "-o", "-", "--option", "drop_empty")
    assert "--option root and --root set" in fail("convert", path, "-", *latin, "--root", "A", "--option", "root=B")


def test_a_class_for_every_example_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("".join(f"q{k}\t(S (A a{k}))\n" for k in range(12)), encoding="utf-8")
    result = succeed("train", path, "-o", tmp_path / "m.treelet")
    assert "classes for 12 examples, so most classes" in result.stderr
    X, y = tl.read_examples(path)
    with pytest.warns(TreeletWarning, match="y contains 12 classes for 12 examples"):
        tl.KernelSVC(tl.SubsetTree()).fit(X, y)


DOGS = "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
FOREST = tl.Forest.from_tree(tl.Tree.parse("(S (A a))")).to_json() + "\n"


@pytest.mark.parametrize(
    ("read", "suffix", "text", "bad"),
    [
        (tl.structures.read_conllu, ".conllu", DOGS, "1\tdogs\n\n"),
        (tl.read_forests, ".jsonl", FOREST, "{}\n"),
        (tl.read_tagged, ".txt", "dogs NNS\nbark VBP\n\n", "dogs\n\n"),
        (partial(tl.read_tagged, format="slashes"), ".pos", "dogs/NNS bark/VBP\n", "dogs\n"),
    ],
)
def test_other_readers_take_several_files(tmp_path: Path, read: Any, suffix: str, text: str, bad: str) -> None:
    one, two, other = tmp_path / f"one{suffix}", tmp_path / "below" / f"two{suffix}", tmp_path / "notes.md"
    two.parent.mkdir()
    one.write_text(text, encoding="utf-8")
    two.write_text(text * 2, encoding="utf-8")
    other.write_text("no data", encoding="utf-8")
    assert len(read(one)) == 1
    for files in ([one, two], [[str(one), two]], [tmp_path], [f"{tmp_path}/**/*{suffix}"], [one, tmp_path, one]):
        assert len(read(*files)) == 3
    assert len(read(tmp_path, exclude="below")) == 1
    two.write_text(text + bad, encoding="utf-8")
    with pytest.raises(tl.errors.FormatError, match=f"two{suffix}"):
        read(one, two)
    with pytest.warns(tl.errors.TreeletWarning, match=f"1 of 3 (sentences|forests) was skipped.*two{suffix}"):
        assert len(read(tmp_path, on_error="skip")) == 2
    with pytest.raises(tl.errors.FileError, match="are excluded"):
        read(two.parent, exclude="two*")
