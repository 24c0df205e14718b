"""The forest experiment: a quick run on the real data where it is, and its parts by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from conftest import first_lines, run_experiment
from experiments import forest_relations, forest_roles
from experiments.evaluation import mean_score, score_items
from experiments.forest_relations import GRAMMAR, cut, parse_with_grammar, phrase_grammar
from experiments.forest_roles import (
    Decoding,
    Setting,
    count_candidates,
    coverage,
    make_examples,
    nbest_parser,
    split_documents,
)
from experiments.writing import VERDICTS, page_name, plus_minus, read_items
from treelet.cuts import path_enclosed_tree
from treelet.errors import ParameterError
from treelet.metrics import paired_bootstrap, paired_t_test, semeval_scores
from treelet.parsing import PCFG
from treelet.structures import Forest, Tree
from treelet.structures.instances import Parse, RelationInstance, RoleInstance

pytestmark = pytest.mark.slow  # a whole experiment, on a part of its corpus

NEAR = "(S (NP (N He)) (VP (V saw) (NP (NP (D a) (N man)) (PP (P in) (NP (N town))))))"
FAR = "(S (NP (N He)) (VP (V saw) (NP (D a) (N man)) (PP (P in) (NP (N town)))))"


def instance(doc: str = "d", arguments: tuple[tuple[str, int, int], ...] = ()) -> RoleInstance:
    parses = [Parse(Tree.parse(NEAR), np.log(0.75)), Parse(Tree.parse(FAR), np.log(0.25))]
    return RoleInstance(tree=FAR, predicate=1, arguments=arguments, nbest=parses, doc=doc, sent=0)


@pytest.fixture(scope="module")
def quick(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Both experiments, on less than a quick run: what they found, their pages and what they did item by item."""
    out, few = tmp_path_factory.mktemp("forest"), tmp_path_factory.mktemp("few")
    names = [
        f"semeval2010_t8/{part}.{kind}.xz" for part in ("train", "test") for kind in ("trees.tsv", "nbest10.jsonl")
    ]
    first_lines(data_dir, few, dict.fromkeys(names, 260))
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TREELET_DATA", str(few))
        less: dict[str, Any] = {"parses": 2, "train": 240, "test": 100, "choosing": 100}
        patched.setattr(forest_relations, "QUICK", forest_relations.QUICK | less)
        less = {"parses": 3, "fit": 40, "dev": 30, "test": 40, "train": 70, "curve": (35,)}
        patched.setattr(forest_roles, "QUICK", forest_roles.QUICK | less)
        patched.setattr(forest_relations, "QUICK_TYPED", {"sentences": 70, "choosing": 30, "folds": 2})
        for name in ("forest-relations", "forest-relations-conll04", "forest-roles"):
            result = run_experiment(name, "--quick", "--json", "--jobs", "2", "--out", out)
            assert result.exit_code == 0, result.output
            found[name] = json.loads(result.stdout)
            assert json.loads((out / f"{name}.json").read_text(encoding="utf-8")) == found[name]
            assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            found[f"{name}.md"] = (out / f"{page_name(name)}.md").read_text(encoding="utf-8")
            found[f"{name}.items"] = read_items(name, out)
    return found


def test_a_quick_run_of_relations(quick: dict[str, Any]) -> None:
    found, page, items = (quick[f"forest-relations{suffix}"] for suffix in ("", ".md", ".items"))
    names = [row["name"] for row in found["rows"]]
    assert names[:5] == ["n-grams", "features", "MCT", "tree", "forest"]
    assert {f"{way}, {kind}" for way in ("linear", "polynomial") for kind in ("tree", "forest")} < set(names)
    assert sum(", leaves=" in name for name in names) == 2, "tree and forest with the leaves that were not chosen"
    assert all(row["f1"] > 30 for row in found["rows"])
    assert "Quick run" in page
    for row in (*found["rows"], *found["grammar"]["rows"]):
        assert f"| {row['name']} | {row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f} |" in page
    official = items[0]
    assert set(official["systems"]) == set(names)
    for row in found["rows"]:
        sides = [
            [official["labels"][k] for k in which] for which in (official["gold"], official["predicted"][row["name"]])
        ]
        assert semeval_scores(*sides).f1 == pytest.approx(row["f1"]), "any measure can be had from what is kept"
        assert score_items(official["systems"][row["name"]]) == pytest.approx(row["accuracy"])
    splits = [set(one["ids"]) for one in items if one["part"].startswith("split")]
    assert len(set.union(*splits)) == sum(map(len, splits)), "no sentence is tested on twice"
    folds = [one for one in items if one["part"].startswith("fold")]
    assert [len(folds), sum(len(one["ids"]) for one in folds)] == [found["grammar"][key] for key in ("folds", "pooled")]
    pooled = {(test["a"], test["b"]): test for test in found["grammar"]["pooled_tests"]}
    for name in ("sentence", "span", "span, linear", "span, polynomial"):
        test = pooled[f"{name}, forest", f"{name}, tree"]
        sides = [
            [
                folds[0]["labels"][k]
                for one in folds
                for k in (one["gold"] if system is None else one["predicted"][system])
            ]
            for system in (None, test["a"], test["b"])
        ]
        scores = [semeval_scores(sides[0], side) for side in sides[1:]]
        assert test["difference"] == pytest.approx(scores[0].f1 - scores[1].f1), "the items of all folds together"
        assert test["precision"]["difference"] == pytest.approx(scores[0].precision - scores[1].precision)
        assert (test["over"], test["splits"]["of"]) == ("items", len(folds))
    assert {claim.verdict for claim in forest_relations.claims(found)} <= set(VERDICTS)


