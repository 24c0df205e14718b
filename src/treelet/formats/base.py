"""File formats, and the registry of all known formats.

A format converts bytes to a `Document`: named columns of trees, which the native core stores with
shared subtrees, plus labels and feature vectors if the format has them. Each row is an example.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_integer, in_words, plural
from treelet.errors import FormatError
from treelet.formats.places import Places

# --- options of a format, written after its name: ``python:each=function,docstrings=false`` ---------------------------


class OptionText(str):
    """The text of an option's value. It is converted to the type of the option once the format is known."""

    __slots__ = ()


def option_values(given: Mapping[str, str], known: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Convert the texts of options to booleans, ints, lists of names (joined by ``+``), None or strings."""
    values: dict[str, Any] = dict(given)
    for name, text in given.items():
        kinds = str(known[name].annotation) if name in known else ""
        if "bool" in kinds and text.lower() in ("true", "false"):
            values[name] = text.lower() == "true"
        elif "None" in kinds and text.lower() == "none":
            values[name] = None
        elif "int" in kinds and text.lstrip("+-").isdecimal():
            values[name] = int(text)
        elif "Collection" in kinds:
            values[name] = text.split("+")
    return values


# --- limits on the size of trees, for programs that read or score untrusted trees -------------------------------------


class TreeLimits(NamedTuple):
    """Limits on the nodes and on the depth of each tree. None means no limit."""

    max_nodes: int | None
    max_depth: int | None

    @classmethod
    def of(cls, max_nodes: Any, max_depth: Any, owner: object = None) -> Self | None:
        """Return validated limits, or None if there are none. A command passes numbers as text."""
        limits = cls(*(int(n) if isinstance(n, OptionText) and n.isdecimal() else n for n in (max_nodes, max_depth)))
        for name, value in limits._asdict().items():
            check_integer(name, value, of=owner, optional=True)
        return None if limits == (None, None) else limits

    def problems(
        self, store: Any, roots: NDArray[np.int32], weights: _core.NodeWeights | None = None
    ) -> Iterator[tuple[int, str]]:
        """Yield the row of each tree beyond a limit, and a sentence about the tree without its subject.

        A tree beyond both limits is yielded twice.

        Words count as nodes. The depth is the number of edges from the root to the deepest word.
        """
        if self.max_nodes is not None:
            counts = _core.NodeWeights.count(store, roots) if weights is None else weights
            # Row i of the sparse matrix of counts has how often tree i contains each distinct subtree.
            rows = np.repeat(np.arange(len(roots)), np.diff(counts.start))
            nodes = np.bincount(rows, weights=counts.weight, minlength=len(roots))
            for row in np.flatnonzero(nodes > self.max_nodes).tolist():
                yield row, f"has {plural(int(nodes[row]), 'node')}, more than max_nodes={self.max_nodes} allows."
        if self.max_depth is not None and len(store):
            depth = np.where(roots >= 0, store.height[roots], 0)
            for row in np.flatnonzero(depth > self.max_depth).tolist():
                yield row, f"has a depth of {depth[row]:,}, more than max_depth={self.max_depth} allows."


# --- file formats, and the registry of all known formats --------------------------------------------------------------

PARTS = ("labels", "vectors", "strings", "trees")


class Columns(NamedTuple):
    """Trees in the native core: a store of distinct subtrees, and the root of each tree (-1 if missing)."""

    store: Any
    roots: NDArray[np.int32]


@dataclass
class Document:
    """Contents of a file, one row per example.

    Attributes
    ----------
    trees : dict of str to Columns
        Named columns of trees. Formats with one unnamed tree per row call the column ``"tree"``.
    labels : list of str or None
        Class or target value of each row. Readers write numbers in their shortest form, see
        `label_text`.
    vectors : dict of str to list of dict
        Named sparse feature vectors, one ``{index or name: value}`` per row. Formats with unnamed
        vectors call the column ``"vector"``.
    strings : dict of str to list of str
        Named columns of plain text.
    format : str or None
        Name of the format from which the document was read.
    places : Places or None
        File, lines and name of each tree, for source code and markup.
    """

    trees: dict[str, Columns] = field(default_factory=dict)
    labels: list[str] | None = None
    vectors: dict[str, list[dict[str | int, float]]] = field(default_factory=dict)
    strings: dict[str, list[str]] = field(default_factory=dict)
    format: str | None = None
    places: Places | None = None

    def __len__(self) -> int:
        if self.labels is not None:
            return len(self.labels)
        for columns in self.trees.values():
            return len(columns.roots)
        return max((len(values) for group in (self.vectors, self.strings) for values in group.values()), default=0)

    def without(self, rows: Collection[int]) -> Document:
        """Return the document without these rows."""
        kept = [row for row in range(len(self)) if row not in rows]

        def some(values: Any) -> Any:
            return None if values is None else [values[row] for row in kept]

        return Document(
            {name: Columns(store, roots[kept]) for name, (store, roots) in self.trees.items()},
            some(self.labels),
            {name: some(values) for name, values in self.vectors.items()},
            {name: some(values) for name, values in self.strings.items()},
            self.format,
            None if self.places is None else self.places[kept],
        )

    @classmethod
    def concat(cls, documents: list[Document]) -> Document:
        """Concatenate documents that have the same columns.

        Raises
        ------
        FormatError
            If a document has other columns than the first one, or only one of them has labels.
        """
        first = documents[0]
        for document in documents[1:]:
            if document._described() != first._described():
                raise FormatError(
                    f"Files with different contents cannot be read together: one has {first._described()}, another one has "
                    f"{document._described()}. Read them one at a time.",
                    "",
                )

        def whole(lists: list[Any]) -> list[Any]:
            return [value for values in lists for value in values]

        trees = {
            name: Columns(
                *_core.Store.joined([d.trees[name].store for d in documents], [d.trees[name].roots for d in documents])
            )
            for name in first.trees
        }
        return cls(
            trees,
            None if first.labels is None else whole([document.labels for document in documents]),
            {name: whole([document.vectors[name] for document in documents]) for name in first.vectors},
            {name: whole([document.strings[name] for document in documents]) for name in first.strings},
            first.format,
            Places.concat(document.places for document in documents),
        )

    def _described(self) -> str:
        columns = [("labels", self.labels is not None)]
        columns += [
            (f"{kind} {name!r}", True)
            for kind, group in (("trees", self.trees), ("vectors", self.vectors), ("texts", self.strings))
            for name in group
        ]
        return in_words([described for described, present in columns if present] or ["nothing"], "and")


@dataclass(frozen=True)
class Format:
    """A file format: its reader, its writer if it has one, and the signs by which it is detected.

    Attributes
    ----------
    name : str
        Name to pass as `format`.
    description : str
        One line for lists of formats.
    read : callable
        Function from a `Source` and options to a `Document`.
    write : callable, optional
        Function that writes a `Document` to a text stream.
    suffixes : tuple of str
        Suffixes of file names that suggest the format.
    looks : callable, optional
        Function from the first bytes of a file, as UTF-8, to the reason why they look like this
        format (``"it begins with '('"``), or None. Return a reason only for a clear match:
        the file is then read in this format, unless its name suggests another one.
    holds : tuple of str, optional
        Contents that can be stored besides one column of trees: some of ``"labels"``,
        ``"vectors"``, ``"strings"``, ``"trees"`` (further columns of trees), and the names of
        supported text columns. `write_document` refuses to drop other contents silently. Default:
        all of them.
    blocks : callable, optional
        Function from a `Source`, a number of examples and the options of `read` to an iterator of
        documents with that many examples each. It allows `read_blocks` to read files larger than
        memory.
    located : callable, optional
        Function from a `Source` and the options of `read` to a list of `Located` trees, whose nodes
        know their line and column.
    """

    name: str
    description: str
    read: Callable[..., Document]  # (source: Source, **options)
    write: Callable[[Document, IO[str]], None] | None = None
    suffixes: tuple[str, ...] = ()
    looks: Callable[[bytes], str | None] | None = None
    holds: tuple[str, ...] = PARTS
    blocks: Callable[..., Iterator[Document]] | None = None  # (source: Source, size: int | None, **options)
    located: Callable[..., list[Any]] | None = None  # (source: Source, **options)

    def options(self) -> dict[str, inspect.Parameter]:
        """Return the options of `read` by name."""
        return dict(list(inspect.signature(self.read).parameters.items())[1:])

    def takes(self, options: Collection[str]) -> bool:
        """Return whether `read` has all these options."""
        known = self.options()
        return known.keys() >= set(options) or any(p.kind is p.VAR_KEYWORD for p in known.values())


FORMATS: dict[str, Format] = {}


def register(format: Format) -> Format:
    """Add a format to the registry, so every reader and command supports it."""
    FORMATS[format.name] = format
    return format


def opening_lines(head: bytes, comment: str | None = None) -> list[str]:
    r"""Return the lines of a file's first bytes without blank lines and comments. The last line may be cut short.

    >>> opening_lines(b"# a file\n\n1 |BT| (S x) |ET|\r\n", comment="#")
    ['1 |BT| (S x) |ET|']
    """
    lines = (line.rstrip("\r") for line in head.decode("utf-8", "replace").split("\n"))
    return [line for line in lines if line.strip() and not (comment and line.lstrip().startswith(comment))]
