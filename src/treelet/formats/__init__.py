"""File formats: a registry of formats of trees, and readers and writers for other files."""

from treelet.formats import brackets, code, conllu, markup, python_source, svmlight_tk, tabular
from treelet.formats.adapters import Place, escape, unescape
from treelet.formats.base import FORMATS, Columns, Document, Format, register
from treelet.formats.detection import find_format, find_target
from treelet.formats.files import Source, open_source, open_target
from treelet.formats.located import Located
from treelet.formats.markup import html_trees, xml_trees
from treelet.formats.places import Places, SourcePlace
from treelet.formats.python_source import python_trees
from treelet.formats.reading import label_text, read_blocks, read_document, write_document

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
    "python_source",
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
