"""A generator of travel questions and requests in which words determine attachment. It is not based on a corpus."""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from treelet.checks import check_integer
from treelet.datasets.flights_words import (
    BEFORE,
    BOTH,
    DOES,
    FAMILIES,
    FORMS,
    MODIFIERS,
    NOUNS,
    PAIRED,
    PARTICIPLES,
    SENTENCES,
    SLOTS,
    VERBS,
)
from treelet.structures import Treebank
from treelet.work import seed_of

SIZES = (800, 200, 336)  # as in Collins & Duffy (2001)
LENGTHS = (5, 18)  # minimum and maximum number of words
NOISE = 0.06  # probability that a modifier is attached at random
PATIENCE = 20  # number of draws after which a name may be repeated
FAR = 0.3  # probability of looking further away for the phrase that gets a modifier

_WORD = re.compile(r"[^\s()]+\)")
_SLOT = re.compile(r"<([^<>]+)>")
_ARTICLE = re.compile(r"\(DT a\)(?=[ (A-Z]+ (?:[aei]|o(?!ne)))")


class FlightsSplit(NamedTuple):
    """A bank of `flights` in three parts, of 800, 200 and 336 trees.

    Attributes
    ----------
    train, development, test : Treebank
        The three parts.
    """

    train: Treebank
    development: Treebank
    test: Treebank


def flights(n: int = 1336, random_state: Any = 0) -> Treebank:
    """Generate parsed travel questions and requests in which words and context determine the structure.

    These sentences are generated, not collected, so scores on them are not scores on English. They replace the
    ATIS treebank in the reranking experiment of Collins & Duffy (2001). A grammar read off the trees knows
    single productions only. It often errs where larger fragments reveal the right structure:

    - A modifier belongs to the nearest phrase on its left whose head accepts it: "book a seat by the window",
      but "book a seat by phone"; "list fares on the flight", but "list fares on monday". The head may be
      several levels up.
    - A modifier of two nouns with "and" belongs to both if both accept it: "fares and meals on the flight", but
      "hotels and flights to denver". Similarly "cheap flights and hotels", but "nonstop flights and hotels".
    - Compounds are phrases, lists of modifiers are not: "a first class fare", "a cheap coach fare".
    - Verbs differ in their complements: "ask the agent to go" has three parts, "want the agent to go" two.
    - "from boston to denver", "six in the morning" and "the fifth of may" are phrases, "to denver from boston"
      is not.

    The generator was designed so that fragments help, and it was adjusted while observing how much they do.

    Six percent of the modifiers are attached at random, so perfect scores are impossible. Few words and
    patterns are frequent and many are rare. Some words of a test part do not occur in the training part. A few
    sentences occur twice.

    Parameters
    ----------
    n : int, default 1336
        Number of trees, at least 0. The first trees of a larger bank are those of a smaller one.
    random_state : int, RandomState or None, default 0
        Source of randomness. The same int gives the same trees.

    Returns
    -------
    Treebank
        The generated trees.

    Examples
    --------
    >>> from treelet.datasets.flights import flights
    >>> for tree in flights(3):
    ...     print(" ".join(tree.words()))
    which round trip fares do you have to honolulu on sunday morning
    i want to cancel a hot meal and cancel the low coach fare on planes
    i plan to reserve the connection with a card on friday afternoon
    """
    _check(n=n)
    writer = _SentenceWriter(random.Random(seed_of(random_state)))
    return Treebank([writer.sentence() for _ in range(n)])


def flights_split(random_state: Any = 0) -> FlightsSplit:
    """Generate a bank of `flights` with the parts of Collins & Duffy (2001): 800, 200 and 336 trees.

    Trees are drawn one after the other, and the parts are the first, the next and the last of them.

    Parameters
    ----------
    random_state : int, RandomState or None, default 0
        Source of randomness. Another int gives another bank.

    Returns
    -------
    FlightsSplit
        The parts ``train``, ``development`` and ``test``.

    Examples
    --------
    >>> from treelet.datasets.flights import flights_split
    >>> [len(part) for part in flights_split()]
    [800, 200, 336]
    """
    bank = flights(sum(SIZES), random_state)
    begin, end = SIZES[0], SIZES[0] + SIZES[1]
    return FlightsSplit(bank[:begin], bank[begin:end], bank[end:])


