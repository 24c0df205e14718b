"""Pairs of entities from corpora: SemEval-2010 task 8, BioInfer, CoNLL04."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

from treelet.checks import in_words, wrong
from treelet.datasets.loaders import corpus
from treelet.errors import FormatError
from treelet.formats.files import open_source
from treelet.formats.json_files import read_nbest
from treelet.structures import Treebank
from treelet.structures.instances import RelationInstance, as_parses
from treelet.structures.spans import Span

TOKEN = re.compile(r"\w+(?:[-.,'/*+:]\w+)*|[^\w\s]")
BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
NONE = "none"


def semeval2010(part: str = "train", *, nbest: int = 0) -> list[RelationInstance]:
    """Load SemEval-2010 task 8 (Hendrickx et al. 2010): sentences with two marked nouns each.

    Parameters
    ----------
    part : {"train", "test"}, default "train"
        The 8,000 training sentences or the 2,717 test sentences.
    nbest : int, default 0
        Maximum number of parses to add per sentence, at most 10. The tree is the best of them.

    Returns
    -------
    list of RelationInstance
        Instances with labels for `treelet.metrics.semeval_scores`. `sent` is the number in the task.
    """
    _check_part(part, ("train", "test"))
    trees = corpus("semeval2010_t8", f"{part}.trees.tsv")
    rows: list[tuple[str, int, Span, Span]] = []
    texts: list[str] = []
    with open_source(trees) as source:
        for number, line in source.text_lines():
            try:
                label, sent, first, second, tree = line.split("\t")
                rows.append((label, int(sent), _dashed(first), _dashed(second)))
            except ValueError:
                raise source.error(
                    "five columns are needed: label, number, two spans such as 3-4, and tree.", number
                ) from None
            texts.append(tree)
    lists: dict[int, list[tuple[str, float]]] = {}
    if nbest:
        with open_source(corpus("semeval2010_t8", f"{part}.nbest10.jsonl")) as source:
            for _, parses, fields in read_nbest(source):
                lists[int(fields["id"])] = parses[:nbest]
    known = as_parses(lists)
    return [
        RelationInstance(tree=tree, e1=e1, e2=e2, label=label, nbest=known.get(sent, ()), sent=sent)
        for (label, sent, e1, e2), tree in zip(rows, Treebank(texts), strict=True)
    ]


def bioinfer(part: str = "train") -> list[RelationInstance]:
    """Load pairs of proteins in sentences of BioInfer (Pyysalo et al. 2007), without parses.

    Every two entities of a sentence form a pair, and `e1` is the one that begins first. The label is ``"PPI"``
    if they interact, and ``"none"`` otherwise. Sentences are split at white space and punctuation. Hyphenated
    words are kept, except that entities always begin and end between words. An entity in several pieces extends
    from its first to its last word.

    Parameters
    ----------
    part : {"train", "test"}, default "train"
        The 8,043 training pairs or the 1,623 test pairs.

    Returns
    -------
    list of RelationInstance
        The pairs, in the order of the corpus.
    """
    _check_part(part, ("train", "test"))
    path = corpus("ppi", f"BioInfer-{part}.xml")
    with open_source(path) as source:
        try:
            root = ElementTree.fromstring(b"".join(source.chunks()))
        except ElementTree.ParseError as error:
            line, column = error.position
            raise FormatError(
                "this is not well-formed XML. Copy the file again.", str(path), line, column + 1
            ) from None
    instances: list[RelationInstance] = []
    for document in root.iter("document"):
        for number, sentence in enumerate(document.iter("sentence")):
            instances.extend(_protein_pairs(sentence, document.attrib["id"], number))
    return instances


def _protein_pairs(sentence: ElementTree.Element, doc: str, sent: int) -> Iterator[RelationInstance]:
    pieces = {
        entity.attrib["id"]: [_dashed(piece) for piece in entity.attrib["charOffset"].split(",")]
        for entity in sentence.iter("entity")
    }
    kinds = {entity.attrib["id"]: entity.attrib["type"] for entity in sentence.iter("entity")}
    cuts = {boundary for spans in pieces.values() for span in spans for boundary in span}
    words, places = tokens(sentence.attrib["text"], cuts)
    spans: dict[str, Span] = {}
    for name, listed in pieces.items():
        begin, end = min(span[0] for span in listed), max(span[1] for span in listed)
        inside = [index for index, (a, b) in enumerate(places) if a < end and b > begin]
        spans[name] = inside[0], inside[-1] + 1
    related = {frozenset((each.attrib["e1"], each.attrib["e2"])) for each in sentence.iter("interaction")}
    for first, second in combinations(sorted(spans, key=lambda name: spans[name]), 2):
        yield RelationInstance(
            words=tuple(words),
            e1=spans[first],
            e2=spans[second],
            label="PPI" if frozenset((first, second)) in related else NONE,
            types=(kinds[first], kinds[second]),
            doc=doc,
            sent=sent,
        )


def tokens(text: str, cuts: set[int] | frozenset[int] = frozenset()) -> tuple[list[str], list[Span]]:
    """Return the words of a text, with brackets as in the Penn Treebank, and the span of each in the text.

    Parameters
    ----------
    text : str
        The text to split.
    cuts : set of int, optional
        Offsets at which a word always ends.

    Examples
    --------
    >>> from treelet.datasets.relations import tokens
    >>> tokens("An actin-binding protein (25%).", {8})[0]
    ['An', 'actin', '-binding', 'protein', '-LRB-', '25', '%', '-RRB-', '.']
    """
    words, places = [], []
    for match in TOKEN.finditer(text):
        begin, end = match.span()
        inner = sorted(cut for cut in cuts if begin < cut < end)
        for a, b in zip([begin, *inner], [*inner, end], strict=True):
            words.append(BRACKETS.get(text[a:b], text[a:b]))
            places.append((a, b))
    return words, places


def conll04(part: str = "train") -> list[RelationInstance]:
    """Load pairs of entities in newspaper sentences (Roth & Yih 2004), without parses.

    Every two entities of a sentence form a pair, and the first is `e1`. The label includes the direction, as in
    ``Kill(e2,e1)``, and is ``"none"`` for unrelated entities. Two entities with several relations form several
    pairs.

    Parameters
    ----------
    part : {"train", "dev", "test"}, default "train"
        The pairs of 910, 243 or 288 sentences.

    Returns
    -------
    list of RelationInstance
        The pairs, in the order of the corpus.
    """
    _check_part(part, ("train", "dev", "test"))
    instances: list[RelationInstance] = []
    for number, (doc, rows) in enumerate(_blocks(corpus("conll04", f"{part}.txt"))):
        words = tuple(BRACKETS.get(row[1], row[1]) for row in rows)
        entities: list[tuple[int, int, str]] = []
        for index, row in enumerate(rows):
            if row[2].startswith("B-"):
                entities.append((index, index + 1, row[2][2:]))
            elif row[2].startswith("I-") and entities:
                entities[-1] = (entities[-1][0], index + 1, entities[-1][2])
        labels: dict[tuple[int, int], list[str]] = {}  # keys: the last words of both entities
        for index, row in enumerate(rows):
            for relation, other in zip(ast.literal_eval(row[3]), ast.literal_eval(row[4]), strict=True):
                if relation != "N":
                    direction = "e1,e2" if index < other else "e2,e1"
                    labels.setdefault((min(index, other), max(index, other)), []).append(f"{relation}({direction})")
        for first, other in combinations(entities, 2):
            for label in labels.get((first[1] - 1, other[1] - 1), [NONE]):
                instances.append(  # noqa: PERF401
                    RelationInstance(
                        words=words,
                        e1=first[:2],
                        e2=other[:2],
                        label=label,
                        types=(first[2], other[2]),
                        doc=doc,
                        sent=number,
                    )
                )
    return instances


def _blocks(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    doc, rows = "", list[list[str]]()
    with open_source(path) as source:
        for number, line in source.text_lines():
            if line.startswith("#doc"):
                if rows:
                    yield doc, rows
                doc, rows = line.removeprefix("#doc").strip(), []
            elif line.strip():
                rows.append(line.split("\t"))
                if len(rows[-1]) != 5:
                    raise source.error("five columns are needed: number, word, entity, relations, places.", number)
    if rows:
        yield doc, rows


def _check_part(part: str, parts: tuple[str, ...]) -> None:
    if part not in parts:
        raise wrong("part", in_words(map(repr, parts)), part)


def _dashed(text: str) -> Span:
    begin, end = text.split("-")
    return int(begin), int(end)
