"""File formats: a registry of formats of trees, and readers and writers for other files."""

from treelet.formats import brackets, code, conllu, markup, svmlight_tk, tabular
from treelet.formats.adapters import Located, Place, escape, unescape
from treelet.formats.base import FORMATS, Columns, Document, Format, register
from treelet.formats.code import python_trees
from treelet.formats.files import Source, open_source, open_target
from treelet.formats.markup import html_trees, xml_trees
from treelet.formats.places import Places, SourcePlace
from treelet.formats.reading import find_format, find_target, label_text, read_blocks, read_document, write_document

__all__ = [
    "FORMATS",
    "Columns",
    "Document",
    "Format",
    "Located",
    "Place",
    "Places",
    "Source",
    "SourcePlace",
    "brackets",
    "code",
    "conllu",
    "escape",
    "find_format",
    "find_target",
    "html_trees",
    "label_text",
    "markup",
    "open_source",
    "open_target",
    "python_trees",
    "read_blocks",
    "read_document",
    "register",
    "svmlight_tk",
    "tabular",
    "unescape",
    "write_document",
    "xml_trees",
]
