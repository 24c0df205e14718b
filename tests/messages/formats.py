"""Messages of `treelet.formats`: files, encodings, brackets, tables, other formats, source code and markup."""

from __future__ import annotations

import re

from messages.common import OWN_DESCENDANT

# --- files and encodings ------------------------------------------------------------------------------------------

IS_A_FOLDER = r"is a folder\. Give the name of a file\."
EMPTY_PACKED_FILE = r"is empty, so it is not a valid packed file\. Is the file complete\?"
THESE_BYTES = "these bytes are "
FOLDER_WITHOUT_FILES = r"the folder contains no files with a suffix that is read here"
NUMBER_INSTEAD_OF_A_FILE = r"A path or an open file is needed, but got an int\."
DIRECTORY_INSTEAD_OF_A_FILE = r"Is a directory\)\. Name a file in it\."
A_TEXT_ENCODING = "a text encoding"


def not_text_in(encoding: str) -> str:
    return f"the file is not text in the encoding {encoding} "


A_NAME_INSTEAD_OF_A_TEXT = (
    r"looks like the name of a file, but a string must contain the source itself\. Pass pathlib\.Path\("
)
A_SOURCE_IS_NEEDED = "A string, bytes, a path or an open file is needed, but got "
A_TEXT_INSTEAD_OF_A_NAME = r"^'\(A \(B x\)\).{1,80} is a tree, but a file name is needed here\. .*StringIO"
AS_A_NUMPY_ARRAY = " as a NumPy array"
OTHER_ENCODING_ON_THE_COMMAND_LINE = (
    "not UTF-8 text. If the file has another encoding, name the encoding (--encoding latin-1)"
)

# --- options and formats ------------------------------------------------------------------------------------------

OPTION_SYNTAX = "xml:option=value"
SKIPPING_IS_FOR_TREEBANKS = "--skip-bad applies to --treebank, not to --grammar."
OPTIONS_ARE_NAME_AND_VALUE = "--option must be NAME=VALUE"


def not_in_blocks(format: str, others: str) -> str:
    return rf"Files in the format '{format}' cannot be read in blocks\. Convert them .* to .*{others}"


def unknown_option(option: str, *, format: str = "") -> str:
    return (f"'{format}' " if format else "") + f"has no option '{option}'."


def it_has(options: str) -> str:
    return f" Its options are {options}"


def format_of_suffix(suffix: str, format: str) -> str:
    """A suffix stands where the name of a format belongs."""
    return rf"Got '{suffix}' instead\. Files with this suffix have the format '{format}'\."


def cannot_write_format(format: str, other: str) -> str:
    return rf"The format '{format}' can be read but not written\. Choose .*'{other}'"


def wrong_option_in(place: str, option: str, must_be: str) -> str:
    """The beginning of the line that a command prints, as plain text."""
    return f"treelet: error: {option} in --{place} must be {must_be}."


def option_twice(first: str, second: str) -> str:
    return f"{first} and {second} set the same option. Pass one of them."


# --- brackets -----------------------------------------------------------------------------------------------------

NEVER_CLOSED = "never closed"
CLOSES_NOTHING = r"unexpected '\)'"
LEAVES_IT_OUT = "--skip-bad"
EMPTY_BRACKETS = "empty brackets"
SKIP_BAD_LEAVES_IT_OUT = "Pass --skip-bad to skip such items."
OUTSIDE_BRACKETS = "text outside brackets"
SOURCE_CODE_HAS_A_READER = rf"{OUTSIDE_BRACKETS}.*\. Read source code with treelet\.formats\.python_trees\.$"
MARKUP_HAS_READERS = "item 0, column 1: .*Read markup with treelet.formats.xml_trees or html_trees"
GIVE_WHAT_IS_AFTER_THE_TAB = "For label<TAB>tree, pass only the part after the tab"
TWO_TREES_INSTEAD_OF_ONE = "exactly one tree is needed here, but there are 2 trees."
NOTHING_LEFT_OF_THE_TREE = "this tree is empty after its -NONE- elements are removed"


