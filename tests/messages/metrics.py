"""Messages of `treelet.metrics`: scores of parses, rankings and significance tests."""

from __future__ import annotations

# --- parses -------------------------------------------------------------------------------------------------------

MISSING_TREE = "missing tree"
A_CONVENTION = "PLAIN, PARSEVAL"
NO_SENTENCES = "no sentences"
MORE_THAN_GOLD = "more than gold"


def other_word(place: str, word: str, position: int | None = None, gold: str = "") -> str:
    """The parse and the gold tree are over different words."""
    rest = "" if position is None else f" as word {position}, the gold tree has '{gold}'"
    return f"{place}: the parse has '{word}'{rest}"


def other_length(place: str, words: int, gold: int) -> str:
    return f"{place}: the parse has {words} words, the gold tree has {gold}"


def no_gold_tree(sentence: int) -> str:
    return f"sentence {sentence} has no gold tree"


# --- scores and groups --------------------------------------------------------------------------------------------

NOT_INTEGERS = "integers"
ONE_LENGTH = "one length"
A_MEASURE = "one of precision"
ALL_MEASURES = f"{A_MEASURE}, recall, f1"
THERE_IS_NONE = "there is none"
OF_ONE_KIND = "of one kind"
NOTHING_TO_COMPARE = "nothing to compare"
THE_SAME_SENTENCES = "the same sentences"
TRUE_AND_FALSE = "True and False"
NUMBERS = "an array of numbers"
BETWEEN_0_AND_1 = "between 0 and 1. "
GROUPS_FROM_0 = r"from 0\. "
ONLY_MEAN = "must be 'mean'. "
FROM_0_ON = "from 0 on. "


def got(values: str) -> str:
    return f"Got {values}"


def number_at_least(number: int) -> str:
    return f"at least {number}. "


def pairs_needed(number: int) -> str:
    return f"at least {number} pairs"


def one_integer_for_each(items: int) -> str:
    return f"one integer for each of the {items}"


def each_of(items: int) -> str:
    return f"each of the {items} items"


def item_is_nan(item: int) -> str:
    return f"Item {item} is NaN"
