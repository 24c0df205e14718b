"""Collections of dependency parses, and CoNLL-U files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import IO, Any, ClassVar

from treelet.checks import article, check_one_of
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import FORMATS, Columns
from treelet.formats.conllu import check_tag, read_sentences, reader_of, sentence_heads, warn_of_no_tags
from treelet.formats.files import PathLike, Source, open_target
from treelet.formats.paths import File
from treelet.formats.reading import read_items
from treelet.structures.bank import PostOrder, Stats, listed
from treelet.structures.dependency import Dependencies, Link, restored
from treelet.structures.tree import Tree, trees_of
from treelet.structures.tree_form import TreeFormBank

KEEP = (None, "comments", "lines")


class DependencyBank(TreeFormBank[Dependencies | Any]):
    """A collection of dependency parses, used like a `Treebank`.

    Parameters
    ----------
    items : iterable
        `Dependencies`, parsed ``Doc`` and ``Span`` objects of spaCy, sentences of stanza, or token
        lists of conllu. None stands for a missing parse. Parses of other libraries keep their UPOS
        tags; for other tags, use `Dependencies.from_spacy`, `from_stanza` or `from_conllu`.

    See Also
    --------
    treelet.cuts.dependency_trees : convert parses to trees.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.structures import DependencyBank
    >>> bank = DependencyBank([Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])])
    >>> len(bank), bank.shape
    (1, (1,))
    >>> print(bank.stats())
    1 parse, 2 words, 1 link, 2 types
    """

    __slots__ = ()

    _as_trees: ClassVar[str] = "cuts.dependency_trees"

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[None, list[Dependencies | None]]:
        single = (Dependencies,) if reader_of(items) is None else (type(items),)
        parses = listed(items, "parses", single, "structures.read_conllu")
        return None, [None if item is None else _taken(number, item) for number, item in enumerate(parses)]

    @classmethod
    def _columns_of(cls, items: list[Dependencies | None]) -> Columns:
        """Store a parse as a tree with one node per list: words, tags, lemmas, kept lines, and heads with relations or links."""
        trees = PostOrder()
        for item in items:
            if item is not None:
                lists: list[tuple[str, Sequence[str] | None]] = [
                    ("words", item.words),
                    ("tags", item.tags),
                    ("lemmas", item.lemmas),
                    ("kept", item._kept),
                ]
                if item.heads is None:
                    lists.append(("links", [str(value) for link in item.links for value in link]))
                else:
                    lists += [("heads", [str(head) for head in item.heads]), ("relations", item.relations)]
                present = [(name, texts) for name, texts in lists if texts is not None]
                for name, texts in present:
                    trees.leaves(texts)
                    trees.node(name, len(texts))
                trees.node("parse", len(present))
            trees.end(missing=item is None)
        return trees.columns()

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Dependencies | None]:
        return [None if tree is None else _parse(tree) for tree in trees_of(columns)]

    @classmethod
    def _check(cls, columns: Columns) -> None:
        cls._items_of(columns)

    def stats(self) -> Stats:
        """Count parses, words, links, and distinct types of links, including the relations of roots."""
        parses = [parse for parse in self if parse is not None]
        types = {link.type for parse in parses for link in parse.links}
        return Stats(
            parses=len(self),
            words=sum(len(parse) for parse in parses),
            links=sum(len(parse.links) for parse in parses),
            types=len(types.union(*(parse.relations or () for parse in parses))),
        )

    def write(self, file: PathLike | IO[str], *, tag: str = "upos") -> None:
        """Write the parses in CoNLL-U. The file appears only when it is complete.

        Lines that were kept when the parses were read are written unchanged.

        Parameters
        ----------
        file : path or open file
            Files whose names end in ``.gz``, ``.xz`` or ``.bz2`` are compressed. ``"-"`` is standard output.
        tag : {"upos", "xpos"}, default "upos"
            Column for the tags.
        """
        check_tag(tag)
        texts = []
        for number, parse in enumerate(self):
            if parse is None:
                raise TreeError(
                    f"parse {number} is missing, but CoNLL-U has no notation for missing parses. Remove it."
                )
            try:
                texts.append(parse.to_conllu(tag))
            except TreeError as error:
                raise TreeError(f"parse {number}: {error}") from None
        with open_target(file) as stream:
            stream.writelines(texts)


def _taken(number: int, item: object) -> Dependencies:
    if isinstance(item, Dependencies):
        return item
    if (reader := reader_of(item)) is None:
        hint = (
            "Pass each of its sentences."
            if hasattr(item, "sentences")
            else "Pass Dependencies, a parsed spaCy Doc, a stanza sentence or a conllu TokenList."
        )
        raise InputTypeError(
            f"Item {number} is {article(type(item).__name__)}, but a dependency parse is needed. {hint}"
        )
    try:
        return Dependencies.from_heads(**reader(item, "upos")._asdict())
    except TreeError as error:
        raise TreeError(f"item {number}: {error}") from None


def _parse(tree: Tree) -> Dependencies:
    """Restore a parse from its tree. A tree that `_columns_of` did not make raises TreeError."""
    lists = {child.label: tuple(leaf.label for leaf in child.children) for child in tree.children}
    links, heads = lists.get("links", ()), lists.get("heads")
    try:
        parse_links = [
            Link(int(left), int(right), kind)
            for left, right, kind in zip(*(links[k::3] for k in range(3)), strict=True)
        ]
        head_numbers = None if heads is None else tuple(int(head) for head in heads)
        tags, lemmas, relations = lists["tags"], lists.get("lemmas"), lists.get("relations")
        return restored(
            lists["words"], tags, lemmas, tuple(parse_links), head_numbers, relations, lists.get("kept", ())
        )
    except (KeyError, ValueError) as error:
        raise TreeError(f"A stored tree does not represent a parse of a DependencyBank ({error}).") from None


def read_conllu(
    *files: File | Sequence[File],
    tag: str = "upos",
    keep: str | None = None,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
    on_error: str = "raise",
) -> DependencyBank:
    r"""Read dependency parses from CoNLL-U files.

    The words of a parse are the syntactic words. Multiword tokens (``3-4``), empty nodes (``3.1``),
    features, enhanced dependencies and the last column are skipped.

    Parameters
    ----------
    *files : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input. A
        folder stands for all ``.conllu`` and ``.conll`` files below it, and a pattern such as
        ``"ud/*-train.conllu"`` for the files that match it, as for `read_trees`.
    tag : {"upos", "xpos"}, default "upos"
        Column with the tags.
    keep : {None, "comments", "lines"}, default None
        Lines to keep with each parse. ``"comments"`` keeps comment lines for
        `Dependencies.comments`. ``"lines"`` keeps all lines, so writing the bank reproduces the file.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out of folders and patterns, as for `read_trees`.
    encoding : str, default "utf-8"
        Encoding of the files.
    on_error : {"raise", "skip"}, default "raise"
        ``"raise"`` raises an error for a malformed sentence. ``"skip"`` skips malformed sentences; a
        warning reports how many were skipped and where the first ones are.

    Returns
    -------
    DependencyBank

    Examples
    --------
    >>> import io, treelet
    >>> text = "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
    >>> bank = treelet.structures.read_conllu(io.StringIO(text), tag="xpos")
    >>> bank[0].tags, bank[0].lemmas, bank[0].heads
    (('NNS', 'VBP'), ('dog', 'bark'), (2, 0))
    """
    check_tag(tag)
    check_one_of("keep", keep, KEEP, of="read_conllu")

    def parses_in(source: Source) -> list[Dependencies]:
        parses = []
        for sentence in read_sentences(source):
            kept = () if keep is None else sentence.lines
            if keep == "comments":
                kept = tuple(line for line in kept if line.startswith("#"))
            parse = Dependencies.from_heads(**sentence_heads(sentence, tag)._asdict())
            object.__setattr__(parse, "_kept", kept)
            parses.append(parse)
        warn_of_no_tags(source.name, (parse.tags for parse in parses), tag)
        return parses

    suffixes = FORMATS["conllu"].suffixes
    return DependencyBank(
        read_items(files, suffixes, parses_in, "sentences", exclude=exclude, encoding=encoding, on_error=on_error)
    )
