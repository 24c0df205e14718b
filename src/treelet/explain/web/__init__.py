"""Pictures for browsers: what is drawn, as JSON (`pictures`), and what draws it, in plain ES modules without dependencies.

A page that is served takes the files as they are (``import {treeView} from "./tree-view.js"``); a page that is one file takes them as one
text (`script`). Colours are in `STYLE`.
"""

from __future__ import annotations

import re
from importlib.resources import files

MODULES = ("layouts.js", "scenes.js", "drawing.js", "tree-view.js")  # each imports from those before it
STYLE = "tree-view.css"
FILES = (*MODULES, STYLE)

_IMPORT = re.compile(r"^import\b[^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|class) )", re.MULTILINE)


def text(name: str) -> str:
    """One of `FILES`."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def script() -> str:
    """All modules as one, which exports `treeView`.

    >>> script().count("export ")
    1
    """
    plain = "\n".join(_EXPORT.sub("", _IMPORT.sub("", text(name))) for name in MODULES)
    return plain.replace("function treeView(", "export function treeView(")


def style() -> str:
    """The style sheet."""
    return text(STYLE)
