"""The command ``treelet``: its subcommands, the reporting of errors, and the standard streams."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import sys
import threading
import warnings
import weakref
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

import treelet
from treelet.cli import INTERRUPTED, interrupted
from treelet.cli.options import COMMANDS
from treelet.errors import FileError, TreeletError
from treelet.printable import printable, shortened

FAILED, INTERNAL, PIPE_CLOSED = 2, 3, 141
_NAMES = (
    "gram", "train", "predict", "evaluate", "explain", "compare", "diff", "nearest", "clones", "check", "parse", "rerank", "explore",
    "draw", "convert", "doctor", "index",
)  # fmt: skip
"""The modules of the commands, which are imported when they are needed."""
_TERMINATING = ("SIGTERM", "SIGHUP")  # the latter is sent when a terminal is closed; Windows does not have it
_SUMMARY = """Classify, rank, search and compare trees by the fragments that they share.

Run treelet COMMAND --help for the options of a command.

Example: treelet compare "(NP (D the) (N apple))" "(NP (D the) (N pear))"
"""
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
_COLORS = re.compile("(\x1b\\[(?:0|1;31|1;32)m)")
"""The color sequences that treelet itself prints, in `treelet.report.gold_comparison`."""


class _ErrorReporting:
    """Reports each error of a command as one line on standard error, with an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments; wrong usage is reported like all other errors."""
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except Exception as error:
            _stop_if_usage_error(error, ctx)
            raise

    def invoke(self, ctx: Any) -> Any:
        name = ctx.find_root().info_name
        try:
            with warnings.catch_warnings():
                warnings.showwarning = partial(_show_warning, ctx, warnings.showwarning)
                result = super().invoke(ctx)  # type: ignore[misc]
            sys.stdout.flush()
            return result
        except BrokenPipeError:  # the reader of our output, such as head, has stopped reading
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except KeyboardInterrupt as error:
            _stop(f"{name}: interrupted{f': {error}' if str(error) else ''}", INTERRUPTED)
        except (TreeletError, OSError) as error:
            _stop(f"{name}: error: {_error_message(error, ctx)}", FAILED, ctx)
        except MemoryError as error:
            _stop(f"{name}: error: {_no_memory(error)}", FAILED, ctx)
        except Exception as error:
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise  # typer's own, such as the end of a command
            if interrupted(error):
                _stop(f"{name}: interrupted", INTERRUPTED)
            if isinstance(error, ImportError) and "_core" in f"{error.name} {error}":
                _stop(f"{name}: error: {_no_core(error)}", FAILED, ctx)
            how = "Run treelet --traceback" if name == "treelet" else "Set TREELET_TRACEBACK=1"
            fact = f"internal error: {type(error).__name__}: {_one_line(error)}"
            _stop(f"{name}: {fact} ({how} to see the Python traceback)", INTERNAL, ctx)


class _Commands(_ErrorReporting, TyperGroup):
    """A command with subcommands. Those of ``treelet`` itself are imported when they are needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the subcommands, in the order of the help."""
        return list(_NAMES) if self.name == "treelet" else super().list_commands(ctx)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return a subcommand, or None if there is none of this name."""
        if self.name == "treelet" and name in _NAMES and name not in self.commands:
            module = import_module(f"treelet.cli.{name}")
            own = {key: function for key, function in COMMANDS.items() if key.split()[0] == name}
            app = typer.Typer(
                cls=_Commands, help=module.__doc__, no_args_is_help=True, rich_markup_mode=None, add_completion=False
            )
            for key, function in own.items():
                app.command(key.split()[-1], cls=Command)(function)
            self.add_command(typer.main.get_command(app), name)
        return super().get_command(ctx, name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the subcommand; an unknown name is reported like all other errors, with a suggestion."""
        if self.name == "treelet" and args[0] not in _NAMES:
            for name in _NAMES:
                self.get_command(ctx, name)
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            _stop_if_usage_error(error, ctx)
            raise


class Command(_ErrorReporting, TyperCommand):
    """A subcommand, or a standalone command such as ``python -m experiments``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for parameter in self.params:
            if parameter.param_type_name == "argument":  # typer adds <str>, which the name already implies
                parameter.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the main options and the advanced options."""
        panels: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            panel = getattr(parameter, "rich_help_panel", None) or "Options"
            if (record := parameter.get_help_record(ctx)) is not None:
                panels.setdefault("Arguments" if parameter.param_type_name == "argument" else panel, []).append(record)
        for title in sorted(filter(panels.get, panels), key=["Arguments", "Options"].count, reverse=True):
            with formatter.section(title):
                formatter.write_dl(panels[title])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, with FILE and FILE... where typer writes {FILE} and {FILE...}...."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "").replace("......", "...") for piece in pieces]


def _stop_if_usage_error(error: Exception, ctx: Any) -> None:
    """Report a command that was called in a wrong way. A call without arguments prints the help and is not an error."""
    wrong_usage = hasattr(error, "format_message") and type(error).__name__ != "NoArgsIsHelpError"
    if wrong_usage and not ctx.resilient_parsing:  # which completion in a shell sets
        message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
        # Typer repeats the words of its validator: "Input should be a valid number, unable to parse string as a number".
        message = re.sub(r"Input should be a valid (\w+), .*?(?=\.( |$)|$)", r"the value must be a \1", message)
        message = message.replace("must be a integer", "must be an integer")
        end = "" if message.endswith((".", "?")) else "."
        _stop(f"{ctx.find_root().info_name}: error: {printable(message)}{end} See {ctx.command_path} --help.", FAILED)


def _stop(message: str, code: int, ctx: Any = None) -> NoReturn:
    _exit_if_terminated()  # an error that the signal caused, for example in a module that was being imported
    if ctx is not None and (
        ctx.find_root().params.get("traceback") or os.environ.get("TREELET_TRACEBACK", "0") not in ("", "0")
    ):
        import traceback

        traceback.print_exc()
    print(message, file=sys.stderr)
    raise typer.Exit(code) from None


def _show_warning(ctx: Any, otherwise: Any, message: Any, category: type[Warning], *location: Any) -> None:
    """Print a warning for users as one line, without the place in the code. Other warnings are shown as usual."""
    if not issubclass(category, UserWarning):
        otherwise(message, category, *location)
        return
    print(f"{ctx.find_root().info_name}: warning: {_with_options(_one_line(message), ctx)}", file=sys.stderr)


_PARAMETER = re.compile(r"The '(\w+)' parameter(?: of [\w.]+(?: \([^)]*\))?)?")
_VALUE = r"""('[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|True|None)?"""
_KEYWORD = re.compile(
    rf"(?<![^\s(])(?:[\w.]+\(\.\.\., (\w+)={_VALUE}\)"  # a parameter of a function that the message names
    r"|[\w.]+\((?:[^()]|\([^()]*\))*\)"  # any other call, such as SubsetTree(lam=0.4), which stays as it is
    rf"|(\w+)={_VALUE}(?=[\s,;:)]|\.?$|\.\s))"
)


def _with_options(message: str, ctx: Any) -> str:
    """Return a message with the options of the command instead of Python's parameters: ``--jobs 1`` for ``n_jobs=1``.

    The parameters of a command have the names of the Python API: ``n_jobs: Annotated[int, typer.Option("--jobs")]``.
    A parameter that has no option keeps its Python form.
    """
    shown, options = (
        {},
        dict[str, str](),
    )  # the names that users know: of all parameters, and of options by Python's names
    for parameter in ctx.command.params:
        long = [name for name in parameter.opts if name.startswith("--")]
        shown[parameter.name] = long[0] if long else str(parameter.metavar)
        if parameter.param_type_name == "option":
            options |= dict.fromkeys([parameter.name, *(name[2:].replace("-", "_") for name in long)], long[0])

    def subject(match: re.Match[str]) -> str:
        got = re.search(r"Got '([^']*)' instead", match.string)
        passed = [shown[name] for name in shown if got and ctx.params.get(name) == got[1]]
        within = [shown[name] for name in shown if f"{match[1]}=" in str(ctx.params.get(name))]
        if passed and options.get(match[1]) not in passed:  # --to is also a 'format' parameter
            return passed[0]
        if match[1] not in options and within:  # --option rows=2
            return f"{match[1]} in {within[0]}"
        return options.get(match[1], match[0])

    def keyword(match: re.Match[str]) -> str:
        name, value = match[1] or match[3], (match[2] or match[4] or "").strip("'\"")
        if name not in options:
            return match[0]
        return options[name] if value in ("", "True", "None") else f"{options[name]} {value}"

    if (message := _PARAMETER.sub(subject, before := message)) != before:
        for python, words in (("None or ", ""), (" an int ", " a whole number "), ("True or False", "true or false")):
            message = message.replace(python, words)
    message = message.replace("kernel.normalized()", options.get("normalize", "a normalized kernel"))
    return _KEYWORD.sub(keyword, message)


def _error_message(error: Exception, ctx: Any) -> str:
    """Return the message of an error in one line, with the options of the command that are a remedy."""
    message = _with_options(_one_line(error), ctx)
    if isinstance(error, FileError) and (sentence := _sentence(message, ctx)):
        return sentence
    if getattr(error, "one_of_many", False) and ctx.params.get("skip_bad") is False:
        message = f"{message.removesuffix('.')}. Pass --skip-bad to skip such items."
    return message


def _sentence(message: str, ctx: Any) -> str | None:
    """Return the message for a sentence in the place of a tree or a file, or None if the error is about something else."""
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name)
        for text in value if isinstance(value, list | tuple) else [value]:
            if (
                isinstance(text, str)
                and " " in text.strip()
                and not text.lstrip().startswith(("(", "["))  # a tree, where a file is needed
                and parameter.metavar not in ("MODEL", "INDEX")
                and message.startswith((text, shortened(text)))
                and not re.search(r"[/\\*]|\.\w+$", text)  # looks like the name of a file
            ):
                if parameter.metavar == "SENTENCES":
                    return f"{text!r} is a sentence, not a file of sentences. Pass it with --text."
                fact = f"{text!r} is a sentence, neither a tree in brackets nor a file"
                return f"{fact}. Parse it first: treelet parse --grammar FILE --text {shlex.quote(text)}."
    return None


def _no_memory(error: MemoryError) -> str:
    """Return the message for a lack of memory, with the details that the error has, such as NumPy's number of bytes."""
    details = _one_line(error)
    return f"There is not enough memory{f' ({details})' if details else ''}. Pass fewer examples at a time."


def _no_core(error: ImportError) -> str:
    """Return the message for a missing or unusable native core, for example in the source folder of a checkout."""
    folder = os.path.dirname(treelet.__file__)
    remedy = "Run treelet from another folder, or install it with pip install"
    return f"{folder}: the native core of treelet cannot be imported ({_one_line(error)}). {remedy}."


def _one_line(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.errno in _UNWRITABLE:  # errors of named files contain the name
        text = f"Standard output cannot be written ({error.strerror})."
    return printable(" ".join(text.split()))


def _version(wanted: bool) -> None:
    if wanted:
        print(f"treelet {treelet.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="treelet",
    cls=_Commands,
    help=_SUMMARY,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich's help takes longer to import than everything else together
    pretty_exceptions_enable=False,
)


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            help="Show the Python traceback of an error. The environment variable TREELET_TRACEBACK=1 does the same.",
        ),
    ] = False,
) -> None:
    """Take the options that come before a command."""


