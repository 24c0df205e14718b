"""The overlap of statements: how many statements two pieces of source code have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Vector
from treelet.kernels.values import to_logs
from treelet.structures.treebank import Treebank

_BLOCK = re.compile(
    r"(?:.*_)?(?:block|body|suite)|statements|.*_statements|(?:compound|body)_statement|statement_list|declaration_list|"
    r"field_declaration_list|do_group|do|then|begin|indented_cases|orelse|finalbody|handlers|cases"
)
_NOT_A_BLOCK = {"heredoc_body", "nowdoc_body", "macro_body", "record_pattern_body", "catch_block", "finally_block"}
_STATEMENT = re.compile(r".*_statement")
"""Kinds of nodes that are statements even if they are not in a block, as in ``if (x) return y;``."""
_SINGLE = {"break_statement", "continue_statement", "return_statement", "empty_statement", "debugger_statement"}
"""Statements that may have no child. All other statements with a kind of their own have some."""
_WRAPPER = "expression_statement"
"""In Rust, this node contains loops and conditions, which are statements themselves."""
_PARAMETERS = "parameters"
"""The end of the kind of a list of parameters."""
_FIELDS = {"body", "orelse"}
"""Fields of the module ast, which contain statements, or the expressions of a Lambda or IfExp."""
_PYTHON_STATEMENTS = {
    *(
        "FunctionDef",
        "AsyncFunctionDef",
        "ClassDef",
        "Return",
        "Delete",
        "Assign",
        "TypeAlias",
        "AugAssign",
        "AnnAssign",
    ),
    *("For", "AsyncFor", "While", "If", "With", "AsyncWith", "Match", "Raise", "Try", "TryStar", "Assert", "Import"),
    *("ImportFrom", "Global", "Nonlocal", "Expr", "Pass", "Break", "Continue"),
}
_FORM = "·"
"""The label of all leaves in the form of a statement."""
_OCCURRENCES = 20  # bits for the number of an occurrence
_COLUMNS = 1024  # per block
_ROWS, _PAIRS = 512, 1 << 18  # of a search, at a time
_ROUNDING = 1e-9

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Triples = tuple[Codes, Codes, Vector]


class _Statements(NamedTuple):
    """The statements of each tree of a bank, and their forms: the same with one label for all leaves.

    A code stands for a statement or a form and the number of its occurrence in the tree: the second ``x += 1`` has
    another code than the first one. Hence the number of common codes is the size of the intersections of two multisets
    of statements and of two multisets of forms.
    """

    store: _core.Store
    """The statements and forms as trees. Their node in a code is ``code >> 21``."""
    start: Codes
    """Where the codes of each tree start, and the end."""
    code: Codes
    """Codes of all trees, in ascending order within a tree."""

    def numbered(self) -> tuple[Codes, Codes, Vector, Vector]:
        """Return the different codes, in ascending order, their numbers in `code`, their weights, and those of the trees.

        The weight is the square root of the number of nodes, rounded up, so that sums are exact.
        """
        known, number = np.unique(self.code, return_inverse=True)
        node = known >> (_OCCURRENCES + 1)
        first = np.diff(node, prepend=-1) > 0
        sizes = _core.tree_sizes(self.store, node[first].astype(np.int32))[0]
        weight = np.ceil(np.sqrt(sizes))[np.cumsum(first) - 1]
        return known, number, weight, np.diff(np.concatenate([[0.0], np.cumsum(weight[number])])[self.start])

    @classmethod
    def of(cls, bank: Treebank, base: _core.Store | None = None) -> _Statements:
        """Return the statements of all trees. They have the same codes as in `base` if they occur there."""
        store, roots = bank.columns
        block, inner, begins = _kinds(store)
        headers, number = _headers(store, block | inner, base)
        forms, form = _headers(store, block | inner, headers, _FORM)
        return cls(forms, *_core.statement_codes(store, roots, begins.view(np.uint8), number, form, _OCCURRENCES))


def _kinds(store: _core.Store) -> tuple[Flags, Flags, Flags]:
    """Return which nodes are blocks and which are statements wherever they are, and which children begin a statement."""
    label, child, start = store.label, store.child, store.child_start
    arity = np.diff(start)
    parent = np.repeat(np.arange(len(label)), arity)
    texts = store.labels
    # Most labels are those of leaves, such as names and literals, and need no look.
    needed = set(np.unique(label[arity > 0]).tolist())
    labels = {
        number: text
        for number, text in enumerate(texts)
        if number in needed or text in _SINGLE or text in _PYTHON_STATEMENTS or text.endswith(_PARAMETERS)
    }

    def has(is_so: Callable[[str], Any]) -> Flags:
        flags = np.zeros(len(texts), np.bool_)
        flags[[number for number, text in labels.items() if is_so(text)]] = True
        return flags[label]

    block = has(lambda text: _BLOCK.fullmatch(text) and text not in _NOT_A_BLOCK) & (arity > 0)
    field = np.flatnonzero(block & has(_FIELDS.__contains__))
    block[field] = has(_PYTHON_STATEMENTS.__contains__)[child[start[field]]]
    inner = has(_STATEMENT.fullmatch) & ((arity > 0) | has(_SINGLE.__contains__))
    inner[parent[block[child]]] = True  # a node with blocks is a statement, wherever it is
    inner &= ~block
    wrapper = np.flatnonzero((arity == 1) & has(_WRAPPER.__eq__))
    block[wrapper] = inner[child[start[wrapper]]]
    inner[wrapper] &= ~block[wrapper]
    parameters = has(lambda text: text.endswith(_PARAMETERS))
    return block, inner, ~block[child] & ~parameters[child] & (block[parent] | inner[child])


def _is_bound(text: str) -> bool:
    """Return whether a label is a name that a function binds, as `treelet.read_code` writes it: $0, $1, ..."""
    return text.startswith("$") and text[1:].isdecimal()


def _headers(
    store: _core.Store, cut: Flags, base: _core.Store | None = None, leaf: str | None = None
) -> tuple[_core.Store, NDArray[np.int32]]:
    """Return a store of all nodes without the parts below them that are cut, and the number of each node there.

    If `leaf` is given, it is the label of all leaves below other nodes.
    """
    labels = ["$" if _is_bound(text) else text for text in store.labels]
    return _core.reduced_copy(store, cut.view(np.uint8), labels, base, leaf)


class _Statement(NamedTuple):
    """A statement of a tree; see `StatementOverlap.statements`.

    Attributes
    ----------
    number : int
        Equal statements have equal numbers.
    form : int
        Statements that differ only in their leaves, such as names and literals, have equal forms.
    nodes : ndarray of int
        Positions of its nodes in the tree, parents before children. Equal statements have equally many nodes.
    variables : ndarray of int
        For each node, k if its label is the bound name ``$k``, otherwise -1.
    """

    number: int
    form: int
    nodes: Codes
    variables: Codes


class _LocatedStatements:
    """The statements of each tree of a bank, with their nodes: ``located[i]`` is the list of those of tree i, in order."""

    def __init__(self, bank: Treebank) -> None:
        store, roots = bank.compact().columns
        block, inner, begins = _kinds(store)
        number, form = (_headers(store, block | inner, leaf=leaf)[1] for leaf in (None, _FORM))
        bound = np.array([int(text[1:]) if _is_bound(text) else -1 for text in store.labels] or [-1], np.int64)
        sizes = _core.tree_sizes(store, np.arange(len(store), dtype=np.int32))[0].astype(np.int64)
        present = np.flatnonzero(roots >= 0)
        length = np.zeros(len(roots), np.int64)
        length[present] = sizes[roots[present]]
        self._start = np.concatenate([[0], np.cumsum(length)])
        owner = np.empty(self._start[-1], np.int64)  # the node that begins the statement of each node; -1 for blocks
        numbers, forms, self._variable = (np.empty_like(owner) for _ in range(3))
        child, child_start, arity = store.child, store.child_start, np.diff(store.child_start)
        # One level of all trees at a time: positions in the arrays above, nodes of the store, and statements
        at, node = self._start[:-1][present], roots[present].astype(np.int64)
        first = at
        while len(at):
            owner[at] = np.where(block[node], -1, first)
            numbers[at], forms[at], self._variable[at] = number[node], form[node], bound[store.label[node]]
            count = arity[node]
            row = np.repeat(np.arange(len(at)), count)
            before = np.cumsum(count) - count
            slot = child_start[node][row] + np.arange(len(row)) - before[row]
            node = child[slot].astype(np.int64)
            past = np.cumsum(sizes[node]) - sizes[node]
            at = at[row] + 1 + past - past[before[row]]
            first = np.where(begins[slot], at, first[row])
        self._nodes = np.argsort(owner, kind="stable")
        self._nodes = self._nodes[np.searchsorted(owner[self._nodes], 0) :]
        self._begin = np.flatnonzero(np.r_[True, np.diff(owner[self._nodes]) != 0][: len(self._nodes)])
        heads = owner[self._nodes[self._begin]]
        self._number, self._form = numbers[heads], forms[heads]
        self._first = np.searchsorted(heads, self._start)
        self._begin = np.append(self._begin, len(self._nodes))

    def __len__(self) -> int:
        return len(self._start) - 1

    @property
    def sizes(self) -> Codes:
        """The number of statements of each tree."""
        return np.diff(self._first)

    def __getitem__(self, tree: int) -> list[_Statement]:
        cuts = self._begin[self._first[tree] : self._first[tree + 1] + 1].tolist()
        parts = [self._nodes[begin:end] for begin, end in pairwise(cuts)]
        start = self._start[tree]
        return [
            _Statement(number, form, part - start, self._variable[part])
            for number, form, part in zip(*self._numbers(tree), parts, strict=True)
        ]

    def _numbers(self, tree: int) -> tuple[list[int], list[int]]:
        """Return the numbers and the forms of the statements of a tree."""
        here = slice(self._first[tree], self._first[tree + 1])
        return self._number[here].tolist(), self._form[here].tolist()

    def common(self, first: int, second: int) -> tuple[int, int]:
        """Return how many statements two trees have in common, and how many more have the same form."""
        pairs = zip(self._numbers(first), self._numbers(second), strict=True)
        same, alike = ((Counter(some) & Counter(others)).total() for some, others in pairs)
        return same, alike - same


class _Columns:
    """The statements of the columns, as sparse matrices of statement × column."""

    def __init__(self, bank: Treebank) -> None:
        from scipy.sparse import csr_matrix

        self.statements = _Statements.of(bank)
        self.known, number, self.weight, self.sizes = self.statements.numbered()
        start, shape = self.statements.start, (len(bank), len(self.known))
        self.matrix = csr_matrix((np.ones(len(number)), number, start), shape)
        self.weighted = csr_matrix((self.weight[number], number, start), shape)

    def rows(self, bank: Treebank) -> tuple[Any, Vector]:
        """Return the statements of other trees that occur in the columns, as a sparse matrix, and the weights of all."""
        from scipy.sparse import csr_matrix

        statements = _Statements.of(bank.compact(), self.statements.store)
        at = np.searchsorted(self.known, statements.code)
        common = np.append(self.known, -1)[at] == statements.code
        start = np.concatenate([[0], np.cumsum(common)])[statements.start]
        matrix = csr_matrix((np.ones(start[-1]), at[common], start), (len(bank), len(self.known)))
        return matrix, statements.numbered()[-1]


def _reaching(columns: _Columns, matrix: Any, sizes: Vector, threshold: float) -> Iterator[Triples]:
    """Yield the rows, columns and values of all pairs that reach a positive threshold, some rows at a time.

    If the overlap of A reaches the threshold t with any B, the weight of common statements and forms is at least
    t / (2 - t) of the weight of A. In a common order, the first one that A and B share is followed by the others. So it is
    among those of A, and of B, that have at least this weight together with all that follow. With rare statements first,
    few pairs are left to compare.
    """
    sides = (columns.matrix,) if matrix is columns.matrix else (columns.matrix, matrix)
    rank = np.empty(len(columns.known), np.int64)
    order = np.argsort(columns.matrix.getnnz(axis=0), kind="stable")
    rank[order], by_rank = np.arange(len(order)), columns.weight[order]
    first = []
    for side, size in zip(sides, (columns.sizes, sizes), strict=False):
        ordered = side.copy()
        ordered.indices = rank[side.indices].astype(side.indices.dtype)
        ordered.has_sorted_indices = False
        ordered.sort_indices()
        # Statements of a row that do not occur in the columns are missing here, but count in its weight.
        before = np.concatenate([[0.0], np.cumsum(by_rank[ordered.indices])])
        following = np.repeat(before[ordered.indptr[1:]], np.diff(ordered.indptr)) - before[:-1]
        kept = following >= np.repeat(size * threshold / (2 - threshold) - _ROUNDING, np.diff(ordered.indptr))
        start = np.concatenate([[0], np.cumsum(kept)])[ordered.indptr]
        first.append(type(side)((np.ones(start[-1], np.int8), ordered.indices[kept], start), side.shape))
    other = first[0].T.tocsr()
    for begin in range(0, len(sizes), _ROWS):
        _core.check()
        candidates = (first[-1][begin : begin + _ROWS].astype(bool) @ other.astype(bool)).tocoo()
        rows, others = candidates.row.astype(np.int64) + begin, candidates.col.astype(np.int64)
        for piece in range(0, len(rows), _PAIRS):
            row, column = rows[piece : piece + _PAIRS], others[piece : piece + _PAIRS]
            common = matrix[row].multiply(columns.matrix[column]) @ columns.weight
            values = 2 * common / (sizes[row] + columns.sizes[column])
            kept = values >= threshold - _ROUNDING
            yield row[kept], column[kept], values[kept]


class _OverlapEvaluator(Evaluator):
    """The overlap of statements, bound to rows and columns."""

    def __init__(self, kernel: StatementOverlap, rows: Treebank | None, columns: Treebank, logs: bool) -> None:
        self.kernel, self.logs = kernel, logs
        self.n_rows, self.n_columns = len(columns if rows is None else rows), len(columns)
        self._given, self._columns = rows, columns
        self._ready: tuple[_Columns, Any, Vector] | None = None

    def ready(self, threads: int = 1) -> Self:
        if self._ready is None:
            columns = self._columns.indexed("statements", lambda: _Columns(self._columns))
            if self._given is None:
                self._ready = columns, columns.matrix, columns.sizes
            else:
                self._ready = (columns, *columns.rows(self._given))
        return self

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        self.ready()
        assert self._ready is not None
        columns, matrix, sizes = self._ready
        rows = matrix[begin:end].T.tocsr()
        for start in range(0, out.shape[1], _COLUMNS):
            stop = min(start + _COLUMNS, out.shape[1])
            common = (columns.weighted[start:stop] @ rows).toarray().T
            both = sizes[begin:end, None] + columns.sizes[None, start:stop]
            np.divide(2 * common, both, out=out[:, start:stop], where=both > 0)
            out[:, start:stop][both == 0] = 0
        if self.logs:
            to_logs(out)


class StatementOverlap(Kernel):
    r"""Overlap of statements: the share of statements that two functions, classes or files have in common.

    Read source code with ``treelet.read_code(..., identifiers="anonymous")``, so that the names of variables do not
    matter. The order of statements does not matter either. A statement that is the same except for names or literals
    counts half, and larger statements have more weight.

    Notes
    -----
    A statement is the node of a statement without the blocks inside it. For example, the header of a loop is one
    statement, and each statement of its body is another one. All names that a function binds count as the same name.
    Other names, attributes and literals must be equal. The form of a statement is the same tree with one label for all
    leaves. Let A and B be the multisets of the statements and of their forms, and let a statement or form of s nodes
    have the weight :math:`w = \lceil\sqrt{s}\rceil`. The kernel is the weighted Dice coefficient

    .. math:: K(a, b) = \frac{2\, w(A \cap B)}{w(A) + w(B)}

    It is positive semi-definite, 1 for equal functions, and 0 for functions without a common form. The function
    itself is one of its statements, with its parameters but without its body. A tree that is not source code consists
    of one statement. A missing tree has none, and all its values are 0.

    Blocks and statements are recognized by the labels that `treelet.read_code` gives to nodes, in all its languages.

    See Also
    --------
    treelet.EditDistance : counts the nodes to insert, delete or rename.
    treelet.families : groups of similar functions.

    Examples
    --------
    >>> import io
    >>> import treelet as tl
    >>> first = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
    >>> second = "def average(xs):\n    s = sum(xs)\n    print(s)\n    return s / len(xs)\n"
    >>> code = tl.read_code([io.StringIO(first), io.StringIO(second)], language="python", identifiers="anonymous")
    >>> tl.StatementOverlap()(code).round(2)
    array([[1.  , 0.86],
           [0.86, 1.  ]])
    """

    def __init__(self) -> None:
        pass

    def coerce(self, X: Any) -> Treebank:
        return Treebank.of(X)

    def with_cached_index(self, X: Any) -> Treebank:
        return self.coerce(X).with_cached_index()

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> _OverlapEvaluator:
        rows = self.coerce(X)
        return (
            _OverlapEvaluator(self, None, rows, logs)
            if Y is None
            else _OverlapEvaluator(self, rows, self.coerce(Y), logs)
        )

    def reaching(self, X: Any, Q: Any | None, threshold: float) -> Iterator[Triples] | None:
        if threshold <= 0:
            return None
        evaluator = self.evaluator(X) if Q is None else self.evaluator(Q, X)
        evaluator.ready()
        assert evaluator._ready is not None
        return _reaching(*evaluator._ready, threshold)

    def statements(self, X: Any) -> _LocatedStatements:
        r"""Return the statements of each tree, in the order of the source, with the positions of their nodes.

        With ``bank.places.node_lines(i)``, the positions give the lines of each statement.

        Examples
        --------
        >>> import io
        >>> import treelet as tl
        >>> source = io.StringIO("def mean(values):\n    total = sum(values)\n    return total / len(values)\n")
        >>> code = tl.read_code(source, language="python", identifiers="anonymous")
        >>> lines = code.places.node_lines(0)
        >>> [sorted({*lines[statement.nodes].tolist()}) for statement in tl.StatementOverlap().statements(code)[0]]
        [[1], [2], [3]]
        """
        return _LocatedStatements(self.coerce(X))

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        values = (self.coerce(X).columns.roots >= 0).astype(np.float64)
        if logs:
            to_logs(values)
        return values

    def needs(self, X: Any, enough: int = 0) -> Needs:
        bank = self.coerce(X)
        store, roots = bank.columns
        nodes = _core.tree_sizes(store, roots[roots >= 0])[0].sum()
        # Per distinct subtree, its statement and its form. A statement has 20 nodes or more on average, and takes 8 bytes for
        # its code, 12 in each of two matrices, and as much again while they are made; and so does its form.
        return Needs(int(4 * nodes) + 96 * len(store.label), 0)
