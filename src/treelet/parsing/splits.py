"""Splits of the labels of the Penn Treebank, which make a grammar more precise without adding words to its rules.

Klein & Manning (2003), "Accurate unlexicalized parsing", distinguish kinds of nodes with equal labels
by what is inside them. The splits below follow their paper and need only the tree itself. Except for
-U on phrases, they only apply to the labels of the Penn Treebank.

======  ==========================================================================================
suffix  nodes
======  ==========================================================================================
-U      Phrases with a single child, which is a phrase. ``DT`` and ``RB`` without siblings.
-F      ``VP`` with a finite verb first; -B with a base form, -G or -N with a participle, -T with "to".
-POS    ``NP`` that ends in a possessive marker.
-BASE   ``NP`` that contains only tags.
-TMP    ``NP`` whose last word is a unit of time, a month or a weekday.
-V      Phrases of nouns, prepositions, adjectives or adverbs that contain a verb.
-R      ``NP`` whose right edge has another ``NP``.
-GAP    ``S`` without a subject.
-BE     Verb tags of forms of "be"; -HAVE of "have", -DO of "do".
-BUT    ``CC`` of "but"; -& of "&".
-%      Tags of the percent sign.
======  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

VERBS = {"VB": "B", "VBD": "F", "VBG": "G", "VBN": "N", "VBP": "F", "VBZ": "F", "MD": "F", "TO": "T"}
AUXILIARIES = {
    **dict.fromkeys(("be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m"), "-BE"),
    **dict.fromkeys(("have", "has", "had", "having", "'ve", "'d"), "-HAVE"),
    **dict.fromkeys(("do", "does", "did"), "-DO"),
}
CONJUNCTIONS = {"but": "-BUT", "&": "-&"}
TIMES = frozenset({
    "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "quarter", "year", "years", "decade", "time", "weekend",
    "morning", "afternoon", "evening", "night", "yesterday", "today", "tomorrow", "spring", "summer", "fall", "winter",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
    "jan.", "feb.", "mar.", "apr.", "jun.", "jul.", "aug.", "sept.", "oct.", "nov.", "dec.",
})  # fmt: skip
WITH_VERB = frozenset({"NP", "PP", "ADJP", "ADVP", "PRN", "UCP", "FRAG"})
SUBJECTS = frozenset({"NP", "SBAR", "S"})
LONE = frozenset({"DT", "RB"})


class _Node(NamedTuple):
    """Properties of a subtree on which splits depend."""

    label: str
    is_tag: bool = False
    has_verb: bool = False
    verb: str = ""  # kind of the first verb
    ends_in_np: bool = False  # the node or its right edge is an NP
    last_word: str = ""


def tag_split(tag: str, word: str) -> str:
    """Return the suffix of a tag above a word.

    >>> tag_split("VBZ", "is"), tag_split("CC", "and"), tag_split("NN", "%")
    ('-BE', '', '-%')
    """
    lower = word.lower()
    if lower == "%":
        return "-%"
    if tag == "CC":
        return CONJUNCTIONS.get(lower, "")
    return AUXILIARIES.get(lower, "") if tag in VERBS and tag[0] == "V" else ""


def _phrase_split(label: str, children: Sequence[_Node], verb: str) -> str:
    suffix = "-U" if len(children) == 1 and not children[0].is_tag else ""
    if label == "VP" and verb:
        suffix += f"-{verb}"
    if label == "NP":
        suffix += "-POS" if children[-1].label == "POS" else ""
        suffix += "-BASE" if all(child.is_tag for child in children) else ""
        suffix += "-TMP" if children[-1].last_word in TIMES else ""
        suffix += "-R" if children[-1].ends_in_np else ""
    if label in WITH_VERB and any(child.has_verb for child in children):
        suffix += "-V"
    if label == "S" and not any(child.label in SUBJECTS for child in children):
        suffix += "-GAP"
    return suffix


def splits(labels: Sequence[str], children: Sequence[Sequence[int]]) -> list[str]:
    """Return the suffix of each node of a store, which depends only on the subtree of the node.

    Parameters
    ----------
    labels : sequence of str
        Labels of the nodes. Children come before their parents.
    children : sequence of sequence of int
        Children of the nodes. A node without children is a word.

    Examples
    --------
    >>> splits(["the", "DT", "hour", "NN", "NP"], [[], [0], [], [2], [1, 3]])
    ['', '', '', '', '-BASE-TMP']
    """
    nodes: list[_Node] = []
    out: list[str] = []
    for label, below in zip(labels, children, strict=True):
        parts = [nodes[child] for child in below]
        if not below:
            node, suffix = _Node(label, is_tag=True, last_word=label.lower()), ""
        elif len(below) == 1 and not children[below[0]]:
            verb = VERBS.get(label, "")
            node = _Node(label, True, verb not in {"", "T"}, verb, last_word=parts[0].last_word)
            suffix = tag_split(label, parts[0].label)
        else:
            verb = next((part.verb for part in parts if part.is_tag and part.verb), "")
            verb = verb or next((part.verb for part in parts if part.label == "VP"), "")
            node = _Node(
                label,
                has_verb=any(part.has_verb for part in parts),
                verb=verb,
                ends_in_np=label == "NP" or parts[-1].ends_in_np,
                last_word=parts[-1].last_word,
            )
            suffix = _phrase_split(label, parts, verb)
        nodes.append(node)
        out.append(suffix)
    return out
