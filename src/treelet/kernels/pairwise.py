"""Functions of two examples, which are kernels or distances, and the evaluators that compute them.

The function defines the mathematics. `Pairwise.evaluator` binds it to data, and the evaluator fills
horizontal strips of the matrix from any thread. `treelet.gram` decides which strips are computed,
in which order and into which memory.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet.checks import in_words, some_of, suggestion
from treelet.errors import InputTypeError, KernelOverflowError, ParameterError
from treelet.kernels.tuning import unchanged_on_error

if TYPE_CHECKING:
    from treelet.device.launching import Device

# --- errors for parameter names that a kernel does not have -----------------------------------------------------------

_SYNONYMS = {"λ": "lam", "decay": "lam", "decay_factor": "lam", "decay_rate": "lam"}


def _meant(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return a question that names the closest known parameter, with a space before, or an empty string.

    The prefix stands before the suggested name.

    Python reserves the word ``lambda``, so every way to avoid it leads to ``lam``.

    >>> _meant("lambda_", ["lam", "mu"]), _meant("decay", ["lam", "mu"]), _meant("m", ["lam", "mu"]), _meant("x", ["lam"])
    (" Did you mean 'lam'?", " Did you mean 'lam'?", " Did you mean 'mu'?", '')
    """
    names = list(known)
    plain = name.strip("_").lower()
    synonym = "lam" if get_close_matches(plain, ["lambda"], cutoff=0.75) else _SYNONYMS.get(plain)
    hint = f" Did you mean {synonym!r}?" if synonym in names else suggestion(name, names)
    return hint.replace("'", f"'{prefix}", 1)


