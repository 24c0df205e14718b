"""Trees, parses and models looked at in a browser: a small server for this machine alone, and its pages."""

from treelet.explain.explorer.app import application
from treelet.explain.explorer.desk import Desk, Parsing
from treelet.explain.explorer.serving import serve

__all__ = ["Desk", "Parsing", "application", "serve"]
