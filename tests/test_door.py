"""What `treelet` shows: few names, each listed once, loaded when they are used."""

from __future__ import annotations

import inspect

import pytest

import treelet as tl
from conftest import run_python


def test_import_is_light() -> None:
    run_python(
        "import sys, treelet\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'typer', 'rich', 'matplotlib', 'pandas', 'hypothesis'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "treelet.SubsetTree, treelet.Treebank\n"
        "heavy = {'scipy', 'sklearn', 'typer', 'rich', 'matplotlib', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )


def test_names() -> None:
    assert len(tl.__all__) <= 45
    assert len(set(tl.__all__)) == len(tl.__all__)
    assert dir(tl) == sorted(tl.__all__)
    for name in tl.__all__:
        assert not inspect.ismodule(getattr(tl, name)), name
    with pytest.raises(AttributeError):
        tl.nothing
    assert run_python("from treelet import *; print(SubsetTree.__name__, __version__)").split()[0] == "SubsetTree"


def test_packages_are_loaded_by_their_names() -> None:
    packages = [name for name, home in tl._WHERE.items() if home == "treelet"]
    run_python(
        "import treelet as tl\n" + "".join(f"assert tl.{name}.__name__ == 'treelet.{name}'\n" for name in packages)
    )


GRAM = [
    "treelet.gram",
    "import treelet.gram",
    "from treelet.gram import gram",
    "from treelet import gram",
    "import treelet.gram.plan",
    "from treelet.gram.plan import row_strips",
    "treelet.SubsetTree()(['(A x)'])",
]


@pytest.mark.parametrize("first", range(len(GRAM)))
def test_gram_is_a_function_whatever_was_imported_before(first: int) -> None:
    check = (
        "assert inspect.isfunction(treelet.gram)\n"
        "assert inspect.ismodule(sys.modules['treelet.gram'])\n"
        "assert list(inspect.signature(treelet.gram).parameters)[:3] == ['kernel', 'X', 'Y']\n"
    )
    steps = GRAM[first:] + GRAM[:first]
    run_python(
        "import inspect, sys, treelet\n" + "".join(f"{step}\n{check}" for step in steps) + "from treelet import gram\n"
        "from treelet.gram import gram as same, parse_memory\n"
        "assert gram is same is treelet.gram\n"
    )
