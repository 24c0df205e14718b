"""Dependency parses as trees, so that tree kernels compare them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from treelet.errors import InputTypeError, TreeError
from treelet.formats.conllu import Heads
from treelet.formats.dependency_forms import check_form, form_columns
from treelet.structures.dependency import Dependencies
from treelet.structures.dependency_bank import DependencyBank
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
    """A dependency parse as a tree, in one of four forms.

    With r a word's relation, t its tag, w the word itself, and its dependents as subtrees:

    - ``"grct"``, centered on grammatical relations: r over the dependents and, in the word's own place among them, t over w;
    - ``"lct"``, on words: w over the dependents, then t and r as last children;
    - ``"loct"``, on words only: w over the dependents;
    - ``"pct"``, on tags: t over the dependents, then w and r as last children.

    Dependents are in the order of the sentence. Where there are several roots, a node ``ROOT`` is above them.

    Parameters
    ----------
    parse : Dependencies
        With heads; direct undirected links by `Dependencies.rooted`.
    form : {"grct", "lct", "loct", "pct"}
        See above.
    lemmas : bool
        Lemmas instead of words, where there are any.
    lowercase : bool
        Words or lemmas in small letters.
    letters : bool
        Words with the first letter of their tags: ``run::v``. So words alike in form and other in kind differ.
    prefixes : bool
        Labels with their kinds: ``SYNT##nsubj``, ``POS##NN``, ``LEX##cat``. So a word never equals a tag.

    Returns
    -------
    Tree
        White space in labels becomes ``_``, and brackets ``-LRB-`` and ``-RRB-``.

    Notes
    -----
    After Croce, Moschitti & Basili (2011), *Structured lexical similarity via convolution kernels on dependency trees*.
    GRCT, LCT and LOCT are those of KeLP, with ``lemmas=True, lowercase=True, letters=True, prefixes=True`` to the letter.
    KeLP has no PCT; here it is LCT with word and tag exchanged. `Smoothed` compares words that are leaves by their vectors:
    all of them in GRCT and PCT, in LOCT those without dependents, in LCT none.

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
        raise InputTypeError(f"Dependencies are needed, got {type(parse).__name__}")
    check_form(form)
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
    """Dependency parses as a Treebank; a missing parse stays a missing tree.

    Parameters
    ----------
    parses : iterable of Dependencies
        Or a `DependencyBank`.
    form, lemmas, lowercase, letters, prefixes
        As in `dependency_tree`.

    Examples
    --------
    >>> from treelet import Dependencies, PartialTree
    >>> from treelet.cuts import dependency_trees
    >>> parses = [Dependencies.from_heads([who, "bark"], ["NNS", "VBP"], [2, 0], ["nsubj", "root"]) for who in ("dogs", "cats")]
    >>> PartialTree(lam=1, mu=1)(dependency_trees(parses))
    array([[21., 15.],
           [15., 21.]])
    """
    check_form(form)
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
            "a tree needs a head a word, and undirected links have none: direct them, as by parse.rooted(0)"
        )
    return Heads(parse.words, parse.tags, parse.heads, parse.relations, parse.lemmas)