def not_closed(missing: int) -> str:
    return f"this '(' starts a tree that is {NEVER_CLOSED}. Number of missing ')' at the end of the input: {missing}."


# --- guessed formats ----------------------------------------------------------------------------------------------


def read_as(format: str, since: str) -> str:
    """An error in a file whose format was guessed names the guess and its reason."""
    return f"The file was read as '{format}', because {since}."


USE_FORMAT = r" For another format, use format=\."
CHOOSE_A_FORMAT = " To choose another format, use format= with one of "
LOOKS_LIKE_NO_OTHER_FORMAT = read_as("brackets", "it does not look like any other format") + CHOOSE_A_FORMAT


# --- tables -------------------------------------------------------------------------------------------------------

A_COLUMN = "the number of a column or its name"
WHICH_LABELS = "several columns could contain the labels"
SAY_LABEL_COLUMN_OPTION = f"{WHICH_LABELS}. Choose the label column with --label-column."
SAY_LABEL_COLUMN = rf"{WHICH_LABELS}\. Choose the label column with label_column=\."
SEVERAL_COLUMNS_OF_TREES = r"several columns contain trees\. Choose the tree column with tree_column=\."
NO_COLUMN_OF_TREES = r"no column contains trees, which begin with '\('"
NO_LABELS = "have no class labels"  # in the error of a command
QUOTE_COMMAS = "Put a tree that contains commas in quotes: "
NOT_CSV = "this is not valid CSV "
A_TAB_IS_NEEDED = "Separate label and tree by a tab, not by a space"


def no_such_column(option: str, name: str, columns: str) -> str:
    return rf"{option}_column= must be .*, but '{name}' is not a column name\..* The columns are {columns}"


def which_trees(columns: str) -> str:
    return rf"The file has several columns of trees: {columns}. Choose one"


def column_length(column: str, rows: int, document_rows: int) -> str:
    return f"the column '{column}' has {rows} rows?, but the document has {document_rows}"


def column_twice(column: str) -> str:
    return f"'{column}' occurs twice"


def columns_found(columns: int, separator: str) -> str:
    return f"this row has {columns} {separator}-separated columns?"


def columns_needed(columns: int) -> str:
    return f" but needs {columns}, as the rows before"


def no_labels(format: str, y: str = "y is None") -> str:
    """The warning about a file without labels, where labels are expected."""
    return rf"the file has no labels \(format '{format}'\), so {y}\. .*use treelet\.read_trees"


def classes_among(classes: int, examples: int) -> str:
    """Nearly every example has a class of its own."""
    return f"y contains {classes} classes for {examples} examples"


def classes_warning(classes: int, examples: int) -> str:
    """The line that a command prints, as plain text."""
    return f"treelet: warning: {classes_among(classes, examples)}, so most classes have only one example."


# --- malformed examples that are skipped --------------------------------------------------------------------------

ONE_OF_TWO_TREES_SKIPPED = "1 of 2 trees was skipped"

# --- documents that cannot be written -----------------------------------------------------------------------------

EMPTY_ROW = "this row is empty, so it cannot be written. Give it a label"
LINE_END = r"contains a line end or \S+, which cannot be written"
NOT_UNICODE = "is not valid Unicode text"
USED_ONCE = "must be one word that occurs once"


def in_row(number: object, problem: str = "") -> str:
    return f"row {number}: {problem}"


def cannot_write_label(label: str) -> str:
    return f"the label {label} cannot be written"


RENAME_THE_LABEL = r"a tree with .* in a label cannot be written\. Rename the label"
CHOOSE_KELP = "cannot be written.*choose kelp"
REPLACE_IT = "cannot be written. Replace this text"


# --- objects of other libraries -----------------------------------------------------------------------------------

GIVE_A_TREE = r", but a tree is needed\. Pass a Tree, a bracketed string"


