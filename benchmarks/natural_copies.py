"""Natural copies of functions: packages that bundle other libraries, beside another release of these libraries."""

from __future__ import annotations

import json
import re
import shutil
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.clone_tools import SUFFIXES, VENDORED, Package, source_texts
from benchmarks.code_mutations import parsed, written
from benchmarks.common import Results

_NUMCODECS = Package("sdist", "numcodecs", "0.6.4", "ef4843d5db4d074e607e9b85156835c10d006afc10e175bda62ff5412fca6e4d")
_GEVENT = Package("sdist", "gevent", "1.3.0", "595ef44ddb3dd85529887ba9d9db507a18e3775863119cb506d649a3ace93fd4")
BUNDLING = {
    "python": (
        Package("wheel", "pip", "25.0.1", "c46efd13b6aa8279f33f2864459c8ce587ea6a1a59ee20de055868d8f7688f7f"),
        Package("wheel", "setuptools", "75.8.0", "e3982f444617239225d675215d51f6ba05f845d4eec313da4418fdbb56fb27e3"),
        Package("wheel", "poetry-core", "1.9.1", "6f45dd3598e0de8d9b0367360253d4c5d4d0110c8f5c71120a14f0e0f116c1a0"),
        Package("wheel", "joblib", "1.4.2", "06d478d5674cbc267e7496a410ee875abd68e4340feff4490bcb7afb88060ae6"),
        Package("wheel", "invoke", "2.2.0", "6ea924cc53d4f78e3d98bc436b08069a03077e6f85ad1ddaa8a116d7dad15820"),
        Package("wheel", "bleach", "6.2.0", "117d9c6097a7c3d22fd578fcd8d35ff1e125df6736f554da4e432fdd63f31e5e"),
        Package("wheel", "pycparser", "2.22", "c3702b6d3dd8c7abc1afa565d7e63d53a1d0bd86cdc24edd75470f4de499cfcc"),
        Package("wheel", "pyinstaller", "6.12.0", "a2abf5fde31a8b38b6df7939bcef8ac1d0c51e97e25317ce3555cd675259750f"),
    ),
    "c": (
        Package("sdist", "pyzstd", "0.16.2", "179c1a2ea1565abf09c5f2fd72f9ce7c54b2764cf7369e05c0bfd8f1f67f63d2", "zstd/lib"),
        Package("sdist", "lz4", "4.3.3", "01fe674ef2889dbb9899d8a67361e0c4a2c833af5aeb37dd505727cf5d2a131e", "lz4libs"),
        Package("sdist", "uvloop", "0.21.0", "3bf12b0fda68447806a7ad847bfa591613177275d35b6724b1ee573faa3704e3", "vendor/libuv/src"),
        Package("sdist", "pycares", "4.4.0", "f47579d508f2f56eddd16ce72045782ad3b1b3b678098699e2b6a1b30733e1c2", "deps/c-ares/src/lib"),
        Package("sdist", "brotli", "1.1.0", "81de08ac11bcb85841e440c13611c00b67d3bf82698314928d0b676362546724", "c"),
        Package("sdist", "hiredis", "3.1.0", "51d40ac3611091020d7dea6b05ed62cb152bff595fa4f931e7b6479d777acf7c", "vendor/hiredis"),
    ),
}  # fmt: skip
"""Packages with copies of libraries."""
LIBRARIES = {
    "python": (
        Package("wheel", "rich", "10.0.0", "01b3fcc305ae71b9ade4a645b6e371d395c6cd9ba52dcf180bfba69ef05c13b5"),
        Package("wheel", "requests", "2.18.4", "6a1b267aa90cac58ac3a765d067950e7dbbf75b1da07e895d1f594193a40a38b"),
        Package("wheel", "urllib3", "2.3.0", "1cee9ad369867bfdbbb48b7dd50374c0967a0bb7710050facf0dd6911440e3df"),
        Package("wheel", "pygments", "2.3.1", "e8218dd399a61674745138520d0d4cf2621d7e032439341bc3f647bff125818d"),
        Package("wheel", "distlib", "0.3.1", "8c09de2c67b3e7deef7184574fc060ab8a793e7adbb183d942c389c8b13c52fb"),
        Package("wheel", "platformdirs", "2.3.0", "8003ac87717ae2c7ee1ea5a84a1a61e87f3fbd16eb5aadba194ea30a9019f648"),
        Package("wheel", "tomli", "1.0.0", "96e8efdf42dd939192a1cfbb89b72801473a87b2b7aa360b6921f187fa7ce5ef"),
        Package("sdist", "msgpack", "0.5.6", "0ee8c8c85aa651be3aa0cd005b5931769eaa658c948ce79428766f1bd46ae2c3"),
        Package("wheel", "idna", "2.6", "8c7309c718f94b3a625cb648ace320157ad16ff131ae0af362c9f21b80ef6ec4"),
        Package("wheel", "cachecontrol", "0.12.11", "2c75d6a8938cb1933c75c50184549ad42728a27e9f6b92fd677c3151aa72555b"),
        Package("wheel", "resolvelib", "0.5.1", "5399901078df01e9ec5b39d96384eb389e682f7d30317c1a2e495381e888a385"),
        Package("wheel", "distro", "1.4.0", "eedf82a470ebe7d010f1872c17237c79ab04097948800029994fa458e52fb4b4"),
        Package("wheel", "packaging", "20.0", "aec3fdbb8bc9e4bb65f0634b9f551ced63983a529d6a8931817d52fdd0816ddb"),
        Package("wheel", "more-itertools", "8.0.0", "a0ea684c39bc4315ba7aae406596ef191fd84f873d2d2751f84d64e81a7a2d45"),
        Package("wheel", "wheel", "0.33.6", "f4da1763d3becf2e2cd92a14a7c920f0f00eca30fdde9ea992c836685b9faf28"),
        Package("sdist", "fastjsonschema", "2.14.1", "af69859de64e7ec8cc613ac7a325de00d6256d6861570fe3a6cf35f417cb4313"),
        Package("sdist", "lark-parser", "0.8.0", "d646f0e08e159cfe567e950fb2896ac5e1fd1f5411b41932ce4e71328009fe4d"),
        Package("wheel", "cloudpickle", "1.3.0", "8664761f810efc07dbb301459e413c99b68fcc6d8703912bd39d86618ac631e3"),
        Package("wheel", "loky", "2.6.0", "f738f919cb28868f28bbec7a007226c5c19c34a57b6d5a5265c7c542807334a5"),
        Package("sdist", "pyyaml", "3.13", "3ef3092145e9b70e3ddd2c7ad59bdd0252a94dfe3949721633e41344de00a6bf", "lib3"),
        Package("wheel", "html5lib", "0.999999999", "b8934484cf22f1db684c0fae27569a0db404d0208d20163fbf51cc537245d008"),
        Package("sdist", "ply", "3.4", "af435f11b7bdd69da5ffbc3fecb8d70a7073ec952e101764c88720cdefb2546b"),
        Package("wheel", "modulegraph", "0.17", "9991538487efaa2d77b78bded12f7ba223f1a143f8ad75ed6484afa70b3d47e1"),
    ),
    "c": (
        _NUMCODECS._replace(folder="c-blosc/internal-complibs/zstd-1.4.1"),
        _NUMCODECS._replace(folder="c-blosc/internal-complibs/lz4-1.9.1"),
        _GEVENT._replace(folder="deps/libuv/src"),
        _GEVENT._replace(folder="deps/c-ares"),
        Package("sdist", "brotlipy", "0.7.0", "36def0b859beaf21910157b4c33eb3b06d8ce459c942102f16988cca6ea164df", "libbrotli"),
        Package("sdist", "hiredis", "0.2.0", "ca958e13128e49674aa4a96f02746f5de5973f39b57297b84d59fd44d314d5b5", "vendor/hiredis"),
    ),
}  # fmt: skip
"""Other releases of the libraries. Those in C come from other packages that bundle them."""
BANDS = {"0.9 or more": 0.9, "0.7 to 0.9": 0.7, "0.5 to 0.7": 0.5, "below 0.5": 0.0}
"""Bands of the similarity of the tokens, and where they begin."""
EQUAL = "equal"
"""Copies whose tokens are equal. They are counted apart."""
LEAST_LINES = 10
GENERATED = re.compile(r"auto(matically)?[ -]?generated", re.IGNORECASE)
"""Files whose first lines contain this are left out."""


