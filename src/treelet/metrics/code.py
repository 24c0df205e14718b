"""TSED: the similarity of generated code and reference code by tree edit distance."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article, check_boolean
from treelet.errors import InputTypeError, TreeletError, TreeletWarning, user_level
from treelet.formats.base import Columns
from treelet.formats.code import root_node
from treelet.formats.files import text_source
from treelet.formats.languages import find_language
from treelet.metrics.rows import scores_of
from treelet.resources import Resources
from treelet.structures.treebank import Treebank

if TYPE_CHECKING:
    from treelet.edits import EditDistance

_Code = str | bytes | None
_Codes = list[Any] | tuple[Any, ...] | NDArray[Any]


@overload
def tsed(
    generated: _Code,
    reference: _Code,
    language: str,
    *,
    leaves: bool = ...,
    insert: Any = ...,
    delete: Any = ...,
    rename: Any = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> float: ...


@overload
def tsed(
    generated: _Codes,
    reference: _Codes,
    language: str,
    *,
    leaves: bool = ...,
    insert: Any = ...,
    delete: Any = ...,
    rename: Any = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> NDArray[np.float64]: ...


@overload  # another collection
def tsed(
    generated: Any,
    reference: Any,
    language: str,
    *,
    leaves: bool = ...,
    insert: Any = ...,
    delete: Any = ...,
    rename: Any = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> Any: ...


def tsed(
    generated: Any,
    reference: Any,
    language: str,
    *,
    leaves: bool = False,
    insert: Any = 1.0,
    delete: Any = 1.0,
    rename: Any = 1.0,
    n_jobs: int | None = 1,
    progress: bool | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute TSED, the tree similarity of edit distance of source code (Song et al. 2024).

    TSED compares the syntax tree of generated code with that of reference code. The score is from 0 to 1, and 1
    for equal trees.

    Parameters
    ----------
    generated, reference : str, or list of str
        Source code: the text itself, not the name of a file. Pass two lists to score many pairs.
    language : str
        Name of the language, as in `treelet.read_code`: ``"python"``, ``"java"`` and so on.
    leaves : bool, default False
        Whether texts count. By default, a tree has only the kinds of nodes, so ``a + b`` and ``c - 1.5`` differ
        in one node. With True, names, literals, operators, keywords and punctuation are nodes, too.
    insert, delete : float or mapping from labels to floats, default 1.0
        Cost of inserting a node of the reference, or of deleting a node of the generated code, as in
        `treelet.EditDistance`.
    rename : float, callable or word vectors, default 1.0
        Cost of renaming a node, as in `treelet.EditDistance`. Labels are kinds of nodes, such as
        ``"for_statement"``, and, with `leaves`, texts.
    n_jobs : int, default 1
        Number of threads for lists; -1 for one per core. Scores do not depend on it.
    progress : bool, optional
        Show progress on standard error. Default: as in `treelet.config_context`.

    Returns
    -------
    float or ndarray
        The score of the pair, or one score per pair of the lists.

    Raises
    ------
    TreeletError
        If tree-sitter or the grammar of the language is not installed (extra ``code``).

    Notes
    -----
    TSED is max(0, 1 − d / n), where d is the edit distance of two trees and n the number of nodes of the larger one.
    The trees are those of tree-sitter, for Python, too: named nodes with their kinds as labels, comments included.

    Code with syntax errors is scored, not refused. tree-sitter marks what it cannot read as ``ERROR``, and a token
    that it had to add as ``MISSING``. Both are nodes, so damaged code never has the tree of valid code. Generated
    code that is None scores 0.

    A pair of a list that takes too much time or memory has the score NaN, and a warning names it. A single pair
    raises the error instead.

    References
    ----------
    Yewei Song, Cedric Lothritz, Daniel Tang, Tegawendé F. Bissyandé and Jacques Klein (2024). Revisiting code
    similarity evaluation with abstract syntax tree edit distance. ACL 2024, short papers.

    Examples
    --------
    >>> from treelet.metrics import tsed
    >>> reference = "def area(r):\n    return 3 * r ** 2\n"
    >>> round(tsed("def area(radius):\n    return 3 * radius\n", reference, "python"), 4)
    0.8333
    >>> tsed([reference, "def area(r:\n    return 3 * r ** 2\n"], [reference, reference], "python")
    array([1. , 0.5])
    """
    from treelet.edits import EditDistance  # other measures do not need the kernels that this loads

    check_boolean("leaves", leaves, of="tsed")
    distance = EditDistance(insert, delete, rename)
    grammar = find_language(str(language), "").grammar
    resources = Resources.of(n_jobs, progress=progress, owner="tsed")
    errors: dict[str, str] = {}
    score = partial(_score, partial(_nodes, grammar, leaves), distance, errors)
    pair = {"generated": generated, "reference": reference}
    scores = scores_of(score, pair, _is_code, "source code", "TSED", resources)
    if errors:
        some = [errors[place] for place in sorted(errors, key=lambda place: (len(place), place))[:3]]
        listed = " ".join(some) + (" ..." if len(errors) > len(some) else "")
        warnings.warn(
            f"{len(errors):,} of {len(np.atleast_1d(scores)):,} pairs have no score (NaN). {listed}",
            TreeletWarning,
            stacklevel=user_level(),
        )
    return scores


