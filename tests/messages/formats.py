"""Messages of `treelet.formats`: files, encodings, brackets, tables, other formats, source code and markup."""

from __future__ import annotations

from messages.common import OWN_DESCENDANT

# --- files and encodings ------------------------------------------------------------------------------------------

IS_A_FOLDER = "is a folder"
EMPTY_PACKED_FILE = "is empty, and so no packed file"
THESE_BYTES = "these bytes are "
LIST_INSTEAD_OF_A_FILE = "a path or an open file is needed, got list: read files one at a time"
DIRECTORY_INSTEAD_OF_A_FILE = r"Is a directory\); read its files one at a time"
A_TEXT_ENCODING = "a text encoding"


def not_text_in(encoding: str) -> str:
    return f"not text in the encoding {encoding}"


A_NAME_INSTEAD_OF_A_TEXT = r"looks like the name of a file: give pathlib.Path\(...\)"
A_SOURCE_IS_NEEDED = "a text, bytes, a path or an open file is needed"
A_TEXT_INSTEAD_OF_A_NAME = r"^'\(A \(B x\)\).{1,80}: cannot be opened .*a file's name is needed here: .*StringIO"
AS_A_NUMPY_ARRAY = " as a NumPy array"
OTHER_ENCODING_ON_THE_COMMAND_LINE = "not UTF-8 text; if the file has another encoding, name it (--encoding latin-1)"

# --- options and formats ------------------------------------------------------------------------------------------

OPTION_SYNTAX = "xml:option=value"
ONE_OF = "one of"
SKIPPING_IS_FOR_TREEBANKS = "--skip-bad is for --treebank"
OPTIONS_ARE_NAME_AND_VALUE = "--option must be NAME=VALUE"


def not_in_blocks(format: str, others: str) -> str:
    return f"'{format}' are read as a whole only.* {others}"


def unknown_option(option: str, *, format: str = "") -> str:
    return (f"'{format}' " if format else "") + f"does not know this option: '{option}'"


def it_has(options: str) -> str:
    return f"; it has {options}"


def format_of_suffix(suffix: str, format: str) -> str:
    """A suffix stands where the name of a format belongs."""
    return rf"Got '{suffix}' instead\. Files of that suffix are '{format}'"


def cannot_write_format(format: str, other: str) -> str:
    return f"'{format}' cannot be written; choose one of .*'{other}'"


def wrong_option_in(place: str, option: str, must_be: str) -> str:
    """The beginning of the line that a command prints, as plain text."""
    return f"treelet: error: {option} in --{place} must be {must_be}."


def option_twice(first: str, second: str) -> str:
    return f"{first} says again what {second} says"


# --- brackets -----------------------------------------------------------------------------------------------------

NEVER_CLOSED = "never closed"
CLOSES_NOTHING = "closes nothing"
LEAVES_IT_OUT = "leaves it out"
EMPTY_BRACKETS = "empty brackets"
SKIP_BAD_LEAVES_IT_OUT = "(--skip-bad leaves it out)"
OUTSIDE_BRACKETS = "text outside brackets"
SOURCE_CODE_HAS_A_READER = rf"{OUTSIDE_BRACKETS}.*; treelet\.formats\.python_trees reads source code$"
MARKUP_HAS_READERS = "item 0:.*treelet.formats.xml_trees and html_trees read markup"
GIVE_WHAT_IS_AFTER_THE_TAB = "give what is after the tab"
TWO_TREES_INSTEAD_OF_ONE = "exactly one tree is needed here, there is 2 trees"
NOTHING_LEFT_OF_THE_TREE = "nothing is left of this tree"


def not_closed(missing: int) -> str:
    return f"this '(' starts a tree that is {NEVER_CLOSED}: {missing} ')' missing"


# --- guessed formats ----------------------------------------------------------------------------------------------


def read_as(format: str, since: str) -> str:
    """An error in a file whose format was guessed names the guess and its reason."""
    return f"read as {format}, since {since}"


LOOKS_LIKE_NO_OTHER_FORMAT = f"({read_as('brackets', 'it looks like no other format')}; format= names another: "


# --- tables -------------------------------------------------------------------------------------------------------

A_COLUMN = "the number of a column or its name"
WHICH_LABELS = "which column has the labels"
SAY_LABEL_COLUMN_OPTION = f"{WHICH_LABELS}? Say it with --label-column"
SAY_LABEL_COLUMN = rf"{WHICH_LABELS}\? Say it with label_column="
SEVERAL_COLUMNS_OF_TREES = "several columns have trees: say which with tree_column="
NO_COLUMN_OF_TREES = r"no column has trees, which begin with '\('"
NO_LABELS = "have no labels"
QUOTE_COMMAS = "a tree with commas must stand in quotes"
NOT_CSV = "this is no CSV"
A_TAB_IS_NEEDED = "a tab must stand between label and tree"


