"""Errors for parameter names that a kernel does not have, with the name that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any

from treelet.checks import some_of, suggestion
from treelet.errors import InputTypeError

SYNONYMS = {"λ": "lam", "decay": "lam", "decay_factor": "lam", "decay_rate": "lam"}


def meant(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return a question that names the closest known parameter, with a space before, or an empty string.

    The prefix stands before the suggested name.

    Python reserves the word ``lambda``, so every way to avoid it leads to ``lam``.

    >>> meant("lambda_", ["lam", "mu"]), meant("decay", ["lam", "mu"]), meant("m", ["lam", "mu"]), meant("x", ["lam"])
    (" Did you mean 'lam'?", " Did you mean 'lam'?", " Did you mean 'mu'?", '')
    """
    names = list(known)
    plain = name.strip("_").lower()
    synonym = "lam" if get_close_matches(plain, ["lambda"], cutoff=0.75) else SYNONYMS.get(plain)
    hint = f" Did you mean {synonym!r}?" if synonym in names else suggestion(name, names)
    return hint.replace("'", f"'{prefix}", 1)


def no_parameter(owner: str, name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the message for an unknown name: the closest parameter if there is one, else all of them.

    >>> no_parameter("SubsetTree", "lambda_", ["lam", "leaves"])
    "SubsetTree has no parameter 'lambda_'. Did you mean 'lam'?"
    >>> no_parameter("SubsetTree", "sigma", ["lam", "leaves"])
    "SubsetTree has no parameter 'sigma'. The parameters are 'lam', 'leaves'."
    >>> no_parameter("Linear", "degree", [])
    "Linear has no parameter 'degree'. Linear takes no parameters."
    >>> no_parameter("KernelSVC", "lambda", ["lam", "leaves"], prefix="kernel__")
    "KernelSVC has no parameter 'kernel__lambda'. Did you mean 'kernel__lam'?"
    """
    names = list(known)
    listed = (
        f"The {'parameters are' if len(names) > 1 else 'only parameter is'} {some_of(prefix + own for own in names)}."
    )
    none = "This kernel takes no parameters." if prefix else f"{owner} takes no parameters."
    hint = meant(name, names, prefix) or f" {listed if names else none}"
    return f"{owner} has no parameter '{prefix}{name}'.{hint}"


def with_suggestions(init: Callable[..., None]) -> Callable[..., None]:
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
            raise InputTypeError(no_parameter(type(self).__name__, unknown[0], known)) from None

    return checked
