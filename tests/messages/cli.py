"""Messages of the command line: errors, warnings and notes, most of them as plain text."""

from __future__ import annotations

# --- files and streams --------------------------------------------------------------------------------------------

IS_A_FOLDER = "is a folder"
STANDARD_OUTPUT = "standard output"
STANDARD_INPUT = "standard input"
CHOOSE_ANOTHER_NAME = "Choose another name."
WOULD_OVERWRITE = "would overwrite"
OUTPUT_IS_STANDARD_INPUT = "OUT is also standard input."
INPUT_IS_STANDARD_OUTPUT = "IN is also standard output."
FOLDER_CANNOT_BE_CREATED = "the folder cannot be created"


def error(line: str) -> str:
    """The whole line that a failing command prints, or its beginning."""
    return f"treelet: error: {line}"


def not_found(name: object) -> str:
    return error(f"{name}: the file does not exist. Check the name and the current folder.\n")


def no_format_for(name: str, suffix: str) -> str:
    return f"{name}: the suffix {suffix} does not belong to a format that can be written"


def must_end_in(suffixes: str) -> str:
    return f"must end in {suffixes}"


def no_room(size: int) -> str:
    return f"not enough disk space for {size} bytes (No space left on device)"


def no_trees_in(file: object) -> str:
    return f"treelet: warning: {file}: the file contains no trees.\n"


def would_overwrite(argument: str) -> str:
    return f"--output {WOULD_OVERWRITE} {argument}"


# --- options ------------------------------------------------------------------------------------------------------

PICTURE_IS_FOR_CLASSIFIERS = "--picture draws the confusion matrix of a classifier, but this model has no classes."
PROBABILITY_IS_FOR_CLASSIFIERS = "--probability applies to classifiers only, but this model predicts a number."
SCORES_OR_PROBABILITY = "--scores and --probability exclude each other."
MODEL_WITHOUT_PROBABILITIES = "The model was trained without probabilities. Train it with --probability."
SMALLER_LAM_OPTION = "a smaller --lam"
USE_A_FILE = "or write the result to a file with --output K.npy"
SMALLER_LAM_OR_NORMALIZE = f"{SMALLER_LAM_OPTION}, or --normalize, which"
JSON_OR_SARIF = "--json and --sarif exclude each other."
NO_FUNCTION_IS_LONG_ENOUGH = "No function has at least 100 lines of code (--min-lines) or 1000 nodes (--min-nodes)."
ONE_STANDARD_INPUT = "BANK and --query are both standard input (-)."


NO_NEIGHBOR = "no neighbor meets the threshold"


def kernel_only(measure: str, *options: str) -> str:
    """Options of the kernel were passed with another measure: the whole line."""
    *most, last = options
    verb, these = ("apply", "these options") if most else ("applies", "this option")
    names = f"{', '.join(most)} and {last}" if most else last
    return error(f"{names} {verb} to --measure kernel only. Remove {these}, or remove --measure {measure}.\n")


def option_must_be(option: str, values: str) -> str:
    return f"{option} must be {values}"


def needs(option: str, what: str) -> str:
    return f"{option} needs {what}"


def internal_error(what: str) -> str:
    return f"treelet: internal error: {what} (Run treelet --traceback to see the Python traceback)\n"


# --- examples and models ------------------------------------------------------------------------------------------

MODEL_OF_A_MATRIX = "fitted to a precomputed kernel matrix, so it cannot predict from examples"
PREDICTS_NOTHING = "the file contains a KernelMatrix, which cannot predict"
NO_LABEL_WAS_SEEN = "None of the labels occur in the training data"
ALL_TARGETS_ARE_0 = "the examples have no class labels, because all targets are 0."
EXAMPLES_WITHOUT_LABELS = "the examples have no class labels"
NO_EXAMPLES = "the file contains no examples."
NOT_A_MODEL = "the file is not a treelet model"
TREES_INSTEAD_OF_A_MODEL = "the file contains trees, not a saved model"
ONE_TREE_EACH = "the model needs exactly one tree per example."
NO_TREES = "no trees"
LINE_WITHOUT_QID = "this line has no qid:N, but others do. Give every line a query, or none."
ONLY_LINE_WITH_QID = "this line has a qid:N, but others do not. Give every line a query, or none."
NO_TREES_TO_WRITE = "The document has no trees, and the format"
TOO_LARGE_FOR_FLOAT64 = "is too large for a float64"
NO_MODEL_WRITTEN = ". No model was written.\n"
INTERRUPTED_EARLY = f"treelet: interrupted: No setting was finished{NO_MODEL_WRITTEN}"


