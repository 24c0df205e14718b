"""A process that answers line by line, is ended when it takes too long, and may break without harm to us."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import IO

TAIL = 2000  # bytes of its last words


class ChildEnded(Exception):  # noqa: N818  # no error of treelet's: it never leaves this package
    """The process ended before it had answered. `timed_out`: because we ended it."""

    def __init__(self, message: str, timed_out: bool) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class Child:
    """A process with pipes.

    It starts with a UTF-8 locale, whatever ours is, and in the root folder: Link Grammar looks for its dictionaries in
    the current folder first, and a folder ``data/en`` of the user's must not become one. It gets no signals of our
    terminal.
    """

    def __init__(self, command: Sequence[str]) -> None:
        # Appended to, so that what it says can be cut off after each answer while it goes on writing.
        self._said = tempfile.TemporaryFile("a+b")  # noqa: SIM115  # closed by stop
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            cwd=os.sep,
            start_new_session=True,
        )
        self.pid = os.getpid()
        self._stop = weakref.finalize(self, _stop, self._process, self._said, self.pid)

    @property
    def alive(self) -> bool:
        """Whether it can be asked: it runs, and is not the child of the process that we were forked from."""
        return self._stop.alive and self.pid == os.getpid() and self._process.poll() is None

    def ask(self, text: str, seconds: float, last: Callable[[str], bool]) -> list[str]:
        """Send text and read lines up to one that is the last; it is ended if that takes too long."""
        late, process = threading.Event(), self._process

        def end() -> None:  # knows nothing of self, which it would keep alive
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
            said = self.said() or f"it ended with exit code {process.returncode}"
            self.stop()
            if late.is_set():
                said = f"no answer after {seconds:g} seconds"
            raise ChildEnded(said, late.is_set()) from None
        except BaseException:  # an interrupt: the rest of the answer would be taken for the next one
            self.stop()
            raise
        finally:
            timer.cancel()

    def said(self) -> str:
        """The last of what it wrote to its standard error since this was asked before, in one line."""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - TAIL))
        text = self._said.read().decode("utf-8", "replace")
        self._said.truncate(0)
        return " ".join(text.split())

    def stop(self) -> None:
        """End it; more than once does no harm."""
        self._stop()


def _stop(process: subprocess.Popen[str], said: IO[bytes], pid: int) -> None:
    if pid == os.getpid():  # after a fork it is not ours to end
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, said):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:  # what was still to be written has no reader
            pass
