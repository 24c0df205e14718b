"""Messages of `treelet.structures`: trees, banks, tables, and dependency parses with their files and adapters."""

from __future__ import annotations

import re

# --- trees and banks ----------------------------------------------------------------------------------------------

ROWS_ONLY = "has one dimension, so it is indexed by rows only. Got 2 indices"
CANNOT_BE_SET = "cannot be set, because .* immutable"
BAD_LABEL = "[Ll]abel"
BAD_CHILD = r"Child 0 of the node 'D' must be a Tree or a string\. Got 5 \(an int\) instead\."
BRACKETS_AS_A_LABEL = (
    r"'\(S \(A a\)\)' is not a label. Use Tree.parse to read a tree in brackets, or treelet.formats.escape"
)


def children_must_be_a_list(remedy: str) -> str:
    return f"The children of a tree must be a list.*{remedy}"


def escape_label(label: str) -> str:
    """A label that contains a bracket or white space."""
    return (
        rf"The node label '{re.escape(label)}' contains (white space|a bracket|white space and a bracket)\. "
        r"Write it as '.*', or use treelet\.formats\.escape"
    )


def is_indexed_by(kind: str, got: str = "") -> str:
    """A collection was indexed by a value of another type."""
    return f"The index of an? {kind} must be an int, a slice, a list of ints or a boolean mask. Got {got}"


def too_deep(levels: str) -> str:
    return f"The tree is {levels} levels deep, but only trees of up to 500 levels can be drawn"


def too_many_nodes(limit: str) -> str:
    return f"more than {limit} nodes"


# --- collections --------------------------------------------------------------------------------------------------


def one_tree(text: str) -> str:
    """A bracketed string was passed instead of a collection."""
    return rf"'{text}' is one tree, but a collection of trees is needed\. Put it in a list\."


def collection_needed(items: str, got: str, remedy: str = "") -> str:
    """Something else than a collection of these items was passed; `got` includes the article."""
    return f"A collection of {items} is needed. Got {got}" + (f".*{remedy}" if remedy else "")


PASS_A_LIST = "Pass a list"
PUT_IN_A_LIST = "Put it in a list"
NO_ORDER = f"which has no order. {PASS_A_LIST}"
TWO_TREES = "one tree is needed here, but there are 2 trees"
MISSING_TREE = "For a missing tree, pass None or a float NaN instead of a string"
USE_READ_TREES = "Read the file with treelet.read_trees"
TEXT_IS_EMPTY = r"^The text is empty, but a tree such as '\(NP \(D the\) \(N cat\)\)' is needed"


def item_needed(number: int, kind: str, needed: str, remedy: str = "") -> str:
    """An item of a collection has another type; `kind` and `needed` include the article."""
    return rf"Item {number} is {kind}( \(.*\))?, but {needed} is needed.*{remedy}"


def not_a_tree(text: str) -> str:
    """A string stands for a missing tree."""
    return f"'{text}' is not a tree. {MISSING_TREE}"


def plain_text(text: str) -> str:
    """A sentence was passed where a tree is needed."""
    return (
        rf"'{text}' is plain text, but a tree such as '\(NP \(D the\) \(N cat\)\)' is needed. "
        "Parse the text first, for example with treelet.PCFG or an NLTK parser. For spaCy and stanza, use "
        "treelet.cuts.dependency_trees"
    )


def file_name(name: str, needed: str) -> str:
    """The name of a file was passed where its content is needed."""
    return f"'{name}' is a file name, but {needed} is needed. {USE_READ_TREES}"


def at_column(column: int, problem: str, *, source: str = "", line: int = 1) -> str:
    """A problem in a string that was passed, not read from a file."""
    places = [source] * bool(source) + [f"line {line}"] * (line > 1) + [f"column {column}"]
    return f"^{', '.join(places)}: {problem}"


def choose_with_on(column: str, kind: str, names: str) -> str:
    """Something with several columns was passed; `names` are its columns, with the word before them."""
    return rf"Got {kind} with the {names}.*On\('{re.escape(column)}', kernel\)"


# --- tables -------------------------------------------------------------------------------------------------------

NO_DIMENSION = "The column 'a' is an array without dimensions"
A_COLUMN_NAME = r"a column name \(a string or an int\) or a list of different column names"
WITHOUT_NAMES = "Got an array, which has no column names.*"
KEEP_NAMES = r'ColumnTransformer\(..., verbose_feature_names_out=False\).set_output\(transform="pandas"\)'
SEVERAL_COLUMNS = r"with the columns 'only', 'other'. Pass one of them.*On\('only', kernel\)"
LABELS_ALONE = "The file contains only labels: no row has a tree, a vector or a text"
MANY_NAMES_ARE_CUT = r"18, 19 and 2,980 more"
NAMED_ROWS_NEED_ON = r"(Got dicts with the keys 'tree', 'n' instead.*On\('tree', kernel\)|Bag 0 is a dict)"


