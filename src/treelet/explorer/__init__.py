"""The explorer: a local web application that shows trees, parses and models in a browser."""

from treelet.explorer.app import application
from treelet.explorer.serving import serve
from treelet.explorer.workspace import Parsing, Workspace

__all__ = ["Parsing", "Workspace", "application", "serve"]
