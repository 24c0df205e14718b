"""Predicates with arguments from corpora: PropBank on the Wall Street Journal sample, and on MASC."""

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
AUXILIARIES = frozenset({"be.03", "do.01", "go.04", "have.01", "have.02", "use.03"})  # senses of auxiliary verbs
Key = tuple[str, int]


def propbank(
    name: str = "wsj", *, verbs: bool = True, auxiliaries: bool = False, continued: bool = True, nbest: int = 0
) -> list[RoleInstance]:
    """Load predicates and their arguments, with gold trees.

    Parameters
    ----------
    name : {"wsj", "masc"}, default "wsj"
        PropBank on the Penn Treebank sample, or on MASC, which is openly licensed. Some articles of MASC are also in
        the Penn Treebank sample, under the same `doc`, such as wsj_0006. Exclude them if a parser was trained on
        that sample.
    verbs : bool, default True
        Whether to load only predicates that are tagged as verbs.
    auxiliaries : bool, default False
        Whether to include *be*, *have*, *do* and others where they are auxiliaries. These have no arguments.
    continued : bool, default True
        Whether to include continuations of arguments (C-) and references to them (R-).
    nbest : int, default 0
        Maximum number of a parser's parses to add per sentence; for "wsj" only.

    Returns
    -------
    list of RoleInstance
        The predicates, in the order of the corpus. Some have no arguments.
    """
    check_one_of("name", name, sorted(CORPORA))
    if nbest and name != "wsj":
        raise ParameterError(f"The corpus {name!r} has no n-best parses. Leave 'nbest' at 0, or use 'wsj'.")
    roles, folder, file = CORPORA[name]
    arguments = corpus(roles, "args.tsv")
    trees = _trees(corpus(folder, file))
    predicates: dict[tuple[str, int, int, str], list[Argument]] = {}
    for doc, sent, position, tag, roleset, label, start, end in _rows(arguments):
        tree = trees.get((doc, sent))
        if tree is None:
            raise ParameterError(
                f"{arguments}: the tree of {doc}, sentence {sent} is missing. Check that both files are from the same release."
            )
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
                raise source.error("ten columns are needed, with numbers for words and sentences.", number) from None


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
