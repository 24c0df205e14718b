"""Messages that tests of the whole project expect."""

from __future__ import annotations

# --- numbers at the edge ------------------------------------------------------------------------------------------

SMALLEST = "at least 1e-100"
BELOW_THE_SMALLEST = f"{SMALLEST} to avoid a loss of precision"
LARGEST = "at most 1e+100"
ZERO_OR = "0 or "
WEIGHTS_IN_RANGE = "None or a dict from feature types to numbers that are 0 or between 1e-100 and"

# --- names, files and memory --------------------------------------------------------------------------------------

OLDEST_VERSION_NEEDED = "name>=version"
NOT_A_MODEL = "the file is not a treelet model"
UNPACKS_TO_MORE = "packed bytes expand to more than"
SET_TREELET_UNPACKED = f"{UNPACKS_TO_MORE} .* set the environment variable TREELET_UNPACKED"
NUL_BYTE = "a NUL byte, so it is not UTF-8 text"
TOO_MANY_CHAINS = "too many chains: .* Remove unary rules"
ROWS_OVERLAP = "rows of out overlap"
NOT_CONTIGUOUS = "contiguous"
NOT_ALIGNED = "not aligned"
ROWS_APART = "contiguous, non-overlapping rows"


def no_attribute(name: str) -> str:
    return rf"has no attribute '{name}'\."


def is_elsewhere(name: str, location: str) -> str:
    return rf"{no_attribute(name)} Use {location}\.$"


def misspelled(name: str, similar: str) -> str:
    return rf"{no_attribute(name)} Did you mean '{similar}'\?$"


def more_than_free(free: str) -> str:
    return rf"needs about \S+ GiB of memory, but only {free} are free\. (Take|Compare) smaller"


def chart_takes_more(words: int) -> str:
    return rf"the chart of {words} words does not fit into memory\. Prune the chart \(beam="


def forest_too_large(words: int, limit: int) -> str:
    return rf"the forest of a sentence of {words} words: the forest has more than {limit} hyperedges\. Prune the forest"
