"""Corpora of the experiments, from a data folder: ``TREELET_DATA``, or ``treelet_data`` in the home folder.

``docs/data.md`` describes where to obtain each corpus, its license and the expected files.
"""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_one_of, in_words, wrong
from treelet.errors import FileError, FormatError, ParameterError, TreeletWarning
from treelet.formats.files import PACKED, PathLike, open_source
from treelet.formats.json_files import read_nbest
from treelet.formats.reading import read_document
from treelet.structures import Dependencies, Tree, Treebank, from_linkage, read_trees
from treelet.structures.instances import Argument, Parse, RelationInstance, RoleInstance
from treelet.structures.spans import Span
from treelet.tasks import ParsedSentence

ORIGINS = {
    "qc_trees": "the TREC questions of Li & Roth (2002), 5,452 + 500, parsed; the questions are at "
    "cogcomp.seas.upenn.edu/Data/QA/QC",
    "ptb_sample": "the Penn Treebank sample that comes with NLTK (nltk.download('treebank'))",
    "wsj_nbest": "20-best parses of that sample by a parser trained on the rest of it, one JSON object per sentence",
    "questionbank": "QuestionBank (Judge, Cahill & van Genabith 2006), 4,000 questions with hand-corrected trees",
    "atis_grammar": "the ATIS grammar that comes with NLTK (nltk.download('large_grammars'))",
    "propbank_wsj_sample": "PropBank's arguments (github.com/propbank/propbank-release) aligned to the Penn Treebank sample",
    "masc_srl": "the trees of MASC (anc.org) with PropBank's arguments (github.com/propbank/propbank-release)",
    "semeval2010_t8": "SemEval-2010 task 8, relations between nominals (Hendrickx et al. 2010), with parses",
    "sick": "SICK (Marelli et al. 2014), sentence pairs with relatedness and entailment, and the same sentences tagged",
    "ppi": "BioInfer's protein pairs (Pyysalo et al. 2007), in the unified format for protein interactions",
    "conll04": "entities and relations of Roth & Yih (2004)",
    "conll2000": "tags and chunks of CoNLL-2000 (nltk.download('conll2000'))",
    "lg_parse_ranking": "sentences of the CRAFT corpus with gold dependencies and Link Grammar's parses, one JSON object per sentence",
}


def data_folder() -> Path:
    """Return the data folder.

    It is ``TREELET_DATA`` if that is set. Otherwise it is ``shared/data`` beside the checkout, if that
    folder exists, or else ``treelet_data`` in the home folder.
    """
    if named := os.environ.get("TREELET_DATA"):
        return Path(named)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return beside if beside.is_dir() else Path.home() / "treelet_data"


def corpus(name: str, file: str | None = None) -> Path:
    """Return the folder of a corpus, or a file in it, packed (``.xz``, ``.gz``, ``.bz2``) or not.

    Parameters
    ----------
    name : str
        Name of the folder in the data folder, such as ``"ptb_sample"``.
    file : str, optional
        Name of a file in it, without the suffix of a packed file.

    Returns
    -------
    Path
        The folder or the file.

    Raises
    ------
    FileError
        If it does not exist. The message describes the corpus and where to obtain it.
    """
    folder = data_folder() / name
    if folder.is_dir() and file is None:
        return folder
    for suffix in ("", *PACKED) if file is not None else ():
        if (path := folder / f"{file}{suffix}").is_file():
            return path
    missing = folder if file is None or not folder.is_dir() else folder / file
    raise FileError(
        f"{missing}: does not exist. The folder {name} should contain {ORIGINS.get(name, 'the corpus ' + name)}. See docs/data.md "
        "for its files, and set TREELET_DATA to the folder of all corpora."
    )


def questions(part: str = "train", *, fine: bool = False) -> tuple[Treebank, list[str]]:
    """Load the TREC questions as trees, with their classes.

    Parameters
    ----------
    part : {"train", "test"}, default "train"
        The 5,452 training questions or the 500 test questions.
    fine : bool, default False
        Whether to return the fifty fine classes, such as ``"NUM:date"``, instead of the six coarse ones.

    Returns
    -------
    trees : Treebank
        The parsed questions.
    labels : list of str
        The class of each question.
    """
    document = read_document(corpus("qc_trees", f"{part}.tsv"), "tsv")
    labels = document.labels or []
    return Treebank.from_columns(document.trees["tree"]), labels if fine else [label.split(":")[0] for label in labels]


def wsj_sample() -> tuple[Treebank, list[str]]:
    """Load the Wall Street Journal sample of the Penn Treebank: 3,914 trees without traces and function tags.

    Returns
    -------
    trees : Treebank
        The trees.
    files : list of str
        The file of each tree.
    """
    document = read_document(corpus("ptb_sample", "wsj_sample.clean.tsv"), "tsv", label_column=0)
    return Treebank.from_columns(document.trees["tree"]), document.labels or []