def test_a_quick_run_with_typed_entities(quick: dict[str, Any]) -> None:
    found, page, items = (quick[f"forest-relations-conll04{suffix}"] for suffix in ("", ".md", ".items"))
    sizes, tests = found["sizes"], {(test["a"], test["b"]): test for test in found["tests"]}
    ids = [set(one["ids"]) for one in items]
    assert (len(ids), len(set.union(*ids))) == (sizes["folds"], sizes["tested"])
    sentences = [{forest_relations.sentence_of(item) for item in each} for each in ids]
    assert len(set.union(*sentences)) == sum(map(len, sentences)) == sizes["sentences"] - sizes["choosing"]
    for row in found["rows"]:
        gold, predicted = (
            np.array(
                [one["labels"][k] for one in items for k in (one["gold"] if name is None else one["predicted"][name])]
            )
            for name in (None, row["name"])
        )
        correct = np.count_nonzero((gold == predicted) & (gold != "Other"))
        wanted = np.count_nonzero(gold != "Other") + np.count_nonzero(predicted != "Other")
        assert row["f1"] == pytest.approx(200 * correct / wanted), "all relations together"
        assert f"| {row['name']} | {row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f} |" in page
    f1 = {row["name"]: row["f1"] for row in found["rows"]}
    for name in ("sentence", "span", "span, linear", "span, polynomial"):
        test = tests[f"{name}, forest", f"{name}, tree"]
        assert test["difference"] == pytest.approx(f1[test["a"]] - f1[test["b"]])
        assert test["splits"]["of"] == len(items)
    assert ("span, linear, tree", "span, tree") in tests
    claims = forest_relations.claims(found)
    assert {claim.verdict for claim in claims} <= set(VERDICTS)
    assert {claim.rests_on for claim in claims} == {"splits"}
    assert {claim.says for claim in claims} < {
        claim.says for claim in forest_relations.claims(quick["forest-relations"])
    }
    assert page.startswith("# The forest kernel: relations\n")
    assert page.count("Created with") == 2, "both corpora are on the page"


def test_a_quick_run_of_roles(quick: dict[str, Any]) -> None:
    found, page, items = (quick[f"forest-roles{suffix}"] for suffix in ("", ".md", ".items"))
    documents = [set(part) for part in found["documents"].values()]
    assert all(documents)
    assert len(set.union(*documents)) == sum(map(len, documents)), "no document is in two parts"
    assert "Quick run" in page
    for size in ("train", "all"):
        splits = [one for one in items if one["part"].endswith("all predicates") == (size == "all")]
        for row in found["rows"][size]:
            assert row["f1"] == mean_score(splits, row["name"], "f1")
            assert f"| {row['name'].partition(': ')[2]} | {plus_minus(row['precision'])} |" in page
    for one in items:
        for same, row in (("tree, same margin", "tree"), ("forest, same margin", "forest")):
            margins = found["parsers"]["lists"]["margins"]
            if margins[same] == margins[row]:
                assert one["systems"][f"lists: {same}"] == one["systems"][f"lists: {row}"]
    for parser in found["parsers"].values():
        rows = {row["what"]: row for row in parser["coverage"]}
        missed = {what: row["unmatched"]["value"] for what, row in rows.items()}
        assert missed["forest, every node"] <= missed["best tree, every constituent"]
        assert missed["forest, pruned"] < missed["best tree, pruned"]
        assert rows["forest, pruned"]["ratio"]["value"] > 1
    claims = forest_roles.claims(found)
    assert {claim.verdict for claim in claims} <= set(VERDICTS)
    assert not [claim.says for claim in claims if claim.lacks]


