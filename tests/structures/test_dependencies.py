"""Dependency parses: values, CoNLL-U files, other libraries' parses, trees, feature sequences, drawings."""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
import re
import warnings
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.dependency_forms import dependency_tree as definition
from treelet import PartialTree, SubsetTree, Tree, Treebank, read_trees
from treelet.cuts import dependency_tree, dependency_trees, feature_sequences
from treelet.drawing import dependency_svg
from treelet.errors import FileError, FormatError, InputTypeError, ParameterError, TreeError, TreeletWarning
from treelet.formats import read_document
from treelet.formats.conllu import _FORMS
from treelet.structures import Dependencies, DependencyBank, Link, read_conllu

CAT = Dependencies.from_heads(
    ["The", "cat", "runs", "over", "the", "grass", "."],
    ["DT", "NN", "VBZ", "IN", "DT", "NN", "."],
    [2, 3, 0, 6, 6, 3, 3],
    ["det", "nsubj", "root", "case", "det", "nmod", "punct"],
    lemmas=["the", "cat", "run", "over", "the", "grass", "."],
)
DOGS = Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(2, 1, "MVa"), (0, 1, "Sp")])
TEXT = """\
# sent_id = one
# text = Don't go (there).
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t0:root\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t0:root\t_
4\t(\t(\tPUNCT\t-LRB-\t_\t3\tpunct\t3:punct\t_

# sent_id = two
1\t10 000\t10 000\tNUM\tCD\t_\t0\troot\t0:root\t_

"""


@st.composite
def headed(draw: st.DrawFn, most: int = 12) -> Dependencies:
    """Parses with heads, of any shape: crossing, several roots."""
    number = draw(st.integers(1, most))
    order = draw(st.permutations(range(number)))
    heads = [0] * number
    for rank, place in enumerate(order):
        above = draw(st.integers(-1, rank - 1))
        heads[place] = order[above] + 1 if above >= 0 else 0
    texts = st.lists(st.sampled_from(["a", "bc", "long_label", "日本"]), min_size=number, max_size=number)
    return Dependencies.from_heads(draw(texts), draw(texts), heads, draw(texts))


# --- the value ------------------------------------------------------------------------------------------------------


def test_links_are_put_in_order() -> None:
    assert DOGS.links == (Link(0, 1, "Sp"), Link(1, 2, "MVa"))
    assert Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(1, 0, "Sp"), (1, 2, "MVa")]) == DOGS
    assert (DOGS.heads, DOGS.relations, DOGS.lemmas, DOGS.directed) == (None, None, None, False)


def test_heads_are_links_too() -> None:
    assert CAT.links[:3] == (Link(0, 1, "det"), Link(1, 2, "nsubj"), Link(2, 5, "nmod"))
    assert len(CAT.links) == 6
    assert CAT.heads == (2, 3, 0, 6, 6, 3, 3)
    assert Dependencies.from_heads(["a", "b"], None, [None, 1]).heads == (0, 1)
    assert Dependencies.from_heads(["a", "b"], None, [0, 1]).relations == ("root", "_")


@pytest.mark.parametrize("parse", [CAT, DOGS])
def test_is_a_value(parse: Dependencies) -> None:
    again = eval(repr(parse))
    assert again == parse == pickle.loads(pickle.dumps(parse))
    assert hash(again) == hash(parse)
    assert len({parse, again}) == 1
    assert parse != parse.words
    with pytest.raises(AttributeError, match="cannot be set, because"):
        parse.words = ()  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'words' cannot be deleted, because"):
        del parse.words