def question_bank() -> Treebank:
    """Load 3,994 of the 4,000 trees of QuestionBank.

    Trees with empty brackets, six in the released file, are skipped with a warning. The final question mark has
    the tag "?" in about half of the trees and "." in the others. It is always "." here.

    Returns
    -------
    Treebank
        The trees.
    """
    bank = read_trees(corpus("questionbank", "4000qs.mrg"), on_error="skip")
    return Treebank([tree.replace("(? ?)", "(. ?)") for tree in bank.strings()])


def masc_trees() -> Treebank:
    """Load the trees of MASC."""
    document = read_document(corpus("masc_srl", "trees.tsv"), "tsv", label_column=0, tree_column=2)
    return Treebank.from_columns(document.trees["tree"])


def craft_trees() -> Treebank:
    """Load the trees of the CRAFT corpus of biomedical articles, which has many large trees."""
    document = read_document(corpus("craft", "trees.clean.tsv"), "tsv", label_column=0, tree_column=2)
    return Treebank.from_columns(document.trees["tree"])


def parser_training_sentences() -> set[tuple[str, ...]]:
    """Return the sentences of MASC and QuestionBank, on which the parser of the n-best lists was trained."""
    return {tuple(tree.words()) for bank in (masc_trees(), question_bank()) for tree in bank if tree is not None}


def grammar_treebanks(without: Collection[tuple[str, ...]] = (), limit: int | None = None) -> tuple[list[Tree], int]:
    """Load trees to estimate a grammar from, each sentence once.

    The treebanks are the Wall Street Journal sample, MASC, QuestionBank and every tenth tree of CRAFT, because biomedical
    text is the largest part and differs most from the others.

    Parameters
    ----------
    without : collection of tuples of str
        Sentences to leave out, such as those to be parsed.
    limit : int, optional
        Maximum number of trees.

    Returns
    -------
    trees : list of Tree
        The trees.
    removed : int
        Number of trees that were left out because of `without`.
    """
    trees: dict[tuple[str, ...], Tree] = {}
    removed = 0
    loaders: tuple[Callable[[], Treebank], ...] = (
        lambda: wsj_sample()[0],
        masc_trees,
        question_bank,
        lambda: craft_trees()[::10],
    )
    for load in loaders:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TreeletWarning)  # six trees of QuestionBank are malformed
            bank = [tree for tree in load() if tree is not None]
        for tree in bank:
            words = tuple(tree.words())
            if words in without:
                removed += 1
            else:
                trees.setdefault(words, tree)
        if limit is not None and len(trees) >= limit:
            break
    return list(trees.values())[:limit], removed


# --- pairs of sentences: SICK ------------------------------------------------------------------------------------


class SentencePair(NamedTuple):
    """Two tagged sentences, how related they are (1 to 5), and whether the first entails or contradicts the second."""

    id: str
    words_a: tuple[str, ...]
    tags_a: tuple[str, ...]
    words_b: tuple[str, ...]
    tags_b: tuple[str, ...]
    relatedness: float
    entailment: str


def sick(part: str = "train") -> list[SentencePair]:
    """Load the sentence pairs of SICK (SemEval-2014 task 1).

    Parameters
    ----------
    part : {"train", "trial", "test"}, default "train"
        The 4,500 training, 500 trial or 4,927 test pairs.

    Returns
    -------
    list of SentencePair
        The pairs, in the order of the file.
    """
    check_one_of("part", part, ("train", "trial", "test"))
    path = corpus("sick", f"{part}.tsv")
    with open_source(path) as source:
        rows = [line.split("\t") for _, line in source.text_lines()][1:]
    with open_source(corpus("sick", f"{part}.tags")) as source:
        sentences = [[token.split("|")[:2] for token in line.split()] for _, line in source.text_lines()]
    if len(sentences) < 2 * len(rows) or any(len(row) != 5 for row in rows):
        raise FormatError(
            "five columns per pair, and two lines of tagged words in the other file, are needed.", str(path)
        )
    pairs = []
    for (number, _, _, relatedness, entailment), *sides in zip(rows, sentences[0::2], sentences[1::2], strict=False):
        (words_a, tags_a), (words_b, tags_b) = (zip(*side, strict=True) for side in sides)
        pairs.append(SentencePair(number, words_a, tags_a, words_b, tags_b, float(relatedness), entailment))
    return pairs


# --- parses by Link Grammar ----------------------------------------------------------------------------------------


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
                sentences.append(_parsed(json.loads(line), walls))
            except (KeyError, TypeError, ValueError) as error:
                problem = f"has no field {error}" if isinstance(error, KeyError) else f"is invalid: {error}"
                raise FormatError(f"the sentence {problem.removesuffix('.')}.", source.name, number) from None
    return sentences


def _parsed(record: dict[str, Any], walls: bool) -> ParsedSentence:
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


# --- roles: PropBank on the Wall Street Journal sample, and on MASC ------------------------------------------------

CORPORA = {
    "wsj": ("propbank_wsj_sample", "ptb_sample", "wsj_sample.clean.tsv"),
    "masc": ("masc_srl", "masc_srl", "trees.tsv"),
}
AUXILIARIES = frozenset({"be.03", "do.01", "go.04", "have.01", "have.02", "use.03"})  # senses of auxiliary verbs
Key = tuple[str, int]


