"""Add a picture of each notebook to the gallery: its first plot, or otherwise its first drawing."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

PAGE = "gallery"


def _picture(app: Sphinx, page: str) -> nodes.image | None:
    found = list(app.env.get_doctree(page).findall(nodes.image))
    plots = [image for image in found if image["uri"].endswith(".png")]
    return next(iter(plots or found), None)


def _resolved(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if docname != PAGE or app.builder.format != "html":
        return
    for item in list(doctree.findall(nodes.list_item)):
        link = next(item.findall(nodes.reference), None)
        page = (link.get("refuri", "") if link else "").removesuffix(".html")
        if page not in app.env.found_docs or not page.startswith(f"{PAGE}/"):
            continue
        item.parent["classes"] += ["gallery"]
        if (image := _picture(app, page)) is not None:
            shown = nodes.image(uri=image["uri"], candidates=image["candidates"], alt="", classes=["thumbnail"])
            item.insert(0, nodes.reference("", "", shown, refuri=link["refuri"], internal=True))


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("doctree-resolved", _resolved)
