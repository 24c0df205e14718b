"""The command ``treelet``: its subcommands, and what becomes of errors."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
import warnings
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

import treelet
from treelet.cli import (
    INTERRUPTED,
    compare,
    convert,
    diff,
    doctor,
    evaluate,
    explain,
    explore,
    gram,
    interrupted,
    nearest,
    parse,
    predict,
    rerank,
    train,
)
from treelet.cli.overwriting import check_files
from treelet.cli.wording import OptionVocabulary, way_out
from treelet.errors import TreeletError
from treelet.printable import printable
from treelet.vocabulary import speaking

FAILED, INTERNAL, PIPE_CLOSED = 2, 3, 141
TERMINATING = ("SIGTERM", "SIGHUP")  # the latter is sent when a terminal is closed; Windows does not have it
SUMMARY = """Compare, search and classify trees by the fragments they share.

Run treelet COMMAND --help for the options of a command.

Example: treelet compare "(NP (D the) (N apple))" "(NP (D the) (N pear))"
"""
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
COLORS = re.compile("(\x1b\\[(?:0|1;31|1;32)m)")
"""What treelet's own colors are: see `treelet.report.gold_comparison`."""


class ErrorReporting:
    """Runs a command; an error becomes one line on the standard error and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        name = ctx.find_root().info_name
        try:
            check_files(ctx)
            with warnings.catch_warnings(), speaking(OptionVocabulary(ctx)):
                warnings.showwarning = partial(_show_warning, ctx, warnings.showwarning)
                result = super().invoke(ctx)  # type: ignore[misc]
            sys.stdout.flush()
            return result
        except BrokenPipeError:  # whoever read our output has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except KeyboardInterrupt as error:
            _stop(f"{name}: interrupted{f': {error}' if str(error) else ''}", INTERRUPTED)
        except (TreeletError, OSError) as error:
            _stop(f"{name}: error: {_one_line(error)}{way_out(error, ctx)}", FAILED, ctx)
        except MemoryError as error:
            _stop(f"{name}: error: {_no_memory(error)}", FAILED, ctx)
        except Exception as error:
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise  # typer's own: wrong usage, or a command that is done
            if interrupted(error):
                _stop(f"{name}: interrupted", INTERRUPTED)
            what, how = type(error).__name__, "treelet --traceback" if name == "treelet" else "TREELET_TRACEBACK=1"
            _stop(f"{name}: internal error: {what}: {_one_line(error)} ({how} shows where)", INTERNAL, ctx)


class Commands(ErrorReporting, TyperGroup):
    """A command with subcommands."""


class Command(ErrorReporting, TyperCommand):
    """A subcommand, or a standalone command such as ``python -m experiments``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for parameter in self.params:
            if parameter.param_type_name == "argument":  # typer adds <str>, which the name already implies
                parameter.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, with FILE where typer writes {FILE}."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def _stop(message: str, code: int, ctx: Any = None) -> NoReturn:
    if ctx is not None and (
        ctx.find_root().params.get("traceback") or os.environ.get("TREELET_TRACEBACK", "0") not in ("", "0")
    ):
        import traceback

        traceback.print_exc()
    print(message, file=sys.stderr)
    raise typer.Exit(code) from None


def _show_warning(ctx: Any, otherwise: Any, message: Any, category: type[Warning], *location: Any) -> None:
    """A warning about what the user does is one line as well, without the place in the code."""
    if not issubclass(category, UserWarning):
        otherwise(message, category, *location)
        return
    print(f"{ctx.find_root().info_name}: warning: {_one_line(message)}", file=sys.stderr)


def _no_memory(error: MemoryError) -> str:
    """What did not fit, where that is known: NumPy says how many bytes it wanted."""
    what = _one_line(error)
    return f"there is not enough memory for this{f' ({what})' if what else ''}: take fewer examples at a time"


def _one_line(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.errno in UNWRITABLE:  # files are written under their names
        text = f"the standard output cannot be written ({error.strerror})"
    return printable(" ".join(text.split()))


def _version(wanted: bool) -> None:
    if wanted:
        print(f"treelet {treelet.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="treelet",
    cls=Commands,
    help=SUMMARY,
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
        typer.Option("--traceback", help="Show the Python traceback of an error. TREELET_TRACEBACK=1 does the same."),
    ] = False,
) -> None:
    """Take the options that come before a command."""


for module in (
    gram,
    train,
    predict,
    evaluate,
    explain,
    compare,
    diff,
    nearest,
    parse,
    rerank,
    explore,
    convert,
    doctor,
):
    app.command(module.__name__.rpartition(".")[2], cls=Command)(module.command)


# --- the standard streams -----------------------------------------------------------------------------------------


class _Stream:
    """Another stream, in whose place this one is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def writelines(self, lines: Any) -> None:
        """Write some texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Terminal(_Stream):
    """A terminal that is sent text, ends of lines and treelet's colors, and nothing else that it would obey."""

    def write(self, text: str) -> int:
        """Write the text, with other signs spelled out."""
        parts = COLORS.split(text)
        self._stream.write("".join(part if n % 2 else printable(part, keep="\n\t") for n, part in enumerate(parts)))
        return len(text)


class Notes(_Stream):
    """A standard error that may be full: what is said there is lost then, and nothing else."""

    def write(self, text: str) -> int:
        """Write the text, if that can be."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Likewise."""
        with suppress(OSError):
            self._stream.flush()


# --- start --------------------------------------------------------------------------------------------------------


def main() -> None:
    """Run the command line and exit."""
    start(app, "treelet")


def start(app: typer.Typer, name: str) -> None:
    """Run a command line and exit."""
    if sys.stderr is None:  # closed, and then print() would take the standard output instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.exit(_say(f"{name}: error: the standard output is closed: send it to a file, or to {os.devnull}"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # as all files are that treelet writes; names of files may be other bytes
            stream.reconfigure(
                encoding="utf-8", errors="surrogateescape" if stream is sys.stdout else "backslashreplace"
            )
    if sys.stdout.isatty():
        sys.stdout = Terminal(sys.stdout)
    sys.stderr = Notes(sys.stderr)
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, known) for known in TERMINATING if hasattr(signal, known)):
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP
                signal.signal(number, _terminated)
    try:
        app(prog_name=name)
    except OSError as error:  # outside of any command, as the help is
        sys.exit(_say(f"{name}: error: {_one_line(error)}"))


def _terminated(number: int, frame: Any) -> NoReturn:
    """Unwind, so that nothing half-written stays; told again, end at once."""
    signal.signal(number, lambda *_: os._exit(128 + number))
    sys.exit(128 + number)


def _say(message: str) -> int:
    print(message, file=sys.stderr)
    return FAILED
