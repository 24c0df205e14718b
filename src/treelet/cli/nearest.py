"""``treelet nearest``: find the most similar trees of files and folders, with the fragments that they share with the query."""

from __future__ import annotations

import json as json_format
import os
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli.inputs import (
    DEFAULT_K,
    FILE_AND_LINE,
    contents_of,
    is_example,
    read_bank,
    shown_words,
    tree_at,
    tree_texts,
)
from treelet.cli.options import READ, Reading, at_least, check_device, command, edit_measure, shown_files
from treelet.errors import ParameterError, TreeletWarning
from treelet.printable import shortened

if TYPE_CHECKING:
    from treelet.kernels import Kernel
    from treelet.structures import Treebank

_LISTED = 200  # shared fragments to compute; the largest of them are shown


@command(main="query k threshold measure kernel lam top n_jobs format json")
def _nearest(
    ctx: typer.Context,
    bank: Annotated[list[str], "BANK...", READ],
    *,
    query: Annotated[str | None, "--query -q QUERY", READ] = None,
    k: Annotated[int | None, "N"] = None,
    threshold: Annotated[float | None, "VALUE"] = None,
    measure: str = "kernel",
    base_kernel: Any,
    top: Annotated[int, "N", at_least(0)] = 1,
    threads: int,
    memory: str | None = None,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Find the trees that are most similar to a query.

    The similarity is the value of the normalized kernel: 1 for equal trees, 0 for trees that share no fragment.
    With --measure edit, it is the edit similarity: 0.9 means that one edit per ten nodes of the larger tree turns one tree into the other.

    Trees are numbered from 1. For source code and markup, the output also shows the file, the line and the name of each tree.

    Example: treelet nearest bank.mrg --query "(NP (D the) (N apple))" --k 3

    With --query FILE:LINE, the functions of the source code in BANK are searched, in the language of FILE. The query itself is left out.

    Example: treelet nearest bank.mrg --measure edit --threshold 0.8

    Example: treelet nearest src --query src/parser.py:120 --measure edit

    With --kernel forest, tagging or locality, BANK and QUERY contain forests, tagged sentences or dependency parses.

    Example: treelet nearest tagged.txt --query "the/D dog/N" --kernel tagging

    Parameters
    ----------
    bank
        Files or folders of trees to search. Use - for standard input.
    query
        Tree in brackets, a file or folder of trees, or FILE:LINE for the function at a line of source code.
        [default: every tree of BANK]
    k
        Number of neighbors per query (not the same as -k). [default: 5; with --threshold, all that reach the
        threshold]
    threshold
        Minimum similarity of a neighbor; for --measure edit-distance, the maximum distance. Equal trees have
        similarity 1 and distance 0. [default: none]
    top
        Number of shared fragments to show per neighbor, those with the most productions first.
    """
    edits = edit_measure(ctx, measure, "top")
    contents = contents_of(base_kernel if edits is None else None)
    if tree := next((text for text in bank if is_example(text, contents) and not os.path.exists(text)), None):
        noun = {"trees": "a tree", "forests": "a forest", "tagged": "a tagged sentence", "parses": "a parse"}[contents]
        raise ParameterError(f"{shortened(tree)} is {noun}, not a file. Pass a query with --query.")

    from treelet.checks import plural
    from treelet.matrices import nearest

    check_device()
    place = None
    if query is not None and contents == "trees" and not os.path.exists(query):
        place = FILE_AND_LINE.fullmatch(query)
    queries = None
    if place is not None:
        trees, queries = _read_functions(bank, place[1], int(place[2]), reading)
    else:
        trees = read_bank(bank, "BANK", reading, contents)
    if len(trees) <= (query is None):
        count = f"only {plural(len(trees), 'tree')}" if len(trees) else "no trees"
        needed = "at least 2 trees, or 1 tree and --query" if query is None else "at least 1 tree"
        contain = "the file contains" if len(bank) == 1 else "the files contain"
        raise ParameterError(f"{shown_files(bank)}: {contain} {count}. treelet nearest needs {needed}.")
    if query is not None and place is None:
        queries = read_bank([query], "--query", reading, contents)
    if k is None and threshold is None:
        k = min(DEFAULT_K, len(trees) - (query is None))
    near = nearest(
        base_kernel.normalized() if edits is None else edits,
        trees,
        queries,
        k,
        threshold=threshold,
        graph=True,
        n_jobs=threads,
        memory=memory,
    )
    neighbors = _listed(near, but_itself=query is None)
    if threshold is None and edits is None:
        not_missing = (
            base_kernel.self_values(trees if queries is None else queries) > 0
        )  # missing trees have no neighbors
        best = [max((value for value, _ in row), default=0.0) for row in neighbors]
        if unlike := sum(present and value == 0 for present, value in zip(not_missing, best, strict=True)):
            warnings.warn(
                f"{unlike:,} of {plural(len(best), 'query')} {'has' if unlike == 1 else 'have'} no fragment in common with any tree "
                "of BANK. Check that both come from the same parser and were read with the same options.",
                TreeletWarning,
                stacklevel=2,
            )
    kernel = base_kernel if edits is None else None
    results = _results(kernel, trees if queries is None else queries, trees, neighbors, top)
    query_places, bank_places = (
        getattr(collection, "places", None) for collection in (trees if queries is None else queries, trees)
    )
    for result in results:
        for item, places in [(result, query_places), *((neighbor, bank_places) for neighbor in result["nearest"])]:
            if places is not None:
                file, line, end_line, name = places[item["number"] - 1]
                item |= {"place": f"{file}:{line}", "end_line": end_line, "name": name}
    if json:
        described = {"measure": measure, "kernel": None if kernel is None else repr(kernel.normalized())}
        print(json_format.dumps({**described, "queries": results}))
        return
    print("\n\n".join(map(_text, results)))


def _read_functions(bank: list[str], file: str, line: int, reading: Reading) -> tuple[Treebank, Treebank]:
    """Return the functions of source code, and the function at a line of a file, which is left out of the first."""
    import inspect

    from treelet.formats.base import option_values
    from treelet.formats.languages import find_language
    from treelet.structures import read_code

    known = inspect.signature(read_code).parameters
    unknown = ["--format"] if reading.format is not None else []
    unknown += [f"--option {name}" for name in reading.options if name not in known or name == "files"]
    if unknown:
        raise ParameterError(f"{unknown[0]} does not apply to --query FILE:LINE. Remove it.")
    options = {"encoding": reading.encoding, **option_values(reading.options, known)}
    options["language"] = find_language(options.get("language"), file).name
    functions = read_code(file, **options)
    innermost = tree_at(functions, file, line, options.get("each", "function"))
    own = (functions.places or ())[innermost]
    trees = read_code(bank, exclude=reading.exclude, **options)
    others = [
        number
        for number, place in enumerate(trees.places or ())
        if place[1:] != own[1:] or os.path.realpath(place.file) != os.path.realpath(own.file)
    ]
    return trees[others], functions[[innermost]]


def _listed(graph: Any, but_itself: bool) -> list[list[tuple[float, int]]]:
    """Return the neighbors of each query, as pairs of value and row, from the graph of neighbors."""
    values, rows = graph.data.tolist(), graph.indices.tolist()
    return [
        [(values[at], rows[at]) for at in range(begin, end) if not (but_itself and rows[at] == query)]
        for query, (begin, end) in enumerate(pairwise(graph.indptr.tolist()))
    ]


def _results(
    kernel: Kernel | None, queries: Treebank, trees: Treebank, near: list[list[tuple[float, int]]], top: int
) -> list[dict[str, Any]]:
    """Return each query with its neighbors, as JSON objects. Without a kernel, there are no shared fragments."""
    from treelet.fragments import shared_fragments

    results = []
    for number, query in enumerate(queries):
        neighbors = []
        for value, row in near[number]:
            tree = trees[row]
            if kernel is None:
                neighbors.append({"number": row + 1, "value": value, **tree_texts(tree)})
                continue
            shared = shared_fragments(query, tree, kernel, _LISTED) if top and query and tree else []
            widest = sorted(shared, key=lambda fragment: -_size(fragment.tree))[:top]
            fragments = [str(fragment.tree) for fragment in widest]
            neighbors.append({"number": row + 1, "value": value, **tree_texts(tree), "shared": fragments})
        results.append({"number": number + 1, **tree_texts(query), "nearest": neighbors})
    return results


def _size(fragment: Any) -> int:
    """Return the number of productions of a fragment, or the length of a piece of a sequence."""
    return len(fragment.productions() if hasattr(fragment, "productions") else str(fragment).split())


def _text(query: dict[str, Any]) -> str:
    lines = [f"{query['number']}. {shown_words(query)}"]
    for neighbor in query["nearest"]:
        lines.append(f"   {neighbor['value']:.4f}  {neighbor['number']}. {shown_words(neighbor)}")
        lines += [f"             {fragment}" for fragment in neighbor.get("shared", ())]
    if not query["nearest"]:
        lines.append("   no neighbor meets the threshold")
    return "\n".join(lines)