def _check(**parameters: object) -> None:
    for name, value in parameters.items():
        check_integer(name, value, 0)


class _Phrase:
    """A phrase and its modifiers so far. They stand beside its children or, in a noun phrase, one level above."""

    def __init__(self, label: str, head: str, takes: Iterable[str], plural: bool = False) -> None:
        self.label, self.head, self.takes, self.plural = label, head, list(takes), plural
        self.kids: list[object] = []
        self.mods: list[object] = []

    def __str__(self) -> str:
        kids = " ".join(map(str, self.kids))
        if self.mods and self.label in {"NP", "WHNP"}:
            kids = f"({self.label} {kids})"
        return f"({self.label} {kids} {' '.join(map(str, self.mods))})"


class _Pair(_Phrase):
    """Two plurals with a conjunction. The pair is flat unless an adjective or a modifier belongs to one of them only."""

    def __init__(self, one: _Phrase, two: _Phrase, word: str) -> None:
        super().__init__("NP", "", [kind for kind in one.takes if kind in two.takes], True)
        self.one, self.two = one, two
        self.between = f"(CC {word})"
        self.flat = len(one.kids) == 1 or any(f"JJ {word})" in str(one.kids[0]) for word in BOTH)
        two.takes = [kind for kind in two.takes if kind not in one.takes]

    def __str__(self) -> str:
        flat = self.flat and not self.two.mods
        self.kids = [*self.one.kids, self.between, *self.two.kids] if flat else [self.one, self.between, self.two]
        return super().__str__()


class _TextPieces(list[object]):
    """Pieces of the text of a tree. Some of them are phrases that may still get modifiers."""

    def __str__(self) -> str:
        return "".join(map(str, self))


