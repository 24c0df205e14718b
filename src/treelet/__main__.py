"""Run the ``treelet`` command with ``python -m treelet``."""

from treelet.cli import main

if __name__ == "__main__":
    main()
