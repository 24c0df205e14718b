"""The Link Grammar parser: sentences to linkages, by the library or the program that the system has."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from treelet.checks import check_boolean, check_integer, check_one_of, wrong
from treelet.errors import InputTypeError
from treelet.parsing import link_library, link_program
from treelet.parsing.link_child import Child, ChildEnded
from treelet.parsing.link_result import Answer, Linkage, LinkageCost, Linkages, LinkGrammarError, LinkResults, Settings
from treelet.progress import progress_bar

WAYS = ("auto", "library", "program")
MOST_WORDS = 252  # Link Grammar takes 254, with the two walls
LONGEST_WORD = 250  # bytes; tried: thousands still work, tens of thousands spoil its memory
LONGEST = 16_000  # bytes of a sentence; from 32,768 on its memory is spoilt
TOO_MANY = 2**24  # linkages: if none of the sample is valid, Link Grammar does not try to leave words out
GRACE = 10  # seconds beyond those allowed: its clock is looked at now and then only
MISSING = (
    "Link Grammar is not installed: apt install link-grammar (Debian, Ubuntu; elsewhere see "
    "https://github.com/opencog/link-grammar). Only LinkParser needs it, the rest of treelet works without"
)


class LinkParser:
    """The Link Grammar parser: English sentences to linkages, which are dependency parses with undirected links.

    Link Grammar is no part of treelet: ``apt install link-grammar``.

    Parameters
    ----------
    language : str
        A dictionary of Link Grammar: ``"en"``, or a folder with one.
    limit : int
        Where a sentence has more linkages, a sample of so many is looked at, the same each time.
    max_null : int
        How many words may be left unused. First none, then one, and so on until there are linkages.
    max_cost : float, optional
        The largest cost of a word's disjunct; by default what the dictionary says (English: 2.7).
    max_seconds : int
        For one search; its clock is looked at now and then only. Panic mode has as many again.
    panic : bool
        Whether to search once more where the search timed out, or found more than 16 million linkages and none of the
        sample was valid: with disjuncts up to a cost of 4, up to 10 words unused (none if `max_null` is 0), and
        links over at most 12 words. The result then says so.
    walls : bool
        Whether the walls before and after a sentence are words of the parses. The first wall's links lead to the main
        verb and to the subject; as a word it can be the root of `Dependencies.rooted`.
    way : {"auto", "library", "program"}
        By the C library, or by the program ``link-parser``; both give the same linkages. ``"auto"`` takes the library,
        or else the program.

    Attributes
    ----------
    settings : Settings
        What was asked for.
    way : str
        ``"library"`` or ``"program"``.
    version, dictionary : str
        The versions of Link Grammar and of the dictionary.

    Notes
    -----
    Spelling is never corrected, so that the words are those of the sentence; Link Grammar writes the first one in small
    letters, and takes some apart (``dog 's``).

    Either way Link Grammar runs in a process of its own, since it breaks down over some texts. Such a sentence has the
    status ``"failed"``, and the next one gets a new process. A parser can be used by several threads, which then wait
    for one another; for more at a time, make more parsers. It can be pickled and survives a fork; the copy has its own
    process. `close`, leaving a ``with`` block, or losing the parser ends the process.

    Examples
    --------
    >>> from treelet.parsing.link_parser import LinkParser, link_grammar_version
    >>> if link_grammar_version():  # it is installed
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
        way: str = "auto",
    ) -> None:
        if not isinstance(language, str) or not language or not language.isprintable() or language.startswith("-"):
            raise wrong("language", "a language or a folder", language, of="LinkParser")
        for name, value, least in (("limit", limit, 1), ("max_null", max_null, 0), ("max_seconds", max_seconds, 1)):
            check_integer(name, value, least, most=link_program.MOST, of="LinkParser")
        if max_cost is not None and (
            isinstance(max_cost, bool) or not isinstance(max_cost, (int, float)) or not 0 <= max_cost < math.inf
        ):
            raise wrong("max_cost", "None or a number from 0 on", max_cost, of="LinkParser")
        for name, flag in (("panic", panic), ("walls", walls)):
            check_boolean(name, flag, of="LinkParser")
        check_one_of("way", way, WAYS, of="LinkParser")
        self._given: dict[str, Any] = {
            "language": language,
            "limit": limit,
            "max_null": max_null,
            "max_cost": max_cost,
            "max_seconds": max_seconds,
            "panic": panic,
            "walls": walls,
            "way": way,
        }
        self.panic, self.walls = panic, walls
        if os.sep in language:
            language = str(Path(language).resolve())
        cost = None if max_cost is None else float(max_cost)
        self.settings = Settings(language, limit, max_null, cost, max_seconds)
        self.way, self._path = _found(way)
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._child: Child | None = None
        self._closed = False
        self.version, self.dictionary = "?", "?"
        with self._lock:
            self._running()

    # --- one sentence -------------------------------------------------------------------------------------------

    def parse(self, sentence: str, k: int | None = None) -> Linkages:
        """The linkages of a sentence, best first.

        Parameters
        ----------
        sentence : str
            As it is written, with punctuation. Any white space separates words.
        k : int, optional
            How many to give; by default all, up to the limit. The search is the same.

        Returns
        -------
        Linkages
            Without any where there is none: its `status` says why.

        Raises
        ------
        InputTypeError
            If it is no string. `parse_all` notes that instead.
        """
        _check_k(k)
        if not isinstance(sentence, str):
            hint = {bytes: ": decode them", list: ": join the words"}.get(type(sentence), "")
            raise InputTypeError(f"a sentence is a string, not {type(sentence).__name__}{hint}")
        text = " ".join(sentence.split())
        status, problem = text_problem(text)
        if status:
            return Linkages(sentence, status, problem=problem)
        if self.way == "program" and len(text.encode()) > link_program.LONGEST:
            return Linkages(
                sentence, "too long", problem=f"the program takes {link_program.LONGEST} bytes, the library more"
            )
        if self._pid != os.getpid():  # a fork: the lock may have been taken by a thread that is not here
            self._lock, self._pid = threading.Lock(), os.getpid()
        with self._lock:
            answer, panic = self._answer(text, k), False
            in_vain = answer.timed_out or answer.out_of_memory or answer.found > TOO_MANY
            if self.panic and not answer.linkages and in_vain and answer.problem is None:
                second = self._answer(text, k, panic=True)
                if second.linkages:
                    answer, panic = second, True
        return self._result(sentence, answer, panic)

    def _answer(self, text: str, k: int | None, panic: bool = False) -> Answer:
        child, settings = self._running(), self.settings
        # Its clock counts what it works, ours what we wait. The program searches twice, without and with unused words.
        seconds = (6 if self.way == "program" else 3) * settings.max_seconds + GRACE
        try:
            if self.way == "library":
                request = json.dumps({"text": text, "k": k, "panic": panic}) + "\n"
                [line] = child.ask(request, seconds, lambda line: True)
                return Answer(**json.loads(line))
            lines = child.ask(link_program.request(text, k, panic, settings), seconds, link_program.is_end)
            said = child.said()
            if panic:
                child.stop()  # once it has panicked, the program (5.12.0) goes on with short links only
            return link_program.read_answer(text, lines[:-1], said, panic, settings)
        except ChildEnded as ended:
            return Answer(timed_out=ended.timed_out, problem=None if ended.timed_out else str(ended))
        except ValueError as error:
            child.stop()
            return Answer(problem=f"the answer of Link Grammar {self.version} cannot be read: {error}")

    def _result(self, sentence: str, answer: Answer, panic: bool) -> Linkages:
        linkages = tuple(
            Linkage(
                rank, LinkageCost(*cost), tuple(words), tuple(sorted((a, b, kind) for a, b, kind in links)), self.walls
            )
            for rank, (words, links, cost) in enumerate(answer.linkages)
        )
        problem = answer.problem
        if linkages:
            status = "panic" if panic else "null words" if answer.null_count else "ok"
        elif problem == "":
            status, problem = "empty", "Link Grammar finds no words in it"
        elif problem is not None:
            status = "too long" if "too long" in problem else "failed"
        elif answer.timed_out or answer.out_of_memory:
            status = "timed out"
            problem = f"{self.settings.max_seconds} seconds" if answer.timed_out else "memory"
        else:
            status = "no linkage"
            problem = f"with at most {self.settings.max_null} words unused"
            if answer.found:
                problem = f"{answer.found} were found, none of those looked at is valid"
        return Linkages(
            sentence,
            status,
            linkages,
            problem,
            answer.found,
            answer.valid,
            answer.null_count if linkages else 0,
            answer.timed_out,
            answer.out_of_memory,
            panic,
        )

    # --- many sentences -----------------------------------------------------------------------------------------

    def parse_all(self, sentences: Iterable[str], k: int | None = None, *, progress: bool = False) -> LinkResults:
        """The linkages of many sentences: one result a sentence, whatever it is.

        Parameters
        ----------
        sentences : iterable of str
            What is no string gets the status ``"not text"``.
        k : int, optional
            How many linkages a sentence; by default all, up to the limit.
        progress : bool
            Show a bar.

        Returns
        -------
        LinkResults
            Its ``summary()`` says how many sentences became what, and which have no linkage.
        """
        _check_k(k)
        if isinstance(sentences, (str, bytes)):
            raise InputTypeError(f"sentences are needed, got one {type(sentences).__name__}: put it in a list")
        try:
            items = list(sentences)
        except TypeError:
            raise InputTypeError(f"sentences are needed, got {type(sentences).__name__}") from None
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

    def _running(self) -> Child:
        """The process; a new one if there is none, or none any more."""
        if self._closed:
            raise LinkGrammarError("this LinkParser has been closed: make another")
        if self._child is not None and self._child.alive:
            return self._child
        if self.way == "library":
            script = [sys.executable, "-I", str(Path(link_library.__file__).resolve())]
            command = [*script, self._path, json.dumps(asdict(self.settings))]
        else:
            command = link_program.command(self._path, self.settings)
        try:
            self._child = Child(command)
            self.version, self.dictionary = self._greeted(self._child)
        except (OSError, ChildEnded) as error:
            if self._child is not None:
                self._child.stop()
            raise LinkGrammarError(
                f"Link Grammar cannot be started with the language {self.settings.language!r}: {error}"
            ) from None
        return self._child

    def _greeted(self, child: Child) -> tuple[str, str]:
        """Wait until it has its dictionary, and see which versions these are."""
        if self.way == "library":
            [line] = child.ask("", GRACE + self.settings.max_seconds, lambda line: True)
            hello = json.loads(line)
            if "error" in hello:
                raise ChildEnded(hello["error"], False)
            version, dictionary = cast("tuple[str, str]", hello["versions"])
            return version, dictionary
        child.ask(f" {link_program.END}\n", GRACE + self.settings.max_seconds, link_program.is_end)
        return link_program.versions(child.said())

    def close(self) -> None:
        """End the process. The parser cannot be used any more."""
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
        return _made, (self._given,)

    def __repr__(self) -> str:
        return (
            f"<LinkParser: Link Grammar {self.version}, {self.settings.language} {self.dictionary}, by the {self.way}>"
        )


