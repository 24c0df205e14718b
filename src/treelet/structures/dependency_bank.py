"""Collections of dependency parses, and their files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.formats.base import COMPRESSED, PathLike, open_source, open_whole
from treelet.formats.conllu import read_sentences
from treelet.structures.dependency import UNKNOWN, Dependencies, check_tag, heads_problem, restored
from treelet.structures.treebank import Stats

KEEP = (None, "comments", "lines")


class DependencyBank(Sequence[Dependencies | None]):
    """Dependency parses: a collection like `Treebank`.

    Parameters
    ----------
    parses : iterable of Dependencies or None
        None is a missing parse.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.structures import DependencyBank
    >>> bank = DependencyBank([Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])])
    >>> len(bank), bank.shape
    (1, (1,))
    >>> print(bank.stats())
    1 parses, 2 words, 1 links, 2 types
    """

    __slots__ = ("_parses",)

    _parses: tuple[Dependencies | None, ...]

    def __init__(self, parses: Iterable[Dependencies | None] = ()) -> None:
        if isinstance(parses, DependencyBank):
            self._parses = parses._parses
            return
        if isinstance(parses, (str, bytes, Mapping, Dependencies)):
            hint = ", or read a file with treelet.structures.read_conllu" if isinstance(parses, str) else ""
            raise InputTypeError(
                f"a collection of parses is needed, got one {type(parses).__name__}: put it in a list{hint}"
            )
        try:
            items = list(parses)
        except TypeError:
            raise InputTypeError(f"a collection of parses is needed, got {type(parses).__name__}") from None
        for number, item in enumerate(items):
            if item is not None and not isinstance(item, Dependencies):
                raise InputTypeError(
                    f"item {number} is a {type(item).__name__}, not a dependency parse: give Dependencies, made by hand or "
                    "by from_heads, from_spacy, from_stanza, from_conllu"
                )
        self._parses = tuple(items)

    def __len__(self) -> int:
        return len(self._parses)

    @property
    def shape(self) -> tuple[int]:
        """``(len(bank),)``, as scikit-learn likes to know it."""
        return (len(self),)

    def __iter__(self) -> Iterator[Dependencies | None]:
        return iter(self._parses)

    @overload
    def __getitem__(self, index: int) -> Dependencies | None: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any] | tuple[Any, ...]) -> DependencyBank: ...
    def __getitem__(self, index: Any) -> Dependencies | DependencyBank | None:
        if isinstance(index, tuple):
            if len(index) != 2 or index[1] is not Ellipsis:
                raise IndexError("a DependencyBank has one dimension")
            index = index[0]
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            if not -len(self) <= index < len(self):
                raise IndexError(f"parse {index} of a bank of {len(self)}")
            return self._parses[int(index)]
        if not isinstance(index, slice):
            index = np.asarray(index)
            if index.size == 0:
                index = index.astype(np.int64)
            if index.ndim != 1 or index.dtype.kind not in "iub":
                raise InputTypeError(
                    "a DependencyBank is indexed by an integer, a slice, integers or a mask of booleans"
                )
        return DependencyBank(self._parses[number] for number in np.arange(len(self))[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        out = np.empty(len(self), dtype=object)
        out[:] = self._parses
        return out

    def __add__(self, other: object) -> DependencyBank:
        return DependencyBank([*self, *as_dependencybank(other)])

    def __radd__(self, other: object) -> DependencyBank:
        return DependencyBank([*as_dependencybank(other), *self])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependencyBank):
            return NotImplemented
        return self._parses == other._parses

    __hash__ = None  # type: ignore[assignment]  # a collection is compared by content, like a list

    def __repr__(self) -> str:
        return f"<DependencyBank: {self.stats()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return DependencyBank, (self._parses,)

    def stats(self) -> Stats:
        """How many parses, words, links between them, distinct types of links (with those of roots)."""
        parses = [parse for parse in self._parses if parse is not None]
        types = {link.type for parse in parses for link in parse.links}
        return Stats(
            parses=len(self),
            words=sum(len(parse) for parse in parses),
            links=sum(len(parse.links) for parse in parses),
            types=len(types.union(*(parse.relations or () for parse in parses))),
        )

    def write(self, file: PathLike | IO[str], *, tag: str = "upos") -> None:
        """Write the parses in CoNLL-U; the file appears whole or not at all, packed if its name says so.

        Parameters
        ----------
        file : path or open file
            ``"-"`` is the standard output.
        tag : {"upos", "xpos"}
            The column for the tags. Lines that were kept on reading are written as they were.
        """
        check_tag(tag)
        texts = []
        for number, parse in enumerate(self._parses):
            if parse is None:
                raise TreeError(f"parse {number} is missing, which CoNLL-U cannot say: leave it out")
            try:
                texts.append(parse.to_conllu(tag))
            except TreeError as error:
                raise TreeError(f"parse {number}: {error}") from None
        if file == "-":
            file = sys.stdout
        if hasattr(file, "write"):
            cast("IO[str]", file).writelines(texts)
            return
        pack = COMPRESSED.get(Path(file).suffix.lower())
        with open_whole(file) as stream, pack(stream, "wb") if pack else nullcontext(stream) as out:
            for text in texts:
                out.write(text.encode("utf-8", "surrogatepass"))


def as_dependencybank(parses: object) -> DependencyBank:
    """A DependencyBank of whatever holds parses; a DependencyBank is returned as it is."""
    return parses if isinstance(parses, DependencyBank) else DependencyBank(cast("Iterable[Dependencies]", parses))


def read_conllu(
    file: PathLike | IO[bytes] | IO[str], *, tag: str = "upos", keep: str | None = None, encoding: str = "utf-8"
) -> DependencyBank:
    r"""Read a file of CoNLL-U.

    The words are the syntactic ones: multiword tokens (``3-4``) and empty nodes (``3.1``) are passed over, and so are the
    features, the enhanced dependencies and what the last column says.

    Parameters
    ----------
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked; ``"-"`` is the standard input.
    tag : {"upos", "xpos"}
        Which column holds the tags.
    keep : {None, "comments", "lines"}
        What to keep beside the parse: ``"comments"`` for `Dependencies.comments`; ``"lines"`` for everything, so that
        writing gives the file back.
    encoding : str
        Of the text.

    Examples
    --------
    >>> import io, treelet
    >>> text = "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
    >>> bank = treelet.structures.read_conllu(io.StringIO(text), tag="xpos")
    >>> bank[0].tags, bank[0].lemmas, bank[0].heads
    (('NNS', 'VBP'), ('dog', 'bark'), (2, 0))
    """
    check_tag(tag)
    if keep not in KEEP:
        raise ParameterError(f"The 'keep' parameter of read_conllu must be one of {KEEP}. Got {keep!r} instead.")
    found = []
    with open_source(file, encoding) as source:
        for sentence in read_sentences(source):
            rows = sentence.rows
            heads = tuple(row.head for row in rows)
            if problem := heads_problem(heads):
                raise source.error(f"word {problem[0] + 1}: {problem[1]}", rows[problem[0]].line)
            lemmas: tuple[str, ...] | None = tuple(row.lemma for row in rows)
            if lemmas == (UNKNOWN,) * len(rows):
                lemmas = None
            kept = () if keep is None else sentence.lines
            if keep == "comments":
                kept = tuple(line for line in kept if line.startswith("#"))
            tags = tuple(row.upos if tag == "upos" else row.xpos for row in rows)
            forms, relations = tuple(row.form for row in rows), tuple(row.relation for row in rows)
            found.append(restored(forms, tags, lemmas, (), heads, relations, kept))
    return DependencyBank(found)