class _SentenceWriter:
    """Fills in templates from left to right, and knows which phrases a modifier could be attached to."""

    def __init__(self, rng: random.Random) -> None:
        self.draw = rng.random
        self.sums: dict[tuple[int, float], list[float]] = {}
        self.family = {kind: family for family in FAMILIES for kind in family.split()}
        self.options = {name: _alternatives(text) for name, text in SLOTS.items()}
        self.start()

    def start(self) -> None:
        self.open: list[_Phrase] = []  # the nearest is last
        self.used: set[str] = set()
        self.names: set[str] = set()
        self.subject = _Phrase("NP", "flight", ())

    def sentence(self) -> str:
        while True:
            self.start()
            text = str(self.fill(self.pick(SENTENCES, 0.7)))
            if LENGTHS[0] <= len(_WORD.findall(text)) <= LENGTHS[1]:
                return _ARTICLE.sub("(DT an)", text)

    def pick(self, items: Sequence[str], power: float = 1.0) -> str:
        """One of the items, the k-th with a probability in proportion to 1 / k ** power."""
        key = len(items), power
        if key not in self.sums:
            self.sums[key] = list(accumulate(1 / k**power for k in range(1, len(items) + 1)))
        sums = self.sums[key]
        return items[bisect(sums, self.draw() * sums[-1], 0, len(items) - 1)]

    def fill(self, template: str) -> _TextPieces:
        text = _TextPieces()
        for k, piece in enumerate(_SLOT.split(template)):
            text.append(self.slot(piece) if k % 2 else piece)
        return text

    def slot(self, slot: str) -> object:
        name, *words = slot.split()
        if name == ".":
            self.open = []
            self.used -= set(FAMILIES[:2])
        elif name.startswith("+"):
            self.modify(int(name))
        elif name == "pair":
            return self.pair()
        elif not words:
            return self.fill(self.option(name))
        elif name.startswith(("NP", "AN", "WH")):
            return self.noun(self.pick(words, 0.9), name)
        else:
            return self.verb(words, *name.split("/"))
        return ""

    def option(self, name: str) -> str:
        """An alternative of a slot, with names that the sentence does not have yet."""
        for _ in range(PATIENCE):
            chosen = self.pick(self.options[name], 0.7 if name == "city" else 1.0)
            first = chosen.partition("(NNP ")[2].partition(")")[0]
            if first not in self.names:
                break
        if first:
            self.names.add(first)
        return chosen

    def noun(self, noun: str, kind: str) -> _Phrase:
        plural = self.draw() < 0.4 if kind[-1] not in "12" else kind[-1] == "2"
        site = _Phrase("WHNP" if kind[:2] == "WH" else "NP", noun, NOUNS[noun].split(), plural)
        before = self.pick(BEFORE[noun].split(";")) if noun in BEFORE and self.draw() < 0.7 else ""
        if before.startswith("(CD") and not plural:
            before = ""
        if kind[:2] == "WH":
            site.kids.append(f"(WDT {self.pick(('which', 'what'))})")
        elif not before.startswith("(CD"):
            articles = ("the", "", "all", "any", "these") if plural else ("a", "the", "this", "any", "that")
            article = self.pick(articles if kind[:2] == "NP" else (("", "any") if plural else ("a", "any")))
            site.kids += [f"(DT {article})"] if article else []
        site.kids += [before] if before else []
        site.kids.append(f"(NNS {noun}s)" if plural else f"(NN {noun})")
        self.open.append(site)
        self.subject = site
        return site

    def pair(self) -> _Phrase:
        noun1 = noun2 = self.pick(PAIRED.split(), 0.5)
        while noun2 == noun1:
            noun2 = self.pick(PAIRED.split(), 0.5)
        sites = [_Phrase("NP", noun, NOUNS[noun].split(), True) for noun in (noun1, noun2)]
        for site in sites:
            site.kids = [f"(NNS {site.head}s)"]
        if noun1 in BEFORE and self.draw() < 0.5:
            before = self.pick(BEFORE[noun1].split(";"))
            sites[0].kids.insert(0, before)
        both = _Pair(sites[0], sites[1], self.pick(("and", "or")))
        self.open += [both, sites[1]]
        return both

    def verb(self, verbs: list[str], tag: str, label: str = "VP") -> _Phrase:
        if verbs == ["*"]:
            verbs = DOES.get(self.subject.head, "leave arrive").split()
        if tag == "V":
            tag = "VBP" if self.subject.plural else "VBZ"
        verb = self.pick(verbs, 0.9)
        after, takes = VERBS[verb]
        word = verb.partition("+")[0]
        if tag == "VBZ":
            word = FORMS.get(word, word + "s")
        elif tag == "VBG":
            word = PARTICIPLES.get(word, (word[:-1] if word.endswith("e") else word) + "ing")
        site = _Phrase(label, verb, takes.split())
        self.open.append(site)
        site.kids = [f"({tag} {word})", self.fill(after)]
        return site

    def modify(self, least: int) -> None:
        count = 0
        while count < 5 and (count < least or self.draw() < 0.3):
            self.attach()
            count += 1

    def attach(self) -> None:
        """Draw a modifier that an open phrase may have, and give it to the nearest that may have it."""
        wanted = [[kind for kind in site.takes if self.family.get(kind, kind) not in self.used] for site in self.open]
        wanted = [kinds for kinds in wanted if kinds]
        if not wanted:
            return
        index = len(wanted) - 1
        while index and self.draw() < FAR:
            index -= 1
        kind = self.pick(wanted[index], 0.8)
        self.used.add(self.family.get(kind, kind))
        if kind in {"route", "between"}:
            self.used.add("to_city")
        index = max(k for k, site in enumerate(self.open) if kind in site.takes)
        if self.draw() < NOISE:
            index = int(self.draw() * len(self.open))
        self.subject = self.open[index]
        del self.open[index + 1 :]
        self.subject.mods.append(self.fill(MODIFIERS[kind]))


def _alternatives(text: str) -> list[str]:
    tag, colon, rest = text.partition(": ")
    if not colon:
        return text.split(";")
    return [" ".join(f"({tag} {word})" for word in item.split()) for item in rest.split(";")]
