"""What is asked of a function of two examples as a whole: its matrix, and before that what the matrix will cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from treelet.gram.cost import Cost

Vector = NDArray[np.float64]


class Asked(ABC):
    """The part of a kernel, or of a distance, that is about whole matrices."""

    @abstractmethod
    def coerce(self, X: Any) -> Any:
        """The data in the form that this function works on: something with a length that can be sliced."""

    def _inner(self) -> list[Any]:
        """The functions that this one is made of."""
        found = self.get_params(deep=False).values() if hasattr(self, "get_params") else [getattr(self, "kernel", None)]
        return [value for value in found if isinstance(value, Asked)]

    def row_pairs(self, X: Any, Y: Any | None = None) -> Vector:
        """How many pairs of parts each row of the matrix compares: those that match; without Y in columns up to the diagonal.

        Estimated from counts, before anything is computed. A kernel that says nothing of itself costs what the kernels within
        it do, or one pair a value.
        """
        inner = self._inner()
        if not inner:
            n, m = len(X), len(X if Y is None else Y)
            return np.arange(1.0, n + 1) if Y is None else np.full(n, float(m))
        parts = [kernel.row_pairs(X, Y) for kernel in inner]
        total: Vector = np.sum(parts, axis=0)
        return total

    def self_pairs(self, X: Any) -> Vector:
        """Likewise, to compare each example with itself alone."""
        inner = self._inner()
        return np.sum([kernel.self_pairs(X) for kernel in inner], axis=0) if inner else np.ones(len(X))

    def _with_self_pairs(self, X: Any, Y: Any | None) -> Vector:
        """`row_pairs` where the self-values of all examples are needed, too."""
        rows = Asked.row_pairs(self, X, Y)
        for kernel in self._inner():
            rows = rows + kernel.self_pairs(X)
            if Y is not None and len(rows):
                rows = rows + kernel.self_pairs(Y).sum() / len(rows)
        return rows

    def cost(
        self, X: Any, Y: Any | None = None, *, n_jobs: int | None = 1, memory: int | float | str | None = None
    ) -> Cost:
        """What the matrix of X with Y will cost, estimated in a small part of the time that it takes.

        Parameters
        ----------
        X, Y : collections
            As for the matrix.
        n_jobs, memory
            As for `treelet.gram`: memory is what more threads take more of.

        Returns
        -------
        Cost
            With `pairs`, of parts that match and so are compared; `bytes`, what the work takes at most besides the examples and the
            result; and `result`, the bytes of the result.

        Notes
        -----
        A row's distinct parts are compared with the distinct parts of all columns (of a matrix of X with itself: of those up to the
        row): pairs are counted by productions (SST, forests), labels (PT), tags, equal subtrees (ST), windows with one middle (locality),
        places (subsequences) or features (vectors), with the pairs of children that match, and times the levels of a limited depth. Many
        of them cost next to nothing, since they have a constant value; how many pairs there are in a second depends on the
        kernel and the machine. See docs/scale.md.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> cost = SubsetTree().cost(["(S (NP (D the) (N dog)) (VP (V barks)))", "(S (NP (D a) (N dog)) (VP (V barks)))"])
        >>> cost.pairs, cost.result
        (27, 32)
        >>> SubsetTree().cost(["(A " * 1000 + "x" + ")" * 1000]).pairs
        1994007
        """
        from treelet.gram.cost import cost_of  # this and `_matrix`: the one import to the right

        return cost_of(self, X, Y, n_jobs=n_jobs, memory=memory)  # type: ignore[arg-type]  # what asks is Pairwise

    def _matrix(self, X: Any, Y: Any | None, **options: Any) -> NDArray[Any]:
        from treelet.gram import gram  # a kernel is called like a function

        matrix: NDArray[Any] = gram(self, X, Y, **options)  # type: ignore[call-overload]
        return matrix
