"""Files read a part at a time: the same examples, wherever they are cut."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treelet as tl
from treelet.errors import FormatError, ParameterError, TreeletWarning
from treelet.formats import FORMATS, files
from treelet.testing import banks

STREAMED = ["brackets", "lines", "tsv", "csv"]


def written(trees: list[tl.Tree], format: str) -> bytes:
    """A file of the trees; with the labels 0, 1, ... where the format has any."""
    if format == "tsv":
        return b"".join(f"{number}\t{tree}\n".encode() for number, tree in enumerate(trees))
    if format == "csv":
        return b"".join(f'{number},"{tree}"\n'.encode() for number, tree in enumerate(trees))
    return b"".join(f"{tree}\n".encode() for tree in trees)


@given(banks(min_size=1, max_size=9), st.sampled_from(STREAMED), st.integers(1, 10), st.integers(1, 40))
def test_blocks_are_the_whole(trees: list[tl.Tree], format: str, block: int, chunk: int) -> None:
    data = written(trees, format)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", chunk)
        found = list(tl.iter_trees(io.BytesIO(data), format, block=block))
        labeled = list(tl.iter_examples(io.BytesIO(data), format, block=block))
    sizes = [min(block, len(trees) - begin) for begin in range(0, len(trees), block)]
    assert [len(bank) for bank in found] == sizes
    assert [tree for bank in found for tree in bank] == trees
    assert [tree for X, _ in labeled for tree in X] == trees
    if format in ("tsv", "csv"):
        assert [label for _, y in labeled for label in y or []] == [str(number) for number in range(len(trees))]
    for bank in found:  # each has a store of its own
        assert len(bank.columns.store) == len(bank.compact().columns.store)


@pytest.mark.parametrize("format", STREAMED)
def test_an_empty_file_is_one_empty_block(format: str) -> None:
    assert [len(bank) for bank in tl.iter_trees(io.BytesIO(b""), format)] == [0]


def test_trees_over_several_lines_and_a_header(tmp_path: Path) -> None:
    file = tmp_path / "trees.mrg"
    file.write_text("( (S\n (NP a)\n (VP b)) )\n\n(S (NP c)) (S\n(NP d))\n", encoding="utf-8")
    assert [bank.strings() for bank in tl.iter_trees(file, block=2)] == [
        ["(S (NP a) (VP b))", "(S (NP c))"],
        ["(S (NP d))"],
    ]
    table = io.BytesIO(b"tree\tlabel\tid\n(A x)\t+1\t1\n(B y)\t2\t2\n(C z)\t3.0\t3\n")
    found = [(X.strings(), y) for X, y in tl.iter_examples(table, "tsv", block=2)]  # type: ignore[union-attr]
    assert found == [(["(A x)", "(B y)"], ["1", "2"]), (["(C z)"], ["3"])]


def test_what_is_wrong_is_said_where_it_is() -> None:
    for name in ("brackets", "lines"):
        blocks = tl.iter_trees(io.BytesIO(b"(A x)\n(B y)\n(C z))\n(D w)\n"), name, block=2)
        assert len(next(blocks)) == 2
        with pytest.raises(FormatError, match=r"unexpected '\)'") as raised:
            list(blocks)
        assert (raised.value.line, raised.value.column) == (3, 6)
    with pytest.raises(FormatError, match="never closed"):
        list(tl.iter_trees(io.BytesIO(b"(A x)\n(B (C y)"), "brackets", block=1))


@pytest.mark.parametrize("format", ["brackets", "lines", "tsv"])
def test_what_is_wrong_can_be_left_out(format: str) -> None:
    tab = b"l\t" if format == "tsv" else b""
    data = b"\n".join(tab + tree for tree in (b"(A x)", b"(B y", b"(C z)", b"(D w)"))
    with pytest.warns(TreeletWarning, match="1.*4 trees"):
        found = [bank.strings() for bank in tl.iter_trees(io.BytesIO(data), format, block=2, on_error="skip")]
    assert found == [["(A x)", "(C z)"], ["(D w)"]]


def test_what_cannot_be_read_in_blocks() -> None:
    assert sorted(one.name for one in FORMATS.values() if one.blocks) == sorted(STREAMED)
    with pytest.raises(ParameterError, match="lines or tsv, or read them as a whole"):
        next(tl.iter_trees(io.BytesIO(b""), "kelp"))
    with pytest.raises(ParameterError, match="'block' parameter"):
        next(tl.iter_trees(io.BytesIO(b""), block=0))
    with pytest.raises(ParameterError, match="color"):
        next(tl.iter_trees(io.BytesIO(b""), "lines", color=1))