class Content(NamedTuple):
    """A function: its lines, the number of lines with code, and its tokens without comments and docstrings."""

    first: int
    last: int
    code_lines: int
    tokens: list[str]


def _content(function: Any) -> Content:
    tokens, lines, stack = [], set[int](), [function]
    while stack:
        node = stack.pop()
        is_text = node.type == "expression_statement" and [child.type for child in node.children] == ["string"]
        if "comment" in node.type or is_text:
            continue
        if not node.child_count:
            tokens.append(written(node))
            lines.update(range(node.start_point[0], node.end_point[0] + 1))
        stack += reversed(node.children)
    return Content(function.start_point[0] + 1, function.end_point[0] + 1, len(lines), tokens)


def named_functions(language: str, text: str) -> dict[str, Content]:
    """Return the functions of a file by qualified name, without names that occur several times."""
    found: dict[str, list[Content]] = {}
    stack = [(parsed(language, text), "")]
    while stack:
        node, name = stack.pop()
        if node.type in ("function_definition", "class_definition"):
            inner = node
            while below := inner.child_by_field_name("declarator") or inner.child_by_field_name("name"):
                inner = below
            name = f"{name}.{written(inner)}" if name else written(inner)
            if node.type == "function_definition" and inner.type == "identifier":
                found.setdefault(name, []).append(_content(node))
        stack += [(child, name) for child in node.children]
    return {name: some[0] for name, some in found.items() if len(some) == 1}