def test_kinds_and_lemmas_make_a_difference() -> None:
    heads = Dependencies.from_heads(["a", "b"], ["X", "Y"], [0, 1], ["root", "t"])
    assert heads != Dependencies(["a", "b"], ["X", "Y"], [(0, 1, "t")])
    assert heads.links == Dependencies(["a", "b"], ["X", "Y"], [(0, 1, "t")]).links
    assert heads != Dependencies.from_heads(["a", "b"], ["X", "Y"], [0, 1], ["root", "t"], lemmas=["a", "b"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "parse needs at least one word"),
        ((["a", ""], None), "empty or contain tabs or line breaks"),
        ((["a\tb"], None), "empty or contain tabs or line breaks"),
        (("ab", None), "split it"),
        ((["a"], ["X", "Y"]), "Got 1 word and 2 tags instead"),
        ((["a"], [None]), "tag must be a string"),
        ((["a", "b"], None, [(0, 2, "t")]), "position must be an int from 0 to 1.*Got 2 instead"),
        ((["a", "b"], None, [(-1, 0, "t")]), "position must be an int from 0 to 1.*2 words"),
        ((["a", "b"], None, [(0, True, "t")]), "position must be an int from 0 to 1.*2 words"),
        ((["a", "b"], None, [(1, 1, "t")]), "link must join two different words"),
        ((["a", "b"], None, [(0, 1, "t"), (1, 0, "t")]), "link 1.*occurs twice"),
        ((["a", "b"], None, [(0, 1, "")]), "empty or contain tabs or line breaks"),
        ((["a", "b"], None, [(0, 1)]), r"link must be \(position, position, type\)"),
    ],
)
def test_bad_links_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Dependencies(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 3], "head 3 does not exist.*Heads are 1 to 2, or 0"),
        ([0, -1], "head -1 does not exist"),
        ([0, 2], "word cannot be its own head"),
        ([2, 1], "cycle another head, or 0"),
        ([0], "Got 2 words and 1 head instead"),
        ([0, "1"], r"a head must be an int\. Got '1' instead"),
    ],
)
def test_bad_heads_are_refused(heads: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Dependencies.from_heads(["a", "b"], None, heads)


def test_a_cycle_behind_a_path_is_found() -> None:
    with pytest.raises(TreeError, match="is part of a cycle of heads"):
        Dependencies.from_heads(list("abcde"), None, [0, 3, 4, 5, 3])


def test_long_chains_are_no_problem() -> None:
    number = 20_000
    parse = Dependencies.from_heads(["w"] * number, None, range(number))
    assert dependency_tree(parse, "loct").height() == number - 1
    assert len(dependency_trees([parse])) == 1


def test_two_words_may_have_links_of_several_types() -> None:
    assert len(Dependencies(["a", "b"], None, [(0, 1, "s"), (0, 1, "t")]).links) == 2


# --- links with a root ----------------------------------------------------------------------------------------------


def test_rooted_goes_away_from_the_root() -> None:
    parse = Dependencies(list("Wabcd"), None, [(0, 2, "Wd"), (1, 2, "D"), (2, 3, "S"), (0, 3, "WV")])
    found = parse.rooted()
    assert found.heads == (0, 3, 1, 1, 0)  # the link S would close a circle; d is linked to nothing
    assert found.relations == ("root", "D", "Wd", "WV", "root")
    assert parse.rooted(3).heads == (4, 3, 4, 0, 0)
    with pytest.raises(ParameterError, match="from 0 to 4"):
        parse.rooted(5)


@given(headed())
def test_rooting_at_the_root_gives_the_heads_back(parse: Dependencies) -> None:
    assert parse.heads is not None
    if parse.heads.count(0) == 1:
        found = Dependencies(parse.words, parse.tags, parse.links).rooted(parse.heads.index(0))
        assert found.heads == parse.heads
        assert found.links == parse.links


# --- CoNLL-U --------------------------------------------------------------------------------------------------------


def test_reads_the_syntactic_words() -> None:
    bank = read_conllu(io.StringIO(TEXT))
    first, second = bank
    assert first is not None
    assert second is not None
    assert first.words == ("Do", "n't", "go", "(")
    assert first.tags == ("AUX", "PART", "VERB", "PUNCT")
    assert first.lemmas == ("do", "not", "go", "(")
    assert first.heads == (3, 3, 0, 3)
    assert first.relations == ("aux", "advmod", "root", "punct")
    assert first.comments == ()
    assert second.words == ("10 000",)
    assert read_conllu(io.StringIO(TEXT), tag="xpos")[0].tags == ("VB", "RB", "VB", "-LRB-")  # type: ignore[union-attr]


def test_keeps_what_it_is_asked_to() -> None:
    plain = read_conllu(io.StringIO(TEXT))
    comments = read_conllu(io.StringIO(TEXT), keep="comments")
    whole = read_conllu(io.StringIO(TEXT), keep="lines")
    assert plain == comments == whole
    assert comments[0].comments == whole[0].comments == ("# sent_id = one", "# text = Don't go (there).")  # type: ignore[union-attr]
    assert pickle.loads(pickle.dumps(whole))[0].to_conllu() + whole[1].to_conllu() == TEXT  # type: ignore[union-attr]
    written = comments[1].to_conllu()  # type: ignore[union-attr]
    assert written == "# sent_id = two\n1\t10 000\t10 000\tNUM\t_\t_\t0\troot\t_\t_\n\n"
    assert plain[1].to_conllu("xpos").startswith("1\t10 000\t10 000\t_\tNUM\t")  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["x.conllu", "x.conllu.gz"])
