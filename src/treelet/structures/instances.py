"""Predicates with arguments, and pairs of entities."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import IO, Any, Literal, NamedTuple, TypeVar, cast, overload

from treelet.checks import is_number, wrong
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeletError
from treelet.formats.files import PathLike, open_source, open_target
from treelet.formats.json_files import FIELDS, read_records
from treelet.structures.spans import Span, as_span
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank

Key = TypeVar("Key", bound=Hashable)


class Argument(NamedTuple):
    """An argument of a predicate: its label, its first word, the first word behind it."""

    label: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """First word, and first word behind."""
        return self.start, self.end


class Parse(NamedTuple):
    """One parse of several: the tree, and the logarithm of its probability."""

    tree: Tree
    log_probability: float


@dataclass(frozen=True, kw_only=True)
class RoleInstance:
    """A predicate and its arguments.

    Attributes
    ----------
    words : tuple of str
        The sentence. May be left out where there is a tree.
    predicate : int
        The predicate's place in the sentence, counted from 0.
    arguments : tuple of Argument
        Label, first word, first word behind.
    tree : Tree or None
    nbest : tuple of Parse
        Other parses of the sentence, the best first, if there are any.
    roleset : str or None
        Which sense of the predicate: ``"give.01"``.
    doc, sent : str or None, int or None
        Where the sentence is from.

    Examples
    --------
    >>> from treelet.structures import RoleInstance
    >>> one = RoleInstance(tree="(S (NP (N Mary)) (VP (V slept)))", predicate=1, arguments=[("ARG0", 0, 1)])
    >>> one.words, one.arguments[0].label
    (('Mary', 'slept'), 'ARG0')
    """

    words: tuple[str, ...] = ()
    predicate: int
    arguments: tuple[Argument, ...] = ()
    tree: Tree | None = None
    nbest: tuple[Parse, ...] = ()
    roleset: str | None = None
    doc: str | None = None
    sent: int | None = None

    def __post_init__(self) -> None:
        _check_sentence(self)
        size = len(self.words)
        if not _whole(self.predicate) or not 0 <= self.predicate < size:
            raise ParameterError(f"'predicate' must be a word from 0 to {size - 1}, got {self.predicate!r}")
        object.__setattr__(self, "predicate", int(self.predicate))
        arguments = []
        for number, argument in enumerate(_listed("arguments", self.arguments)):
            if not _several(argument) or len(argument) != 3 or not _text(argument[0]):
                raise ParameterError(
                    f"'arguments' must be a list of [label, first word, first word behind], item {number} is "
                    f"{argument!r}"
                )
            arguments.append(Argument(argument[0], *_span(f"arguments[{number}]", argument[1:], size)))
        object.__setattr__(self, "arguments", tuple(arguments))
        _check_texts(self, "roleset")


@dataclass(frozen=True, kw_only=True)
class RelationInstance:
    """Two entities of a sentence, and how they are related.

    Attributes
    ----------
    words : tuple of str
        The sentence. May be left out where there is a tree.
    e1, e2 : (int, int)
        Each entity's first word, and the first word behind it.
    label : str or None
        The relation; None if it is not known.
    types : (str, str) or None
        What kinds of entities they are.
    tree : Tree or None
    nbest : tuple of Parse
        Parses of the sentence, the best first, if there are any.
    doc, sent : str or None, int or None
        Where the sentence is from.

    Examples
    --------
    >>> from treelet.structures import RelationInstance
    >>> one = RelationInstance(words=["John", "left", "Rome"], e1=(0, 1), e2=(2, 3), label="leaves")
    >>> one.e2, one.tree
    ((2, 3), None)
    """

    words: tuple[str, ...] = ()
    e1: Span
    e2: Span
    label: str | None = None
    types: tuple[str, str] | None = None
    tree: Tree | None = None
    nbest: tuple[Parse, ...] = ()
    doc: str | None = None
    sent: int | None = None

    def __post_init__(self) -> None:
        _check_sentence(self)
        for name in ("e1", "e2"):
            object.__setattr__(self, name, _span(name, getattr(self, name), len(self.words)))
        if self.types is not None:
            types: Any = self.types
            if not _several(types) or len(types) != 2 or not all(map(_text, types)):
                raise ParameterError(f"'types' must be two words, one for each entity, got {types!r}")
            object.__setattr__(self, "types", tuple(types))
        _check_texts(self, "label")


def as_parses(lists: Mapping[Key, Sequence[tuple[str, float]]]) -> dict[Key, tuple[Parse, ...]]:
    """Lists of (brackets, log probability) with their trees read all at once; equal subtrees become one object."""
    trees = iter(Treebank([tree for listed in lists.values() for tree, _ in listed]))
    return {key: tuple(Parse(cast(Tree, next(trees)), score) for _, score in listed) for key, listed in lists.items()}


Instance = RoleInstance | RelationInstance
Instances = list[RoleInstance] | list[RelationInstance]


# --- checks: each names the field -------------------------------------------------------------------------------


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _several(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _listed(name: str, value: Any) -> Sequence[Any]:
    if not _several(value):
        raise ParameterError(f"{name!r} must be a list, got {value!r}")
    return cast("Sequence[Any]", value)


def _span(name: str, value: Any, size: int) -> Span:
    try:
        span = as_span(value)
    except TreeletError as error:
        raise ParameterError(f"{name!r}: {error}") from None
    if span[1] > size:
        raise ParameterError(f"{name!r} is {span[0]}-{span[1]}, and the sentence has {size} words")
    return span


def _tree(name: str, value: Any) -> Tree:
    if isinstance(value, Tree):
        return value
    if not isinstance(value, str):
        raise ParameterError(f"{name!r} must be a tree in brackets, got {value!r}")
    try:
        return Tree.parse(value)
    except FormatError as error:
        raise ParameterError(f"{name!r}: {error.message}") from None


@lru_cache(maxsize=256)
def _words(tree: Tree) -> tuple[str, ...]:  # predicates of one sentence come one after another, with the same trees
    return tuple(tree.words())


def _check_sentence(instance: Instance) -> None:
    """The words, the tree and the parses belong together."""
    tree = None if instance.tree is None else _tree("tree", instance.tree)
    nbest = []
    for number, parse in enumerate(_listed("nbest", instance.nbest)):
        if (
            not _several(parse)
            or len(parse) != 2
            or isinstance(parse[1], bool)
            or not isinstance(parse[1], (int, float))
        ):
            raise ParameterError(f"'nbest' must be a list of trees with log probabilities, item {number} is {parse!r}")
        if not is_number(parse[1]):
            raise ParameterError(
                f"'nbest' must be a list of trees with log probabilities, item {number} has {str(parse[1])[:40]}"
            )
        nbest.append(Parse(_tree(f"nbest[{number}]", parse[0]), float(parse[1])))
    words = tuple(_listed("words", instance.words))
    if not all(map(_text, words)):
        raise ParameterError(f"'words' must be a list of words, got {list(words)!r}")
    trees = [("tree", tree)] * (tree is not None) + [(f"nbest[{n}]", parse.tree) for n, parse in enumerate(nbest)]
    for name, sentence_tree in trees:
        mine = _words(cast(Tree, sentence_tree))
        words = words or mine
        if mine != words:
            raise ParameterError(
                f"{name!r} is over other words than the sentence: {' '.join(mine)!r}, not {' '.join(words)!r}"
            )
    if not words:
        raise ParameterError("there is no sentence: give 'words', 'tree' or 'nbest'")
    object.__setattr__(instance, "words", words)
    object.__setattr__(instance, "tree", tree)
    object.__setattr__(instance, "nbest", tuple(nbest))
    _check_texts(instance, "doc")
    if instance.sent is not None and not _whole(instance.sent):
        raise ParameterError(f"'sent' must be a whole number, got {instance.sent!r}")


def _check_texts(instance: Instance, name: str) -> None:
    value = getattr(instance, name)
    if value is not None and not isinstance(value, str):
        raise ParameterError(f"{name!r} must be a text, got {value!r}")


# --- files ------------------------------------------------------------------------------------------------------


@overload
def read_instances(
    file: PathLike | IO[bytes] | IO[str], kind: Literal["roles"], *, on_error: str = ...
) -> list[RoleInstance]: ...
@overload
def read_instances(
    file: PathLike | IO[bytes] | IO[str], kind: Literal["relations"], *, on_error: str = ...
) -> list[RelationInstance]: ...
@overload
def read_instances(file: PathLike | IO[bytes] | IO[str], kind: None = None, *, on_error: str = ...) -> Instances: ...
def read_instances(
    file: PathLike | IO[bytes] | IO[str], kind: str | None = None, *, on_error: str = "raise"
) -> Instances:
    """Read predicates with arguments, or pairs of entities: one JSON object a line.

    For roles and for relations::

        {"tree": "(S ...)", "predicate": 3, "arguments": [["ARG0", 0, 2], ["ARG1", 4, 9]]}
        {"tree": "(S ...)", "e1": [0, 2], "e2": [5, 6], "label": "Cause-Effect(e1,e2)"}

    Words are counted from 0, and a span ends before its second number. Instead of a tree there may be ``"words"``, a
    list of them, or ``"nbest"``, a list of ``[log probability, tree]``. The other fields are those of `RoleInstance`
    and `RelationInstance`; empty lines are passed over.

    Parameters
    ----------
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked; ``"-"`` is the standard input.
    kind : {"roles", "relations"}, optional
        What the file should hold; by default what its first line has.
    on_error : {"raise", "skip"}
        What becomes of a line that is not as it should be: an error; or it is left out, and a warning says how many were,
        and where the first ones are.

    Returns
    -------
    list of RoleInstance or of RelationInstance

    Raises
    ------
    FormatError
        With file and line, and the field that is wrong.

    Examples
    --------
    >>> import io
    >>> from treelet.structures import read_instances
    >>> line = '{"tree": "(S (NP (N Mary)) (VP (V slept)))", "predicate": 1, "arguments": [["ARG0", 0, 1]]}'
    >>> read_instances(io.StringIO(line), "roles")[0].arguments
    (Argument(label='ARG0', start=0, end=1),)
    """
    if kind is not None and kind not in FIELDS:
        raise wrong("kind", "'roles', 'relations' or None", kind)
    instances: list[Any] = []
    with open_source(file, on_error=on_error) as source:
        for number, which, fields in read_records(source, kind):
            if isinstance(nbest := fields.get("nbest"), list):
                fields["nbest"] = [parse[::-1] if isinstance(parse, list) else parse for parse in nbest]
            with source.item():
                try:
                    instances.append(RoleInstance(**fields) if which == "roles" else RelationInstance(**fields))
                except TreeletError as error:
                    raise source.error(str(error), number) from None
        source.told(len(instances), "lines")
    return cast(Instances, instances)


def write_instances(instances: Iterable[Instance], file: PathLike | IO[str]) -> None:
    """Write predicates with arguments, or pairs of entities, as `read_instances` reads them.

    The file appears whole or not at all; ``.gz``, ``.xz`` and ``.bz2`` are packed; ``"-"`` is the standard
    output.

    Examples
    --------
    >>> import io
    >>> from treelet.structures import RelationInstance, write_instances
    >>> out = io.StringIO()
    >>> write_instances([RelationInstance(words=["John", "left", "Rome"], e1=(0, 1), e2=(2, 3), label="leaves")], out)
    >>> print(out.getvalue().strip())
    {"words": ["John", "left", "Rome"], "e1": [0, 1], "e2": [2, 3], "label": "leaves"}
    """
    listed = list(instances)
    for number, instance in enumerate(listed):
        if not isinstance(instance, (RoleInstance, RelationInstance)):
            raise InputTypeError(
                f"item {number} is a {type(instance).__name__}, not a RoleInstance or RelationInstance"
            )
        if type(instance) is not type(listed[0]):
            raise InputTypeError(
                f"item {number} is a {type(instance).__name__}, the first is a {type(listed[0]).__name__}"
            )
    with open_target(file) as stream:
        stream.writelines(json.dumps(_fields(instance), ensure_ascii=False) + "\n" for instance in listed)


def _fields(instance: Instance) -> dict[str, Any]:
    """What a file says of an instance."""
    fields: dict[str, Any] = {}
    for name in FIELDS["roles" if isinstance(instance, RoleInstance) else "relations"]:
        value = getattr(instance, name)
        if value is None or (name == "nbest" and not value):
            continue
        if name == "words" and (instance.tree is not None or instance.nbest):
            continue
        if name == "nbest":
            value = [[parse.log_probability, str(parse.tree)] for parse in value]  # as in all files of lists
        fields[name] = str(value) if isinstance(value, Tree) else value
    return fields
