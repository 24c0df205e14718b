"""The Link Grammar parser: from sentences to linkages, with the installed library or program."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import unicodedata
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from treelet.checks import article, check_boolean, check_integer, check_one_of, plural, wrong
from treelet.errors import InputTypeError
from treelet.parsing import link_library, link_program
from treelet.parsing.link_library import Answer, Linkage, LinkageCost, Linkages, LinkGrammarError, LinkResults, Settings
from treelet.progress import progress_bar

# --- a child process with line-based requests and answers and a time limit --------------------------------------------

_TAIL = 2000  # bytes of error output that are kept


class _ChildEnded(Exception):  # noqa: N818  # not a TreeletError, because it never leaves this package
    """The process ended before it had answered. `timed_out` is True if it was killed after the time limit."""

    def __init__(self, message: str, timed_out: bool) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class _Child:
    """A child process with pipes.

    It always starts with a UTF-8 locale and in the root folder. Link Grammar first looks for
    dictionaries in the current folder, where a folder ``data/en`` of the user must not be taken for a
    dictionary. The process does not receive signals of the terminal.
    """

    def __init__(self, command: Sequence[str]) -> None:
        # In append mode, the file can be truncated after each answer while the process continues to write.
        self._errors = tempfile.TemporaryFile("a+b")  # noqa: SIM115  # closed by stop
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

    def ask(self, text: str, seconds: float, last: Callable[[str], bool]) -> list[str]:
        """Send text, and read lines until `last` is true for one. The process is killed after `seconds`."""
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
        lines: list[str] = []
        try:
            stdin.write(text)
            stdin.flush()
            while True:
                line = stdout.readline()
                if not line:
                    raise BrokenPipeError
                lines.append(line.rstrip("\n"))
                if last(lines[-1]):
                    return lines
        except OSError:
            process.wait()
            reason = self.error_output() or f"the process ended with exit code {process.returncode}"
            self.stop()
            if late.is_set():
                reason = f"no answer after {seconds:g} seconds"
            raise _ChildEnded(reason, late.is_set()) from None
        except BaseException:  # after an interrupt, the rest of this answer would be read as the next one
            self.stop()
            raise
        finally:
            timer.cancel()

    def error_output(self) -> str:
        """Return the end of the text that was written to standard error since the last call, as one line."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _TAIL))
        text = self._errors.read().decode("utf-8", "replace")
        self._errors.truncate(0)
        return " ".join(text.split())

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

_WAYS = ("auto", "library", "program")
_MOST_WORDS = 252  # Link Grammar supports 254, including the two walls
_LONGEST_WORD = 250  # bytes; in experiments, words of tens of thousands of bytes corrupted its memory
_LONGEST = 16_000  # bytes of a sentence; from 32,768 bytes on, its memory is corrupted
_TOO_MANY = 2**24  # linkages; beyond, if no linkage of the sample is valid, Link Grammar does not skip words
_GRACE = 10  # additional seconds, because Link Grammar checks its clock only now and then
_MISSING = (
    "Link Grammar is not installed{detail}. Install it with: apt install link-grammar (Debian, Ubuntu), "
    "or see https://github.com/opencog/link-grammar. Only LinkParser needs Link Grammar."
)


