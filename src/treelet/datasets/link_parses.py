"""Sentences with gold dependencies and Link Grammar's parses of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treelet.checks import plural
from treelet.datasets.loaders import corpus
from treelet.errors import FormatError
from treelet.formats.files import PathLike, open_source
from treelet.structures import Dependencies, from_linkage


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence with candidate parses and the goodness of each.

    Attributes
    ----------
    text : str
        The sentence.
    gold : Dependencies or None
        Gold parse, if it is known.
    parses : tuple of Dependencies
        Candidate parses.
    goodness : tuple of float
        Goodness of each parse; higher is better.
    ranks : tuple of int
        Rank of each parse in the parser's own order; 0 is its best.
    document : str
        Source of the sentence.
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
                f"A sentence needs one goodness and one rank per parse. Got {plural(len(self.parses), 'parse')}, "
                f"{plural(len(self.goodness), 'goodness value')} and {plural(len(self.ranks), 'rank')}."
            )


def link_parses(file: PathLike | None = None, *, walls: bool = True) -> list[ParsedSentence]:
    """Read sentences with Link Grammar's parses from JSON Lines.

    Each line has ``text``, and ``tokens``, ``pos``, ``head`` (counted from 1) and ``deprel`` of the gold parse.
    It also has ``parses``, a list of objects with ``rank``, ``words`` as Link Grammar shows them, ``links``
    (left, right, type) and the goodness ``f1``.

    Parameters
    ----------
    file : path, optional
        File to read. Default: the 1,100 sentences of the CRAFT corpus in the data folder, see docs/data.md.
    walls : bool, default True
        Whether to keep the walls of Link Grammar as words.

    Returns
    -------
    list of ParsedSentence
        One entry per nonempty line.
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
                problem = f"has no field {error}" if isinstance(error, KeyError) else f"is invalid: {error}"
                raise FormatError(f"the sentence {problem.removesuffix('.')}.", source.name, number) from None
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
