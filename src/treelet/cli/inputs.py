"""The inputs of commands: trees in brackets, files of trees and of examples, grammars, and the columns that a model needs."""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from treelet.cli.options import Reading, shown_files
from treelet.errors import FileError, FormatError, ParameterError, TreeError, TreeletWarning, UnseenLabelWarning
from treelet.printable import printable_name, shortened

if TYPE_CHECKING:
    from treelet.kernels import Kernel
    from treelet.learn.outputs import SavedPredictor
    from treelet.parsing import PCFG
    from treelet.structures import Tree, Treebank

DEFAULT_K = 5  # neighbors per query
FILE_AND_LINE = re.compile(r"([^(].*):(\d{1,9})")

# --- trees ------------------------------------------------------------------------------------------------------------


def read_argument(text: str, argument: str, reading: Reading, *, located: bool = False) -> Any:
    """Return the tree of an argument, which is a bracketed tree, ``@FILE``, or the name of a file with one tree.

    If `located`, trees of source code and markup know the places of their nodes.
    """
    from treelet.checks import plural
    from treelet.formats.reading import read_located
    from treelet.structures import Tree, read_trees

    if text.lstrip().startswith("("):
        try:
            return Tree.parse(text)
        except FormatError as error:
            raise type(error)(error.message, argument, error.line, error.column) from error
    name = text.removeprefix("@")
    try:
        trees: Any = read_located(name, **reading.arguments()) if located else None
        if trees is None:
            trees = read_trees(name, **reading.arguments())
    except FileError as error:
        raise_unreadable(text, error)
    if len(trees) != 1 or trees[0] is None:
        raise TreeError(f"{name}: the file must contain exactly one tree. Got {plural(len(trees), 'tree')} instead.")
    return trees[0]


def read_bank(files: Sequence[str], argument: str, reading: Reading, **options: Any) -> Treebank:
    """Return the trees of an argument, which consists of trees in brackets, or of files and folders."""
    from treelet.structures import read_trees

    bank = _trees_in_brackets(files, argument, reading)
    return read_trees(list(files), **reading.arguments(**options)) if bank is None else bank


def _trees_in_brackets(texts: Sequence[str], argument: str, reading: Reading) -> Treebank | None:
    """Return the trees that an argument consists of, or None if it consists of files, ``-`` or ``@FILE``."""
    from treelet.structures import Treebank

    trees = [text for text in texts if text.lstrip().startswith("(") and not os.path.lexists(text)]
    if trees and len(trees) < len(texts):
        raise ParameterError(f"{argument} contains trees in brackets and file names. Pass trees only, or files only.")
    names = [argument if len(trees) == 1 else f"tree {number} of {argument}" for number in range(1, len(trees) + 1)]
    named = zip(trees, names, strict=True)
    return Treebank([read_argument(text, name, reading) for text, name in named]) if trees else None


def raise_unreadable(text: str, error: FileError) -> NoReturn:
    """Raise the error for an argument that is neither a bracketed tree nor a readable file."""
    if text.startswith("@") or text == "-":
        raise error
    example = "'(NP (D the) (N apple))'"
    if isinstance(error.__cause__, FileNotFoundError):
        raise FileError(
            f"{shortened(text)} is neither a tree in brackets nor an existing file. "
            f"Write a tree such as {example}, or pass a file name."
        ) from error
    raise FileError(f"{error} Write a tree in brackets, for example {example}.") from error


def tree_at(trees: Treebank, file: str, line: int, each: str = "function") -> int:
    """Return the row of the innermost tree at a line of a file of source code."""
    around = [
        ((place.end_line or place.line) - place.line, -row)
        for row, place in enumerate(trees.places or ())
        if place.line <= line <= (place.end_line or place.line)
    ]
    if not around:
        raise ParameterError(f"{file}:{line}: no {each} contains this line. Pass a line inside a {each}.")
    return -min(around)[1]


def tree_texts(tree: Tree | None) -> dict[str, str]:
    """Return a tree and its words as texts."""
    return {"tree": "", "words": ""} if tree is None else {"tree": str(tree), "words": " ".join(tree.words())}


def shown_words(item: dict[str, Any]) -> str:
    """Return the words of a tree, and its place if it is known."""
    words = item["words"] if item["tree"] else "(no tree)"
    cut = words if len(words) <= 100 else f"{words[:96]} ..."
    text = f"{item['place']}{' ' * bool(item['name'])}{item['name']}: {cut}" if "place" in item else cut
    return printable_name(text)  # names of files and words may contain line breaks


