"""Tree edit distance: the least cost of inserting, deleting and renaming nodes to turn one tree into another."""

from treelet.edits.distance import EditDistance, EditSimilarity
from treelet.edits.script import EditOperation, EditScript, edit_script

__all__ = ["EditDistance", "EditOperation", "EditScript", "EditSimilarity", "edit_script"]
