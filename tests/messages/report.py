"""Messages of `treelet.report`: reports, notebook display and the widget."""

from __future__ import annotations

NO_EXAMPLES = "no examples"
NOT_JSON = "JSON"
ONE_OF_THE_CLASSES = "one of the classes"
FINITE = "finite"
NO_PICTURE = "no picture of this explanation"
HEAT_OR_MARKS = "where heat or marks are given"


def label_count(examples: int, labels: int) -> str:
    return f"{examples} examples, but {labels} labels"


def each_node(nodes: int) -> str:
    return f"each of {nodes} nodes"


def number_for_each_node(nodes: int, got: int) -> str:
    return f"a number for {each_node(nodes)}. Got {got}"


def node_range(last: int, got: int) -> str:
    return f"0 to {last}. Got {got}"


def not_a(kind: str) -> str:
    return f"not a {kind}"
