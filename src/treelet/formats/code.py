"""Source code as trees, parsed by tree-sitter."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from treelet import _core
from treelet.checks import check_integer, check_one_of, in_words, plural, suggestion, wrong
from treelet.errors import FormatError, ParameterError, TreeletError
from treelet.formats.adapters import CONSTANTS, IDENTIFIERS, Place
from treelet.formats.base import Document, Format, TreeLimits, register
from treelet.formats.files import ON_ERROR, SkipLog, Source, not_text, open_source, unpacked_name
from treelet.formats.languages import BY_SUFFIX, LANGUAGES, Language
from treelet.formats.located import Located
from treelet.formats.paths import File, FoundFiles, find_files
from treelet.formats.python_source import is_node_type, not_enough_memory, read_python, syntax_document
from treelet.formats.reading import naming_memory, read_files, within_limits
from treelet.memory import available

MAX_BYTES = 1_000_000
"""Default of the size above which `read_code_document` skips files in folders."""
_PARSE_SECONDS = 10.0
"""Limit of the CPU time to parse a file, per megabyte or part of it. Usual code takes less than a second."""
_SECONDS = "TREELET_PARSE_SECONDS"
_RESERVE = 64 << 20
_NODES = ("named", "concrete")
_UNITS = ("function", "class", "file")
_ANONYMOUS = "<anonymous>"


def _read_code_file(
    source: Source,
    *,
    each: str = "file",
    language: str | None = None,
    constants: str = "values",
    identifiers: str = "keep",
    nodes: str = "named",
) -> Document:
    """Read source code with tree-sitter. The options are those of `treelet.read_code`."""
    check_one_of("constants", constants, CONSTANTS)
    check_one_of("identifiers", identifiers, IDENTIFIERS)
    check_one_of("nodes", nodes, _NODES)
    rules = find_language(language, source.name)
    text = _decoded(source)
    try:
        grammar = rules.grammar
    except TreeletError as error:
        raise FormatError(str(error), source.name) from None
    if each not in _UNITS and not rules.has_kind(each):
        raise wrong("each", f"{in_words(map(repr, _UNITS))}, or a node type of {rules.title}", each)
    root = _parsed(text, grammar, source)
    anonymous = identifiers == "anonymous"
    columns = _core.read_nodes(
        root,
        text,
        rules.node_rules(each, nodes == "concrete", anonymous),
        each == "file",
        anonymous,
        constants == "values",
        partial(_name_of, text),
    )
    return syntax_document(source, each, columns)


def _located_trees(source: Source, **options: Any) -> list[Located]:
    """Read source code as trees whose nodes know their lines. The options are those of `_read_code_file`."""
    document = _read_code_file(source, **options)
    (store, roots), places = document.trees["tree"], document.places
    labels, label, child, start = store.labels, store.label, store.child, store.child_start
    trees = []
    for row, root in enumerate(roots.tolist()):
        nodes, stack = list[int](), [root]  # parents before children, as the lines
        while stack:
            nodes.append(stack.pop())
            stack += child[start[nodes[-1]] : start[nodes[-1] + 1]].tolist()[::-1]
        assert places is not None
        lines = places.node_lines(row)
        assert lines is not None
        built: list[Located] = []  # the first child last
        for node, line in zip(reversed(nodes), reversed(lines.tolist()), strict=True):
            children = tuple(built.pop() for _ in range(start[node + 1] - start[node]))
            built.append(Located(labels[label[node]], children, Place(line)))
        trees += built
    return trees


def read_code_document(
    files: list[File],
    *,
    each: str = "function",
    language: str | Collection[str] | None = None,
    constants: str = "values",
    identifiers: str = "keep",
    docstrings: bool = False,
    nodes: str = "named",
    exclude: str | Collection[str] = (),
    on_error: str = "skip",
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
    log: SkipLog | None = None,
    progress: bool | None = None,
    **limits: int | None,
) -> Document:
    """Read source files of any languages into one document. The parameters are those of `treelet.read_code`.

    Skipped files and units are also recorded in `log`.
    """
    check_one_of("on_error", on_error, ON_ERROR)
    check_integer("max_bytes", max_bytes, optional=True)
    names = list(language) if isinstance(language, list | tuple | set) else [] if language is None else [language]
    named = [find_language(str(name), "") for name in names]
    only = named[0].name if len(named) == 1 else None
    suffixes = {suffix for one in named for suffix in one.suffixes} or BY_SUFFIX
    found = find_files(files, suffixes, exclude, max_bytes, encoding)
    if each not in _UNITS:
        found = _with_node_type(found, each, only)
    size_limits = TreeLimits.of(limits.get("max_nodes"), limits.get("max_depth"))
    options: dict[str, Any] = {"constants": constants, "identifiers": identifiers}

    def read(file: File, log: SkipLog) -> Document:
        with open_source(file, encoding, on_error) as source, naming_memory(source):
            source.log = log
            rules = find_language(only, source.name)
            if rules.name == "python":
                units = "module" if each == "file" else each
                document = read_python(source, each=units, docstrings=docstrings, **options)
            else:
                document = _read_code_file(source, each=each, language=rules.name, nodes=nodes, **options)
            return within_limits(size_limits, document, source)

    return read_files(found, read, on_error, log, progress)


def code_files(files: list[File], exclude: str | Collection[str] = (), encoding: str = "utf-8") -> list[File]:
    """Return the source files that `read_code_document` would read."""
    return list(find_files(files, BY_SUFFIX, exclude, MAX_BYTES, encoding).files)


def _with_node_type(found: FoundFiles, each: str, language: str | None) -> FoundFiles:
    """Return the files in whose languages `each` is a type of nodes."""

    def may_have(file: File) -> bool:
        try:
            rules = find_language(language, str(file) if isinstance(file, str | os.PathLike) else "")
            return is_node_type(each) if rules.name == "python" else rules.has_kind(each)
        except TreeletError:  # reported when the file is read
            return True

    files = [file for file in found.files if may_have(file)]
    if not files:
        raise wrong("each", f"{in_words(map(repr, _UNITS))}, or a node type of a language that is read", each)
    return found._replace(files=files)


def find_language(name: str | None, file: str) -> Language:
    """Return the language called `name`, or the language that a file name suggests."""
    if name is not None:
        known = LANGUAGES.get(str(name).lower())
        if known is None:
            raise ParameterError(
                f"{wrong('language', in_words(map(repr, LANGUAGES)), name)}{suggestion(str(name), LANGUAGES)}"
            )
        return known
    suffix = unpacked_name(file).suffix.lower()
    if suffix not in BY_SUFFIX:
        fact = f"the suffix {suffix} does not belong to a known language" if suffix else "the name has no suffix"
        raise FormatError(f"{fact}. Name the language (language='java').", file)
    return BY_SUFFIX[suffix]


def _decoded(source: Source) -> bytes:
    """Return the text in UTF-8."""
    data = b"".join(source.chunks())
    if b"\0" in data:
        raise source.error(not_text())
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            "these bytes are not UTF-8 text. Name another encoding (encoding='latin-1').", line
        ) from None
    return data


def _parsed(text: bytes, grammar: Any, source: Source) -> Any:
    """Return the root of a source. Give up if it takes too much time or memory: a broken file can take hours or gigabytes."""
    limit = os.environ.get(_SECONDS, "")
    seconds = float(limit) if re.fullmatch(r"\d+(\.\d*)?", limit, re.ASCII) else _PARSE_SECONDS
    seconds *= max(1, -(-len(text) // 1_000_000))
    end, calls, free_before = time.thread_time() + seconds, 0, available(fresh=len(text) > 1 << 16)

    def check(offset: int) -> None:
        nonlocal calls
        if time.thread_time() > end:
            raise source.error(
                f"parsing took longer than {seconds:g} seconds. Leave the file out, or set the environment variable "
                f"{_SECONDS} to more seconds per megabyte."
            )
        if calls % 32 == 0:
            # The parser crashes if it gets no memory. Usual code needs 32 to 100 times its size, hostile text a hundred
            # times as much. At the end of the text, the parser takes up to 1.2 times what it has so far.
            free = available(fresh=True) if calls else free_before
            needed = _RESERVE + 32 * (len(text) - offset) + 3 * max(0, free_before - free) // 2
            if needed > free:
                raise not_enough_memory(len(text), needed + free_before - free, free_before)
        calls += 1

    chunks, tree = _core.Chunks(text, check), None
    with suppress(ValueError):  # "Parsing failed"
        tree = import_module("tree_sitter").Parser(grammar).parse(chunks)
    chunks.raise_error()
    if tree is None:
        raise source.error("the parser has failed.")
    return tree.root_node


def _name_of(source: bytes, node: Any, parent: Any) -> str:
    """Return the name of a function, class or namespace: its own, or that of the variable or key that it is assigned to."""
    named = node.child_by_field_name("name")
    inner = None if named is not None else node.child_by_field_name("declarator")
    while inner is not None:  # in C, the name is inside the declarator
        named, inner = inner, inner.child_by_field_name("declarator")
    named = named if named is not None else node.child_by_field_name("type")  # impl of Rust
    for field in ("name", "left", "key", "property"):
        if named is None and parent is not None and parent.child_by_field_name(field) != node:
            named = parent.child_by_field_name(field)
    text = (
        "" if named is None else " ".join(source[named.start_byte : named.end_byte].decode("utf-8", "replace").split())
    )
    return text or _ANONYMOUS


register(
    Format(
        "code",
        f"Source code in {plural(len(LANGUAGES), 'language')}, by tree-sitter, one tree per file, function or class",
        _read_code_file,
        None,
        tuple(suffix for suffix in BY_SUFFIX if suffix != ".py"),
        located=_located_trees,
    )
)