def load_grammar(file: str) -> PCFG:
    """Read a grammar from a JSON or text file. Warnings about the grammar are printed as notes on standard error."""
    from treelet.formats.files import unpacked_name
    from treelet.parsing import PCFG

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        grammar = PCFG.load(file) if unpacked_name(file).suffix.lower() == ".json" else PCFG.read_text(file)
    for note in noted:
        print(f"treelet: note: {file}: {note.message}", file=sys.stderr)
    return grammar


# --- examples ---------------------------------------------------------------------------------------------------------


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
            only_trees = self.format in ("brackets", "lines", "conllu", "html", "xml", "python", "code")
            reason = f", because the format {self.format!r} stores only trees" if only_trees else ""
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

    def values(self) -> list[float]:
        """Return the labels as numbers."""
        values = []
        for number, label in enumerate(self.needed_labels(), 1):
            try:
                values.append(float(label))
            except ValueError:
                values.append(math.nan)
            if not math.isfinite(values[-1]):
                raise ParameterError(
                    f"{self.file}: the label of example {number}, {label!r}, is not a finite number. Use --task classify for labels that are names."
                )
        return values

    def queries(self, name: str) -> list[str]:
        """Return the query of each example. Only candidates of the same query are compared with each other."""
        if name not in self.strings:
            from treelet.checks import some_of, suggestion

            available = f"The file has {some_of(self.strings)}." if self.strings else "The file has no such columns."
            raise ParameterError(
                f"{self.file}: ranking needs a string column {name!r} with the query of each example. {available}"
                f"{suggestion(name, self.strings)} Pass --query NAME, or --option query_column=NAME for tsv and csv."
            )
        return self.strings[name]

    def columns(self) -> str:
        """Return the names of the columns, for messages."""
        names = [_named("tree column", self.trees)] if self.trees else []
        names += [_named("vector column", self.vectors)] if self.vectors else []
        return " and ".join(names) or "neither trees nor vectors"


def _named(noun: str, names: Collection[str]) -> str:
    from treelet.checks import some_of

    return f"the {noun}{'s' if len(names) > 1 else ''} {some_of(names)}"


def read_examples(files: Sequence[str], reading: Reading, *, labels: bool = True) -> Examples:
    """Read files and folders in any format.

    With ``labels=False``, the labels are ignored and may be missing, and `files` may be trees in brackets.
    """
    from treelet.formats import read_document
    from treelet.structures import Treebank

    if not labels and (bank := _trees_in_brackets(files, "TREES", reading)) is not None:
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
                f"Features in the file: {some_of(features, 5)}. Features in training: {some_of(known.names, 5)}.",
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


# --- classes ----------------------------------------------------------------------------------------------------------


def class_names(predictor: Any) -> list[str]:
    """Return the labels of a classifier as strings."""
    return [str(name) for name in predictor.classes_.tolist()]


def scored(classifier: SavedPredictor, data: Any) -> tuple[list[str], list[list[float]]]:
    """Return the label of each example and the score of each class. Two classes have scores of opposite sign."""
    import numpy as np

    values = classifier.decision_function(data)
    if values.ndim == 1:
        best = (values > 0).astype(int)
        values = np.column_stack([-values, values])
    else:
        best = values.argmax(axis=1)
    names = [str(name) for name in classifier.classes_.tolist()]
    return [names[number] for number in best], (values + 0.0).tolist()


def checked_labels(classifier: Any, contents: Examples) -> tuple[list[str], list[str]]:
    """Return the labels of a file and the labels that a classifier knows.

    Labels that the classifier does not know cause a warning, or an error if the classifier knows none of the labels.
    """
    from treelet.formats import label_text
    from treelet.learn.outputs import unseen_labels

    known = [label_text(name) for name in class_names(classifier)]  # +1 and 1 are the same class
    truth = contents.needed_labels()
    if contents.format == "svmlight_tk" and set(truth) == {"0"} and "0" not in known:
        raise ParameterError(
            f"{contents.file}: the examples have no class labels, because all targets are 0. Write the class of each example as its target."
        )
    unseen, none_seen = unseen_labels(truth, known)
    if none_seen:
        raise ParameterError(f"{contents.file}: {unseen} Check the file name and the column of the labels.")
    if unseen:
        warnings.warn(f"{contents.file}: {unseen}", UnseenLabelWarning, stacklevel=2)
    return truth, known
