"""Messages of `treelet.parsing`: grammars and their files, the chart parser, taggers, sampling and Link Grammar."""

from __future__ import annotations

# --- grammars -----------------------------------------------------------------------------------------------------

WRITE_WORD = r"The symbol ',' is only expanded to itself.*write Word\(','\)"
EMPTY_TAIL = "The rule 'S ->' has an empty tail. Add"
TAIL_IS_NOT_STRINGS = r"must be a tuple of strings.*Got ('ab'|3) instead, in the rule \('S', "
NOT_A_STRING = "not a string"
WHITE_SPACE = "white space"
EMPTY = "empty"
WORD_AS_HEAD = "has a word as its head"
RULE_FORM = r"A rule must be a tuple \(head, tail, probability\)\. Got .* instead"
WRONG_START = "[Tt]he start symbol|A start symbol|The 'start' parameter of PCFG must be"
NUMBER_ABOVE_0 = r"must be a number above 0\. Got -3 instead"
NO_TREES = "The treebank contains no trees"


def rule_probability(rule: str) -> str:
    return rf"The probability of the rule {rule} must be a number in \(0, 1\]\. Got .* instead.*normalize=True"


def not_in_rules(parameter: str, symbol: str) -> str:
    return f"The symbol '{symbol}' in '{parameter}' does not occur in any rule"


def hidden_and_labeled(symbol: str, label: str) -> str:
    return f"The symbol '{symbol}' is hidden, but it also has the label '{label}'"


def single_word(tree: int, word: str) -> str:
    """A tree of a single word has no production."""
    return f"Tree {tree} of the treebank is the single word '{word}'"


def rule_twice(rule: str) -> str:
    return f"The rule {rule} occurs twice"


def sums_to(symbol: str, total: str) -> str:
    """The probabilities of a symbol's rules do not sum to 1."""
    return f"The probabilities of the rules of '{symbol}' sum to {total} instead of 1"


def hidden_place(symbol: str) -> str:
    return f"The hidden symbol '{symbol}' is used in a position"


def empty_label(symbol: str) -> str:
    return f"The label of the symbol '{symbol}' is empty"


def words_needed(got: str) -> str:
    return f"A sentence must be a list of strings, but it contains {got}"


# --- grammar files ------------------------------------------------------------------------------------------------

CHECKSUM_DOES_NOT_FIT = "The grammar was altered: its checksum does not match"
UPGRADE_TREELET = "Upgrade treelet"
IS_THE_FILE_WHOLE = "Is the file complete"
WRITTEN_BY_SAVE = r"not valid JSON.* written by PCFG\.save"
NO_RULES = "no rules"
RULE_SYNTAX = "this line is not a rule. Write HEAD -> SYMBOL"
NOTHING_TO_THE_RIGHT = "the right side of a rule, or an alternative between two bars, is empty"
SOME_PROBABILITIES_MISSING = "some rules have a probability and others do not"
PROBABILITY_RANGE = r"a probability must be a number in \(0, 1\], in square brackets\. Got "
PROBABILITY_AT_THE_END = "ends with its probability"
QUOTE_NOT_CLOSED = "not closed"
BAD_ESCAPE = "escapes"
NLTK_HAS_ONE_START = "one start symbol"
NLTK_HAS_NO_MARKOV = "without markov"
NLTK_GRAMMAR_NEEDED = "An NLTK grammar is needed, but got a str"


def there_twice(first_line: int) -> str:
    return f"occurs twice, first in line {first_line}. Remove one of them"


def heads_no_rule(symbol: str) -> str:
    return f"the start symbol '{symbol}' is not the head of any rule"


# --- parsing and tagging ------------------------------------------------------------------------------------------

EMPTY_SENTENCE = "The sentence is empty: a parse needs at least one word"
PRUNE_IT = "Cannot build the forest of a sentence of 31 words: .*prune"
COARSE_GRAMMAR = "The 'coarse' parameter must be a PCFG. Got .* instead"
NO_TAGGED_SENTENCES = r"The training data is empty: HMM\.from_tagged needs"
NO_WORDS = "The sentence is empty: tagging needs at least one word"
NO_FINITE_TREE = "it has no finite tree"
INFINITE_SUM = "the sum of the weights of its trees is infinite"


def too_many_words(words: str) -> str:
    return f"The sentence has {words} words, but at most 5,000 are supported"


def unknown_word(word: str) -> str:
    """A word is unknown to a model without signatures."""
    return f"The word '{word}' does not occur in the training data.*unknown='signature'"


def too_short(words: int) -> str:
    """No tree of the grammar has so few words."""
    return f"none has at most {words} words"


# --- Link Grammar -------------------------------------------------------------------------------------------------

AT_LEAST_ONE_WORD = "at least one word"
CLOSED = "This LinkParser is closed"
CANNOT_BE_STARTED = "cannot be started"
NO_SUCH_LANGUAGE = f"{CANNOT_BE_STARTED} with the language .* [Cc]ould not open dictionary"
NEEDS_HEADS = "heads"
WORD_IS_NOT_A_STRING = "word 1: A word must be a string"
LINK_FORM = r"link 0: A link must be \(position, position, type\)"
LINK_TO_ITSELF = "A link must join two different words"
LINK_TYPE = "The type of a link must"


def no_position(link: int, position: int) -> str:
    return f"link {link}: A position must be an int from 0 to .* Got {position} instead"


DECODE_BYTES = "A sentence must be a string. Got a bytes instead. Decode it"
JOIN_WORDS = "A sentence must be a string. Got a list instead. Join the words"
SENTENCES_NEEDED = "A list of sentences is needed. Got (a|an) (single )?(str|bytes|int|NoneType) instead"
HOW_TO_INSTALL = "apt install link-grammar"
ONLY_LINK_PARSER = "Only LinkParser needs Link Grammar"
