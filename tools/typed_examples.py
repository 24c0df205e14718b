"""Check the types of the Python examples in README.md and docs/ with mypy: python tools/typed_examples.py

The blocks of a page become one module in build/examples, on the same lines as in the page. The functions of examples
need no annotations, and a page may use a variable twice.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "examples"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = [
    "--allow-untyped-defs",
    "--allow-untyped-calls",
    "--allow-redefinition",
    "--disable-error-code=var-annotated",
]


def module_of(page: str) -> str:
    """Return the Python blocks of a page, each on its own lines."""
    source = ""
    for block in BLOCK.finditer(page):
        source += "\n" * (page.count("\n", 0, block.start(1)) - source.count("\n")) + block[1]
    return source


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = {}  # by module
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "kernels").glob("*.md")):
        if source := module_of(page.read_text(encoding="utf-8")):
            module = FOLDER / f"example_{page.stem.replace('-', '_')}.py"
            module.write_text(source, encoding="utf-8")
            pages[str(module.relative_to(ROOT))] = str(page.relative_to(ROOT))
    command = [sys.executable, "-m", "mypy", *OPTIONS, *pages]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(re.sub("|".join(map(re.escape, pages)), lambda module: pages[module[0]], ended.stdout), end="")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
