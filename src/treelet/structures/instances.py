"""Instances of two tasks: predicates with their arguments (roles), and pairs of entities (relations)."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import IO, Any, Literal, NamedTuple, TypeVar, cast, overload

from treelet.checks import article, is_number, plural, suggestion, wrong
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeletError
from treelet.formats.files import PathLike, Source, open_source, open_target
from treelet.printable import shortened
from treelet.structures.spans import Span, as_span
from treelet.structures.tree import Tree

Key = TypeVar("Key", bound=Hashable)


class Argument(NamedTuple):
    """An argument of a predicate: its label, its first word, and the word after its last word."""

    label: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """First word, and the word after the last word."""
        return self.start, self.end


class Parse(NamedTuple):
    """One of several parses of a sentence: a tree and its log probability."""

    tree: Tree
    log_probability: float


@dataclass(frozen=True, kw_only=True)
class RoleInstance:
    """A predicate of a sentence and its arguments.

    Attributes
    ----------
    words : tuple of str
        Words of the sentence. May be omitted if there is a tree.
    predicate : int
        Position of the predicate in the sentence, counted from 0.
    arguments : tuple of Argument
        Label, first word, and the word after the last word of each argument.
    tree : Tree or None
        Parse of the sentence. A bracketed string is converted.
    nbest : tuple of Parse
        Other parses of the sentence, best first.
    roleset : str or None
        Sense of the predicate, for example ``"give.01"``.
    doc, sent : str or None, int or None
        Document and number of the sentence.

    Examples
    --------
    >>> from treelet.structures import RoleInstance
    >>> instance = RoleInstance(tree="(S (NP (N Mary)) (VP (V slept)))", predicate=1, arguments=[("ARG0", 0, 1)])
    >>> instance.words, instance.arguments[0].label
    (('Mary', 'slept'), 'ARG0')
    """

    words: tuple[str, ...] = ()
    predicate: int
    arguments: tuple[Argument, ...] | Any = ()
    tree: Tree | Any = None
    nbest: tuple[Parse, ...] | Any = ()
    roleset: str | None = None
    doc: str | None = None
    sent: int | None = None

    def __post_init__(self) -> None:
        _check_sentence(self)
        size = len(self.words)
        if not _whole(self.predicate) or not 0 <= self.predicate < size:
            raise _wrong("predicate", f"the position of a word, from 0 to {size - 1}", self.predicate)
        object.__setattr__(self, "predicate", int(self.predicate))
        arguments = []
        for number, argument in enumerate(_listed("arguments", self.arguments)):
            if not _several(argument) or len(argument) != 3 or not _text(argument[0]):
                raise _wrong(f"arguments[{number}]", "[label, first word, word after the last word]", argument)
            arguments.append(Argument(argument[0], *_span(f"arguments[{number}]", argument[1:], size)))
        object.__setattr__(self, "arguments", tuple(arguments))
        _check_texts(self, "roleset")


@dataclass(frozen=True, kw_only=True)
class RelationInstance:
    """Two entities of a sentence and their relation.

    Attributes
    ----------
    words : tuple of str
        Words of the sentence. May be omitted if there is a tree.
    e1, e2 : (int, int)
        First word of each entity, and the word after its last word.
    label : str or None
        The relation, or None if it is not known.
    types : (str, str) or None
        Types of the two entities.
    tree : Tree or None
        Parse of the sentence. A bracketed string is converted.
    nbest : tuple of Parse
        Other parses of the sentence, best first.
    doc, sent : str or None, int or None
        Document and number of the sentence.

    Examples
    --------
    >>> from treelet.structures import RelationInstance
    >>> instance = RelationInstance(words=["John", "left", "Rome"], e1=(0, 1), e2=(2, 3), label="leaves")
    >>> instance.e2, instance.tree
    ((2, 3), None)
    """

    words: tuple[str, ...] = ()
    e1: Span
    e2: Span
    label: str | None = None
    types: tuple[str, str] | None = None
    tree: Tree | Any = None
    nbest: tuple[Parse, ...] | Any = ()
    doc: str | None = None
    sent: int | None = None

    def __post_init__(self) -> None:
        _check_sentence(self)
        for name in ("e1", "e2"):
            object.__setattr__(self, name, _span(name, getattr(self, name), len(self.words)))
        if self.types is not None:
            types: Any = self.types
            if not _several(types) or len(types) != 2 or not all(map(_text, types)):
                raise _wrong("types", "two words, one per entity", types)
            object.__setattr__(self, "types", tuple(types))
        _check_texts(self, "label")


Instance = RoleInstance | RelationInstance
Instances = list[RoleInstance] | list[RelationInstance]


# --- checks of the fields ---------------------------------------------------------------------------------------


def _wrong(field: str, wanted: str, value: object) -> ParameterError:
    return ParameterError(f"The field {field!r} must be {wanted}. Got {value!r:.80} instead.")


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _several(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _listed(name: str, value: Any) -> Sequence[Any]:
    if not _several(value):
        raise _wrong(name, "a list", value)
    return cast("Sequence[Any]", value)


def _span(name: str, value: Any, size: int) -> Span:
    try:
        span = as_span(value)
    except TreeletError as error:
        raise ParameterError(f"field {name!r}: {error}") from None
    if span[1] > size:
        raise ParameterError(
            f"The field {name!r} is the span ({span[0]}, {span[1]}), but the sentence has only {plural(size, 'word')}."
        )
    return span


def _tree(name: str, value: Any) -> Tree:
    if isinstance(value, Tree):
        return value
    if not isinstance(value, str):
        raise _wrong(name, "a tree in brackets", value)
    try:
        return Tree.parse(value)
    except FormatError as error:
        raise ParameterError(f"field {name!r}: {error}") from None


@lru_cache(maxsize=256)
def _words(tree: Tree) -> tuple[str, ...]:  # cached, because consecutive instances often have the same trees
    return tuple(tree.words())


def _check_sentence(instance: Instance) -> None:
    """Check that the words, the tree and the parses belong to the same sentence."""
    tree = None if instance.tree is None else _tree("tree", instance.tree)
    nbest = []
    for number, parse in enumerate(_listed("nbest", instance.nbest)):
        if (
            not _several(parse)
            or len(parse) != 2
            or isinstance(parse[1], bool)
            or not isinstance(parse[1], (int, float))
        ):
            raise _wrong(f"nbest[{number}]", "a tree with its log probability", parse)
        if not is_number(parse[1]):
            raise ParameterError(
                f"The log probability in the field 'nbest[{number}]' must be a finite float64. Got {parse[1]!s:.40} instead."
            )
        nbest.append(Parse(_tree(f"nbest[{number}]", parse[0]), float(parse[1])))
    words = tuple(_listed("words", instance.words))
    if not all(map(_text, words)):
        raise _wrong("words", "a list of non-empty strings", list(words))
    trees = [("tree", tree)] * (tree is not None) + [(f"nbest[{n}]", parse.tree) for n, parse in enumerate(nbest)]
    for name, sentence_tree in trees:
        tree_words = _words(cast(Tree, sentence_tree))
        words = words or tree_words
        if tree_words != words:
            raise ParameterError(
                f"The words of {name!r} differ from those of the sentence: "
                f"{shortened(' '.join(tree_words))} instead of {shortened(' '.join(words))}."
            )
    if not words:
        raise ParameterError("The instance has no sentence. Pass 'words', 'tree' or 'nbest'.")
    object.__setattr__(instance, "words", words)
    object.__setattr__(instance, "tree", tree)
    object.__setattr__(instance, "nbest", tuple(nbest))
    _check_texts(instance, "doc")
    if instance.sent is not None and not _whole(instance.sent):
        raise _wrong("sent", "a whole number", instance.sent)


def _check_texts(instance: Instance, name: str) -> None:
    value = getattr(instance, name)
    if value is not None and not isinstance(value, str):
        raise _wrong(name, "a string", value)


# --- files ------------------------------------------------------------------------------------------------------


_FIELDS = {
    "roles": ("words", "predicate", "arguments", "tree", "nbest", "roleset", "doc", "sent"),
    "relations": ("words", "e1", "e2", "label", "types", "tree", "nbest", "doc", "sent"),
}


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
    """Read predicates with arguments, or pairs of entities, from a file with one JSON object per line.

    Examples of lines, for roles and for relations::

        {"tree": "(S ...)", "predicate": 3, "arguments": [["ARG0", 0, 2], ["ARG1", 4, 9]]}
        {"tree": "(S ...)", "e1": [0, 2], "e2": [5, 6], "label": "Cause-Effect(e1,e2)"}

    Words are counted from 0, and a span ends before its second number. Instead of ``"tree"``, a line
    may have ``"words"``, a list of strings, or ``"nbest"``, a list of ``[log probability, tree]``. The
    other fields are those of `RoleInstance` and `RelationInstance`. Empty lines are skipped.

    Parameters
    ----------
    file : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input.
    kind : {"roles", "relations"}, optional
        Expected kind of instances. Default: detected from the first line.
    on_error : {"raise", "skip"}, default "raise"
        ``"raise"`` raises an error for a malformed line. ``"skip"`` skips malformed lines; a warning
        reports how many were skipped and where the first ones are.

    Returns
    -------
    list of RoleInstance or list of RelationInstance

    Raises
    ------
    FormatError
        If a line is malformed. The message contains the file, the line and the field.

    Examples
    --------
    >>> import io
    >>> from treelet.structures import read_instances
    >>> line = '{"tree": "(S (NP (N Mary)) (VP (V slept)))", "predicate": 1, "arguments": [["ARG0", 0, 1]]}'
    >>> read_instances(io.StringIO(line), "roles")[0].arguments
    (Argument(label='ARG0', start=0, end=1),)
    """
    if kind is not None and kind not in _FIELDS:
        raise wrong("kind", "'roles', 'relations' or None", kind)
    instances: list[Any] = []
    with open_source(file, on_error=on_error) as source:
        for number, which, fields in _read_records(source, kind):
            if isinstance(nbest := fields.get("nbest"), list):
                fields["nbest"] = [parse[::-1] if isinstance(parse, list) else parse for parse in nbest]
            with source.item():
                try:
                    instances.append(RoleInstance(**fields) if which == "roles" else RelationInstance(**fields))
                except TreeletError as error:
                    raise source.error(str(error), number) from None
        source.told(len(instances), "lines")
    return cast(Instances, instances)


def _read_records(source: Source, kind: str | None) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the number, the kind and the fields of each nonempty line. By default all lines have the kind of the first."""
    for number, line in source.text_lines():
        if not line.strip():
            continue
        with source.item():
            try:
                fields = json.loads(line)
            except json.JSONDecodeError as error:
                raise source.error(f"this is not valid JSON ({error.msg}).", number, error.colno) from None
            except (RecursionError, ValueError):  # nested too deeply, or a number with too many digits
                raise source.error(
                    "this JSON cannot be read: it is nested too deeply, or a number is too long.", number
                ) from None
            if not isinstance(fields, dict):
                raise source.error(
                    f"each line must be a JSON object, but this line is {article(type(fields).__name__)}.", number
                )
            kind = kind or ("roles" if "predicate" in fields else "relations")
            needed = ("predicate",) if kind == "roles" else ("e1", "e2")
            if missing := [name for name in needed if name not in fields]:
                names, all_names = (" and ".join(map(repr, some)) for some in (missing, needed))
                verb = f"field {names} is" if len(missing) == 1 else f"fields {names} are"
                raise source.error(f"the {verb} missing. Each line of {kind} needs {all_names}.", number)
            if unknown := [name for name in fields if name not in _FIELDS[kind]]:
                raise source.error(
                    f"unknown field {unknown[0]!r}.{suggestion(unknown[0], _FIELDS[kind])} The fields of {kind} are "
                    f"{', '.join(_FIELDS[kind])}.",
                    number,
                )
            yield number, kind, fields


