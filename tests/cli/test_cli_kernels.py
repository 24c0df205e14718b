"""``--kernel forest | tagging | locality`` and ``train --learner``: the same results as in Python, and errors with a remedy."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from conftest import all_commands, fail, run, succeed
from treelet.datasets import flights
from treelet.structures import DependencyBank, TaggedBank
from treelet.tasks import Setting, parts_of_treebank, rerank

SEED = random.Random(0)


def words(n: int) -> list[str]:
    return [" ".join(tree.words()) for tree in flights(n) if tree is not None]


def report(*args: object) -> Any:
    return json.loads(succeed(*args, "--json").stdout)


def predicted(*args: object) -> list[str]:
    return succeed("predict", *args).stdout.splitlines()


# --- forests --------------------------------------------------------------------------------------------------------


@pytest.fixture
def forests(tmp_path: Path) -> tuple[Path, Path]:
    """Forests that ``treelet parse`` wrote, and their labels."""
    sentences = words(60)
    (tmp_path / "sentences.txt").write_text("\n".join(sentences[20:]) + "\n", encoding="utf-8")
    flights(20).write(tmp_path / "bank.mrg")
    parsed = tmp_path / "forests.jsonl"
    succeed("parse", tmp_path / "sentences.txt", "--treebank", tmp_path / "bank.mrg", "--forest", "-o", parsed)
    labels = tmp_path / "labels.txt"
    labels.write_text(
        "".join(f"{'long' if len(text.split()) > 8 else 'short'}\n" for text in sentences[20:]), encoding="utf-8"
    )
    return parsed, labels


def test_forests_of_treelet_parse_are_classified_as_in_python(forests: tuple[Path, Path]) -> None:
    file, label_file = forests
    model = file.with_name("m.treelet")
    result = report("train", file, "--labels", label_file, "--kernel", "forest", "--lam", 0.3, "-o", model)
    X, labels = tl.read_forests(file), label_file.read_text(encoding="utf-8").split()
    assert len(set(labels)) == 2
    assert any(forest.count_trees() > 1 for forest in X)
    clf = tl.KernelSVC(tl.ForestKernel(lam=0.3).normalized(), C=1.0).fit(X, labels)
    assert result["kernel"] == repr(clf.kernel)
    assert predicted(model, file) == clf.predict(X).tolist()
    scores = [line.split("\t")[1:] for line in predicted(model, file, "--scores")[1:]]
    np.testing.assert_allclose(np.array(scores, float)[:, 1], clf.decision_function(X), rtol=1e-12)
    figures = report("evaluate", model, file, "--labels", label_file)
    assert figures["accuracy"] == np.mean(clf.predict(X) == labels)
    explained = report("explain", model, file, "--top", 2)["examples"]
    by_python = tl.explain(clf, X[0], clf.predict(X[:1])[0])
    assert explained[0]["score"] == pytest.approx(by_python.score)
    assert explained[0]["fragments"][0]["fragment"] == str(by_python.fragments[0].tree)
    assert explained[0]["words"] == " ".join(X[0].words)
    succeed("explain", model, file, "--labels", label_file, "-o", file.with_name("report.html"))


def test_labels_may_also_be_a_column(forests: tuple[Path, Path]) -> None:
    file, label_file = forests
    table = file.with_name("train.tsv")
    rows = zip(
        label_file.read_text(encoding="utf-8").split(), file.read_text(encoding="utf-8").splitlines(), strict=True
    )
    table.write_text("".join(f"{label}\t{forest}\n" for label, forest in rows), encoding="utf-8")
    succeed("train", table, "--kernel", "forest", "-o", file.with_name("a"))
    succeed("train", file, "--labels", label_file, "--kernel", "forest", "-o", file.with_name("b"))
    assert predicted(file.with_name("a"), table) == predicted(file.with_name("b"), file)
    X, y = tl.read_examples(table, "forests")
    assert (len(X), y) == (40, label_file.read_text(encoding="utf-8").split())
    assert X[3] == tl.read_forests(file)[3]


def test_a_tree_is_a_forest(forests: tuple[Path, Path], tmp_path: Path) -> None:
    file, label_file = forests
    succeed("train", file, "--labels", label_file, "--kernel", "forest", "-o", tmp_path / "m")
    trees = tmp_path / "trees.tsv"
    trees.write_text("long\t(S (NP (N flights)))\nshort\t(S (NP (N fares)))\n", encoding="utf-8")
    assert predicted(tmp_path / "m", "(S (NP (N flights)))") == predicted(tmp_path / "m", trees)[:1]
    value = report("compare", "(S (A a) (B b))", "(S (A a) (B c))", "--kernel", "forest")
    assert value["value"] == report("compare", "(S (A a) (B b))", "(S (A a) (B c))")["value"]


def test_forests_are_compared_and_searched(forests: tuple[Path, Path]) -> None:
    file, _ = forests
    X = tl.read_forests(file)
    succeed("gram", file, "--kernel", "forest", "-o", file.with_name("K.npy"))
    np.testing.assert_allclose(np.load(file.with_name("K.npy")), tl.ForestKernel().normalized()(X), rtol=1e-12)
    one = file.with_name("one.jsonl")
    one.write_text(X[1].to_json() + "\n", encoding="utf-8")
    text = succeed("compare", one, one, "--kernel", "forest").stdout
    assert text.startswith(f"forest 1: {X[1].count_trees():,} tree")
    assert "normalized  1\n" in text
    found = report("nearest", file, "--query", one, "--kernel", "forest", "--k", 1)["queries"][0]["nearest"][0]
    assert (found["number"], round(found["value"], 9)) == (2, 1)
    assert found["tree"] == str(X[1].best()[0])
    index = file.with_name("index")
    succeed("index", "create", index, file, "--kernel", "forest")
    assert report("index", "search", index, one, "--k", 1)["queries"][0]["nearest"][0]["id"].endswith("forests.jsonl:2")
    assert report("diff", file, file, "--kernel", "forest", "--permutations", 10)["files"] == [str(file)] * 2


# --- tagged sentences -------------------------------------------------------------------------------------------------


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    lines = []
    for _ in range(60):
        noun = f"{SEED.choice(['the', 'a'])}/D {SEED.choice(['dog', 'cat', 'and/or'])}/N"
        label = SEED.choice(["statement", "question"])
        verb = f"{SEED.choice(['ran', 'sat'])}/V"
        lines.append(f"{label}\t{f'{noun} {verb}' if label == 'statement' else f'did/A {noun} {verb}'} !/.\n")
    file = tmp_path / "tagged.tsv"
    file.write_text("".join(lines), encoding="utf-8")
    return file


def test_tagged_sentences_are_classified_as_in_python(tagged: Path) -> None:
    model = tagged.with_name("m.treelet")
    succeed("train", tagged, "--kernel", "tagging", "--lam", 0.6, "--C", 2, "-o", model)
    X, y = tl.read_examples(tagged, "tagged")
    assert isinstance(X, TaggedBank)
    clf = tl.KernelSVC(tl.Tagging(lam=0.6).normalized(), C=2.0).fit(X, y)
    assert predicted(model, tagged) == clf.predict(X).tolist()
    assert predicted(model, "did/A it/N go/V") == clf.predict(["did/A it/N go/V"]).tolist()
    for layout in ("slashes", "columns"):
        X.write(tagged.with_name("plain.txt"), layout)
        assert predicted(model, tagged.with_name("plain.txt")) == clf.predict(X).tolist()
    explained = report("explain", model, "did/A it/N go/V", "--top", 1)["examples"][0]
    assert explained["words"] == "did it go"
    assert explained["fragments"][0]["fragment"] == str(tl.explain(clf, "did/A it/N go/V").fragments[0].tree)
    value = report("compare", "the/D dog/N", "a/D dog/N", "--kernel", "tagging", "--lam", 0.5)
    assert (value["value"], value["found"]) == (2.0, 5)  # docs/kernels/tagging.md
    grid = report("train", tagged, "--kernel", "tagging", "-o", model, "--grid", "--cv", 3)["grid"]
    assert set(grid["best"]) == {"lam", "C"}


def test_names_of_files_are_not_tagged_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"{Path('data/missing.txt')}: the file does not exist" in fail(
        "gram", "data/missing.txt", "--kernel", "tagging"
    )
    line = fail("compare", "data/missing.txt", "a/D dog/N", "--kernel", "tagging")
    assert "'data/missing.txt' is neither a tagged sentence nor an existing file" in line


# --- dependency parses --------------------------------------------------------------------------------------------------


def parses(n: int) -> tuple[list[tl.Dependencies], list[float], list[int]]:
    """Candidates of sentences: links of neighbors are right, others are wrong."""
    found, values = [], []
    for number in range(n):
        names = [f"w{SEED.randrange(5)}" for _ in range(5)]
        for _ in range(3):
            ends = [SEED.choice([k - 1, SEED.randrange(k)]) for k in range(1, 5)]
            links = [(end, k, f"T{k - end}") for k, end in enumerate(ends, 1)]
            found.append(tl.Dependencies(names, ["n"] * 5, links))
            values.append(sum(k - end == 1 for k, end in enumerate(ends, 1)) / 4)
    return found, values, [row // 3 for row in range(3 * n)]


@pytest.fixture
def links(tmp_path: Path) -> Path:
    X, y, qid = parses(20)
    file = tmp_path / "links.tsv"
    file.write_text(
        "".join(f"{v}\ts{q}\t{parse.to_json()}\n" for parse, v, q in zip(X, y, qid, strict=True)), encoding="utf-8"
    )
    return file


@pytest.mark.parametrize(
    ("learner", "task", "options", "machine"),
    [
        ("svm", "rank", ["--C", 2], tl.RankSVM(C=2.0, pairs="all", memory=None)),
        ("rls", "rank", ["--alpha", 0.5], tl.RankRLS(alpha=0.5)),
        ("perceptron", "rank", ["--epochs", 2], tl.VotedPerceptron(epochs=2)),
        ("svm", "regress", ["--epsilon", 0.2], tl.KernelSVR(epsilon=0.2)),
        ("rls", "regress", ["--alpha", 2], tl.RLS(alpha=2.0)),
    ],
)
def test_every_learner_predicts_as_in_python(
    links: Path, learner: str, task: str, options: list[object], machine: Any
) -> None:
    model, column = links.with_name("m.treelet"), ["--option", "query_column=1"]
    given = [*column, "--kernel", "locality", "--window", 5, "--theta", 1, "--learner", learner, "--task", task]
    result = report("train", links, "-o", model, *given, *options)
    X, y = tl.read_examples(links, "parses", query_column=1)
    assert isinstance(X, DependencyBank)
    qid = [line.split("\t")[1] for line in links.read_text(encoding="utf-8").splitlines()]
    kernel = tl.Locality(window=5, theta=1.0).normalized()
    machine.set_params(kernel=kernel + 1 if (learner, task) == ("rls", "regress") else kernel)
    machine.fit(X, [float(value) for value in y], **({"qid": qid} if task == "rank" else {}))
    assert result["kernel"] == repr(machine.kernel)
    values = machine.predict(X)
    np.testing.assert_allclose(
        [float(line) for line in predicted(model, links, *column)], values, rtol=1e-9, atol=1e-12
    )
    figures = report("evaluate", model, links, *column)
    assert "tau" in figures if task == "rank" else "rmse" in figures
    assert type(tl.load(model)).__name__ == type(machine).__name__


def test_parses_in_conllu_and_labels_with_queries(links: Path, tmp_path: Path) -> None:
    X, y = tl.read_examples(links, "parses", query_column=1)
    DependencyBank([parse.rooted() for parse in X]).write(tmp_path / "parses.conllu")
    X.write(tmp_path / "parses.jsonl", "json")
    (tmp_path / "labels.txt").write_text(
        "".join(f"{value}\t{row // 3}\n" for row, value in enumerate(y)), encoding="utf-8"
    )
    for file in ("parses.conllu", "parses.jsonl"):
        succeed(
            "train", tmp_path / file, "--labels", tmp_path / "labels.txt", "--kernel", "locality", "--learner",
            "perceptron", "-o", tmp_path / f"{file}.treelet",
        )  # fmt: skip
        assert len(predicted(tmp_path / f"{file}.treelet", tmp_path / file)) == 60
        found = report("evaluate", tmp_path / f"{file}.treelet", tmp_path / file, "--labels", tmp_path / "labels.txt")
        assert found["queries"] == 20
    succeed(
        "train",
        links,
        "-o",
        tmp_path / "m",
        "--kernel",
        "locality",
        "--learner",
        "perceptron",
        "--option",
        "query_column=1",
    )
    assert predicted(tmp_path / "m", tmp_path / "parses.jsonl") == predicted(
        tmp_path / "parses.jsonl.treelet", tmp_path / "parses.jsonl"
    )
    one, two = X[0].to_json(), X[1].to_json()
    value = report("compare", one, two, "--kernel", "locality", "--match", "count", "--window", 1)["value"]
    assert value == tl.Locality(window=1, match="count")([X[0]], [X[1]])[0, 0]


@pytest.mark.parametrize(("learner", "tuned"), [("rls", "alpha"), ("perceptron", "epochs")])
def test_the_grid_of_a_learner(links: Path, learner: str, tuned: str) -> None:
    common = ["--kernel", "locality", "--option", "query_column=1", "--task", "rank", "--learner", learner]
    text = succeed("train", links, "-o", links.with_name("m"), *common, "--grid", "--cv", 3).stdout
    assert f"{tuned}=" in text.splitlines()[1]
    grid = report(
        "train", links, "-o", links.with_name("m"), *common, "--window", "1,3", "--theta", "0.5,1", "--cv", 3
    )["grid"]
    assert set(grid["best"]) == {"window", "theta", tuned}
    assert len(grid["scores"]) == 4


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--learner", "rls", "--task", "classify"], "--learner rls does not apply to --task classify. Use --learner svm, or --task regress or rank."),
        (["--learner", "perceptron", "--task", "regress"], "--learner perceptron does not apply to --task regress. Use --learner svm or rls, or --task rank."),
        (["--learner", "rls", "-C", "1"], "--C applies to --learner svm, not to --learner rls. Use --alpha, or remove --C."),
        (["--alpha", "1"], "--alpha applies to --learner rls, not to --learner svm. Use --C, or remove --alpha."),
        (["--learner", "rls", "--epsilon", "1"], "--epsilon applies to --learner svm, not to --learner rls."),
        (["--learner", "rls", "--probability"], "--probability applies to --task classify, not to --task regress."),
        (["--learner", "perceptron", "--memory", "1GiB"], "--memory does not apply to --learner perceptron."),
        (["--learner", "perceptron", "--epochs", "0"], "--epochs must be a whole number of at least 1"),
        (["--learner", "rls", "--alpha", "0"], "--alpha must be a number in (0, inf)"),
        (["--learner", "rls"], "the label of example 1, 'statement', is not a finite number. Labels that are names need --task classify and --learner svm."),
        (["--learner", "bayes"], "--learner must be 'svm', 'rls' or 'perceptron'."),
        (["--window", "3"], "--window does not apply to --kernel tagging. Use --kernel locality, or remove --window."),
        (["--mu", "0.3"], "--mu does not apply to --kernel tagging. Use --kernel pt, or remove --mu."),
        (["--kernel", "locality", "--match", "all"], "--match must be 'position', 'exact' or 'count'."),
        (["--kernel", "locality", "--match", "exact", "--theta", "1"], "--theta does not apply to --match exact."),
        (["--kernel", "locality", "--lam", "1"], "--lam does not apply to --kernel locality."),
        (["--kernel", "sst"], "the file contains tagged sentences, not trees. Use --kernel tagging"),
        (["--format", "tsv"], "--format applies to trees. The format of tagged sentences is detected."),
        (["--option", "tags=1"], "Files of tagged have no option 'tags'. Did you mean 'tag'?"),
        (["--vectors", "1"], "--vectors needs feature vectors. The file has only tagged sentences."),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(tagged: Path, options: list[str], message: str) -> None:
    tagged.write_text("statement\tit/N ran/V\nquestion\tdid/A it/N\n", encoding="utf-8")
    kernel = [] if "--kernel" in options else ["--kernel", "tagging"]
    assert message in fail("train", tagged, *kernel, *options, "-o", tagged.with_name("m"))
    assert not tagged.with_name("m").exists()


def test_labels_that_do_not_fit(forests: tuple[Path, Path]) -> None:
    file, labels = forests
    train = ["train", file, "--kernel", "forest", "-o", file.with_name("m")]
    assert "label<TAB>forest in a .tsv file, or pass a file of labels with --labels." in fail(*train)
    assert "Use --kernel forest" in fail("train", file, "--labels", labels, "-o", file.with_name("m"))
    text = labels.read_text(encoding="utf-8")
    labels.write_text(text + "short\n\n\n", encoding="utf-8")
    assert "the file has 41 labels, but" in fail(*train, "--labels", labels)
    labels.write_text(text.replace("long", "long\tq", 1), encoding="utf-8")
    assert "each line must be a label, or label<TAB>query." in fail(*train, "--labels", labels)
    labels.write_text(text.replace("long", "", 1), encoding="utf-8")
    assert "has an empty label" in fail(*train, "--labels", labels)
    assert "exclude each other" in fail(*train, "--labels", labels, "--skip-bad")
    assert "would overwrite --labels" in fail(*train[:-1], labels, "--labels", labels)


def test_files_of_another_kernel(forests: tuple[Path, Path], tagged: Path, tmp_path: Path) -> None:
    trees = tmp_path / "bank.mrg"
    for file, kernel, message in (
        (forests[0], "tagging", "the file contains forests, not tagged sentences. Use --kernel forest"),
        (forests[0], "locality", "the file contains forests, not parses. Use --kernel forest"),
        (tagged, "forest", "the file contains tagged sentences, not forests. Use --kernel tagging"),
        (tagged, "locality", "the file contains tagged sentences, not parses. Use --kernel tagging"),
        (trees, "tagging", "the file contains trees, not tagged sentences. Use --kernel sst"),
        (trees, "locality", "the file contains trees, not parses. Use --kernel sst"),
    ):
        assert f"{file}: {message}" in fail("gram", file, "--kernel", kernel)
    trees.write_text("(S (A a)\n", encoding="utf-8")
    assert "never closed" in fail("gram", trees, "--kernel", "forest")
    for command in (["gram", "he reads"], ["nearest", "he reads"], ["compare", "he reads", "the/D dog/N"]):
        assert "'he reads' is neither a tagged sentence" in fail(*command, "--kernel", "tagging")


def test_a_bad_line_is_named_or_skipped(tmp_path: Path) -> None:
    file = tmp_path / "parses.tsv"
    good = tl.Dependencies(["a", "b"], None, [(0, 1, "T")]).to_json()
    file.write_text(f'1\t{good}\n2\t{{"words": ["a"], "links": [[0, 1, "T"]]}}\n3\t{good}\n', encoding="utf-8")
    gram = ["gram", file, "--kernel", "locality"]
    line = fail(*gram)
    assert f"{file}:2: link 0: A position must be an int" in line
    assert "Pass --skip-bad" in line
    result = succeed(*gram, "--skip-bad", "-o", "-")
    assert len(result.stdout.splitlines()) == 2
    assert "1 of 3 parses were skipped" in result.stderr or "1 of 3 parses was skipped" in result.stderr


def test_a_model_with_columns_of_forests_needs_python(tmp_path: Path) -> None:
    table = tl.structures.Table({"a": ["(A a)", "(B b)"]})
    model = tl.KernelSVC(tl.On("a", tl.ForestKernel())).fit(table, ["x", "y"])
    tl.save(model, tmp_path / "m")
    assert "in named columns, which files cannot contain" in fail("predict", tmp_path / "m", "(A a)")


# --- help and reranking -----------------------------------------------------------------------------------------------


def test_the_help_shows_about_ten_options_first() -> None:
    for name, command in all_commands().items():
        options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
        main = [option.name for option in options if not option.rich_help_panel]
        assert len(main) <= 12, (name, main)
        text = run(*name.split(), "--help").stdout
        assert ("Advanced options:" in text) == (len(main) < len(options))
        assert max(map(len, text.splitlines())) <= 80
    text = run("train", "--help").stdout
    assert (
        text.index("--kernel NAME") < text.index("--help ") < text.index("Advanced options:") < text.index("--mu LIST")
    )


def test_rerank_with_every_kind_of_weights(tmp_path: Path) -> None:
    common = ["--sizes", "60,20,20", "--k", 10, "--folds", 2, "--lam", 0.3, "--logp", 0.1, "--no-progress"]
    parts = parts_of_treebank(flights(1336), (60, 20, 20), k=10, folds=2)
    for name, prediction in (("average", "averaged"), ("voted", "voted"), ("last", "last")):
        found = report("rerank", *common, "--weights", name, "--save", tmp_path / name)
        outcome = rerank(parts, Setting.grid([0.3], [None], [0.1]), prediction=prediction)
        assert found["reranked"] == outcome.as_dict()["reranked"]
        assert tl.load(tmp_path / name).prediction == prediction
    assert "--weights must be 'average', 'voted' or 'last'" in fail("rerank", *common, "--weights", "mean")
