"""Dependency parses as trees, so that tree kernels compare them."""

from __future__ import annotations

from collections.abc import Iterable

from treelet.checks import wrong
from treelet.errors import InputTypeError, TreeError
from treelet.formats.adapters import safe_label
from treelet.formats.conllu import UNKNOWN
from treelet.structures.dependency import Dependencies
from treelet.structures.dependency_bank import DependencyBank
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank

FORMS = ("grct", "lct", "loct", "pct")
TOP = "ROOT"


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

    - ``"grct"``, centred on grammatical relations: r over the dependents and, in the word's own place among them, t over w;
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
    if form not in FORMS:
        raise wrong("form", f"one of {list(FORMS)}", form)
    if parse.heads is None or parse.relations is None:
        raise TreeError(
            "a tree needs a head a word, and undirected links have none: direct them, as by parse.rooted(0)"
        )
    marks = ("SYNT##", "POS##", "LEX##") if prefixes else ("", "", "")
    lexical = _lexical(parse, lemmas, lowercase, letters)
    relation, tag, word = (
        [Tree(mark + safe_label(text)) for text in texts]
        for mark, texts in zip(marks, (parse.relations, parse.tags, lexical), strict=True)
    )
    below: list[list[int]] = [[] for _ in range(len(parse) + 1)]
    for place, head in enumerate(parse.heads):
        below[head].append(place)
    built: list[Tree | None] = [None] * len(parse)
    for place in reversed(_downwards(below)):
        kids = [kid for k in below[place + 1] if (kid := built[k]) is not None]
        r, t, w = relation[place], tag[place], word[place]
        if form == "grct":
            own = sum(k < place for k in below[place + 1])
            tree = Tree(r.label, [*kids[:own], Tree(t.label, [w]), *kids[own:]])
        elif form == "lct":
            tree = Tree(w.label, [*kids, t, r])
        elif form == "loct":
            tree = Tree(w.label, kids)
        else:
            tree = Tree(t.label, [*kids, w, r])
        built[place] = tree
    roots = [root for place in below[0] if (root := built[place]) is not None]
    return roots[0] if len(roots) == 1 else Tree(marks[0] + TOP, roots)


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
    trees: list[Tree | None] = []
    for number, parse in enumerate(DependencyBank.of(parses)):
        if parse is None:
            trees.append(None)
            continue
        try:
            trees.append(
                dependency_tree(parse, form, lemmas=lemmas, lowercase=lowercase, letters=letters, prefixes=prefixes)
            )
        except TreeError as error:
            raise TreeError(f"parse {number}: {error}") from None
    return Treebank(trees)


def _lexical(parse: Dependencies, lemmas: bool, lowercase: bool, letters: bool) -> list[str]:
    texts = list(parse.words)
    if lemmas and parse.lemmas is not None:
        texts = [text if lemma == UNKNOWN else lemma for text, lemma in zip(texts, parse.lemmas, strict=True)]
    if lowercase:
        texts = [text.lower() for text in texts]
    if letters:
        texts = [f"{text}::{tag[0].lower()}" for text, tag in zip(texts, parse.tags, strict=True)]
    return texts


def _downwards(below: list[list[int]]) -> list[int]:
    """All words, heads before dependents."""
    order = list(below[0])
    for place in order:  # grows as it is walked
        order.extend(below[place + 1])
    return order