def test_files(tmp_path: Path, name: str) -> None:
    bank = read_conllu(io.BytesIO(TEXT.replace("\n", "\r\n").encode()), keep="lines")
    bank.write(tmp_path / name)
    text = (tmp_path / name).read_bytes()
    assert (gzip.decompress(text) if name.endswith("gz") else text) == TEXT.encode()
    assert read_conllu(tmp_path / name) == bank
    out = io.StringIO()
    bank.write(out)
    assert out.getvalue() == TEXT
    with pytest.raises(FileError, match="the file does not exist"):
        read_conllu(tmp_path / "none.conllu")


@given(headed())
def test_what_is_written_is_read_back(parse: Dependencies) -> None:
    for tag in ("upos", "xpos"):
        assert read_conllu(io.StringIO(parse.to_conllu(tag)), tag=tag)[0] == parse


GOOD = ["1", "a", "_", "X", "_", "_", "0", "root", "_", "_"]


def row(**changed: str) -> str:
    cells = list(GOOD)
    for name, value in changed.items():
        cells[("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel").index(name)] = value
    return "\t".join(cells) + "\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (row() + "2\tb\n", 2, "CoNLL-U line needs 10 tab-separated"),
        (row().replace("\t", " "), 1, "columns seem to be separated by spaces"),
        (row() + row(id="3", head="1"), 2, "must be numbered 1, 2, 3"),
        (row(id="0"), 1, "must be numbered 1, 2, 3"),
        (row(id="a"), 1, "must be numbered 1, 2, 3"),
        (row() + "\n\n" + row() + row(id="2", head="_"), 5, "another word, or 0 for a root"),
        (row(head="-1"), 1, "another word, or 0 for a root"),
        (row() + row(id="2", head="3"), 2, "head 3 does not exist"),
        (row() + row(id="2", head="2"), 2, "word 2 is its own head"),
        (
            "# c\n" + row() + row(id="2", head="3") + row(id="3", head="2"),
            3,
            "word 2 is part of a cycle of heads",
        ),
        (row(form=""), 1, "column FORM is empty"),
        (row() + "\n# a comment\n\n" + row(), 4, "this sentence has no words"),
        (row() + "\n# a comment\n", 4, "this sentence has no words"),
        (row(id="1-2", head="_"), 2, "this sentence has no words"),
    ],
)
def test_bad_files_name_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        read_conllu(io.StringIO(text))
    assert caught.value.line == line


def test_bytes_that_are_no_text_and_bad_options() -> None:
    with pytest.raises(FormatError, match="not UTF-8") as caught:
        read_conllu(io.BytesIO(b"# x\n" + row(form="?").encode().replace(b"?", b"\xff")))
    assert caught.value.line == 2
    with pytest.raises(ParameterError, match="'tag' parameter"):
        read_conllu(io.StringIO(TEXT), tag="pos")
    with pytest.raises(ParameterError, match="'keep' parameter"):
        read_conllu(io.StringIO(TEXT), keep="all")


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match=r"parse 1.*CoNLL-U needs one head per word"):
        DependencyBank([CAT, DOGS]).write(tmp_path / "x.conllu")
    with pytest.raises(TreeError, match=r"parse 0.*missing, but a file of parses has no notation"):
        DependencyBank([None]).write(tmp_path / "x.conllu")
    assert not list(tmp_path.iterdir())


def ud_files(data: Path) -> list[Path]:
    return sorted([*data.glob("ud_*/*-dev.conllu.xz"), *data.glob("ud_*/*-test.conllu.xz")])


@pytest.mark.slow
def test_universal_dependencies_round_trip(data_dir: Path) -> None:
    files = ud_files(data_dir)
    if not files:
        pytest.skip("needs the Universal Dependencies files")
    for file in files:
        original = lzma.decompress(file.read_bytes()).decode()
        bank = read_conllu(file, keep="lines")
        out = io.StringIO()
        bank.write(out)
        assert out.getvalue() == original
        plain, again = io.StringIO(), io.StringIO()
        read_conllu(file).write(plain)
        assert read_conllu(io.StringIO(plain.getvalue())) == bank
        read_conllu(file, keep="comments").write(again)
        assert again.getvalue().count("# sent_id") == len(bank) == original.count("# sent_id")
        for parse in list(bank)[:200]:
            assert parse is not None
            for form in ("grct", "lct", "loct", "pct"):
                tree = dependency_tree(parse, form, prefixes=True)
                assert sum(node.label.startswith("LEX##") for node in tree.nodes()) == len(parse)
            assert [len(sequence) for sequence in feature_sequences(parse).values()][:2] == [len(parse) - 1, len(parse)]


