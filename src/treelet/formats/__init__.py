"""Every file that is read or written: a registry of formats of trees, and readers of what is no tree."""

from treelet.formats import brackets, dependency_forms, kelp, svmlight_tk, tabular
from treelet.formats.base import (
    FORMATS,
    Columns,
    Document,
    Format,
    find_format,
    label_text,
    read_document,
    register,
    write_document,
)
from treelet.formats.files import Source, open_source, open_target

__all__ = [
    "FORMATS",
    "Columns",
    "Document",
    "Format",
    "Source",
    "brackets",
    "dependency_forms",
    "find_format",
    "kelp",
    "label_text",
    "open_source",
    "open_target",
    "read_document",
    "register",
    "svmlight_tk",
    "tabular",
    "write_document",
]
