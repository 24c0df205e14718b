"""Results of the Link Grammar parser: linkages with their costs, and the status of each sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural
from treelet.errors import InputTypeError, TreeletError
from treelet.printable import shortened
from treelet.structures.dependency import Dependencies
from treelet.structures.dependency_bank import DependencyBank
from treelet.structures.linkage import from_linkage

STATUSES = ("ok", "null words", "panic", "no linkage", "timed out", "failed", "too long", "empty", "not text")
"""Possible statuses of a sentence. With the first three, there are linkages."""
SHOWN = 20  # default number of failed sentences that a summary lists


class LinkGrammarError(TreeletError, RuntimeError):
    """Link Grammar is not installed, cannot be started, or was closed."""


@dataclass(frozen=True)
class Settings:
    """Settings of a `LinkParser`. The last three apply to panic mode; their values are those of the link-parser program."""

    language: str = "en"
    limit: int = 1000
    max_null: int = 3
    max_cost: float | None = None
    max_seconds: int = 30
    short: int = 16
    panic_null: int = 10
    panic_cost: float = 4.0  # if the dictionary does not define it
    panic_short: int = 12


class LinkageCost(NamedTuple):
    """The cost of a linkage: three numbers. Link Grammar sorts linkages by these, in this order."""

    unused: int
    """Number of words without a link."""
    disjunct: float
    """Cost of rare uses of words, from the dictionary. The link-parser program prints two digits of it."""
    length: int
    """Total length of all links."""


class Answer(NamedTuple):
    """The raw result of one search by Link Grammar."""

    linkages: Sequence[tuple[Sequence[str], Sequence[tuple[int, int, str]], tuple[int, float, int]]] = ()
    found: int = 0
    valid: int = 0
    null_count: int = 0
    timed_out: bool = False
    out_of_memory: bool = False
    problem: str | None = None
    """The reason why the text could not be parsed; empty if it has no words."""


@dataclass(frozen=True)
class Linkage:
    """A parse of a sentence by Link Grammar.

    Attributes
    ----------
    parse : Dependencies
        The linkage as a dependency parse with undirected links. The subscripts of words become tags.
        Computed on first use.
    rank : int
        Rank in the order of Link Grammar, from 0.
    cost : LinkageCost
        Unused words, cost of disjuncts, and total length of the links.
    words : tuple of str
        Words as in the output of Link Grammar, with walls and subscripts: ``dogs.n``. Unused words are in
        brackets: ``[only]``.
    links : tuple of (int, int, str)
        Links between positions in `words`, with their types, sorted.
    walls : bool
        Whether `parse` includes the walls.
    """

    rank: int
    cost: LinkageCost
    words: tuple[str, ...]
    links: tuple[tuple[int, int, str], ...]
    walls: bool = True

    @cached_property
    def parse(self) -> Dependencies:
        return from_linkage(self.words, self.links, walls=self.walls)


@dataclass(frozen=True)
class Linkages(Sequence[Linkage]):
    """The linkages of a sentence, best first, and the status of the sentence. A sequence of `Linkage`.

    Attributes
    ----------
    sentence : object
        The sentence that was passed to the parser.
    status : str
        - ``"ok"``: there are linkages of all words;
        - ``"null words"``: there are linkages only if some words are skipped;
        - ``"panic"``: there are linkages only in panic mode;
        - ``"no linkage"``: there is no linkage;
        - ``"timed out"``: no linkage was found within the time limit;
        - ``"failed"``: Link Grammar crashed;
        - ``"too long"``: the sentence has more words or characters than Link Grammar supports;
        - ``"empty"``: the sentence has no words;
        - ``"not text"``: the item is not a string, or it contains control characters or unpaired
          surrogates.
    problem : str or None
        Details, if there are no linkages.
    found : int
        Number of linkages found. If it exceeds the limit, only a sample was examined. 2147483647 means
        at least that many. The program may report a smaller number than the library.
    valid : int
        Number of examined linkages that passed post-processing. The sequence contains these, or the
        first k of them.
    null_count : int
        Number of words that the search skipped.
    timed_out, out_of_memory : bool
        Whether the search stopped early. If there are linkages, others may be missing.
    panic : bool
        Whether the linkages were found in panic mode.
    """

    sentence: Any
    status: str
    linkages: tuple[Linkage, ...] = field(default=(), repr=False)
    problem: str | None = None
    found: int = 0
    valid: int = 0
    null_count: int = 0
    timed_out: bool = False
    out_of_memory: bool = False
    panic: bool = False

    @property
    def parses(self) -> DependencyBank:
        """The linkages as dependency parses."""
        return DependencyBank([linkage.parse for linkage in self.linkages])

    def __len__(self) -> int:
        return len(self.linkages)

    def __iter__(self) -> Iterator[Linkage]:
        return iter(self.linkages)

    @overload
    def __getitem__(self, index: int) -> Linkage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Linkage, ...]: ...
    def __getitem__(self, index: int | slice) -> Linkage | tuple[Linkage, ...]:
        return self.linkages[index]

    def __str__(self) -> str:
        text = f"{shortened(self.sentence)}: {self.status}, {len(self):,} of {plural(self.found, 'linkage')}"
        return f"{text} ({self.problem})" if self.problem else text


class LinkResults(Sequence[Linkages]):
    """The results of many sentences: a sequence with one `Linkages` per sentence.

    Parameters
    ----------
    results : sequence of Linkages

    Attributes
    ----------
    parses : DependencyBank
        The parses of all linkages, grouped by sentence.
    qid : ndarray of int
        Index of the sentence of each parse.
    costs : ndarray of float, shape (n_parses, 3)
        Costs of the parses: unused words, disjuncts, total length of links.
    ranks : ndarray of int
        Rank of each parse in the order of Link Grammar, from 0.
    """

    def __init__(self, results: Sequence[Linkages]) -> None:
        for number, item in enumerate(results):
            if not isinstance(item, Linkages):
                raise InputTypeError(
                    f"Item {number} is {article(type(item).__name__)}, but a Linkages object is needed. "
                    "LinkParser.parse returns such objects."
                )
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Linkages]:
        return iter(self._results)

    @overload
    def __getitem__(self, index: int) -> Linkages: ...
    @overload
    def __getitem__(self, index: slice) -> LinkResults: ...
    def __getitem__(self, index: int | slice) -> Linkages | LinkResults:
        return LinkResults(self._results[index]) if isinstance(index, slice) else self._results[index]

    @property
    def parses(self) -> DependencyBank:
        return DependencyBank([linkage.parse for result in self for linkage in result])

    @property
    def qid(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self)), [len(result) for result in self]).astype(np.int64)

    @property
    def costs(self) -> NDArray[np.float64]:
        return np.array([linkage.cost for result in self for linkage in result], dtype=np.float64).reshape(-1, 3)

    @property
    def ranks(self) -> NDArray[np.int64]:
        return np.array([linkage.rank for result in self for linkage in result], dtype=np.int64)

    @property
    def counts(self) -> dict[str, int]:
        """Number of sentences by status, for the statuses that occur."""
        by_status = Counter(result.status for result in self)
        return {status: by_status[status] for status in STATUSES if by_status[status]}

    @property
    def failed(self) -> list[int]:
        """Indices of the sentences without a linkage."""
        return [number for number, result in enumerate(self) if not len(result)]

    def summary(self, shown: int = SHOWN) -> str:
        """Return a text that counts the statuses and lists the sentences without a linkage.

        Parameters
        ----------
        shown : int, default 20
            Maximum number of sentences to list.
        """
        linkages = sum(len(result) for result in self)
        lines = [f"{plural(len(self), 'sentence')}, {plural(linkages, 'linkage')}"]
        lines += [f"  {status}: {number}" for status, number in self.counts.items()]
        sampled = sum(result.found > result.valid > 0 and result.found > len(result) for result in self)
        if sampled:
            lines.append(f"  with more linkages than are listed: {sampled}")
        early = sum(len(result) > 0 and (result.timed_out or result.out_of_memory) for result in self)
        if early:
            lines.append(f"  with linkages, but the search stopped early: {early}")
        failed = self.failed
        if failed:
            lines.append("Sentences without a linkage:")
        for number in failed[:shown]:
            result = self[number]
            why = f" ({result.problem})" if result.problem else ""
            lines.append(f"  sentence {number}: {result.status}{why}: {shortened(result.sentence)}")
        if len(failed) > shown:
            lines.append(f"  and {len(failed) - shown} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {status}" for status, number in self.counts.items())
        return f"<LinkResults: {plural(len(self), 'sentence')}{': ' if counts else ''}{counts}>"
