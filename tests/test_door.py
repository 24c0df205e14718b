"""The public names of `treelet`: few, each listed once, and loaded on first use."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import traceback
from pathlib import Path
from types import ModuleType

import pytest

import treelet as tl
from conftest import run_python
from messages import project as messages
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


USER = """
import treelet as tl

bank = tl.read_trees("trees.mrg")
X, y = tl.read_examples("train.tsv")
kernel = 0.6 * tl.SubsetTree(lam=0.4).normalized() + 0.4 * tl.PartialTree(lam=0.4, mu=0.4)
K = kernel(bank, n_jobs=2)
G = tl.gram(kernel, bank, memory="1GiB")
clf = tl.KernelSVC(kernel=kernel, C=10.0).fit(X, y)
labels = clf.predict(["(A x)"])
ranker = tl.RankSVM(tl.SubsetTree()).fit(bank, [1.0, 2.0], qid=[1, 1])
tl.save(clf, "m.treelet")
again = tl.load("m.treelet")
shares: list[float] = [one.share for one in tl.explain(clf, bank[0]).fragments]
weights: list[float] = [one.weight for one in tl.top_fragments(clf, 5, "a")]
named = tl.Sum(syntax=kernel, words=tl.On(["n", "q"], tl.Linear()))
small = tl.gram(named, X, dtype="float32")
far = named.distance()(X, out="D.npy")
first: tl.Tree | None = bank[0]
some: tl.Treebank = bank[1:3]
"""
WRONG = [
    'tl.SubsetTree(lam="0.4")',
    "tl.gram(bank, kernel)",
    "tl.KernelSVC(c=1)",
    "bank.parse()",
    'kernel + "more"',
    "tl.Sum(a=1)",
    "tl.On(1.5, kernel)",
]


def check_types(code: str, folder: Path) -> str:
    """Return the output of mypy for a user's file, with treelet as an installed package."""
    (folder / "user.py").write_text(code)
    options = ["--strict", "--no-error-summary", "--cache-dir", str(folder / "cache"), "--config-file", os.devnull]
    where = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parent.parent)}
    command = [sys.executable, "-m", "mypy", *options, "user.py"]
    return subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False).stdout


def test_a_users_lines_have_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    lines = USER + "reveal_type(K)\nreveal_type(G)\nreveal_type(clf)\nreveal_type(labels)\n" + "\n".join(WRONG)
    said = check_types(lines, tmp_path).splitlines()
    matrix = 'Revealed type is "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]"'
    assert sum(matrix in line for line in said) == 2, said
    assert any('"treelet.learn.svm.KernelSVC"' in line for line in said)
    errors = [line for line in said if ": error: " in line]
    first = lines.splitlines().index(WRONG[0]) + 1
    assert {int(line.split(":")[1]) for line in errors} == set(range(first, first + len(WRONG))), said


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
    with pytest.raises(AttributeError, match=messages.misspelled(name, similar)) as error:
        getattr(module, name)
    printed = "".join(traceback.format_exception(error.value))
    assert printed.count("Did you mean") == 1  # Python adds no second suggestion
    with pytest.raises(ImportError, match=f"cannot import name '{name}'"):
        exec(f"from {module.__name__} import {name}")


def test_private_names_and_modules_cost_no_suggestion() -> None:
    code = "import sys, treelet\nhasattr(treelet, '_x')\nfrom treelet import lazy\nprint('numpy' in sys.modules)"
    assert run_python(code) == "False\n"


def test_names_in_subpackages_are_located() -> None:
    with pytest.raises(
        AttributeError, match=messages.is_elsewhere("DependencyBank", r"treelet\.structures\.DependencyBank")
    ):
        tl.DependencyBank
    with pytest.raises(AttributeError, match=messages.is_elsewhere("python_trees", r"treelet\.formats\.python_trees")):
        tl.python_trees
    with pytest.raises(AttributeError, match=messages.no_attribute("nowhere") + "$"):
        tl.nowhere
