"""Messages of the experiments."""

from __future__ import annotations

NOT_THERE = "does not exist"
NOT_BOTH = "--treebank and --nbest cannot be combined"
ONE_SHAPE = "must have the same shape"
NO_GOLD_PARSE = "The sentence has no gold parse"
NEGATIVE_COEFFICIENTS = "negative"


def no_compiler(name: str) -> str:
    return rf"The C\+\+ compiler {name} was not found"


def has_no_option(option: str) -> str:
    return f"has no option {option}"


NEEDS_A_MARGIN = "The claim .says. has no margin, but the rule .alike. needs a margin"
NEEDS_A_TEST = "The claim .says. has no tests"


def value_count(system: str, values: int, items: int) -> str:
    return f"system {system} has {values} values for {items} items"
