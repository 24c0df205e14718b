r"""Trees, dependency parses and edit scripts in LaTeX, for the packages ``forest`` and ``tikz-dependency``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from treelet.checks import article
from treelet.drawing.drawing import check_style
from treelet.drawing.edits import edited_trees
from treelet.drawing.leaves import collapsed, is_collapsed, is_open, open_nodes
from treelet.edits import EditScript
from treelet.errors import InputTypeError, TreeError
from treelet.structures import Dependencies, Forest, Tree

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    **{letter: f"\\{letter}" for letter in "$&%#_{}"},
}
_SYNTAX = re.compile(r"[\[\],=!;()/@:']|--|''")  # has a meaning in the syntax or in the options of forest
_DEEPEST = 500  # levels, because TeX recurses
_OPEN = ", draw, dashed"  # options of an open category
_TRIANGLE = ", roof"  # option of the words below a triangle, defined by the library linguistics
_LINE = 100  # characters of a subtree on one line
_EDITS = {
    "delete": ("$-$ {}", ", draw, fill=orange!25"),
    "insert": ("$+$ {}", ", draw, very thick, fill=blue!15"),
    "rename": (r"{} $\to$ {}", ", draw, fill=magenta!15"),
}
"""Format and options of the changed nodes of an edit script."""


def latex(thing: object, *, style: str = "color", triangles: Iterable[str | int] | str | int = ()) -> str:
    r"""Return a tree, a dependency parse or an edit script as LaTeX source.

    Parameters
    ----------
    thing : Tree, str, Dependencies or EditScript
        Structure to write. A string is a tree in brackets. An edit script is written as two trees.
    style : {"color", "plain"}, default "color"
        With ``"plain"``, each word of a tree is one level below its category, instead of all words in a
        row at the bottom. LaTeX draws both styles in black, without boxes.
    triangles : str, int or collection of them, default ()
        Constituents of a tree to draw as a triangle over their words, as for `draw`.

    Returns
    -------
    str
        An environment of the package ``forest`` or ``tikz-dependency``. A comment names the package. Special characters of
        LaTeX are escaped. Changed nodes of an edit script have a sign and a color. Open categories of a fragment have a dashed frame; in the plain style, words of a fragment are in italics
        instead. For non-Latin scripts, use LuaLaTeX or XeLaTeX with a suitable font.

    Examples
    --------
    >>> from treelet.drawing import latex
    >>> print(latex("(S (NP-SBJ_1 (NN 50%)) (VP (V rose)))"))
    % \usepackage{forest}
    \begin{forest}
      where n children=0{tier=word}{}
      [S [NP-SBJ\_1 [NN [50\%]]] [VP [V [rose]]]]
    \end{forest}
    """
    check_style(style)
    if isinstance(thing, str):
        thing = Tree.parse(thing)
    if isinstance(thing, Dependencies):
        return _dependencies(thing)
    if isinstance(thing, Tree):
        return _tree(thing, style, triangles)
    if isinstance(thing, EditScript):
        return _script(thing)
    if isinstance(thing, Forest):
        raise InputTypeError("A Forest has no LaTeX form. Pass its most probable tree, forest.best()[0].")
    raise InputTypeError(
        "latex takes a Tree, a bracketed string, Dependencies or an EditScript. "
        f"Got {article(type(thing).__name__)} instead."
    )


def _escaped(text: str) -> str:
    r"""Escape a label so that LaTeX prints it unchanged.

    >>> print(_escaped("a_b{}"), _escaped("--"), _escaped("[x,y]"))
    a\_b\{\} {-{}-} {[x,y]}
    """
    out = "".join(_SPECIAL.get(letter, letter) for letter in text)
    for letter in "-',":  # prevents ligatures
        while letter * 2 in out:
            out = out.replace(letter * 2, f"{letter}{{}}{letter}")
    return f"{{{out}}}" if _SYNTAX.search(text) else out


def _tree(tree: Tree, style: str, triangles: Iterable[str | int] | str | int) -> str:
    _check_depth(tree)
    (tree, _), plain = collapsed(tree, triangles), style == "plain"
    library = "[linguistics]" if plain or any(map(is_collapsed, tree.nodes())) else ""
    preamble = "sn edges" if plain else "where n children=0{tier=word}{}"
    formats = (
        _NodeFormats(_OPEN, "{}") if not plain else _NodeFormats("", r"\textit{{{}}}" if open_nodes(tree) else "{}")
    )
    lines = [rf"% \usepackage{library}{{forest}}", r"\begin{forest}", f"  {preamble}"]
    return "\n".join([*lines, *_bracketed(tree, formats), r"\end{forest}"])


def _check_depth(tree: Tree) -> None:
    if tree.height() > _DEEPEST:
        raise TreeError(f"The tree is {tree.height():,} levels deep, but LaTeX can draw at most {_DEEPEST:,} levels.")


def _script(script: EditScript) -> str:
    """Return both trees. Changed nodes have a frame, a color and a sign."""
    lines = [r"% \usepackage{forest}", r"% $-$ deleted, $+$ inserted, $\to$ renamed"]
    for side in edited_trees(script):
        _check_depth(side.tree)
        edits = {}
        for node, operation in zip(side.tree.nodes(), side.operations, strict=True):
            if operation is not None and operation.kind != "keep":
                text, options = _EDITS[operation.kind]
                labels = [_escaped(x) for x in (operation.source_label, operation.target_label) if x is not None]
                edits[id(node)] = text.format(*labels) + options
        formats = _NodeFormats(_OPEN, "{}", edits)
        lines += [
            r"\begin{forest}",
            "  where n children=0{tier=word}{}",
            *_bracketed(side.tree, formats),
            r"\end{forest}",
        ]
    return "\n".join(lines)


class _NodeFormats(NamedTuple):
    """Options of an open category, the format of words, and the texts of the changed nodes of an edit script by their ids."""

    open_category: str
    word: str
    edits: Mapping[int, str] = MappingProxyType({})

    def node(self, node: Tree) -> str:
        """Return the label of a node with its options."""
        if id(node) in self.edits:
            return self.edits[id(node)]
        label = _escaped(node.label)
        if node.children:
            return label
        if is_open(node):
            return f"{label}{self.open_category}"
        return self.word.format(label) + (_TRIANGLE if is_collapsed(node) else "")


def _bracketed(tree: Tree, formats: _NodeFormats) -> list[str]:
    """Return the lines of a subtree: a single line if it is short, otherwise its label followed by its children."""
    lines: list[str] = []
    stack: list[tuple[Tree | None, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if node is None:
            lines.append("  " * depth + "]")
        elif (line := _line(node, _LINE - 2 * depth, formats)) is not None:
            lines.append("  " * depth + line)
        else:
            lines.append("  " * depth + f"[{formats.node(node)}")
            stack.append((None, depth))
            stack.extend((child, depth + 1) for child in reversed(node.children))
    return lines


def _line(tree: Tree, most: int, formats: _NodeFormats) -> str | None:
    """Return a subtree on one line, or None if it is too long."""
    texts: list[str] = []
    length = 0
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        text = "]" if node is None else f" [{formats.node(node)}"
        length += len(text)
        if length > most and tree.children:
            return None
        texts.append(text)
        if node is not None:
            stack.append(None)
            stack.extend(reversed(node.children))
    return "".join(texts).lstrip()


def _dependencies(parse: Dependencies) -> str:
    rows = [parse.words, parse.tags] if any(tag != "_" for tag in parse.tags) else [parse.words]
    lines = [r"% \usepackage{tikz-dependency}", r"\begin{dependency}", r"  \begin{deptext}[column sep=1em]"]
    for row in rows:  # \& separates columns, so an ampersand needs another form
        words = [_escaped(word).replace(r"\&", r"\symbol{38}") for word in row]
        lines.append("    " + r" \& ".join(words) + r" \\")
    lines.append(r"  \end{deptext}")
    if parse.heads is not None and parse.relations is not None:
        for number, (head, kind) in enumerate(zip(parse.heads, parse.relations, strict=True), 1):
            lines.append(
                f"  \\depedge{{{head}}}{{{number}}}{{{_escaped(kind)}}}"
                if head
                else f"  \\deproot{{{number}}}{{{_escaped(kind)}}}"
            )
    else:
        lines += [
            f"  \\depedge[-]{{{left + 1}}}{{{right + 1}}}{{{_escaped(kind)}}}" for left, right, kind in parse.links
        ]
    return "\n".join([*lines, r"\end{dependency}"])
