"""``treelet train``, ``predict`` and ``evaluate``, from file to file."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import classification_report, confusion_matrix
from sklearn.model_selection import StratifiedKFold

import treelet as tl
from conftest import fail, run, run_python
from treelet.cli import evaluate
from treelet.cli import train as train_module
from treelet.cli.explain import _text as explain_text
from treelet.drawing.confusion import confusion_svg
from treelet.learn import selection
from treelet.learn.outputs import load_predictor
from treelet.metrics import predictions

FRAGMENTS = {
    "place": ["(WH (W where))", "(WH (P in) (WH (W what) (N city)))"],
    "person": ["(WH (W who))", "(WH (W what) (N man))"],
    "time": ["(WH (W when))", "(WH (W what) (N year))"],
}
WORDS = ["rain", "dog", "king", "song", "ship"]


def generate(n: int, seed: int, classes: tuple[str, ...] = ("person", "place", "time")) -> list[tuple[str, str]]:
    """Labeled trees, told apart by one fragment somewhere in them."""
    rng = random.Random(seed)
    examples = []
    for k in range(n):
        label = classes[k % len(classes)]
        noun = f"(NP (N {rng.choice(WORDS)}))"
        if rng.random() < 0.5:
            noun = f"(NP (D {rng.choice(['a', 'the'])}) (N {rng.choice(WORDS)}))"
        verb = f"(VP (V {rng.choice(['saw', 'made', 'was'])}) {noun})"
        examples.append((label, f"(S {rng.choice(FRAGMENTS[label])} {verb})"))
    return examples


def write_tsv(path: Path, examples: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{label}\t{tree}\n" for label, tree in examples), encoding="utf-8")
    return path


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_tsv(tmp_path / "train.tsv", generate(60, seed=1))


@pytest.fixture
def test(tmp_path: Path) -> Path:
    return write_tsv(tmp_path / "test.tsv", generate(30, seed=2))


def succeed(*args: object, input: str | bytes | None = None) -> str:
    result = run(*args, input=input)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def report(*args: object, input: str | bytes | None = None):
    return json.loads(succeed(*args, "--json", input=input))


def fitted(train: Path, kernel: tl.kernels.Kernel, **params) -> tl.KernelSVC:
    X, y = tl.read_examples(train)
    return tl.KernelSVC(kernel, **params).fit(X, y)


# --- all three ----------------------------------------------------------------------------------------------------


def test_train_predict_evaluate(train: Path, test: Path) -> None:
    model = train.with_name("m.treelet")
    text = succeed("train", train, "-o", model)
    for part in (
        "60 from",
        "3: person 20, place 20, time 20",
        "SubsetTree(lam=0.4).normalized()",
        "C=1\n",
        "m.treelet",
    ):
        assert part in text
    assert f"{model.stat().st_size:,} bytes" in text

    expected = fitted(train, tl.SubsetTree(lam=0.4).normalized())
    X, truth = tl.read_examples(test)
    guessed = expected.predict(X).tolist()
    assert succeed("predict", model, test).splitlines() == guessed

    result = report("evaluate", model, test)
    right = sum(a == b for a, b in zip(truth, guessed, strict=True))
    assert right >= 25, "the classes are told apart by a fragment"
    assert result["accuracy"] == right / 30
    assert result["correct"] == right
    assert f"{100 * right / 30:.2f} %" in succeed("evaluate", model, test)
    assert sorted(os.listdir(train.parent)) == ["m.treelet", "test.tsv", "train.tsv"]
    assert model.stat().st_mode & 0o777 == train.stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("options", "kernel", "params"),
    [
        (["-k", "sst", "--lam", "0.7", "--max-depth", "2", "--C", "5"], tl.SubsetTree(0.7, max_depth=2).normalized(), {"C": 5}),
        (["-k", "st", "--no-normalize"], tl.Subtree(), {}),
        (
            ["-k", "pt", "--lam", "0.5", "--mu", "0.3", "--no-leaves", "--jobs", "2"],
            tl.PartialTree(0.5, 0.3, leaves=False).normalized(),
            {},
        ),
        (["--class-weight", "balanced"], tl.SubsetTree().normalized(), {"class_weight": "balanced"}),
    ],
)  # fmt: skip
def test_options_make_that_classifier(
    train: Path, test: Path, options: list[str], kernel: tl.kernels.Kernel, params
) -> None:
    model = train.with_name("m.treelet")
    result = report("train", train, "-o", model, *options)
    assert result["kernel"] == repr(kernel)
    assert result["C"] == params.get("C", 1)
    loaded, expected = tl.load(model), fitted(train, kernel, **params)
    X, _ = tl.read_examples(test)
    np.testing.assert_allclose(loaded.decision_function(X), expected.decision_function(X), atol=1e-9)
    assert loaded.class_weight == params.get("class_weight")


def test_train_json(train: Path) -> None:
    model = train.with_name("m.treelet")
    result = report("train", train, "-o", model)
    stats = tl.load(model).model_.stats()
    assert result["examples"] == 60
    assert result["classes"] == {"person": 20, "place": 20, "time": 20}
    assert result["support_examples"] == stats.support_examples > 0
    assert result["model"]["distinct_subtrees"] == stats.distinct_subtrees
    assert result["model"]["compression"] == pytest.approx(stats.compression)
    assert result["grid"] is None
    assert result["bytes"] == model.stat().st_size
    assert {"start", "read", "fit", "total"} <= result["seconds"].keys()


# --- grid ---------------------------------------------------------------------------------------------------------


def test_grid_scores_are_those_of_the_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    noisy = [(label if rng.random() < 0.8 else "time", tree) for label, tree in generate(60, seed=3)]
    train = write_tsv(tmp_path / "train.tsv", noisy)
    computed = []
    gram = selection.host_matrix
    monkeypatch.setattr(
        selection, "host_matrix", lambda kernel, *args, **rest: computed.append(kernel) or gram(kernel, *args, **rest)
    )
    model = tmp_path / "m.treelet"
    result = report("train", train, "-o", model, "--grid", "--C", "0.5,5", "--seed", 4, "--jobs", 2)
    assert len(computed) == len(train_module._DECAYS["sst"]["lam"]), "one matrix a kernel"

    X, y = tl.read_examples(train)
    labels = np.array(y)
    splits = list(StratifiedKFold(5, shuffle=True, random_state=4).split(labels, labels))
    best = (-1, {})
    for row in result["grid"]["scores"]:
        kernel = tl.SubsetTree(row["lam"]).normalized()
        clf = tl.KernelSVC(kernel, C=row["C"])
        folds = [np.mean(clf.fit(X[a], labels[a]).predict(X[b]) == labels[b]) for a, b in splits]
        np.testing.assert_allclose(row["folds"], folds)
        if row["accuracy"] > best[0]:
            best = row["accuracy"], {"lam": row["lam"], "C": row["C"]}
    assert len({row["accuracy"] for row in result["grid"]["scores"]}) > 1, "nothing to choose"
    assert result["grid"]["best"] == best[1]
    assert tl.load(model).C == result["C"] == best[1]["C"]
    assert result["kernel"] == repr(tl.SubsetTree(lam=best[1]["lam"]).normalized())


def test_grid_prints_its_table_and_leaves_alone_what_is_given(train: Path) -> None:
    model = train.with_name("m.treelet")
    text = succeed("train", train, "-o", model, "--grid", "-k", "pt", "--lam", "0.3", "--C", "2")
    table = text.split("\n\n", maxsplit=1)[0].splitlines()
    assert table[1].split() == ["lam", "mu", "C=2"]
    rows = [line.split() for line in table[2:5]]
    assert [row[:2] for row in rows] == [["0.3", "0.2"], ["0.3", "0.4"], ["0.3", "0.8"]]
    assert sum(row[2].endswith("*") for row in rows) == 1
    assert table[5].startswith("chosen: lam=0.3, mu=")
    assert tl.load(model).kernel.kernel.lam == 0.3


def test_grid_passes_over_values_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = "(N n)"
    for _ in range(10):
        tree = f"(A {tree} {tree})"
    train = write_tsv(tmp_path / "train.tsv", [("large", tree), ("small", "(A (N n))")] * 5)
    monkeypatch.setitem(train_module._DECAYS, "sst", {"lam": (0.01, 1.0)})
    options = ("train", train, "-o", tmp_path / "m.treelet", "--grid", "--no-normalize")
    result = report(*options)
    assert result["grid"]["overflow"] == [{"lam": 1.0}]
    assert result["grid"]["best"]["lam"] == 0.01
    assert "kernel values overflow float64" in succeed(*options)
    assert "is too large for a float64" in fail(*options, "--lam", "1")


def test_grid_needs_two_of_each(tmp_path: Path) -> None:
    train = write_tsv(tmp_path / "train.tsv", [*generate(10, 1, ("person", "place")), ("odd", "(S (X x))")])
    assert "Class 'odd' has only one" in fail("train", train, "-o", tmp_path / "m.treelet", "--grid")
    write_tsv(train, [*generate(10, 1, ("person", "place")), ("odd", "(S (X x))"), ("odd", "(S (X x) (X x))")])
    assert report("train", train, "-o", tmp_path / "m.treelet", "--grid")["grid"]["folds"] == 5


# --- SVM-Light-TK -------------------------------------------------------------------------------------------------


def svmlight(path: Path, n: int, seed: int, positive: str = "+1") -> Path:
    """Trees say nothing; vectors and second trees do."""
    rng = random.Random(seed)
    lines = []
    for k in range(n):
        sign = positive if k % 2 else "-1"
        tree = f"(S (N {rng.choice(WORDS)}) (V {rng.choice(['saw', 'was'])}))"
        feature = 1 if k % 2 else 2
        lines.append(f"{sign} |BT| {tree} |ET| {feature}:{1 + rng.random():.3f} 9:0.1 |EV| # {k}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_model_takes_the_same_vectors_from_either_format(tmp_path: Path) -> None:
    train, model = svmlight(tmp_path / "train.dat", 40, 1), tmp_path / "m.treelet"
    kelp, back = tmp_path / "train.klp", tmp_path / "back.dat"
    assert run("convert", train, kelp).exit_code == run("convert", kelp, back).exit_code == 0
    succeed("train", train, "-o", model, "--vectors", "1")
    scores = succeed("predict", model, train, "--scores")
    assert "|BV:vector| 1:" in kelp.read_text(encoding="utf-8")
    assert succeed("predict", model, kelp, "--scores") == scores
    assert succeed("predict", model, back, "--scores") == scores
    other = tmp_path / "other.dat"
    other.write_text(
        "1 |BT| (S (N a) (V saw)) |ET| 11:1 |EV|\n-1 |BT| (S (N a) (V was)) |ET| 12:1 15:2 |EV|\n", encoding="utf-8"
    )
    warned = f"treelet: warning: {other}: none of the features in the column 'vector' was seen in training"
    for result in (run("predict", model, other), run("evaluate", model, other)):
        assert (result.exit_code, result.stderr.startswith(warned)) == (0, True)
        assert result.stderr.endswith("Features in the file: 11, 12, 15. Features in training: 2, 9, 1.\n")


def test_svm_light_tk_files_unchanged(tmp_path: Path) -> None:
    train = svmlight(tmp_path / "train.dat", 40, 1)
    test = svmlight(tmp_path / "test.dat", 20, 2, positive="1.0")
    model = tmp_path / "m.treelet"
    assert "not used  feature vectors vector; add them with --vectors 1" in succeed("train", train, "-o", model)
    without = report("evaluate", model, test)
    result = report("train", train, "-o", model, "--vectors", "0.5")
    kernel = tl.On("tree", tl.SubsetTree().normalized()) + 0.5 * tl.On("vector", tl.Linear())
    assert result["kernel"] == repr(kernel)
    assert result["classes"] == {"-1": 20, "1": 20}
    X, y = tl.read_examples(train)
    assert set(y) == {"1", "-1"}
    expected = tl.KernelSVC(kernel).fit(X, y)
    lines = [line.split("\t") for line in succeed("predict", model, test, "--scores").splitlines()]
    assert lines[0] == ["label", "-1", "1"]
    scores = expected.decision_function(tl.read_examples(test)[0])
    np.testing.assert_allclose([float(line[2]) for line in lines[1:]], scores, atol=1e-9)
    assert [float(line[1]) for line in lines[1:]] == [-float(line[2]) for line in lines[1:]]
    with_vectors = report("evaluate", model, test)
    assert with_vectors["accuracy"] == 1 > without["accuracy"]
    assert with_vectors["unknown"] == {}, "+1 and 1.0 are one class"

    result = report("train", train, "-o", model, "--vectors", "1", "--normalize-vectors")
    assert result["kernel"] == repr(
        tl.On("tree", tl.SubsetTree().normalized()) + tl.On("vector", tl.Linear().normalized())
    )
    first, *_ = succeed("explain", model, test, "--top", "3").split("\n\n")
    assert " vector[2] = 1." in first, "features are listed beside fragments"
    assert report("explain", model, test)["examples"][0]["fragments"][0]["fragment"].startswith("vector[2] = 1.")


def test_pairs_of_trees(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.klp"
    lines = [
        f"{label} |<| |BT:t| (S ({mark}N cat) (V {verb})) |ET| |,| |BT:t| (S ({mark}N cats) (V ran)) |ET| |>|\n"
        for label, mark in (("yes", "REL-"), ("no", ""))
        for verb in ("runs", "sat")
    ]
    pairs.write_text("".join(lines), encoding="utf-8")
    model = tmp_path / "m.treelet"
    succeed("train", pairs, "-o", model, "--kernel", "sst")
    assert succeed("predict", model, pairs).split() == ["yes", "yes", "no", "no"]
    fragments = report("explain", model, pairs)["examples"][0]["fragments"]
    assert {fragment["column"] for fragment in fragments} == {"left/t", "right/t"}
    assert not any(":" in fragment["fragment"] for fragment in fragments)
    assert "  right/t: (REL-N cats)" in succeed("explain", model, pairs)
    assert run("convert", pairs, tmp_path / "again.klp", "--to", "kelp").exit_code == 0
    assert (tmp_path / "again.klp").read_text(encoding="utf-8") == pairs.read_text(encoding="utf-8")


def test_several_trees_a_line(tmp_path: Path) -> None:
    examples = generate(30, 1, ("person", "place"))
    train, test, model = tmp_path / "train.dat", tmp_path / "test.dat", tmp_path / "m.treelet"
    lines = [f"{label} |BT| (S (N x)) |BT| {tree} |ET|\n" for label, tree in examples]
    train.write_text("".join(lines), encoding="utf-8")
    sst = tl.SubsetTree().normalized()
    assert report("train", train, "-o", model)["kernel"] == repr(tl.On("tree1", sst) + tl.On("tree2", sst))
    assert report("train", train, "-o", model, "--column", "tree2")["kernel"] == repr(tl.On("tree2", sst))
    assert report("evaluate", model, train)["accuracy"] == 1
    assert "file has no tree column 'tree3'" in fail("train", train, "-o", model, "--column", "tree3")

    # No line has a second tree: the column is called otherwise, and the second is missing everywhere.
    succeed("train", train, "-o", model)
    test.write_text("person |BT| (S (N x)) |ET|\nplace |BT| (S (N x)) |ET|\n", encoding="utf-8")
    X = tl.structures.Table({"tree1": ["(S (N x))"] * 2, "tree2": [None] * 2})
    result = run("predict", model, test)
    assert (result.exit_code, result.stdout.splitlines()) == (0, tl.load(model).predict(X).tolist())
    warned = f"treelet: warning: {test}: the model was trained with the column 'tree2', which no line contains. These values are treated as missing.\n"
    assert result.stderr == warned


def test_kelp(tmp_path: Path) -> None:
    file, model = tmp_path / "train.klp", tmp_path / "m.treelet"
    lines = [f"{label} |BT:parse| {tree} |ET| |BV:bow| {label}:1 |EV|\n" for label, tree in generate(12, 1)]
    file.write_text("".join(lines), encoding="utf-8")
    result = report("train", file, "-o", model, "--vectors", "1")
    assert result["kernel"] == repr(tl.On("parse", tl.SubsetTree().normalized()) + tl.On("bow", tl.Linear()))
    assert report("evaluate", model, file)["accuracy"] == 1
    # one column of trees whose name does not matter
    file.write_text("".join(line.split(" |BV:")[0] + "\n" for line in lines), encoding="utf-8")
    succeed("train", file, "-o", model, "--C", "100")
    assert report("evaluate", model, write_tsv(tmp_path / "t.tsv", generate(12, 1)))["accuracy"] == 1


# --- streams and files without labels -----------------------------------------------------------------------------


def test_streams(train: Path, test: Path) -> None:
    model = train.with_name("m.treelet")
    succeed("train", "-", "--format", "tsv", "-o", model, input=train.read_bytes())
    expected = succeed("predict", model, test)
    assert succeed("predict", model, "-", "--format", "tsv", input=test.read_bytes()) == expected
    assert succeed("predict", model, "-", "--format", "tsv", "-o", "-", input=test.read_bytes()) == expected
    direct = report("evaluate", model, test)
    streamed = report("evaluate", model, "-", "--format", "tsv", input=test.read_bytes())
    assert streamed["file"] == "<stdin>"
    assert streamed["confusion"] == direct["confusion"]


def test_files_without_labels(train: Path, test: Path) -> None:
    model = train.with_name("m.treelet")
    succeed("train", train, "-o", model)
    expected = succeed("predict", model, test)
    trees = [line.split("\t")[1] for line in test.read_text(encoding="utf-8").splitlines()]
    text = "\n".join(trees) + "\n"
    for name, content in {
        "trees.tsv": f"\n{text}",
        "trees.mrg": text,
        "trees.txt": text,
        "empty.tsv": "".join(f"\t{tree}\n" for tree in trees),
    }.items():
        file = test.with_name(name)
        file.write_text(content, encoding="utf-8")
        assert succeed("predict", model, file) == expected
        assert "the examples have no class labels" in fail("evaluate", model, file)
        assert "the examples have no class labels" in fail("train", file, "-o", model)
    packed = test.with_name("trees.tsv.gz")
    packed.write_bytes(gzip.compress(text.encode()))
    assert succeed("predict", model, packed) == expected
    zeros = test.with_name("trees.dat")
    tl.Treebank(trees).write(zeros)
    assert succeed("predict", model, zeros) == expected
    assert "class labels, because all targets are 0" in fail("evaluate", model, zeros)
    file.write_text(f"a\t{trees[0]}\n\t{trees[1]}\n", encoding="utf-8")
    assert "example 2 has an empty label" in fail("train", file, "-o", model)


def test_predict_to_a_file_and_json(train: Path, test: Path) -> None:
    model, out = train.with_name("m.treelet"), train.with_name("out.tsv")
    succeed("train", train, "-o", model)
    printed = succeed("predict", model, test, "--scores")
    assert succeed("predict", model, test, "--scores", "-o", out) == ""
    assert out.read_text(encoding="utf-8") == printed
    result = report("predict", model, test, "--scores")
    rows = [line.split("\t") for line in printed.splitlines()]
    assert rows[0] == ["label", *result["classes"]] == ["label", "person", "place", "time"]
    assert [row[0] for row in rows[1:]] == result["labels"]
    assert [[float(value) for value in row[1:]] for row in rows[1:]] == result["scores"]
    best = [result["classes"][int(np.argmax(row))] for row in result["scores"]]
    assert best == result["labels"]
    assert "scores" not in report("predict", model, test)
    summary = report("predict", model, test, "-o", out)
    assert summary["output"] == str(out)
    assert "labels" not in summary
    assert out.read_text(encoding="utf-8").splitlines() == result["labels"]


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_predicting_loads_no_scikit_learn(train: Path, test: Path, command: str) -> None:
    """Which takes a second, and SciPy a part of one."""
    model = train.with_name("m.treelet")
    succeed("train", train, "-o", model)
    code = (
        "import sys; from treelet.cli.main import app\n"
        f"try: app(['{command}', {str(model)!r}, {str(test)!r}])\n"
        "except SystemExit as end: assert not end.code\n"
        "print([name for name in ('sklearn', 'scipy') if name in sys.modules])"
    )
    assert run_python(code).splitlines()[-1] == "[]"


def test_a_saved_classifier_predicts_the_same(train: Path, test: Path) -> None:
    clf = fitted(train, tl.SubsetTree().normalized() + 1)
    path = train.with_name("m.treelet")
    tl.save(clf, path)
    X = tl.read_examples(test)[0]
    saved = load_predictor(path, n_jobs=2)
    np.testing.assert_array_equal(saved.decision_function(X), clf.decision_function(X))
    np.testing.assert_array_equal(saved.predict(X), clf.predict(X))
    K = clf.model_.kernel(X)
    tl.save(tl.KernelSVC("precomputed").fit(K, [0, 1] * (len(X) // 2) + [0] * (len(X) % 2)), path)
    with pytest.raises(tl.errors.InputTypeError, match="kernel matrix, so it cannot predict"):
        load_predictor(path)
    tl.save(tl.KernelMatrix().fit(X), path)
    with pytest.raises(tl.errors.InputTypeError, match="KernelMatrix, which cannot predict"):
        load_predictor(path)


def test_predict_trees_in_brackets(train: Path, test: Path) -> None:
    model = train.with_name("m.treelet")
    succeed("train", train, "-o", model)
    trees = [line.split("\t")[1] for line in test.read_text(encoding="utf-8").splitlines()]
    assert succeed("predict", model, *trees) == succeed("predict", model, test)
    assert "(A a" in fail("evaluate", model, "(A a)")  # which needs labels


def test_predict_nothing(train: Path) -> None:
    model, empty = train.with_name("m.treelet"), train.with_name("empty.tsv")
    succeed("train", train, "-o", model)
    empty.write_text("", encoding="utf-8")
    for options, told in ([], ""), (["--scores"], "label\tperson\tplace\ttime\n"):
        result = run("predict", model, empty, *options)
        assert (result.exit_code, result.stdout) == (0, told)
        assert result.stderr.startswith(f"treelet: warning: {empty}: the file contains no trees")
    assert "the file contains no examples" in fail("evaluate", model, empty)


def test_trees_that_the_model_knows_nothing_of_are_said(train: Path, tmp_path: Path) -> None:
    model, other = train.with_name("m.treelet"), tmp_path / "other.py"
    succeed("train", train, "-o", model)
    other.write_text("import os\nos.getcwd()\n", encoding="utf-8")
    result = run("predict", model, other)
    assert result.exit_code == 0
    assert re.search("1 example has no fragment in common", result.stderr)


# --- evaluate -----------------------------------------------------------------------------------------------------


def test_labels_that_the_model_does_not_know(train: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.treelet"
    succeed("train", train, "-o", model)
    examples = generate(12, seed=1)
    known = report("evaluate", model, write_tsv(tmp_path / "test.tsv", examples))
    test = write_tsv(tmp_path / "test.tsv", [*examples, ("reason", "(S (WH (W why)))"), ("reason", examples[0][1])])
    told = run("evaluate", model, test, "--json")
    line = "2 of 14 examples have labels that do not occur in the training data, and count as errors: 'reason' (2).\n"
    assert (told.exit_code, told.stderr) == (0, f"treelet: warning: {test}: {line}")
    result = json.loads(told.stdout)
    assert result["unknown"] == {"reason": 2}
    assert result["examples"] == 14
    assert result["correct"] == known["correct"]
    assert result["classes"]["reason"] == {"precision": 0, "recall": 0, "f1": 0, "support": 2}
    labels, matrix = result["confusion"]["labels"], np.array(result["confusion"]["matrix"])
    assert labels == ["person", "place", "time", "reason"]
    assert matrix[3].sum() == 2
    assert matrix[:, 3].sum() == 0
    with pytest.warns(tl.errors.UnseenLabelWarning, match=r"14 examples.*'reason' \(2\)"):
        score = tl.load(model).score(*tl.read_examples(test))
    assert score == result["accuracy"]


def test_labels_of_which_none_was_seen_are_an_error(train: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.treelet"
    succeed("train", train, "-o", model)
    test = write_tsv(tmp_path / "test.tsv", [(label.upper(), tree) for label, tree in generate(6, seed=1)])
    line = fail("evaluate", model, test)
    assert "labels occur in the training data" in line
    assert "in the training data: 'person', 'place', 'time'. Check the file name and the column of the labels." in line
    with pytest.warns(tl.errors.UnseenLabelWarning, match="labels occur in the training data"):
        assert tl.load(model).score(*tl.read_examples(test)) == 0


def test_the_numbers_are_scikit_learns(tmp_path: Path) -> None:
    rng = random.Random(5)
    noisy = [(label if rng.random() < 0.7 else "time", tree) for label, tree in generate(60, seed=6)]
    train, model = write_tsv(tmp_path / "train.tsv", generate(60, seed=1)), tmp_path / "m.treelet"
    test = write_tsv(tmp_path / "test.tsv", noisy)
    succeed("train", train, "-o", model)
    result = report("evaluate", model, test)
    truth, guessed = [label for label, _ in noisy], succeed("predict", model, test).splitlines()
    expected = classification_report(truth, guessed, output_dict=True)
    assert 0.5 < result["accuracy"] < 1
    for label, figures in result["classes"].items():
        row = expected[label]
        assert figures == pytest.approx({"precision": row["precision"], "recall": row["recall"], "f1": row["f1-score"], "support": row["support"]})  # fmt: skip
    assert result["macro"]["f1"] == pytest.approx(expected["macro avg"]["f1-score"])
    assert result["micro"] == pytest.approx(dict.fromkeys(("precision", "recall", "f1"), result["accuracy"]))
    assert result["confusion"]["matrix"] == confusion_matrix(truth, guessed).tolist()
    rows = [line.split() for line in succeed("evaluate", model, test).splitlines()]
    head = rows.index(["true", "person", "place", "time"])
    cells = [[0 if cell == "." else int(cell) for cell in row[1:]] for row in rows[head + 1 : head + 4]]
    assert cells == result["confusion"]["matrix"]


@pytest.mark.parametrize(("right", "n"), [(90, 100), (1, 3), (453, 500), (0, 10), (10, 10)])
def test_wilson_interval(right: int, n: int) -> None:
    # Its ends are those p from which the share lies 1.96 standard deviations of p away.
    low, high = predictions._wilson(right, n)
    assert 0 <= low < high <= 1
    for p in (low, high):
        if 1e-12 < p < 1 - 1e-12:
            assert abs(right / n - p) == pytest.approx(1.959964 * (p * (1 - p) / n) ** 0.5, rel=1e-6)
    assert (low <= 1e-12) == (right == 0)
    assert (high >= 1 - 1e-12) == (right == n)


def test_many_classes_list_confusions_instead_of_a_table() -> None:
    truth = [f"a-rather-long-label-{k % 12}" for k in range(48)]
    guessed = ["a-rather-long-label-0"] * 48
    result = predictions.class_figures(truth, guessed, sorted(set(truth)))
    text = evaluate._text(result)
    assert "confusions (true -> predicted)" in text
    assert "       4  a-rather-long-label-1 -> a-rather-long-label-0" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(("suffix", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg")])
def test_picture(train: Path, test: Path, suffix: str, begin: bytes) -> None:
    if suffix != "svg":
        pytest.importorskip("matplotlib")
    model, picture = train.with_name("m.treelet"), train.with_name(f"confusion.{suffix}")
    succeed("train", train, "-o", model)
    assert f"picture: {picture}" in succeed("evaluate", model, test, "--picture", picture)
    assert picture.read_bytes().startswith(begin)
    assert report("evaluate", model, test, "--picture", picture)["picture"] == str(picture)


def test_contents_of_the_picture() -> None:
    truth, guessed = ["a"] * 4 + ["b"] * 6, ["a"] * 3 + ["b"] * 7
    matrix = predictions.class_figures(truth, guessed, ["a", "b"])["confusion"]
    root = ElementTree.fromstring(
        confusion_svg(**matrix, title="Accuracy 90.0 %", subtitle="9 of 10 correct, 95 % interval 60 to 98")
    )
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "Accuracy 90.0 %"
    assert texts[1].startswith("9 of 10 correct, 95 % interval ")
    assert texts[2:8] == ["3", "1", "a  (4)", "6", "b  (6)", "a"]  # zeros are not written
    assert {"predicted class", "true class (examples)", "share"} <= set(texts)
    cells = [rect.attrib["fill"] for rect in root.iter("{http://www.w3.org/2000/svg}rect")][:4]
    assert cells[2] == "#f7fbff"  # a share of 0
    assert cells[3] == "#08306b"  # a share of 1


def test_long_names_of_classes_are_tilted_and_inside_the_picture() -> None:
    names = [f"a-class-with-a-long-name-{k}<&" for k in range(30)]
    svg = confusion_svg(names, np.eye(30, dtype=int).tolist(), title="Accuracy")
    assert svg.count("rotate(-50") == 30
    for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        assert 0 < float(text.attrib["x"]) < svg.width
        assert 0 < float(text.attrib["y"]) < svg.height


def test_picture_without_matplotlib(train: Path, test: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = train.with_name("m.treelet")
    succeed("train", train, "-o", model)
    monkeypatch.setattr(import_module("treelet.drawing.drawing"), "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'treelet[viz]'" in fail("evaluate", model, test, "--picture", train.with_name("c.png"))
    assert "must end in .png, .pdf or .svg" in fail("evaluate", model, test, "--picture", train.with_name("c.bmp"))
    succeed("evaluate", model, test)
    picture = train.with_name("c.svg")
    succeed("evaluate", model, test, "--picture", picture)
    assert picture.read_text(encoding="utf-8").endswith("</svg>\n")


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_no_model(test: Path, command: str) -> None:
    assert "contains trees, not a saved model" in fail(command, test, test)
    assert "the file does not exist" in fail(command, test.with_name("nothing.treelet"), test)
    matrix = test.with_name("matrix.treelet")
    tl.save(tl.KernelMatrix(tl.SubsetTree()).fit(["(A x)"]), matrix)
    assert "KernelMatrix, which cannot predict" in fail(command, matrix, test)


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_file_that_lacks_what_the_model_needs(tmp_path: Path, train: Path, command: str) -> None:
    file, model = svmlight(tmp_path / "train.dat", 10, 1), tmp_path / "m.treelet"
    vectors = tmp_path / "vectors.dat"
    vectors.write_text("1 1:1\n-1 2:1\n", encoding="utf-8")
    succeed("train", train, "-o", model)
    assert "model needs exactly one tree per example" in fail(command, model, vectors)
    report = tmp_path / "report.html"
    assert "model needs exactly one tree per" in fail("explain", model, vectors, "-o", report)
    assert not report.exists()
    succeed("train", file, "-o", model, "--vectors", "1")
    assert "has the vector column 'vector'" in fail(command, model, vectors)
    assert "the model needs the column 'vector'" in fail(command, model, train)
    assert "vector column 'vector'" in fail("train", vectors, "-o", model)
    assert "--vectors needs feature vectors" in fail("train", train, "-o", model, "--vectors", "1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--C", "0"], "--C must be a number in (0, inf), or several separated by commas. Got '0' instead."),
        (["--C", "nan"], "--C must be a number in (0, inf), or several separated by commas. Got 'nan' instead."),
        (["--vectors", "-1"], "--vectors must be a finite number above 0. Got "),
        (["--normalize-vectors"], "Add --vectors"),
        (["--class-weight", "heavy"], "--class-weight must be 'balanced'"),
        (["--seed", "-1"], "--seed"),
        (["--mu", "0.5"], "--mu does not apply to --kernel sst. Use --kernel pt, or remove --mu."),
        (["--lam", "2"], "--lam must be a number in (0, 1], or several separated by commas. Got '2' instead."),
        (["--jobs", "0"], "--jobs must be a whole number"),
        (["--format", "yaml"], "--format must be"),
        (["--column", "parse"], "the file has no tree column 'parse', only the tree column 'tree'."),
    ],
)
def test_bad_options_leave_nothing_behind(train: Path, options: list[str], message: str) -> None:
    model = train.with_name("m.treelet")
    model.write_text("old", encoding="utf-8")
    assert message in fail("train", train, "-o", model, *options)
    assert model.read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir(train.parent)) == ["m.treelet", "train.tsv"]


def test_nothing_half_written(train: Path, test: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, model = train.parent, train.with_name("m.treelet")
    bad = train.with_name("bad.tsv")
    bad.write_text("a\t(S (A a))\nb\t(S (A", encoding="utf-8")
    assert f"{bad}:2:" in fail("train", bad, "-o", model)
    write_tsv(bad, [("a", "(S (A a))"), ("a", "(S (B b))")])
    assert "classifier needs at least two classes" in fail("train", bad, "-o", model)
    assert "the file does not exist" in fail("train", train.with_name("nothing.tsv"), "-o", model)
    assert "cannot be written" in fail("train", train, "-o", folder / "no" / "m.treelet")
    assert "standard output" in fail("train", train, "-o", "-")
    with monkeypatch.context() as broken:
        broken.setattr("treelet.learn.save", lambda *_: 1 / 0)
        assert run("train", train, "-o", model).exit_code == 3
    assert sorted(os.listdir(folder)) == ["bad.tsv", "test.tsv", "train.tsv"]
    succeed("train", train, "-o", model)
    out = train.with_name("out.txt")
    bad.write_text("a\t(S (A", encoding="utf-8")
    fail("predict", model, bad, "-o", out)
    fail("evaluate", model, bad, "--picture", train.with_name("c.png"))
    assert sorted(os.listdir(folder)) == ["bad.tsv", "m.treelet", "test.tsv", "train.tsv"]


# --- the rest -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
def test_long_work_speaks_off_a_terminal(train: Path) -> None:
    command = "train", train, "-o", (model := train.with_name("m.treelet"))
    assert "digits of the solution: " in run(*command).stderr
    assert re.search(r"^grid: [1-9]\d* of \d+, \d+ s elapsed, about \d+ s left$", run(*command, "--grid").stderr, re.M)
    for reading in (("predict", model, train), ("evaluate", model, train)):
        assert "scores: " in run(*reading).stderr
        assert run(*reading, "--no-progress").stderr == ""
    assert run(*command, "--grid", "--no-progress").stderr == ""


def test_short_work_says_nothing_off_a_terminal(train: Path) -> None:
    command = "train", train, "-o", train.with_name("m.treelet")
    assert run(*command, "--grid", "--progress").stderr == ""


def test_same_seed_same_file(train: Path) -> None:
    one, two = train.with_name("1.treelet"), train.with_name("2.treelet")
    first = report("train", train, "-o", one, "--grid", "--seed", 7)
    second = report("train", train, "-o", two, "--grid", "--seed", 7, "--jobs", 2)
    assert first["grid"]["scores"] == second["grid"]["scores"]
    X = [tree for _, tree in generate(9, 3)]
    np.testing.assert_array_equal(tl.load(one).decision_function(X), tl.load(two).decision_function(X))


def test_the_generator_makes_what_it_says() -> None:
    assert Counter(label for label, _ in generate(30, 1)) == {"person": 10, "place": 10, "time": 10}
    assert generate(30, 1) == generate(30, 1) != generate(30, 2)


def test_help_says_what_is_normalized_and_loads_nothing_heavy(train: Path) -> None:
    code = (
        "import sys, treelet.cli.main as m\n"
        "try: m.app(['train', '--help'], prog_name='treelet')\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'matplotlib', 'rich') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "kernel is normalized unless you pass --no-normalize" in " ".join(result.stdout.split())
    assert result.stdout.splitlines()[-1] == "[]"


def test_as_a_process(train: Path, test: Path) -> None:
    model = train.with_name("m.treelet")
    command = [sys.executable, "-m", "treelet"]
    subprocess.run([*command, "train", train, "-o", model], check=True, timeout=120, capture_output=True)
    found = subprocess.run(
        [*command, "predict", model, "-", "--format", "tsv"],
        input=test.read_bytes(), check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    X, _ = tl.read_examples(test)
    assert found.stdout.decode().splitlines() == tl.load(model).predict(X).tolist()
    assert found.stderr == b""


def test_numbers_that_round_to_zero_have_no_minus_sign() -> None:
    numbers = {"score": -1e-9, "rest": -2e-16, "intercept": -0.0}
    explanation = {"number": 1, "words": "a", "output": None, "predicted": None, "fragments": [], **numbers}
    assert explain_text(explanation) == "1. a\n   +0.0000  score\n   +0.0000  all else, intercept +0.0000"
