"""Messages of `treelet.edits`: costs, and trees that are too large."""

from __future__ import annotations

from messages.common import wrong_parameter

COST = r"a number in \[0, 1e\+100\], or a mapping from labels to such numbers"
COST_OF_LABEL = r"a mapping from labels to numbers in \[0, 1e\+100\]"
RENAME = r"a number in \[0, 1e\+100\], a function of two labels, or word vectors"
MISSING_TREE = r"The tree 'a' is missing \(None\)\. edit_script needs two trees\."


def wrong_cost(name: str, must_be: str, got: str) -> str:
    return wrong_parameter(name, must_be, of="EditDistance", got=got)


def rename_returned(got: str) -> str:
    """The function returned a wrong cost for the labels 'a' and 'b'."""
    return rf"rename\('a', 'b'\) must return a number in \[0, 1e\+100\]\. Got {got} instead\."


def too_large(first: int, second: int) -> str:
    """The tables of two trees with so many nodes do not fit the memory."""
    return (
        f"The edit distance of .*{first:,} nodes.* and .*{second:,} nodes.* needs about .* of memory, "
        r"but only 1\.0 GiB are free\. Compare smaller trees\."
    )


def too_large_in_a_search(first: int, second: int) -> str:
    """A search has found two trees that it must compare, and that need too much memory."""
    return (
        rf"The edit distance of item 0 \({first:,} nodes\) and item 0 \({second:,} nodes\) needs more memory than is free. "
        r"Compare smaller trees\."
    )
