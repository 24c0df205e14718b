"""Print figures of checkouts: size, the longest module and function, repeated names, public names, wheel, dependencies.

    python tools/figures.py [--lists] [--no-wheel] [FOLDER ...]

One column per folder. The wheel is built only where the folder has a .venv with the build tools, into a temporary
folder; this takes minutes, and --no-wheel skips it. With --lists the names and places behind the counts follow the table.
"""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

OPTIONS = {"n_jobs", "memory", "device", "device_memory", "client", "progress"}
"""Options of execution: who computes, how much memory is used, whether progress is shown."""
EXECUTORS = {"crew", "executor", "pool"}
VAGUE = ("found", "place", "part", "one")
"""Variable names that do not describe their contents."""
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines(files: Iterable[Path]) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def modules(root: Path) -> list[Path]:
    """Return the installed modules, without experiments."""
    return [path for path in sorted((root / "src").rglob("*.py")) if "experiments" not in path.parts]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def nodes(root: Path) -> Iterator[tuple[Path, ast.AST]]:
    """All nodes of all modules."""
    for path in modules(root):
        for node in ast.walk(tree_of(path)):
            yield path.relative_to(root / "src"), node


def code_lines(path: Path) -> int:
    """Lines with code: neither empty nor only part of a comment or a docstring."""
    strings = {
        line
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    code = {line for token in tokens if token.type not in LAYOUT for line in range(token.start[0], token.end[0] + 1)}
    return len(code - strings)


def option_signatures(root: Path) -> list[str]:
    """Functions with two or more options of execution among their parameters; each overload counts."""
    places = []
    for path, node in nodes(root):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            if len(OPTIONS & {argument.arg for argument in arguments}) >= 2:
                places.append(f"{path}:{node.lineno} {node.name}")
    return places


def repeated_classes(root: Path) -> list[str]:
    """Names of two or more classes, leading underscores ignored."""
    places: dict[str, list[str]] = {}
    for path, node in nodes(root):
        if isinstance(node, ast.ClassDef):
            places.setdefault(node.name.lstrip("_"), []).append(str(path))
    return [f"{name}: {', '.join(files)}" for name, files in sorted(places.items()) if len(files) > 1]


def package_sizes(root: Path) -> Counter[str]:
    """Modules per package, ``__init__`` included. A sub-package is a package of its own."""
    return Counter(str(path.relative_to(root / "src").parent) for path in modules(root))


def largest_packages(root: Path) -> list[str]:
    return [f"{count} {name}" for name, count in package_sizes(root).most_common()]


def executor_branches(root: Path) -> list[str]:
    """Comparisons of an executor with None."""
    places = []
    for path, node in nodes(root):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
            name = node.left.id if isinstance(node.left, ast.Name) else getattr(node.left, "attr", "")
            other = node.comparators[0]
            if name.lstrip("_") in EXECUTORS and isinstance(other, ast.Constant) and other.value is None:
                places.append(f"{path}:{node.lineno} {ast.unparse(node)}")
    return places


def bindings(root: Path) -> Counter[str]:
    """How often each name is bound: by an assignment, a loop, a with statement, or as a parameter."""
    count: Counter[str] = Counter()
    for _, node in nodes(root):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            count[node.id] += 1
        elif isinstance(node, ast.arg):
            count[node.arg] += 1
    return count


def vague_names(root: Path) -> list[str]:
    count = bindings(root)
    return [f"{name} {count[name]}" for name in VAGUE]


def single_importers(root: Path) -> list[str]:
    """Modules that exactly one other module imports; imports for type checking count, those of ``__init__`` do not."""
    names = {".".join(path.relative_to(root / "src").with_suffix("").parts): path for path in modules(root)}
    importers: dict[str, set[str]] = {}
    for importer, path in names.items():
        if path.stem == "__init__":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            else:
                continue
            for name in imported:
                if name in names and name != importer:
                    importers.setdefault(name, set()).add(importer)
    return sorted(f"{name}: {next(iter(found))}" for name, found in importers.items() if len(found) == 1)


def native(root: Path) -> list[Path]:
    return [path for path in sorted((root / "native").iterdir()) if path.suffix in (".hpp", ".cpp")]


def longest_module(root: Path) -> str:
    count, path = max((lines([path]), path.relative_to(root)) for path in [*modules(root), *native(root)])
    return f"{count} ({path})"


def longest_function(root: Path) -> str:
    """Return the lines of a function without its docstring."""
    found = []
    for path in modules(root):
        for node in ast.walk(tree_of(path)):
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
    """Return the output of the Python interpreter of a folder."""
    python = root / ".venv" / "bin" / "python"
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        [str(python), *command], capture_output=True, text=True, check=False, cwd=root, env=os.environ | {"PATH": path}
    )
    return found.stdout.strip() if found.returncode == 0 else "unknown"


FIGURES: dict[str, Callable[[Path], object]] = {
    "lines of src, experiments left out": lambda root: f"{lines(modules(root)):,}",
    "lines of code in src (no comments, docstrings, empty lines)": lambda root: (
        f"{sum(map(code_lines, modules(root))):,}"
    ),
    "files of src": lambda root: len(modules(root)),
    "lines of native": lambda root: f"{lines(native(root)):,}",
    "lines of tests": lambda root: f"{lines((root / 'tests').rglob('*.py')):,}",
    "longest module": longest_module,
    "longest function": longest_function,
    "largest package, modules": lambda root: largest_packages(root)[0],
    "modules of matrices/": lambda root: package_sizes(root)[str(Path("treelet/matrices"))],
    "signatures with two or more options of execution": lambda root: len(option_signatures(root)),
    "class names used more than once": lambda root: len(repeated_classes(root)),
    "comparisons of an executor with None": lambda root: len(executor_branches(root)),
    "modules with one importer": lambda root: len(single_importers(root)),
    "bindings of names that say nothing": lambda root: ", ".join(vague_names(root)),
    "names at the top": names,
    "wheel": wheel,
    "dependencies": dependencies,
}


LISTS: dict[str, Callable[[Path], list[str]]] = {
    "modules per package": largest_packages,
    "signatures with two or more options of execution": option_signatures,
    "class names used more than once": repeated_classes,
    "comparisons of an executor with None": executor_branches,
    "modules with one importer, and that importer": single_importers,
}


def main() -> None:
    folders = [name for name in sys.argv[1:] if not name.startswith("--")] or ["."]
    roots = [Path(name).resolve() for name in folders]
    rows = [["", *folders]]
    figures = {what: figure for what, figure in FIGURES.items() if what != "wheel" or "--no-wheel" not in sys.argv[1:]}
    rows += [[what, *(str(figure(root)) for root in roots)] for what, figure in figures.items()]
    rows.insert(1, ["---"] * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    if "--lists" in sys.argv[1:]:
        for title, places in LISTS.items():
            for folder, root in zip(folders, roots, strict=True):
                print("\n".join(["", f"{title}, {folder}:", *(f"  {place}" for place in places(root))]))


if __name__ == "__main__":
    main()