def _made(given: dict[str, Any]) -> LinkParser:
    return LinkParser(**given)


def _found(way: str) -> tuple[str, str]:
    """The way to go, and where the library or the program is."""
    library = link_library.find_library() if way in ("auto", "library") and sys.executable else None
    if library is not None:
        return "library", library
    program = link_program.find_program() if way in ("auto", "program") else None
    if program is not None:
        return "program", program
    what = {"auto": "", "library": " (no library)", "program": " (no program link-parser)"}[way]
    raise LinkGrammarError(MISSING + what)


def _check_k(k: object) -> None:
    check_integer("k", k, most=link_program.MOST, optional=True)


def text_problem(text: str) -> tuple[str | None, str | None]:
    """What keeps a text with single spaces from being parsed: a status and an explanation."""
    if not text:
        return "empty", None
    if len(text) > LONGEST:
        return "too long", f"{len(text)} characters, at most {LONGEST} bytes are possible"
    for index, char in enumerate(text):
        kind = unicodedata.category(char)
        if kind in ("Cc", "Cs"):
            what = "a control character" if kind == "Cc" else "half of a surrogate pair"
            return "not text", f"{what}, {char!r}, at {index}"
    words = text.split(" ")
    if len(words) > MOST_WORDS:
        return "too long", f"{len(words)} words, at most {MOST_WORDS} are possible"
    longest = max(len(word.encode()) for word in words)
    if longest > LONGEST_WORD:
        return "too long", f"a word of {longest} bytes, at most {LONGEST_WORD} are possible"
    size = len(text.encode())
    if size > LONGEST:
        return "too long", f"{size} bytes, at most {LONGEST} are possible"
    return None, None


def link_grammar_version() -> str | None:
    """The version of Link Grammar that a `LinkParser` would use, None if there is none that works."""
    try:
        with LinkParser() as parser:
            return parser.version
    except LinkGrammarError:
        return None