def test_equals_the_conllu_package(data_dir: Path) -> None:
    conllu = pytest.importorskip("conllu", reason="needs the conllu package")
    for file in ud_files(data_dir)[:1]:
        theirs = conllu.parse(lzma.decompress(file.read_bytes()).decode())
        for tag in ("upos", "xpos"):
            assert DependencyBank(Dependencies.from_conllu(one, tag=tag) for one in theirs) == read_conllu(
                file, tag=tag
            )


# --- other libraries ------------------------------------------------------------------------------------------------


def spacy_like(*rows: tuple[str, str, str, str, str, int, bool], start: int = 0) -> list[SimpleNamespace]:
    """Stand-ins with those attributes of spaCy's tokens that are used; the head is a position in the document."""
    names = ("text", "pos_", "tag_", "lemma_", "dep_", "at", "is_space")
    tokens = [SimpleNamespace(i=start + i, **dict(zip(names, r, strict=True))) for i, r in enumerate(rows)]
    by_place = {token.i: token for token in tokens}
    for token in tokens:
        token.head = by_place.get(token.at, SimpleNamespace(i=token.at))
    return tokens


def test_spacy() -> None:
    doc = spacy_like(
        ("dogs", "NOUN", "NNS", "dog", "nsubj", 1, False),
        ("bark", "VERB", "VBP", "bark", "ROOT", 1, False),
        ("\n", "SPACE", "_SP", "\n", "dep", 1, True),
        ("loudly", "ADV", "RB", "loudly", "advmod", 2, False),
    )
    expected = (["dogs", "bark", "loudly"], [2, 0, 2], ["nsubj", "ROOT", "advmod"])
    found = Dependencies.from_spacy(doc)
    assert found == Dependencies.from_heads(
        expected[0], ["NOUN", "VERB", "ADV"], *expected[1:], lemmas=["dog", "bark", "loudly"]
    )
    assert Dependencies.from_spacy(doc, tag="xpos").tags == ("NNS", "VBP", "RB")
    span = spacy_like(
        ("loud", "ADJ", "JJ", "", "amod", 8, False), ("dogs", "NOUN", "NNS", "", "obj", 3, False), start=7
    )
    assert Dependencies.from_spacy(span) == Dependencies.from_heads(
        ["loud", "dogs"], ["ADJ", "NOUN"], [2, 0], ["amod", "obj"]
    )
    with pytest.raises(InputTypeError, match="parsed spaCy Doc or Span is needed"):
        Dependencies.from_spacy("dogs")


def test_spacy_without_a_parse() -> None:
    blank = [("Dogs", "", "", "", "", 0, False), ("bark", "", "", "", "", 1, False)]
    with pytest.raises(TreeError, match="has not been parsed"):
        Dependencies.from_spacy(spacy_like(*blank))
    parsed = spacy_like(("Go", "VERB", "VB", "go", "ROOT", 0, False))
    assert Dependencies.from_spacy(parsed).heads == (0,)


