"""Kernels for semantic roles and relations, on trees or forests, and tables of examples for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from treelet.checks import is_number, wrong
from treelet.cuts import ForestIndex, argument_forest, constituent_forest, enclosed_forest, path_forest
from treelet.cuts.forest_index import NodeLike
from treelet.kernels import ForestKernel, Kernel, Linear, On, SubsetTree
from treelet.structures import Forest, ForestBank, Table
from treelet.structures.spans import Span

_A = TypeVar("_A")
_B = TypeVar("_B")


def hybrid(
    theta: float = 0.5, lam: float = 0.4, *, forest: bool = False, leaves: bool = False, normalized: bool = True
) -> Kernel:
    r"""Return the hybrid kernel for semantic roles of Che et al. (2006): a path kernel plus a constituent kernel.

    .. math:: K = \theta K_{path} + (1 - \theta) K_{constituent}

    Parameters
    ----------
    theta : float, default 0.5
        Weight of the path kernel, in [0, 1]. The default gives both kernels the same weight and is not
        tuned for any data.
    lam : float, default 0.4
        Decay per production, in (0, 1]. 0.4 was the best value for subset trees in Moschitti (2006).
    forest : bool, default False
        Whether the columns contain forests. If so, `ForestKernel` replaces `SubsetTree`.
    leaves : bool, default False
        Whether equal words match even if their tags differ, as in `SubsetTree`.
    normalized : bool, default True
        Whether to normalize both kernels. Otherwise a large constituent dominates its path.

    Returns
    -------
    Kernel
        A kernel on examples with the columns ``"path"`` and ``"constituent"``.

    Examples
    --------
    >>> from treelet.tasks import hybrid
    >>> hybrid()
    0.5 * On('path', SubsetTree(lam=0.4)).normalized() + 0.5 * On('constituent', SubsetTree(lam=0.4)).normalized()
    >>> first = {"path": "(VP (V-P saw) NP-ARG)", "constituent": "(NP (D a) (N man))"}
    >>> second = {"path": "(VP (V-P saw) NP-ARG)", "constituent": "(NP (D a) (N cat))"}
    >>> hybrid(lam=1)([first, second])
    array([[1.  , 0.75],
           [0.75, 1.  ]])
    """
    _check_weight("theta", theta)
    path, constituent = (_tree(name, lam, forest, leaves, normalized) for name in ("path", "constituent"))
    return float(theta) * path + (1 - float(theta)) * constituent


def composite(
    alpha: float | None = None,
    degree: int = 2,
    lam: float = 0.4,
    *,
    forest: bool = False,
    leaves: bool = False,
    normalized: bool = True,
) -> Kernel:
    r"""Return the composite kernel for relations of Zhang et al. (2006): entity features plus a tree kernel.

    .. math:: K = \alpha\, (K_{features} + 1)^{degree} + (1 - \alpha) K_{tree}

    and :math:`\alpha K_{features} + (1 - \alpha) K_{tree}` with `degree` 1.

    Parameters
    ----------
    alpha : float, optional
        Weight of the feature kernel, in [0, 1]. Default: 0.4 with degree 1; 0.23 with a higher degree, at
        which the feature kernel has larger values.
    degree : int, default 2
        Degree of the polynomial, at least 1. 1 is the linear combination; 2 adds pairs of features.
    lam : float, default 0.4
        Decay per production of the tree kernel, in (0, 1].
    forest : bool, default False
        Whether the column ``"tree"`` contains forests. If so, `ForestKernel` replaces `SubsetTree`.
    leaves : bool, default False
        Whether equal words match even if their tags differ, as in `SubsetTree`.
    normalized : bool, default True
        Whether to normalize both kernels. Features are normalized before the polynomial expansion.

    Returns
    -------
    Kernel
        A kernel on examples with the columns ``"features"`` and ``"tree"``.

    Notes
    -----
    The two default weights, degree 2 and decay 0.4 are the values commonly used with this kernel. They
    have not been compared with the text of the paper, and they may not suit other data. Choose them by
    cross-validation.

    Examples
    --------
    >>> from treelet.tasks import composite
    >>> composite(degree=1)
    0.4 * On('features', Linear()).normalized() + 0.6 * On('tree', SubsetTree(lam=0.4)).normalized()
    >>> first = {"tree": "(NP (E1 (N man)) (E2 (N bank)))", "features": {"type 1=PER": 1, "type 2=ORG": 1}}
    >>> second = {"tree": "(NP (E1 (N man)) (E2 (N bank)))", "features": {"type 1=PER": 1, "type 2=LOC": 1}}
    >>> composite(alpha=0.2)([first, second]).round(3)
    array([[1.6 , 1.25],
           [1.25, 1.6 ]])
    """
    if alpha is None:
        alpha = 0.4 if degree == 1 else 0.23  # the values commonly used
    _check_weight("alpha", alpha)
    features: Kernel = On("features", Linear())
    if normalized:
        features = features.normalized()
    if degree != 1:
        features = features.polynomial(degree=degree, coef0=1.0)
    return float(alpha) * features + (1 - float(alpha)) * _tree("tree", lam, forest, leaves, normalized)


def _tree(column: str, lam: float, forest: bool, leaves: bool, normalized: bool) -> Kernel:
    kernel = On(column, ForestKernel(lam, leaves) if forest else SubsetTree(lam, leaves=leaves))
    return kernel.normalized() if normalized else kernel


def _check_weight(name: str, value: object) -> None:
    if not is_number(value, 0, 1):
        raise wrong(name, "a number in [0, 1]", value)


# --- examples ---------------------------------------------------------------------------------------------------


def role_table(
    instances: Iterable[tuple[Forest | ForestIndex, int, NodeLike]], *, mark: bool = True, argument: bool = False
) -> Table:
    """Return predicates and arguments as a table with the columns ``"path"`` and ``"constituent"``, for `hybrid`.

    Parameters
    ----------
    instances : iterable of (forest, predicate, node)
        Arguments of `path_forest`. Consecutive instances of the same forest share one index.
    mark : bool, default True
        Whether the labels of the argument and the predicate are marked in paths.
    argument : bool, default False
        Whether to add a column ``"argument"`` with the results of `argument_forest`.

    Returns
    -------
    Table
        One row per instance.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks import role_table
    >>> forest = Forest.from_trees([("(S (N John) (VP (V saw) (N Mary)))", 1)])
    >>> role_table([(forest, 1, (0, 1)), (forest, 1, (2, 3))])
    <Table: 2 rows of 'path', 'constituent'>
    """
    columns: dict[str, list[Forest]] = {"path": [], "constituent": []}
    if argument:
        columns["argument"] = []
    for index, predicate, node in _indexed(instances):
        columns["path"].append(path_forest(index, predicate, node, mark=mark))
        columns["constituent"].append(constituent_forest(index, node))
        if argument:
            columns["argument"].append(argument_forest(index, predicate, node, mark=mark))
    return Table({name: ForestBank(forests) for name, forests in columns.items()})


def relation_table(
    instances: Iterable[tuple[Forest | ForestIndex, Span, Span]],
    features: Sequence[object] | None = None,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Table:
    """Return pairs of entities as a table with the columns ``"tree"`` and ``"features"``, for `composite`.

    Parameters
    ----------
    instances : iterable of (forest, first, second)
        Arguments of `enclosed_forest`. Consecutive instances of the same forest share one index.
    features : list of dict, optional
        Numeric features of each instance, for example from `treelet.cuts.indicators`. By default, there is
        no column ``"features"``.
    mark, labels
        As in `enclosed_forest`.

    Returns
    -------
    Table
        One row per instance.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks import relation_table
    >>> forest = Forest.from_trees([("(S (N John) (VP (V saw) (N Mary)))", 1)])
    >>> table = relation_table([(forest, (0, 1), (2, 3))], [{"type 1=PER": 1.0}])
    >>> print(table["tree"][0].best()[0])
    (S (E1 (N John)) (VP (V saw) (E2 (N Mary))))
    """
    forests = [
        enclosed_forest(index, first, second, mark=mark, labels=labels) for index, first, second in _indexed(instances)
    ]
    return Table({"tree": ForestBank(forests)} | ({} if features is None else {"features": features}))


def _indexed(instances: Iterable[tuple[Forest | ForestIndex, _A, _B]]) -> Iterator[tuple[ForestIndex, _A, _B]]:
    index: ForestIndex | None = None
    for forest, first, second in instances:
        if isinstance(forest, ForestIndex):
            index = forest
        elif index is None or index.forest is not forest:
            index = ForestIndex(forest)
        yield index, first, second
