"""Files that were altered, by chance or on purpose: each is refused by an error of treelet's, or what it holds can be used."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import random
import struct
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from treelet.errors import FileError, FormatError, ParameterError, TreeError, TreeletError
from treelet.learn.outputs import load_predictor
from treelet.learn.persist import _PREFIX, ModelFileError
from treelet.resources import parse_memory
from treelet.structures import RoleInstance, WordVectors, read_conllu, read_instances

TREES = [
    "(S (NP (D the) (N cat)) (VP (V saw) (NP (D a) (N dog))))",
    "(S (NP (N cats)) (VP (V sleep)))",
    "(NP (D the) (J red) (N apple))",
    "(NP (D a) (N pear))",
]
LABELS = ["deed", "deed", "thing", "thing"]
HUGE = 10**400  # an int that no float holds


# --- numbers that no float holds ----------------------------------------------------------------------------------


def grammar_file(tmp_path: Path, change: Callable[[Any], None]) -> Path:
    path = tmp_path / "grammar.json"
    tl.PCFG.from_treebank(TREES).save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["checksum"]  # else it is refused for that
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def huge_count(content: Any) -> None:
    content["unknown"]["signatures"][""]["N"] = HUGE


def endless_sum(content: Any) -> None:
    content["unknown"]["signatures"][""] = dict.fromkeys(content["unknown"]["signatures"][""], 1.7e308)


def huge_rule(content: Any) -> None:
    content["rules"][0][2] = HUGE


@pytest.mark.parametrize("change", [huge_count, endless_sum, huge_rule])
def test_grammars_with_absurd_numbers_are_refused(tmp_path: Path, change: Callable[[Any], None]) -> None:
    with pytest.raises(FormatError, match=r"counts above 0 and below|must be a number in"):
        tl.PCFG.load(grammar_file(tmp_path, change))


def test_a_word_of_next_to_no_probability_was_seen_once(tmp_path: Path) -> None:
    def rare(content: Any) -> None:
        content["lexicon"]["cats"] = {"N": 1e-300}

    grammar = tl.PCFG.load(grammar_file(tmp_path, rare))
    assert [symbol for symbol, _ in grammar.lexical("Cats", first=True)]  # its lower case was seen
    assert all(np.isfinite(logp) for _, logp in grammar.lexical("Cats", first=True))


def test_rules_with_ints_beyond_floats_are_refused() -> None:
    with pytest.raises(ParameterError, match="must be"):
        tl.PCFG.from_rules([("S", ("a",), HUGE)], start="S")


def test_instances_with_ints_beyond_floats_are_refused(tmp_path: Path) -> None:
    tree = TREES[1]
    with pytest.raises(
        ParameterError, match=r"The log probability in the field 'nbest\[0\]' must be a finite float64. Got 1000"
    ):
        RoleInstance(tree=tree, predicate=1, nbest=[(tree, HUGE)])
    line = json.dumps({"tree": tree, "predicate": 1, "nbest": [[HUGE, tree]]})
    with pytest.raises(FormatError, match=r"roles.jsonl:1: The log probability in the field 'nbest\[0\]'"):
        read_instances(_written(tmp_path / "roles.jsonl", line))


@pytest.mark.parametrize("lam", [HUGE, -HUGE])
def test_parameters_beyond_floats_are_refused(lam: int) -> None:
    with pytest.raises(ParameterError, match=r"'lam'.*a number in"):
        tl.SubsetTree(lam=lam)(TREES)
    with pytest.raises(ParameterError, match="must be a positive number of bytes"):
        parse_memory(HUGE)


def test_a_head_of_very_many_digits_is_refused() -> None:
    line = "\t".join(["1", "a", "_", "_", "_", "_", "9" * 5000, "root", "_", "_"])
    with pytest.raises(FormatError, match="another word, or 0 for a root"):
        read_conllu(io.StringIO(f"{line}\n\n"))


# --- word vectors ---------------------------------------------------------------------------------------------------


def npy(header: str, data: bytes = bytes(48), version: int = 1) -> bytes:
    text = header.encode("latin-1") + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


FINE = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }"


@pytest.mark.parametrize(
    "content",
    [
        npy(FINE.replace("3, 2", "1000000000000000000, 2")),
        npy(FINE.replace("3, 2", "1000000000000000000, 1000000000000000000")),
        npy(FINE.replace("3, 2", "9" * 400 + ", 2")),
        npy(FINE.replace("3, 2", "-3, -2")),
        npy(FINE.replace("3, 2", "3, 4")),
        npy(FINE.replace("<f8", "O")),
        npy(FINE.replace("'<f8'", "[('a', '<f8')]")),
        npy(FINE.replace("<f8", "<c16").replace("3, 2", "3, 1")),
        npy(FINE.replace("<f8", "<U2")),
        npy(FINE[:-5]),
        npy("("),
        npy('"""'),
        npy("[" * 300),
        npy("-" * 9000),
        npy("{'descr': 1, 'fortran_order': 2, 'shape': 3}"),
        npy("{" + "\0" + "}"),
        npy(FINE, version=3),
        npy(FINE)[:9],
        b"",
        b"\x93NUMPY",
    ],
)
def test_arrays_of_word_vectors_are_not_believed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "words.npy").write_bytes(content)
    (tmp_path / "words.txt").write_text("a\nb\nc\n", encoding="utf-8")
    with pytest.raises(FileError, match="cannot be read as a NumPy array"):
        WordVectors.read(tmp_path / "words.npy")