def test_real_spacy() -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    tokens = pytest.importorskip("spacy.tokens")
    nlp = spacy.blank("en")
    doc = nlp("Dogs bark.")
    for blank in (doc, doc[:2]):
        with pytest.raises(TreeError, match="has not been parsed"):
            Dependencies.from_spacy(blank)
        with pytest.raises(TreeError, match="has not been parsed"):
            DependencyBank([None, blank])
    parsed = tokens.Doc(nlp.vocab, words=["Dogs", "bark"], pos=["NOUN", "VERB"], heads=[1, 1], deps=["nsubj", "ROOT"])
    expected = Dependencies.from_heads(["Dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "ROOT"])
    assert list(DependencyBank([parsed, parsed[:2]])) == [expected, expected]
    assert dependency_trees([parsed]).strings() == ["(ROOT (nsubj (NOUN Dogs)) (VERB bark))"]
    with pytest.raises(InputTypeError, match="Put it in a list"):
        DependencyBank(parsed)
    with pytest.raises(InputTypeError, match=r"Item 0.*Doc"):
        Treebank([parsed])


def test_stanza() -> None:
    """A stand-in with those attributes of stanza's sentences that are used."""
    names = ("id", "text", "upos", "xpos", "lemma", "head", "deprel")
    rows = [(1, "dogs", "NOUN", "NNS", "dog", 2, "nsubj"), (2, "bark", "VERB", None, None, 0, "root")]
    sentence = SimpleNamespace(words=[SimpleNamespace(**dict(zip(names, r, strict=True))) for r in rows])
    found = Dependencies.from_stanza(sentence)
    assert found == Dependencies.from_heads(
        ["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"], lemmas=["dog", "_"]
    )
    assert Dependencies.from_stanza(sentence, tag="xpos").tags == ("NNS", "_")
    with pytest.raises(InputTypeError, match="stanza"):
        Dependencies.from_stanza("dogs bark")
    for word in sentence.words:
        word.head = word.deprel = None
    with pytest.raises(TreeError, match="has not been parsed"):
        Dependencies.from_stanza(sentence)


def test_token_lists() -> None:
    """Mappings as the conllu package gives them."""
    names = ("id", "form", "lemma", "upos", "xpos", "head", "deprel")
    rows = [
        ((1, "-", 2), "dunno", None, None, None, None, None),
        (1, "du", "do", "AUX", None, 2, "aux"),
        (2, "nno", None, "VERB", None, 0, "root"),
    ]
    tokens = [dict(zip(names, r, strict=True)) for r in rows]
    assert Dependencies.from_conllu(tokens).to_conllu().split() == [
        *("1", "du", "do", "AUX", "_", "_", "2", "aux", "_", "_"),
        *("2", "nno", "_", "VERB", "_", "_", "0", "root", "_", "_"),
    ]
    tokens[1]["head"] = None
    with pytest.raises(TreeError, match=r"Word 1 has no head\. Write 0 for a root"):
        Dependencies.from_conllu(tokens)
    tokens[2]["head"] = None
    with pytest.raises(TreeError, match="has not been parsed"):
        Dependencies.from_conllu(tokens)
    with pytest.raises(InputTypeError, match="TokenList"):
        Dependencies.from_conllu(["dogs"])  # type: ignore[list-item]


# --- banks ----------------------------------------------------------------------------------------------------------


def test_banks_take_other_libraries_parses() -> None:
    doc = spacy_like(("dogs", "NOUN", "NNS", "", "nsubj", 1, False), ("bark", "VERB", "VBP", "", "ROOT", 1, False))
    sentence = SimpleNamespace(
        tokens=[],
        words=[
            SimpleNamespace(text=t.text, upos=t.pos_, xpos=t.tag_, lemma=None, head=h, deprel=t.dep_)
            for t, h in zip(doc, (2, 0), strict=True)
        ],
    )
    names = ("id", "form", "lemma", "upos", "xpos", "head", "deprel")
    rows = [(1, "dogs", None, "NOUN", "NNS", 2, "nsubj"), (2, "bark", None, "VERB", "VBP", 0, "ROOT")]
    tokens = [dict(zip(names, r, strict=True)) for r in rows]

    class Doc(list[SimpleNamespace]):
        def has_annotation(self, name: str) -> bool:
            return name == "DEP"

    expected = Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "ROOT"])
    bank = DependencyBank([Doc(doc), sentence, tokens, expected, None])
    assert list(bank) == [expected, expected, expected, expected, None]
    tokens[0]["head"] = None
    with pytest.raises(TreeError, match="Word 1 has no head"):
        DependencyBank([Doc(doc), sentence, tokens])
    with pytest.raises(InputTypeError, match="Got one Doc"):
        DependencyBank(Doc(doc))
    with pytest.raises(InputTypeError, match=r"0 is a SimpleNamespace.*but a dependency parse is needed"):
        DependencyBank([SimpleNamespace(sentences=[sentence])])


def test_parses_are_no_trees() -> None:
    with pytest.raises(InputTypeError, match="DependencyBank instead"):
        SubsetTree()(DependencyBank([CAT]))
    with pytest.raises(InputTypeError, match=r"Item 1.*Dependencies"):
        SubsetTree()(["(S x)", CAT])


def test_banks() -> None:
    bank = DependencyBank([CAT, None, DOGS])
    assert bank.shape == (3,)
    assert bank[1:] == DependencyBank([None, DOGS])
    assert bank[[2, 0]] == DependencyBank([DOGS, CAT])
    assert bank[np.array([True, False, True])] == DependencyBank([CAT, DOGS])
    assert bank[-1] is DOGS
    assert bank != bank[:2]
    assert bank != DependencyBank([DOGS, None, CAT])
    assert bank + [CAT] == DependencyBank([*bank, CAT])
    assert [CAT] + bank == DependencyBank([CAT, *bank])
    assert pickle.loads(pickle.dumps(bank)) == bank
    assert np.asarray(bank).shape == (3,)
    assert "3 parses, 10 words, 8 links" in repr(bank)
    for wrong in (CAT, "dogs bark", 3):
        with pytest.raises(InputTypeError, match="A collection of parses is needed"):
            DependencyBank(wrong)  # type: ignore[arg-type]
    with pytest.raises(
        InputTypeError, match=r"'x.conllu' is a file name.*Read the file with treelet.structures.read_conllu"
    ):
        DependencyBank("x.conllu")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match=r"Item 1 is a str.*but a dependency parse is needed"):
        DependencyBank([CAT, "x"])  # type: ignore[list-item]


