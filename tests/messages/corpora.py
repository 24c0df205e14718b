"""Messages of `treelet.corpora`: the diff of two corpora, two-sample test and diversity."""

from __future__ import annotations

DIFF_NEEDS_A_KERNEL = "diff needs a kernel"
EQUALLY_MANY = "equally many"
GIVE_SAMPLE = "give sample="
AT_LEAST_ONE = "at least one"
NOTHING_SEEN = "nothing that the kernel sees"


def nothing_seen(corpus: str, count: int, examples: int) -> str:
    return f"{count} of the {examples} examples of {corpus} have {NOTHING_SEEN}"


CANNOT_BE_LISTED = "cannot be listed"
NO_MORE_THAN_CHANCE = "no more than chance"
NO_FRAGMENT = "no fragment"
TOP_AT_LEAST_0 = "--top must be a whole number of at least 0"
STANDARD_INPUT = "standard input"


def empty(corpus: str) -> str:
    return f"{corpus} is empty"


def one_example(corpus: str) -> str:
    return f"{corpus} has one"


def missing(corpus: str, count: int, examples: int, first: int) -> str:
    return f"{count} of the {examples} examples of {corpus} are missing, the first is example {first}"
