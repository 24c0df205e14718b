"""XML and HTML as trees: elements with their attributes and text, and where they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from functools import wraps
from typing import IO, Any

from treelet.checks import wrong
from treelet.errors import FormatError, TreeletError
from treelet.formats.adapters import adapter_for, flatten
from treelet.formats.base import Document, Format, register
from treelet.formats.files import PathLike, Source
from treelet.formats.located import Located, located, opened
from treelet.formats.looks import opening_lines
from treelet.formats.node_adapters import MarkupAdapter
from treelet.formats.nodes import Place
from treelet.vocabulary import keyword

XML, HTML = (".xml",), (".html", ".htm")
Parse = Callable[[Source], tuple[Any, dict[int, Place]]]
_CHARSET = re.compile(rb"<meta\b[^>]*\bcharset\b|<\?xml\b[^>]*\bencoding\b", re.IGNORECASE)


def xml_trees(
    source: str | bytes | PathLike | IO[Any],
    *,
    each: str | None = None,
    attributes: bool | Collection[str] = True,
    text: str = "words",
    drop: Collection[str] = (),
    encoding: str = "utf-8",
) -> list[Located]:
    r"""XML as trees whose nodes know their places.

    An element is its name over its attributes, in the order of their names, and its content. An attribute is ``@name`` over
    its value, a run of text ``#text`` over its words. Names with a namespace are ``{namespace}name``. Comments, processing
    instructions and text of white space only are left out. `treelet.read_trees` reads files with the same options.

    Parameters
    ----------
    source : str, bytes, path, open file, or element
        A string is the text itself, and a ``pathlib.Path`` a file. Elements and documents of ``xml.etree`` or lxml are taken
        as they are; only lxml's know their lines.
    each : str, optional
        The name of the elements that become trees, wherever they are; by default the whole is one tree.
    attributes : bool or list of str
        All, none, or those of these names.
    text : {"words", "whole", "none"}
        A leaf a word, where white space makes no difference; one leaf for the whole of a run of text; or no text.
    drop : list of str
        Names of elements to leave out, with all that they hold.
    encoding : str
        Of bytes and files, where it is another than the one that the text declares.

    Returns
    -------
    list of Located
        Taken wherever trees are. An element's place ends where its end tag begins, or after its only tag.

    Raises
    ------
    FormatError
        With line and column: what is not well-formed, or refers to another file.

    Examples
    --------
    >>> from treelet import Treebank
    >>> from treelet.formats import xml_trees
    >>> trees = xml_trees('<a href="x y">see <b/>\n<b>this</b></a>')
    >>> print(Treebank(trees)[0])
    (a (@href x\sy) (#text see) b (b (#text this)))
    >>> trees[0].children[-1].place
    Place(line=2, column=1, end_line=2, end_column=8)
    """
    return _located(_xml, source, each, encoding, attributes=attributes, text=text, drop=drop)


def html_trees(
    source: str | bytes | PathLike | IO[Any],
    *,
    each: str | None = None,
    attributes: bool | Collection[str] = True,
    text: str = "words",
    drop: Collection[str] = (),
    encoding: str = "utf-8",
) -> list[Located]:
    """HTML as trees whose nodes know their lines; by lxml, which mends what is not well-formed.

    Parameters
    ----------
    source, each, attributes, text, drop, encoding
        As for `xml_trees`. ``drop=["script", "style"]`` leaves out what is not shown. Names in large or small letters are
        the same in a page, and become small ones.

    Returns
    -------
    list of Located
        Of places only the lines are known.

    Examples
    --------
    >>> from treelet import Treebank
    >>> from treelet.formats import html_trees
    >>> print(Treebank(html_trees("<ul><li>one<li class=x>two</ul>", each="ul"))[0])
    (ul (li (#text one)) (li (@class x) (#text two)))
    """
    return _located(_html, source, each, encoding, attributes=attributes, text=text, drop=drop)


def read_xml(
    source: Source,
    *,
    each: str | None = None,
    attributes: bool | Collection[str] = True,
    text: str = "words",
    drop: Collection[str] = (),
) -> Document:
    """XML; the options are those of `xml_trees`."""
    return _document(_xml, source, each, attributes=attributes, text=text, drop=drop)


@wraps(read_xml, assigned=())
def read_html(source: Source, **options: Any) -> Document:
    """HTML; the options are those of `xml_trees`."""
    return _document(_html, source, **options)


def _located(parse: Parse, source: Any, each: str | None, encoding: str, **options: Any) -> list[Located]:
    _check(each, options)
    if isinstance(adapter_for(source), MarkupAdapter):
        adapter = MarkupAdapter(**options)
        return [located(element, adapter) for element in _chosen(adapter.root(source), each, FormatError)]
    with opened(source, encoding, (*XML, *HTML)) as stream:
        root, places = parse(stream)
        each, options = _as_written(parse, each, options)
        adapter = MarkupAdapter(**options, places=places)
        return [located(element, adapter) for element in _chosen(root, each, stream.error)]


def _document(parse: Parse, source: Source, each: str | None = None, **options: Any) -> Document:
    _check(each, options)
    each, options = _as_written(parse, each, options)
    root, places = parse(source)
    adapter = MarkupAdapter(**options, places=places)
    chosen = _chosen(root, each, source.error)
    positions = [adapter.place(element) for element in chosen]
    lines = [position.line for position in positions if position is not None]
    trees = {"tree": flatten(chosen, None, lambda _: adapter)}
    return Document(trees=trees, lines=lines if len(lines) == len(chosen) else None)


def _check(each: object, options: dict[str, Any]) -> None:
    if each is not None and not isinstance(each, str):
        raise wrong("each", "None or the name of elements", each)
    MarkupAdapter(**options)


def _as_written(parse: Parse, each: str | None, options: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The names as the parser gives them: in HTML ``DIV`` is ``div``, whoever wrote it."""
    if parse is not _html:
        return each, options
    named = ((name, options[name]) for name in ("attributes", "drop") if name in options)
    small: dict[str, Any] = {
        name: [word.lower() for word in names] for name, names in named if not isinstance(names, bool)
    }
    return None if each is None else each.lower(), {**options, **small}


def _chosen(root: Any, each: str | None, error: Callable[[str], FormatError]) -> list[Any]:
    if each is None:
        return [root]
    elements = list(root.iter(each))
    if not elements:
        names = Counter(element.tag for element in root.iter() if isinstance(element.tag, str))
        most = ", ".join(name for name, _ in names.most_common(8))
        raise error(f"there are no elements {each!r} here; the most frequent ones are {most}")
    return elements


def _xml(source: Source) -> tuple[Any, dict[int, Place]]:
    """The root element, and the places of all by their ``id``: where the start tag begins, and where the end tag does (or, where
    there is one tag only, where that ends).

    Raises
    ------
    FormatError
        What is not well-formed; entities that are declared nowhere or in another file; entities that grow beyond measure.
    """
    from xml.parsers import expat

    reader = _XmlReader(source)
    try:
        for chunk in source.chunks():
            reader.parser.Parse(chunk, False)
        reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise source.error(f"this is no XML: {expat.ErrorString(error.code)}", error.lineno, error.offset + 1) from None
    except FormatError:
        raise
    except (ValueError, LookupError) as error:
        raise source.error(
            f"the encoding that this XML declares cannot be read ({error}): name it ({keyword('encoding')})", 1
        ) from None
    return reader.builder.close(), reader.places


class _XmlReader:
    """Builds elements from the events of expat, the parser of the standard library. Nothing outside the file is ever read."""

    def __init__(self, source: Source) -> None:
        from xml.etree.ElementTree import TreeBuilder
        from xml.parsers import expat

        self.source, self.builder = source, TreeBuilder()
        self.places: dict[int, Place] = {}
        self.parser = parser = expat.ParserCreate("utf-8" if source.decoded else None, "}")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self.builder.data
        parser.ExternalEntityRefHandler, parser.SkippedEntityHandler = self._outside, self._unknown

    def _here(self) -> tuple[int, int]:
        return self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        named = {_name(name): value for name, value in attributes.items()}
        self.places[id(self.builder.start(_name(tag), named))] = Place(*self._here())

    def _end(self, tag: str) -> None:
        key = id(self.builder.end(_name(tag)))
        self.places[key] = Place(*self.places[key][:2], *self._here())

    def _outside(self, context: str, base: str | None, system: str | None, public: str | None) -> int:
        raise self._refused(f"what is meant here is in another file ({system}), and only this file is read")

    def _unknown(self, name: str, parameter: bool) -> None:
        if not parameter:
            raise self._refused(
                f"the entity &{name}; is not declared in this file; a page is read with the format html"
            )

    def _refused(self, message: str) -> Exception:
        return self.source.error(message, *self._here())


def _name(name: str) -> str:
    return "{" + name if "}" in name else name


def _html(source: Source) -> tuple[Any, dict[int, Place]]:
    try:
        from lxml import etree
    except ImportError:
        raise TreeletError("reading HTML needs the package lxml: pip install 'treelet[nlp]'") from None
    data = b"".join(source.chunks())
    known = source.decoded or not _CHARSET.search(data[:4096])
    if known:
        _check_utf8(source, data)
    parser = etree.HTMLParser(huge_tree=True, encoding="utf-8" if known else None)
    try:
        root = etree.fromstring(data, parser) if data.strip() else None
    except (etree.LxmlError, LookupError, ValueError) as error:
        raise source.error(f"this is no HTML that can be read: {error}") from None
    if root is None:
        raise source.error("there are no elements here")
    for problem in parser.error_log:
        if problem.type_name == "ERR_RESOURCE_LIMIT":  # what lies beyond would be missing
            hint = "elements are nested too deeply for the HTML parser, or the page is too large"
            raise source.error(f"{hint} ({problem.message.split(',')[0]})", problem.line)
    return root, {}


def _check_utf8(source: Source, data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            f"these bytes are not UTF-8, and no encoding is declared: name it ({keyword('encoding')})", line
        ) from None


# --- what they look like ----------------------------------------------------------------------------------------


def _looks_like_html(head: bytes) -> str | None:
    return "it begins with '<'" if _opening(head).startswith("<") else None


def _looks_like_xml(head: bytes) -> str | None:
    text = _opening(head)
    page = re.match(r"<!doctype\s+html|<html(?![^>]*xmlns)", text, re.IGNORECASE)
    return "it begins with '<'" if re.match(r"<[?!\w]", text) and not page else None


def _opening(head: bytes) -> str:
    return next(iter(opening_lines(head)), "").lstrip()


# What looks like both is XML, unless its name says otherwise: the last one is asked first.
register(Format("html", "HTML pages, by lxml", read_html, None, HTML, _looks_like_html))
register(Format("xml", "XML, a tree a file or an element", read_xml, None, XML, _looks_like_xml))
