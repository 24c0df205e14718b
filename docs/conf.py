"""Configuration of the documentation site, which `make docs` builds in ``build/site``."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

import treelet  # noqa: E402
from _frame import formulas, names, thumbnails  # noqa: E402
from _frame.contents import table_of_contents  # noqa: E402
from _frame.docstrings import linked_pages, literal_blocks  # noqa: E402
from _frame.links import REPOSITORY, for_site  # noqa: E402
from _frame.staging import stage  # noqa: E402

project = "treelet"
author = "the treelet developers"
copyright = author
version = release = treelet.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "myst_nb",
]
exclude_patterns = ["_frame", "**/.ipynb_checkpoints"]
root_doc = "index"
default_role = "known"  # in docstrings
add_module_names = False
python_maximum_signature_line_length = 88

autodoc_typehints = "none"  # the docstrings describe the types
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # inherited methods are documented on the page of the base class
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["mystnb.unknown_mime_type"]


def _code() -> str:
    """Return a hash of the code, because notebooks must run again when the code changes."""
    digest = hashlib.sha256()
    for file in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "native").iterdir()]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "notebooks" / _code())
nb_execution_timeout = 300  # seconds per cell; generous, for busy machines
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True  # what a cell prints is one block, whatever the times of its parts
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # the default script comes from another server

html_theme = "pydata_sphinx_theme"
html_title = "treelet"
html_static_path = ["_static"]
html_css_files = ["treelet.css"]
html_js_files = [("views.js", {"type": "module"})]
html_favicon = "_static/logo.svg"
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "treelet", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "icon_links": [{"name": "Sources", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": True,
}
html_sidebars = {"index": [], "papers": []}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_here_doc_delimiter = "END"
linkcheck_timeout = 20
linkcheck_ignore = [REPOSITORY]  # links to files of the repository, which `for_site` has checked


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    file = DOCS / f"{page}.md"
    if file.is_file() and not page.startswith(("api/", "project/")):
        path = file.relative_to(ROOT).as_posix()
        text = for_site(source[0], path, ROOT)
        source[0] = text + table_of_contents(page, text)


def _docstring(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    lines[:] = linked_pages(literal_blocks(lines))


def _skip(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Skip inherited methods of other libraries."""
    home = getattr(getattr(member, "fget", member), "__module__", "treelet") or "treelet"
    return True if not str(home).startswith("treelet") else None


def _finished(app: Sphinx, error: Exception | None) -> None:
    """Raise an error if a page was not written. Sphinx does not report such failures of its worker processes."""
    if error is None and app.builder.name == "html":
        missing = [page for page in app.env.found_docs if not Path(app.builder.get_outfilename(page)).is_file()]
        if missing:
            raise ExtensionError(
                f"Pages were not written: {', '.join(sorted(missing))}. Run make docs JOBS=1 to see why."
            )


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    stage(ROOT)
    formulas.setup(app)
    names.setup(app)
    thumbnails.setup(app)
    app.connect("source-read", _read)
    app.connect("build-finished", _finished)
    app.connect("autodoc-process-docstring", _docstring, priority=100)  # before napoleon
    app.connect("autodoc-skip-member", _skip)
