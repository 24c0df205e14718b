"""What the Link Grammar parser gives: linkages with their costs, and what became of each sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError, TreeletError
from treelet.printable import shortened
from treelet.structures.dependency import Dependencies
from treelet.structures.dependency_bank import DependencyBank
from treelet.structures.linkage import from_linkage

STATUSES = ("ok", "null words", "panic", "no linkage", "timed out", "failed", "too long", "empty", "not text")
"""What may become of a sentence; with the first three there are linkages."""
SHOWN = 20  # failed sentences that a summary lists by default


class LinkGrammarError(TreeletError, RuntimeError):
    """Link Grammar is not there, or cannot be used."""


@dataclass(frozen=True)
class Settings:
    """How to parse; see `LinkParser`. The last three are for panic mode, and those of the link-parser program."""

    language: str = "en"
    limit: int = 1000
    max_null: int = 3
    max_cost: float | None = None
    max_seconds: int = 30
    short: int = 16
    panic_null: int = 10
    panic_cost: float = 4.0  # where the dictionary does not say
    panic_short: int = 12


class LinkageCost(NamedTuple):
    """The cost of a linkage. Link Grammar sorts linkages by these three numbers, in this order."""

    unused: int
    """Words without a link."""
    disjunct: float
    """What the dictionary charges for rare uses of words. The link-parser program shows two digits of it."""
    length: int
    """Of all links together."""


class Answer(NamedTuple):
    """What one run of the parser gave."""

    linkages: Sequence[tuple[Sequence[str], Sequence[tuple[int, int, str]], tuple[int, float, int]]] = ()
    found: int = 0
    valid: int = 0
    null_count: int = 0
    timed_out: bool = False
    out_of_memory: bool = False
    problem: str | None = None
    """Why it could not be parsed; empty if there are no words."""


@dataclass(frozen=True)
class Linkage:
    """A parse of a sentence by Link Grammar.

    Attributes
    ----------
    parse : Dependencies
        Words without their subscripts, which are the tags; undirected links. Made when it is asked for first.
    rank : int
        Its place in Link Grammar's order, counted from 0.
    cost : LinkageCost
        Unused words, disjuncts, length of the links.
    words : tuple of str
        As Link Grammar shows them, with walls and subscripts: ``dogs.n``, ``[only]`` for one that is not used.
    links : tuple of (int, int, str)
        Between these, in their order.
    walls : bool
        Whether the parse has the walls, too.
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
    """The linkages of a sentence, best first, and what became of it. A sequence of `Linkage`.

    Attributes
    ----------
    sentence : object
        As it was given.
    status : str
        - ``"ok"``: there are linkages with all words;
        - ``"null words"``: only with some words left unused;
        - ``"panic"``: only in panic mode;
        - ``"no linkage"``: none;
        - ``"timed out"``: none in the time allowed;
        - ``"failed"``: Link Grammar broke down over it;
        - ``"too long"``: more words or letters than Link Grammar takes;
        - ``"empty"``: no words;
        - ``"not text"``: bytes, or something else that is no string; a string with control characters or halves of
          surrogate pairs.
    problem : str or None
        More about it, where there are no linkages.
    found : int
        How many linkages there are; more than the limit means that a sample was looked at, and 2147483647 any number
        from there on. The program counts fewer of them than the library where some are wrong from the start.
    valid : int
        How many of those looked at keep the rules of post-processing. The sequence holds these, or the first k.
    null_count : int
        How many words the search left unused.
    timed_out, out_of_memory : bool
        Whether the search ended before it was through. With linkages, others may be missing.
    panic : bool
        Whether panic mode gave what there is.
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
        """The linkages' parses."""
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
        text = f"{shortened(self.sentence)}: {self.status}, {len(self)} of {self.found} linkages"
        return f"{text} ({self.problem})" if self.problem else text


class LinkResults(Sequence[Linkages]):
    """What became of many sentences: a sequence with one `Linkages` a sentence, in their order.

    Attributes
    ----------
    parses : DependencyBank
        All linkages' parses, one sentence after the other.
    qid : array of int
        The number of the sentence that each of these is of.
    costs : array of float, shape (n_parses, 3)
        Their costs: unused words, disjuncts, length.
    ranks : array of int
        Their places in Link Grammar's order.
    """

    def __init__(self, results: Sequence[Linkages]) -> None:
        for number, item in enumerate(results):
            if not isinstance(item, Linkages):
                raise InputTypeError(f"item {number} is a {type(item).__name__}, not what LinkParser.parse gives")
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
        """How many sentences have each status; only those that occur."""
        by_status = Counter(result.status for result in self)
        return {status: by_status[status] for status in STATUSES if by_status[status]}

    @property
    def failed(self) -> list[int]:
        """The numbers of the sentences without a linkage."""
        return [number for number, result in enumerate(self) if not len(result)]

    def summary(self, shown: int = SHOWN) -> str:
        """How many sentences became what, and which have no linkage.

        Parameters
        ----------
        shown : int
            How many of the latter to list at most.
        """
        linkages = sum(len(result) for result in self)
        lines = [f"{len(self)} sentences, {linkages} linkages"]
        lines += [f"  {status}: {number}" for status, number in self.counts.items()]
        sampled = sum(result.found > result.valid > 0 and result.found > len(result) for result in self)
        if sampled:
            lines.append(f"  with more linkages than are given: {sampled}")
        early = sum(len(result) > 0 and (result.timed_out or result.out_of_memory) for result in self)
        if early:
            lines.append(f"  with linkages, though the search was not through: {early}")
        failed = self.failed
        if failed:
            lines.append("without a linkage:")
        for number in failed[:shown]:
            result = self[number]
            why = f" ({result.problem})" if result.problem else ""
            lines.append(f"  sentence {number}: {result.status}{why}: {shortened(result.sentence)}")
        if len(failed) > shown:
            lines.append(f"  and {len(failed) - shown} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {status}" for status, number in self.counts.items())
        return f"<LinkResults: {len(self)} sentences{': ' if counts else ''}{counts}>"