def test_arrays_of_word_vectors_are_read(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb\nc\n", encoding="utf-8")
    values = np.arange(6.0).reshape(3, 2)
    for array in (values, np.asfortranarray(values), values.astype(np.float16), values.astype(np.int8)):
        np.save(tmp_path / "words.npy", array)
        assert WordVectors.read(tmp_path / "words.npy") == WordVectors("abc", values)
    (tmp_path / "words.npy").write_bytes(npy(FINE, values.tobytes(), version=2))
    assert WordVectors.read(tmp_path / "words.npy") == WordVectors("abc", values)


# --- banks and models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["arity", "child", "label", "roots", "text_lengths", "texts"])
@pytest.mark.parametrize("harm", ["missing", "shorter", "signed", "number", "largest"])
def test_pickled_banks_are_not_believed(what: str, harm: str) -> None:
    arrays = tl.Treebank(TREES).packed()
    match harm:
        case "missing":
            del arrays[what]
        case "shorter":
            arrays[what] = arrays[what][:-1]
        case "signed":
            arrays[what] = arrays[what].astype(np.int16)
        case "number":
            arrays[what] = 7  # type: ignore[assignment]
        case "largest":
            arrays[what] = np.full(len(arrays[what]), 2**32 - 1, np.uint32)
    if (what, harm) == ("roots", "shorter"):
        assert len(tl.Treebank.unpacked(arrays)) == len(TREES) - 1
        return
    with pytest.raises(TreeError, match="The stored columns of a bank are damaged"):
        tl.Treebank.unpacked(arrays)


def parts_of(content: bytes) -> tuple[Any, bytes]:
    length = _PREFIX.unpack_from(content)[-1]
    return json.loads(content[_PREFIX.size :][:length]), content[_PREFIX.size + length : -32]


def joined(header: Any, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % 8)
    body = _PREFIX.pack(b"treelet\0", 2, 0, _PREFIX.size + len(text) + len(data) + 32, len(text)) + text + data
    return body + hashlib.sha256(body).digest()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("models") / "model.treelet"
    kernel = tl.SubsetTree().normalized()
    rows = [{"t": tree, "f": {"a": float(n)}} for n, tree in enumerate(TREES)]
    found = {}
    for name, model in {
        "svc": tl.KernelSVC(kernel + tl.PartialTree()).fit(TREES, LABELS),
        "table": tl.KernelSVC(tl.On("t", kernel) + tl.On("f", tl.Linear())).fit(rows, LABELS),
        "voted": tl.VotedPerceptron(kernel).fit(TREES, [1, 2, 3, 1], qid=[1, 1, 2, 2]),
        "sketch": tl.TreeSketch(n_components=64).fit(TREES),
        "nearest": tl.Nearest(kernel, n_neighbors=2).fit(TREES),
        "rls": tl.RLS(kernel).fit(TREES, [1.0, 2, 3, 1]),
    }.items():
        if name == "nearest":
            found[name] = (index_folder(model, path.with_name("index")) / "manifest.treelet").read_bytes()
            continue
        tl.save(model, path)
        found[name] = path.read_bytes()
    return found


def index_folder(search: tl.Nearest, folder: Path) -> Path:
    tl.save(search, folder)
    return folder


def use_index(folder: Path) -> None:
    search = tl.load(folder)
    search.kneighbors(TREES, 1)
    search.threshold_neighbors(0.5, TREES)
    assert len(search.ids_) == len(search.X_fit_)
    search.partial_fit(TREES[:1], ids=["new"])
    search.remove(["new"]).compact()


def test_altered_indexes_are_refused_or_used(tmp_path: Path) -> None:
    search = tl.Nearest(tl.SubsetTree().normalized()).fit(TREES, ids=[f"é{number}" for number in range(len(TREES))])
    search.remove(["é1"])
    folder = index_folder(search, tmp_path / "index")
    use_index(folder)
    refused = 0
    for path in sorted(folder.glob("*.tree*")):
        content = path.read_bytes()
        for seed in range(60):
            path.write_bytes(altered_model(content, random.Random(seed)))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    use_index(folder)
            except TreeletError:
                refused += 1
        path.write_bytes(content)
    assert refused > 40
    use_index(folder)


def test_a_manifest_alone_is_not_an_index(tmp_path: Path, models: dict[str, bytes]) -> None:
    (tmp_path / "m.treelet").write_bytes(models["nearest"])
    with pytest.raises(ModelFileError, match="is the manifest of an index"):
        tl.load(tmp_path / "m.treelet")


def test_a_part_that_is_not_the_kernels_is_refused(tmp_path: Path, models: dict[str, bytes]) -> None:
    header, data = parts_of(models["table"])
    for place in _places(header["model"], "place"):
        place["list"][1] = {"list": [{"tuple": ["f", "t"]}]}
    path = tmp_path / "model.treelet"
    path.write_bytes(joined(header, data))
    for read in (tl.load, load_predictor):
        with pytest.raises(ModelFileError, match="checksum is correct, but the content"):
            read(path)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [("sketch", "dtype", HUGE), ("sketch", "n_jobs", "many"), ("nearest", "n_neighbors", "x"), ("svc", "C", -1)],
)
def test_parameters_that_make_no_sense_are_refused(
    tmp_path: Path, models: dict[str, bytes], model: str, name: str, value: Any
) -> None:
    header, data = parts_of(models[model])
    params = next(_places(header["model"], "params"))
    assert name in [key for key, _ in params["dict"]]
    params["dict"] = [[key, value if key == name else item] for key, item in params["dict"]]
    path = tmp_path / "model.treelet"
    path.write_bytes(joined(header, data))
    with pytest.raises(ModelFileError, match="checksum is correct, but the content"):
        tl.load(path)