def repeated_names(names: str) -> str:
    return f"Each column needs its own name. Names that occur several times: {names}"


def lengths(columns: str) -> str:
    return f"The columns of a Table must have the same length, but {columns}"


def not_a_column(column: str, kind: str) -> str:
    """A single value was passed instead of a column; `kind` includes the article."""
    return f"The column '{column}' is {kind}, but a list with one value per row is needed"


def mapping_needed(got: str) -> str:
    return f"Table needs a mapping from names to columns. Got {got} instead"


def row_lacks(row: int, column: str, has: str) -> str:
    return f"Row {row} has no value for the column '{column}'. Its keys are {has}"


def the_columns_are(names: str) -> str:
    return f"The (columns are|only column is) {names}"


def no_column(column: str, names: str = "", near: str = "") -> str:
    known = f". {the_columns_are(names)}" if names else ""
    return f"There is no column '{column}'{known}" + (rf".* Did you mean '{near}'\?" if near else "")


def not_finite(feature: object, row: int, value: str) -> str:
    return f"Feature {feature!r} of row {row} is {value}, but feature values must be finite"


def dimensions(got: int) -> str:
    return f"A record array must have one dimension. Got {got} dimensions instead"


def shape(got: str) -> str:
    return f"must have one dimension or one column, but the shape is {got}"


def name_of_both(name: str) -> str:
    """A file has trees and other values under one name."""
    return f"The name '{name}' is used for trees and for another column"


# --- dependency parses --------------------------------------------------------------------------------------------

AT_LEAST_ONE_WORD = "A parse needs at least one word. Use None for a missing parse"
EMPTY_WORD = "A word must not be empty or contain tabs or line breaks. Got '' instead"
IS_MISSING = "is missing, but CoNLL-U has no notation for missing parses"
TABS_OR_LINE_BREAKS = r"A word must not be empty or contain tabs or line breaks. Got 'a\\tb' instead"
TAG_IS_NOT_A_STRING = "tag 1: A tag must be a string. Got None instead"
EMPTY_TYPE = "link 0: The type of a link must not be empty or contain tabs or line breaks. Got '' instead"
LINK_FORM = r"link 0: A link must be \(position, position, type\). Got \(0, 1\) instead"
HEAD_IS_NOT_A_NUMBER = r"a head must be an int\. Got '1' instead\."
ITS_OWN_HEAD = r"a word cannot be its own head\. Give a root the head 0\."
FOLLOWING_THE_HEADS = "is part of a cycle of heads"
CYCLE = f"{FOLLOWING_THE_HEADS}. Give one word of the cycle another head, or 0 for the root"


def at_word(number: object, problem: str) -> str:
    return rf"(Word {number} \('.*'\)|word {number} \('.*'\):|word {number}:?) {problem}"


def at_word_in_file(number: object, problem: str) -> str:
    """The same in a file, as plain text."""
    return f"word {number} {problem}"


def one_per_word(what: str, words: str, got: str) -> str:
    return f"A parse needs one {what} per word. Got {words} and {got} instead"


def link_out_of_range(link: int, position: object, words: int) -> str:
    return f"link {link}: A position must be an int from 0 to {words - 1}, .* {words} words. Got {position} instead"


def links_itself(link: int, word: int) -> str:
    return f"link {link}: A link must join two different words. Both positions are {word}"


def link_twice(link: int) -> str:
    return rf"link {link}: The link \(.*\) occurs twice"


def no_head(value: int, words: int | None = None) -> str:
    last = "[0-9]+" if words is None else words
    return rf"the head {value} does not exist\. Heads are 1 to {last}, or 0 for a root\."


def no_head_in_sentence(value: int, words: int) -> str:
    return f"the head {value} does not exist: this sentence has {words} words."


def position_range(last: int) -> str:
    return f"from 0 to {last}"


DEPENDENCIES_NEEDED = "(needs|draws) Dependencies. Got an? .* instead"
COLLECTION_OF_PARSES = "A collection of parses is needed"
DEPENDENCY_TREES = "dependency_trees"
NOT_A_TREE = r", but a tree is needed\. .*"
MAKE_TREES_OF_A_BANK = f"A collection of trees is needed. Got a DependencyBank instead. Convert it to trees with treelet.cuts.{DEPENDENCY_TREES}"


def in_parse(number: int, problem: str) -> str:
    return f"parse {number}:? {problem}"


def needs_heads(what: str) -> str:
    return f"{what} needs one head per word, but the links of this parse are undirected.*rooted"


def too_many_to_draw(words: int) -> str:
    return f"The parse has {words} words, but the limit is "


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
PASS_ITS_SENTENCES = "Pass each of its sentences"
NOT_PARSED = "has not been parsed"
USE_DEPPARSE = f"{NOT_PARSED}: .* Add the processor 'depparse'"
USE_A_PARSER = f"{NOT_PARSED}: its words have no heads. Use a pipeline with a parser"


def has_no_head(word: int) -> str:
    return rf"Word {word} has no head\. Write 0 for a root"