def unseen_labels(examples: int, all_examples: int, labels: str) -> str:
    return f"{examples} of {all_examples} examples .*: {labels}"


def one_example_of(label: str) -> str:
    """A class is too small for cross-validation."""
    return f"Class '{label}' has only one"


def no_tree_column(name: str) -> str:
    return f"the file has no tree column '{name}', only "


def empty_label(example: int) -> str:
    return f"example {example} has an empty label. Add a label or remove the example."


def nothing_in_common(examples: int, all_examples: int) -> str:
    """Examples have no fragment in common with the model."""
    noun, verb = "example" if all_examples == 1 else "examples", "has" if examples == 1 else "have"
    return f"warning: {examples} of {all_examples} {noun} {verb} no fragment in common with the model"


def needs_column(column: str, available: str) -> str:
    return f"the model needs the column '{column}'. The file has {available}."


def only_vectors(name: str) -> str:
    return f"a tree kernel needs trees, but the file has only the vector column '{name}'."


def one_label_only(examples: int, label: str) -> str:
    return f"all {examples} examples have the label '{label}'. A classifier needs at least two classes."


def query_column(name: str) -> str:
    return f"ranking needs a string column '{name}' with the query of each example."


def query_is_no_number(query: str) -> str:
    return f"the query '{query}' is not a number, but svmlight_tk needs numbers"


def no_place_for(what: str) -> str:
    """A format cannot hold all of a document."""
    return f"cannot store the {what}"


def result_takes(size: str) -> str:
    return f"{size} bytes"


# --- commands -----------------------------------------------------------------------------------------------------

WRITE_A_TREE_IN_BRACKETS = "is neither a tree in brackets nor an existing file. Write a tree such as "
NO_TREE_TO_SEARCH = "the file contains no trees. treelet nearest needs at least "
ONLY_ONE_TREE = "the file contains only 1 tree. treelet nearest needs at least 2 trees, or 1 tree and --query."
TREE_INSTEAD_OF_A_BANK = "'(S (A a))' is a tree, not a file of trees. Pass a query with --query."
UNLIKE_THE_BANK = "treelet: warning: 1 of 1 query has no fragment in common with any tree of BANK."
FOREST_AS_LATEX = "a forest cannot be drawn as LaTeX."
TOO_LARGE_TO_DRAW = "but the limit is 400 together."
PRUNE_CLOSER = "Prune the forest to a smaller log-probability range"
NOTHING_TO_DRAW = "nothing to draw"
NOT_A_PARSE = "is outside this grammar, so the tree under FALLBACK is not a parse: it joins the most probable pieces."
ANOTHER_GRAMMAR = "Use a grammar of a treebank with similar sentences (--treebank FILE), or trees of another parser."
NEEDS_A_SENTENCE = "--picture needs at least one sentence, but the input is empty."
NO_WORDS = "no words"
SET_IS_EMPTY = "All sentences of the development set have the same words as sentences of a later set"
EMPTY_LINE = "the line is empty. Remove the line, or pass --skip-empty."
A_LINE_IS = "this line is not an n-best list ("
OUTSIDE_BRACKETS = "unexpected text outside brackets"

ADD_EDITS = "--picture draws the result of --edits"
NOT_TO_EDITS = "to shared fragments, not to --edits"


def one_tree_needed(got: int) -> str:
    return f"the file must contain exactly one tree. Got {got} trees instead."


def without_a_parse(sentences: int, instead: str) -> str:
    return f"{sentences} without a parse ({instead}"


def bracket_as_a_word(place: str) -> str:
    return f"{place}: word 3 is '('"


NO_TREES_TO_RERANK = "The treebank contains no trees: parse reranking needs at least three"


def cannot_be_split(sentences: int) -> str:
    return f"{sentences} sentences cannot be split"


def lists_of_parses(file: object) -> str:
    return f"{file}: the file contains lists of parses, not trees. Pass --nbest {file} instead."
