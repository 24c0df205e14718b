"""The explorer: a local web application that shows trees, parses and models in a browser."""

from treelet.explorer.app import application, serve
from treelet.explorer.workspace import Parsing, Workspace

__all__ = ["Parsing", "Workspace", "application", "serve"]
