"""What is fuzzed: each target reads bytes, and uses what it has read.

A reader may refuse: an error of treelet's. Anything else that is raised is a finding, and so is what was read and cannot be written,
does not come back as it was, or has a kernel value with itself that is no number. Inputs that once were findings lie in
`corpus/NAME/`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz_seeds import (
    BRACKETS,
    CODE,
    CONLLU,
    JSON,
    LABELS,
    MARKUP,
    SCRIPT,
    SVMLIGHT,
    TREES,
    array_seeds,
    folder,
    forest_seeds,
    grammar_seeds,
    grammar_texts,
    instance_seeds,
    nbest_seeds,
    saved,
    texts,
)

import treelet as tl
from treelet.explorer.requests import Request
from treelet.formats.languages import LANGUAGES
from treelet.kernels import Kernel
from treelet.matrices.stored import _Manifest
from treelet.structures import WordVectors, read_conllu, read_instances, write_instances
from treelet.tasks import CandidateParses

CORPUS = Path(__file__).parent / "corpus"
FEW = 6
"""So many of what was read are used."""


class Target(NamedTuple):
    """A reader, what it is given first, and words of its format."""

    read: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...] = ()
    limit: int = 4096


class Finding(AssertionError):
    """What was read cannot be what was meant."""


def expect(good: object, what: str) -> None:
    if not good:
        raise Finding(what)


def written(name: str, data: bytes) -> Path:
    path = folder() / name
    path.write_bytes(data)
    return path


# --- what was read is used ---------------------------------------------------------------------------------------


def compared(kernel: Kernel, bank: Any) -> None:
    """Each with itself: a number, not negative; and a normalized one of 1."""
    few = bank[:FEW]
    with_itself = kernel.diag(few)
    expect(np.isfinite(with_itself).all() and (with_itself >= 0).all(), f"{kernel!r}: {with_itself}")
    K = kernel.normalized()(few)
    expect(np.isfinite(K).all() and (K <= 1 + 1e-9).all(), f"{kernel!r}, normalized: {K}")


def used_trees(bank: tl.Treebank) -> None:
    for tree in bank[:FEW]:
        str(tree), repr(tree)
        if tree is not None and tree.children:
            expect(tl.Tree.parse(str(tree)) == tree, f"another tree comes back from {str(tree)!r}")
    text = io.StringIO()
    few = bank[:FEW]
    few.write(text, "brackets")
    back = tl.read_trees(io.StringIO(text.getvalue()), "brackets")
    expect(back == few, "another bank comes back from its brackets")
    compared(tl.SubsetTree(), few)
    compared(tl.PartialTree(), few)
    compared(tl.Subtree(), few)


def used_table(X: Any, y: Any) -> None:
    expect(y is None or len(y) == len(X), "labels and examples differ in number")
    if isinstance(X, tl.Treebank):
        used_trees(X)
    else:
        repr(X[:FEW])
        for name in X.columns:
            if isinstance(X[name], tl.Treebank):
                used_trees(X[name])


def read_trees(format: str | None, data: bytes, **options: Any) -> None:
    used_trees(tl.read_trees(io.BytesIO(data), format, **options))


def read_examples(format: str | None, data: bytes, **options: Any) -> None:
    used_table(*tl.read_examples(io.BytesIO(data), format, **options))


def read_either(format: str | None, data: bytes) -> None:
    """Examples; and item by item, leaving out those that are wrong, which must not be more of them."""
    with_all = None
    try:
        with_all = tl.read_trees(io.BytesIO(data), format)
    except tl.TreeletError:
        pass
    else:
        used_trees(with_all)
    try:
        some = tl.read_trees(io.BytesIO(data), format, on_error="skip")
    except tl.TreeletError:
        expect(with_all is None, "what can be read whole cannot be read by items")
        return
    expect(with_all is None or some == with_all, "what is right was left out")
    used_trees(some)
    blocks = list(tl.iter_trees(io.BytesIO(data), format, block=2, on_error="skip"))
    expect(sum(map(len, blocks)) == len(some), "blocks have other trees than the whole")


def read_code(data: bytes) -> None:
    """Read functions in a language that the first byte selects."""
    names = sorted(LANGUAGES)
    language = names[data[0] % len(names)] if data else "c"
    for options in ({"identifiers": "anonymous"}, {"nodes": "concrete", "constants": "types"}):
        bank = tl.read_code(io.BytesIO(data[1:]), language=language, **options)
        places = bank.places
        expect(places is not None and len(places) == len(bank), "a function has no place")
        lines = data.count(b"\n") + data.count(b"\r") + 1
        for row, place in enumerate(places or ()):
            tree = bank[row]
            expect(1 <= place.line <= (place.end_line or 0) <= lines, "a place lies outside the file")
            expect(tree is not None and len(list(tree.nodes())) == len(places.node_lines(row)), "lines are missing")
        used_trees(bank)


def read_tagged(format: str, data: bytes) -> None:
    bank = tl.read_tagged(io.BytesIO(data), format)
    few = bank[:FEW]
    for sequence in few:
        str(sequence), repr(sequence)
    text = io.StringIO()
    few.write(text, format)
    expect(tl.read_tagged(io.StringIO(text.getvalue()), format) == few, "another bank comes back")
    compared(tl.Tagging(), few)


def read_dependencies(data: bytes) -> None:
    bank = read_conllu(io.BytesIO(data))
    few = bank[:FEW]
    for parse in few:
        str(parse), repr(parse)
    for layout in ("json", "conllu") if all(parse.directed for parse in few) else ("json",):
        text = io.StringIO()
        few.write(text, layout)
        expect(read_conllu(io.StringIO(text.getvalue())) == few, "another bank comes back")


def read_labeled(content: str, data: bytes) -> None:
    """Examples that are not trees; and line by line, leaving out those that are wrong."""
    whole = None
    try:
        whole, labels = tl.read_examples(io.BytesIO(data), content)
        expect(labels is None or len(labels) == len(whole), "labels and examples differ in number")
    except tl.TreeletError:
        pass
    with contextlib.suppress(tl.TreeletError):
        some, labels = tl.read_examples(io.BytesIO(data), content, on_error="skip")
        expect(labels is None or len(labels) == len(some), "labels and examples differ in number")
        expect(whole is None or list(whole) == list(some), "what is right was left out")


def read_forests(data: bytes) -> None:
    bank = tl.read_forests(io.BytesIO(data))
    few = bank[:FEW]
    for forest in few:
        repr(forest)
        if forest:
            expect(tl.Forest.from_json(forest.to_json()) == forest, "another forest comes back")
            forest.kbest(3)
            expect(not math.isnan(forest.count_trees()), "a number of trees that is none")
    compared(tl.ForestKernel(), few)


def read_nbest(data: bytes) -> None:
    parses = CandidateParses.read(written("nbest.jsonl", data))
    expect(len(parses) == len(parses.documents), "a document a sentence")
    repr(parses)
    used_trees(parses.trees)


def read_argued(data: bytes) -> None:
    instances = read_instances(io.BytesIO(data))
    text = io.StringIO()
    write_instances(instances, text)
    again = read_instances(io.StringIO(text.getvalue()))
    expect(len(again) == len(instances), "another number of instances comes back")


def used_grammar(grammar: tl.PCFG) -> None:
    repr(grammar)
    path = folder() / "again.json"
    grammar.save(path)
    expect(tl.PCFG.load(path) == grammar, "another grammar comes back")
    for words in (["cats", "sleep"], ["Unseen-7", "the"]):
        for tree, logp in grammar.parse(words, k=2):
            expect(tree.words() == words, f"another sentence is parsed: {tree}")
            expect(not math.isnan(logp), "a probability that is no number")


def load_grammar(data: bytes) -> None:
    used_grammar(tl.PCFG.load(written("grammar.json", data)))


def read_grammar(data: bytes) -> None:
    used_grammar(tl.PCFG.read_text(io.BytesIO(data)))


def read_vectors(data: bytes) -> None:
    vectors = WordVectors.read(written("words.vec", data))
    repr(vectors)
    words = list(vectors.index)[:FEW]
    for word in words:
        expect(abs(vectors.similarity(word, words[0])) <= 1 + 1e-9, "a similarity above 1")


def read_vector_array(data: bytes) -> None:
    written("array.txt", b"cat\ndog\nhouse\n")
    vectors = WordVectors.read(written("array.npy", data))
    expect(abs(vectors.similarity("cat", "dog")) <= 1 + 1e-9, "a similarity above 1")


def load_model(data: bytes) -> None:
    """With a checksum that fits: what was altered on purpose."""
    if len(data) > 32:
        data = data[:-32] + hashlib.sha256(data[:-32]).digest()
    path = written("model.treelet", data)
    tl.learn.card(path)
    model = tl.load(path)
    repr(model)
    if isinstance(model, tl.Treebank):
        used_trees(model)
    elif isinstance(model, tl.ForestBank):
        compared(tl.ForestKernel(), model)
    elif hasattr(model, "predict"):
        expect(len(model.predict(TREES)) == len(TREES), "a prediction an example")


@cache
def matrix() -> tuple[Any, bytes, bytes]:
    """A finished matrix, its file, and its manifest."""
    target = folder() / "made.npy"
    bank = tl.Treebank([*TREES, "(NP (D the) (J red) (N apple))", "(NP (D a) (N pear))"])
    K = tl.gram(tl.SubsetTree(), bank, out=target, resume=True)
    return np.array(K), target.read_bytes(), _Manifest.path(target).read_bytes()


def read_manifest(data: bytes) -> None:
    """Beside a whole matrix, and beside one of which a part is missing: refused, or the values are right."""
    K, content, _ = matrix()
    bank = tl.Treebank([*TREES, "(NP (D the) (J red) (N apple))", "(NP (D a) (N pear))"])
    for name in ("old.npy", "old.npy.part"):
        target = written(name, content)
        path = _Manifest.path(target)
        path.write_bytes(data)
        try:
            found = np.array(tl.gram(tl.SubsetTree(), bank, out=folder() / "old.npy", resume=True))
            expect(np.array_equal(found, K), "another matrix than that of the trees")
        finally:
            for left in folder().glob("old.npy*"):
                left.unlink()


def read_question(data: bytes) -> None:
    question = Request.parse(data)
    for field in ("a", "b", "tree"):
        try:
            str(question.tree(field))
        except tl.TreeletError:
            continue


def parse_texts(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for parse in (tl.Tree.parse, tl.Tagged.parse, tl.Forest.from_json):
        try:
            str(parse(text))
        except tl.TreeletError:
            continue


PARSE = '{"words": ["a", "b"], "tags": ["n", "v"], "links": [[0, 1, "T"]]}'
TARGETS = {
    "brackets": Target(partial(read_either, "brackets"), texts("\n".join(TREES), "( (S (A x)) )", "(A (-NONE- *) (B-1=2 x))"), BRACKETS),
    "brackets options": Target(
        lambda data: read_trees("brackets", data, drop_empty=True, drop_function_tags=True, root="ROOT"),
        texts("\n".join(TREES), "( (S (A x)) )", "(A (-NONE- *) (B-1=2 x))"),
        BRACKETS,
    ),
    "lines": Target(partial(read_either, "lines"), texts("\n".join(TREES), "\n\n(A x)\n"), BRACKETS),
    "tsv": Target(partial(read_examples, "tsv"), texts("\n".join(f"deed\t{tree}" for tree in TREES), "label\ttree\na\t(A x)\n"), (*BRACKETS, b"\t", b'"')),
    "csv": Target(partial(read_examples, "csv"), texts("label,tree\na,(A x)\n", 'tree,label\n"(A ""x"")",b\n'), (*BRACKETS, b",", b'"')),
    "svmlight_tk": Target(partial(read_examples, "svmlight_tk"), texts(f"1 |BT| {TREES[1]} |BT| (A x) |ET| 1:0.5 3:2 |BV| 2:1 |EV|", f"-1 qid:3 |BT| {TREES[1]} |ET|"), SVMLIGHT),
    "kelp": Target(partial(read_examples, "kelp"), texts("deed |BT:t| (A x) |ET| |BV:v| a:1 b:2 |EV| |BS:s| text |ES|", "thing |<||BT:t| (A x) |ET| |,| |BT:t| (A y) |ET||>|"), (*SVMLIGHT, b"|BT:t|", b"|BS|", b"|ES|", b"|<|", b"|>|", b"|,|", b"|BDV|", b"|EDV|")),
    "conllu trees": Target(partial(read_trees, "conllu"), texts(CONLLU, "# text = a\n" + CONLLU), (b"\t", b"_", b"0", b"1-2", b"1.1", b"root", b"\n\n")),
    "conllu": Target(read_dependencies, texts(CONLLU, "# text = a\n" + CONLLU), (b"\t", b"_", b"0", b"1-2", b"1.1", b"root", b"\n\n", b"-1")),
    "tagged columns": Target(partial(read_tagged, "columns"), texts("the D\ncat N\n\nsleeps V\n", "the\tD\n"), (b"\t", b"\n\n", b" ", b"#")),
    "tagged slashes": Target(partial(read_tagged, "slashes"), texts("the/D cat/N\n1\\/2/CD a/b/N\n"), (b"/", b"\\/", b"\\\\", b" ")),
    "tagged table": Target(partial(read_labeled, "tagged"), texts("x\tthe/D cat/N\ny\ta/D\n", "label\ttext\nx\ta/D\n"), (b"/", b"\t", b"\n", b'"')),
    "parses": Target(partial(read_labeled, "parses"), texts(f"1\t{PARSE}\n2\t{PARSE}\n", f"{PARSE}\n", CONLLU), (*JSON, b"\t", b'"heads"', b'"links"')),
    "parses in JSON": Target(read_dependencies, texts(f"{PARSE}\n", PARSE.replace('"links": [[0, 1, "T"]]', '"heads": [2, 0]')), JSON),
    "forests": Target(read_forests, forest_seeds, JSON),
    "forest table": Target(partial(read_labeled, "forests"), lambda: [b"x\t" + seed for seed in forest_seeds()], (*JSON, b"\t")),
    "nbest": Target(read_nbest, nbest_seeds, (*JSON, *BRACKETS)),
    "instances": Target(read_argued, instance_seeds, (*JSON, *BRACKETS)),
    "grammar": Target(load_grammar, grammar_seeds, JSON),
    "grammar text": Target(read_grammar, grammar_texts, (b"->", b"|", b"[1.0]", b"'", b'"', b"[", b"]", b"#", b"%start S")),
    "word vectors": Target(read_vectors, texts("3 2\na 1 2\nb 0.5 -1e3\nc 0 0\n", "a 1 2\nb 3 4\n"), (b"nan", b"inf", b"1e999", b" ", b"\n")),
    "word arrays": Target(read_vector_array, array_seeds, (b"'<f8'", b"'shape'", b"True", b"(3,", b"'O'", b"99999999999")),
    "models": Target(
        load_model,
        saved(
            lambda: tl.KernelSVC(tl.SubsetTree()).fit(TREES, LABELS),
            lambda: tl.RLS(0.5 * tl.PartialTree().normalized() + tl.Subtree()).fit(TREES, [0.5, 1.0]),
        ),
        JSON,
        32_768,
    ),
    "banks": Target(load_model, saved(lambda: tl.Treebank(TREES), lambda: tl.ForestBank(TREES)), JSON, 16_384),
    "manifests": Target(read_manifest, lambda: [matrix()[2]], JSON),
    "python": Target(partial(read_trees, "python"), texts("def f(x, *a, k=1):\n    return [y for y in x if y]\n", "class A(B):\n    '''doc'''\n    x: int = 1\n"), CODE),
    "code": Target(read_code, texts("\x06const f = (a, ...b) => `${a}`;\nclass A { m() { return 1 } }\n", "\x0adef f(a):\n  return a\ndef g(:\n", "\x01int f(int *a) { return a[0]; }\nstruct {", "\x0bdef f\nend"), (*SCRIPT, *CODE)),
    "xml": Target(partial(read_trees, "xml"), texts("<a b='c'><d>text</d>tail</a>", "<?xml version='1.0' encoding='latin-1'?><a/>"), MARKUP),
    "html": Target(partial(read_trees, "html"), texts("<!doctype html><p>one<p>two<br><script>x</script>", "<ul><li>a<li>b</ul>"), MARKUP),
    "guessed": Target(partial(read_examples, None), texts(*TREES, f"a\t{TREES[0]}", f"1 |BT| {TREES[1]} |ET|", CONLLU, "<a>b</a>"), (*BRACKETS, *SVMLIGHT)),
    "questions": Target(read_question, texts(json.dumps({"a": TREES[0], "b": TREES[1]})), (*JSON, *BRACKETS)),
    "texts": Target(parse_texts, texts(TREES[0], "the/D cat/N", '{"nodes": []}'), (*BRACKETS, *JSON, b"/")),
}  # fmt: skip


def once(target: Target, data: bytes) -> BaseException | None:
    """Read once; what was raised that must not be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.read(data)
        except tl.TreeletError:
            return None
        except Exception as error:
            return error
    return None


def kept(name: str) -> Iterator[bytes]:
    """Inputs that once were findings."""
    for path in sorted((CORPUS / name.replace(" ", "-")).glob("*")):
        yield path.read_bytes()
