"""Methods that are only there if a parameter asks for them, and say so where they are not."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

from treelet.errors import UnavailableError

Method = TypeVar("Method", bound=Callable[..., Any])


class _Available:
    """As scikit-learn's ``available_if``, whose error has no room for a reason."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool], hint: str) -> None:
        self.method, self.check, self.hint = method, check, hint
        self.__doc__ = method.__doc__

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self.method
        if not self.check(owner):
            raise UnavailableError(f"this {kind.__name__} has no {self.method.__name__}: {self.hint}")
        return MethodType(self.method, owner)


def available(check: Callable[[Any], bool], hint: str) -> Callable[[Method], Method]:
    """A method that an object has where `check` holds of it; elsewhere an AttributeError with the hint, so that ``hasattr`` is False."""

    def decorate(method: Method) -> Method:
        return cast("Method", _Available(method, check, hint))

    return decorate
