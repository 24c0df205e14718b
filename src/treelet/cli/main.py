"""The command ``treelet``: its subcommands, the reporting of errors, and the standard streams."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

import treelet
from treelet.cli import (
    INTERRUPTED,
    clones,
    compare,
    convert,
    diff,
    doctor,
    draw,
    evaluate,
    explain,
    explore,
    gram,
    index,
    interrupted,
    nearest,
    parse,
    predict,
    rerank,
    train,
)
from treelet.cli.overwriting import check_files
from treelet.cli.wording import OptionVocabulary, shown_name, with_remedy
from treelet.errors import TreeletError
from treelet.printable import printable
from treelet.vocabulary import speaking

# --- messages about wrong usage ---------------------------------------------------------------------------------------

_TYPES = {"integer": "a whole number", "int": "a whole number", "bool": "true or false", "number": "a number"}
_TYPES |= {"boolean": "true or false", "float": "a number"}
_EXAMPLES = {
    "train": "For example: treelet train train.tsv -o model.treelet",
    "gram": "For example: treelet gram trees.mrg -o K.npy",
}
"""Examples of the commands that have a required option, which the usage line does not show."""
_VALUES = {("train", "--output"): "model.treelet"}
"""Example values of required options."""
_LONGEST = 60  # characters of a description in a message


def _is_usage_error(error: BaseException) -> bool:
    """Whether the command was called in a wrong way. A call without arguments prints the help and is not an error."""
    return hasattr(error, "format_message") and type(error).__name__ != "NoArgsIsHelpError"


def _usage_message(error: Any, ctx: Any, args: Sequence[str]) -> str:
    """Return the message for an error in the arguments of a command: the fact, the value and a remedy."""
    from treelet.checks import some_of, suggestion

    kind, command = type(error).__name__, ctx.command_path
    if kind == "NoSuchOption":
        return _unknown_option(error.option_name, ctx, args)
    if kind == "MissingParameter" and error.param is not None:
        name = shown_name(error.param)
        if error.param.param_type_name == "argument":
            example = _EXAMPLES.get(ctx.info_name)
            return f"The argument {name}{_described(error.param)} is missing. {example or _usage(ctx)}"
        value = _VALUES.get((ctx.info_name, name))
        remedy = f"Add it, for example {name} {value}." if value else f"Add {name} {error.param.metavar}."
        return f"The option {name} is missing. {remedy}"
    if kind == "BadOptionUsage":
        name = error.option_name
        if "not take" in error.format_message():
            return f"{name} does not take a value. Write only {name}."
        metavars = [parameter.metavar for parameter in ctx.command.params if name in parameter.opts]
        return f"{name} needs a value. Write {' '.join([name, *filter(None, metavars)])}."
    if kind == "BadParameter" and error.param is not None:
        return _wrong_type(error, args)
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)", error.format_message(), re.DOTALL):
        unexpected = [argument for argument in args if argument in extra[1]]
        count = next(n for n in range(len(unexpected) + 1) if " ".join(unexpected[n:]) in extra[1])
        unexpected = unexpected[count:] or [extra[1]]
        fact = f"Unexpected argument{'s' if len(unexpected) > 1 else ''} {some_of(unexpected, 3)}."
        if all(re.fullmatch(r"[\d.]+", argument) for argument in unexpected):
            return f"{fact} Separate several values of an option with commas, for example --lam 0.2,0.4. {_usage(ctx)}"
        return f"{fact} Put quotes around a tree or a name that contains spaces. {_usage(ctx)}"
    if hasattr(ctx.command, "commands") and args:
        known = suggestion(args[0], ctx.command.commands)
        return f"{args[0]!r} is not a command of {command}.{known} Run {command} --help for the list of commands."
    return str(error.format_message())


def _unknown_option(name: str, ctx: Any, args: Sequence[str]) -> str:
    from treelet.checks import suggestion

    if not name.startswith("--"):  # of -lam, only -l is reported
        name = next((arg.partition("=")[0] for arg in args if arg.startswith(name)), name)
    known = [option for parameter in ctx.command.params for option in _options(parameter)]
    fact, root = f"{name!r} is not an option of {ctx.command_path}.", ctx.find_root()
    if root is not ctx and any(name in _options(parameter) for parameter in root.command.params):
        return f"{fact} Write {name} before the command: {root.info_name} {name} {ctx.info_name}."
    return f"{fact}{suggestion(name, known)} Run {ctx.command_path} --help for the list of options."


def _options(parameter: Any) -> list[str]:
    return [name for name in [*parameter.opts, *parameter.secondary_opts] if name.startswith("-")]


def _wrong_type(error: Any, args: Sequence[str]) -> str:
    from treelet.cli.options import wrong_value

    name, message = shown_name(error.param), error.format_message()
    wanted = next((_TYPES[word] for word in re.findall(r"\w+", error.message) if word in _TYPES), None)
    value = _value(error.param, args)
    if wanted is None or value is None:
        return f"{name}: {message}"
    return str(wrong_value(name, wanted, value))


def _value(parameter: Any, args: Sequence[str]) -> str | None:
    """Return the last value that the arguments have for an option, as it was written."""
    value = None
    for number, arg in enumerate(args):
        for option in _options(parameter):
            if arg == option and number + 1 < len(args):
                value = args[number + 1]
            elif arg.startswith(f"{option}=") and option.startswith("--"):
                value = arg.partition("=")[2]
            elif len(option) == 2 and arg.startswith(option) and arg != option:
                value = arg[2:].removeprefix("=")
    return value


def _usage(ctx: Any) -> str:
    """Return the usage line. It ends a message, without a period, so it can be copied."""
    return " ".join(ctx.get_usage().split())


def _described(parameter: Any) -> str:
    """Return the first sentence of a parameter's help in parentheses, or an empty string if it is long."""
    sentence = (getattr(parameter, "help", None) or "").split(". ")[0].split("  [")[0].removesuffix(".")
    sentence = sentence.removesuffix(", in the same form")  # as the argument before it
    return f" ({sentence[0].lower()}{sentence[1:]})" if 0 < len(sentence) <= _LONGEST else ""


