"""Keep an index of trees in a folder, and search it.

An index is built once. Files are then added and removed without building it again, and several processes can search it at once.

Example: treelet index create code.index src
"""

from __future__ import annotations

import json as json_format
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli.inputs import (
    DEFAULT_K,
    FILE_AND_LINE,
    contents_of,
    is_example,
    read_bank,
    read_files,
    shown_words,
    tree_at,
    tree_texts,
)
from treelet.cli.options import READ, WRITTEN, Reading, command, edit_measure, shown_files, wrong_value
from treelet.errors import FileError, ParameterError, TreeletWarning
from treelet.printable import printable_name

if TYPE_CHECKING:
    from treelet.learn import Nearest
    from treelet.structures import Treebank


@command()
def _index_create(
    ctx: typer.Context,
    index: Annotated[str, "INDEX", WRITTEN],
    files: Annotated[list[str], "FILE...", READ],
    *,
    code: bool = False,
    measure: str = "kernel",
    base_kernel: Any,
    n_jobs: int = 1,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Create an index of the trees in files. An index of the same name is replaced.

    The id of a tree is its file and its number, such as trees.mrg:3. The id of a function is its file, its line and its name, such as src/parser.py:120 Parser.read. Names of files are relative to the folder in which the index was created.

    The index remembers how to compare trees and how to read files. The other commands use the same options.
    With --kernel forest, tagging or locality, the index contains forests, tagged sentences or dependency parses.

    Example: treelet index create wsj.index wsj.mrg

    Example: treelet index create code.index src --code --measure edit

    Parameters
    ----------
    index
        Folder to write.
    files
        Files or folders of trees or source code.
    code
        Read the functions of source code, with the names of variables ignored, as treelet clones does.
    """
    from treelet.learn import Nearest, save

    edits = edit_measure(ctx, measure)
    kernel, contents = edits or base_kernel.normalized(), contents_of(None if edits else base_kernel)
    if code and contents != "trees":
        raise ParameterError(f"--code needs a kernel for trees, but this one compares {contents}. Use --kernel sst.")
    settings = {"code": code, "contents": contents, "reading": _settings(reading, code), "folder": os.getcwd()}
    trees, ids, _ = _read(files, settings)
    if not len(trees):
        raise ParameterError(f"{shown_files(files)}: no trees were found. An index needs at least one.")
    search = Nearest(kernel, n_jobs=n_jobs).fit(trees, ids=ids)
    search._settings = settings
    save(search, index)
    _report(json, index, search, added=len(trees), removed=0)


@command()
def _index_add(
    index: Annotated[str, "INDEX", READ],
    files: Annotated[list[str], "FILE...", READ],
    *,
    n_jobs: int = 1,
    exclude: Annotated[list[str] | None, "PATTERN"] = None,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Add the trees of files to an index.

    Trees of the same files that are already in the index are replaced, or removed if a file has none any more. The change is complete or does not happen.

    Example: treelet index add code.index src/parser.py

    Parameters
    ----------
    index
        Folder of the index.
    files
        Files or folders of trees or source code.
    exclude
        Files or folders to leave out of the folders that are read. Can be repeated.
    """
    with _opened(index, "a") as search:
        search.set_params(n_jobs=n_jobs)
        trees, ids, read = _read(files, search._settings, exclude or ())
        removed = [one for one, file in zip(search.ids_.tolist(), _files(search), strict=True) if file in read]
        if len(trees):
            search._exchange(removed, trees, ids)
        elif removed:
            search.remove(removed)
        else:
            raise ParameterError(f"{shown_files(files)}: no trees were found. Nothing was added.")
        _report(json, index, search, added=len(trees), removed=len(removed))


@command()
def _index_remove(
    index: Annotated[str, "INDEX", READ],
    names: Annotated[list[str], "ID|FILE..."],
    *,
    json: bool = False,
) -> None:
    """Remove trees from an index: single ones by their ids, or all trees of files and folders.

    The files themselves are not touched and need not exist any more.

    Example: treelet index remove code.index src/old.py "src/parser.py:120 Parser.read"

    Parameters
    ----------
    index
        Folder of the index.
    names
        Ids, or files or folders whose trees are removed.
    """
    with _opened(index, "a") as search:
        settings: Any = search._settings
        full_names = [os.path.normpath(os.path.join(settings["folder"], file)) for file in _files(search)]
        known = list(zip(search.ids_.tolist(), full_names, strict=True))
        chosen: set[str] = set()
        for name in names:
            path = os.path.abspath(name)
            folder = os.path.join(path, "")
            found = {one for one, file in known if name == one or file == path or file.startswith(folder)}
            if not found:
                raise ParameterError(
                    f"{name}: the index has no tree with this id and none of such a file. Nothing was removed. "
                    "treelet index info INDEX --ids shows all ids."
                )
            chosen |= found
        search.remove(sorted(chosen))
        _report(json, index, search, added=0, removed=len(chosen))


@command()
def _index_search(
    index: Annotated[str, "INDEX", READ],
    query: Annotated[str, "QUERY", READ],
    *,
    k: Annotated[int | None, "N", typer.Option(min=1)] = None,
    threshold: Annotated[float | None, "VALUE"] = None,
    n_jobs: int = 1,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Find the trees of an index that are most similar to a query.

    With QUERY FILE:LINE, the function itself is left out of the result.

    Example: treelet index search wsj.index "(NP (D the) (N apple))" --k 3

    Example: treelet index search code.index src/parser.py:120

    Parameters
    ----------
    index
        Folder of the index.
    query
        Tree in brackets, a file or folder of trees, or FILE:LINE for the function at a line of source code.
    k
        Number of neighbors per query. [default: 5; with --threshold, all that reach the threshold]
    threshold
        Minimum similarity of a neighbor, or maximum distance. [default: none]
    """
    with _opened(index, "r") as opened:
        opened.set_params(n_jobs=n_jobs)
        queries, names = _queries(query, opened._settings)
        if not len(queries):
            raise ParameterError(f"{query}: no trees were found. A query needs at least one.")
        size = len(opened.ids_)
        if k is not None and threshold is None and k > size:
            raise wrong_value("--k", f"at most {size}, the number of trees in the index", k)
        found = [_neighbors(opened, queries[n : n + 1], k, threshold, names[n], size) for n in range(len(queries))]
        result = [
            {"query": name, **tree_texts(tree), "nearest": near}
            for name, tree, near in zip(names, queries, found, strict=True)
        ]
        if json:
            print(json_format.dumps({"index": index, "kernel": repr(opened.kernel_), "queries": result}))
            return
        print("\n\n".join(map(_text, result)))


@command()
def _index_info(
    index: Annotated[str, "INDEX", READ],
    *,
    ids: bool = False,
    json: bool = False,
) -> None:
    """Show what an index contains.

    Example: treelet index info wsj.index

    Parameters
    ----------
    index
        Folder of the index.
    ids
        Also print the id of each tree.
    """
    with _opened(index, "r") as opened:
        collection = opened._collection
        content: dict[str, Any] = {
            "index": index,
            "trees": collection.size,
            "kernel": repr(opened.kernel_),
            "parts": len(collection.parts),
            "removed": sum(len(stored.part.removed) for stored in collection.parts),
            "bytes": sum(size for stored in collection.parts for size, _ in (stored.files or {}).values()),
            "reading": opened._settings,
        }
        if ids:
            content["ids"] = opened.ids_.tolist()
        if json:
            print(json_format.dumps(content))
            return
        print(f"{index}: {collection.size:,} trees, {content['bytes']:,} bytes")
        print(f"kernel: {content['kernel']}")
        print(f"names of files are relative to {printable_name(content['reading']['folder'])}")
        removed = f", with {content['removed']:,} removed trees that still take space" if content["removed"] else ""
        print(f"parts: {content['parts']}{removed}")
        for one in content.get("ids", ()):
            print(printable_name(one))


# --- reading ------------------------------------------------------------------------------------------------------


def _opened(index: str, mode: str) -> Nearest:
    from treelet.learn import Nearest, load

    search = load(index, mode=mode) if os.path.isdir(index) else None
    if search is None:
        fact = "does not exist" if not os.path.lexists(index) else "is a file, but an index is a folder"
        raise FileError(f"{index}: {fact}. Create an index with treelet index create.")
    settings = search._settings if isinstance(search, Nearest) else None
    if not isinstance(search, Nearest) or not isinstance((settings or {}).get("folder"), str):
        raise FileError(
            f"{index}: the index was not created by treelet index create, so it does not say how to read files. "
            "Open it in Python with treelet.load."
        )
    return search


def _settings(reading: Reading, code: bool) -> dict[str, Any]:
    """Return the options for reading files, as the index stores them."""
    options: dict[str, Any] = {name: str(value) for name, value in reading.options.items()}
    if code and (reading.format is not None or options):
        raise ParameterError("--code does not accept --format and --option. Remove them.")
    return {
        "format": reading.format,
        "encoding": reading.encoding,
        "on_error": reading.on_error,
        "options": options,
        "exclude": list(reading.exclude),
    }


def _read(files: Sequence[str], settings: Any, exclude: Sequence[str] = ()) -> tuple[Treebank, list[str], set[str]]:
    """Return the trees of files, their ids, and the names of all files that were read, with or without trees."""
    from treelet.formats.base import FORMATS
    from treelet.formats.languages import BY_SUFFIX
    from treelet.formats.paths import find_files
    from treelet.formats.reading import MAX_BYTES, find_format
    from treelet.structures import Treebank, read_code
    from treelet.structures.labeled import CONTENTS

    def renamed(file: str) -> str:
        return _stored_name(file, settings)

    reading = settings["reading"]
    if "-" in files:
        raise ParameterError(
            "An index needs files with names, because the ids of its trees contain them. Got - for standard input."
        )
    left_out = [*reading["exclude"], *exclude]
    if settings["code"]:
        options = {"identifiers": "anonymous", "encoding": reading["encoding"]}
        trees = read_code(list(files), exclude=left_out, **options)
        if trees.places is not None:
            trees = trees.with_places(trees.places.with_file_names(renamed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TreeletWarning)  # read_code has warned already
            found = find_files(list(files), BY_SUFFIX, left_out, MAX_BYTES, reading["encoding"])
            read = {renamed(str(file)) for file in found.files}
        return trees, _distinct(str(place) for place in trees.places or ()), read
    banks, ids, read = [], [], set()
    name, every = reading["format"], [suffix for known in FORMATS.values() for suffix in known.suffixes]
    suffixes = every if name is None else find_format(name.partition(":")[0]).suffixes or every
    if (contents := _contents(settings)) != "trees":
        suffixes = [*CONTENTS[contents][0]._suffixes, ".tsv", ".csv"]
    for file in find_files(list(files), suffixes, left_out, encoding=reading["encoding"]).files:
        bank, name = read_files([str(file)], _stored_reading(reading), contents), renamed(str(file))
        banks.append(bank)
        read.add(name)
        ids += [f"{name}:{number}" for number in range(1, len(bank) + 1)]
    return type(banks[0]).concat(banks) if banks else Treebank(), ids, read


def _contents(settings: Any) -> str:
    """Return what an index contains. An index without this setting contains trees."""
    return str(settings.get("contents", "trees"))


def _stored_name(file: str, settings: Any) -> str:
    """Return the name of a file in the ids of an index: its path from the folder in which the index was created."""
    try:
        return os.path.relpath(file, settings["folder"])
    except ValueError:  # another drive of Windows
        return os.path.abspath(file)


def _stored_reading(reading: Any) -> Reading:
    """Return the options for reading files that `_settings` stored."""
    from treelet.formats.base import OptionText

    options = {name: OptionText(value) for name, value in reading["options"].items()}
    return Reading(reading["format"], reading["encoding"], reading["on_error"], options)


def _distinct(names: Iterator[str]) -> list[str]:
    """Return the names; repeated ones get a number."""
    seen: Counter[str] = Counter()
    out = []
    for name in names:
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def _files_of(trees: Treebank, ids: Sequence[str], settings: Any) -> list[str]:
    """Return the file of each tree."""
    if settings["code"]:
        return [place.file for place in trees.places or ()]
    return [name.rpartition(":")[0] for name in ids]


def _files(search: Nearest) -> list[str]:
    """Return the file of each tree in an index, in the order of the ids."""
    parts = [(stored.part.rows, stored) for stored in search._collection.parts]
    found = [_files_of(stored.data[rows], stored.ids.take(rows).tolist(), search._settings) for rows, stored in parts]
    return [file for files in found for file in files]


def _queries(query: str, settings: Any) -> tuple[Treebank, list[str]]:
    """Return the queries and their names."""
    contents = _contents(settings)
    place = FILE_AND_LINE.fullmatch(query) if contents == "trees" and not os.path.exists(query) else None
    if place is not None and not settings["code"]:
        raise ParameterError("QUERY FILE:LINE needs an index of source code, which is created with --code.")
    if place is not None:
        trees, ids, _ = _read([place[1]], settings)
        row = tree_at(trees, place[1], int(place[2]))
        return trees[[row]], [ids[row]]
    if is_example(query, contents):
        if settings["code"]:
            raise ParameterError("An index of source code is searched with FILE:LINE or a file of source code.")
        return read_bank([query], "QUERY", _stored_reading(settings["reading"]), contents), [""]
    return _read([query], settings)[:2]


def _neighbors(
    search: Nearest, query: Treebank, k: int | None, threshold: float | None, name: str, size: int
) -> list[dict[str, Any]]:
    """Return the neighbors of a query, without the tree of the same id."""
    wanted = k if k is not None else None if threshold is not None else DEFAULT_K
    if threshold is not None:
        values, ids = (rows[0] for rows in search.threshold_neighbors(threshold, query))
    else:
        values, ids = (rows[0] for rows in search.kneighbors(query, min(size, (wanted or 0) + 1)))
    near = [(value, one) for value, one in zip(values.tolist(), ids.tolist(), strict=True) if one != name]
    return [{"value": value, "id": one} for value, one in near[:wanted]]


# --- output -------------------------------------------------------------------------------------------------------


def _report(json: bool, index: str, search: Nearest, *, added: int, removed: int) -> None:
    size = search._collection.size
    if json:
        print(json_format.dumps({"index": index, "trees": size, "added": added, "removed": removed}))
        return
    print(f"{index}: {added:,} added, {removed:,} removed, {size:,} trees")


def _text(result: dict[str, Any]) -> str:
    lines = [printable_name(result["query"]) or shown_words(result)]
    lines += [f"   {near['value']:.4f}  {printable_name(near['id'])}" for near in result["nearest"]]
    return "\n".join(lines if len(lines) > 1 else [*lines, "   no neighbor meets the threshold"])
