"""Messages of `treelet.structures`: trees, banks, tables, and dependency parses with their files and adapters."""

from __future__ import annotations

# --- trees and banks ----------------------------------------------------------------------------------------------

ROWS_ONLY = "by rows only"
IS_INDEXED_BY = "is indexed by"
CANNOT_BE_CHANGED = "cannot be changed"
BAD_LABEL = "label"
A_LIST = "list"
BAD_CHILD = "child"
BRACKETS_AS_A_LABEL = r"'\(S \(A a\)\)' is no label: write Tree.parse"


def too_deep(levels: str) -> str:
    return f"{levels} levels"


def too_many_nodes(limit: str) -> str:
    return f"more than {limit} nodes"


def needs_an_order(got: str) -> str:
    """A set has no order, and so cannot be a bank."""
    return f"in an order is needed, got a {got}"


NOT_A_COLLECTION = "collection"
TWO_TREES = "one tree is needed here, but there are 2 trees"
MISSING_TREE_IS_NONE = "a missing tree is None"
GIVE_A_LIST = ", which has none: give a list"
NAN_IS_NO_TEXT = f"{MISSING_TREE_IS_NONE}, or NaN as a number, and no text"
EMPTY_TEXT = f"one tree is needed here, but there is none.*{MISSING_TREE_IS_NONE}"
OUTSIDE_BRACKETS = "outside brackets"
LOOKS_LIKE_A_FILE_NAME = "looks like the name of a file"
READ_THE_FILE = f"{LOOKS_LIKE_A_FILE_NAME}: read it with treelet.read_trees"
USE_READ_TREES = r"[Rr]ead a file with treelet\.read_trees"
ONE_DIMENSION = "dimension"
COLUMNS = "columns"
USE_ON = r'On\("column"'

# --- tables -------------------------------------------------------------------------------------------------------

NO_DIMENSION = "'a' is an array without a dimension"
OCCURS_TWICE = "occurs twice"
A_COLUMN_NAME = "the name of a column"
WITHOUT_NAMES = "got ndarray, which has no names.*"
KEEP_NAMES = r'ColumnTransformer\(..., verbose_feature_names_out=False\).set_output\(transform="pandas"\)'
LABELS_ALONE = "labels alone"
MANY_NAMES_ARE_CUT = r"18, 19 and 2,980 more"
NAMED_ROWS_NEED_ON = r"""(got dicts with 'tree', 'n'.*On\("column", kernel\)|bag 0)"""
SEVERAL_COLUMNS = r"""the columns 'only', 'other'.*On\("column", kernel\)"""


def lengths(found: str) -> str:
    return f"of one length; these have {found}"


def one_value(column: str, kind: str) -> str:
    """A single value stands where a column belongs."""
    return f"'{column}' is one {kind}"


def mapping_needed(got: str) -> str:
    return f"mapping of names to columns, got {got}"


def row_lacks(row: int, column: str, has: str) -> str:
    return f"row {row} has no '{column}'; it has {has}"


def there_are(names: str) -> str:
    return f"there are {names}"


def no_column(column: str, names: str = "") -> str:
    return f"no column '{column}'" + (f"; {there_are(names)}" if names else "")


def missing_in_row(row: int, value: str) -> str:
    return f"row {row} has {value}"


def dimensions(got: int) -> str:
    return f"one dimension, this one has {got}"


def shape(got: str) -> str:
    return f"or one column; this one has the shape {got}"


def name_of_both(name: str) -> str:
    """A file has trees and other values under one name."""
    return f"'{name}' names both trees and something else"


# --- dependency parses --------------------------------------------------------------------------------------------

AT_LEAST_ONE_WORD = "at least one word"
EMPTY_WORD = "a word is not empty"
IS_MISSING = "is missing"
NO_TABS_OR_LINE_ENDS = "no tabs or line ends"
TAG_IS_NOT_A_STRING = "tag 1: a tag is a string, not a NoneType"
EMPTY_TYPE = "a type is not empty"
LINK_FORM = r"a link is \(position, position, type\)"
HEAD_IS_NOT_A_NUMBER = r"a head must be an int\. Got '1' instead\."
ITS_OWN_HEAD = r"a word cannot be its own head\. Give a root the head 0\."
FOLLOWING_THE_HEADS = "the heads form a cycle through this word"
CYCLE = f"{FOLLOWING_THE_HEADS}. Give one word of the cycle another head"


def at_word(number: object, problem: str) -> str:
    return f"word {number}: {problem}"


def one_per_word(what: str, words: int, got: str) -> str:
    return f"one {what} a word, got {words} words and {got}"


def no_position(value: object) -> str:
    return f"{value} is no position"


def link_out_of_range(link: int, position: int, words: int) -> str:
    return f"link {link}: {no_position(position)} of a word: there are {words}, counted from 0"


def links_itself(word: int) -> str:
    return f"links word {word} to itself"


def link_twice(link: int) -> str:
    return f"link {link} is there twice"


def no_head(value: int, words: int | None = None) -> str:
    last = "[0-9]+" if words is None else words
    return rf"the head {value} does not exist\. Heads are 1 to {last}, or 0 for a root\."


def no_head_in_sentence(value: int, words: int) -> str:
    return f"the head {value} does not exist: this sentence has {words} words."


def position_range(last: int) -> str:
    return f"from 0 to {last}"


DEPENDENCIES_NEEDED = "Dependencies are needed"
COLLECTION_OF_PARSES = "collection of parses"
DEPENDENCY_TREES = "dependency_trees"
NOT_A_TREE = r", but a tree is needed\. .*"
MAKE_TREES = f"make trees of it with treelet.cuts.{DEPENDENCY_TREES}"
MAKE_TREES_OF_A_BANK = f"got a DependencyBank: {MAKE_TREES}"


def in_parse(number: int, problem: str) -> str:
    return f"parse {number}:? {problem}"


def needs_heads(what: str) -> str:
    return f"{what} needs a head a word.*rooted"


def too_many_to_draw(words: int) -> str:
    return f"{words} words, more than can be drawn"


# --- CoNLL-U files ------------------------------------------------------------------------------------------------

SEPARATED_BY_BLANKS = "The columns seem to be separated by spaces: replace them by tabs."
NO_WORDS = "this sentence has no words."


def column_count(columns: int, got: int) -> str:
    return f"a CoNLL-U line needs {columns} tab-separated columns, but this line has {got}."


def next_id(expected: int, got: str) -> str:
    return f"must be numbered 1, 2, 3, ... The next number is {expected}, not '{got}'."


def bad_head(got: str) -> str:
    return f"must be the number of another word, or 0 for a root. Got '{got}' instead."


def own_head(word: int) -> str:
    return f"word {word} is its own head"


def empty_column(name: str) -> str:
    return f"the column {name} is empty. Write _ for an unknown value."


def no_tags(column: str, other: str) -> str:
    """No word has a tag in one column; another column has tags."""
    return f"no word has a tag in the column {column}.* use tag='{other}'"


# --- parses of other libraries ------------------------------------------------------------------------------------

SPACY_NEEDED = "A parsed spaCy Doc or Span is needed, but got a str "
GIVE_ITS_SENTENCES = ", .* as of each of its sentences"
NOT_PARSED = "has not been parsed"
USE_DEPPARSE = f"{NOT_PARSED}: .* Add the processor 'depparse'"
USE_A_PARSER = f"{NOT_PARSED}: its words have no heads. Use a pipeline with a parser"


def has_no_head(word: int) -> str:
    return rf"Word {word} has no head\. Write 0 for a root"
