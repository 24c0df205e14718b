"""Messages of `treelet.cuts`: spans, predicates, relations, and the files of instances."""

from __future__ import annotations

# --- spans and nodes ----------------------------------------------------------------------------------------------

NO_TREE = "no tree"


def no_tree_over(span: str, words: str) -> str:
    return rf"{NO_TREE} of the forest has a node over the words {span} \('{words}'\)"


A_LABEL = "label"
AT_LEAST_ONE = "at least one"
SPAN_IS_TWO_NUMBERS = "a span is two numbers"
THE_PREDICATE = "the predicate "
NO_CONSTITUENT = "no constituent"


def label_over(label: str, words: str) -> str:
    return f"'{label}' over the words {words}"


def labels(count: int) -> str:
    return f"{count} labels"


def behind_the_last_word(words: int) -> str:
    """A span ends after the sentence."""
    return f"ends behind the last of the tree's {words} words"


def got_span(span: str) -> str:
    return f"got {span}"


def single_word(word: str) -> str:
    return f"single word '{word}'"


def tree_needed(got: str) -> str:
    return f"a tree is needed, got {got}"


# --- scores and features ------------------------------------------------------------------------------------------

TWO_WORDS = "two words"
LIST_OF_LABELS = r"must be a list of labels\. Got the string "
NOTHING_TO_SCORE = "is a relation that counts, so there is nothing to score"
ARGUMENT_FORM = r"An argument must be \(label, first word, word after the last\), in one list per predicate\. Got "


def label_counts(right: int, found: int) -> str:
    return f"Got {right} gold labels? and {found} predicted labels?"


def label_is(number: int, parameter: str, kind: str) -> str:
    return rf"Label {number} of '{parameter}' is an? {kind} \(.*\), but a string is needed"


def feature_is(name: str, kind: str) -> str:
    return f"the feature '{name}' is a {kind}"


def predicate_counts(right: int, found: int) -> str:
    return f"Got {right} gold lists? and {found} predicted lists?"


# --- files of instances -------------------------------------------------------------------------------------------

NO_SENTENCE = "there is no sentence"
NOT_JSON = r"this is not valid JSON \(|this JSON cannot be read: it is nested too deeply, or a number is too long"
ONE_OBJECT_PER_LINE = "each line must be a JSON object, but this line is a list"
TEXT = "a text"


def missing_field(name: str) -> str:
    return f"the fields? .*'{name}' (is|are) missing"


RELATIONS_NEED = r"\. Each line of relations needs 'e1' and 'e2'"


def bad_field(name: str, problem: str) -> str:
    return f"'{name}': {problem}"


def field_must_be(name: str, kind: str) -> str:
    return f"'{name}' must be {kind}"


def unknown_field(name: str, kind: str) -> str:
    return rf"unknown field '{name}'\..* The fields of {kind} are "


def outside_the_sentence(name: str, span: str, words: int) -> str:
    return f"'{name}' is {span}, and the sentence has {words} words"


def other_words(name: str) -> str:
    return f"'{name}' is over other words"


# --- corpora ------------------------------------------------------------------------------------------------------

NOT_THERE = "does not exist"
NOT_XML = "this is not well-formed XML"
FIVE_COLUMNS = "five columns are needed: "


def no_candidates(corpus: str) -> str:
    return rf"The corpus '{corpus}' has no n-best parses\. Leave 'nbest' at 0"
