"""Pictures for browsers: their content as JSON (`pictures`), and ES modules without dependencies that draw them.

A served page imports the files (``import {treeView} from "./tree-view.js"``). A page that consists of one file includes all
modules as one text (`script`). Colors are in ``tree-view.css``.
"""

from __future__ import annotations

import re
from importlib.resources import files

STYLE = "tree-view.css"
FILES = ("layouts.js", "scenes.js", "elements.js", "drawing.js", "tree-view.js", "fragments.js", "explained.js", STYLE)
"""Files that a served page needs."""

_IMPORT = re.compile(r'^import\b[^;]*?from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|class) )", re.MULTILINE)


def text(name: str) -> str:
    """Return the content of a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def script(module: str = "tree-view.js") -> str:
    """Return a module and all its imports as one module without imports. The exports stay the same.

    >>> script().count("export "), script("widget.js").count("export ")
    (1, 1)
    """
    parts: dict[str, str] = {}
    stack = [module]
    while stack:
        content = text(stack[-1])
        if waiting := [name for name in _IMPORT.findall(content) if name not in parts]:
            stack += waiting
            continue
        name = stack.pop()
        plain = _IMPORT.sub("", content)
        parts.setdefault(name, plain if name == module else _EXPORT.sub("", plain))
    return "\n".join(parts.values())


def style() -> str:
    """Return the style sheet."""
    return text(STYLE)
