"""Messages of `treelet.cuts`: spans, predicates, relations, and the files of instances."""

from __future__ import annotations

import re

# --- spans and nodes ----------------------------------------------------------------------------------------------

NO_TREE = "No tree of the forest has"
EMPTY_FOREST = "The forest contains no tree"


def no_tree_over(span: tuple[int, int], words: str, node: str = "a node") -> str:
    """No tree has a node over a span; `node` is the quoted label that was looked for."""
    return f"{NO_TREE} {node} over the span {re.escape(str(span))}, which is '{words}'"


A_LABEL = "[Ll]abel"
NEEDS_A_TREE = "needs at least one tree"
SPAN_IS_TWO_INTS = "A span must be two ints: its first word, and the word after its last word"
POSITION_OF_THE_PREDICATE = "The position of the predicate must be an int"


def not_a_constituent(span: tuple[int, int], words: str, around: str) -> str:
    """A span is not a constituent; `around` is the smallest one that contains it. `words` and `around` are patterns."""
    shown = re.escape(str(span))
    return (
        rf"The span {shown} \('{words}'\) is not a constituent of this tree. The smallest constituent that contains it is "
        rf"{around}. Use covering_span\(tree, {shown}\)"
    )


def labels(count: int) -> str:
    return f"a list of {count} labels, one per span"


def after_the_last_word(span: tuple[int, int], words: int) -> str:
    """A span ends after the sentence."""
    return f"The span {re.escape(str(span))} ends after the last word, because the tree has only {words} words"


def order_of_span(span: tuple[int, int]) -> str:
    """A span ends before it begins, or begins before the sentence."""
    return rf"A span \(begin, end\) must have 0 <= begin < end, .*Got {re.escape(str(span))} instead"


def single_word(word: str) -> str:
    return f"The tree is the single word '{word}'"


def tree_needed(got: str) -> str:
    return f"A Tree or a bracketed string is needed. Got {got} instead"


# --- scores and features ------------------------------------------------------------------------------------------

TWO_WORDS = "two words, one per entity"
LIST_OF_LABELS = r"must be a list of labels\. Got the string "
NOTHING_TO_SCORE = "is a relation that counts, so there is nothing to score"
ARGUMENT_FORM = r"An argument must be \(label, first word, word after the last\), in one list per predicate\. Got "


def label_counts(right: int, found: int) -> str:
    return f"Got {right} gold labels? and {found} predicted labels?"


def label_is(number: int, parameter: str, kind: str) -> str:
    return rf"Label {number} of '{parameter}' is an? {kind} \(.*\), but a string is needed"


def feature_is(name: str, kind: str) -> str:
    return f"The feature '{name}' is {kind}, but a word, a list of words or a number is needed"


def predicate_counts(right: int, found: int) -> str:
    return f"Got {right} gold lists? and {found} predicted lists?"


# --- files of instances -------------------------------------------------------------------------------------------

NO_SENTENCE = "The instance has no sentence. Pass 'words', 'tree' or 'nbest'"
NOT_JSON = r"this is not valid JSON \(|this JSON cannot be read: it is nested too deeply, or a number is too long"
ONE_OBJECT_PER_LINE = "each line must be a JSON object, but this line is a list"
A_STRING = "a string"
ARGUMENT = r"\[label, first word, word after the last word\]"
POSITION = "the position of a word, from 0 to 3"


def missing_field(name: str) -> str:
    return f"the fields? .*'{name}' (is|are) missing"


RELATIONS_NEED = r"\. Each line of relations needs 'e1' and 'e2'"


def bad_field(name: str, problem: str) -> str:
    return f"field '{name}': {problem}"


def field_must_be(name: str, kind: str, got: str = "") -> str:
    return f"The field '{name}' must be {kind}. Got {got}"


def unknown_field(name: str, kind: str) -> str:
    return rf"unknown field '{name}'\..* The fields of {kind} are "


def outside_the_sentence(name: str, span: tuple[int, int], words: int) -> str:
    return f"The field '{name}' is the span {re.escape(str(span))}, but the sentence has only {words} words"


def other_words(name: str, words: str, sentence: str) -> str:
    return f"The words of '{name}' differ from those of the sentence: '{words}' instead of '{sentence}'"


def must_be_finite(name: str, got: str) -> str:
    return f"The log probability in the field '{name}' must be a finite float64. Got {got} instead"


def of_one_kind(first: str, number: int, other: str) -> str:
    return f"All instances of a file must be of one kind, but item 0 is {first} and item {number} is {other}"


# --- corpora ------------------------------------------------------------------------------------------------------

NOT_THERE = "does not exist"
NOT_XML = "this is not well-formed XML"
FIVE_COLUMNS = "five columns are needed: "


def no_candidates(corpus: str) -> str:
    return rf"The corpus '{corpus}' has no n-best parses\. Leave 'nbest' at 0"
