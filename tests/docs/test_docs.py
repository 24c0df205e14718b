"""Everything that the documentation shows runs as written."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import traceback
from pathlib import Path
from statistics import median
from unittest import mock

import pytest
from threadpoolctl import threadpool_limits

import experiments
import treelet
from _frame.contents import pages_in
from conftest import ROOT, shows
from tools import typed_examples
from treelet.formats.base import FORMATS

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *pages_in(ROOT / "docs")]
WITH_COMMANDS = [ROOT / "docs" / "start.md"]  # its commands make files for its blocks: test_command_line_page runs both
NEEDED = {  # packages that are not always installed
    ROOT / "docs" / "ten-million-trees.md": ["faiss"],
    ROOT / "docs" / "migrating-from-zss.md": ["zss", "apted", "edist"],
    ROOT / "docs" / "generated-code.md": ["tree_sitter"],
}
WRITING = [
    ROOT / "docs" / name for name in ("classifying.md", "indexes.md")
]  # their blocks write files to the current folder
# A text block directly after a Python block that prints is the output of that block.
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^ *(```+|~~~+) *(\S*)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
MODULES = sorted(
    module.name
    for package in (treelet, experiments)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith(("__main__", ".emulated"))  # the latter: device code, no module
)


def blocks(text: str) -> list[tuple[int, str, str | None]]:
    """Return for each Python block the number of lines before it, its source, and the output shown below it, if any."""
    return [(text.count("\n", 0, match.start(1)), match[1], match[2]) for match in BLOCK.finditer(text)]


def run_blocks(page: Path) -> int:
    """Run the blocks of a page in one namespace and compare their output; a failure reports the page and line.

    Formats that a page registers are removed again: other tests list all formats.
    """
    with mock.patch.dict(FORMATS):
        return _run_blocks(page)


def _run_blocks(page: Path) -> int:
    namespace: dict[str, object] = {"__name__": "__docs__"}
    found = blocks(page.read_text(encoding="utf-8"))
    for line, source, shown in found:
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                exec(compile("\n" * line + source, str(page), "exec"), namespace)
        except Exception as error:
            if isinstance(error, SyntaxError):
                number = error.lineno
            else:
                lines = [
                    frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(page)
                ]
                number = lines[-1]
            pytest.fail(f"{page}:{number}: {type(error).__name__}: {error}", pytrace=False)
        if shown is not None and "print(" in source and not shows(output.getvalue(), shown):
            pytest.fail(
                f"{page}:{line + 1}: the page shows\n{shown}\nbut the block prints\n{output.getvalue()}", pytrace=False
            )
    return len(found)


def test_blocks_are_type_checked_on_their_own_lines() -> None:
    page = "# a\n```python\nx = 1\n```\n\n```text\ny\n```\n```python\nz = 2\nprint(z)\n```\n"
    assert typed_examples.module_of(page).splitlines() == ["", "", "x = 1", *[""] * 6, "z = 2", "print(z)"]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


LONG = {ROOT / "docs" / name for name in ("tutorial-reranking.md", "ten-million-trees.md")}
"""Pages whose blocks take seconds. make lint checks their types at every change."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page in LONG else ()) for page in PAGES], ids=name_of
)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path if page in WRITING else ROOT)
    fences = [match[2] for match in FENCE.finditer(page.read_text(encoding="utf-8"))]
    assert len(fences) % 2 == 0, "a block is not closed"
    if page in WITH_COMMANDS:
        return
    for package in NEEDED.get(page, []):
        pytest.importorskip(package, reason=f"{package} is not installed: install treelet[all] and the group peers")
    with threadpool_limits(1):  # Threads of OpenMP that wait for each other are very slow on a busy machine.
        found = run_blocks(page)
    assert found == sum(language in ("python", "py", "python3") for language in fences), (
        "a python block was not recognized: write ```python at the start of a line"
    )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing


ANCHOR = re.compile(r"\]\(([^)#:]*)#([^)]+)\)")


def anchors(page: Path) -> set[str]:
    """The names by which headings are linked to."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_headings(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = [(page.parent / name if name else page, anchor) for name, anchor in ANCHOR.findall(text)]
    assert [
        (target.name, name) for target, name in found if target.suffix == ".md" and name not in anchors(target)
    ] == []


PATH = re.compile(r"`([\w./-]+(?:/|\.(?:py|pyi|hpp|cpp|md)))`")


def files_named(text: str) -> list[str]:
    """What looks like a path of the repository, or of the package, or is a file's bare name."""
    return sorted(set(PATH.findall(text)))


def is_there(path: str) -> bool:
    places = (ROOT, ROOT / "src", ROOT / "src" / "treelet")
    bare = "/" not in path and any(list((ROOT / top).rglob(path)) for top in ("src", "native", "experiments", "tests"))
    return bare or any((place / path).exists() for place in places)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_paths_that_are_named_exist(name: str) -> None:
    found = files_named((ROOT / name).read_text(encoding="utf-8"))
    assert len(found) > 12
    assert [path for path in found if not is_there(path)] == []
    assert not is_there("src/treelet/nowhere.py")
    assert not is_there("nowhere.py")


FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")


def strange_figures(row: str) -> list[str]:
    """The figures of a table's row that are not in the page that the row links to."""
    page = LINK.findall(row)[-1]
    known = set(FIGURE.findall((ROOT / page).read_text(encoding="utf-8")))
    text = re.sub(r"\(\d{4}\)|LING 572", "", row.rpartition("](")[0])  # years and the name of a course are not figures
    return [figure for figure in FIGURE.findall(text) if figure not in known]


def test_figures_of_the_readme_are_those_of_the_pages() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "](docs/" in line]
    assert len(rows) >= 11
    assert {row: strange for row in rows if (strange := strange_figures(row))} == {}
    figure = FIGURE.findall(rows[0].rpartition("](")[0])[-1]
    assert strange_figures(rows[0].replace(figure, f"{figure}987")) == [f"{figure}987"]
    claims = re.search(
        r"Of (\d+) claims, (\d+) hold in our experiments, (\d+) hold in part, (\d+) effects are smaller than printed or absent, "
        r"(\d+) claims are undecided \(our data neither confirm nor contradict them\), and (\d+) are contradicted",
        " ".join(text.split()),
    )
    index = " ".join((ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8").split())
    assert claims
    counts = "Of {} claims of the papers: {} holds, {} partly, {} weaker than printed, {} undecided, {} contradicted."
    assert counts.format(*claims.groups()) in index


def test_figures_of_the_papers_are_those_of_the_pages() -> None:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| ").split(" | ") for line in text.splitlines() if "](results/" in line and line.startswith("| ")
    ]
    assert len(rows) >= 20
    for *_, ours, page in rows:
        known = (ROOT / "docs" / LINK.findall(page)[0]).read_text(encoding="utf-8").replace("\u00a0", " ")
        assert ours.strip() in known, f"{ours} is not on {page}"


def test_figures_of_the_forest_kernel_are_those_of_the_pages() -> None:
    text = " ".join((ROOT / "docs" / "kernels" / "forest.md").read_text(encoding="utf-8").split())
    gains = re.findall(r"(\+\d\.\d\d)(?: to (\+\d\.\d\d))?[^+]*?\]\((\.\./results/[\w-]+\.md)[#\w-]*\)", text)
    assert len(gains) == 6
    for *figures, page in gains:
        known = (ROOT / "docs" / "kernels" / page).read_text(encoding="utf-8")
        assert all(figure in known for figure in figures), (figures, page)


SECONDS = {
    "docs/index.md": {"sst": r"takes ([\d.]+) s of CPU time of one thread"},
    "docs/kernels.md": {
        "st": r"take ([\d.]+) s with ST",
        "sst": r", ([\d.]+) s with SST",
        "ptk": r"and ([\d.]+) s with PT",
    },
    "docs/kernels/subtree.md": {"st": r"trees take ([\d.]+) s with one thread"},
    "docs/kernels/subset-tree.md": {"sst": r"trees take ([\d.]+) s with one thread"},
    "docs/kernels/partial-tree.md": {"ptk": r"trees take ([\d.]+) s with one thread"},
}


def test_times_of_kernels_are_those_of_the_benchmark() -> None:
    measured = json.loads((ROOT / "docs" / "results" / "bench.json").read_text(encoding="utf-8"))["by_n"]
    for name, sentences in SECONDS.items():
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        for kernel, sentence in sentences.items():
            assert re.findall(sentence, text) == [f"{measured[kernel][-1]['treelet_s']:.2f}"], f"{name}, {kernel}"
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"takes {median(measured['sst'][-1]['ratios']):.0f} times as long" in front


def test_readme_and_kernels_have_examples() -> None:
    for name in ("README.md", "docs/kernels.md"):
        assert blocks((ROOT / name).read_text(encoding="utf-8")), f"{name} shows nothing that runs"


def test_a_failing_block_is_reported_with_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```python\nx = 1\n```\n\nmore\n\n```python\ny = x\nassert y == 2\n```\n", encoding="utf-8"
    )
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:11: AssertionError"):
        run_blocks(page)
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: the page shows\n2\n"):
        run_blocks(page)
    page.write_text("```python\nx = = 1\n```\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: SyntaxError"):
        run_blocks(page)


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    if name == "treelet.testing.strategies":
        pytest.importorskip("hypothesis")
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0, "see the captured output"


def test_the_walk_finds_the_modules_and_their_doctests() -> None:
    assert {"treelet.kernels.tree", "treelet.structures.treebank", "treelet.fragments.occurrences"} <= set(MODULES)
    finder = doctest.DocTestFinder()
    examples = sum(len(test.examples) for test in finder.find(importlib.import_module("treelet.kernels.tree")))
    assert examples >= 3