FAILED, INTERNAL, PIPE_CLOSED = 2, 3, 141
# --- the command ``treelet`` ------------------------------------------------------------------------------------------

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
        arguments = list(args)
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except Exception as error:
            _stop_if_usage_error(error, ctx, arguments)
            raise

    def invoke(self, ctx: Any) -> Any:
        name = ctx.find_root().info_name
        try:
            check_files(ctx)
            with warnings.catch_warnings(), speaking(OptionVocabulary(ctx)):
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
            _stop(f"{name}: error: {with_remedy(_one_line(error), error, ctx)}", FAILED, ctx)
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
    """A command with subcommands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the subcommand; an unknown name is reported like all other errors."""
        arguments = list(args)
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            _stop_if_usage_error(error, ctx, arguments)
            raise


class Command(_ErrorReporting, TyperCommand):
    """A subcommand, or a standalone command such as ``python -m experiments``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for parameter in self.params:
            if parameter.param_type_name == "argument":  # typer adds <str>, which the name already implies
                parameter.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, with FILE and FILE... where typer writes {FILE} and {FILE...}...."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "").replace("......", "...") for piece in pieces]


def _stop_if_usage_error(error: Exception, ctx: Any, arguments: list[str]) -> None:
    if _is_usage_error(error) and not ctx.resilient_parsing:  # which completion in a shell sets
        message = _usage_message(error, ctx, arguments)
        _stop(f"{ctx.find_root().info_name}: error: {printable(' '.join(message.split()))}", FAILED)


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
    print(f"{ctx.find_root().info_name}: warning: {_one_line(message)}", file=sys.stderr)


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


for module in (
    gram,
    train,
    predict,
    evaluate,
    explain,
    compare,
    diff,
    nearest,
    clones,
    parse,
    rerank,
    explore,
    draw,
    convert,
    doctor,
):
    app.command(module.__name__.rpartition(".")[2], cls=Command)(module.command)

indexes = typer.Typer(cls=_Commands, help=index.HELP, no_args_is_help=True, rich_markup_mode=None)
for function in (index.create, index.add, index.remove, index.search, index.info):
    indexes.command(function.__name__, cls=Command)(function)
app.add_typer(indexes, name="index")


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
        if (work := sys.modules.get("treelet.work")) is not None:  # its import takes longer than some commands
            work.leave(end.code)
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
