"""The Link Grammar parser: from sentences to linkages, with the installed library."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import unicodedata
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, check_boolean, check_integer, plural, wrong
from treelet.errors import InputTypeError, TreeletError
from treelet.printable import shortened
from treelet.structures.dependency import Dependencies, DependencyBank, from_linkage
from treelet.work import progress_bar

# --- results of the Link Grammar parser -------------------------------------------------------------------------------

_STATUSES = ("ok", "null words", "panic", "no linkage", "timed out", "failed", "too long", "empty", "not text")
"""Possible statuses of a sentence. With the first three, there are linkages."""


class LinkGrammarError(TreeletError, RuntimeError):
    """Link Grammar is not installed, cannot be started, or was closed."""


class LinkageCost(NamedTuple):
    """The cost of a linkage: three numbers. Link Grammar sorts linkages by these, in this order."""

    unused: int
    """Number of words without a link."""
    disjunct: float
    """Cost of rare uses of words, from the dictionary."""
    length: int
    """Total length of all links."""


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
        at least that many.
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

    def summary(self, shown: int = 20) -> str:
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


# --- a child process with line-based requests and answers and a time limit --------------------------------------------


class _Child:
    """A child process with pipes.

    It always starts with a UTF-8 locale and in the root folder. Link Grammar first looks for
    dictionaries in the current folder, where a folder ``data/en`` of the user must not be taken for a
    dictionary. The process does not receive signals of the terminal.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by stop
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            cwd=os.sep,
            start_new_session=True,
        )
        self.pid = os.getpid()
        self._stop = weakref.finalize(self, _stop, self._process, self._errors, self.pid)

    @property
    def alive(self) -> bool:
        """Whether the process runs and belongs to this process, not to the process that this one was forked from."""
        return self._stop.alive and self.pid == os.getpid() and self._process.poll() is None

    def ask(self, text: str, seconds: float) -> str:
        """Send text, and return the line of the answer.

        The process is killed after `seconds`, with a `TimeoutError`. If it ends by itself, without an answer, a
        `ChildProcessError` gives the reason.
        """
        late, process = threading.Event(), self._process

        def end() -> None:  # a reference to self would keep it alive
            late.set()
            process.kill()

        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            stdin.write(text)
            stdin.flush()
            if (line := stdout.readline()).endswith("\n"):
                return line
            raise BrokenPipeError  # no answer, or a part of one
        except OSError:
            process.wait()
            self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 2000))  # the end of its error output
            reason = " ".join(self._errors.read().decode("utf-8", "replace").split())
            self.stop()
            if late.is_set():
                raise TimeoutError(f"no answer after {seconds:g} seconds") from None
            raise ChildProcessError(reason or f"the process ended with exit code {process.returncode}") from None
        except BaseException:  # after an interrupt, the rest of this answer would be read as the next one
            self.stop()
            raise
        finally:
            timer.cancel()

    def stop(self) -> None:
        """Kill the process. Repeated calls have no effect."""
        self._stop()


def _stop(process: subprocess.Popen[str], errors: IO[bytes], pid: int) -> None:
    if pid == os.getpid():  # after a fork, the process belongs to the parent
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, errors):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:  # buffered text can no longer be written
            pass


# --- the Link Grammar parser ------------------------------------------------------------------------------------------

_TOO_MANY = 2**24  # linkages; beyond, if no linkage of the sample is valid, Link Grammar does not skip words
_MOST = 2**31 - 1  # the largest number for the library
_GRACE = 10  # additional seconds, because Link Grammar checks its clock only now and then


