"""Gram matrices in bulk: tiles under a memory budget, by threads.

The package itself can be called: ``treelet.gram(kernel, X)`` is ``treelet.gram.gram(kernel, X)``.
"""

import sys
from types import ModuleType
from typing import Any

from treelet.gram.local import gram
from treelet.gram.plan import parse_memory

__all__ = ["gram", "parse_memory"]


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return gram(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
