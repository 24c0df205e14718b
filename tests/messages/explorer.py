"""Messages of `treelet.explorer`: refused requests and invalid fields."""

from __future__ import annotations

# --- requests -----------------------------------------------------------------------------------------------------

DID_NOT_ARRIVE = "The request did not arrive within"
TOO_MANY = "Too many requests are waiting"
DISCONNECTED = "The client has disconnected"
EARLIER_REQUESTS = "The server is busy with earlier requests"
SERVER_STOPS = "The server is stopping"
PORTS_IN_USE = r"All ports from \d+ to \d+ are in use\. Choose another one with port="
NOT_JSON = "The request is not valid JSON"
JSON_OBJECT = "The request must be a JSON object. Got a list instead."


def takes_longer(seconds: str) -> str:
    return rf"The request took more than {seconds} seconds\. Enter smaller trees"


def port_in_use(port: int) -> str:
    return rf"Cannot listen on port {port}: it is in use\. Choose another one with port="


def not_a_number(value: str) -> str:
    return f"{value} is not a number"


# --- trees, sentences and models ----------------------------------------------------------------------------------

ONE_TREE_PER_EXAMPLE = "the explorer needs a model with one tree per example"
NOT_A_TREE_MODEL = "does not predict from trees"
NO_CLASS = "The model has no class"
NO_TREE_YET = "There is no tree yet. Enter one in brackets"
PAIRS_OF_NODES = "pairs of nodes. The limit of this page is"
EDIT_STEPS = "steps. The limit of this page is 2e+08 steps"
EDIT_MEMORY = "MiB of memory. The limit of this page is 64 MiB"
WITHOUT_WORDS = "The sentence is empty: a parse needs at least one word"
A_TREE = "This is a tree in brackets. Open Compare trees to compare it, or enter a sentence."
ANOTHER_GRAMMAR = "Start the explorer with another grammar: treelet explore --treebank FILE."
NO_RANKER = "There is no ranker to explain"
NO_MODEL = "There is no model. Start the explorer with one: treelet explore m.treelet."
TOO_LARGE = "The tree is too large to be explained on this page"


def no_class(label: str, suggested: str = "") -> str:
    """With a suggestion, the whole message."""
    return f"{NO_CLASS} '{label}'." + (f" Did you mean '{suggested}'?" if suggested else "")


def words(number: int) -> str:
    return f"The sentence has {number} words. This page parses up to"


def number_range(first: int, last: str = "") -> str:
    return f"an int from {first} to {last}".rstrip()


def up_to_words(limit: int) -> str:
    return f"this page parses up to {limit} words"


# --- command line -------------------------------------------------------------------------------------------------

PORT_RANGE = "--port must be a whole number from 0 to 65535. Got 70000 instead."
NOT_BOTH = "--grammar and --treebank exclude each other."
DATA_ARE_TRAINING_TREES = "--data needs a model: treelet explore MODEL --data FILE."
FORMAT_IS_FOR_DATA_AND_TREEBANK = "--format applies to --data and --treebank."
NO_SUCH_FILE = "the file does not exist"
