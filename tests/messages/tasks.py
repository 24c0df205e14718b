"""Messages of `treelet.tasks`: lists of parses, reranking and the ranking of dependency parses."""

from __future__ import annotations

# --- dependency parses --------------------------------------------------------------------------------------------

MUST_HAVE_HEADS = "The gold parse has no heads or relations"
NO_WORD_IN_COMMON = "no word in common"
GOODNESS_AND_RANK = "one goodness and one rank per parse"
NO_KERNELS = r"'kernels' parameter of ParseRanker must be None or a non-empty sequence of kernels. Got \[\] instead"
NOT_FITTED = "This ParseRanker is not fitted. Call fit first"
ONE_HEAD_PER_WORD = "A parse needs one head per word. Got 2 words and 1 head instead"
NOT_AS_IT_WAS = "the sentence is invalid: "


def gold_must_be_dependencies(got: str) -> str:
    return f"gold must be a Dependencies object. Got an? {got} instead"


def sentence_is(number: int, kind: str) -> str:
    return f"Sentence {number} is a {kind}, but a ParsedSentence is needed"


def text_counts(texts: int, parses: int) -> str:
    return f"There are {texts} texts but {parses} gold parses"


def lacks(field: str) -> str:
    return f"the sentence has no field '{field}'"


# --- lists of parses ----------------------------------------------------------------------------------------------

SAME_WORDS = "the parse has 'u' as word 0, but the gold tree has 'x'"
A_LINE_IS = r"this line is not an n-best list \("
A_NUMBER_IS_NEEDED = "much"
NO_CANDIDATES = "this sentence has no candidates"
ASCENDING = "'qid' must be ascending, and each of the . sentences .* must have at least one candidate"


def lengths(got: str) -> str:
    return f"'trees', 'logp' and 'qid' must have the same length. Got {got} instead"


def no_parse(sentence: int) -> str:
    return f"Sentence {sentence} has no parse under this grammar"


def missing_or_single_word(tree: int) -> str:
    return f"Tree {tree} is (missing|the single word)"


def folds(trees: int) -> str:
    return rf"an int from 2 to the number of trees \({trees}\)"


# --- reranking ----------------------------------------------------------------------------------------------------

NOTHING_TO_LEARN = "nothing to learn"
TWINS_IN_TRAINING = "All sentences of the training set have the same words as sentences of a later set"
NOTHING_IS_LEFT = "have the same words as sentences of a later set, so the set is empty"
ONE_DOCUMENT_PER_SENTENCE = r"There are \d+ sentences but \d+ document names?"
EMPTY_DEVELOPMENT_SET = "The development set is empty: there are only"
NO_SETTING = "The (grid|list) of settings is empty"


def ranker_needed(got: str) -> str:
    return f"'ranker' parameter of Reranker must be a VotedPerceptron, RankSVM or RankRLS. Got a {got} instead"


def cannot_split(sentences: int) -> str:
    return f"{sentences} sentences cannot be split into sets of"


def no_usable_tree(trees: int) -> str:
    return f"None of the {trees} trees can be used"


# --- clones -------------------------------------------------------------------------------------------------------

NOT_A_CLONE_REPORT = "the file is not a report of this version of treelet clones. Write a baseline with"
DAMAGED_CLONE_REPORT = "the report is damaged. Write a baseline with"
BASELINE_WITH_OTHER_IDENTIFIERS = (
    "the baseline was written with identifiers='keep', so its functions cannot be compared"
)
