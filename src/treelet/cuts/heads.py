"""Head rules for the phrases of the Penn Treebank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

PUNCTUATION = frozenset({",", ".", ":", "``", "''", "?", "!", "-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-"})
CONJUNCTIONS = frozenset({"CC", "CONJP"})

# Rules for the head child of a phrase: the side where the search begins, and labels in order of priority. The rules are
# those of Collins (1999), appendix A. Noun phrases have separate rules, in NOUN_RULES.
HEAD_RULES: dict[str, tuple[str, tuple[str, ...]]] = {
    label: (side, tuple(wanted.split()))
    for label, side, wanted in (
        ("ADJP", "left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
        ("ADVP", "right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
        ("CONJP", "right", "CC RB IN"),
        ("FRAG", "right", ""),
        ("LST", "right", "LS :"),
        ("NAC", "left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
        ("PP", "right", "IN TO VBG VBN RP FW"),
        ("PRT", "right", "RP"),
        ("QP", "left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
        ("RRC", "right", "VP NP ADVP ADJP PP"),
        ("S", "left", "TO IN VP S SBAR ADJP UCP NP"),
        ("SBAR", "left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
        ("SBARQ", "left", "SQ S SINV SBARQ FRAG"),
        ("SINV", "left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
        ("SQ", "left", "VBZ VBD VBP VB MD VP SQ"),
        ("UCP", "right", ""),
        ("VP", "left", "TO VBD VBN MD VBZ VB VBG VBP AUX AUXG VP ADJP NN NNS NP"),
        ("WHADJP", "left", "CC WRB JJ ADJP"),
        ("WHADVP", "right", "CC WRB"),
        ("WHNP", "left", "WDT WP WP$ WHADJP WHPP WHNP"),
        ("WHPP", "right", "IN TO FW"),
    )
}
NOUN_PHRASES = frozenset({"NP", "NX", "NML"})
NOUN_RULES = (  # the side where the search begins, and labels of equal priority
    ("right", frozenset({"NN", "NNP", "NNPS", "NNS", "NX", "NML", "POS", "JJR"})),
    ("left", frozenset({"NP"})),
    ("right", frozenset({"$", "ADJP", "PRN"})),
    ("right", frozenset({"CD"})),
    ("right", frozenset({"JJ", "JJS", "RB", "QP"})),
)


@lru_cache(maxsize=4096)
def category(label: str) -> str:
    """Return a label without its function tags.

    >>> category("NP-SBJ"), category("PP=2"), category("-LRB-")
    ('NP', 'PP', '-LRB-')
    """
    cut = min((at for mark in "-=" if (at := label.find(mark)) > 0), default=len(label))
    return label if label.startswith("-") else label[:cut]


def head_child(label: str, children: Sequence[str]) -> int:
    """Return the position of the head among a node's children, by the rules of Collins (1999), appendix A.

    If no rule applies, the head is the first child, other than punctuation, from the side where the
    search begins. Function tags are ignored.

    >>> head_child("VP", ["ADVP", "VBD", "NP"]), head_child("NP-SBJ", ["DT", "NN", "NN", ","])
    (1, 2)
    """
    label, names = category(label), [category(child) for child in children]
    solid = [index for index, name in enumerate(names) if name not in PUNCTUATION] or list(range(len(names)))
    head = _noun_head(names, solid) if label in NOUN_PHRASES else _ruled_head(label, names, solid)
    before = [other for other in solid if other < head]
    if len(before) > 1 and names[before[-1]] in CONJUNCTIONS:  # the first conjunct is the head of a coordination
        return before[-2]
    return head


def _ruled_head(label: str, names: list[str], solid: list[int]) -> int:
    side, wanted = HEAD_RULES.get(label, ("left", ()))
    order = solid if side == "left" else solid[::-1]
    return next((index for name in wanted for index in order if names[index] == name), order[0])


def _noun_head(names: list[str], solid: list[int]) -> int:
    for side, wanted in NOUN_RULES:
        for index in solid if side == "left" else solid[::-1]:
            if names[index] in wanted:
                return index
    return solid[-1]