# --- the standard streams -----------------------------------------------------------------------------------------


class _Stream:
    """Passes everything on to another stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def writelines(self, lines: Any) -> None:
        """Write each text."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Terminal(_Stream):
    """Sends text, line ends and treelet's colors to a terminal, but no other control sequences."""

    def write(self, text: str) -> int:
        """Write the text, with other control characters escaped."""
        pieces = _COLORS.split(text)
        self._stream.write("".join(piece if n % 2 else printable(piece, keep="\n\t") for n, piece in enumerate(pieces)))
        return len(text)


class _Notes(_Stream):
    """Standard error. If its disk is full, the messages are lost, but the command goes on."""

    def write(self, text: str) -> int:
        """Write the text if possible."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream if possible."""
        with suppress(OSError):
            self._stream.flush()


# --- start --------------------------------------------------------------------------------------------------------


def main() -> None:
    """Run the command line and exit."""
    start(app, "treelet")


def start(app: typer.Typer, name: str) -> None:
    """Run a command line and exit."""
    if sys.stderr is None:  # if it is closed, print() would write to standard output instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.exit(_fail(f"{name}: error: Standard output is closed. Redirect it to a file or to {os.devnull}."))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # UTF-8 like all files that treelet writes; file names may be other bytes
            stream.reconfigure(
                encoding="utf-8", errors="surrogateescape" if stream is sys.stdout else "backslashreplace"
            )
    if sys.stdout.isatty():
        sys.stdout = _Terminal(sys.stdout)
    sys.stderr = _Notes(sys.stderr)
    os.environ.pop(
        "MPLBACKEND", None
    )  # pictures go to files, and matplotlib cannot be imported with an unknown backend
    main_thread = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, known) for known in _TERMINATING if main_thread and hasattr(signal, known)]
    handled = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]  # nohup ignores SIGHUP
    for number in handled:
        signal.signal(number, _terminated)
    try:
        app(prog_name=name)
    except SystemExit as end:
        if "treelet.work" in sys.modules:  # its import takes longer than some commands
            from treelet.work import leave

            leave(end.code)
        raise
    except OSError as error:  # outside of any command, for example in the help
        sys.exit(_fail(f"{name}: error: {_one_line(error)}"))
    finally:
        for number in handled:  # all files are complete or removed, and exceptions are lost while Python exits
            signal.signal(number, signal.SIG_DFL)
        _exit_if_terminated()


