"""Messages of `treelet.metrics`: scores of parses, rankings and significance tests."""

from __future__ import annotations

# --- parses -------------------------------------------------------------------------------------------------------

MISSING_TREE = r"A missing tree \(None\) has no constituents"
A_CONVENTION = "must be PLAIN, PARSEVAL or another Convention. Got "
NO_SENTENCES = "There are no sentences: a score needs at least one"
MORE_THAN_GOLD = "must be at least 0, and not more than gold or proposed"


def other_word(place: str, word: str, position: int | None = None, gold: str = "") -> str:
    """The parse and the gold tree are over different words."""
    rest = "" if position is None else f" as word {position}, but the gold tree has '{gold}'"
    return f"{place}: the parse has '{word}'{rest}"


def other_length(place: str, words: int, gold: int) -> str:
    return f"{place}: the parse has {words} words?, but the gold tree has {gold}"


def no_gold_tree(sentence: int) -> str:
    return rf"Sentence {sentence} has no gold tree\. Remove the sentence"


# --- scores and groups --------------------------------------------------------------------------------------------

NOT_INTEGERS = "must be arrays of integers, because they are counts"
ONE_LENGTH = r"the same length\. Got "
A_MEASURE = "must be 'precision', 'recall', 'f1'"
ALL_MEASURES = f"{A_MEASURE}, 'parse_score' or 'exact_match' for counts"
CONSTANT_GOODNESS = "The goodness is constant in every group"
THE_SAME_TYPE = "must have the same type: both BracketCounts, or both arrays"
NOTHING_TO_COMPARE = "a and b are empty: a comparison needs at least one item"
THE_SAME_SENTENCES = "must be counts for the same sentences in the same order, but their gold constituents differ"
TRUE_AND_FALSE = "McNemar's test needs True and False, or 1 and 0"
NUMBERS = "an array of numbers"
BETWEEN_0_AND_1 = r"'confidence' parameter of \S+ must be a number in \(0, 1\)\. "
GROUPS_FROM_0 = r"'qid' parameter must number the \d+ gold trees? from 0\. "
ONLY_MEAN = r"'statistic' parameter of paired_bootstrap must be 'mean' for numbers\. "
AT_LEAST_0 = r"'overlap' parameter of paired_t_test must be a number in \[0, inf\)\. "


def got(values: str) -> str:
    return f"Got {values}"


def number_at_least(number: int) -> str:
    return f"at least {number}. "


def pairs_needed(number: int) -> str:
    return rf"A t-test needs at least {number} pairs\. Got "


def one_integer_for_each(items: int) -> str:
    return f"must be one integer for each of the {items} candidate"


def each_of(items: int) -> str:
    return f"must contain the group of each of the {items} items"


def item_is_nan(item: int) -> str:
    return f"Item {item} is NaN"


# --- tables -------------------------------------------------------------------------------------------------------


def no_table(place: str) -> str:
    return rf"{place} contains no table\. Remove the pair"


def not_a_table(place: str, kind: str) -> str:
    return rf"{place} is {kind}, but a table is needed\. Pass HTML"


def both_tables_or_lists(name: str, kind: str) -> str:
    return rf"must both be tables or both be lists of tables, but '{name}' is {kind}\."


def lengths(first: int, second: int) -> str:
    return rf"'predicted' and 'true' must have the same length\. Got {first} and {second}\."