def test_unmatched_arguments_by_hand() -> None:
    part = [instance(arguments=(("ARG0", 0, 1), ("ARG1", 2, 4), ("ARGM-LOC", 4, 6), ("ARG2", 3, 5)))]
    found = {way: table.tolist() for way, table in count_candidates(part, nbest_parser(part), (0.0, 0.5)).items()}
    # of the best tree (0,1), (2,6), (2,4), (4,6), (4,5), (5,6) and four words; pruned (0,1) and (2,6) are left
    assert found["best tree, every constituent"] == [[1, 4, 8]]
    assert found["best tree, pruned"] == [[3, 4, 2]]
    # with the other tree (2,4), (4,6), (4,5) and (5,6) as well, at a quarter
    assert found["forest, pruned"] == [[1, 4, 6]]
    assert found["forest, pruned, probability at least 0.5"] == [[3, 4, 2]]
    assert found["forest, every node"][0][:2] == [1, 4]


def test_unmatched_arguments_over_folds_and_over_predicates() -> None:
    arguments = ("ARG0", 0, 1), ("ARG1", 2, 4), ("ARG2", 3, 5)  # the last one is no candidate
    folds = [[instance(f"{fold}{k}", arguments[k % 3 : 3]) for k in range(6)] for fold in "ab"]
    part = [one for fold in folds for one in fold]
    rows = {row["what"]: row for row in coverage(folds, nbest_parser(part), (0.0,))}
    tree, forest = rows["best tree, pruned"], rows["forest, pruned"]
    assert tree["unmatched"]["folds"] == pytest.approx([100 * 10 / 12] * 2)  # 4 + 4 + 2 of 6 + 4 + 2 arguments
    assert tree["unmatched"]["items"]["value"] == pytest.approx(100 * 10 / 12)
    assert forest["unmatched"]["items"]["value"] == pytest.approx(50)
    low, high = forest["unmatched"]["items"]["interval"]
    assert low < 50 < high
    assert forest["unmatched"]["items"]["of"] == 12
    assert tree["removed"]["items"]["value"] == pytest.approx(75), "two of eight candidates are left"
    assert forest["ratio"]["items"] == {"value": 3, "interval": [3, 3], "of": 12}
    fewer = rows["forest, every node"]["fewer"]
    assert fewer["difference"] == 0
    assert fewer["of"] == 12


def test_examples_of_trees_and_forests() -> None:
    part = [instance(arguments=(("ARG0", 0, 1), ("ARG1", 2, 4)))]
    parser = nbest_parser(part)
    tree = make_examples(part, parser, Setting())
    assert dict(zip(tree.spans, tree.roles.tolist(), strict=True)) == {(0, 1): "ARG0", (2, 6): "none"}
    setting = Setting(forest=True, threshold=0.0)
    forest = make_examples(part, parser, setting)
    roles = dict(zip(forest.spans, forest.roles.tolist(), strict=True))
    assert {span for span, role in roles.items() if role != "none"} == {(0, 1), (2, 4)}
    assert len(forest) == 6
    assert sorted(forest.above(0.5).spans) == [(0, 1), (2, 6)]
    assert [forest.spans[k] for k in forest.rows_within(tree.spans_by_predicate(1))] == forest.above(0.5).spans
    assert sorted(forest.balanced(0).roles.tolist()) == ["ARG0", "ARG1", "none", "none"]
    assert isinstance(forest.table["path"][0], Forest)
    assert setting.kernel()(forest.table).shape == (6, 6)


def test_examples_of_some_predicates() -> None:
    part = [instance(arguments=((f"ARG{k}", 0, 1),)) for k in range(4)]
    made = make_examples(part, nbest_parser(part), Setting())
    some = made.of_predicates([1, 3])
    assert some.predicates.tolist() == [0, 0, 1, 1]
    assert [label for label in some.roles if label != "none"] == ["ARG1", "ARG3"]
    assert sorted(some.balanced(0, ratio=0.0).roles) == ["ARG1", "ARG3"]


