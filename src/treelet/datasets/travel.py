"""A generator of travel questions and requests in which words determine attachment. It is not based on a corpus."""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from treelet.checks import check_integer
from treelet.structures import Treebank
from treelet.work import seed_of

# --- the words and patterns of the generator `flights` ----------------------------------------------------------------

# Slots <...> are filled in from left to right. A name stands for one of its alternatives in _SLOTS. <NP flight fare>
# stands for a noun and <VB show list> for a verb; the first of the list is the most frequent. Both may get modifiers.
# <+2> adds at least two modifiers, each at the phrase where it belongs. After <.>, earlier phrases get no more
# modifiers. The verbs <V *> are those of the last noun in _DOES.
_SENTENCES = (
    "(S <please> <VB show book list give reserve find buy cancel change rent> <+2>)",
    "(S (NP (PRP <i>)) <VBP want+to need+to plan+to> <+2>)",
    "(S (NP (PRP <i>)) <VBP need want prefer> <+2>)",
    "(SBARQ <WH flight airline plane hotel fare> <+0> <.> (SQ <V *> <+1>))",
    "(SBARQ (WHNP (WP what)) (SQ (VBZ is) <NP1 fare price flight schedule airline> <+1>))",
    "(S <VB tell+me> <+2>)",
    "(S <VB ask tell> <+2>)",
    "(SQ (MD can) (NP (PRP i)) <do> <+2>)",
    "<VBZ/SQ is+there> <+1>",
    "(S (NP (PRP <i>)) <VBP want+someone need+someone> <+2>)",
    "(S (NP (PRP <i>)) (VP (MD would) <VB like+to> <+2>))",
    "(FRAG <thing> <+2>)",
    "(S (SBAR (IN <if>) (S (NP (PRP <i>)) <VBP leave fly arrive return go> <+0>)) <.> (NP (PRP <i>)) <VBP need "
    "want prefer> <+1>)",
    "(SQ (MD can) (NP (PRP you)) <VB tell+me> <+2>)",
    "(SQ (VBZ does) <NP1 flight airline ticket hotel plane> <+0> <.> <VB *> <+1>)",
    "(SBARQ <WH2 flight meal fare hotel> <.> (SQ (VBP do) (NP (PRP you)) <VB have+gap offer+gap> <+2>))",
    "(S (SBAR (IN <if>) (S (NP (PRP <i>)) <VBP leave fly arrive return go> <+0>)) <.> <VB show book list give "
    "reserve> <+1>)",
    "(SQ (VBP are) <NP2 seat flight hotel car ticket> <+0> <.> <JJ/ADJP available cheap> <+1>)",
    "<VBP/SQ are+there> <+1>",
    "(SBARQ <when> (SQ (VBZ does) <NP1 flight plane> <+0> <.> <VB *> <+1>))",
    "(SBARQ (WHADJP (WRB how) (JJ much)) (SQ (VBZ is) <NP1 fare ticket seat> <+1>))",
    "(S (NP (PRP i)) (VP (VBP want) (S (VP (TO to) (VP <do> <+0> <.> (CC and) <do> <+0>)))))",
)
# Modifiers of each noun, the most frequent first.
_NOUNS = {
    "flight": "relative route gerund chosen on_day at_hour from_city to_city with_thing part carrier between days",
    "fare": "relative on_board chosen for_class route",
    "ticket": "relative to_city chosen for_day in_class",
    "seat": "chosen on_board in_class by_thing",
    "hotel": "relative in_city chosen near with_thing",
    "meal": "on_board chosen carrier",
    "airline": "relative with_flights",
    "car": "chosen at_airport in_city with_thing",
    "price": "of_thing for_class",
    "plane": "relative to_city gerund",
    "reservation": "for_day at_hotel",
    "connection": "in_city between",
    "airport": "in_city",
    "schedule": "of_thing",
    "agent": "at_airport",
}
# Complements and modifiers of each verb. A suffix after a plus sign distinguishes verbs of the same form.
_VERBS = {
    "show": ("(NP (PRP me)) <thing>", "on_day for_person if_clause"),
    "give": ("(NP (PRP me)) <thing>", "on_day if_clause"),
    "list": ("<thing>", "on_day for_person if_clause"),
    "find": ("<me> <thing>", "for_person on_day when_clause"),
    "book": ("<me> <thing>", "for_person with_card on_day when_clause by_phone through_agent"),
    "reserve": ("<thing>", "for_person with_card on_day through_agent"),
    "buy": ("<thing>", "with_card for_person on_day through_agent"),
    "cancel": ("<thing>", "by_phone on_day through_agent when_clause"),
    "change": ("<thing>", "with_card by_phone on_day through_agent"),
    "rent": ("<NP car plane>", "with_card for_person on_day"),
    "see": ("<thing>", "on_day when_clause"),
    "need": ("<thing>", "on_day for_person if_clause"),
    "want": ("<thing>", "for_person on_day if_clause"),
    "prefer": ("<thing>", "for_person if_clause"),
    "need+to": ("(S (VP (TO to) <do>))", "if_clause"),
    "want+to": ("(S (VP (TO to) <do>))", "if_clause"),
    "plan+to": ("(S (VP (TO to) <do>))", "if_clause"),
    "like+to": ("(S (VP (TO to) <do>))", "if_clause"),
    "need+someone": ("(S <someone> (VP (TO to) <do>))", "if_clause"),
    "want+someone": ("(S <someone> (VP (TO to) <do>))", "if_clause"),
    "ask": ("<someone> (S (VP (TO to) <do>))", "by_phone if_clause when_clause"),
    "tell": ("<someone> (S (VP (TO to) <do>))", "by_phone if_clause when_clause"),
    "tell+me": ("(NP (PRP me)) <question>", "by_phone if_clause when_clause"),
    "need+chosen": ("", "on_day for_person if_clause"),
    "want+chosen": ("", "for_person on_day if_clause"),
    "like+chosen": ("", "if_clause on_day"),
    "prefer+chosen": ("", "for_person if_clause"),
    "have+gap": ("", "route on_day at_hour to_city on_board in_city"),
    "offer+gap": ("", "on_day route on_board to_city"),
    "fly": ("", "route on_day to_city carrier with_person at_hour in_class from_city days part when_clause"),
    "go": ("", "to_city on_day with_person route at_hour part"),
    "travel": ("", "route with_person in_class to_city on_day carrier"),
    "leave": ("<left>", "on_day at_hour for_city part"),
    "depart": ("", "from_city at_hour on_day part"),
    "arrive": ("", "in_city at_hour on_day at_airport part"),
    "return": ("", "to_city on_day from_city at_hour"),
    "stop": ("", "in_city at_airport"),
    "stay": ("", "in_city at_hotel days with_person"),
    "serve": ("(NP <food>)", "on_board part on_day"),
    "offer": ("(NP <extra>)", "on_board on_day"),
    "have": ("(NP <extra>)", "on_day in_city"),
    "cost": ("(NP <dollars> (NNS dollars))", "for_person on_day"),
    "include": ("(NP <extra>)", "for_person"),
    "is+there": ("(NP (EX there)) <AN1 flight hotel meal seat car connection>", "on_day for_person"),
    "are+there": ("(NP (EX there)) <AN2 flight hotel meal seat car connection>", "on_day for_person"),
    "available": ("", "on_day for_person in_city"),
    "cheap": ("", "for_person on_day"),
}
_DOES = {
    "flight": "leave arrive serve stop depart go",
    "fare": "include cost",
    "ticket": "include cost",
    "hotel": "offer have cost",
    "airline": "serve fly offer",
    "plane": "leave stop arrive",
}
_MODIFIERS = {
    "route": "(PP (PP (IN from) <place>) (PP (TO to) <places>))",
    "from_city": "(PP (IN from) <place>)",
    "to_city": "(PP (TO to) <places>)",
    "for_city": "(PP (IN for) (NP <city>))",
    "between": "(PP (IN between) (NP <city> (CC and) <city>))",
    "in_city": "(PP (IN in) <place>)",
    "on_day": "<when_day>",
    "for_day": "(PP (IN for) (NP <day>))",
    "days": "(PP (PP (IN from) (NP <day>)) (PP (TO to) (NP <day>)))",
    "at_hour": "(PP <at> <time>)",
    "part": "(PP (IN in) (NP (DT the) <part>))",
    "carrier": "(PP <on_with> (NP <carrier>))",
    "on_board": "(PP (IN on) <NP flight plane>)",
    "with_flights": "(PP (IN with) <AN2 flight>)",
    "of_thing": "(PP (IN of) <NP flight ticket seat>)",
    "in_class": "(PP (IN in) (NP <class>))",
    "for_class": "(PP <for_in> (NP <class>))",
    "by_thing": "(PP (IN by) (NP (DT the) <spot>))",
    "near": "(PP (IN near) <NP1 airport>)",
    "at_airport": "(PP (IN at) <NP1 airport>)",
    "at_hotel": "(PP (IN at) <NP1 hotel>)",
    "with_thing": "(PP <with> (NP <extra>))",
    "with_card": "(PP (IN with) (NP <card>))",
    "with_person": "(PP <with> (NP <person>))",
    "for_person": "(PP (IN for) (NP <person>))",
    "by_phone": "(PP (IN by) (NP <phone>))",
    "through_agent": "(PP <through> <NP1 agent>)",
    "when_clause": "(SBAR <before> (S (NP (PRP <i>)) <VBP leave fly arrive return go travel>))",
    "if_clause": "(SBAR <because> (S (NP (PRP <i>)) <VBP leave fly arrive return go travel>))",
    "relative": "(SBAR (WHNP (WDT that)) (S <V *>))",
    "gerund": "<VBG *>",
    "chosen": "(SBAR (S (NP (PRP <i>)) <VBP need+chosen want+chosen like+chosen prefer+chosen>))",
}
# A clause has at most one modifier of each family.
_FAMILIES = (
    "on_day for_day days",
    "at_hour part",
    "route from_city between",
    "in_city near at_airport at_hotel",
    "in_class for_class",
    "on_board with_flights of_thing",
    "when_clause if_clause",
)
# Alternatives, the most frequent first. A tag before a colon applies to each of their words.
_SLOTS = {
    "i": "i;we",
    "if": "if;because;before;after;since;when",
    "please": ";;(INTJ (UH please))",
    "me": ";(NP (PRP me))",
    "do": "<VB fly book go reserve travel leave buy return change arrive cancel stay rent see>",
    "thing": "<NP flight fare ticket seat hotel meal airline car price plane reservation connection schedule>;<pair>;"
    "<NP flight fare ticket seat hotel meal>",
    "someone": "(NP (DT the) (NN agent));(NP (DT the) (NN airline));(NP (PRP$ my) (NN wife));(NP (DT an) (NN agent))",
    "question": "(SBAR <if_whether> (S <NP flight airline ticket hotel plane> <.> <V *>));"
    "(SBAR <WH flight airline hotel fare> (S <V *>))",
    "when": "(WHADVP (WRB when));(WHNP (WDT what) (NN time))",
    "left": "(NP <city>);",
    "place": "(NP <city>);(NP <city>);(NP <town>)",
    "places": "<place>;(NP <city> (CC and) <city>)",
    "town": "(NP (NNP boston)) (NP (NNP massachusetts));(NP (NNP denver)) (NP (NNP colorado));"
    "(NP (NNP dallas)) (NP (NNP texas));(NP (NNP oakland)) (NP (NNP california));(NP (NNP miami)) (NP (NNP florida));"
    "(NP (NNP phoenix)) (NP (NNP arizona))",
    "when_day": "(PP (IN on) (NP (NP (DT the) <ordinal>) (PP (IN of) (NP <month>))));(PP (IN on) (NP <day>));"
    "(NP <day> <part>);(PP (IN on) (NP <day> <part>));(NP (NN tomorrow));(NP (JJ next) (NN week))",
    "time": "(NP <hour>);(NP (NP <hour>) (PP (IN in) (NP (DT the) <part>)));(NP (NN noon));(NP <hour> (RB am));"
    "(NP <hour> (RB pm));(NP (NN midnight))",
    "at": "IN: at;before;after;around;by",
    "with": "IN: with;without",
    "on_with": "IN: on;with",
    "for_in": "IN: for;in",
    "through": "IN: through;from",
    "before": "IN: before;after;while",
    "because": "IN: because;if;since",
    "if_whether": "IN: if;whether",
    "day": "NNP: monday;friday;sunday;tuesday;saturday;wednesday;thursday",
    "part": "NN: morning;evening;afternoon",
    "ordinal": "JJ: first;fifth;second;tenth;third;twelfth;ninth;sixth;fourth;eighth;seventh;eleventh;twentieth",
    "month": "NNP: may;june;august;july;april;december;october;march;september;november;january;february",
    "hour": "CD: six;eight;five;ten;seven;nine;three;four;two;eleven;twelve",
    "class": "(JJ first) (NN class);(NN coach);(NN economy);(NN business) (NN class)",
    "spot": "NN: window;aisle;exit;wing;galley;door",
    "phone": "NN: phone;mail;email;fax;telephone",
    "dollars": "CD: 300;200;500;90;400;1000;150;120;250;700;99;350",
    "food": "(NN dinner);(NNS meals);(NN breakfast);(DT a) (NN snack);(NN lunch);(DT a) (JJ hot) (NN meal);(NN wine);"
    "(NN coffee);(NN tea)",
    "extra": "(NN breakfast);(DT a) (NN meal);(DT a) (NN movie);(NN wifi);(CD two) (NNS drinks);(DT a) (NN view);"
    "(NN baggage);(NNS newspapers);(DT a) (NN pool);(NNS blankets);(NN music);(DT a) (NN shower)",
    "card": "(DT a) (NN card);(NN cash);(PRP$ my) (NNS miles);(DT a) (NN coupon);(DT a) (NN credit) (NN card);"
    "(DT this) (NN voucher);(DT a) (NN check);(PRP$ my) (NNS points)",
    "person": "(PRP me);(PRP$ my) (NN wife);(CD two) (NNS adults);(PRP$ my) (NN family);(CD two) (NNS children);"
    "(PRP$ my) (NN boss);(PRP us);(PRP$ my) (NN daughter);(PRP$ my) (NN son);(CD three) (NNS students);"
    "(PRP$ my) (NN mother);(PRP$ my) (NN nephew)",
    "carrier": "NNP: united;delta;american;continental;northwest;air canada;lufthansa;alaska;frontier;icelandair",
    "city": "NNP: boston;denver;chicago;atlanta;dallas;new york;seattle;san francisco;pittsburgh;baltimore;oakland;"
    "phoenix;miami;houston;los angeles;orlando;detroit;newark;memphis;cleveland;las vegas;tampa;charlotte;nashville;"
    "san diego;portland;toronto;montreal;minneapolis;kansas city;austin;tucson;columbus;salt lake city;cincinnati;"
    "milwaukee;buffalo;omaha;sacramento;san jose;burbank;richmond;raleigh;albany;hartford;tulsa;reno;boise;spokane;"
    "el paso;anchorage;honolulu;savannah;fresno;dayton;akron;toledo;providence;norfolk;knoxville;lexington;wichita;"
    "madison;lincoln;eugene;fargo",
}
# Words before a noun: compounds are phrases, a list of modifiers is not.
_BEFORE = {
    "flight": "(NML (JJ early) (NN morning));(JJ direct) (NN morning);(JJ nonstop);(NML (NN round) (NN trip));"
    "(JJ cheap);(JJ direct);(JJ last) (NN evening);(NML (JJ late) (NN night));(NN evening);(JJ cheap) (NN evening);"
    "(CD two) (NN morning);(JJ first) (NN evening)",
    "fare": "(NML (NN round) (NN trip));(NML (JJ first) (NN class));(JJ cheap) (NN coach);(NML (CD one) (NN way));"
    "(JJ low) (NN coach);(JJ cheap);(NN weekend);(JJ low) (NN weekend);(CD two) (NN coach)",
    "ticket": "(NML (NN round) (NN trip));(NML (CD one) (NN way));(JJ cheap) (NN coach);(NML (JJ first) (NN class));"
    "(JJ cheap);(CD two) (NN coach)",
    "seat": "(NN window);(NML (JJ first) (NN class));(JJ good) (NN window);(NN aisle);(CD two) (NN coach);(JJ good)",
    "hotel": "(JJ cheap);(JJ cheap) (NN airport);(NML (CD five) (NN star));(JJ quiet);(JJ quiet) (NN beach);"
    "(CD two) (NN beach)",
    "meal": "(JJ hot);(JJ hot) (NN evening);(JJ free);(NML (JJ low) (NN calorie))",
    "car": "(JJ cheap);(JJ small) (NN rental);(NML (CD two) (NN door));(NN rental)",
}