class LinkParser:
    """The Link Grammar parser: from English sentences to linkages, which are undirected dependency parses.

    Link Grammar is installed separately: ``apt install link-grammar``.

    Parameters
    ----------
    language : str, default "en"
        Dictionary of Link Grammar: a language, or a folder that contains a dictionary.
    limit : int, default 1000
        Maximum number of linkages per sentence, at least 1. If there are more, a reproducible sample of
        this size is examined.
    max_null : int, default 3
        Maximum number of words that may be skipped, at least 0. The parser tries to use all words, then
        skips one word, and so on until there are linkages.
    max_cost : float, optional
        Maximum cost of a word's disjunct, at least 0. Default: the value of the dictionary, which is 2.7
        for English.
    max_seconds : int, default 30
        Approximate time limit per search, in seconds, at least 1. Panic mode may take the same time
        again.
    panic : bool, default True
        Whether to search again in panic mode if the search timed out, or if it found more than 16 million
        linkages and none of the sample was valid. Panic mode allows disjuncts of cost 4, 10 skipped
        words (none if `max_null` is 0), and links over at most 12 words. The status of the result is then
        ``"panic"``.
    walls : bool, default True
        Whether parses contain the walls, which Link Grammar adds before and after a sentence. The links
        of the first wall lead to the main verb and to the subject. It can be the root in
        `Dependencies.rooted`.

    Attributes
    ----------
    settings : dict
        The parameters.
    version, dictionary : str
        The versions of Link Grammar and of the dictionary.

    Raises
    ------
    LinkGrammarError
        If Link Grammar is not installed, or cannot be started with this language.

    Notes
    -----
    Spelling is never corrected, so the words are those of the sentence. Link Grammar converts the first
    word to lower case and splits some words (``dog 's``).

    Link Grammar runs in a separate process because it crashes on some texts. Such a sentence gets the
    status ``"failed"``, and the next sentence gets a new process. Several threads can share a parser,
    but only one sentence is parsed at a time; for parallel work, create several parsers. A parser is
    picklable and can be used after a fork; each copy has its own process. The process ends with `close`,
    at the end of a ``with`` block, or when the parser is deleted.

    Examples
    --------
    >>> from treelet.parsing import LinkParser, link_grammar_version
    >>> if link_grammar_version():  # only if Link Grammar is installed
    ...     with LinkParser() as parser:
    ...         result = parser.parse("Dogs bark loudly.")
    ...     assert result.status == "ok"
    ...     assert result[0].words[1:4] == ("dogs.n", "bark.v", "loudly")
    ...     assert result[0].parse.words[1:4] == ("dogs", "bark", "loudly")
    ...     assert result[0].parse.tags[1:4] == ("n", "v", "_")
    ...     assert result[0].cost.unused == 0
    """

    def __init__(
        self,
        language: str = "en",
        *,
        limit: int = 1000,
        max_null: int = 3,
        max_cost: float | None = None,
        max_seconds: int = 30,
        panic: bool = True,
        walls: bool = True,
    ) -> None:
        if not isinstance(language, str) or not language or not language.isprintable() or language.startswith("-"):
            raise wrong("language", "a language such as 'en', or a folder", language, of="LinkParser")
        for name, value, least in (("limit", limit, 1), ("max_null", max_null, 0), ("max_seconds", max_seconds, 1)):
            check_integer(name, value, least, most=_MOST, of="LinkParser")
        if max_cost is not None and (
            isinstance(max_cost, bool) or not isinstance(max_cost, (int, float)) or not 0 <= max_cost < math.inf
        ):
            raise wrong("max_cost", "a number of at least 0", max_cost, of="LinkParser", optional=True)
        for name, flag in (("panic", panic), ("walls", walls)):
            check_boolean(name, flag, of="LinkParser")
        self.settings: dict[str, Any] = {
            "language": str(Path(language).resolve()) if os.sep in language else language,
            "limit": limit,
            "max_null": max_null,
            "max_cost": None if max_cost is None else float(max_cost),
            "max_seconds": max_seconds,
            "panic": panic,
            "walls": walls,
        }
        self.panic, self.walls = panic, walls
        library = _find_library() if sys.executable else None
        if library is None:
            raise LinkGrammarError(
                "Link Grammar is not installed: its library was not found. Install it with: apt install link-grammar "
                "(Debian, Ubuntu), or see https://github.com/opencog/link-grammar. Only LinkParser needs Link Grammar."
            )
        self._library = library
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._child: _Child | None = None
        self._closed = False
        self.version, self.dictionary = "?", "?"
        with self._lock:
            self._running()

    # --- one sentence -------------------------------------------------------------------------------------------

    def parse(self, sentence: str, k: int | None = None) -> Linkages:
        """Return the linkages of a sentence, best first.

        Parameters
        ----------
        sentence : str
            Text of the sentence, with punctuation. Words are separated by white space.
        k : int, optional
            Maximum number of linkages to return, at least 1. Default: all, up to the limit. The search
            does not depend on `k`.

        Returns
        -------
        Linkages
            A sequence of linkages. If it is empty, its `status` gives the reason.

        Raises
        ------
        InputTypeError
            If `sentence` is not a string. (`parse_all` returns the status ``"not text"`` instead.)
        """
        check_integer("k", k, most=_MOST, optional=True)
        if not isinstance(sentence, str):
            hints = {bytes: " Decode it first.", list: " Join the words with spaces first."}
            raise InputTypeError(
                f"A sentence must be a string. Got {article(type(sentence).__name__)} instead."
                + hints.get(type(sentence), "")
            )
        text = " ".join(sentence.split())
        status, problem = _text_problem(text)
        if status:
            return Linkages(sentence, status, problem=problem)
        if self._pid != os.getpid():  # after a fork, the lock may belong to a thread that does not exist here
            self._lock, self._pid = threading.Lock(), os.getpid()
        with self._lock:
            answer, panic = self._answer(text, k), False
            incomplete = answer["timed_out"] or answer["out_of_memory"] or answer["found"] > _TOO_MANY
            if self.panic and not answer["linkages"] and incomplete and answer["problem"] is None:
                second = self._answer(text, k, panic=True)
                if second["linkages"]:
                    answer, panic = second, True
        linkages = tuple(
            Linkage(
                rank, LinkageCost(*cost), tuple(words), tuple(sorted((a, b, kind) for a, b, kind in links)), self.walls
            )
            for rank, (words, links, cost) in enumerate(answer.pop("linkages"))
        )
        problem = answer.pop("problem")
        if linkages:
            status = "panic" if panic else "null words" if answer["null_count"] else "ok"
        elif problem == "":
            status, problem = "empty", "Link Grammar finds no words in the text"
        elif problem is not None:
            status = "too long" if "too long" in problem else "failed"
        elif answer["timed_out"] or answer["out_of_memory"]:
            status = "timed out"
            limit = plural(self.settings["max_seconds"], "second")
            problem = f"no linkage within {limit}" if answer["timed_out"] else "Link Grammar ran out of memory"
        else:
            status = "no linkage"
            problem = f"none with at most {plural(self.settings['max_null'], 'skipped word')}"
            if answer["found"]:
                problem = f"{answer['found']:,} were found, but none of the examined linkages is valid"
        if not linkages:
            answer["null_count"] = 0
        return Linkages(sentence, status, linkages, problem, panic=panic, **answer)

    def _answer(self, text: str, k: int | None, panic: bool = False) -> dict[str, Any]:
        """Return the result of one search: the linkages, `problem`, and other fields of `Linkages`."""
        child = self._running()
        # Seconds of wall-clock time; Link Grammar measures its CPU time.
        seconds = 3 * self.settings["max_seconds"] + _GRACE
        try:
            return cast(
                "dict[str, Any]",
                json.loads(child.ask(json.dumps({"text": text, "k": k, "panic": panic}) + "\n", seconds)),
            )
        except (TimeoutError, ChildProcessError) as error:
            late = isinstance(error, TimeoutError)
            return {
                "linkages": [],
                "found": 0,
                "valid": 0,
                "null_count": 0,
                "timed_out": late,
                "out_of_memory": False,
                "problem": None if late else str(error),
            }

    # --- many sentences -----------------------------------------------------------------------------------------

    def parse_all(self, sentences: Iterable[str], k: int | None = None, *, progress: bool | None = None) -> LinkResults:
        """Parse many sentences.

        Parameters
        ----------
        sentences : iterable of str
            The sentences. An item that is not a string gets the status ``"not text"``.
        k : int, optional
            Maximum number of linkages per sentence, at least 1. Default: all, up to the limit.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.

        Returns
        -------
        LinkResults
            One result per sentence, including those without a linkage. ``summary()`` counts the statuses
            and lists the sentences without a linkage.
        """
        check_integer("k", k, most=_MOST, optional=True)
        if isinstance(sentences, (str, bytes)):
            raise InputTypeError(
                f"A list of sentences is needed. Got a single {type(sentences).__name__} instead: put it in a list."
            )
        try:
            items = list(sentences)
        except TypeError:
            raise InputTypeError(
                f"A list of sentences is needed. Got {article(type(sentences).__name__)} instead."
            ) from None
        results = []
        with progress_bar(progress, "sentences", len(items)) as advance:
            for item in items:
                try:
                    results.append(self.parse(item, k))
                except InputTypeError as error:
                    results.append(Linkages(item, "not text", problem=str(error)))
                advance(1)
        return LinkResults(results)

    # --- the process --------------------------------------------------------------------------------------------

    def _running(self) -> _Child:
        """Return the running process. Start a new one if there is none, or if the old one has ended."""
        if self._closed:
            raise LinkGrammarError("This LinkParser is closed. Create a new LinkParser to parse more sentences.")
        if self._child is not None and self._child.alive:
            return self._child
        script = Path(__file__).resolve().with_name("link_library.py")
        try:
            self._child = _Child([sys.executable, "-I", str(script), self._library, json.dumps(self.settings)])
            hello = json.loads(
                self._child.ask("", _GRACE + self.settings["max_seconds"])
            )  # it has loaded its dictionary
            if "error" in hello:
                raise ChildProcessError(hello["error"])
            self.version, self.dictionary = hello["versions"]
        except OSError as error:
            if self._child is not None:
                self._child.stop()
            raise LinkGrammarError(
                f"Link Grammar cannot be started with the language {self.settings['language']!r}: "
                f"{str(error).rstrip('.')}. Check the language, or the folder of the dictionary."
            ) from None
        return self._child

    def close(self) -> None:
        """End the process. The parser cannot be used afterwards."""
        self._closed = True
        if self._child is not None:
            self._child.stop()
            self._child = None

    def __enter__(self) -> LinkParser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(LinkParser, **self.settings), ()

    def __repr__(self) -> str:
        return f"<LinkParser: Link Grammar {self.version}, {self.settings['language']} {self.dictionary}>"


