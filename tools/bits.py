"""Compare the values of all kernels between machines, bit by bit.

On each machine, compute the values: python tools/bits.py --save FILE.npz
Then compare the files; the first is the reference: python tools/bits.py x86=FILE.npz arm=FILE.npz
It fails if values differ that docs/scale.md promises to be equal.
"""

from __future__ import annotations

import re
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

# These kernels use exp, log and pow of the C library or of NumPy, or BLAS.
NOT_PROMISED = re.compile(
    "gaussian|polynomial|power|quadratic|cubic|linear|vector|features|number$|numbers|columns side|on all|"
    "forest|locality (position|wide|by|and)|smoothed(?! pairs)"
)

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


def table(files: dict[str, str]) -> bool:
    """Print one row per kernel and one column per file: the number of values that differ from the first file.

    Return whether all values are equal that should be.
    """
    broken = []
    columns = {name: np.load(file) for name, file in files.items()}
    reference, *others = columns.values()
    print(f"| kernel | values | digest, {' | '.join(columns)} |")
    print("|---|---:|---" + "|---:" * len(others) + "|")
    for kernel in reference:
        cells = []
        for other in others:
            a, b = reference[kernel], other[kernel]
            differ = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")  # bits: NaN and -0 count, too
            worst = np.max(np.abs(a - b)[differ] / np.abs(a)[differ].clip(1e-300), initial=0)
            if differ.any() and not NOT_PROMISED.search(kernel):
                broken.append(kernel)
            cells.append(f"{differ.sum()} ({worst:.0e})" if differ.any() else "0")
        digest = sha256(reference[kernel].tobytes()).hexdigest()[:8]
        print(f"| {kernel} | {reference[kernel].size} | {digest} | {' | '.join(cells)} |")
    print(f"\nDiffer although they should be equal: {', '.join(broken) or 'none'}.")
    return not broken


if __name__ == "__main__":
    if sys.argv[1:2] == ["--save"]:
        np.savez_compressed(sys.argv[2], **values())
    else:
        sys.exit(0 if table(dict(argument.split("=", 1) for argument in sys.argv[1:])) else 1)