class LinkParser:
    """The Link Grammar parser: from English sentences to linkages, which are undirected dependency parses.

    Link Grammar is a separate program: ``apt install link-grammar``.

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
    way : {"auto", "library", "program"}, default "auto"
        Use the C library or the program ``link-parser``. Both return the same linkages. ``"auto"``
        prefers the library.

    Attributes
    ----------
    settings : Settings
        The settings that are passed to Link Grammar.
    way : str
        ``"library"`` or ``"program"``.
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
    >>> from treelet.parsing.link_parser import LinkParser, link_grammar_version
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
        way: str = "auto",
    ) -> None:
        if not isinstance(language, str) or not language or not language.isprintable() or language.startswith("-"):
            raise wrong("language", "a language such as 'en', or a folder", language, of="LinkParser")
        for name, value, least in (("limit", limit, 1), ("max_null", max_null, 0), ("max_seconds", max_seconds, 1)):
            check_integer(name, value, least, most=link_program.MOST, of="LinkParser")
        if max_cost is not None and (
            isinstance(max_cost, bool) or not isinstance(max_cost, (int, float)) or not 0 <= max_cost < math.inf
        ):
            raise wrong("max_cost", "a number of at least 0", max_cost, of="LinkParser", optional=True)
        for name, flag in (("panic", panic), ("walls", walls)):
            check_boolean(name, flag, of="LinkParser")
        check_one_of("way", way, _WAYS, of="LinkParser")
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
        _check_k(k)
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
        if self.way == "program" and len(text.encode()) > link_program.LONGEST:
            return Linkages(
                sentence,
                "too long",
                problem=f"the program supports at most {link_program.LONGEST} bytes; the library supports more",
            )
        if self._pid != os.getpid():  # after a fork, the lock may belong to a thread that does not exist here
            self._lock, self._pid = threading.Lock(), os.getpid()
        with self._lock:
            answer, panic = self._answer(text, k), False
            incomplete = answer.timed_out or answer.out_of_memory or answer.found > _TOO_MANY
            if self.panic and not answer.linkages and incomplete and answer.problem is None:
                second = self._answer(text, k, panic=True)
                if second.linkages:
                    answer, panic = second, True
        return self._result(sentence, answer, panic)

    def _answer(self, text: str, k: int | None, panic: bool = False) -> Answer:
        child, settings = self._running(), self.settings
        # Link Grammar measures its CPU time, and this limit is wall-clock time. The program searches twice,
        # without and with skipped words.
        seconds = (6 if self.way == "program" else 3) * settings.max_seconds + _GRACE
        try:
            if self.way == "library":
                request = json.dumps({"text": text, "k": k, "panic": panic}) + "\n"
                [line] = child.ask(request, seconds, lambda line: True)
                return Answer(**json.loads(line))
            lines = child.ask(link_program.request(text, k, panic, settings), seconds, link_program.is_end)
            errors = child.error_output()
            if panic:
                child.stop()  # after a panic search, the program (5.12.0) continues to use only short links
            return link_program.read_answer(text, lines[:-1], errors, panic, settings)
        except _ChildEnded as ended:
            return Answer(timed_out=ended.timed_out, problem=None if ended.timed_out else str(ended))
        except ValueError as error:
            child.stop()
            return Answer(problem=f"the output of Link Grammar {self.version} cannot be read: {error}")

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
            status, problem = "empty", "Link Grammar finds no words in the text"
        elif problem is not None:
            status = "too long" if "too long" in problem else "failed"
        elif answer.timed_out or answer.out_of_memory:
            status = "timed out"
            limit = plural(self.settings.max_seconds, "second")
            problem = f"no linkage within {limit}" if answer.timed_out else "Link Grammar ran out of memory"
        else:
            status = "no linkage"
            problem = f"none with at most {plural(self.settings.max_null, 'skipped word')}"
            if answer.found:
                problem = f"{answer.found:,} were found, but none of the examined linkages is valid"
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
        """Parse many sentences.

        Parameters
        ----------
        sentences : iterable of str
            The sentences. An item that is not a string gets the status ``"not text"``.
        k : int, optional
            Maximum number of linkages per sentence, at least 1. Default: all, up to the limit.
        progress : bool, default False
            Show a progress bar on standard error.

        Returns
        -------
        LinkResults
            One result per sentence, including those without a linkage. ``summary()`` counts the statuses
            and lists the sentences without a linkage.
        """
        _check_k(k)
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
        if self.way == "library":
            script = [sys.executable, "-I", str(Path(link_library.__file__).resolve())]
            command = [*script, self._path, json.dumps(asdict(self.settings))]
        else:
            command = link_program.command(self._path, self.settings)
        try:
            self._child = _Child(command)
            self.version, self.dictionary = self._greeted(self._child)
        except (OSError, _ChildEnded) as error:
            if self._child is not None:
                self._child.stop()
            raise LinkGrammarError(
                f"Link Grammar cannot be started with the language {self.settings.language!r}: {str(error).rstrip('.')}. "
                "Check the language, or the folder of the dictionary."
            ) from None
        return self._child

    def _greeted(self, child: _Child) -> tuple[str, str]:
        """Wait until the process has loaded its dictionary. Return the versions of Link Grammar and the dictionary."""
        if self.way == "library":
            [line] = child.ask("", _GRACE + self.settings.max_seconds, lambda line: True)
            hello = json.loads(line)
            if "error" in hello:
                raise _ChildEnded(hello["error"], False)
            version, dictionary = cast("tuple[str, str]", hello["versions"])
            return version, dictionary
        child.ask(f" {link_program.END}\n", _GRACE + self.settings.max_seconds, link_program.is_end)
        return link_program.versions(child.error_output())

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
        return _made, (self._given,)

    def __repr__(self) -> str:
        return (
            f"<LinkParser: Link Grammar {self.version}, {self.settings.language} {self.dictionary}, by the {self.way}>"
        )


def _made(given: dict[str, Any]) -> LinkParser:
    return LinkParser(**given)


def _found(way: str) -> tuple[str, str]:
    """Return ``"library"`` or ``"program"``, and the path of the library or the program."""
    library = link_library.find_library() if way in ("auto", "library") and sys.executable else None
    if library is not None:
        return "library", library
    program = link_program.find_program() if way in ("auto", "program") else None
    if program is not None:
        return "program", program
    detail = {"auto": "", "library": " (library not found)", "program": " (program link-parser not found)"}[way]
    raise LinkGrammarError(_MISSING.format(detail=detail))


def _check_k(k: object) -> None:
    check_integer("k", k, most=link_program.MOST, optional=True)


def _text_problem(text: str) -> tuple[str | None, str | None]:
    """Return a status and an explanation if a text with single spaces cannot be parsed; otherwise (None, None)."""
    if not text:
        return "empty", None
    if len(text) > _LONGEST:
        return "too long", f"{len(text):,} characters; the limit is {_LONGEST:,} bytes"
    for index, char in enumerate(text):
        kind = unicodedata.category(char)
        if kind in ("Cc", "Cs"):
            name = "control character" if kind == "Cc" else "unpaired surrogate"
            return "not text", f"{name} {char!r} at position {index}"
    words = text.split(" ")
    if len(words) > _MOST_WORDS:
        return "too long", f"{len(words):,} words; the limit is {_MOST_WORDS}"
    longest = max(len(word.encode()) for word in words)
    if longest > _LONGEST_WORD:
        return "too long", f"a word of {longest:,} bytes; the limit is {_LONGEST_WORD}"
    size = len(text.encode())
    if size > _LONGEST:
        return "too long", f"{size:,} bytes; the limit is {_LONGEST:,}"
    return None, None


def link_grammar_version() -> str | None:
    """Return the version of the installed Link Grammar, or None if there is no working installation."""
    try:
        with LinkParser() as parser:
            return parser.version
    except LinkGrammarError:
        return None
