"""Link Grammar's C library, called through ctypes in a separate process.

A separate process is needed because the library exits or corrupts memory on some texts. This file is
both a module and the script that the process runs. It imports only the standard library, so the
process starts quickly. The script reads requests from standard input and writes answers to standard
output, as one JSON document per line.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural
from treelet.errors import InputTypeError, TreeletError
from treelet.printable import shortened
from treelet.structures.dependency import Dependencies, DependencyBank, from_linkage

# --- results of the Link Grammar parser -------------------------------------------------------------------------------

_STATUSES = ("ok", "null words", "panic", "no linkage", "timed out", "failed", "too long", "empty", "not text")
"""Possible statuses of a sentence. With the first three, there are linkages."""
_SHOWN = 20  # default number of failed sentences that a summary lists


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
        return {status: by_status[status] for status in _STATUSES if by_status[status]}

    @property
    def failed(self) -> list[int]:
        """Indices of the sentences without a linkage."""
        return [number for number, result in enumerate(self) if not len(result)]

    def summary(self, shown: int = _SHOWN) -> str:
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


# --- Link Grammar's C library, called through ctypes in a separate process --------------------------------------------

_SONAMES = ("liblink-grammar.so.5", "liblink-grammar.5.dylib", "liblink-grammar-5.dll")
_ERROR = 2  # the highest severity number that is an error

_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_TEXT, _FLOAT, _BOOL = ctypes.c_char_p, ctypes.c_float, ctypes.c_bool
_HANDLER = ctypes.CFUNCTYPE(None, _POINTER, _POINTER)

# Type of the result and of the arguments of each function.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "linkgrammar_get_version": (_TEXT,),
    "linkgrammar_get_dict_version": (_TEXT, _POINTER),
    "linkgrammar_get_dict_max_disjunct_cost": (_FLOAT, _POINTER),
    "linkgrammar_get_dict_define": (_TEXT, _POINTER, _TEXT),
    "lg_error_set_handler": (_POINTER, _POINTER, _POINTER),
    "lg_error_printall": (_INT, _HANDLER, _POINTER),
    "dictionary_create_lang": (_POINTER, _TEXT),
    "dictionary_delete": (None, _POINTER),
    "parse_options_create": (_POINTER,),
    "parse_options_delete": (_INT, _POINTER),
    "parse_options_set_verbosity": (None, _POINTER, _INT),
    "parse_options_set_linkage_limit": (None, _POINTER, _INT),
    "parse_options_set_disjunct_cost": (None, _POINTER, _FLOAT),
    "parse_options_set_min_null_count": (None, _POINTER, _INT),
    "parse_options_set_max_null_count": (None, _POINTER, _INT),
    "parse_options_set_islands_ok": (None, _POINTER, _BOOL),
    "parse_options_set_spell_guess": (None, _POINTER, _INT),
    "parse_options_set_short_length": (None, _POINTER, _INT),
    "parse_options_set_all_short_connectors": (None, _POINTER, _BOOL),
    "parse_options_set_repeatable_rand": (None, _POINTER, _BOOL),
    "parse_options_set_display_morphology": (None, _POINTER, _INT),
    "parse_options_set_max_parse_time": (None, _POINTER, _INT),
    "parse_options_reset_resources": (None, _POINTER),
    "parse_options_timer_expired": (_BOOL, _POINTER),
    "parse_options_memory_exhausted": (_BOOL, _POINTER),
    "sentence_create": (_POINTER, _TEXT, _POINTER),
    "sentence_delete": (None, _POINTER),
    "sentence_split": (_INT, _POINTER, _POINTER),
    "sentence_parse": (_INT, _POINTER, _POINTER),
    "sentence_null_count": (_INT, _POINTER),
    "sentence_num_linkages_found": (_INT, _POINTER),
    "sentence_num_valid_linkages": (_INT, _POINTER),
    "sentence_num_linkages_post_processed": (_INT, _POINTER),
    "sentence_num_violations": (_INT, _POINTER, _SIZE),
    "linkage_create": (_POINTER, _SIZE, _POINTER, _POINTER),
    "linkage_delete": (None, _POINTER),
    "linkage_get_num_words": (_SIZE, _POINTER),
    "linkage_get_num_links": (_SIZE, _POINTER),
    "linkage_get_word": (_TEXT, _POINTER, _SIZE),
    "linkage_get_link_lword": (_SIZE, _POINTER, _SIZE),
    "linkage_get_link_rword": (_SIZE, _POINTER, _SIZE),
    "linkage_get_link_label": (_TEXT, _POINTER, _SIZE),
    "linkage_unused_word_cost": (_INT, _POINTER),
    "linkage_disjunct_cost": (_FLOAT, _POINTER),
    "linkage_link_cost": (_INT, _POINTER),
}


def find_library() -> str | None:
    """Return the file or name of the library, or None if it is not installed."""
    for name in (ctypes.util.find_library("link-grammar"), *_SONAMES):
        if name is None:
            continue
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return None


class _Message(ctypes.Structure):
    _fields_ = (("severity", _INT), ("label", _TEXT), ("text", _TEXT))


class _Library:
    """The library, loaded from a path, with one dictionary. `settings` has the fields of `link_result.Settings`."""

    def __init__(self, path: str, settings: dict[str, Any]) -> None:
        self._lib = ctypes.CDLL(path)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments
        self.settings = settings
        self._lib.lg_error_set_handler(None, None)  # stores messages until `messages` collects them
        quiet = self._lib.parse_options_create()
        self._lib.parse_options_set_verbosity(quiet, 0)  # applies to the whole library, despite its name
        self._lib.parse_options_delete(quiet)
        self._dictionary = self._lib.dictionary_create_lang(settings["language"].encode())
        errors = self.messages()
        if not self._dictionary:
            raise OSError("; ".join(errors) or "the dictionary cannot be opened")

    def close(self) -> None:
        self._lib.dictionary_delete(self._dictionary)
        self._dictionary = None

    def versions(self) -> tuple[str, str]:
        """Return the versions of the library and of the dictionary."""
        library = self._lib.linkgrammar_get_version().decode()
        return library.removeprefix("link-grammar-"), (
            self._lib.linkgrammar_get_dict_version(self._dictionary) or b"?"
        ).decode()

    def messages(self) -> list[str]:
        """Return the errors that the library has reported since the last call. Warnings are dropped."""
        messages: list[str] = []

        def take(address: int, _: int) -> None:
            message = ctypes.cast(address, ctypes.POINTER(_Message)).contents
            if message.severity <= _ERROR:
                messages.append((message.text or b"").decode("utf-8", "replace").strip())

        self._lib.lg_error_printall(_HANDLER(take), None)
        return messages

    def _options(self, panic: bool) -> int:
        lib, settings = self._lib, self.settings
        options: int = lib.parse_options_create()
        cost = settings["max_cost"]
        if cost is None:
            cost = lib.linkgrammar_get_dict_max_disjunct_cost(self._dictionary)
        nulls, short = settings["max_null"], settings["short"]
        if panic:  # the same settings as in the link-parser program
            more = lib.linkgrammar_get_dict_define(self._dictionary, b"panic-max-disjunct-cost")
            cost = max(cost, _number(more, settings["panic_cost"]))
            nulls = settings["panic_null"] if nulls else 0
            short = min(short, settings["panic_short"])
        lib.parse_options_set_verbosity(options, 0)
        lib.parse_options_set_linkage_limit(options, settings["limit"])
        lib.parse_options_set_disjunct_cost(options, cost)
        lib.parse_options_set_min_null_count(options, 0)
        lib.parse_options_set_max_null_count(options, nulls)
        lib.parse_options_set_islands_ok(options, False)
        lib.parse_options_set_spell_guess(options, 0)
        lib.parse_options_set_short_length(options, short)
        lib.parse_options_set_all_short_connectors(options, panic)
        lib.parse_options_set_repeatable_rand(options, True)
        lib.parse_options_set_display_morphology(options, 1)
        lib.parse_options_set_max_parse_time(options, settings["max_seconds"])
        lib.parse_options_reset_resources(options)
        return options

    def parse(self, text: str, k: int | None, panic: bool) -> dict[str, Any]:
        """Parse a text. Return the fields of `link_result.Answer`."""
        lib = self._lib
        options = self._options(panic)
        sentence = lib.sentence_create(text.encode(), self._dictionary)
        try:
            split = lib.sentence_split(sentence, options)
            valid = lib.sentence_parse(sentence, options) if split >= 0 else split
            errors = self.messages()
            linkages = self._linkages(sentence, options, k) if valid > 0 else []
            return {
                "linkages": linkages,
                "found": lib.sentence_num_linkages_found(sentence),
                "valid": max(valid, 0),
                "null_count": lib.sentence_null_count(sentence),
                "timed_out": lib.parse_options_timer_expired(options),
                "out_of_memory": lib.parse_options_memory_exhausted(options),
                "problem": "; ".join(errors) if valid < 0 else None,
            }
        finally:
            lib.sentence_delete(sentence)
            lib.parse_options_delete(options)

    def _linkages(self, sentence: int, options: int, k: int | None) -> list[Any]:
        lib = self._lib
        linkages: list[Any] = []
        for number in range(lib.sentence_num_linkages_post_processed(sentence)):
            if k is not None and len(linkages) >= k:
                break
            if lib.sentence_num_violations(sentence, number):
                continue
            linkage = lib.linkage_create(number, sentence, options)
            if not linkage:  # after a timeout, there can be fewer linkages than were counted
                break
            words = [lib.linkage_get_word(linkage, w).decode() for w in range(lib.linkage_get_num_words(linkage))]
            links = [
                (
                    lib.linkage_get_link_lword(linkage, index),
                    lib.linkage_get_link_rword(linkage, index),
                    lib.linkage_get_link_label(linkage, index).decode(),
                )
                for index in range(lib.linkage_get_num_links(linkage))
            ]
            cost = lib.linkage_disjunct_cost(linkage)
            costs = (lib.linkage_unused_word_cost(linkage), round(cost, 4), lib.linkage_link_cost(linkage))
            linkages.append((words, links, costs))
            lib.linkage_delete(linkage)
        return linkages


def _number(text: bytes | None, otherwise: float) -> float:
    try:
        return float(text or otherwise)
    except ValueError:
        return otherwise


def serve(path: str, settings: dict[str, Any], requests: IO[str], answers: IO[str]) -> None:
    """Answer requests until the end of the input."""

    def answer(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        library = _Library(path, settings)
    except (OSError, AttributeError) as error:  # AttributeError: a function is missing, so this is another library
        answer({"error": str(error)})
        return
    answer({"versions": library.versions()})
    for line in requests:
        request = json.loads(line)
        answer(library.parse(request["text"], request["k"], request["panic"]))
    library.close()


def main() -> None:
    """Run the script for `link_parser`. Its arguments are the path of the library and the settings as JSON."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # text printed by the library must not mix with the answers
    requests = os.fdopen(0, encoding="utf-8", closefd=False)
    serve(sys.argv[1], json.loads(sys.argv[2]), requests, answers)


if __name__ == "__main__":
    main()
