"""Collections of packed forests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import IO, Any, Self

import numpy as np

from treelet import _core
from treelet.errors import FormatError, TreeError
from treelet.formats.base import Columns
from treelet.formats.files import PathLike, Source, open_target
from treelet.formats.paths import File
from treelet.formats.reading import read_items
from treelet.structures.bank import Bank, Stats, listed
from treelet.structures.forest import Forest
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank

SUFFIXES = (".json", ".jsonl")  # of the files that are read in a folder


class ForestBank(Bank[Forest]):
    """A collection of forests that stores equal subforests once.

    The stored columns contain the probability of each edge given its head, and no spans. An
    unambiguous subtree is therefore stored once for all forests. The original forests are kept, too.

    Parameters
    ----------
    items : iterable
        `Forest` objects, or trees in any form that `Treebank` accepts; a tree becomes a forest with
        one tree. None stands for a missing forest and becomes a forest without trees.

    Examples
    --------
    >>> from treelet import Forest, ForestBank
    >>> bank = ForestBank([Forest.from_trees([("(S (A x))", 1), ("(S (B x))", 1)]), "(S (A x))"])
    >>> len(bank), bank.shape
    (2, (2,))
    >>> bank[1].count_trees()
    1
    """

    __slots__ = ()

    _store = _core.ForestStore
    _columns_are_all = False

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[Columns | None, list[Forest] | None]:
        if isinstance(items, Treebank):
            return Columns(*_core.ForestStore().grown(*items.columns)), None
        examples = listed(items, "forests or trees", (Forest, Tree))
        if not any(isinstance(item, Forest) for item in examples):
            return cls._taken_in(Treebank(examples))
        others = [number for number, item in enumerate(examples) if not isinstance(item, Forest) and item is not None]
        trees = iter(Treebank([examples[number] for number in others]))
        converted = [item if isinstance(item, Forest) or item is None else next(trees) for item in examples]
        empty = Forest([], [])
        return None, [Forest.from_tree(item) if isinstance(item, Tree) else item or empty for item in converted]

    @classmethod
    def _columns_of(cls, items: list[Forest]) -> Columns:
        try:
            return Columns(*_core.ForestStore.of_forests([item._native for item in items]))
        except ValueError as error:
            raise TreeError(f"The forests are not valid: {error}.") from None

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Forest]:
        store, roots = columns
        return [Forest._of(store.forest(root)) for root in roots.tolist()]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._items is None:
            return super().__reduce__()
        return type(self).from_lines, (self.lines(),)

    @property
    def has_forests(self) -> bool:
        """True if the original forests, with their spans, are kept."""
        return self._items is not None

    def lines(self) -> list[str]:
        """Return each forest as a line of JSON."""
        return [forest.to_json() for forest in self]

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Self:
        """Read forests from lines of JSON, as returned by `lines`."""
        return cls([Forest.from_json(line) for line in lines])

    def stats(self) -> Stats:
        """Count forests, nodes, edges and distinct subforests."""
        natives = [forest._native for forest in self]
        return Stats(
            forests=len(self),
            nodes=sum(len(native.label) for native in natives),
            edges=sum(len(native.logp) for native in natives),
            distinct_subforests=len(np.unique(self.weights().node)),
        )

    def best(self) -> Treebank:
        """Return the best tree of each forest. The best tree of an empty forest is missing."""
        return Treebank([forest.best()[0] if forest else None for forest in self])

    def prune(self, threshold: float = 8.0) -> ForestBank:
        """Prune each forest; see `Forest.prune`."""
        return ForestBank([forest.prune(threshold) for forest in self])

    def temperature(self, temperature: float) -> ForestBank:
        """Change the temperature of each forest; see `Forest.temperature`."""
        return ForestBank([forest.temperature(temperature) for forest in self])

    def write(self, file: PathLike | IO[str]) -> None:
        """Write one forest per line as JSON. The file appears only when it is complete.

        Parameters
        ----------
        file : path or open file
            Files whose names end in ``.gz``, ``.xz`` or ``.bz2`` are compressed. ``"-"`` is standard output.
        """
        with open_target(file) as stream:
            stream.writelines(line + "\n" for line in self.lines())


def read_forests(
    *files: File | Sequence[File], exclude: str | Collection[str] = (), encoding: str = "utf-8", on_error: str = "raise"
) -> ForestBank:
    """Read files of forests that `ForestBank.write` wrote: one forest per line, as JSON.

    Parameters
    ----------
    *files : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input. A
        folder stands for all ``.json`` and ``.jsonl`` files below it, and a pattern such as
        ``"forests/*.jsonl"`` for the files that match it, as for `read_trees`.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out of folders and patterns, as for `read_trees`.
    encoding : str, default "utf-8"
        Encoding of the files.
    on_error : {"raise", "skip"}, default "raise"
        ``"raise"`` raises an error for a malformed forest. ``"skip"`` skips malformed forests; a
        warning reports how many were skipped and where the first ones are.

    Returns
    -------
    ForestBank

    Examples
    --------
    >>> import io, treelet
    >>> bank = treelet.structures.ForestBank([treelet.Forest.from_tree(treelet.Tree.parse("(S (A a))"))])
    >>> out = io.StringIO()
    >>> bank.write(out)
    >>> len(treelet.structures.read_forests(io.StringIO(out.getvalue())))
    1
    """
    return ForestBank(
        read_items(files, SUFFIXES, _forests_in, "forests", exclude=exclude, encoding=encoding, on_error=on_error)
    )


def _forests_in(source: Source) -> Iterator[Forest]:
    """Yield the forests of a file, one per nonempty line."""
    for number, line in source.text_lines():
        if line.strip():
            with source.item():
                try:
                    forest = Forest.from_json(line)
                except FormatError as error:
                    raise source.error(error.message, number) from None
                except TreeError as error:
                    raise source.error(str(error), number) from None
                yield forest