def natural_pairs(language: str, texts: dict[str, str], originals: dict[str, str]) -> list[Results]:
    """Return the functions that bundled files and their originals have in common. Each original counts once."""
    rows: dict[tuple[str, str], Results] = {}
    for copy, original in originals.items():
        in_copy, in_original = (named_functions(language, texts[file]) for file in (copy, original))
        for name in in_copy.keys() & in_original.keys():
            ours, theirs = in_copy[name], in_original[name]
            if (original, name) in rows or min(ours.code_lines, theirs.code_lines) < LEAST_LINES:
                continue
            ratio = SequenceMatcher(None, theirs.tokens, ours.tokens, autojunk=False).ratio()
            rows[original, name] = {
                "kind": EQUAL if ratio == 1 else next(band for band, least in BANDS.items() if ratio >= least),
                "name": name, "ratio": ratio,
                "originals": [[original, theirs.first, theirs.last]], "copies": [[copy, ours.first, ours.last]],
            }  # fmt: skip
    return [rows[key] for key in sorted(rows)]


def build_natural(language: str, folder: Path, ignored: re.Pattern[str]) -> tuple[list[Results], dict[str, str]]:
    """Write the packages into a folder. Return the natural copies, and the original of each file that is a copy.

    The result is kept in ``truth.json`` of the folder, and read from there the next time.
    """
    target = folder / "natural" / language
    known = target / "truth.json"
    if not known.exists():
        shutil.rmtree(target, ignore_errors=True)
        texts: dict[str, str] = {}
        by_path: dict[str, str] = {}  # the files of the libraries, by their path in the library
        for kind, packages in (("packages", LIBRARIES[language]), ("copies", BUNDLING[language])):
            for package in packages:
                root = "/".join([package.name, *(part for part in Path(package.folder).parts if part not in VENDORED)])
                for name, text in source_texts(package, folder, SUFFIXES[language]).items():
                    if not ignored.search(name) and not GENERATED.search(text[:1000]):
                        texts[f"{kind}/{name}"] = text
                        if kind == "packages":
                            by_path[name.removeprefix(f"{root}/")] = f"packages/{name}"
        originals = {}
        for name, text in texts.items():
            path = target / "code" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            parts = name.split("/")
            ends = ["/".join(parts[at:]) for at in range(2, len(parts))]
            if name.startswith("copies/") and (end := next((end for end in ends if end in by_path), None)):
                originals[name] = by_path[end]
        rows = natural_pairs(language, texts, originals)
        known.write_text(json.dumps({"rows": rows, "originals": originals}, indent=1), encoding="utf-8")
    truth = json.loads(known.read_text(encoding="utf-8"))
    return truth["rows"], truth["originals"]
