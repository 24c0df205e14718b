"""A child process with line-based requests and answers and a time limit, which may crash without consequences."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import IO

TAIL = 2000  # bytes of error output that are kept


class ChildEnded(Exception):  # noqa: N818  # not a TreeletError, because it never leaves this package
    """The process ended before it had answered. `timed_out` is True if it was killed after the time limit."""

    def __init__(self, message: str, timed_out: bool) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class Child:
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
            raise ChildEnded(reason, late.is_set()) from None
        except BaseException:  # after an interrupt, the rest of this answer would be read as the next one
            self.stop()
            raise
        finally:
            timer.cancel()

    def error_output(self) -> str:
        """Return the end of the text that was written to standard error since the last call, as one line."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - TAIL))
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