def _unknown_parameter(owner: str, name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the message for an unknown name: the closest parameter if there is one, else all of them.

    >>> _unknown_parameter("SubsetTree", "lambda_", ["lam", "leaves"])
    "SubsetTree has no parameter 'lambda_'. Did you mean 'lam'?"
    >>> _unknown_parameter("SubsetTree", "sigma", ["lam", "leaves"])
    "SubsetTree has no parameter 'sigma'. The parameters are 'lam', 'leaves'."
    >>> _unknown_parameter("Linear", "degree", [])
    "Linear has no parameter 'degree'. Linear takes no parameters."
    >>> _unknown_parameter("KernelSVC", "lambda", ["lam", "leaves"], prefix="kernel__")
    "KernelSVC has no parameter 'kernel__lambda'. Did you mean 'kernel__lam'?"
    """
    names = list(known)
    listed = (
        f"The {'parameters are' if len(names) > 1 else 'only parameter is'} {some_of(prefix + own for own in names)}."
    )
    none = "This kernel takes no parameters." if prefix else f"{owner} takes no parameters."
    hint = _meant(name, names, prefix) or f" {listed if names else none}"
    return f"{owner} has no parameter '{prefix}{name}'.{hint}"


def _with_suggestions(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that reports an unknown keyword with a suggestion.

    The signature stays the same for `inspect.signature`, on which scikit-learn's ``clone`` and ``get_params`` rely. A
    successful call only pays for one more function call.
    """

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError:
            parameters = list(inspect.signature(init).parameters.values())[1:]
            known = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
            unknown = [name for name in kwargs if name not in known]
            if not unknown or len(known) < len(parameters):  # the error is about something else
                raise
            raise InputTypeError(_unknown_parameter(type(self).__name__, unknown[0], known)) from None

    return checked


# --- functions of two examples ----------------------------------------------------------------------------------------

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class Needs(NamedTuple):
    """Upper bounds in bytes: an index over some columns, and the work of one thread with it."""

    index: int  # type: ignore[assignment]  # tuples have a method of this name
    thread: int
    scratch: int = 0
    """Number of additional float64 matrices of the size of a strip, per thread."""

    def with_scratch(self) -> Needs:
        """Return the same needs plus one more scratch matrix."""
        return self._replace(scratch=self.scratch + 1)


class CachedIndex(NamedTuple):
    """An index that a bank caches for a function, and how the index is converted to arrays and back."""

    keys: tuple[Hashable, ...]
    """Keys under which the bank caches the index."""
    make: Callable[[], Any]
    arrays: Callable[[Any], list[NDArray[Any]]]
    restored: Callable[[list[NDArray[Any]]], Any]


class Evaluator(ABC):
    """A kernel bound to rows and columns.

    Several threads may call `fill` at once. With `halves`, which requires rows and columns to be
    the same data, row ``i`` gets columns ``0..i``, and ``out`` has ``end`` columns. Values to the
    right of the diagonal are then undefined. A logarithmic evaluator writes log K (-inf for 0)
    instead of K.
    """

    n_rows: int
    n_columns: int

    @abstractmethod
    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        """Write rows ``begin..end`` of the matrix into ``out``."""

    def ready(self, threads: int = 1) -> Self:
        """Build the index now, before several threads call `fill`, instead of with the first strip."""
        inner = [self.inner] if hasattr(self, "inner") else []
        for evaluator in [*inner, *getattr(self, "parts", [])]:
            evaluator.ready(threads)
        return self

    def on(self, device: Device) -> Evaluator:
        """Return an evaluator for arrays of a device. The default computes on the CPU and copies."""
        return _CopiedEvaluator(self, device)

    def copied_kernels(self) -> list[Any]:
        """Return the kernels whose values are computed on the CPU and copied to a device, except those that cost nothing."""
        inner = [self.inner] if hasattr(self, "inner") else getattr(self, "parts", [])
        return [kernel for evaluator in inner for kernel in evaluator.copied_kernels()]

    xp: Any = np
    """The array module of the arrays that are filled: NumPy, or CuPy on a device."""
    rounds: bool = False
    """Whether ``out`` may also be float32. Values are then rounded when they are written."""
    cheap: bool = False
    """Whether computing the values takes no longer than writing them."""
    first_column: int = 0
    """Number of the first column in error messages, if the columns are a block of a larger matrix."""
    memory: float = math.inf
    """Memory limit of all threads, in bytes."""


class _CopiedEvaluator(Evaluator):
    """Computes values on the CPU and copies them to a device."""

    def __init__(self, inner: Evaluator, device: Device) -> None:
        self.inner, self.device, self.xp = inner, device, device.xp
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

    def fill(self, begin: int, end: int, out: Any, halves: bool) -> None:
        values = np.zeros(out.shape)
        self.inner.fill(begin, end, values, halves)
        out[...] = self.device.array(values)

    def copied_kernels(self) -> list[Any]:
        return [] if self.inner.cheap else [getattr(self.inner, "kernel", self.inner)]


class Pairwise(ABC):
    """A function of two examples, from whose values `treelet.gram` builds matrices.

    Parameters follow scikit-learn's conventions, as described for `Kernel`.
    """

    is_distance: ClassVar[bool] = False
    """Whether small values mean that two examples are similar."""
    is_exact: ClassVar[bool] = False
    """Whether the last bits of a value depend only on the two examples, not on the others of the same matrix."""

    @property
    def is_symmetric(self) -> bool:
        """Whether the order of the two examples does not matter. Half of the matrix of X with itself is then enough."""
        return True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _with_suggestions(cls.__init__)  # type: ignore[method-assign]

    # --- parameters ---------------------------------------------------------------------------------------------

    def validate(self) -> None:  # noqa: B027  # some functions have no parameters
        """Raise `ParameterError` if a parameter is outside its range or has the wrong type."""

    def _parameter_names(self) -> list[str]:
        return list(_names_of(type(self)))

    @classmethod
    def _unknown(cls, names: Iterable[str]) -> list[str]:
        """Return the names that cannot be parameters of this class."""
        return [name for name in names if name not in _names_of(cls)]

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Include the parameters of inner kernels, named ``outer__inner``.

        Returns
        -------
        dict

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> (2.0 * SubsetTree(lam=0.4)).get_params()["kernel__lam"]
        0.4
        """
        params: dict[str, Any] = {}
        for name in self._parameter_names():
            value = params[name] = getattr(self, name)
            if deep and isinstance(value, Pairwise):
                params.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return the kernel.

        If any value is invalid, no parameter changes.

        Parameters
        ----------
        **params
            Values by name. Nested names such as ``k1__lam`` reach inner kernels. A kernel around a
            single kernel also accepts the names of that kernel.

        Returns
        -------
        Kernel or distance
            The object itself.

        Raises
        ------
        ParameterError
            If a name is unknown or a value is invalid.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> SubsetTree().normalized().set_params(lam=0.2)
        SubsetTree(lam=0.2).normalized()
        """
        known = self._parameter_names()
        nested: dict[str, dict[str, Any]] = {}
        before = self.get_params(deep=False)
        with unchanged_on_error(self, *params.values()):
            for key, value in params.items():
                name, _, rest = key.partition("__")
                if name not in known and isinstance(before.get("kernel"), Pairwise) and before["kernel"]._takes(name):
                    name, rest = "kernel", key  # for example k.normalized().set_params(lam=0.2)
                if name not in known:
                    raise self._no_parameter(name, before, type(self).__name__)
                if rest:
                    nested.setdefault(name, {})[rest] = value
                else:
                    self._set(name, value)
            for name, inner in nested.items():
                if not isinstance(getattr(self, name), Pairwise):
                    owner, unknown = type(self).__name__, next(iter(inner))
                    raise ParameterError(
                        f"The {name!r} parameter of {owner} is not a kernel, so it has no parameter {unknown!r}."
                    )
                for key in inner:
                    getattr(self, name)._check_name(key, type(self).__name__, f"{name}__")
                getattr(self, name).set_params(**inner)
            self.validate()
        return self

    def _check_name(self, key: str, owner: str, prefix: str) -> None:
        """Raise `ParameterError` if a name does not exist. `owner` and `prefix` complete the name that the user wrote."""
        params = self.get_params(deep=False)
        name, _, rest = key.partition("__")
        wrapped = params.get("kernel")
        if name not in params and isinstance(wrapped, Pairwise) and wrapped._takes(name):
            wrapped._check_name(key, owner, prefix)
        elif name not in params:
            raise self._no_parameter(name, params, owner, prefix)
        elif rest and isinstance(params[name], Pairwise):
            params[name]._check_name(rest, owner, f"{prefix}{name}__")

    def _no_parameter(self, name: str, params: dict[str, Any], owner: str, prefix: str = "") -> ParameterError:
        """Return the error for an unknown name. `params` are the kernel's own parameters.

        `owner` is the class that the user called, and `prefix` is the part of the name before `name`.
        """
        inner = {key: value for key, value in params.items() if isinstance(value, Pairwise)}
        nested = [f"'{prefix}{key}__{name}'" for key, value in inner.items() if value._takes(name)]
        if nested:
            return ParameterError(f"{owner} has no parameter '{prefix}{name}'. Use {in_words(nested)}.")
        if name == "factor":
            return ParameterError(
                f"{owner} has no parameter '{prefix}{name}'. Multiply by a number to add a factor: 1.0 * kernel."
            )
        names, wrapped = list(params), params.get("kernel")
        while isinstance(wrapped, Pairwise):  # its parameters are set without a prefix
            names += [own for own in wrapped._parameter_names() if own not in names]
            wrapped = getattr(wrapped, "kernel", None)
        message = _unknown_parameter(owner, name, names, prefix)
        examples = [
            f"'{prefix}{key}__{value._parameter_names()[0]}'"
            for key, value in inner.items()
            if value._parameter_names()
        ]
        if "kernel" not in params and examples and not message.endswith("?"):
            message += f" Put the name of an inner kernel before its parameter, for example {examples[0]}."
        return ParameterError(message)

    def _takes(self, name: str) -> bool:
        """Return whether this kernel, or the single kernel that it wraps, has the parameter."""
        inner = getattr(self, "kernel", None)
        return name in self._parameter_names() or (isinstance(inner, Pairwise) and inner._takes(name))

    def params_by_content(self) -> dict[str, Any]:
        """Return the function's own parameters, with the content of files in place of their names.

        Whatever outlives this object needs the content, because a file can change or move.
        """
        return self.get_params(deep=False)

    def _identity(self) -> Hashable:
        """Return a value that distinguishes this kernel, with its current parameters, from all others.

        The value need not be hashable: a user-defined kernel may have a parameter that is not.
        """
        return type(self), tuple((name, _frozen(value)) for name, value in self.get_params(deep=False).items())

    def _key(self, logs: bool) -> Hashable | None:
        """Return the key under which self-values are cached; None if the kernel is not hashable."""
        try:
            key = self._identity(), logs
            hash(key)
        except TypeError:
            return None
        return key

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.get_params(deep=False) == other.get_params(deep=False)

    __hash__ = None  # type: ignore[assignment]  # parameters can change

    def __repr__(self) -> str:
        texts = []
        defaults = inspect.signature(type(self).__init__).parameters
        for name, value in self.get_params(deep=False).items():
            if name not in defaults or value != defaults[name].default or name in self._always_shown:
                plain = value.item() if isinstance(value, np.generic) else value
                texts.append(f"{name}={plain!r}")
        return f"{type(self).__name__}({', '.join(texts)})"

    _always_shown: tuple[str, ...] = ()

    # --- values -------------------------------------------------------------------------------------------------

    @abstractmethod
    def coerce(self, X: Any) -> Any:
        """Return the data in the form that this function computes with.

        The result has a length and can be sliced. Coerced data are used as they are, so coerce data
        once for repeated use.
        """

    @abstractmethod
    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        """Bind the function to data: rows X, columns Y (None: X again)."""

    @abstractmethod
    def needs(self, X: Any, enough: int = 0) -> Needs:
        """Estimate the memory of an evaluator with columns X before it is built.

        If the memory is certainly below `enough`, a rough bound is sufficient.
        """

    @property
    def searches(self) -> bool:
        """Whether only some values are wanted; see `for_search`. The work then depends on the rows more than on the values."""
        return False

    def for_search(self, threshold: float | None, best: int | None) -> Pairwise:
        """Return a function that may replace values that a search does not want by the worst value.

        Parameters
        ----------
        threshold : float, optional
            Only values that reach this threshold are wanted.
        best : int, optional
            Only this number of best values per row are wanted, and values that equal the last of them.
        """
        return self

    def __call__(
        self,
        X: Any,
        Y: Any | None = None,
        *,
        n_jobs: int | None = 1,
        progress: bool | None = None,
        out: Any = None,
    ) -> Matrix:
        """Compute the matrix of X with Y, or of X with itself.

        Parameters
        ----------
        X : collection of examples
            Rows of the matrix.
        Y : collection of examples, optional
            Columns of the matrix. Default: X.
        n_jobs, progress, out
            As for `treelet.gram`.

        Returns
        -------
        ndarray of shape (len(X), len(Y))
        """
        from treelet.matrices.matrix import gram  # imported late, because gram imports this package

        return gram(self, X, Y, n_jobs=n_jobs, progress=progress, out=out)

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:  # noqa: B027  # most functions have nothing to prepare
        """Compute in several threads the self-values that `evaluator` will need; they are cached with the examples.

        The default does nothing: `evaluator` then computes them in one thread.
        """

    def with_cached_index(self, X: Any) -> Any:
        """Return coerced data with a cache for the index that they need as columns, for repeated use."""
        return self.coerce(X)

    def cached_values(self) -> dict[str, Hashable]:
        """Return the keys under which a bank caches numbers per example for this function, by name."""
        return {}

    def cached_indexes(self, bank: Any) -> dict[str, CachedIndex]:
        """Return the indexes that a bank caches for this function and that can be stored as arrays, by name."""
        return {}

    def _inner(self) -> list[Any]:
        """Return the functions that this function is composed of."""
        params = (
            self.get_params(deep=False).values() if hasattr(self, "get_params") else [getattr(self, "kernel", None)]
        )
        return [value for value in params if isinstance(value, Pairwise)]


@lru_cache(256)
def _names_of(kernel: type[Pairwise]) -> tuple[str, ...]:
    """Return the parameter names of a kernel class, cached because every matrix needs them."""
    return tuple(name for name in inspect.signature(kernel.__init__).parameters if name != "self")


_PLAIN = (int, float, bool, str, type(None))


def _frozen(value: Any) -> Hashable:
    """Return a parameter value in a hashable form, as part of a key."""
    if type(value) in _PLAIN:  # isinstance with abstract classes is slow for small calls
        return value  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if isinstance(value, Pairwise):
        return value._identity()
    if isinstance(value, Mapping):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    return value  # type: ignore[no-any-return]


class Itself:
    """Wraps an object for use in a key, where it is compared by identity instead of equality."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def overflow(kernel: Pairwise, row: int, column: int, dtype: DTypeLike = np.float64) -> Exception:
    """Return the error for a value that does not fit a float64 or a float32."""
    where = f"item {row} with itself" if row == column else f"items {row} and {column}"
    fact = f"The value of {kernel!r} for {where} is too large for a {np.dtype(dtype)}"
    if dtype != np.float64:
        return KernelOverflowError(f"{fact}. Use dtype='float64' or kernel.normalized().")
    return KernelOverflowError(
        f"{fact}: such values grow exponentially with the size of an item. "
        f"Use a smaller lam=, or kernel.normalized(), which never overflows."
    )
