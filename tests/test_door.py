"""The public names of `treelet`: few, each listed once, and loaded on first use."""

from __future__ import annotations

import inspect
import traceback
from types import ModuleType

import pytest

import treelet as tl
from conftest import run_python
from treelet import testing


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
    assert len(tl.__all__) <= 60
    assert len(set(tl.__all__)) == len(tl.__all__)
    packages = (
        "corpora cuts datasets drawing errors formats fragments kernels learn matrices metrics parsing report structures "
        "tasks testing"
    )
    assert dir(tl) == sorted([*tl.__all__, *packages.split()])
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


def test_functions_and_packages_have_different_names() -> None:
    run_python(
        "import inspect, treelet\nimport treelet.matrices.tiles, treelet.drawing.svg\n"
        "assert inspect.isfunction(treelet.gram) and inspect.isfunction(treelet.draw)\n"
        "assert treelet.matrices.gram is treelet.gram and treelet.drawing.draw is treelet.draw\n"
        "assert callable(treelet.matrices.operator) and callable(treelet.drawing.latex)\n"
    )


@pytest.mark.parametrize("package", ["fragments", "drawing", "matrices", "report", "corpora"])
def test_every_package_can_be_imported_first(package: str) -> None:
    run_python(f"import treelet.{package}, inspect\nassert inspect.isfunction(treelet.explain)\n")


@pytest.mark.parametrize(
    ("module", "name", "similar"),
    [
        (tl, "SubTree", "Subtree"),
        (tl, "Kernelsvc", "KernelSVC"),
        (tl, "subset_tree", "SubsetTree"),
        (tl, "SST", "SubsetTree"),
        (tl, "PTK", "PartialTree"),
        (tl, "ST", "Subtree"),
        (tl, "SVC", "KernelSVC"),
        (tl.learn, "SVR", "KernelSVR"),
        (tl.learn, "kernel_matrix", "KernelMatrix"),
        (testing, "check_kernels", "check_kernel"),
    ],
)
def test_misspelled_names_suggest_similar_names(module: ModuleType, name: str, similar: str) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. Did you mean '{similar}'\?$") as error:
        getattr(module, name)
    printed = "".join(traceback.format_exception(error.value))
    assert printed.count("Did you mean") == 1  # Python adds no second suggestion
    with pytest.raises(ImportError, match=f"cannot import name '{name}'"):
        exec(f"from {module.__name__} import {name}")


def test_private_names_and_modules_cost_no_suggestion() -> None:
    code = "import sys, treelet\nhasattr(treelet, '_x')\nfrom treelet import lazy\nprint('numpy' in sys.modules)"
    assert run_python(code) == "False\n"


def test_names_in_subpackages_are_located() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'DependencyBank'"):
        tl.DependencyBank
    with pytest.raises(AttributeError, match="has no attribute 'python_trees'"):
        tl.python_trees
    with pytest.raises(AttributeError, match=r"Use treelet\.metrics\.teds"):  # from the stub of a lazy package
        tl.teds
    with pytest.raises(AttributeError, match="has no attribute 'nowhere'"):
        tl.nowhere
