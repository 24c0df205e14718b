"""The inputs of commands: examples as arguments, files of examples, grammars, and the columns that a model needs.

Examples are trees, forests, tagged sentences or dependency parses. The kernel of a command or of a model determines which.
"""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from treelet.cli.options import Reading, shown_files
from treelet.errors import FileError, FormatError, ParameterError, TreeError, TreeletWarning, UnseenLabelWarning
from treelet.printable import printable_name, shortened

if TYPE_CHECKING:
    from treelet.kernels import Kernel
    from treelet.learn.outputs import SavedPredictor
    from treelet.parsing import PCFG
    from treelet.structures import Treebank

DEFAULT_K = 5  # neighbors per query
FILE_AND_LINE = re.compile(r"([^(].*):(\d{1,9})")

# --- trees ------------------------------------------------------------------------------------------------------------


_EXAMPLES = {
    "trees": ("a tree in brackets", "'(NP (D the) (N apple))'"),
    "forests": ("a forest in JSON or a tree in brackets", "'(NP (D the) (N apple))'"),
    "tagged": ("a tagged sentence", "'the/D dog/N'"),
    "parses": ("a parse in JSON", """'{"words": ["dogs", "bark"], "links": [[0, 1, "Sp"]]}'"""),
}
"""The contents of files, with the form in which an argument can be an example itself."""
_NOUNS = {"trees": "tree", "forests": "forest", "tagged": "tagged sentence", "parses": "parse"}


def contents_of(kernel: Kernel | None) -> str:
    """Return what a kernel compares: ``"trees"``, ``"forests"``, ``"tagged"`` (sentences) or ``"parses"``."""
    names = {"Treebank": "trees", "ForestBank": "forests", "TaggedBank": "tagged", "SequenceBank": "parses"}
    found = {names[bank.__name__] for bank in _banks(kernel)} or {"trees"}
    if len(found) > 1 or (found != {"trees"} and kernel is not None and any(_columns(kernel))):
        raise ParameterError(
            f"The kernel {kernel!r} compares {' and '.join(sorted(found))} in named columns, which files cannot contain. "
            "Use the model in Python."
        )
    return found.pop()


def _banks(kernel: Kernel | None) -> Iterator[type[Any]]:
    from treelet.kernels import Kernel

    if kernel is not None and hasattr(kernel, "bank"):
        yield kernel.bank
    elif kernel is not None:
        for value in kernel.get_params(deep=False).values():
            if isinstance(value, Kernel):
                yield from _banks(value)


def is_example(text: str, contents: str = "trees") -> bool:
    """Return whether an argument is an example itself, not the name of a file.

    >>> [is_example(text, "tagged") for text in ("the/D dog/N", "data/tagged.txt")]
    [True, False]
    """
    if contents == "tagged":
        items = text.split()
        return len(items) > 1 and all("/" in item.strip("/") for item in items)
    return text.lstrip().startswith({"trees": ("(",), "forests": ("(", "{"), "parses": ("{",)}[contents])


def read_argument(text: str, argument: str, reading: Reading, *, located: bool = False, contents: str = "trees") -> Any:
    """Return the example of an argument, which is an example itself, ``@FILE``, or the name of a file with one example.

    If `located`, trees of source code and markup know the places of their nodes.
    """
    from treelet.checks import plural
    from treelet.formats.reading import read_located

    if is_example(text, contents):
        from treelet.structures import Tree
        from treelet.structures.labeled import CONTENTS

        try:
            return Tree.parse(text) if text.lstrip().startswith("(") else CONTENTS[contents][1](text)
        except FormatError as error:
            raise type(error)(error.message, argument, error.line, error.column) from error
    name = text.removeprefix("@")
    try:
        items: Any = read_located(name, **reading.arguments()) if located else None
        if items is None:
            items = read_files([name], reading, contents)
    except FileError as error:
        raise_unreadable(text, error, contents)
    if len(items) != 1 or items[0] is None:
        noun = _NOUNS[contents]
        raise TreeError(f"{name}: the file must contain exactly one {noun}. Got {plural(len(items), noun)} instead.")
    return items[0]


def read_bank(files: Sequence[str], argument: str, reading: Reading, contents: str = "trees", **options: Any) -> Any:
    """Return the examples of an argument, which consists of examples, or of files and folders."""
    bank = _literal_examples(files, argument, reading, contents)
    return read_files(list(files), reading, contents, **options) if bank is None else bank


def read_files(files: list[str], reading: Reading, contents: str, **options: Any) -> Any:
    """Return the examples of files and folders, without labels."""
    from treelet.structures import ForestBank, read_trees

    if contents == "trees" or (contents == "forests" and _has_trees(files, reading)):
        with _naming_the_kernel(reading, contents):
            trees = read_trees(files, **reading.arguments(**options))
        return trees if contents == "trees" else ForestBank(trees)
    return _read_labeled(files, reading, contents, labels=False, **options).bank


