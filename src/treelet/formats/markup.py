"""XML and HTML as trees of elements with their attributes, text and positions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from functools import wraps
from typing import IO, Any

from treelet.checks import suggestion, wrong
from treelet.errors import FormatError, TreeletError
from treelet.formats.adapters import Located, MarkupAdapter, Place, adapter_for, flatten, located, opened
from treelet.formats.base import Document, Format, opening_lines, register
from treelet.formats.files import PathLike, Source
from treelet.formats.places import Places

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
    r"""Convert XML to trees whose nodes know their line and column.

    An element is a node with its name. Its children are its attributes, sorted by name, and its content. An
    attribute is ``@name`` over its value, and a run of text is ``#text`` over its words. Names with a
    namespace are ``{namespace}name``. Comments, processing instructions and text of white space only are
    dropped. `treelet.read_trees` reads files with the same options.

    Parameters
    ----------
    source : str, bytes, path, open file, or element
        A string is the text itself. Pass a ``pathlib.Path`` to read a file. Elements and documents of
        ``xml.etree`` or lxml are accepted; only those of lxml know their lines.
    each : str, optional
        Name of the elements that become trees, at any depth. Default: the whole document is one tree.
    attributes : bool or list of str, default True
        Attributes to keep: all, none, or those with the given names.
    text : {"words", "whole", "none"}, default "words"
        ``"words"`` writes one leaf per word, so white space does not matter. ``"whole"`` writes one leaf per
        run of text. ``"none"`` drops the text.
    drop : list of str, default ()
        Names of elements to drop, with all their contents.
    encoding : str, default "utf-8"
        Encoding of bytes and files. Needed only if it differs from the encoding that the text declares.

    Returns
    -------
    list of Located
        One tree per element. They are accepted wherever trees are. The position of an element ends where its
        end tag begins, or after its only tag.

    Raises
    ------
    FormatError
        If the text is not well-formed, or refers to another file. The error has the line and the column.

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
    """Convert HTML to trees whose nodes know their lines. The parser is lxml, which repairs malformed pages.

    Parameters
    ----------
    source, each, attributes, text, drop, encoding
        See `xml_trees`. ``drop=["script", "style"]`` drops contents that a browser does not show. Names are
        converted to lower case.

    Returns
    -------
    list of Located
        One tree per element. Only the lines of positions are known.

    Examples
    --------
    >>> from treelet import Treebank
    >>> from treelet.formats import html_trees
    >>> print(Treebank(html_trees("<ul><li>one<li class=x>two</ul>", each="ul"))[0])
    (ul (li (#text one)) (li (@class x) (#text two)))
    """
    return _located(_html, source, each, encoding, attributes=attributes, text=text, drop=drop)


def _read_xml(
    source: Source,
    *,
    each: str | None = None,
    attributes: bool | Collection[str] = True,
    text: str = "words",
    drop: Collection[str] = (),
) -> Document:
    """Read XML. The options are those of `xml_trees`."""
    return _document(_xml, source, each, attributes=attributes, text=text, drop=drop)


@wraps(_read_xml, assigned=())
def _read_html(source: Source, **options: Any) -> Document:
    """Read HTML. The options are those of `xml_trees`."""
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
    return Document(trees=trees, places=Places.of_file(source.name, lines) if len(lines) == len(chosen) else None)


def _check(each: object, options: dict[str, Any]) -> None:
    if each is not None and not isinstance(each, str):
        raise wrong("each", "None or the name of elements", each)
    MarkupAdapter(**options)


def _as_written(parse: Parse, each: str | None, options: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the names as the parser returns them: in HTML, ``DIV`` is ``div``."""
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
        raise error(f"there are no elements {each!r}.{suggestion(each, names)} The most frequent elements are {most}.")
    return elements


def _xml(source: Source) -> tuple[Any, dict[int, Place]]:
    """Return the root element, and the positions of all elements by their ``id``.

    A position begins with the start tag. It ends where the end tag begins, or after the only tag.

    Raises
    ------
    FormatError
        If the text is not well-formed, if an entity is undeclared or declared in another file, or if entities
        expand to a huge text.
    """
    from xml.parsers import expat

    reader = _XmlReader(source)
    try:
        for chunk in source.chunks():
            reader.parser.Parse(chunk, False)
        reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise source.error(
            f"this is not well-formed XML ({expat.ErrorString(error.code)}).", error.lineno, error.offset + 1
        ) from None
    except FormatError:
        raise
    except (ValueError, LookupError) as error:
        raise source.error(
            f"the encoding that this XML declares cannot be read ({error}). Name the encoding (encoding=).", 1
        ) from None
    return reader.builder.close(), reader.places


class _XmlReader:
    """Builds elements from the events of expat, the parser of the standard library. It never reads another file."""

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
        raise self._refused(
            f"this refers to another file ({system}), but only this file is read. Copy the contents into this file."
        )

    def _unknown(self, name: str, parameter: bool) -> None:
        if not parameter:
            raise self._refused(
                f"the entity &{name}; is not declared in this file. Declare it, or read a web page with the format html."
            )

    def _refused(self, message: str) -> Exception:
        return self.source.error(message, *self._here())


def _name(name: str) -> str:
    return "{" + name if "}" in name else name


def _html(source: Source) -> tuple[Any, dict[int, Place]]:
    root = parse_html(source)
    if root is None:
        raise source.error("there are no elements in this page.")
    return root, {}


def parse_html(source: Source) -> Any | None:
    """Return the root element of an HTML page, parsed by lxml. Return None if there are no elements."""
    try:
        from lxml import etree
    except ImportError:
        raise TreeletError("Reading HTML needs the package lxml: pip install 'treelet[html]'.") from None
    data = b"".join(source.chunks())
    known = source.decoded or not _CHARSET.search(data[:4096])
    try:
        if known:
            data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            "these bytes are not UTF-8, and the page does not declare an encoding. Name the encoding (encoding=).", line
        ) from None
    parser = etree.HTMLParser(huge_tree=True, encoding="utf-8" if known else None)
    try:
        root = etree.fromstring(data, parser) if data.strip() else None
    except (etree.LxmlError, LookupError, ValueError) as error:
        raise source.error(f"this HTML cannot be parsed ({str(error).removesuffix('.')}).") from None
    for problem in parser.error_log:
        if problem.type_name == "ERR_RESOURCE_LIMIT":  # the tree would be incomplete
            hint = "elements are nested too deeply for the HTML parser, or the page is too large"
            raise source.error(f"{hint} ({problem.message.split(',')[0]}).", problem.line)
    return root


# --- detection of the format ------------------------------------------------------------------------------------


def _looks_like_html(head: bytes) -> str | None:
    return "it begins with '<'" if _opening(head).startswith("<") else None


def _looks_like_xml(head: bytes) -> str | None:
    text = _opening(head)
    page = re.match(r"<!doctype\s+html|<html(?![^>]*xmlns)", text, re.IGNORECASE)
    return "it begins with '<'" if re.match(r"<[?!\w]", text) and not page else None


def _opening(head: bytes) -> str:
    return next(iter(opening_lines(head)), "").lstrip()


# A file that looks like both formats is XML, unless its name decides: the format registered last is tried first.
register(Format("html", "HTML pages, by lxml", _read_html, None, HTML, _looks_like_html, located=html_trees))
register(Format("xml", "XML, one tree per file or element", _read_xml, None, XML, _looks_like_xml, located=xml_trees))