def test_the_surest_come_first_and_nothing_overlaps() -> None:
    part = [instance(arguments=(("A", 0, 1), ("A", 4, 6)))]
    Y = make_examples(part, nbest_parser(part), Setting(forest=True, threshold=0.0))
    classes = np.array(["A", "B", "none"])
    values = np.array([[-1.0, -1.0, 1.0]] * len(Y))
    values[Y.spans.index((2, 6))] = 0.5, 0.4, -1
    values[Y.spans.index((4, 6))] = 0.1, 0.6, -1
    values[Y.spans.index((0, 1))] = 0.2, 0.1, 0
    found = Decoding.of(part, Y, classes, values, 0.0)
    assert found.arguments == [("B", 4, 6), ("A", 0, 1)]
    assert found.counts(0.0).tolist() == [[1, 2, 2]]
    assert found.hits(0.0) == {(0, "A", 0, 1)}
    assert found.f1(0.0) == 50
    assert found.f1(0.0, labeled=False) == 100
    # What is found at a larger margin is what would be found with that as the lowest.
    assert found.counts(0.5).tolist() == Decoding.of(part, Y, classes, values, 0.5).counts(0.5).tolist() == [[0, 2, 1]]


@given(st.integers(0, 2**32 - 1), st.floats(-2, 2))
def test_a_larger_margin_takes_the_first_of_what_a_smaller_one_takes(seed: int, margin: float) -> None:
    part = [instance(arguments=(("A", 0, 1), ("B", 2, 6)))] * 3
    Y = make_examples(part, nbest_parser(part), Setting(forest=True, threshold=0.0))
    values = np.random.default_rng(seed).normal(size=(len(Y), 3))
    low, high = (Decoding.of(part, Y, np.array(["A", "B", "none"]), values, least) for least in (-9.0, margin))
    assert low.counts(margin).tolist() == high.counts(margin).tolist()
    assert low.hits(margin) == high.hits(margin)


def test_documents_are_split_whole() -> None:
    parts = split_documents([instance(f"d{k % 24}") for k in range(72)], folds=5, seed=1)
    names = [{one.doc for one in part} for part in (parts.fit, parts.dev, *parts.folds)]
    assert [len(each) for each in names] == [3, 2, 4, 4, 4, 4, 3]
    assert len(set.union(*names)) == 24
    assert len(parts.all) == 72


def test_no_sentence_is_learned_from_and_tested_on() -> None:
    parts = split_documents([instance(f"d{k % 24}") for k in range(72)], folds=5, seed=1)
    only = forest_roles.Split(parts, 0, 10, seed=0)
    assert only.train["all"] == [], "all sentences have the same words"
    assert [parts.all[k] for k in only.test_rows] == parts.folds[0]


def test_a_grammar_of_phrases() -> None:
    trees = [Tree.parse(NEAR), Tree.parse(FAR)]
    grammar = PCFG.from_treebank(trees, **GRAMMAR)
    assert set(grammar.start) == {"S"}
    phrases = phrase_grammar(grammar, trees)
    assert sum(phrases.start.values()) == pytest.approx(1)
    assert phrases.start["NP^VP"] == phrases.start["S"] == pytest.approx(2 / 13)
    found = phrases.forests([["a", "man"]])[0]
    assert found is not None
    assert found.best()[0] == Tree.parse("(NP (D a) (N man))")


def test_parses_of_spans_have_their_entities_in_place() -> None:
    trees = [Tree.parse(NEAR), Tree.parse(FAR)]
    phrases = phrase_grammar(PCFG.from_treebank(trees, **GRAMMAR), trees)
    one = RelationInstance(words=tuple(trees[0].words()), e1=(5, 6), e2=(3, 4), label="Other")
    parsed = parse_with_grammar([one], phrases, span=True, n_jobs=1)[0]
    assert (parsed.e1, parsed.e2) == ((2, 3), (0, 1))
    assert parsed.best.words() == ["man", "in", "town"]
    assert cut([parsed], "tree", "tags", 1.0)[0] == path_enclosed_tree(parsed.best, (2, 3), (0, 1), mark="tags")
    assert len(cut([parsed], "forest", "tags", 2.0)) == 1


def test_two_gains_are_compared_by_welch() -> None:
    rng = np.random.default_rng(0)
    sides = rng.normal(1, 1, 10), rng.normal(0, 2, 5)
    gains = []
    for side in sides:
        test = paired_t_test(side, np.zeros(len(side)))
        items = {"difference": 1.0, "interval": [0.0, 2.0], "of": 999}
        gains.append({"difference": test.difference, "interval": test.interval, "of": len(side), "items": items})
    found = forest_roles._larger(*gains)
    assert found["p"] == pytest.approx(ttest_ind(*sides, equal_var=False).pvalue)
    assert found["difference"] == pytest.approx(sides[0].mean() - sides[1].mean())
    assert found["items"]["interval"] == pytest.approx([-(2**0.5), 2**0.5])


