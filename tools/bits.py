"""Compare the values of all kernels between machines, bit by bit.

On each machine, compute the values: python tools/bits.py --save FILE.npz
Then compare the files; the first is the reference: python tools/bits.py x86=FILE.npz arm=FILE.npz
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def values() -> dict[str, np.ndarray]:
    """Return the matrices of all kernels of the tests, of edit distances and sketches, for fixed examples."""
    import treelet as tl
    from cases import KERNELS, MAKERS, examples, random_tree
    from treelet.learn import TreeSketch

    rng = np.random.default_rng(1)
    inputs = {kind: examples(kind, 60, seed=1) for kind in MAKERS}
    inputs["trees"] = [random_tree(rng, int(rng.integers(1, 60))) for _ in range(100)]
    found = {name: np.asarray(case.kernel(inputs[case.kind])) for name, case in KERNELS.items()}
    trees = inputs["trees"]
    found["edit distance"] = np.asarray(tl.gram(tl.EditDistance(), trees))
    found["edit similarity"] = np.asarray(tl.gram(tl.EditDistance().similarity(), trees))
    found["sketch"] = np.asarray(TreeSketch(tl.SubsetTree(0.4), n_components=64, random_state=0).fit_transform(trees))
    return found


def table(files: dict[str, str]) -> None:
    """Print one row per kernel and one column per file: the number of values that differ from the first file."""
    columns = {name: np.load(file) for name, file in files.items()}
    reference, *others = columns.values()
    print(f"| kernel | values | digest, {' | '.join(columns)} |")
    print("|---|---:|---" + "|---:" * len(others) + "|")
    for kernel in reference:
        cells = []
        for other in others:
            a, b = reference[kernel], other[kernel]
            differ = a.view(np.int64) != b.view(np.int64)
            worst = np.max(np.abs(a - b)[differ] / np.abs(a)[differ].clip(1e-300), initial=0)
            cells.append(f"{differ.sum()} ({worst:.0e})" if differ.any() else "0")
        digest = sha256(reference[kernel].tobytes()).hexdigest()[:8]
        print(f"| {kernel} | {reference[kernel].size} | {digest} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--save"]:
        np.savez_compressed(sys.argv[2], **values())
    else:
        table(dict(argument.split("=", 1) for argument in sys.argv[1:]))
