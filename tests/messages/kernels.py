"""Messages of `treelet.kernels`: parameters, examples of each kind, and values that do not fit."""

from __future__ import annotations

from treelet.checks import article

# --- parameters ---------------------------------------------------------------------------------------------------

A_KERNEL = "a kernel"
A_KERNEL_OR_A_NUMBER = "only with a kernel or a number. Got (None|an? )"
FIXED_OR_TWO_NUMBERS = "'fixed' or two numbers"
NO_FRAGMENTS_WITH_A_TERMINAL_FACTOR = r"listed only if terminal_factor is 1\. Got PartialTree\("
TEMPERATURE_TOO_SMALL = "The temperature 1e-320 is so small that only the best tree is left"
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
TOO_LARGE_FOR_FLOAT64 = "is too large for a float64"
USE_NORMALIZED = "normalized"
SCALE_THE_FEATURES = " is too large for a float64. Scale the features down"
IS_NEGATIVE = " is negative, so it has no logarithm"
UNLIKE_THE_SLOW_DEFINITION = "slow definition"

# --- vectors ------------------------------------------------------------------------------------------------------


def bad_feature(row: int, value: str, feature: object) -> str:
    """A feature is not a finite number."""
    return f"Feature {feature} of row {row} is {value}, but (feature values must be finite|a number is needed)"


def row_contains(row: int, problem: str) -> str:
    return f"Row {row} contains {problem}"


def row_is(row: int, kind: str, problem: str) -> str:
    return f"Row {row} is {article(kind)}, but {problem}"


def row_lengths(first: int, row: int, features: int) -> str:
    return f"must have the same number of features, but row 0 has {first} and row {row} has {features}"


def feature_called(row: int, name: str) -> str:
    return f"The names of features must be strings or ints. Row {row} has a feature named {name}"


TOO_LARGE_NUMBER = "a number that is too large for a float64"
NOT_NUMBERS = "a list of numbers or a dict is needed"
OTHER_ROWS_ARE_DICTS = "other rows are dicts"
NOT_A_DICT = "On needs a dict from column names to values"
RESHAPE = r".* use X.reshape\(-1, 1\)"
MUST_BE_NUMBERS = "Feature vectors must be (a 2-D array of )?numbers"
BY_NAME_AND_BY_POSITION = r"named features \(dicts\) cannot be compared with vectors without names"


def two_dimensions(got: int) -> str:
    """An array of vectors must have two dimensions."""
    return f"must have two dimensions. Got {got} dimensions? instead"


def vectors_needed(got: str) -> str:
    return f"Feature vectors must be a 2-D array, .* or a list of dicts. Got an? {got} instead"


def other_length(first: int, second: int) -> str:
    return f"Vectors of {first} features? cannot be compared with vectors of {second} features?"


# --- tables, bags and columns -------------------------------------------------------------------------------------

LIST_OF_BAGS_NEEDED = "must be a list of bags, .* Got a Treebank. Put it in a list"
OTHER_COLUMNS = "must have the same columns. Columns of only one of them:"
NAMED_COLUMNS = "named columns"


def text_is(number: int, kind: str) -> str:
    return f"Text {number} is {article(kind)}, but a string or a list of words is needed"


def bad_word(text: int) -> str:
    """A text contains something that is not a word."""
    return f"Text {text} contains .*, but words must be strings"


def row_lacks(row: int, column: str, has: str) -> str:
    return f"Row {row} has no value for the column '{column}'. Its keys are {has}"


def no_column(column: str, there_are: str) -> str:
    return f"There is no column '{column}'. The (only column is|columns are) {there_are}"


def table_needed(got: str) -> str:
    return f"Examples with named columns are needed: a DataFrame, a list of dicts, .* Got an? {got}"


def bag_is(number: int, kind: str) -> str:
    """One example stands where a bag of examples belongs."""
    return f"Bag {number} is an? {kind}, but a bag must be a list of examples. Put a single example in a list"


# --- forests ------------------------------------------------------------------------------------------------------

SPAN_NOT_WITHIN = "not within"
CYCLE = "cycle"
NO_ROOT = "root"
NO_TREE = "no tree"
IMPROBABLE_TREE = "less than 1e-300 times as probable"
A_FOREST_IS_NO_TREE = "Forest"

# --- sequences ----------------------------------------------------------------------------------------------------

ONE_STR = "Got one string instead.* Put it in a list"
ONE_DICT = "one dict"
A_SEQUENCE_IS_NEEDED = "A list of features, or a dict of such lists, is needed"


def in_example(number: object, problem: str, *, kind: str = "", feature: int | None = None) -> str:
    """A problem in an example of a `SequenceBank`, with its place."""
    place = (f", type '{kind}'" if kind else "") + (f", feature {feature}" if feature is not None else "")
    return f"example {number}{place}: {problem}"


def type_is(name: object) -> str:
    """The name of a feature type is not a string."""
    return f"The name of a type must be a string. Got {name} instead"


TOO_DEEPLY_NESTED = "nested"
NAME_EVERY_TYPE = "'window' parameter of Locality has no entry for the type 'y' .* Add an entry for every type"
NOT_A_FEATURE_OF_THESE = "The label .* does not represent a feature"
NOT_TREES_OF_A_SEQUENCE_BANK = "SequenceBank"

# --- word vectors -------------------------------------------------------------------------------------------------

NOT_A_NUMPY_FILE = "NumPy"
WORD_TWICE = "Each word must occur once. Words that occur several times: "
ONE_VECTOR_PER_WORD = "WordVectors needs an array with one row per word"
NOT_WORD_VECTORS = "[Ww]ord vectors must"


def ragged(place: str, length: int) -> str:
    """A vector has another length than the first one."""
    return f"{place}.*{length} numbers, as on"


def bad_vector(word: str) -> str:
    return f"The vector of the word {word} contains a value that is not finite"


# --- tagged sequences ---------------------------------------------------------------------------------------------

TAG_WITH_A_SLASH = "a tag is a string without slashes"
LOOKS_LIKE_SLASHES = "this looks like word/tag with one sentence per line. Read it with format='slashes'"


def not_word_and_tag(place: str, token: str) -> str:
    return f"{place}: '{token}' is not of the form word/tag"


def in_item(number: int, problem: str) -> str:
    return f"item {number}: {problem}"


def no_such_column(columns: int, number: int, option: str) -> str:
    return f"there is no column {number} for {option}=: this line has {columns} columns"


def looks_like(format: str, remedy: str) -> str:
    return rf"this looks like {format}\. .*{remedy}"


def sequence_is_missing(number: int) -> str:
    return f"Sequence {number} is missing, but the format 'columns' has no notation for missing sequences"


ONE_TAG_PER_WORD = "A tagged sequence needs one tag per word"
AT_LEAST_ONE_WORD = "at least one"
NOT_A_STRING = "string"
NOT_TREES_OF_A_TAGGED_BANK = "TaggedBank"


def bad_token(place: str, problem: str) -> str:
    return f"{place}.*{problem}"


CANNOT_GROW = "columns that view arrays cannot grow"
NOT_STORED_AS_ARRAYS = "The data of a ForestBank cannot be stored as arrays."
ARRAYS_DO_NOT_FIT = "do not fit|^array |another version"
