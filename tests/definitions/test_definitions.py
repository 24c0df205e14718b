"""The examples in the docstrings of the slow definitions."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from definitions import fragments, rounding


@pytest.mark.parametrize("module", [fragments, rounding])
def test_doctests(module: ModuleType) -> None:
    failures, examples = doctest.testmod(module)
    assert examples
    assert not failures