def _text_problem(text: str) -> tuple[str | None, str | None]:
    """Return a status and an explanation if a text with single spaces cannot be parsed; otherwise (None, None)."""
    # Link Grammar supports 254 words, including the two walls. Its memory is corrupted by sentences from 32,768 bytes
    # on and, in experiments, by words of tens of thousands of bytes.
    most_words, most_bytes, most_in_word = 252, 16_000, 250
    if not text:
        return "empty", None
    if len(text) > most_bytes:
        return "too long", f"{len(text):,} characters; the limit is {most_bytes:,} bytes"
    for index, char in enumerate(text):
        kind = unicodedata.category(char)
        if kind in ("Cc", "Cs"):
            name = "control character" if kind == "Cc" else "unpaired surrogate"
            return "not text", f"{name} {char!r} at position {index}"
    words = text.split(" ")
    if len(words) > most_words:
        return "too long", f"{len(words):,} words; the limit is {most_words}"
    longest = max(len(word.encode()) for word in words)
    if longest > most_in_word:
        return "too long", f"a word of {longest:,} bytes; the limit is {most_in_word}"
    size = len(text.encode())
    if size > most_bytes:
        return "too long", f"{size:,} bytes; the limit is {most_bytes:,}"
    return None, None


def _find_library() -> str | None:
    """Return the file or name of the library of Link Grammar, or None if it is not installed."""
    names = ("liblink-grammar.so.5", "liblink-grammar.5.dylib", "liblink-grammar-5.dll")
    for name in (ctypes.util.find_library("link-grammar"), *names):
        if name is None:
            continue
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return None


def link_grammar_version() -> str | None:
    """Return the version of the installed Link Grammar, or None if there is no working installation."""
    try:
        with LinkParser() as parser:
            return parser.version
    except LinkGrammarError:
        return None
