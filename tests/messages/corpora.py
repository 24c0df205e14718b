"""Messages of `treelet.corpora`: the diff of two corpora, two-sample test and diversity."""

from __future__ import annotations

DIFF_NEEDS_A_KERNEL = "The 'kernel' parameter of diff must be a kernel.* Got 'sst' instead"
EQUALLY_MANY = "A has .* examples? and B has .*, but paired corpora must have the same number of examples"
GIVE_SAMPLE = "too many for an eigendecomposition. Pass sample=100"
AT_LEAST_ONE = "X is empty: vendi_score needs at least one example"
NOTHING_SEEN = "no fragments for the kernel"


def nothing_seen(corpus: str, count: int, examples: int) -> str:
    return f"{count} of the {examples} examples of {corpus} have {NOTHING_SEEN}"


CANNOT_BE_LISTED = "The fragments of this kernel cannot be listed."
NOT_SIGNIFICANT = "not significant at level 0.05"
NO_FRAGMENT = "No fragments: n is 0, or no fragment is more frequent in one of the corpora."
TOP_AT_LEAST_0 = "--top must be a whole number of at least 0"
STANDARD_INPUT = "standard input"


def empty(corpus: str) -> str:
    return f"{corpus} is empty"


def one_example(corpus: str) -> str:
    return f"{corpus} has one example: diff needs at least 2 examples per corpus"


def missing(corpus: str, count: int, examples: int, first: int) -> str:
    return rf"{count} of the {examples} examples of {corpus} are missing \(None\)\. Remove them; the first one is example {first}"
