"""The figures of a checkout: lines, the longest module and function, names at the top, wheel, dependencies.

    python tools/figures.py [FOLDER ...]

One column a folder. The wheel is built only where the folder has a .venv with the build tools, into a folder that is
thrown away.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path


def lines(files: Iterable[Path]) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def modules(root: Path) -> list[Path]:
    """What is installed, without experiments."""
    return [path for path in sorted((root / "src").rglob("*.py")) if "experiments" not in path.parts]


def native(root: Path) -> list[Path]:
    return [path for path in sorted((root / "native").iterdir()) if path.suffix in (".hpp", ".cpp")]


def longest_module(root: Path) -> str:
    count, path = max((lines([path]), path.relative_to(root)) for path in [*modules(root), *native(root)])
    return f"{count} ({path})"


def longest_function(root: Path) -> str:
    """Its own lines, docstring left out."""
    found = []
    for path in modules(root):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) is not None
                first = node.body[0].end_lineno if text else node.lineno - 1
                found.append(((node.end_lineno or 0) - (first or 0), f"{path.relative_to(root)}: {node.name}"))
    count, name = max(found)
    return f"{count} ({name})"


def names(root: Path) -> int | str:
    code = "import treelet; print(len(treelet.__all__))"
    return asked(root, "-c", code)


def dependencies(root: Path) -> int:
    return len(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"])


def wheel(root: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        build = f"--config-settings=build-dir={folder}/build"
        asked(root, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", build, "-w", folder, str(root))
        made = list(Path(folder).glob("*.whl"))
        return f"{made[0].stat().st_size / 1024:,.0f} KiB" if made else "not built"


def asked(root: Path, *command: str) -> str:
    """What the folder's own Python says."""
    python = root / ".venv" / "bin" / "python"
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        [str(python), *command], capture_output=True, text=True, check=False, cwd=root, env=os.environ | {"PATH": path}
    )
    return found.stdout.strip() if found.returncode == 0 else "unknown"


FIGURES: dict[str, Callable[[Path], object]] = {
    "lines of src, experiments left out": lambda root: f"{lines(modules(root)):,}",
    "lines of native": lambda root: f"{lines(native(root)):,}",
    "lines of tests": lambda root: f"{lines((root / 'tests').rglob('*.py')):,}",
    "longest module": longest_module,
    "longest function": longest_function,
    "names at the top": names,
    "wheel": wheel,
    "dependencies": dependencies,
}


def main() -> None:
    roots = [Path(name).resolve() for name in sys.argv[1:] or ["."]]
    rows = [["", *(str(name) for name in sys.argv[1:] or ["."])]]
    rows += [[what, *(str(figure(root)) for root in roots)] for what, figure in FIGURES.items()]
    rows.insert(1, ["---"] * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