def test_a_card_with_what_json_has_not_is_passed_over(tmp_path: Path, models: dict[str, bytes]) -> None:
    header, data = parts_of(models["svc"])
    header["card"]["metrics"] = {"accuracy": float("inf")}
    path = tmp_path / "model.treelet"
    path.write_bytes(joined(header, data))
    tl.save(tl.load(path), path)
    assert tl.learn.card(path)["metrics"] is None


def test_an_empty_model_is_refused(tmp_path: Path, models: dict[str, bytes]) -> None:
    header, data = parts_of(models["svc"])
    header["model"] = {}
    path = tmp_path / "model.treelet"
    path.write_bytes(joined(header, data))
    for read in (tl.load, load_predictor):
        with pytest.raises(ModelFileError, match="checksum is correct, but the content"):
            read(path)


def _places(value: Any, name: str) -> Any:
    """All values under a name, wherever in a header."""
    waiting = [value]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, dict):
            if name in value and isinstance(value[name], dict):
                yield value[name]
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


# --- what lies beside a matrix ----------------------------------------------------------------------------------------


def test_an_altered_manifest_is_not_believed(tmp_path: Path) -> None:
    """It says that all is computed, of a matrix of which nothing is: without a checksum zeros would be the result."""
    path, kernel = tmp_path / "K.npy", tl.SubsetTree()
    K = tl.gram(kernel, TREES, out=path, resume=True).copy()
    manifest = json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))
    (tmp_path / "K.npy").unlink()
    Path(f"{path}.json").unlink()
    np.save(f"{path}.part", np.zeros_like(K))
    Path(f"{path}.part.npy").rename(f"{path}.part")
    for change in (
        {"plan": {**manifest["plan"], "blocks": []}, "done": {}},
        {"identity": {**manifest["identity"], "shape": 3}},
    ):
        Path(f"{path}.part.json").write_text(json.dumps({**manifest, "complete": None, **change}), encoding="utf-8")
        with pytest.warns(UserWarning, match="not a valid manifest of a matrix"):
            assert np.array_equal(tl.gram(kernel, TREES, out=path, resume=True), K)
        path.unlink()


