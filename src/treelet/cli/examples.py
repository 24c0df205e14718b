"""Files of examples for the commands that train or use models, and the columns that a model needs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treelet.cli.compare import trees_in_brackets
from treelet.cli.reading import Reading, shown_files
from treelet.errors import FormatError, ParameterError, TreeletWarning

if TYPE_CHECKING:
    from treelet.kernels import Kernel
    from treelet.learn.outputs import SavedPredictor
    from treelet.structures import Treebank

_SHOWN = 5  # features


_ONLY_TREES = ("brackets", "lines", "conllu", "html", "xml", "python", "code")
"""Formats without a place for labels."""


@dataclass(frozen=True)
class Examples:
    """The contents of a file: named columns of trees, feature vectors and strings, and labels if there are any."""

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
        """Return the labels. Raise an error with a remedy if any label is missing."""
        if not self.n:
            raise ParameterError(f"{self.file}: the file contains no examples.")
        if self.labels is None or not any(self.labels):
            reason = f", because the format {self.format!r} stores only trees" if self.format in _ONLY_TREES else ""
            others = (
                "" if self.format in ("svmlight_tk", "kelp") else ", or use a file in the format svmlight_tk or kelp"
            )
            raise ParameterError(
                f"{self.file}: the examples have no class labels{reason}. "
                f"Write one example per line as label<TAB>tree in a .tsv file{others}."
            )
        if "" in self.labels:
            number = self.labels.index("") + 1
            raise ParameterError(
                f"{self.file}: example {number} has an empty label. Add a label or remove the example."
            )
        return self.labels

    def columns(self) -> str:
        """Return the names of the columns, for messages."""
        names = [_named("tree column", self.trees)] if self.trees else []
        names += [_named("vector column", self.vectors)] if self.vectors else []
        return " and ".join(names) or "neither trees nor vectors"


def _named(noun: str, names: Collection[str]) -> str:
    from treelet.checks import some_of

    return f"the {noun}{'s' if len(names) > 1 else ''} {some_of(names)}"


def read(files: Sequence[str], reading: Reading, *, labels: bool = True) -> Examples:
    """Read files and folders in any format.

    With ``labels=False``, the labels are ignored and may be missing, and `files` may be trees in brackets.
    """
    from treelet.formats import read_document
    from treelet.structures import Treebank

    if not labels and (bank := trees_in_brackets(files, "TREES", reading)) is not None:
        return Examples("TREES", "brackets", {"tree": bank}, {}, {}, None, len(bank))
    document = read_document(list(files), labels=labels, **reading.arguments())
    chosen, shown = str(document.format), shown_files(files)
    both = document.trees.keys() & document.vectors.keys()
    if both:
        raise FormatError(
            f"a tree column and a vector column are both called {min(both)!r}. Rename one of them.", shown
        )
    trees = {name: Treebank.from_columns(columns) for name, columns in document.trees.items()}
    return Examples(shown, chosen, trees, document.vectors, document.strings, document.labels, len(document))


# --- for a model --------------------------------------------------------------------------------------------------


def for_model(model: SavedPredictor, examples: Examples) -> Any:
    """Return the columns of a file that the kernel of a model needs, under the names that the kernel uses."""
    from treelet.checks import suggestion
    from treelet.structures import Table

    wanted = list(dict.fromkeys(_columns(model.model_.kernel)))
    if not wanted:
        if len(examples.trees) != 1:
            raise ParameterError(
                f"{examples.file}: the model needs exactly one tree per example. The file has {examples.columns()}."
            )
        return next(iter(examples.trees.values()))
    columns: dict[Any, Any] = {**examples.trees, **examples.vectors}
    if examples.format == "svmlight_tk":
        columns = _numbered_alike(columns, wanted, examples)
    missing = [str(name) for name in wanted if name not in columns]
    if missing:
        near = suggestion(missing[0], map(str, columns))
        raise ParameterError(
            f"{examples.file}: the model needs {_named('column', missing)}. The file has {examples.columns()}.{near}"
        )
    _warn_of_new_features(model, columns, examples.file)
    return Table({name: columns[name] for name in wanted})


def _warn_of_new_features(model: SavedPredictor, columns: dict[Any, Any], file: str) -> None:
    """Warn if the vectors of a file share no feature with the model, because they then have no effect."""
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
        features = dict.fromkeys(feature for vector in columns[path[0]] for feature in vector)
        if features and features.keys().isdisjoint(known.names):
            warnings.warn(
                f"{file}: none of the features in the column {path[0]!r} was seen in training, so the column has no effect. "
                f"Features in the file: {some_of(features, _SHOWN)}. Features in training: {some_of(known.names, _SHOWN)}.",
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
    """Return the columns of an SVM-Light-TK file under the names that the model uses.

    The format has no column names. The first tree column is called ``tree``, or ``tree1`` if any line has a second tree.
    Columns that the model needs and the file lacks are filled with missing trees or empty vectors.
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
                    f"{examples.file}: the model was trained with {_named('column', lacking)}, which no line contains. "
                    "These values are treated as missing.",
                    TreeletWarning,
                    stacklevel=3,
                )
            columns = {**{name: nothing() for name in numbered}, **columns}
    return columns
