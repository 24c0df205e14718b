"""Examples in, kernel values out: the bridge to everything in scikit-learn that takes a precomputed kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix
from treelet.learn.base import KernelEstimator, atomic_fit
from treelet.learn.encoding import register


@register
class KernelMatrix(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turns examples into their kernel values with the training examples.

    As the first step of a pipeline it feeds whatever takes ``kernel="precomputed"`` or ``affinity="precomputed"``.
    Cross-validation then splits the examples themselves, not the matrix, so nothing about test rows leaks. Columns are
    called ``kernelmatrix0``, ``kernelmatrix1``, ... after the training examples (``get_feature_names_out``), also in a
    DataFrame (``set_output(transform="pandas")``).

    Parameters
    ----------
    kernel : Kernel, optional
        By default ``SubsetTree().normalized()``.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    X_fit_ : collection
        The training examples, as the kernel coerces them.
    kernel_ : Kernel
        A copy of the kernel as it was when fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from treelet import KernelMatrix, SubsetTree
    >>> model = make_pipeline(KernelMatrix(SubsetTree()), SVC(kernel="precomputed"))
    >>> model.fit(["(NP (D a) (N dog))", "(VP (V sleep))"], ["thing", "deed"]).predict(["(NP (D a) (N cat))"]).tolist()
    ['thing']
    """

    _fitted: ClassVar[tuple[str, ...]] = ("X_fit_", "kernel_")
    _smaller = "take fewer examples; treelet.gram(..., out='K.npy') makes such a matrix in a file"

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the training examples."""
        self._check_resources()
        kernel = self._own_kernel()
        self.X_fit_, self.kernel_ = self._kept_examples(kernel, X), kernel
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Matrix:
        """The matrix of the training examples, of which only half is computed."""
        self.fit(X, y)
        return self._gram(self.kernel_, self.X_fit_)

    def transform(self, X: Any) -> Matrix:
        """The matrix of examples x training examples."""
        check_is_fitted(self)
        return self._gram(self.kernel_, self.kernel_.coerce(X), self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        """How many columns there are, for scikit-learn to name them."""
        return len(self.X_fit_)

    def _check_fitted_state(self) -> None:
        if not isinstance(getattr(self, "kernel_", None), Kernel):
            raise ValueError("the kernel is missing")
        self.X_fit_ = self._examples(self.kernel_, self.X_fit_)