# --- anything, altered anywhere ------------------------------------------------------------------------------------------

ODD: list[Any] = [
    0, -1, 2, HUGE, -HUGE, 1e308, 5e-324, float("nan"), float("inf"), True, None, "", "a", "(A a)", "(", [], {}, [[]], {"": 1},
    "\0", "\ud800", "\u2028", 2**31, 2**63, 10**18, "x" * 1000, "columns", "precomputed", [1, 2], {"list": []}, {"array": 0},
    {"treebank": 0}, {"tree": "(A a)"}, {"float": "nan"}, {"dict": []}, {"items": ["a", 1]},
]  # fmt: skip
TOKENS = [
    b"1e400", b"9" * 30, b"9" * 5000, b"-1", b"0", b"nan", b"null", b"[]", b"\0", "\u2028".encode(), b"((", b")", b"\t", b"\n",
    b"\r", b"_", b"|", b"\xff", b"\x1b[2J", b"\\", b'"', b"'", b"1-2", b"1.1", b":", b"1:1e999", b"##", b"<", b"&", b"/",
]  # fmt: skip


def altered(content: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice([1, 1, 2, 4])):
        begin = rng.randrange(len(content) + 1)
        end = min(len(content), begin + rng.choice([0, 0, 1, 2, 5, 20]))
        new = rng.choice([b"", rng.choice(TOKENS), rng.choice(TOKENS), content[rng.randrange(len(content) + 1) :][:20]])
        content = content[:begin] + new + content[end:]
    return content


def altered_json(value: Any, rng: random.Random) -> Any:
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice([1, 1, 2, 3])):
        places: list[tuple[Any, Any]] = []
        waiting = [value]
        while waiting:
            inside = waiting.pop()
            keys = list(inside) if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else []
            places += [(inside, key) for key in keys]
            waiting += [inside[key] for key in keys]
        if not places:
            break
        inside, key = rng.choice(places)
        match rng.randrange(4):
            case 0:
                del inside[key]
            case 1:
                other, place = rng.choice(places)
                inside[key] = json.loads(json.dumps(other[place]))
            case _:
                inside[key] = json.loads(json.dumps(rng.choice(ODD)))
    return value


def altered_model(content: bytes, rng: random.Random) -> bytes:
    header, data = parts_of(content)
    if rng.random() < 0.3 and data:
        changed = bytearray(data)
        for _ in range(3):
            changed[rng.randrange(len(changed))] = rng.choice([0, 1, 127, 128, 255])
        return joined(header, bytes(changed))
    return joined(altered_json(header, rng), data)


def _written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def use_bank(bank: Any, kernel: Any) -> None:
    repr(bank), [str(item) for item in bank], pickle.loads(pickle.dumps(bank)), bank + bank
    kernel(bank)


def use_trees(path: Path) -> None:
    for on_error in ("skip", "raise"):
        bank = tl.read_trees(path, on_error=on_error)
        use_bank(bank, tl.SubsetTree())
        bank.write(path.with_name("again.mrg"))


