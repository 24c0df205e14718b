"""Writing of files in any registered format that has a writer."""

from __future__ import annotations

from collections.abc import Collection
from typing import IO

from treelet.checks import check_one_of, in_words
from treelet.errors import ParameterError
from treelet.formats.base import FORMATS, PARTS, Document
from treelet.formats.detection import find_target
from treelet.formats.files import PathLike, open_target
from treelet.vocabulary import keyword


def write_document(
    document: Document, file: PathLike | IO[str], format: str | None = None, *, drop: str | Collection[str] = ()
) -> None:
    """Write a file in any registered format that has a writer.

    Parameters
    ----------
    document : Document
        Contents to write.
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` files are packed. ``"-"`` is standard output. A file appears
        under its name only when it is complete.
    format : str, optional
        A name from `treelet.formats.FORMATS`. Default: detected from the suffix of the file name;
        brackets if there is no suffix.
    drop : str or collection of str, default ()
        Contents that may be dropped if the format cannot store them: ``"labels"``, ``"vectors"``,
        ``"strings"``, ``"trees"`` (all columns of trees but the first). Other contents that the
        format cannot store raise an error.

    Raises
    ------
    ParameterError
        If the format cannot store a part of the document that is not listed in `drop`.
    """
    chosen = find_target(format, file)
    dropped = [drop] if isinstance(drop, str) else list(drop)
    for content in dropped:
        check_one_of("drop", content, PARTS, of="write_document")
    for content, described in _beside(document, chosen.holds).items():
        if content not in chosen.holds and content not in dropped:
            others = [name for name, other in FORMATS.items() if other.write and content in other.holds]
            raise ParameterError(
                f"The format {chosen.name!r} cannot store {described}. Choose {in_words(others)}, or drop this part "
                f"({keyword('drop', content)})."
            )
    if not document.trees and len(document) and "vectors" not in chosen.holds:
        raise ParameterError(
            f"The document has no trees, and the format {chosen.name!r} cannot be written without trees. Choose "
            f"{in_words(name for name, other in FORMATS.items() if other.write and 'vectors' in other.holds)}."
        )
    with open_target(file) as stream:
        assert chosen.write is not None
        chosen.write(document, stream)


def _beside(document: Document, known: Collection[str]) -> dict[str, str]:
    """Describe the contents besides one column of trees and the text columns that are `known`."""
    more = list(document.trees)[1:]
    texts = [name for name in document.strings if name not in known]
    contents = {
        "labels": "labels" if document.labels is not None and any(document.labels) else "",
        "vectors": f"the feature vectors {', '.join(document.vectors)}" if document.vectors else "",
        "strings": f"the texts {', '.join(texts)}" if texts else "",
        "trees": f"more than one tree per row ({', '.join(more)})" if more else "",
    }
    return {content: described for content, described in contents.items() if described}