def write_instances(instances: Iterable[Instance], file: PathLike | IO[str]) -> None:
    """Write predicates with arguments, or pairs of entities, to a file for `read_instances`.

    Parameters
    ----------
    instances : iterable of RoleInstance or iterable of RelationInstance
        Instances of one kind.
    file : path or open file
        The file appears only when it is complete. Files whose names end in ``.gz``, ``.xz`` or
        ``.bz2`` are compressed. ``"-"`` is standard output.

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
                f"Item {number} is {article(type(instance).__name__)}, but a RoleInstance or RelationInstance is needed."
            )
        if type(instance) is not type(listed[0]):
            raise InputTypeError(
                f"All instances of a file must be of one kind, but item 0 is {article(type(listed[0]).__name__)} and "
                f"item {number} is {article(type(instance).__name__)}."
            )
    with open_target(file) as stream:
        stream.writelines(json.dumps(_fields(instance), ensure_ascii=False) + "\n" for instance in listed)


def _fields(instance: Instance) -> dict[str, Any]:
    """Return the fields of an instance as they are written to a file."""
    fields: dict[str, Any] = {}
    for name in _FIELDS["roles" if isinstance(instance, RoleInstance) else "relations"]:
        value = getattr(instance, name)
        if value is None or (name == "nbest" and not value):
            continue
        if name == "words" and (instance.tree is not None or instance.nbest):
            continue
        if name == "nbest":
            value = [[parse.log_probability, str(parse.tree)] for parse in value]  # this order in all n-best files
        fields[name] = str(value) if isinstance(value, Tree) else value
    return fields