def test_scores_of_all_relations_together() -> None:
    gold = np.array(["A(e1,e2)", "A(e2,e1)", "B", "Other", "Other"])
    found = np.array(["A(e1,e2)", "A(e1,e2)", "Other", "C", "Other"])  # C is no relation of the gold labels
    scores = forest_relations.relation_scores(gold, found, micro=True)
    assert scores == {"precision": pytest.approx(100 / 3), "recall": pytest.approx(100 / 3), "f1": pytest.approx(100 / 3), "accuracy": 40}  # fmt: skip
    means = forest_relations.relation_scores(gold, found, micro=False)
    assert means["f1"] == pytest.approx(semeval_scores(gold.tolist(), found.tolist()).f1) == pytest.approx(25)


def test_pairs_of_a_sentence_stay_together() -> None:
    words = [f"w{k}" for k in range(4)]
    pairs = [
        RelationInstance(words=(*words, str(doc)), e1=(a, a + 1), e2=(b, b + 1), label="none", types=("Loc", "Org"), doc=str(doc))
        for doc in range(9)
        for a, b in ((0, 2), (0, 3), (2, 3))
    ]  # fmt: skip
    data = forest_relations.Sentences(pairs, [])
    assert data.micro
    assert set(data.labels.tolist()) == {"Other"}
    parts = forest_relations.make_splits(data, np.array([8, 1, 4, 6]), 2, "fold")
    assert [sorted(set(data.groups[part.test].tolist())) for part in parts] == [[4, 8], [1, 6]]
    for part in parts:
        assert len(part.test) == 6
        assert not set(data.groups[part.test].tolist()) & set(data.groups[part.train].tolist())
        assert len(part.train) + len(part.test) == 27
    selector = forest_relations.Selector(data, np.arange(27), quick=True, n_jobs=1, seed=0, log=print)
    assert all(len(set(selector.fold[3 * doc : 3 * doc + 3].tolist())) == 1 for doc in range(9))
    phrases = phrase_grammar(PCFG.from_treebank([Tree.parse(NEAR)], **GRAMMAR), [Tree.parse(NEAR)])
    parsed = parse_with_grammar(pairs[:3], phrases, span=False, n_jobs=1)
    assert len({id(each.best) for each in parsed}) == 1, "a sentence is parsed once"
    assert data.features(pairs[0], parsed[0]) == {"type 1=Loc": 1.0, "type 2=Org": 1.0}
    assert forest_relations.sentence_of(data.ids[4]) == "1"


def test_edges_of_forests_by_hand() -> None:
    folds = [[instance(f"{fold}{k}") for k in range(2)] for fold in "ab"]
    parser = nbest_parser([each for fold in folds for each in fold])
    found = forest_roles.edges_per_node(folds, parser)
    forest = parser.forest(("a0", 0), 1.0)
    assert found["tree"]["value"] == pytest.approx(len(forest.edges) / 19)  # six words, six tags, seven phrases
    assert found["forest"]["folds"] == pytest.approx([len(forest.edges) / len(forest.nodes)] * 2)


def test_tests_of_differences() -> None:
    gold = np.array(["A(e1,e2)", "A(e2,e1)", "B(e1,e2)", "Other", "B(e1,e2)"])
    found = np.array(["A(e1,e2)", "A(e1,e2)", "B(e1,e2)", "B(e2,e1)", "Other"])
    sums = forest_relations.relation_counts(gold, found, ["A", "B"]).sum(axis=0)
    assert forest_relations.macro_f1(sums) == pytest.approx(semeval_scores(gold.tolist(), found.tolist()).f1)
    a, b = np.random.default_rng(0).integers(2, size=(2, 200)).astype(float)
    mine = paired_bootstrap(a[:, None], b[:, None], lambda sums: sums[..., 0] / 200, n=4000)
    assert mine == paired_bootstrap(a, b, n=4000)
    scores = semeval_scores(gold.tolist(), found.tolist())
    assert forest_relations.macro_precision(sums) == pytest.approx(scores.precision)
    assert forest_relations.macro_recall(sums) == pytest.approx(scores.recall)
    with pytest.raises(ParameterError, match="same shape"):
        paired_bootstrap(a, b, lambda sums: sums[..., 0])
