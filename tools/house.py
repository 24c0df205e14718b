"""Check that every public name at the top of a module has a reader.

A public name is a function, class or constant at the top of a module of `src/treelet`, without a
leading underscore. It is read if a package exports it (imports it in ``__init__.py`` or
``__init__.pyi``), or if another module uses it. The rule is two readers; names with a single
reader are counted, and their number may only fall.

Everywhere, `read_text`, `write_text`, and `open` in text mode name an encoding, because Windows has another default than
other systems. Ruff's rule PLW1514 checks this only for paths whose type it knows.

    python tools/house.py          # fails if a name has no reader, or if more names than before have only one
    python tools/house.py --list   # also prints the names with one reader
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src" / "treelet"
MOST_WITH_ONE_READER = 103
# Names that are read in another way: a pattern for module.name, and the reason.
EXCEPTIONS = {
    r"cli\.main\.(Command|start)": "the command line of experiments",
    r"errors\.\w+": "errors that users catch",
    r"device\.\w+\.\w+Columns": "kernels name these classes as strings, so that devices are imported late",
    r"report\.widget\.TreeView": "a documented class of notebooks",
    r"work\.leave": "cli/main.py calls it only if the module is loaded",
}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def public_names(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            name = node.targets[0].id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id.isupper():
            name = node.target.id
        else:
            continue
        if not name.startswith("_"):
            yield name, node


def readers(trees: dict[Path, ast.Module]) -> dict[tuple[str, str], set[Path]]:
    """Map (module, name) to the files that import the name, or use it as an attribute of its module."""
    found: dict[tuple[str, str], set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("treelet"):
                package = node.module.removeprefix("treelet").removeprefix(".")
                for alias in node.names:
                    found[package, alias.name].add(path)
                    modules[alias.asname or alias.name] = f"{package}.{alias.name}".removeprefix(".")
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                found[modules[node.value.id], node.attr].add(path)
    return found


def registered(node: ast.stmt) -> bool:
    """Whether a class is entered into a registry by a decorator, such as the classes of model files."""
    return isinstance(node, ast.ClassDef) and any("register" in ast.unparse(each) for each in node.decorator_list)


def without_encoding() -> list[str]:
    """Return the places where a text file is read or written in the encoding of the system."""
    project = ROOT.parent.parent
    return [
        f"{path.relative_to(project)}:{node.lineno}"
        for folder in ("src", "tests", "tools", "benchmarks", "experiments", "docs", "examples")
        for path in sorted((project / folder).rglob("*.py"))
        if re.search(r"_text\(|\.open\(", text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (len(node.args) == {"read_text": 0, "write_text": 1}.get(node.func.attr) or opens_text(node, node.func))
        and not any(keyword.arg in ("encoding", None) for keyword in node.keywords)
    ]


def opens_text(call: ast.Call, function: ast.Attribute) -> bool:
    """Whether a call opens a text file: ``path.open()``, ``path.open("a")`` or ``gzip.open(path, "wt")``."""
    module = ast.unparse(function.value)
    if function.attr != "open" or module == "tarfile":
        return False
    given = call.args + [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes = [str(one.value) for one in given if isinstance(one, ast.Constant)]
    if module in ("gzip", "bz2", "lzma"):
        return any(re.fullmatch("[rwax]t", mode) for mode in modes[-1:])
    return not given or any(re.fullmatch(r"[rwax]t?\+?t?", mode) for mode in modes[:1])


def main() -> int:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}
    stubs = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("__init__.pyi"))}
    found = readers(trees | stubs)
    exported = {
        alias.name
        for path, tree in (trees | stubs).items()
        if path.stem == "__init__"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    nobody, one = [], []
    for path, tree in trees.items():
        if path.stem == "__init__":
            continue
        module = module_name(path)
        for name, node in public_names(tree):
            full = f"{module}.{name}"
            if name in exported or registered(node) or any(re.fullmatch(pattern, full) for pattern in EXCEPTIONS):
                continue
            count = len(found[module, name] - {path})
            if count == 0:
                nobody.append(full)
            elif count == 1:
                one.append(full)
    for full in nobody:
        print(f"{full} has no reader in another module. Make it private (_{full.rsplit('.', 1)[1]}), or export it.")
    print(f"{len(nobody)} names without a reader, {len(one)} with one (at most {MOST_WITH_ONE_READER}).")
    if "--list" in sys.argv:
        print(*one, sep="\n")
    unclear = without_encoding()
    for place in unclear:
        print(f"{place}: name the encoding (encoding='utf-8').")
    return 1 if nobody or unclear or len(one) > MOST_WITH_ONE_READER else 0


if __name__ == "__main__":
    sys.exit(main())
