"""XML and HTML: elements of the standard library or lxml, walked as trees."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from treelet.checks import check_one_of, wrong
from treelet.errors import TreeError
from treelet.formats.nodes import Adapter, Node, Place, value_label

TEXT = ("words", "whole", "none")
_WORDS = re.compile("[^ \t\n\r\v\f]+")  # a no-break space is part of a word


def check_names(name: str, value: Any, wanted: str) -> None:
    """A collection of texts."""
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(each, str) for each in value):
        raise wrong(name, wanted, value)


class MarkupAdapter(Adapter):
    """Elements: a name over attributes, in the order of their names, and content.

    An attribute is ``@name`` over its value, a run of text ``#text`` over its words: no element has such a name. Comments and
    processing instructions are left out, and so is text of white space only.

    Parameters
    ----------
    attributes : bool or list of str
        All, none, or those of the names given.
    text : {"words", "whole", "none"}
        A leaf a word, one leaf for the whole of a run, or no text.
    drop : list of str
        Names of elements that are left out with all that they hold.
    places : mapping, optional
        Where elements stand, by their ``id``. lxml's know their lines themselves.
    """

    def __init__(
        self,
        *,
        attributes: bool | Collection[str] = True,
        text: str = "words",
        drop: Collection[str] = (),
        places: Mapping[int, Place] | None = None,
    ) -> None:
        if not isinstance(attributes, bool):
            check_names("attributes", attributes, "True, False or a list of names")
        check_one_of("text", text, TEXT)
        check_names("drop", drop, "a list of names")
        self._attributes, self._text, self._drop, self._places = attributes, text, frozenset(drop), places or {}

    def root(self, item: Node) -> Node:
        root = item if hasattr(item, "tag") else item.getroot()
        if root is None:
            raise TreeError("is a document without a root element")
        return root

    def parts(self, node: Node) -> tuple[str, list[Node]]:
        found = list(self._attributes_of(node)) if self._attributes is not False and node.attrib else []
        run = node.text or ""
        for child in node:
            tag = child.tag
            if isinstance(tag, str) and tag not in self._drop:
                if run:
                    found += self._run(run)
                found.append(child)
                run = ""
            elif getattr(tag, "__name__", "") == "Entity":  # lxml's, where they are not resolved
                run += child.text or ""
            run += child.tail or ""
        if run:
            found += self._run(run)
        return value_label(str(node.tag)), found

    def _attributes_of(self, node: Node) -> Iterator[Node]:
        for name, value in sorted(node.attrib.items()):  # lxml refuses to look for some names of HTML's
            if self._attributes is True or name in self._attributes:  # type: ignore[operator]
                yield "@" + value_label(name), (value_label(value),)

    def _run(self, text: str) -> tuple[Node, ...]:
        words = _WORDS.findall(text) if self._text != "none" else []
        if not words:
            return ()
        return (("#text", tuple(map(value_label, [text] if self._text == "whole" else words))),)

    def place(self, node: Node) -> Place | None:
        line = getattr(node, "sourceline", None)
        return self._places.get(id(node)) or (None if line is None else Place(line))
