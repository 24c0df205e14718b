"""Check that an installed treelet works. Run tools/smoke.py with the interpreter that has treelet; nothing else is needed."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import treelet as tl

ROOT = Path(__file__).resolve().parents[1]
HOME = Path(tl.__file__).resolve().parent
QUESTIONS = [
    "(S (W who) (V is) (N she))",
    "(S (W who) (V was) (N he))",
    "(S (W where) (V is) (N it))",
    "(S (W where) (V was) (N she))",
]


def expect(true: bool, what: str) -> None:
    if not true:
        sys.exit(f"treelet {tl.__version__} at {HOME}: {what}")


def main() -> None:
    expect(HOME != ROOT / "src" / "treelet", "this is the checkout, not an installation")
    expect(tl.__version__ == importlib.metadata.version("treelet"), "its version is not that of its metadata")
    licenses = {file.name for file in importlib.metadata.files("treelet") or [] if file.parent.name == "licenses"}
    expect(licenses == {"LICENSE", "NOTICE"}, f"it brings the licenses {sorted(licenses)}")
    for file in (
        "py.typed",
        "__init__.pyi",
        "drawing/web/tree-view.js",
        "explorer/static/index.html",
        "device/cuda/counts.cu",
    ):
        expect((HOME / file).is_file(), f"{file} is missing")
    expect(not list(HOME.glob("emulated*")), "the emulated device is for tests, not for users")

    bank = tl.Treebank(QUESTIONS)
    kernel = tl.SubsetTree(lam=1)
    K = tl.gram(kernel, bank)
    # Fragments of each tree: S with each of its three children expanded or not, and the three below S.
    expect(bool(np.array_equal(np.diag(K), [11, 11, 11, 11])), f"wrong values on the diagonal: {np.diag(K)}")
    expect(bool(np.array_equal(K, K.T)), "a matrix that is not symmetric")
    labels = ["person", "person", "place", "place"]
    model = tl.KernelSVC(kernel=kernel.normalized()).fit(bank, labels)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.treelet"
        tl.save(model, file)
        expect(list(tl.load(file).predict(bank)) == labels, "a model that was saved and loaded predicts otherwise")
        trees = Path(folder) / "trees.mrg"
        trees.write_text("\n".join(QUESTIONS), encoding="utf-8")
        command = [sys.executable, "-m", "treelet"]
        subprocess.run(
            [*command, "gram", str(trees), "-o", str(Path(folder) / "K.npy")], check=True, capture_output=True
        )
        expect(np.load(Path(folder) / "K.npy").shape == (4, 4), "treelet gram wrote another matrix")
        subprocess.run([*command, "doctor"], check=True, capture_output=True)
    print(f"treelet {tl.__version__} works: Python {sys.version.split()[0]}, NumPy {np.__version__}, {HOME}")


if __name__ == "__main__":
    main()
