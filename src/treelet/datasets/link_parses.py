"""Sentences with the right dependencies and Link Grammar's parses of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treelet.datasets.loaders import corpus
from treelet.errors import FormatError
from treelet.formats.files import PathLike, open_source
from treelet.structures import Dependencies, from_linkage


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence with candidate parses and how good each is.

    Attributes
    ----------
    text : str
    gold : Dependencies or None
        The right parse, where it is known.
    parses : tuple of Dependencies
    goodness : tuple of float
        Of each parse; higher is better.
    ranks : tuple of int
        The parser's own order, 0 for the one it likes best.
    document : str
        Where the sentence is from.
    """

    text: str
    gold: Dependencies | None
    parses: tuple[Dependencies, ...]
    goodness: tuple[float, ...]
    ranks: tuple[int, ...]
    document: str = ""

    def __post_init__(self) -> None:
        if not len(self.parses) == len(self.goodness) == len(self.ranks):
            raise ValueError(
                f"a sentence needs a goodness and a rank a parse, got {len(self.parses)} parses, {len(self.goodness)} and "
                f"{len(self.ranks)}"
            )


def link_parses(file: PathLike | None = None, *, walls: bool = True) -> list[ParsedSentence]:
    """Sentences with Link Grammar's parses, from JSON Lines.

    Each line has ``text``, ``tokens``, ``pos``, ``head`` (counted from 1) and ``deprel`` for the right parse, and ``parses``: a list
    of objects with ``rank``, ``words`` as Link Grammar shows them, ``links`` (left, right, type) and ``f1``, the goodness.

    Parameters
    ----------
    file : path, optional
        By default the 1,100 sentences of the CRAFT corpus in the folder of the corpora.
    walls : bool
        Whether the walls of Link Grammar stay words.
    """
    path = corpus("lg_parse_ranking", "craft1100_lg20.jsonl") if file is None else Path(file)
    sentences = []
    with open_source(path) as source:
        for number, line in source.text_lines():
            if not line.strip():
                continue
            try:
                sentences.append(_sentence(json.loads(line), walls))
            except (KeyError, TypeError, ValueError) as error:
                what = f"has no {error}" if isinstance(error, KeyError) else f"is not as it should be: {error}"
                raise FormatError(f"the sentence {what}", source.name, number) from None
    return sentences


def _sentence(record: dict[str, Any], walls: bool) -> ParsedSentence:
    gold = Dependencies.from_heads(record["tokens"], record["pos"], record["head"], record["deprel"])
    parses = record["parses"]
    return ParsedSentence(
        text=record["text"],
        gold=gold,
        parses=tuple(from_linkage(parse["words"], parse["links"], walls=walls) for parse in parses),
        goodness=tuple(float(parse["f1"]) for parse in parses),
        ranks=tuple(int(parse["rank"]) for parse in parses),
        document=str(record.get("doc", "")),
    )