def _is_code(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes))


def _score(
    read: Any, distance: EditDistance, errors: dict[str, str], generated: Any, reference: Any, place: str
) -> float:
    for name, code in (("generated", generated), ("reference", reference)):
        if not _is_code(code) or (code is None and name == "reference"):
            raise InputTypeError(
                f"{place.capitalize()}{name!r} is {article(type(code).__name__)}, but source code is needed. Pass it as a string."
            )
    if generated is None:
        return 0.0
    try:
        return _similarity(read(generated, f"{place}'generated'"), read(reference, f"{place}'reference'"), distance)
    except TreeletError as error:
        if not place:
            raise
        errors[place] = f"{place.removesuffix(' of ').capitalize()}: {error}"
        return math.nan


def _similarity(a: tuple[list[str], list[int]], b: tuple[list[str], list[int]], distance: EditDistance) -> float:
    """Return 1 − distance / larger size, at least 0, of two trees: labels and numbers of children, parents first."""
    from treelet.edits.distance import check_sizes, distance_of

    if a == b:
        return 1.0
    costs = distance._costs()
    check_sizes(len(a[0]), len(b[0]), costs.cell)

    def native(_: dict[str, int], store: Any, roots: NDArray[np.int32]) -> _core.EditCosts:
        first, second = (Treebank.from_columns(Columns(store, root)) for root in (roots[:1], roots[1:]))
        return costs.native(first, second)

    return max(0.0, 1 - distance_of(a, b, native) / max(len(a[0]), len(b[0])))


def _nodes(grammar: Any, leaves: bool, code: str | bytes, name: str) -> tuple[list[str], list[int]]:
    """Return the labels and the numbers of children of the nodes of a text, parents first."""
    text = code.encode("utf-8", "surrogatepass") if isinstance(code, str) else code
    cursor = root_node(text, grammar, text_source(text, name)).walk()
    labels: list[str] = []
    arity: list[int] = []
    above: list[int] = []  # the nodes on the path to the cursor; a node that is left out has the number of its parent

    def add(label: str) -> int:
        if above:
            arity[above[-1]] += 1
        labels.append(label)
        arity.append(0)
        return len(labels) - 1

    while True:
        node = cursor.node
        number = above[-1] if above else 0
        if node.is_missing:
            number = add("MISSING")
        elif node.is_named or leaves or not above:
            number = add(node.type)
        inside = cursor.goto_first_child()
        if inside:
            above.append(number)
            continue
        if leaves and node.is_named and node.end_byte > node.start_byte:
            above.append(number)
            add(text[node.start_byte : node.end_byte].decode("utf-8", "replace"))
            above.pop()
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return labels, arity
            above.pop()
