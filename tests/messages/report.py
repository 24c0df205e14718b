"""Messages of `treelet.report`: reports, notebook display and the widget."""

from __future__ import annotations

from treelet.checks import article

NO_EXAMPLES = "data is empty: a report needs at least one example"
NOT_JSON = "JSON"
ONE_OF_THE_CLASSES = "one of the classes"
FINITE = "must contain finite numbers only"
NO_PICTURE = "This explanation has no picture"
HEAT_OR_MARKS = "a structure, not an explanation, if heat or marks are given"


def label_count(examples: int, labels: int) -> str:
    return rf"There are {examples} examples, but {labels} label{'s' * (labels != 1)}\. Pass one per example"


def each_node(nodes: int) -> str:
    return f"each of {nodes} nodes"


def number_for_each_node(nodes: int, got: int) -> str:
    return f"one number for {each_node(nodes)}. Got {got} instead"


def node_range(last: int, got: int) -> str:
    return f"node numbers from 0 to {last}. Got {got} instead"


def got(kind: str) -> str:
    """The end of a message about an object of a wrong type."""
    return f"Got {article(kind)} instead"
