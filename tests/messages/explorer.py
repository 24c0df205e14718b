"""Messages of `treelet.explorer`: what the server refuses."""

from __future__ import annotations

# --- requests -----------------------------------------------------------------------------------------------------

DID_NOT_ARRIVE = "did not arrive"
TOO_MANY = "too many"
NOBODY_WAITS = "nobody waits"
EARLIER_REQUESTS = "earlier questions"
SERVER_STOPS = "the server stops"
PORTS_IN_USE = "are in use"
NOT_JSON = "no JSON"
JSON_OBJECT = "JSON object"


def takes_longer(seconds: str) -> str:
    return f"more than {seconds} seconds"


def port_in_use(port: int) -> str:
    return rf"port {port} cannot be listened at \(it is in use\)"


def not_a_number(value: str) -> str:
    return f"{value} is no number"


# --- trees, sentences and models ----------------------------------------------------------------------------------

ONE_TREE_PER_EXAMPLE = "one tree an example"
SAYS_NOTHING_OF_TREES = "says nothing of trees"
NO_CLASS = "no class"
NO_TREE_YET = "no tree yet"
PAIRS_OF_NODES = "pairs of nodes"
WITHOUT_WORDS = "without words"
NO_RANKER = "there is no ranker"
TOO_LARGE = "too large"


def no_class(label: str) -> str:
    return f"{NO_CLASS} '{label}'"


def words(number: int) -> str:
    return f"{number} words"


def number_range(first: int, last: str = "") -> str:
    return f"from {first} to {last}".rstrip()


def up_to_words(limit: int) -> str:
    return f"up to {limit} words"


# --- command line -------------------------------------------------------------------------------------------------

PORT_RANGE = "--port must be from 0 to 65535"
NOT_BOTH = "--grammar and --treebank exclude each other."
DATA_ARE_TRAINING_TREES = "--data needs a model: treelet explore MODEL --data FILE."
FORMAT_IS_FOR_DATA_AND_TREEBANK = "--format applies to --data and --treebank."
NO_SUCH_FILE = "no such file"
