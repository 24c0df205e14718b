"""Parameters of kernels and distances: their names, their bounds, and how they are set and compared.

The methods follow scikit-learn's conventions, without importing scikit-learn.
"""

from __future__ import annotations

import inspect
from abc import ABC
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache, wraps
from itertools import repeat
from typing import Any, Self

import numpy as np

from treelet.checks import in_words, some_of, suggestion
from treelet.errors import InputTypeError, ParameterError

Bounds = tuple[float, float] | str
"""Range in which a parameter may be chosen, or ``"fixed"`` to keep the parameter as it is."""
DECAYS: Bounds = (1e-3, 1)
WIDTHS: Bounds = (1e-3, 1e5)


@contextmanager
def unchanged_on_error(*owners: Any) -> Iterator[None]:
    """Undo all changes to the attributes of some objects, and of those nested in their parameters, if the block fails.

    The block may end by any exception, an interrupt included. All attributes are restored by one call that runs no
    Python code, so no signal is handled between two of them. Owners without parameters are ignored.
    """
    nested = (value for owner in owners if _has_parameters(owner) for value in (owner, *owner.get_params().values()))
    objects = list({id(value): value for value in nested if _has_parameters(value)}.values())
    before = [dict(vars(value)) for value in objects]
    try:
        yield
    except BaseException:
        deque(map(setattr, objects, repeat("__dict__"), before), maxlen=0)
        raise


def _has_parameters(value: Any) -> bool:
    return hasattr(value, "get_params") and hasattr(value, "__dict__") and not isinstance(value, type)


# --- errors for names that do not exist -------------------------------------------------------------------------------

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


# --- parameters -------------------------------------------------------------------------------------------------------


class Parametrized(ABC):  # noqa: B024  # what it computes is up to its subclasses
    """An object with parameters: those of its constructor, which are also its attributes."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _with_suggestions(cls.__init__)  # type: ignore[method-assign]

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
            if deep and isinstance(value, Parametrized):
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
                if (
                    name not in known
                    and isinstance(before.get("kernel"), Parametrized)
                    and before["kernel"]._takes(name)
                ):
                    name, rest = "kernel", key  # for example k.normalized().set_params(lam=0.2)
                if name not in known:
                    raise self._no_parameter(name, before, type(self).__name__)
                if rest:
                    nested.setdefault(name, {})[rest] = value
                else:
                    self._set(name, value)
            for name, inner in nested.items():
                if not isinstance(getattr(self, name), Parametrized):
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
        if name not in params and isinstance(wrapped, Parametrized) and wrapped._takes(name):
            wrapped._check_name(key, owner, prefix)
        elif name not in params:
            raise self._no_parameter(name, params, owner, prefix)
        elif rest and isinstance(params[name], Parametrized):
            params[name]._check_name(rest, owner, f"{prefix}{name}__")

    def _no_parameter(self, name: str, params: dict[str, Any], owner: str, prefix: str = "") -> ParameterError:
        """Return the error for an unknown name. `params` are the kernel's own parameters.

        `owner` is the class that the user called, and `prefix` is the part of the name before `name`.
        """
        inner = {key: value for key, value in params.items() if isinstance(value, Parametrized)}
        nested = [f"'{prefix}{key}__{name}'" for key, value in inner.items() if value._takes(name)]
        if nested:
            return ParameterError(f"{owner} has no parameter '{prefix}{name}'. Use {in_words(nested)}.")
        if name == "factor":
            return ParameterError(
                f"{owner} has no parameter '{prefix}{name}'. Multiply by a number to add a factor: 1.0 * kernel."
            )
        names, wrapped = list(params), params.get("kernel")
        while isinstance(wrapped, Parametrized):  # its parameters are set without a prefix
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
        return name in self._parameter_names() or (isinstance(inner, Parametrized) and inner._takes(name))

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


@lru_cache(256)
def _names_of(kernel: type[Parametrized]) -> tuple[str, ...]:
    """Return the parameter names of a kernel class, cached because every matrix needs them."""
    return tuple(name for name in inspect.signature(kernel.__init__).parameters if name != "self")


_PLAIN = (int, float, bool, str, type(None))


def _frozen(value: Any) -> Hashable:
    """Return a parameter value in a hashable form, as part of a key."""
    if type(value) in _PLAIN:  # isinstance with abstract classes is slow for small calls
        return value  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if isinstance(value, Parametrized):
        return value._identity()
    if isinstance(value, Mapping):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    return value  # type: ignore[no-any-return]