# --- trees ----------------------------------------------------------------------------------------------------------

BY_HAND = {
    "grct": "(root (nsubj (det (DT The)) (NN cat)) (VBZ runs) (nmod (case (IN over)) (det (DT the)) (NN grass)) (punct (. .)))",
    "lct": "(runs (cat (The DT det) NN nsubj) (grass (over IN case) (the DT det) NN nmod) (. . punct) VBZ root)",
    "loct": "(runs (cat The) (grass over the) .)",
    "pct": "(VBZ (NN (DT The det) cat nsubj) (NN (IN over case) (DT the det) grass nmod) (. . punct) runs root)",
}


@pytest.mark.parametrize("form", BY_HAND)
def test_trees_by_hand(form: str) -> None:
    assert dependency_tree(CAT, form) == Tree.parse(BY_HAND[form])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            "grct",
            "(SYNT##root (SYNT##nsubj (SYNT##det (POS##DT LEX##the::d)) (POS##NN LEX##cat::n)) (POS##VBZ LEX##run::v) "
            "(SYNT##nmod (SYNT##case (POS##IN LEX##over::i)) (SYNT##det (POS##DT LEX##the::d)) (POS##NN LEX##grass::n)) "
            "(SYNT##punct (POS##. LEX##.::.)))",
        ),
        (
            "lct",
            "(LEX##run::v (LEX##cat::n (LEX##the::d POS##DT SYNT##det) POS##NN SYNT##nsubj) (LEX##grass::n (LEX##over::i "
            "POS##IN SYNT##case) (LEX##the::d POS##DT SYNT##det) POS##NN SYNT##nmod) (LEX##.::. POS##. SYNT##punct) POS##VBZ "
            "SYNT##root)",
        ),
        ("loct", "(LEX##run::v (LEX##cat::n LEX##the::d) (LEX##grass::n LEX##over::i LEX##the::d) LEX##.::.)"),
    ],
)
def test_trees_are_those_of_kelp(form: str, expected: str) -> None:
    """The trees that KeLP makes of this sentence."""
    assert dependency_tree(CAT, form, lemmas=True, lowercase=True, letters=True, prefixes=True) == Tree.parse(expected)


def test_trees_of_odd_parses() -> None:
    two = Dependencies.from_heads(
        ["a b", "(", "c"], ["X", "Y", "Z"], [0, 1, 0], ["r", "s", "t"], lemmas=["A", "_", "_"]
    )
    assert str(dependency_tree(two)) == "(ROOT (r (X a_b) (s (Y -LRB-))) (t (Z c)))"
    assert str(dependency_tree(two, "loct", lemmas=True, prefixes=True)) == "(SYNT##ROOT (LEX##A LEX##-LRB-) LEX##c)"
    crossing = Dependencies.from_heads(list("abcd"), list("WXYZ"), [3, 4, 0, 3], list("wxyz"))
    assert str(dependency_tree(crossing)) == "(y (w (W a)) (Y c) (z (x (X b)) (Z d)))"


