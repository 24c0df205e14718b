"""Conversion of dependency parses to trees for tree kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from treelet.checks import article
from treelet.errors import InputTypeError, TreeError
from treelet.formats.conllu import Heads, form_columns
from treelet.structures.dependency import Dependencies, DependencyBank
from treelet.structures.tree import Tree, trees_of
from treelet.structures.treebank import Treebank


def dependency_tree(
    parse: Dependencies,
    form: str = "grct",
    *,
    lemmas: bool = False,
    lowercase: bool = False,
    letters: bool = False,
    prefixes: bool = False,
) -> Tree:
    """Convert a dependency parse to a tree, in one of four forms.

    Let r be the relation of a word, t its tag and w the word itself. The dependents become subtrees:

    - ``"grct"``, centered on grammatical relations: r over the dependents and, at the position of the
      word among them, t over w;
    - ``"lct"``, centered on words: w over the dependents, then t and r as last children;
    - ``"loct"``, words only: w over the dependents;
    - ``"pct"``, centered on tags: t over the dependents, then w and r as last children.

    Dependents are in the order of the sentence. If there are several roots, a node ``ROOT`` is added
    above them.

    Parameters
    ----------
    parse : Dependencies
        A parse with heads. Use `Dependencies.rooted` to direct undirected links.
    form : {"grct", "lct", "loct", "pct"}, default "grct"
        The form of the tree.
    lemmas : bool, default False
        Use lemmas instead of words, if the parse has lemmas.
    lowercase : bool, default False
        Convert words or lemmas to lower case.
    letters : bool, default False
        Append the first letter of the tag to each word, as in ``run::v``. Equal words with different
        parts of speech then differ.
    prefixes : bool, default False
        Prefix labels with their kind: ``SYNT##nsubj``, ``POS##NN``, ``LEX##cat``. A word then never
        equals a tag.

    Returns
    -------
    Tree
        White space in labels becomes ``_``, and brackets ``-LRB-`` and ``-RRB-``.

    Notes
    -----
    The forms follow Croce, Moschitti & Basili (2011), *Structured lexical similarity via convolution
    kernels on dependency trees*. With ``lemmas=True, lowercase=True, letters=True, prefixes=True``,
    GRCT, LCT and LOCT are identical to those of KeLP. KeLP does not have PCT, which is LCT with word and
    tag exchanged.

    `Smoothed` compares similar words in all forms. Words are leaves in GRCT and PCT, and inner nodes in
    LCT. In LOCT, only words without dependents are leaves.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.cuts import dependency_tree
    >>> parse = Dependencies.from_heads(["the", "cat", "runs"], ["DT", "NN", "VBZ"], [2, 3, 0], ["det", "nsubj", "root"])
    >>> for form in ("grct", "lct", "loct", "pct"):
    ...     print(dependency_tree(parse, form))
    (root (nsubj (det (DT the)) (NN cat)) (VBZ runs))
    (runs (cat (the DT det) NN nsubj) VBZ root)
    (runs (cat the))
    (VBZ (NN (DT the det) cat nsubj) runs root)
    """
    if not isinstance(parse, Dependencies):
        raise InputTypeError(f"dependency_tree needs Dependencies. Got {article(type(parse).__name__)} instead.")
    options = {"lemmas": lemmas, "lowercase": lowercase, "letters": letters, "prefixes": prefixes}
    return cast(Tree, trees_of(form_columns([_heads(parse)], form, **options))[0])


def dependency_trees(
    parses: Iterable[Dependencies | None] | DependencyBank,
    form: str = "grct",
    *,
    lemmas: bool = False,
    lowercase: bool = False,
    letters: bool = False,
    prefixes: bool = False,
) -> Treebank:
    """Convert dependency parses to a Treebank. A missing parse becomes a missing tree.

    Parameters
    ----------
    parses : DependencyBank or iterable
        `Dependencies`, or parses of spaCy, stanza or conllu; see `DependencyBank`.
    form, lemmas, lowercase, letters, prefixes
        As in `dependency_tree`.

    Returns
    -------
    Treebank

    Examples
    --------
    >>> from treelet import Dependencies, PartialTree
    >>> from treelet.cuts import dependency_trees
    >>> parses = [Dependencies.from_heads([who, "bark"], ["NNS", "VBP"], [2, 0], ["nsubj", "root"]) for who in ("dogs", "cats")]
    >>> PartialTree(lam=1, mu=1)(dependency_trees(parses))
    array([[21., 15.],
           [15., 21.]])
    """
    columns: list[Heads | None] = []
    for number, parse in enumerate(DependencyBank.of(parses)):
        try:
            columns.append(None if parse is None else _heads(parse))
        except TreeError as error:
            raise TreeError(f"parse {number}: {error}") from None
    options = {"lemmas": lemmas, "lowercase": lowercase, "letters": letters, "prefixes": prefixes}
    return Treebank.from_columns(form_columns(columns, form, **options))


def _heads(parse: Dependencies) -> Heads:
    if parse.heads is None or parse.relations is None:
        raise TreeError(
            "A tree needs one head per word, but the links of this parse are undirected. Direct them, for example with "
            "parse.rooted(0)."
        )
    return Heads(parse.words, parse.tags, parse.heads, parse.relations, parse.lemmas)
