"""Messages of `treelet.parsing`: grammars and their files, the chart parser, taggers, sampling and Link Grammar."""

from __future__ import annotations

# --- grammars -----------------------------------------------------------------------------------------------------

WRITE_WORD = r"write Word\(.,.\)"
EMPTY_TAIL = "empty tail"
TAIL_IS_NOT_STRINGS = "tuple of strings"
NOT_A_STRING = "not a string"
WHITE_SPACE = "white space"
EMPTY = "empty"
AS_ITS_HEAD = "as its head"
RULE_FORM = r"\(head, tail, probability\)"
WRONG_START = "start"
NUMBER_ABOVE_0 = "a number above 0"
HIDDEN = "hidden"
IN_NO_RULE = "in no rule"
ONE_ONLY = "it can be one only"
NO_TREES = "no trees"


def lone_word(item: int, word: str) -> str:
    """A tree without a production."""
    return f"item {item} is the lone word '{word}'"


def rule_twice(rule: str) -> str:
    return f"{rule} is there twice"


def sums_to(symbol: str, total: str) -> str:
    """The probabilities of a symbol's rules do not sum to 1."""
    return f"'{symbol}' sum to {total}"


SCORES_ARE_PRODUCTS = ", not 1; scores are products"


def hidden_place(symbol: str) -> str:
    return f"the hidden symbol '{symbol}' may only be"


def empty_label(symbol: str) -> str:
    return f"the label of '{symbol}' is empty"


def words_needed(got: str) -> str:
    return f"a list of words, got a {got}"


# --- grammar files ------------------------------------------------------------------------------------------------

CHECKSUM_DOES_NOT_FIT = "was altered: its checksum does not fit"
UPGRADE_TREELET = "upgrade treelet"
IS_THE_FILE_WHOLE = "is the file whole"
WRITTEN_BY_SAVE = r"written by PCFG\.save"
NO_RULES = "no rules"
RULE_SYNTAX = "a rule is written"
NOTHING_TO_THE_RIGHT = "nothing to the right"
SOME_PROBABILITIES_MISSING = "all rules have a probability"
PROBABILITY_RANGE = "a probability in"
PROBABILITY_AT_THE_END = "ends with its probability"
QUOTE_NOT_CLOSED = "not closed"
BAD_ESCAPE = "escapes"
TWICE = "twice"
SEVERAL_START_LINES = "all start symbols"
START_SYNTAX = "must be '%start SYMBOL'"
LABEL_SYNTAX = "%label SYMBOL LABEL"
UNKNOWN_WORDS = "unknown words"
NLTK_HAS_ONE_START = "one start symbol"
NLTK_HAS_NO_MARKOV = "without markov"
NLTK_GRAMMAR_NEEDED = "an nltk grammar is needed, got str"


def there_twice(first_line: int) -> str:
    return f"there twice, first in line {first_line}"


def heads_no_rule(symbol: str) -> str:
    return f"'{symbol}' heads no rule"


def hidden_symbol(symbol: str) -> str:
    return f"hidden symbol '{symbol}'"


# --- parsing and tagging ------------------------------------------------------------------------------------------

WITHOUT_WORDS = "without words"
PROBABILITIES_SUM = "sum"
PRUNE_IT = "prune"
COARSE_GRAMMAR = "coarse"
SEVERAL_SENTENCES = "is it several"
NO_TAGGED_SEQUENCES = "no tagged sequences"
NO_WORDS = "no words"
TREES_WITHOUT_END = "none has an end"
NO_FINITE_SUM = "no finite sum"


def never_seen(word: str) -> str:
    """A word is unknown to a model without signatures."""
    return f"'{word}' was never seen.*signature"


def too_short(words: int) -> str:
    """No tree of the grammar has so few words."""
    return f"none has at most {words} words"


# --- Link Grammar -------------------------------------------------------------------------------------------------

AT_LEAST_ONE_WORD = "at least one word"
CLOSED = "closed"
CANNOT_BE_STARTED = "cannot be started"
NO_SUCH_LANGUAGE = f"{CANNOT_BE_STARTED} with the language .* [Cc]ould not open dictionary"
NEEDS_HEADS = "heads"
WORD_IS_NOT_A_STRING = "word 1: A word must be a string"
LINK_FORM = r"link 0: A link must be \(position, position, type\)"
LINK_TO_ITSELF = "A link must join two different words"
LINK_TYPE = "The type of a link must"


def no_position(link: int, position: int) -> str:
    return f"link {link}: A position must be an int from 0 to .* Got {position} instead"


DECODE_BYTES = "decode"
JOIN_WORDS = "join"
ANSWER_REPEATS = "repeated"
ANSWER_LACKS = "without"
ANSWER_POINTS_NOWHERE = "not there"
SENTENCES_NEEDED = "sentences are needed"
HOW_TO_INSTALL = "apt install link-grammar"
TREELET_WORKS_WITHOUT = "the rest of treelet works without"