@given(
    st.lists(headed() | st.none(), max_size=4),
    st.sampled_from(list(_FORMS)),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_trees_equal_their_definition(parses: list[Dependencies | None], form: str, chosen: list[bool]) -> None:
    options = dict(zip(("lemmas", "lowercase", "letters", "prefixes"), chosen, strict=True))
    expected = [None if parse is None else definition(parse, form, **options) for parse in parses]
    assert list(dependency_trees(parses, form, **options)) == expected
    assert [parse and dependency_tree(parse, form, **options) for parse in parses] == expected


def test_real_trees_equal_their_definition(data_dir: Path) -> None:
    bank = read_conllu(data_dir / "ud_ewt" / "en_ewt-ud-test.conllu.xz", tag="xpos")[:300]
    for form in _FORMS:
        assert list(dependency_trees(bank, form, lemmas=True)) == [definition(p, form, lemmas=True) for p in bank if p]


def test_conllu_is_a_file_of_trees(tmp_path: Path) -> None:
    path = tmp_path / "x.conllu.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    bank = read_conllu(path, tag="xpos")
    assert read_trees(path, tag="xpos") == dependency_trees(bank)
    options: dict[str, Any] = {"lemmas": True, "lowercase": True, "letters": True, "prefixes": True}
    assert read_trees(path, tag="xpos", form="lct", **options) == dependency_trees(bank, "lct", **options)
    assert read_trees(io.StringIO(TEXT), "conllu").strings()[1] == "(root (NUM 10_000))"
    for options in ({"form": "x"}, {"form": None}, {"tag": "pos"}, {"lemmas": 1}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            read_trees(path, **options)
    cycle = row(id="1", head="2") + row(id="2", head="1")
    with pytest.raises(FormatError, match=r"<stream>:1.*cycle"):
        read_trees(io.StringIO(cycle), "conllu")
    assert len(read_trees(io.StringIO(""), "conllu")) == 0


@pytest.mark.parametrize("text", [TEXT, TEXT.split("\n", 2)[2], "# newdoc\n" + TEXT, "\n" + TEXT])
def test_conllu_is_known_by_its_content(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    for file in (io.StringIO(text), tmp_path / "x.txt"):
        document = read_document(file, form="lct")
        assert document.format == "conllu"
        assert len(document) == 2


def test_trees_that_cannot_be() -> None:
    with pytest.raises(TreeError, match=r"parse 1.*A tree needs one head per word"):
        dependency_trees([CAT, DOGS])
    with pytest.raises(ParameterError, match="'form' parameter"):
        dependency_tree(CAT, "cct")
    with pytest.raises(InputTypeError, match="Dependencies"):
        dependency_tree("dogs bark")  # type: ignore[arg-type]


def test_kernels_of_trees() -> None:
    bank = dependency_trees([CAT, None, DOGS.rooted(1)], "loct")
    values = PartialTree(lam=1, mu=1)(bank)
    assert values[1].tolist() == [0, 0, 0]
    assert values[2, 2] == 6  # three words; the root with the first, the last, both of the others
    assert values[0, 2] == 0


@given(headed())
def test_every_word_is_once_in_every_tree(parse: Dependencies) -> None:
    several = parse.heads is not None and parse.heads.count(0) > 1
    for form, nodes in (("grct", 3), ("lct", 3), ("loct", 1), ("pct", 3)):
        found = list(dependency_tree(parse, form, prefixes=True).nodes())
        assert len(found) == nodes * len(parse) + several
        assert sorted(node.label for node in found if node.label.startswith("LEX##")) == sorted(
            "LEX##" + word for word in parse.words
        )


# --- feature sequences ----------------------------------------------------------------------------------------------

# The sentence of the paper's figure 1. The paper's text gives the links Mp, Js and Ss and the beginnings of the sequences;
# the links after "leads" are ours.
SENTENCE = Dependencies(
    ["absence", "of", "alpha-syntrophin", "leads", "to", "aberrant", "synapses"],
    ["n", "p", "n", "v", "p", "a", "n"],
    [(0, 3, "Ss"), (0, 1, "Mp"), (1, 2, "Js"), (3, 4, "MVp"), (4, 6, "Jp"), (5, 6, "A")],
)


def test_the_sequences_of_the_paper() -> None:
    found = feature_sequences(SENTENCE)
    # What the paper prints.
    assert found["bigram"][:3] == [("absence", "of"), ("absence", "leads"), ("of", "alpha-syntrophin")]
    assert found["link_type"][:2] == ["Mp", "Ss"]
    assert found["word_link_type"][:4] == [("absence", "Mp"), ("absence", "Ss"), ("of", "Mp"), ("of", "Js")]
    assert found["link_bigram"][:2] == [("Mp", "Ss"), ("Mp", "Js")]
    assert found["word_tag"][::2][:2] == [("absence", "n"), ("alpha-syntrophin", "n")]
    # The whole, by hand.
    assert found == {
        "bigram": [
            ("absence", "of"),
            ("absence", "leads"),
            ("of", "alpha-syntrophin"),
            ("leads", "to"),
            ("to", "synapses"),
            ("aberrant", "synapses"),
        ],
        "word_tag": [
            ("absence", "n"),
            ("of", "p"),
            ("alpha-syntrophin", "n"),
            ("leads", "v"),
            ("to", "p"),
            ("aberrant", "a"),
            ("synapses", "n"),
        ],
        "link_type": ["Mp", "Ss", "Js", "MVp", "Jp", "A"],
        "word_link_type": [
            ("absence", "Mp"),
            ("absence", "Ss"),
            ("of", "Mp"),
            ("of", "Js"),
            ("alpha-syntrophin", "Js"),
            ("leads", "Ss"),
            ("leads", "MVp"),
            ("to", "MVp"),
            ("to", "Jp"),
            ("aberrant", "A"),
            ("synapses", "Jp"),
            ("synapses", "A"),
        ],
        "link_length": [1, 3, 1, 1, 2, 1],
        "link_length_type": [(1, "Mp"), (3, "Ss"), (1, "Js"), (1, "MVp"), (2, "Jp"), (1, "A")],
        "link_bigram": [("Mp", "Ss"), ("Mp", "Js"), ("Ss", "MVp"), ("MVp", "Jp"), ("Jp", "A")],
    }


def test_three_links_at_a_word_are_three_pairs() -> None:
    parse = Dependencies(list("abcd"), None, [(3, 1, "z"), (2, 1, "y"), (1, 0, "x")])
    assert feature_sequences(parse)["link_bigram"] == [("x", "y"), ("x", "z"), ("y", "z")]


def test_sequences_of_heads_have_no_direction() -> None:
    assert feature_sequences(CAT) == feature_sequences(Dependencies(CAT.words, CAT.tags, CAT.links))
    assert ("root" in feature_sequences(CAT)["link_type"]) is False
    with pytest.raises(InputTypeError, match="Dependencies"):
        feature_sequences([CAT])  # type: ignore[arg-type]


def test_a_word_without_links() -> None:
    found = feature_sequences(Dependencies(["Go"], ["v"]))
    assert found == {**{name: [] for name in found}, "word_tag": [("Go", "v")]}


# --- drawings -------------------------------------------------------------------------------------------------------


def boxes(svg: str) -> list[tuple[str, float, float, float]]:
    """Text, row, begin, end of every text in a picture, by the widths that DejaVu Sans has, wide as it is."""
    found = []
    for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        half = sum(1.0 if ord(c) > 0x2E80 else 0.6 for c in node.text or "") * float(node.attrib["font-size"]) / 2
        x = float(node.attrib["x"])
        found.append((node.text or "", float(node.attrib["y"]), x - half, x + half))
    return found


def check_picture(parse: Dependencies) -> None:
    svg = dependency_svg(parse)
    width = float(ElementTree.fromstring(svg).attrib["width"])
    texts = boxes(svg)
    for one, other in combinations(texts, 2):
        assert one[1] != other[1] or one[3] <= other[2] or other[3] <= one[2], (one, other)
    assert all(begin >= 0 and end <= width for _, _, begin, end in texts)
    labels = [text for text, _, _, _ in texts]
    for text in [*parse.words, *(parse.relations or [link.type for link in parse.links])]:
        assert text[:20] in [label[:20] for label in labels]


@given(headed())
def test_nothing_overlaps(parse: Dependencies) -> None:
    check_picture(parse)


def test_nothing_overlaps_in_real_sentences(data_dir: Path) -> None:
    files = ud_files(data_dir)
    if not files:
        pytest.skip("needs the Universal Dependencies files")
    parses = sorted((parse for parse in read_conllu(files[-1]) if parse is not None and len(parse) <= 40), key=len)
    assert len(parses[-1]) == 40
    for parse in parses[-40:]:
        check_picture(parse)
        check_picture(Dependencies(parse.words, None, parse.links))


def test_arrows_point_at_dependents() -> None:
    assert dependency_svg(CAT).count("h7l-3.5 6.5z") == 7
    assert "h7l-3.5 6.5z" not in dependency_svg(DOGS)
    for heads, dependent in ([2, 0], 0), ([0, 1], 1):
        svg = dependency_svg(Dependencies.from_heads(["a", "b"], None, heads, ["x", "x"]))
        words = {text: (begin + end) / 2 for text, _, begin, end in boxes(svg)}
        middle = (words["a"] + words["b"]) / 2
        arrows = [float(x) + 3.5 for x in re.findall(r'M([\d.]+) [\d.]+h7l-3.5 6.5z" fill="#5b6770"', svg)]
        assert [x > middle for x in arrows] == [bool(dependent)]


def test_shorter_links_are_lower() -> None:
    height = {text: y for text, y, _, _ in boxes(dependency_svg(CAT)) if text in ("nmod", "case", "punct")}
    assert height["punct"] < height["nmod"] < height["case"]


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InputTypeError, match="Dependencies"):
        dependency_svg("dogs bark")  # type: ignore[arg-type]
    with pytest.raises(TreeError, match="The parse has 3 words, but the limit is"):
        dependency_svg(DOGS, limit=2)
    with pytest.raises(ParameterError, match="'limit' parameter"):
        dependency_svg(DOGS, limit=0)


def test_pictures_are_fit_for_xml() -> None:
    odd = Dependencies(["<a&b>", "\x01x"], ["&", "<"], [(0, 1, "<>")])
    assert ElementTree.fromstring(dependency_svg(odd)).tag.endswith("svg")


def test_a_file_without_tags_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(
        "1\tcats\tcat\t_\tNNS\t_\t2\tnsubj\t_\t_\n2\trun\trun\t_\tVB\t_\t0\troot\t_\t_\n\n", encoding="utf-8"
    )
    for read in (read_conllu, read_trees):
        with pytest.warns(TreeletWarning, match="no word has a tag in the column upos"):
            read(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(path, tag="xpos")
