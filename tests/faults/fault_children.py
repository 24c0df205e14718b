"""Commands in children of this process, which has all modules loaded: they begin at once, and can be ended, or given less memory."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

BLOCKED = (signal.SIGINT, signal.SIGTERM)


def forked(work: Callable[[], int]) -> int:
    """A child that does this and ends with what it gives; no signal reaches it before."""
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
        return child
    status = 1
    try:
        gc.callbacks.clear()  # Python ignores an interrupt that is raised in one, and hypothesis installs one
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        status = work()
    except KeyboardInterrupt:
        status = 130
    except SystemExit:  # told to end when all was over
        status = 143
    finally:
        os._exit(status)


def unblock() -> None:
    """From now on signals are heard."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)


class Child:
    """A command of treelet's in a child, with what `subprocess.Popen` has of it.

    Parameters
    ----------
    words : tuple of str
        Of the command, without ``treelet``.
    folder, elsewhere : path
        Where it works, and where its temporary files go.
    memory : int, optional
        Bytes that it may take besides what it has.
    full : int, optional
        1 or 2: its standard output, or its standard error, is on a device that is full.
    """

    def __init__(
        self, words: tuple[str, ...], folder: Path, elsewhere: Path, memory: int | None = None, full: int | None = None
    ) -> None:
        self.returncode: int | None = None
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.pid = forked(lambda: self._run(words, folder, elsewhere, memory, full))

    def _run(self, words: tuple[str, ...], folder: Path, elsewhere: Path, memory: int | None, full: int | None) -> int:
        null = os.open(os.devnull, os.O_RDWR)
        for number, file in enumerate((null, null, self._said.fileno())):
            os.dup2(file if number != full else os.open("/dev/full", os.O_WRONLY), number)
        sys.stdout, sys.stderr = (open(number, "w", 1, encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
        os.chdir(folder)
        os.environ["TMPDIR"], tempfile.tempdir = str(elsewhere), None
        sys.argv = ["treelet", *words]
        if memory is not None:
            taken = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + memory, taken + memory))
        from treelet.cli.main import main  # that of treelet.cli is no longer to be had: its module has taken the name

        try:
            unblock()
            main()  # ends in SystemExit
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except KeyboardInterrupt:  # as treelet.cli.main does it
            sys.stderr.write("treelet: interrupted\n")
            return 130
        except BaseException:
            import traceback

            traceback.print_exc()
            return 1
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)  # the command is over
            with suppress(OSError):
                sys.stderr.flush()
        return 0

    def poll(self) -> int | None:
        if self.returncode is None:
            child, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if child else None
        return self.returncode

    def send_signal(self, how: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, how)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 600.0) -> tuple[str, str]:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise TimeoutExpired("treelet", timeout)
            time.sleep(0.002)
        self._said.seek(0)
        return "", self._said.read()
