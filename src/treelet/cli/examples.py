"""Files of examples for the commands that learn, and what a model takes of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treelet.errors import FormatError, ParameterError, TreeletWarning

if TYPE_CHECKING:
    from treelet.cli.reading import Reading
    from treelet.kernels import Kernel
    from treelet.learn.deciding import SavedPredictor
    from treelet.structures import Treebank

SHOWN = 5  # features


@dataclass(frozen=True)
class Examples:
    """What a file holds: named columns of trees, of feature vectors and of texts, and labels if it has any."""

    file: str
    format: str
    trees: dict[str, Treebank]
    vectors: dict[str, list[dict[Any, float]]]
    strings: dict[str, list[str]]
    labels: list[str] | None
    n: int

    def __len__(self) -> int:
        return self.n

    def needed_labels(self) -> list[str]:
        """The labels; an error that says what to do where there are none."""
        if not self.n:
            raise ParameterError(f"{self.file}: there are no examples in it")
        if self.labels is None or not any(self.labels):
            remedy = (
                "write label<TAB>tree lines"
                if self.format == "tsv"
                else f"the format {self.format!r} has none; tsv (label<TAB>tree), svmlight_tk and kelp do"
            )
            raise ParameterError(f"{self.file}: the examples have no labels: {remedy}")
        if "" in self.labels:
            number = self.labels.index("") + 1
            raise ParameterError(f"{self.file}: example {number} has an empty label: write one, or leave it out")
        return self.labels

    def columns(self) -> str:
        """What there is, for messages."""
        parts = [f"trees {', '.join(self.trees)}"] if self.trees else []
        parts += [f"vectors {', '.join(self.vectors)}"] if self.vectors else []
        return " and ".join(parts) or "neither trees nor vectors"


def read(file: str, reading: Reading, *, labels: bool = True) -> Examples:
    """Read a file in any format; where labels are not wanted, it need not say where they are."""
    from treelet.formats import read_document
    from treelet.structures import Treebank

    document = read_document(file, labels=labels, **reading.arguments())
    chosen = str(document.format)
    shown = "<stdin>" if file == "-" else file
    both = document.trees.keys() & document.vectors.keys()
    if both:
        raise FormatError(f"{min(both)!r} names both trees and vectors: rename one of them", shown)
    trees = {name: Treebank.from_columns(columns) for name, columns in document.trees.items()}
    return Examples(shown, chosen, trees, document.vectors, document.strings, document.labels, len(document))


# --- for a model --------------------------------------------------------------------------------------------------


def for_model(model: SavedPredictor, examples: Examples) -> Any:
    """The columns of a file that a model's kernel works on, under the names that it knows them by."""
    from treelet.structures import Table

    wanted = list(dict.fromkeys(_columns(model.model_.kernel)))
    if not wanted:
        if len(examples.trees) != 1:
            raise ParameterError(
                f"{examples.file}: the model needs examples of one tree each; there are {examples.columns()}"
            )
        return next(iter(examples.trees.values()))
    columns: dict[Any, Any] = {**examples.trees, **examples.vectors}
    if examples.format == "svmlight_tk":
        columns = _numbered_alike(columns, wanted, examples)
    missing = [str(name) for name in wanted if name not in columns]
    if missing:
        raise ParameterError(
            f"{examples.file}: the model needs the column {', '.join(missing)}; the file has {examples.columns()}"
        )
    _warn_of_new_features(model, columns, examples.file)
    return Table({name: columns[name] for name in wanted})


def _warn_of_new_features(model: SavedPredictor, columns: dict[Any, Any], file: str) -> None:
    """Vectors of a file with not one of the features that a model knows are as good as empty: most likely a mistake."""
    from treelet.checks import some_of
    from treelet.structures import Vectors

    for term in getattr(model.model_, "terms", ()):
        known, path = getattr(term, "examples", None), term.kernel_term.inner.path
        if (
            not isinstance(known, Vectors)
            or known.names is None
            or len(path) != 1
            or isinstance(columns[path[0]], Vectors)
        ):
            continue
        here = dict.fromkeys(feature for vector in columns[path[0]] for feature in vector)
        if here and here.keys().isdisjoint(known.names):
            warnings.warn(
                f"{file}: none of the features of {path[0]} was seen in training, so that they count for nothing: "
                f"there are {some_of(here, SHOWN)} here, there were {some_of(known.names, SHOWN)}",
                TreeletWarning,
                stacklevel=3,
            )


def _columns(kernel: Kernel) -> Iterator[str | int]:
    from treelet.kernels import Kernel, On

    if isinstance(kernel, On):
        yield from kernel.names
        return
    for value in kernel.get_params(deep=False).values():
        if isinstance(value, Kernel):
            yield from _columns(value)


def _numbered_alike(columns: dict[Any, Any], wanted: list[Any], examples: Examples) -> dict[Any, Any]:
    """Columns of SVM-Light-TK have no names: the first is called ``tree``, or ``tree1`` if any line has a second.

    Where a file has fewer of a kind than the model wants, the others are missing trees or empty vectors in all lines.
    """
    from treelet.structures import Treebank

    n = len(examples)
    for kind, nothing in (("tree", lambda: Treebank([None] * n)), ("vector", lambda: [{}] * n)):
        first = f"{kind}1"
        if kind in columns and first in wanted:
            columns = {first if name == kind else name: column for name, column in columns.items()}
        if first in columns:
            numbered = [name for name in wanted if isinstance(name, str) and re.fullmatch(kind + "[0-9]+", name)]
            if lacking := [name for name in numbered if name not in columns]:
                warnings.warn(
                    f"{examples.file}: no line has {', '.join(lacking)}, which the model was trained on: taken as missing",
                    TreeletWarning,
                    stacklevel=3,
                )
            columns = {**{name: nothing() for name in numbered}, **columns}
    return columns
