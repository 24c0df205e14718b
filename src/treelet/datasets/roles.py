"""Predicates with arguments from real corpora: PropBank on the Wall Street Journal sample, and on MASC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treelet.checks import check_one_of
from treelet.datasets.loaders import corpus
from treelet.errors import ParameterError
from treelet.formats.files import open_source
from treelet.formats.json_files import read_nbest
from treelet.structures import Tree, Treebank
from treelet.structures.instances import Argument, Parse, RoleInstance, as_parses

CORPORA = {
    "wsj": ("propbank_wsj_sample", "ptb_sample", "wsj_sample.clean.tsv"),
    "masc": ("masc_srl", "masc_srl", "trees.tsv"),
}
AUXILIARIES = frozenset(
    {"be.03", "do.01", "go.04", "have.01", "have.02", "use.03"}
)  # senses that only help other verbs
Key = tuple[str, int]


def propbank(
    name: str = "wsj", *, verbs: bool = True, auxiliaries: bool = False, continued: bool = True, nbest: int = 0
) -> list[RoleInstance]:
    """Predicates and their arguments, with gold trees.

    Parameters
    ----------
    name : {"wsj", "masc"}
        PropBank on the Penn Treebank sample, or on MASC, which is openly licensed. Some articles of MASC are also in
        the Penn Treebank sample, under the same `doc`, as in wsj_0006: leave them out where a parser has learned from
        that.
    verbs : bool
        True for predicates that are tagged as verbs only.
    auxiliaries : bool
        True to have *be*, *have*, *do* and others too where they only help another verb; these have no arguments.
    continued : bool
        False to leave out what continues an argument (C-) or refers to one (R-).
    nbest : int
        How many parses of each sentence by a parser to add, at most; for "wsj" only.

    Returns
    -------
    list of RoleInstance
        In the order of the corpus. Some have no arguments.
    """
    check_one_of("name", name, sorted(CORPORA))
    if nbest and name != "wsj":
        raise ParameterError(f"there are no lists of parses for {name!r}: leave 'nbest' at 0")
    roles, folder, file = CORPORA[name]
    arguments = corpus(roles, "args.tsv")
    trees = _trees(corpus(folder, file))
    predicates: dict[tuple[str, int, int, str], list[Argument]] = {}
    for doc, sent, position, tag, roleset, label, start, end in _rows(arguments):
        tree = trees.get((doc, sent))
        if tree is None:
            raise ParameterError(f"{arguments}: there is no tree of {doc}, sentence {sent}")
        if (verbs and not tag.startswith("VB")) or (not auxiliaries and roleset in AUXILIARIES):
            continue
        listed = predicates.setdefault((doc, sent, position, roleset), [])
        if label != "-" and (continued or not label.startswith(("C-", "R-"))):
            listed.append(Argument(label, start, end))
    parses = _parses(nbest, {(doc, sent) for doc, sent, _, _ in predicates}) if nbest else {}
    return [
        RoleInstance(
            tree=trees[doc, sent],
            predicate=position,
            arguments=tuple(listed),
            nbest=parses.get((doc, sent), ()),
            roleset=roleset,
            doc=doc,
            sent=sent,
        )
        for (doc, sent, position, roleset), listed in predicates.items()
    ]


def _rows(path: Path) -> Iterator[tuple[str, int, int, str, str, str, int, int]]:
    with open_source(path) as source:
        for number, line in source.text_lines():
            if line.startswith("#"):
                continue
            try:
                doc, sent, position, tag, _, roleset, label, start, end, _ = line.split("\t")
                yield doc, int(sent), int(position), tag, roleset, label, int(start), int(end)
            except ValueError:
                raise source.error("ten columns are needed, with numbers for words and sentences", number) from None


def _trees(path: Path) -> dict[Key, Tree]:
    keys: list[Key] = []
    texts: list[str] = []
    with open_source(path) as source:
        for _, line in source.text_lines():
            doc, sent, tree = line.split("\t")
            keys.append((doc, int(sent)))
            texts.append(tree)
    return {key: tree for key, tree in zip(keys, Treebank(texts), strict=True) if tree is not None}


def _parses(nbest: int, wanted: set[Key]) -> dict[Key, tuple[Parse, ...]]:
    lists: dict[Key, list[tuple[str, float]]] = {}
    with open_source(corpus("wsj_nbest", "wsj_sample.nbest20.jsonl")) as source:
        for _, parses, fields in read_nbest(source):
            if (key := (fields["doc"], int(fields["sent"]))) in wanted:
                lists[key] = parses[:nbest]
    return as_parses(lists)
