"""Messages that tests of the whole project expect."""

from __future__ import annotations

# --- numbers at the edge ------------------------------------------------------------------------------------------

SMALLEST = "at least 1e-100"
BELOW_THE_SMALLEST = f"{SMALLEST} to avoid a loss of precision"
LARGEST = "at most 1e+100"
ZERO_OR = "0 or "
WEIGHTS_IN_RANGE = "None or a dict .* from 1e-100 to"

# --- names, files and memory --------------------------------------------------------------------------------------

OLDEST_VERSION_NEEDED = "name>=version"
NOT_A_MODEL = "the file is not a treelet model"
UNPACKS_TO_MORE = "bytes unpack to more than"
SET_TREELET_UNPACKED = f"{UNPACKS_TO_MORE} .* set TREELET_UNPACKED"
NUL_BYTE = "a NUL byte: this is no text file"
TOO_MANY_CHAINS = "too many chains: more pairs of symbols .* Take out unary rules"
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
    return rf"needs about \S+ GiB of memory, but only {free} are free\. Take smaller"


def chart_takes_more(words: int) -> str:
    return rf"the chart of {words} words takes more memory than there is: cut it \(beam="


def forest_too_large(words: int, limit: int) -> str:
    return f"the forest of {words} words: the forest has more than {limit} hyper-edges: prune it"
