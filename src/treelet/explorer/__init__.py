"""Trees, parses and models looked at in a browser: a small server for this machine alone, and its pages."""

from treelet.explorer.app import application
from treelet.explorer.serving import serve
from treelet.explorer.workspace import Parsing, Workspace

__all__ = ["Parsing", "Workspace", "application", "serve"]