def no_such_column(option: str, name: str, columns: str) -> str:
    return f"{option}_column= must be .*'{name}' is not there: {columns}"


def which_trees(columns: str) -> str:
    return rf"The file has several columns of trees: {columns}. Choose one"


def column_length(column: str, rows: int, document_rows: int) -> str:
    return f"the column '{column}' has {rows} rows, the document has {document_rows}"


def column_twice(column: str) -> str:
    return f"'{column}' occurs twice"


def columns_found(columns: int, separator: str) -> str:
    return f"{columns} {separator}-separated"


def columns_needed(columns: int) -> str:
    return rf" column\(s\), the line needs {columns} of them, as before"


def classes_among(classes: int, examples: int) -> str:
    """Nearly every example has a class of its own."""
    return f"{classes} classes among {examples} examples"


def classes_warning(classes: int, examples: int) -> str:
    """The line that a command prints, as plain text."""
    return f"treelet: warning: there are {classes_among(classes, examples)}: nearly every class has one example"


# --- malformed examples that are skipped --------------------------------------------------------------------------

ONE_OF_TWO_TREES_LEFT_OUT = "1 of 2 trees was left out"

# --- documents that cannot be written -----------------------------------------------------------------------------

EMPTY_ROW = "there is nothing to write in this row"
LINE_END = "has a line end or"
NOT_UNICODE = "not valid Unicode"
USED_ONCE = "used once"


def in_row(number: object, problem: str = "") -> str:
    return f"row {number}: {problem}"


def cannot_write_label(label: str) -> str:
    return f"the label {label} cannot be written"


RENAME_THE_LABEL = "a tree with .* in a label cannot be written: rename"
CHOOSE_KELP = "cannot be written.*choose kelp"
REPLACE_IT = "cannot be written: replace"


# --- objects of other libraries -----------------------------------------------------------------------------------

GIVE_A_TREE = ", not a tree: give a Tree"


def not_a_tree(item: int, problem: str = "") -> str:
    return f"item {item} is no tree: {problem}"


def holds_itself(kind: str) -> str:
    return f"a {kind} is {OWN_DESCENDANT}"


def label_is(item: int, label: str) -> str:
    return f"item {item} has a node whose label is {label}, not a string"


def fragment_needed(got: str) -> str:
    return f"a fragment is a Tree, as of Tree.parse, got {got}"


# --- absurd numbers and forged content ----------------------------------------------------------------------------

COUNTS_OUT_OF_RANGE = "counts above 0 and below|must be in"
POSITIVE_BYTES = "must be a positive number of bytes"
HEAD_OF_A_WORD = "the head of a word"
NOT_COLUMNS_OF_A_BANK = "The stored columns of a bank are damaged"

# --- markup -------------------------------------------------------------------------------------------------------

IN_ANOTHER_FILE = "in another file"
DECLARED_ENCODING_FAILS = "declares cannot be read.*name it"
UNKNOWN_ENCODING = "unknown encoding|cannot be read"
NO_ELEMENTS_OR_NOT_UTF8 = "no elements here|these bytes are not UTF-8"
TOO_DEEP_FOR_HTML = "nested too deeply for the HTML parser"
NOT_XML = "this is no XML"


def no_elements(name: str, hint: str = "") -> str:
    return f"no elements '{name}' here{hint}"


def undeclared_entity(name: str, where: str = "") -> str:
    return f"the entity &{name}; is not declared{where}"


# --- source code --------------------------------------------------------------------------------------------------

NOT_PYTHON = "this is no Python"
NESTED_TOO_DEEPLY = "nested too deeply"


def no_text_in(encoding: str) -> str:
    return f"no text in {encoding}"


NAME_ANOTHER_ENCODING = "; name another encoding"

NUL_IN_A_NAME = r"^'a\\x00b\.(npy|zarr)' is not a valid file name: it contains a NUL character\."
SURROGATE_IN_A_NAME = r"^'\\ud800\.(npy|zarr)' is not a valid file name: it contains a lone surrogate\."
BYTES_AS_A_NAME = r"A file name must be a string or a path\. Got b'a\.npy' instead\. Decode|^The 'out' parameter must be .* Got (b'a\.npy'|a bytes)"