def propbank(
    name: str = "wsj", *, verbs: bool = True, auxiliaries: bool = False, continued: bool = True, nbest: int = 0
) -> list[RoleInstance]:
    """Load predicates and their arguments, with gold trees.

    Parameters
    ----------
    name : {"wsj", "masc"}, default "wsj"
        PropBank on the Penn Treebank sample, or on MASC, which is openly licensed. Some articles of MASC are also in
        the Penn Treebank sample, under the same `doc`, such as wsj_0006. Exclude them if a parser was trained on
        that sample.
    verbs : bool, default True
        Whether to load only predicates that are tagged as verbs.
    auxiliaries : bool, default False
        Whether to include *be*, *have*, *do* and others where they are auxiliaries. These have no arguments.
    continued : bool, default True
        Whether to include continuations of arguments (C-) and references to them (R-).
    nbest : int, default 0
        Maximum number of a parser's parses to add per sentence; for "wsj" only.

    Returns
    -------
    list of RoleInstance
        The predicates, in the order of the corpus. Some have no arguments.
    """
    check_one_of("name", name, sorted(CORPORA))
    if nbest and name != "wsj":
        raise ParameterError(f"The corpus {name!r} has no n-best parses. Leave 'nbest' at 0, or use 'wsj'.")
    roles, folder, file = CORPORA[name]
    arguments = corpus(roles, "args.tsv")
    trees = _trees_by_sentence(corpus(folder, file))
    predicates: dict[tuple[str, int, int, str], list[Argument]] = {}
    for doc, sent, position, tag, roleset, label, start, end in _role_rows(arguments):
        tree = trees.get((doc, sent))
        if tree is None:
            raise ParameterError(
                f"{arguments}: the tree of {doc}, sentence {sent} is missing. Check that both files are from the same release."
            )
        if (verbs and not tag.startswith("VB")) or (not auxiliaries and roleset in AUXILIARIES):
            continue
        listed = predicates.setdefault((doc, sent, position, roleset), [])
        if label != "-" and (continued or not label.startswith(("C-", "R-"))):
            listed.append(Argument(label, start, end))
    parses = _role_parses(nbest, {(doc, sent) for doc, sent, _, _ in predicates}) if nbest else {}
    return [
        RoleInstance(
            tree=trees[doc, sent],
            predicate=position,
            arguments=tuple(listed),
            nbest=parses.get((doc, sent), ()),
            roleset=roleset,
            doc=doc,
            sent=sent,
        )
        for (doc, sent, position, roleset), listed in predicates.items()
    ]


def _role_rows(path: Path) -> Iterator[tuple[str, int, int, str, str, str, int, int]]:
    with open_source(path) as source:
        for number, line in source.text_lines():
            if line.startswith("#"):
                continue
            try:
                doc, sent, position, tag, _, roleset, label, start, end, _ = line.split("\t")
                yield doc, int(sent), int(position), tag, roleset, label, int(start), int(end)
            except ValueError:
                raise source.error("ten columns are needed, with numbers for words and sentences.", number) from None


def _trees_by_sentence(path: Path) -> dict[Key, Tree]:
    keys: list[Key] = []
    texts: list[str] = []
    with open_source(path) as source:
        for _, line in source.text_lines():
            doc, sent, tree = line.split("\t")
            keys.append((doc, int(sent)))
            texts.append(tree)
    return {key: tree for key, tree in zip(keys, Treebank(texts), strict=True) if tree is not None}


def _role_parses(nbest: int, wanted: set[Key]) -> dict[Key, tuple[Parse, ...]]:
    lists: dict[Key, list[tuple[str, float]]] = {}
    with open_source(corpus("wsj_nbest", "wsj_sample.nbest20.jsonl")) as source:
        for _, parses, fields in read_nbest(source):
            if (key := (fields["doc"], int(fields["sent"]))) in wanted:
                lists[key] = parses[:nbest]
    return _as_parses(lists)


# --- relations: SemEval-2010 task 8, BioInfer, CoNLL04 -------------------------------------------------------------

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
    known = _as_parses(lists)
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
    >>> from experiments.data import tokens
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


def _as_parses(lists: dict[Any, list[tuple[str, float]]]) -> dict[Any, tuple[Parse, ...]]:
    """Read the trees of several lists of (brackets, log probability) at once. Equal subtrees become the same object."""
    trees = iter(Treebank([tree for listed in lists.values() for tree, _ in listed]))
    return {key: tuple(Parse(next(trees), score) for _, score in listed) for key, listed in lists.items()}


# --- sentences that occur twice -----------------------------------------------------------------------------------


def apart_from(
    others: Iterable[tuple[str, ...]], rows: Iterable[int], words: Sequence[tuple[str, ...]]
) -> NDArray[np.int64]:
    """Return the rows whose words differ from those of all other sentences.

    >>> apart_from({("c",), ("e",)}, [0, 1, 2], [("a", "b"), ("c",), ("d",)]).tolist()
    [0, 2]
    """
    seen = set(others)
    return np.array([row for row in rows if words[row] not in seen], np.int64)