def _read_labeled(files: list[str], reading: Reading, contents: str, *, labels: bool, **options: Any) -> Any:
    """Return the examples of files that do not contain trees."""
    from treelet.structures.labeled import read_labeled

    given = reading.arguments(**options)
    if given.pop("format") is not None:
        raise ParameterError(
            f"--format applies to trees. The format of {_NOUNS[contents]}s is detected. Remove --format."
        )
    if options.get("column") is not None:
        raise ParameterError(f"--column applies to trees, not to {_NOUNS[contents]}s. Remove --column.")
    given.pop("column", None)
    if missing := next((file for file in files if " " in file.strip() and not os.path.lexists(file)), None):
        form, example = _EXAMPLES[contents]
        if not re.search(r"[/\\*]|\.\w+$", missing):  # otherwise it is probably the name of a file
            raise ParameterError(f"{shortened(missing)} is neither {form}, such as {example}, nor an existing file.")
    with _naming_the_kernel(reading, contents):
        return read_labeled(files, contents, labels=labels, **given)


def _has_trees(files: Sequence[str], reading: Reading) -> bool:
    """Return whether files for the forest kernel contain trees. A tree is a forest with a single parse."""
    from treelet.formats.base import opening_lines
    from treelet.formats.files import open_source

    if reading.format is not None or not os.path.isfile(files[0]):
        return reading.format is not None
    with open_source(files[0], reading.encoding) as source:
        first = opening_lines(source.head())[:2]
    return bool(first) and not any(re.search(r'(^|[\t,"])\s*\{', line) for line in first)


@contextmanager
def _naming_the_kernel(reading: Reading, contents: str) -> Iterator[None]:
    """If a file has other contents than a kernel needs, name the kernel for them in the error."""
    from treelet.formats.base import opening_lines
    from treelet.formats.files import open_source

    kernels = {
        "forest": ("forests", '"nodes"'),
        "locality": ("parses", '"words"'),
        "tagging": ("tagged", ""),
        "sst": ("trees", ""),
    }
    try:
        yield
    except FormatError as error:
        if os.path.isfile(error.source) and reading.format is None:
            with open_source(error.source, reading.encoding) as source:
                cells = "".join(opening_lines(source.head())[:1]).split("\t")
            for kernel, (found, field) in kernels.items():
                if contents == "forests" and found == "trees":  # a tree is a forest
                    continue
                if found != contents and any(is_example(cell, found) and field in cell for cell in cells):
                    here, needed = (_NOUNS[name] + "s" for name in (found, contents))
                    raise FormatError(
                        f"the file contains {here}, not {needed}. Use --kernel {kernel}, or a model that was trained with it.",
                        error.source,
                    ) from None
        raise


def _literal_examples(texts: Sequence[str], argument: str, reading: Reading, contents: str) -> Any:
    """Return the examples that an argument consists of, or None if it consists of files, ``-`` or ``@FILE``."""
    from treelet.structures import Treebank
    from treelet.structures.labeled import CONTENTS

    found = [text for text in texts if is_example(text, contents) and not os.path.lexists(text)]
    if not found:
        return None
    if len(found) < len(texts):
        nouns = f"{_NOUNS[contents]}s"
        what = f"{nouns} in brackets" if contents == "trees" else nouns
        raise ParameterError(f"{argument} contains {what} and file names. Pass {nouns} only, or files only.")
    names = [
        argument if len(found) == 1 else f"{_NOUNS[contents]} {number} of {argument}"
        for number in range(1, len(found) + 1)
    ]
    bank = Treebank if contents == "trees" else CONTENTS[contents][0]
    return bank(
        [read_argument(text, name, reading, contents=contents) for text, name in zip(found, names, strict=True)]
    )


def raise_unreadable(text: str, error: FileError, contents: str = "trees") -> NoReturn:
    """Raise the error for an argument that is neither an example nor a readable file."""
    if text.startswith("@") or text == "-":
        raise error
    form, example = _EXAMPLES[contents]
    noun = form.split(" in ")[0]
    if isinstance(error.__cause__, FileNotFoundError):
        raise FileError(
            f"{shortened(text)} is neither {form} nor an existing file. "
            f"Write {noun} such as {example}, or pass a file name."
        ) from error
    raise FileError(f"{error} Write {form}, for example {example}.") from error


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


