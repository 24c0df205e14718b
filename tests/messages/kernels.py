"""Messages of `treelet.kernels`: parameters, examples of each kind, and values that do not fit."""

from __future__ import annotations

# --- parameters ---------------------------------------------------------------------------------------------------

A_KERNEL = "a kernel"
A_KERNEL_OR_A_NUMBER = "only with a kernel or a number. Got an? "
FIXED_OR_TWO_NUMBERS = "'fixed' or two numbers"
NO_FRAGMENTS_WITH_A_TERMINAL_FACTOR = r"listed only if terminal_factor is 1\. Got PartialTree\("
TEMPERATURE_TOO_SMALL = "'temperature' parameter is so small"
NO_GRADIENT_WITH_Y = "only for a new matrix of X with itself. Omit Y and out="
OPTIONS_ARE_NAMED = "only X and Y by position. Pass other options by name"


def no_parameter(kernel: str, name: str, *, meant: str = "", known: str = "") -> str:
    """A parameter name is unknown; `meant` is the suggested name, `known` begins the list of all names."""
    hint = rf" Did you mean '{meant}'\?$" if meant else f" The parameters are {known}"
    return rf"^{kernel} has no parameter '{name}'\.{hint}"


def theta_length(parameters: int) -> str:
    """theta must have one value per parameter."""
    return f"must have {parameters} values, one per tunable parameter. Got"


# --- values -------------------------------------------------------------------------------------------------------

NOT_EQUAL_ONE_BY_ONE = "one by one"
DOES_NOT_FIT_FLOAT64 = "does not fit a float64"
USE_NORMALIZED = "normalized"
SCALE_THE_FEATURES = " does not fit a float64. Scale the features down"
IS_NEGATIVE = " is negative, so it has no logarithm"
UNLIKE_THE_SLOW_DEFINITION = "slow definition"

# --- vectors ------------------------------------------------------------------------------------------------------


def bad_feature(row: int, value: str, feature: object) -> str:
    """A feature is not a finite number."""
    return f"row {row} has {value} as its feature {feature}"


def row_has(row: int, problem: str) -> str:
    return f"row {row} has {problem}"


def row_is(row: int, kind: str, problem: str) -> str:
    return f"row {row} is a {kind}, {problem}"


def feature_called(name: str) -> str:
    return f"a feature called {name}"


TOO_LARGE_NUMBER = "a number that does not fit"
NOT_NUMBERS = "not a list of numbers"
OTHER_ROWS_ARE_DICTS = "where other rows are dicts"
NOT_A_DICT = "not a dict"
RESHAPE = ": .*reshape"
MUST_BE_NUMBERS = "must be numbers"
BY_NAME_AND_BY_POSITION = "by name .* cannot be compared with ones by position"


def two_dimensions(got: int) -> str:
    """An array of vectors must have two dimensions."""
    return f"two dimensions, this one has {got}"


def vectors_needed(got: str) -> str:
    return f"feature vectors are needed: .* got {got}"


def other_length(first: int, second: int) -> str:
    return f"vectors of {first} features cannot be compared with vectors of {second}"


# --- tables, bags and columns -------------------------------------------------------------------------------------

LIST_OF_BAGS_NEEDED = "must be a list of bags, .* Got a Treebank. Put it in a list"
OTHER_COLUMNS = "same columns; only in one of the two:"
NAMED_COLUMNS = "named columns"


def text_is(number: int, kind: str) -> str:
    return f"text {number} is a {kind}"


def bad_word(text: int) -> str:
    """A text contains something that is not a word."""
    return f"text {text} has a word"


def row_lacks(row: int, column: str, has: str) -> str:
    return f"row {row} has no '{column}'; it has {has}"


def no_column(column: str, there_are: str) -> str:
    return f"no column '{column}'; there are {there_are}"


def table_needed(got: str) -> str:
    return f"a DataFrame, a list of dicts, .* got {got}"


def bag_is(number: int, kind: str) -> str:
    """One example stands where a bag of examples belongs."""
    return f"Bag {number} is an? {kind}, but a bag must be a list of examples. Put a single example in a list"


# --- forests ------------------------------------------------------------------------------------------------------

SPAN_NOT_WITHIN = "not within"
CYCLE = "cycle"
NO_ROOT = "root"
NO_TREE = "no tree"
IMPROBABLE_TREE = "improbable"
A_FOREST_IS_NO_TREE = "Forest"

# --- sequences ----------------------------------------------------------------------------------------------------

ONE_STR = "one str: put it in a list"
ONE_DICT = "one dict"
A_SEQUENCE_IS_NEEDED = "a sequence of features is needed"


def in_example(number: object, problem: str, *, kind: str = "", feature: int | None = None) -> str:
    """A problem in an example of a `SequenceBank`, with its place."""
    place = (f", type '{kind}'" if kind else "") + (f", feature {feature}" if feature is not None else "")
    return f"example {number}{place}: {problem}"


def type_is(name: object) -> str:
    """The name of a feature type is not a string."""
    return f"a type is named by a text, got {name}"


TOO_DEEPLY_NESTED = "nested"
NAME_EVERY_TYPE = "'window' parameter of Locality has no entry for the type 'y' .* Add an entry for every type"
NOT_A_FEATURE_OF_THESE = "a feature of these"
NOT_TREES_OF_A_SEQUENCE_BANK = "SequenceBank"

# --- word vectors -------------------------------------------------------------------------------------------------

NOT_A_NUMPY_FILE = "NumPy"
WORD_TWICE = "twice"
ONE_VECTOR_PER_WORD = "one vector a word"
NOT_WORD_VECTORS = "word vectors"


def ragged(place: str, length: int) -> str:
    """A vector has another length than the first one."""
    return f"{place}.*{length} numbers, as on"


def bad_vector(word: str) -> str:
    return f"{word} has a value"


# --- tagged sequences ---------------------------------------------------------------------------------------------

TAG_WITH_A_SLASH = "a tag is without slashes"
LOOKS_LIKE_SLASHES = "this looks like word/tag, .*format='slashes'"


def not_word_and_tag(place: str, token: str) -> str:
    return f"{place}: '{token}' is not word/tag"


def in_item(number: int, problem: str) -> str:
    return f"item {number}: {problem}"


def no_such_column(columns: int, number: int, option: str) -> str:
    return f"there are {columns} columns here, and no column {number} for {option}="


def looks_like(format: str, remedy: str) -> str:
    return f"this looks like {format}: .*{remedy}"


def sequence_is_missing(number: int) -> str:
    return f"sequence {number} is missing"


ONE_TAG_PER_WORD = "one tag a word"
AT_LEAST_ONE_WORD = "at least one"
NOT_A_STRING = "string"
NOT_TREES_OF_A_TAGGED_BANK = "TaggedBank"


def bad_token(place: str, problem: str) -> str:
    return f"{place}.*{problem}"
