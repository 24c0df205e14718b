"""``python -m treelet`` is the command ``treelet``."""

from treelet.cli import main

if __name__ == "__main__":
    main()
