"""The command line. This module imports almost nothing, so Ctrl-C prints one line even while the rest is being imported."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command ``treelet`` and exit."""
    try:
        from treelet.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("treelet: interrupted\n")
        sys.exit(INTERRUPTED)
    except Exception as error:
        if not interrupted(error):
            raise
        sys.stderr.write("treelet: interrupted\n")
        sys.exit(INTERRUPTED)


def interrupted(error: BaseException | None) -> bool:
    """Whether an error was caused by an interrupt. A module that is interrupted while it is imported may raise any error."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