def use_grammar(grammar: tl.PCFG) -> None:
    repr(grammar), grammar.lexical("zebra"), grammar.lexical("Cat", first=True), grammar.parse(["the", "cat"], k=2)


def use_model(path: Path) -> None:
    header, _ = parts_of(path.read_bytes())
    X: Any = [{"t": tree, "f": {"a": 1.0}} for tree in TREES] if '"On"' in json.dumps(header) else TREES
    for read in (load_predictor, tl.load):
        try:
            model = read(path)
        except TreeletError:
            continue
        repr(model)
        for name in ("predict", "decision_function", "transform", "kneighbors"):
            if hasattr(model, name):
                with suppress(TreeletError):
                    getattr(model, name)(X)
        if read is tl.load:
            tl.save(model, path.with_name("again.treelet"))


def use_instances(path: Path) -> None:
    from treelet.structures import write_instances

    found = read_instances(path)
    write_instances(found, path.with_name("again.jsonl"))
    assert read_instances(path.with_name("again.jsonl")) == found


def use_vectors(path: Path) -> None:
    vectors = WordVectors.read(path)
    repr(vectors), tl.Smoothed(vectors)(TREES)


CONLLU = "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n3\tran\trun\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
ROLE = {"tree": TREES[1], "predicate": 1, "arguments": [["ARG0", 0, 1]], "sent": 3, "nbest": [[-1.5, TREES[1]]]}
TEXTS: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "brackets": ("x.mrg", "\n".join(TREES), use_trees),
    "tsv": ("x.tsv", "".join(f"a\t{tree}\n" for tree in TREES), use_trees),
    "csv": ("x.csv", "".join(f"a,{tree}\n" for tree in TREES), use_trees),
    "kelp": ("x.klp", f"a |BT:t| {TREES[3]} |ET| |BV:f| a:1 b:2.5 |EV|\nb |BS:q| 1 |ES| |BT:t| (A a) |ET|\n", use_trees),
    "svmlight": ("x.dat", f"1 |BT| {TREES[3]} |ET| 1:0.5 7:1 |EV|\n-1 |BT| (A a) |ET| 3:2 |EV|\n", use_trees),
    "conllu": ("x.conllu", CONLLU * 2, use_trees),
    "parses": ("x.conllu", CONLLU * 2, lambda path: use_bank(read_conllu(path), tl.Locality())),
    "tagged": ("x.txt", "the/D cat/N ran/V\na/D dog/N\n", lambda path: use_bank(tl.read_tagged(path), tl.Tagging())),
    "vectors": ("x.vec", "3 2\ncat 1 0.2\ndog 1 0.3\napple 0 1\n", use_vectors),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_altered_texts_are_refused_or_used(tmp_path: Path, name: str) -> None:
    file, text, use = TEXTS[name]
    for seed in range(60):
        _try(use, _written(tmp_path / file, altered(text.encode(), random.Random(seed))))


@pytest.mark.parametrize("name", ["grammar", "roles", "forest"])
def test_altered_json_is_refused_or_used(tmp_path: Path, name: str) -> None:
    grammar = tl.PCFG.from_treebank(TREES, markov=1)
    path = tmp_path / "x.json"
    if name == "grammar":
        grammar.save(path)
        content, use = json.loads(path.read_text(encoding="utf-8")), lambda path: use_grammar(tl.PCFG.load(path))
    elif name == "roles":
        content, use = ROLE, use_instances
    else:
        content = json.loads(tl.ForestBank([grammar.forest(["the", "cat", "saw", "a", "dog"])]).lines()[0])
        use = lambda path: use_bank(tl.read_forests(path), tl.ForestKernel())
    for seed in range(120):
        _try(use, _written(path, json.dumps(altered_json(content, random.Random(seed)))))


@pytest.mark.parametrize("name", ["svc", "table", "voted", "sketch", "nearest", "rls"])
def test_altered_models_are_refused_or_used(tmp_path: Path, models: dict[str, bytes], name: str) -> None:
    for seed in range(40):
        _try(use_model, _written(tmp_path / "m.treelet", altered_model(models[name], random.Random(seed))))


def _try(use: Callable[[Path], None], path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(TreeletError):
            use(path)
