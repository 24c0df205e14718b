"""``treelet draw``: save a picture of a tree, a dependency parse or a forest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from treelet.cli.inputs import raise_unreadable, read_argument
from treelet.cli.options import READ, WRITTEN, Reading, among, command, items, one_of, wrong_value
from treelet.errors import FileError, ParameterError

if TYPE_CHECKING:
    from treelet.structures.bank import Bank


@command()
def _draw(
    source: Annotated[str, "TREE", READ],
    *,
    output: Annotated[str, "--output -o OUT", WRITTEN],
    number: Annotated[int | None, "--number -n N"] = None,
    style: Annotated[str, "color|plain", among("color", "plain")] = "color",
    triangles: Annotated[str | None, "LIST"] = None,
    scale: Annotated[float | None, "NUMBER"] = None,
    reading: Reading,
) -> None:
    """Draw a tree, a dependency parse or a forest.

    LaTeX output uses the package forest, or tikz-dependency for dependency parses. PDF and PNG need matplotlib.

    Example: treelet draw "(S (NP (D the) (N cat)) (VP (V sat)))" -o tree.pdf --style plain --triangles NP

    Parameters
    ----------
    source
        Tree in brackets, or a file: trees, dependency parses (.conllu) or forests (.json, .jsonl). Use - for
        standard input.
    output
        Picture to write, ending in .svg, .pdf, .png or .tex.
    number
        Number of the tree in the file, counted from 1. Required if the file contains several trees.
    style
        color for colored boxes; plain for labels with straight black lines, as in linguistic papers.
    triangles
        Labels of constituents to draw as a triangle over their words, separated by commas, e.g. NP,PP.
    scale
        Pixels of a .png per pixel of the drawing; larger is sharper. [default: 2]
    """
    from treelet.drawing.drawing import SCALE, STYLES, check_kind, draw

    kind = check_kind(Path(output).suffix, output)
    chosen = one_of("--style", style, STYLES)
    if scale is not None and kind != ".png":
        raise ParameterError(f"--scale applies to .png files only. Got --output {output} instead.")
    labels = items("--triangles", triangles) if triangles is not None else []
    if source.lstrip().startswith("("):
        if number not in (None, 1):
            raise ParameterError("--number chooses a tree of a file, but TREE is a single tree. Remove --number.")
        thing: Any = read_argument(source, "TREE", reading)
    else:
        try:
            bank = _read(source, reading)
        except FileError as error:
            raise_unreadable(source, error)
        thing = _chosen(bank, source, number)
    drawing = draw(thing, style=chosen, triangles=labels)
    drawing.save(output, scale=SCALE if scale is None else scale)
    print(f"picture: {output}", file=sys.stderr)


def _read(file: str, reading: Reading) -> Bank[Any]:
    from treelet.formats.files import unpacked_name
    from treelet.formats.reading import find_format
    from treelet.structures import ForestBank, read_conllu, read_forests, read_trees

    name, settings = file.removeprefix("@"), {"encoding": reading.encoding, "on_error": reading.on_error}
    if reading.format is None and unpacked_name(name).suffix.lower() in ForestBank._suffixes:
        return read_forests(name, **settings)
    is_conllu = reading.format in (None, "conllu") and find_format(reading.format, name).name == "conllu"
    if is_conllu and not reading.options:  # the options describe a conversion to trees
        return read_conllu(name, **settings)
    return read_trees(name, **reading.arguments())


def _chosen(bank: Bank[Any], file: str, number: int | None) -> Any:
    from treelet.checks import plural

    count = plural(len(bank), "tree")
    if not len(bank):
        raise ParameterError(f"{file}: the file contains no trees.")
    if number is None and len(bank) > 1:
        raise ParameterError(f"{file}: the file contains {count}. Choose one with --number, such as --number 1.")
    if number is not None and not 1 <= number <= len(bank):
        raise wrong_value("--number", f"a whole number from 1 to {len(bank)}", number)
    thing = bank[(number or 1) - 1]
    if thing is None:
        raise ParameterError(f"{file}: tree {number or 1} is missing, so there is nothing to draw.")
    return thing
