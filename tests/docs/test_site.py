"""The documentation's site, as far as it can be checked without Sphinx: its sidebar, its links, its reference."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import treelet
from _frame import api, commands
from _frame.contents import listed, pages_in, reachable, table_of_contents
from _frame.docstrings import linked_pages, literal_blocks
from _frame.links import REPOSITORY, for_site, notebook_for_site
from _frame.staging import stage
from conftest import ROOT

DOCS = ROOT / "docs"


# --- the sidebar ----------------------------------------------------------------------------------------------------


def test_the_sidebar_names_every_page() -> None:
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in pages_in(DOCS)}
    missing = pages - set(reachable(DOCS))
    assert not missing, "give each a line in the list of its section (docs/start.md, how-to.md, kernels.md, ...)"


def test_the_gallery_has_every_notebook() -> None:
    found = {page for some in listed((DOCS / "gallery.md").read_text(encoding="utf-8")).values() for _, page in some}
    assert found == {f"../examples/{file.stem}" for file in (ROOT / "examples").glob("*.ipynb")}


def test_a_page_that_no_list_names_is_found(tmp_path: Path) -> None:
    for name, text in {
        "index.md": "# Front",
        "how-to.md": "- [One](one.md): a page\n\nSee [another](other.md).\n\n```text\n- [Shown](shown.md)\n```\n",
        "one.md": "- [No section](other.md)\n",
        "other.md": "",
        "shown.md": "",
        "about.md": "- [Decisions](decisions.md)",
        "decisions.md": "# All",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert reachable(tmp_path) == ["index", "how-to", "one", "about", "decisions"]


def test_lists_become_the_sidebar_under_their_headings() -> None:
    text = "# How to\n\n- [`a` first](a.md)\n\n## More\n\n- [B](b.md): text\n- text [C](c.md)\n\n| x | [d](k/d.md) |\n| [e](e.md) | x |\n"
    assert listed(text) == {"": [("a first", "a")], "More": [("B", "b"), ("d", "k/d")]}
    made = table_of_contents("how-to", text)
    assert ":caption: More\n\nB <b>\n" in made
    assert "C <c>" not in made
    assert table_of_contents("one-page", text) == ""


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "link", "wanted"),
    [
        ("docs/notebooks.md", "../examples/first-steps.ipynb", "gallery/first-steps.ipynb"),
        ("docs/kernels/forest.md", "../../CHANGELOG.md#unreleased", "../project/changes.md#unreleased"),
        ("docs/about.md", "../LICENSE", f"{REPOSITORY}/blob/main/LICENSE"),
        ("docs/about.md", "../examples", f"{REPOSITORY}/tree/main/examples"),
        ("docs/about.md", "kernels.md#pt-partial-trees", "kernels.md#pt-partial-trees"),
        ("CONTRIBUTING.md", "docs/formats.md#a-format-of-your-own", "../formats.md#a-format-of-your-own"),
        ("CONTRIBUTING.md", "CHANGELOG.md", "changes.md"),
        ("docs/about.md", "nowhere.md", "nowhere.md"),
        ("docs/about.md", "../../outside.md", "../../outside.md"),
        ("docs/about.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("docs/about.md", "#here", "#here"),
    ],
)
def test_links_lead_to_their_place_in_the_site(page: str, link: str, wanted: str) -> None:
    assert for_site(f"see [it]({link}).", page, ROOT) == f"see [it]({wanted})."
    fenced = f"```text\n[it]({link})\n```\n"
    assert for_site(fenced, page, ROOT) == fenced
    cells = [{"cell_type": kind, "source": [f"[it]({link})"]} for kind in ("markdown", "code")]
    made = json.loads(notebook_for_site(json.dumps({"cells": cells}), page, ROOT))
    assert "".join(made["cells"][0]["source"]) == f"[it]({wanted})"
    assert made["cells"][1] == cells[1]


# --- the reference --------------------------------------------------------------------------------------------------


def test_every_public_name_has_one_page() -> None:
    pages = api.pages()
    for of in api.PACKAGES:
        for name in api.names_of(of):
            full = api.full_name(of, name)
            assert full in pages
            assert f"{name} <{full}>" in pages[of]
    missing = [name for name in treelet.__all__ if name not in api.PACKAGES and f"treelet.{name}" not in pages]
    assert missing == ["__version__"]
    folder = Path(treelet.__file__).parent
    packages = {one.parent.name for one in folder.glob("*/__init__.py")} - {"cli", "device", "explorer"}
    assert packages <= set(api.PACKAGES)


def test_modules_that_pages_name_are_in_the_reference() -> None:
    known = set(api.pages())
    text = "".join(page.read_text(encoding="utf-8") for page in pages_in(DOCS))
    named = set(re.findall(r"from treelet\.(\w+\.[\w.]+) import", text))
    assert len(named) > 3
    public = {name for of in api.PACKAGES for name in api.names_of(of)}
    for module, names in re.findall(r"from treelet\.(\w+\.[\w.]+) import ([\w, ]+)", text):
        assert f"treelet.{module}" in known or {one.strip() for one in names.split(",")} <= public, module


def test_every_public_name_says_what_it_is() -> None:
    for of in api.PACKAGES:
        for name in api.names_of(of):
            value = api.value_of(of, name)
            assert api.summary(value, api.kind_of(value), api.full_name(of, name)), f"{of}.{name} has no docstring"


def test_functions_that_are_packages_too_are_functions_in_the_reference() -> None:
    pages = api.pages()
    assert ".. py:currentmodule:: treelet\n\n.. autofunction:: gram" in pages["treelet.gram"]
    assert ".. autofunction:: operator" in pages["treelet.matrices.operator"]
    known = api.known_names()
    assert known["gram"] == known["tl.gram"] == "treelet.gram"
    assert known["treelet.kernels.SubsetTree"] == known["SubsetTree"] == "treelet.SubsetTree"
    assert known["TaggedBank"] == "treelet.structures.TaggedBank"
    assert api.place_of("PartialTree.normalized") == "treelet.kernels.Kernel.normalized"
    assert api.place_of("tl.Tree.parse") == "treelet.Tree.parse"
    assert api.place_of("Explanation.heat") == "treelet.fragments.Explanation"  # an attribute
    assert api.place_of("n_jobs") is api.place_of("np.array") is None


def test_the_help_of_every_command_is_a_page() -> None:
    helps = commands.helps()
    names = {file.stem for file in (ROOT / "src" / "treelet" / "cli").glob("*.py")}
    assert {"treelet gram", "treelet train", "treelet doctor"} <= set(helps)
    assert {name.split()[1] for name in helps if name != "treelet"} <= names
    assert all(text.startswith(f"Usage: {name} [OPTIONS]") for name, text in helps.items())
    assert max(len(line) for text in helps.values() for line in text.splitlines()) <= commands.WIDTH
    assert "--lam" in helps["treelet train"]


def test_what_is_indented_is_shown_as_it_stands() -> None:
    text = ["Text:", "", "    K |a|", "", "    more", "", "on.", "", "x : int", "    What", "", "    it is."]
    wanted = [
        "Text:",
        "",
        "::",
        "",
        "    K |a|",
        "",
        "    more",
        "",
        "on.",
        "",
        "x : int",
        "    What",
        "",
        "    it is.",
    ]
    assert literal_blocks(text) == wanted
    for same in (
        ["Text::", "", "    K", "      L"],
        ["- item", "", "  goes on"],
        [".. note::", "", "    text"],
        ["a", "    b"],
    ):
        assert literal_blocks(same) == same


def test_pages_that_docstrings_name_are_links() -> None:
    said = ["See docs/gpu.md, and ``docs/results/scale.md``."]
    assert linked_pages(said) == ["See :doc:`/gpu`, and :doc:`/results/scale`."]


def test_what_is_made_is_made_anew_only_where_it_differs(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.ipynb").write_text('{"cells": []}', encoding="utf-8")
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        (tmp_path / name).write_text(f"# {name}", encoding="utf-8")
    stage(tmp_path)
    made = {file.relative_to(tmp_path).as_posix(): file.stat().st_mtime_ns for file in tmp_path.rglob("docs/**/*.*")}
    assert {
        "docs/gallery/a.ipynb",
        "docs/project/changes.md",
        "docs/api/commands.md",
        "docs/api/treelet.gram.rst",
    } <= set(made)
    ignored = re.findall(r"^/(\w+)/$", (DOCS / ".gitignore").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name.split("/")[1] for name in made} == set(ignored)
    (tmp_path / "examples" / "a.ipynb").unlink()
    (tmp_path / "CHANGELOG.md").write_text("# new", encoding="utf-8")
    stage(tmp_path)
    assert not (tmp_path / "docs/gallery/a.ipynb").exists()
    now = {file.relative_to(tmp_path).as_posix(): file.stat().st_mtime_ns for file in tmp_path.rglob("docs/**/*.*")}
    assert {name for name in made if now.get(name) != made[name]} == {"docs/gallery/a.ipynb", "docs/project/changes.md"}
