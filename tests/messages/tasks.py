"""Messages of `treelet.tasks`: lists of parses, reranking and the ranking of dependency parses."""

from __future__ import annotations

# --- dependency parses --------------------------------------------------------------------------------------------

MUST_HAVE_HEADS = "must have heads"
NO_WORD_IN_COMMON = "no word in common"
GOODNESS_AND_RANK = "a goodness and a rank"
NO_KERNELS = "'kernels' parameter of ParseRanker must hold a kernel"
NOT_FITTED = "not fitted"
ONE_HEAD_PER_WORD = "A parse needs one head per word. Got 2 words and 1 head instead"
NOT_AS_IT_WAS = "not as it"


def gold_must_be_dependencies(got: str) -> str:
    return f"gold must be Dependencies, got {got}"


def sentence_is(number: int, kind: str) -> str:
    return f"sentence {number} is a {kind}"


def sentence_counts(sentences: int, lists: int) -> str:
    return f"{sentences} sentences and {lists}"


def lacks(field: str) -> str:
    return f"has no '{field}'"


# --- lists of parses ----------------------------------------------------------------------------------------------

SAME_WORDS = "same words"
A_LINE_IS = "a line is"
A_NUMBER_IS_NEEDED = "much"
NO_CANDIDATES = "no candidates"
ASCENDING = "ascending, and every sentence"


def lengths(got: str) -> str:
    return f"of one length, got {got}"


def no_parse(sentence: int) -> str:
    return f"sentence {sentence} has no parse under this grammar"


def missing_or_lone_word(tree: int) -> str:
    return f"tree {tree} is missing or a lone word"


def folds(trees: int) -> str:
    return f"an int from 2 to the {trees} trees"


# --- reranking ----------------------------------------------------------------------------------------------------

NOTHING_TO_LEARN = "nothing to learn"
TWINS_IN_TRAINING = "training part has the same words"
NOTHING_IS_LEFT = "nothing is left"
EACH_NEEDS_ONE = "each needs one"
EMPTY_DEVELOPMENT_PART = "no sentence is left for the development part"
NO_SETTING = "no setting to choose"


def ranker_needed(got: str) -> str:
    return rf"a ranker is needed \(VotedPerceptron, RankSVM or RankRLS\), got {got}"


def cannot_split(sentences: int) -> str:
    return f"cannot be made of {sentences}"


def no_tree_of_use(trees: int) -> str:
    return f"none of the {trees} trees is of use"
