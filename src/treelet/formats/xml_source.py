"""XML by the standard library's parser: elements, and where each stands. Nothing outside the file is ever read."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from treelet.errors import FormatError
from treelet.formats.files import Source
from treelet.formats.nodes import Place
from treelet.vocabulary import keyword


def parsed_xml(source: Source) -> tuple[Any, dict[int, Place]]:
    """The root element, and the places of all by their ``id``: where the start tag begins, and where the end tag does (or, where
    there is one tag only, where that ends).

    Raises
    ------
    FormatError
        What is not well-formed; entities that are declared nowhere or in another file; entities that grow beyond measure.
    """
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
    """Expat's events, made elements."""

    def __init__(self, source: Source) -> None:
        self.source, self.builder = source, ElementTree.TreeBuilder()
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
