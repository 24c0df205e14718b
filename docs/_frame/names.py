"""Link names of treelet in docstrings to their pages. Other text in single backticks is shown as code."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from _frame.api import known_names, place_of


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    known = known_names()

    def role(kind: str, raw: str, text: str, line: int, inliner: Any, *rest: Any) -> Any:
        code = nodes.literal(raw, text, classes=["py", "name"])
        full = place_of(text.removesuffix("()"))
        if full is None:
            return [code], []
        place = addnodes.pending_xref(
            raw,
            code,
            refdomain="py",
            reftype="obj",
            reftarget=full,
            refdoc=app.env.docname,
            refexplicit=True,
            refwarn=True,
        )
        return [place], []

    def in_lists_of_parameters(app: Sphinx, page: nodes.document) -> None:
        """Override a method of Sphinx that would treat every word of a type as a name."""
        for node in list(page.findall(addnodes.pending_xref)):
            target = node.get("reftarget", "")
            if node.get("refdomain") != "py" or node.get("refexplicit"):
                continue
            if target in known:
                node["reftarget"] = known[target]
            elif not target.startswith("treelet."):
                node.replace_self(node.children)

    app.add_role("known", role)
    app.connect("doctree-read", in_lists_of_parameters)