# --- a generator of travel questions and requests in which words determine attachment ---------------------------------

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
    >>> from treelet.datasets import flights
    >>> for tree in flights(3):
    ...     print(" ".join(tree.words()))
    which round trip fares do you have to honolulu on sunday morning
    i want to cancel a hot meal and cancel the low coach fare on planes
    i plan to reserve the connection with a card on friday afternoon
    """
    check_integer("n", n, 0)
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
    >>> from treelet.datasets import flights_split
    >>> [len(part) for part in flights_split()]
    [800, 200, 336]
    """
    bank = flights(1336, random_state)
    return FlightsSplit(bank[:800], bank[800:1000], bank[1000:])


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
        # These two adjectives apply to both nouns of a pair.
        self.flat = len(one.kids) == 1 or any(f"JJ {word})" in str(one.kids[0]) for word in ("cheap", "good"))
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
        self.family = {kind: family for family in _FAMILIES for kind in family.split()}
        self.options = {name: _alternatives(text) for name, text in _SLOTS.items()}
        self.start()

    def start(self) -> None:
        self.open: list[_Phrase] = []  # the nearest is last
        self.used: set[str] = set()
        self.names: set[str] = set()
        self.subject = _Phrase("NP", "flight", ())

    def sentence(self) -> str:
        while True:
            self.start()
            text = str(self.fill(self.pick(_SENTENCES, 0.7)))
            if 5 <= len(_WORD.findall(text)) <= 18:
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
            self.used -= set(_FAMILIES[:2])
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
        for _ in range(20):  # after so many draws, a name may be repeated
            chosen = self.pick(self.options[name], 0.7 if name == "city" else 1.0)
            first = chosen.partition("(NNP ")[2].partition(")")[0]
            if first not in self.names:
                break
        if first:
            self.names.add(first)
        return chosen

    def noun(self, noun: str, kind: str) -> _Phrase:
        plural = self.draw() < 0.4 if kind[-1] not in "12" else kind[-1] == "2"
        site = _Phrase("WHNP" if kind[:2] == "WH" else "NP", noun, _NOUNS[noun].split(), plural)
        before = self.pick(_BEFORE[noun].split(";")) if noun in _BEFORE and self.draw() < 0.7 else ""
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
        nouns = ["flight", "hotel", "fare", "meal", "ticket", "car", "airline", "seat"]
        noun1 = noun2 = self.pick(nouns, 0.5)
        while noun2 == noun1:
            noun2 = self.pick(nouns, 0.5)
        sites = [_Phrase("NP", noun, _NOUNS[noun].split(), True) for noun in (noun1, noun2)]
        for site in sites:
            site.kids = [f"(NNS {site.head}s)"]
        if noun1 in _BEFORE and self.draw() < 0.5:
            before = self.pick(_BEFORE[noun1].split(";"))
            sites[0].kids.insert(0, before)
        both = _Pair(sites[0], sites[1], self.pick(("and", "or")))
        self.open += [both, sites[1]]
        return both

    def verb(self, verbs: list[str], tag: str, label: str = "VP") -> _Phrase:
        if verbs == ["*"]:
            verbs = _DOES.get(self.subject.head, "leave arrive").split()
        if tag == "V":
            tag = "VBP" if self.subject.plural else "VBZ"
        verb = self.pick(verbs, 0.9)
        after, takes = _VERBS[verb]
        word = verb.partition("+")[0]
        if tag == "VBZ":
            word = {"fly": "flies", "go": "goes", "have": "has", "is": "is"}.get(word, word + "s")
        elif tag == "VBG":
            word = "stopping" if word == "stop" else (word[:-1] if word.endswith("e") else word) + "ing"
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
        while index and self.draw() < 0.3:  # sometimes look further away
            index -= 1
        kind = self.pick(wanted[index], 0.8)
        self.used.add(self.family.get(kind, kind))
        if kind in {"route", "between"}:
            self.used.add("to_city")
        index = max(k for k, site in enumerate(self.open) if kind in site.takes)
        if self.draw() < 0.06:  # noise: attached at random
            index = int(self.draw() * len(self.open))
        self.subject = self.open[index]
        del self.open[index + 1 :]
        self.subject.mods.append(self.fill(_MODIFIERS[kind]))


def _alternatives(text: str) -> list[str]:
    tag, colon, rest = text.partition(": ")
    if not colon:
        return text.split(";")
    return [" ".join(f"({tag} {word})" for word in item.split()) for item in rest.split(";")]
