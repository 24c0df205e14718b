"""Messages of the command line: errors, warnings and notes, most of them as plain text."""

from __future__ import annotations

# --- files and streams --------------------------------------------------------------------------------------------

IS_A_FOLDER = "is a folder"
STANDARD_OUTPUT = "standard output"
STANDARD_INPUT = "standard input"
CHOOSE_ANOTHER_NAME = "choose another name"
WOULD_OVERWRITE = "would overwrite"
OUTPUT_IS_STANDARD_INPUT = "OUT is the standard input"
INPUT_IS_STANDARD_OUTPUT = "IN is the standard output"
CANNOT_BE_MADE_A_FOLDER = "cannot be made a folder"


def error(line: str) -> str:
    """The whole line that a failing command prints, or its beginning."""
    return f"treelet: error: {line}"


def not_found(name: object) -> str:
    return error(f"{name}: cannot be opened (No such file or directory)\n")


def no_format_for(name: str, suffix: str) -> str:
    return f"{name}: no format's name ends in {suffix}"


def must_end_in(suffixes: str) -> str:
    return f"must end in {suffixes}"


def no_room(size: int) -> str:
    return f"not enough disk space for {size} bytes (No space left on device)"


def no_trees_in(file: object) -> str:
    return f"treelet: warning: {file}: there are no trees in it\n"


def would_overwrite(argument: str) -> str:
    return f"--output {WOULD_OVERWRITE} {argument}"


# --- options ------------------------------------------------------------------------------------------------------

PICTURE_IS_FOR_CLASSIFIERS = "--picture draws a classifier's confusions"
PROBABILITY_IS_FOR_CLASSIFIERS = "--probability is for classifiers"
NOT_BOTH = "not both"
MODEL_WITHOUT_PROBABILITIES = "this model has no probabilities: train it with --probability"
SMALLER_LAM_OPTION = "a smaller --lam"
SMALLER_LAM_OR_NO_NO_NORMALIZE = f"{SMALLER_LAM_OPTION}, or the normalized kernel (no --no-normalize)"
USE_A_FILE = "or --output K.npy for a file"
SMALLER_LAM_OR_NORMALIZE = f"{SMALLER_LAM_OPTION}, or --normalize, which"
ONE_STANDARD_INPUT = "only one of BANK and QUERY"


def option_must_be(option: str, values: str) -> str:
    return f"{option} must be {values}"


def needs(option: str, what: str) -> str:
    return f"{option} needs {what}"


def did_you_mean(name: str) -> str:
    return f"Did you mean '{name}'?"


def internal_error(what: str) -> str:
    return f"treelet: internal error: {what} (treelet --traceback shows where)\n"


# --- examples and models ------------------------------------------------------------------------------------------

MODEL_OF_A_MATRIX = "fitted to a precomputed kernel matrix, so it cannot predict from examples"
PREDICTS_NOTHING = "the file contains a KernelMatrix, which cannot predict"
NO_LABEL_WAS_SEEN = "None of the labels occur in the training data"
ALL_TARGETS_ARE_0 = "all targets are 0"
EXAMPLES_WITHOUT_LABELS = "the examples have no labels"
NO_EXAMPLES = "no examples"
NOT_A_MODEL = "the file is not a treelet model"
ONE_TREE_EACH = "the model needs examples of one tree each"
NO_TREES = "no trees"
LINE_WITHOUT_QID = "this line has no qid:N, others do"
ONLY_LINE_WITH_QID = "only this line has a qid:N"
NO_TREES_TO_WRITE = "no trees to write"
DOES_NOT_FIT_FLOAT64 = "does not fit a float64"
NO_MODEL_WRITTEN = "; no model was written\n"
INTERRUPTED_EARLY = f"treelet: interrupted: before the first setting was done{NO_MODEL_WRITTEN}"


def unseen_labels(examples: int, all_examples: int, labels: str) -> str:
    return f"{examples} of {all_examples} examples .*: {labels}"


def one_example_of(label: str) -> str:
    """A class is too small for cross-validation."""
    return f"Class '{label}' has only one"


def no_trees_called(name: str) -> str:
    return f"no trees called '{name}'"


def empty_label(example: int) -> str:
    return f"example {example} has an empty label"


def nothing_in_common(examples: int, all_examples: int) -> str:
    """Examples have no fragment in common with the model."""
    return rf"warning: {examples} of {all_examples} examples? ha(s|ve) no fragment in common with the model"


def needs_column(column: str, there_are: str) -> str:
    return f"the model needs the column {column}; the file has {there_are}"


def only_vectors(name: str) -> str:
    return f"no trees, only vectors {name}"


def one_label_only(examples: int, label: str) -> str:
    return f"all {examples} examples have the label '{label}'"


def query_column(name: str) -> str:
    return f"a column of texts called '{name}'"


def query_is_no_number(query: str) -> str:
    return f"the query '{query}' is no number"


def no_place_for(what: str) -> str:
    """A format cannot hold all of a document."""
    return f"no place for the {what}"


def result_takes(size: str) -> str:
    return f"{size} bytes"


# --- commands -----------------------------------------------------------------------------------------------------

A_TREE_IS_IN_BRACKETS = "a tree is written in brackets"
WRITTEN_IN_BRACKETS = "written in brackets"
NOTHING_TO_SEARCH = "nothing to look in"
NO_TREE_TO_SEARCH = f"{NOTHING_TO_SEARCH}: no tree"
ONLY_ONE_TREE = f"{NOTHING_TO_SEARCH}: one tree only"
UNLIKE_THE_BANK = "treelet: warning: 1 of 1 trees share nothing with any tree of BANK"
FOREST_AS_LATEX = "a forest has no LaTeX form"
TOO_LARGE_TO_DRAW = "more than can be drawn"
PRUNE_CLOSER = "prune it closer"
NOTHING_TO_DRAW = "nothing to draw"
NEEDS_A_SENTENCE = "needs a sentence"
NO_WORDS = "no words"
SET_IS_EMPTY = "All sentences of the development set have the same words as sentences of a later set"
EMPTY_LINE = "an empty line has no parse"
A_LINE_IS = "a line is"
OUTSIDE_BRACKETS = "text outside brackets"


def one_tree_needed(got: int) -> str:
    return f"exactly one tree is needed, there are {got}"


def without_a_parse(sentences: int, instead: str) -> str:
    return f"{sentences} without a parse ({instead}"


def bracket_as_a_word(place: str) -> str:
    return f"{place}: a word is '('"


NO_TREES_TO_RERANK = "The treebank contains no trees: parse reranking needs at least three"


def cannot_be_split(sentences: int) -> str:
    return f"{sentences} sentences cannot be split"


def lists_of_parses(file: object) -> str:
    return f"{file}: these are lists of parses, not trees: --nbest {file} takes them"