# --- signals ------------------------------------------------------------------------------------------------------


class _Terminated(SystemExit):
    """Raised by a signal. Unlike those of a built-in class, these exceptions can be referred to weakly."""


_received: list[int] = []
_LOST_AFTER = 0.1  # seconds until we look whether the exception was lost


def _terminated(number: int, frame: Any) -> NoReturn:
    """Exit in an orderly way, which removes half-written files. A second signal exits at once.

    Python and other packages drop exceptions in callbacks of weak references, in ``__del__`` and in some
    imports. A timer therefore raises the exception again if it no longer exists while the command still runs.
    """
    signal.signal(number, lambda *_: os._exit(128 + number))
    _received.append(number)
    sys.unraisablehook = lambda _: None  # do not print the exceptions that Python drops
    _raise_until_exit()


def _raise_until_exit() -> NoReturn:
    terminated = _Terminated(128 + _received[0])
    exists = weakref.ref(terminated)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: None if exists() else _raise_until_exit())
        signal.setitimer(signal.ITIMER_REAL, _LOST_AFTER, _LOST_AFTER)
    try:
        raise terminated
    finally:
        del terminated  # otherwise this frame, which is part of the traceback, keeps the exception alive


def _exit_if_terminated() -> None:
    """Exit with the code of the signal that was received, if any, however the command ended."""
    if _received:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.exit(128 + _received[0])


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return FAILED
