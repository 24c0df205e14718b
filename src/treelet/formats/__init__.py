"""Text in, columns of trees out, and back: a registry of file formats."""

from treelet.formats import brackets, kelp, svmlight_tk, tabular
from treelet.formats.base import FORMATS, Columns, Document, Format, find_format, read_document, write_document

__all__ = [
    "FORMATS",
    "Columns",
    "Document",
    "Format",
    "brackets",
    "find_format",
    "kelp",
    "read_document",
    "svmlight_tk",
    "tabular",
    "write_document",
]