def not_a_tree(item: int, problem: str = "") -> str:
    return f"Item {item} is not a tree: {problem}"


def holds_itself(kind: str) -> str:
    return rf"an? {kind} is {OWN_DESCENDANT}\."


def label_is(item: int, label: str) -> str:
    return rf"Item {item} has a node whose label is {label}, not a string\."


def fragment_needed(got: str) -> str:
    return rf"A fragment must be a Tree, such as Tree\.parse\(.*Got an? {got} instead"


# --- absurd numbers and forged content ----------------------------------------------------------------------------

COUNTS_OUT_OF_RANGE = "counts above 0 and below|must be a number in"
POSITIVE_BYTES = "must be a positive number of bytes"
HEAD_OF_A_WORD = "the head of a word must be the number of another word, or 0 for a root. Got "
NOT_COLUMNS_OF_A_BANK = "The stored columns of a bank are damaged"

# --- markup -------------------------------------------------------------------------------------------------------

IN_ANOTHER_FILE = "this refers to another file"
DECLARED_ENCODING_FAILS = "declares cannot be read.*Name the encoding"
UNKNOWN_ENCODING = "unknown encoding|cannot be read"
NO_ELEMENTS_OR_NOT_UTF8 = "there are no elements in this page|these bytes are not UTF-8"
TOO_DEEP_FOR_HTML = "nested too deeply for the HTML parser"
NOT_XML = "this is not well-formed XML"


def no_elements(name: str, hint: str = "") -> str:
    return rf"there are no elements '{name}'\.{hint}"


def undeclared_entity(name: str, where: str = "") -> str:
    return f"the entity &{name}; is not declared{where}"


# --- source code --------------------------------------------------------------------------------------------------

NOT_PYTHON = "this is not valid Python"
NESTED_TOO_DEEPLY = "nested too deeply"


def no_text_in(encoding: str) -> str:
    return f"these bytes are not text in the encoding {encoding}"


NAME_ANOTHER_ENCODING = r"\. Name another encoding"

NUL_IN_A_NAME = r"^'a\\x00b\.npy' is not a valid file name: it contains a NUL character\."
SURROGATE_IN_A_NAME = r"^'\\ud800\.npy' is not a valid file name: it contains a lone surrogate\."
BYTES_AS_A_NAME = r"A file name must be a string or a path\. Got b'a\.npy' instead\. Decode|^The 'out' parameter of gram must be .* Got (b'a\.npy'|a bytes)"


# --- source code ------------------------------------------------------------------------------------------------------

UNITS_OF_CODE = "'function', 'class' or 'file', or a node type of a language that is read"
DAMAGED_FUNCTION = "this function contains a syntax error"
LOST_FUNCTION = "a syntax error outside any function may hide one"


def lost_function(count: int, total: int, place: str) -> str:
    return f"{count} of {total} trees was skipped: {re.escape(place)}: {LOST_FUNCTION}"


def missing_grammar(title: str, package: str) -> str:
    return f"Reading {title} needs the package {package}: pip install 'treelet\\[code\\]'\\.?"


def huge_file(name: str, size: int) -> str:
    return f"1 of 2 files was skipped: .*{re.escape(name)}: {size:,} bytes, more than max_bytes=1000000 allows"


def nothing_readable(name: str) -> str:
    return rf"None of 1 file could be read: .*{re.escape(name)}: a binary file"


# --- folders and several files ------------------------------------------------------------------------------------------

NO_FILE_MATCHES = "no file matches this pattern"
NO_FILES = r"No files were given\."
DIFFERENT_CONTENTS = (
    "Files with different contents cannot be read together: one has labels and trees 'tree', another one has trees"
)
TWO_FILES_SKIPPED = (
    r"2 of 7 files were skipped: .*0\.mrg: a binary file, because it contains a NUL byte; "
    r".*1\.mrg: cannot be read \(Permission denied\)"
)