def tree_texts(item: Any) -> dict[str, str]:
    """Return a tree, or the best tree of a forest, or another example, and its words, as texts."""
    shown = item.best()[0] if item and hasattr(item, "best") else item
    if not shown:
        return {"tree": "", "words": ""}
    words = shown.words() if callable(shown.words) else shown.words
    return {"tree": "; ".join(str(shown).splitlines()), "words": " ".join(words)}


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
    trees: dict[str, Any]
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
            noun = _NOUNS.get(self.format, "tree")
            raise ParameterError(
                f"{self.file}: the examples have no class labels{reason}. "
                f"Write one example per line as label<TAB>{noun} in a .tsv file, or pass a file of labels with --labels."
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
                    f"{self.file}: the label of example {number}, {label!r}, is not a finite number. Labels that are names "
                    "need --task classify and --learner svm."
                )
        return values

    def queries(self, name: str) -> list[str]:
        """Return the query of each example. Only candidates of the same query are compared with each other."""
        if name not in self.strings:
            from treelet.checks import some_of, suggestion

            available = f"The file has {some_of(self.strings)}." if self.strings else "The file has no such columns."
            raise ParameterError(
                f"{self.file}: ranking needs a string column {name!r} with the query of each example. {available}"
                f"{suggestion(name, self.strings)} Pass --query NAME, --option query_column=NAME for tsv and csv, or "
                "lines label<TAB>query with --labels."
            )
        return self.strings[name]

    def columns(self) -> str:
        """Return the names of the columns, for messages."""
        if self.format in _EXAMPLES:
            return f"{_NOUNS[self.format]}s"
        names = [_named("tree column", self.trees)] if self.trees else []
        names += [_named("vector column", self.vectors)] if self.vectors else []
        return " and ".join(names) or "neither trees nor vectors"


def _named(noun: str, names: Collection[str]) -> str:
    from treelet.checks import some_of

    return f"the {noun}{'s' if len(names) > 1 else ''} {some_of(names)}"


def read_examples(
    files: Sequence[str],
    reading: Reading,
    *,
    labels: bool = True,
    kernel: Kernel | None = None,
    label_file: str | None = None,
) -> Examples:
    """Read files and folders in any format. The kernel determines what the examples are. Default: trees.

    With ``labels=False``, the labels are ignored and may be missing, and `files` may be examples themselves.
    """
    from treelet.formats import read_document
    from treelet.structures import ForestBank, Treebank

    contents, shown = contents_of(kernel), shown_files(files)
    if not labels and (bank := _literal_examples(files, "TREES", reading, contents)) is not None:
        return Examples("TREES", "brackets", {"tree": bank}, {}, {}, None, len(bank))
    if label_file is not None:
        found = read_examples(files, reading, labels=False, kernel=kernel)
        named, queries = _read_labels(label_file, reading.encoding, found)
        return replace(found, labels=named, strings=found.strings | ({} if queries is None else {"qid": queries}))
    if contents != "trees" and not (contents == "forests" and _has_trees(files, reading)):
        content = _read_labeled(list(files), reading, contents, labels=labels)
        strings = {} if content.queries is None else {"qid": content.queries}
        return Examples(shown, contents, {contents: content.bank}, {}, strings, content.labels, len(content.bank))
    with _naming_the_kernel(reading, contents):
        document = read_document(list(files), labels=labels, **reading.arguments())
    chosen = str(document.format)
    both = document.trees.keys() & document.vectors.keys()
    if both:
        raise FormatError(
            f"a tree column and a vector column are both called {min(both)!r}. Rename one of them.", shown
        )
    trees: dict[str, Any] = {name: Treebank.from_columns(columns) for name, columns in document.trees.items()}
    if contents == "forests":
        trees = {name: ForestBank(bank) for name, bank in trees.items()}
    return Examples(shown, chosen, trees, document.vectors, document.strings, document.labels, len(document))


def _read_labels(file: str, encoding: str, examples: Examples) -> tuple[list[str], list[str] | None]:
    """Return the labels in a file with one label per line, and the queries if the lines are ``label<TAB>query``."""
    from treelet.checks import plural
    from treelet.formats import label_text
    from treelet.formats.files import open_source

    with open_source(file, encoding) as source:
        lines = [line.split("\t") for _, line in source.text_lines()]
    while lines and not any(lines[-1]):
        lines.pop()
    if len(lines) != len(examples):
        raise ParameterError(
            f"{file}: the file has {plural(len(lines), 'label')}, but {examples.file} has "
            f"{plural(len(examples), 'example')}. Write one label per line."
        )
    widths = {len(cells) for cells in lines}
    if widths - {1, 2} or len(widths) > 1:
        number = next((at for at, cells in enumerate(lines, 1) if len(cells) not in (1, len(lines[0]))), 1)
        raise ParameterError(f"{file}: line {number}: each line must be a label, or label<TAB>query.")
    labels = [label_text(cells[0].strip()) for cells in lines]
    return labels, [cells[1].strip() for cells in lines] if widths == {2} else None


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
    from treelet.kernels import Crossed, Kernel, On

    if isinstance(kernel, (On, Crossed)):
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
