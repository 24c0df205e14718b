"""The committed pages: made by the code as it is, worded by it as it is, with what any paired test needs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import run_experiment
from experiments import EXPERIMENTS, evaluation, writing
from experiments.writing import Claim

RUNS = writing.experiment_results()


@pytest.mark.parametrize("page", dict.fromkeys(map(writing.page_name, RUNS)))
def test_a_page_is_what_was_measured(page: str) -> None:
    runs = writing.experiment_results(page=page).values()
    assert not any(results["quick"] for results in runs)
    written = writing.experiment_module(page).page(*runs)
    assert (writing.RESULTS / f"{page}.md").read_text(encoding="utf-8") == written, "run python -m experiments --pages"


def test_the_index_is_what_was_measured() -> None:
    assert (writing.RESULTS / "index.md").read_text(encoding="utf-8") == writing.index(RUNS), (
        "run python -m experiments --pages"
    )


def test_no_page_is_older_than_the_code_it_shows() -> None:
    stale = writing.stale(RUNS | writing.benchmark_results())
    told = "\n".join(f"{name}: {', '.join(files)}" for name, files in stale.items())
    assert not stale, (
        f"{told}\nhave changed since these pages were made. Make them again (python -m experiments NAME -o docs/results, make bench), "
        'or, if no figure can be altered by the change, say why: python -m experiments --explain "why"'
    )


def test_every_experiment_was_run() -> None:
    assert set(RUNS) == set(EXPERIMENTS)


@pytest.mark.parametrize("name", RUNS)
def test_scores_are_kept_item_by_item(name: str) -> None:
    kept = writing.read_items(name)
    assert kept
    systems: dict[str, set[str]] = {}
    for one in kept:
        assert one["train"] > 0
        assert len(one["ids"]) == len(set(map(str, one["ids"])))
        assert all(len(values) == len(one["ids"]) for values in one["systems"].values())
        kind = re.sub(r"\d+", "", one["part"])  # the splits of one corpus, say
        assert set(one["systems"]) == systems.setdefault(kind, set(one["systems"]))


@pytest.mark.parametrize("name", RUNS)
def test_minutes_are_those_of_the_last_run(name: str) -> None:
    minutes = RUNS[name]["cpu_seconds"] / 60
    assert abs(EXPERIMENTS[name].minutes - minutes) <= max(1, 0.2 * minutes)


# --- fingerprints ---------------------------------------------------------------------------------------------------


def test_a_fingerprint_is_of_code_alone(tmp_path: Path) -> None:
    def of(text: str, name: str = "m.py") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return writing.fingerprint(tmp_path / name)

    plain = of('def f(x):\n    return "# no comment" + x\n')
    assert plain == of(
        '"""Module.\n\nLong.\n"""\n\n\ndef f(x):  # says\n    """Does."""\n    return "# no comment" + x\n'
    )
    assert plain != of('def f(x):\n    return "# other" + x\n')
    assert plain != of('def f(x):\n    return x + "# no comment"\n')
    assert of("def f():\n    '''é'''; return 1\n") != of("def f():\n    '''é'''; return 2\n")
    core = of('int f() { return 1; } // one\n/* two\n*/\nchar* s = "//x";\n', "m.hpp")
    assert core == of('int f() { return 1; }\n\nchar* s = "//x";\n', "m.hpp")
    assert core != of('int f() { return 1; }\nchar* s = "//y";\n', "m.hpp")
    assert writing.fingerprint(tmp_path / "none.py") == writing.GONE
    assert plain == of('def f(x):\n    return "# no comment" + x\n\n\n# --- Page ---\n\n\ndef page(): ...\n')


def test_changes_without_a_reason_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("y = 1\n", encoding="utf-8")
    monkeypatch.setattr(writing, "ROOT", tmp_path)
    monkeypatch.setattr(writing, "CHANGES", tmp_path / "changes.json")
    shown = {path: writing.fingerprint(tmp_path / path) for path in ("a.py", "b.py")}
    older = {"made_by": {"sources": shown}}
    assert writing.stale({"p": older}) == {}
    (tmp_path / "a.py").write_text("x = 2\n", encoding="utf-8")
    assert list(writing.stale({"p": older})["p"]) == ["a.py"]
    assert writing.explain({"p": older}, "x is not used") == ["a.py"]
    assert writing.stale({"p": older}) == {}
    (tmp_path / "a.py").write_text("x = 3\n", encoding="utf-8")
    assert list(writing.stale({"p": older})["p"]) == ["a.py"], "one reason is not a reason for the next change"
    writing.explain({"p": older}, "still not used")
    assert writing.stale({"p": older}) == {}
    # A page of another version of the file is not excused by what was said of this one.
    other = {"made_by": {"sources": shown | {"a.py": "0" * 12}}}
    assert list(writing.stale({"q": other})["q"]) == ["a.py"]
    (tmp_path / "b.py").unlink()
    assert writing.stale({"p": older})["p"]["b.py"][1] == writing.GONE
    # A renamed file is followed: its successor is compared, now and after an explanation.
    monkeypatch.setattr(writing, "MOVED", {"b.py": "c.py"})
    (tmp_path / "c.py").write_text("y = 1\n", encoding="utf-8")
    assert writing.stale({"p": older}) == {}
    (tmp_path / "c.py").write_text("y = 2\n", encoding="utf-8")
    assert writing.explain({"p": older}, "renamed") == ["b.py"]
    assert writing.stale({"p": older}) == {}
    (tmp_path / "c.py").write_text("y = 3\n", encoding="utf-8")
    assert list(writing.stale({"p": older})["p"]) == ["b.py"]


def test_pages_and_commands_make_no_page_stale() -> None:
    import experiments.moschitti  # noqa: F401
    import treelet.cli.main  # noqa: F401

    found = writing.imported_sources()
    assert {"experiments/moschitti.py", "src/treelet/kernels/__init__.py", "native/bindings.cpp"} <= set(found)
    assert not [path for path in found if "/cli/" in path or path == "experiments/writing.py"]


# --- verdicts -------------------------------------------------------------------------------------------------------


def claim(rule: Any, *tests: tuple[float, tuple[float, float], float], **options: Any) -> str:
    made = [{"difference": d, "interval": list(i), "p": p} for d, i, p in tests]
    return Claim("paper", "says", "1", "2", rule, made, **options).verdict


def test_verdicts_follow_the_rules() -> None:
    sure, unsure, against = (2.0, (1.0, 3.0), 0.001), (1.0, (-1.0, 3.0), 0.3), (-2.0, (-3.0, -1.0), 0.001)
    assert claim("greater", sure) == claim("greater", sure, sure) == "holds"
    assert claim("greater", sure, unsure) == "partly"
    assert claim("greater", unsure) == "undecided", "no power is not a contradiction"
    assert claim("greater", sure, against) == claim("greater", against) == "contradicted"
    assert claim("greater", (1.0, (0.1, 2.0), 0.03), (1.0, (0.1, 2.0), 0.04)) == "holds", "all must hold: no correction"
    assert claim("greater", (1.0, (0.0, 2.0), 0.05)) == "undecided", "p must be below 0.05"
    assert claim("alike", (0.1, (-0.5, 0.7), 0.8), margin=1) == "holds"
    assert claim("alike", (0.5, (0.2, 0.7), 0.001), margin=1) == "holds", "a precise test is not punished"
    assert claim("alike", unsure, margin=1) == claim("alike", (2.0, (0.9, 3.0), 0.001), margin=1) == "undecided"
    assert claim("alike", (0.1, (-0.5, 0.7), 0.8), unsure, margin=1) == "partly"
    assert claim("alike", sure, margin=0.9) == claim("alike", against, margin=0.9) == "contradicted"
    assert claim("within", sure, low=0.5, high=3.5) == "holds"
    assert claim("within", sure, low=2, high=5) == "undecided"
    assert claim("within", sure, (4.0, (3.0, 4.5), 0.001), low=2, high=5) == "partly"
    assert claim("within", sure, low=4, high=5) == claim("within", sure, high=0.5) == "contradicted"
    other = Claim("paper", "says", "1", "2", "within", [{"value": 2.0, "interval": [1.0, 3.0]}], low=0)
    assert claim("greater", against, other_readings=[other]) == "undecided", "the readings disagree"
    assert (
        replace(other, other_readings=[replace(other, high=4)]).rule_text
        == "within: at least 0; other reading: within 0 to 4"
    )
    assert claim("greater", sure, other_readings=[other, other]) == "holds"
    assert claim("greater", sure, decides=False) == "undecided", "generated sentences decide nothing"
    for options in ({}, {"margin": None}):
        with pytest.raises(ValueError, match="has no margin"):
            claim("alike", sure, **options)
    with pytest.raises(ValueError, match="has no tests"):
        claim("greater")
    rules = (writing.TEMPLATES / "index.md").read_text(encoding="utf-8")
    assert all(f"*{rule}*" in rules for rule in ("greater", "alike", "within"))
    assert all(f"**{verdict}**" in rules for verdict in writing.VERDICTS)


def test_an_effect_above_every_interval_is_weaker() -> None:
    sure, unsure, against = (2.0, (1.0, 3.0), 0.001), (1.0, (-1.0, 3.0), 0.3), (-2.0, (-3.0, -1.0), 0.001)
    weaker = "weaker than printed"
    assert claim("greater", sure, effect=3.1) == claim("greater", unsure, effect=3.1) == weaker
    assert claim("greater", sure, unsure, effect=3.1) == weaker
    assert claim("greater", sure, effect=3.0) == "holds"
    assert claim("greater", unsure, effect=3.0) == "undecided"
    assert claim("greater", (-1.0, (-3.0, 1.0), 0.3), effect=2.0) == weaker, "no effect"
    assert claim("greater", against, effect=2.0) == "contradicted"


def test_both_kinds_of_uncertainty_are_named() -> None:
    test = {"difference": 1.0, "interval": [0.1, 1.9], "p": 0.04, "over": "splits", "splits": [1.0, 1.0]}
    items = {"difference": 1.0, "interval": [0.5, 1.5], "p": 0.01}

    def made(*tests: dict[str, Any]) -> Claim:
        return Claim("paper", "says", "1", "2", "greater", tests)

    assert (made(test).rests_on, made(test).beside, made(test).lacks) == ("splits", {}, ["items"])
    both = made(test | {"items": items})
    assert (both.rests_on, both.beside, both.lacks) == ("splits", {"items": [items]}, [])
    reverse = made(items | {"over": "items", "splits": test})
    assert (reverse.rests_on, reverse.beside, reverse.lacks) == ("items", {"splits": [test]}, [])
    mixed = made(test | {"items": items}, items | {"over": "items"})
    assert (mixed.rests_on, mixed.beside, mixed.lacks) == ("splits and items", {}, [])
    assert (made(items).rests_on, made(items).lacks) == ("", [])


@pytest.mark.parametrize("page", dict.fromkeys(map(writing.page_name, RUNS)))
def test_a_page_has_the_verdicts_of_the_index(page: str) -> None:
    text = (writing.RESULTS / f"{page}.md").read_text(encoding="utf-8")
    for one, _ in writing.joined_claims(writing.experiment_results(page=page)):
        assert f"| {one.says} | {one.printed} | **{one.verdict}** | {one.rests_on} |" in text


def test_stored_intervals_are_those_of_the_stored_items() -> None:
    folds = writing.read_items("parsing")
    for test in RUNS["parsing"]["tests"]:
        found = evaluation.compare(folds, test["a"], test["b"], "f1")
        assert found["items"]["interval"] == pytest.approx(test["items"]["interval"])
        assert found["interval"] == pytest.approx(test["interval"])


def test_holm_by_hand() -> None:
    assert evaluation.holm([0.01, 0.02, 0.9]) == pytest.approx([0.03, 0.04, 0.9])
    assert evaluation.holm([0.6, 0.7]) == [1.0, 1.0]
    assert evaluation.holm([]) == []


# --- items ----------------------------------------------------------------------------------------------------------


def test_differences_over_splits() -> None:
    rng = np.random.default_rng(0)
    items = [
        evaluation.split_items(f"split {s}", 100, range(50), {"a": rng.random(50) < 0.8, "b": rng.random(50) < 0.5})
        for s in range(5)
    ]
    found = evaluation.compare(items, "a", "b")
    by_hand = [100 * (np.mean(one["systems"]["a"]) - np.mean(one["systems"]["b"])) for one in items]
    assert found["splits"] == pytest.approx(by_hand)
    assert found["difference"] == pytest.approx(np.mean(by_hand))
    assert found["std"] == pytest.approx(np.std(by_hand, ddof=1))
    assert (found["over"], found["of"]) == ("splits", 5)
    assert found["items"]["of"] == 50, "an item of several splits is drawn with all its results"
    assert found["items"]["difference"] == pytest.approx(found["difference"])
    assert found["items"]["interval"][0] < found["difference"] < found["items"]["interval"][1]
    low, high = found["interval"]
    assert low < found["difference"] < high
    back = evaluation.compare(items, "b", "a")
    assert (back["difference"], back["p"]) == (pytest.approx(-found["difference"]), pytest.approx(found["p"]))
    one = evaluation.compare(items[:1], "a", "b")
    assert (one["over"], one["splits"]) == ("items", [one["difference"]])
    assert "items" not in one
    level = evaluation.score_interval(items, "a")
    assert level["mean"] == pytest.approx(np.mean([100 * np.mean(split["systems"]["a"]) for split in items]))
    assert level["items"]["value"] == pytest.approx(level["mean"])
    for kind in (level, level["items"]):
        assert kind["interval"][0] < level["mean"] < kind["interval"][1]


def test_counts_and_groups() -> None:
    counts = {"a": [[2, 4, 2], [3, 3, 3], [0, 1, 2]], "b": [[1, 4, 2], [3, 3, 3], [1, 1, 2]]}
    items = [evaluation.split_items("all", 9, ["s1/1", "s1/2", "s2/1"], counts)]
    found = evaluation.compare(items, "a", "b", "f1", groups=lambda one: one.split("/")[0])
    assert found["difference"] == pytest.approx(200 * 5 / 15 - 200 * 5 / 15)
    assert evaluation.mean_score(items, "a", "precision")["mean"] == pytest.approx(100 * 5 / 7)
    with pytest.raises(ValueError, match="system a has 2 values for 1 items"):
        evaluation.split_items("bad", 1, ["x"], {"a": [1, 2]})


def test_items_come_back(tmp_path: Path) -> None:
    items = [evaluation.split_items("all", 9, ["x", "y"], {"tau": [0.12345678, float("nan")]})]
    writing.write_results(tmp_path, "page", {}, "", items)
    assert writing.read_items("page", tmp_path)[0]["systems"] == {"tau": [0.123457, None]}
    assert evaluation.score_items([0.5, None], "mean") == 0.5


def test_pages_can_be_worded_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(writing, "write_pages", lambda: [writing.ROOT / "docs/results/index.md"])
    assert run_experiment("--pages").stdout == "written: docs/results/index.md\n"


def test_a_claim_of_several_experiments_is_one_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from types import SimpleNamespace

    def of(results: dict[str, Any]) -> list[Claim]:
        test = {"difference": results["d"], "interval": [0.0, 1.0], "p": results["p"], "over": "splits"}
        shared = Claim("A & B (2001)", "kernels help", "+3", f"+{results['d']}", "greater", [test])
        size = Claim("A & B (2001)", "size", "1", "0.5", "within", [test], low=0, note=results["note"])
        return [shared, size, Claim("ours", "words help", "", "+1", "greater", [test], own=True)]

    monkeypatch.setattr(writing, "experiment_module", lambda _: SimpleNamespace(claims=of))
    monkeypatch.setattr(writing, "page_name", lambda name: {"two": "shared"}.get(name, name))
    made = {"command": "c", "date": "d", "commit": "x"}
    found = {
        name: {"d": 1.0, "p": p, "note": name, "cpu_seconds": 60.0, "made_by": made}
        for name, p in (("one", 0.001), ("two", 0.4))
    }
    lines = writing.index(found, tmp_path).splitlines()
    assert " ".join(lines[2:4]).startswith(
        "Of 2 claims of the papers: 1 holds, 1 partly, 0 weaker than printed, 0 undecided, 0 contradicted."
    )
    assert "| 1 | kernels help | +3 | **partly** | greater | splits |" in lines
    start = lines.index("- Claim 1:")
    assert lines[start + 1 : start + 3] == [
        "    - [one](one.md): +1.0: *holds*",
        "    - [two](shared.md): +1.0: *undecided*",
    ]
    assert "| 2 | size | 1 | **holds** | within: at least 0 | splits |" in lines
    monkeypatch.setattr(
        writing,
        "experiment_module",
        lambda name: SimpleNamespace(claims=lambda results: [replace(of(results)[0], decides=name == "two")]),
    )
    generated = writing.index(found, tmp_path).splitlines()
    assert "| 1 | kernels help | +3 | **undecided** | greater | splits |" in generated
    assert "    - [one](one.md): +1.0: *decides nothing*" in generated
    text = " ".join(lines)
    assert "Claims 1, 2, 3 have no interval over items, because the results of single items were not stored." in text
    assert "## Our own question: ours" in lines
    assert "Of 1 questions of our own, which are not counted above: 0 holds, 1 partly" in text
    assert "- Claim 2 (one; two):" in lines
    assert "| [one](one.md) | `c` | d | `x` | 1 |" in lines


def test_a_benchmark_replaces_its_own_section(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks import common

    monkeypatch.setattr(writing, "RESULTS", tmp_path)
    page = tmp_path / "speed.md"
    page.write_text("# Speed\n\nText.\n\n## One\n\n1 s\n\n## Two\n\n2 s\n", encoding="utf-8")
    common.publish_section("one", {"seconds": 3}, "## One\n\n3 s\n")
    common.publish_section("three", {"seconds": 4}, "## Three\n\n4 s\n")
    wanted = "# Speed\n\nText.\n\n## One\n\n3 s\n\n## Two\n\n2 s\n\n## Three\n\n4 s\n"
    assert page.read_text(encoding="utf-8") == wanted
    assert writing.read_results("one", tmp_path) == {"seconds": 3, "page": "speed"}


def test_sections_of_the_speed_page_are_what_was_measured() -> None:
    from benchmarks import locality, nearest, reranking, rls

    text = (writing.RESULTS / "speed.md").read_text(encoding="utf-8")
    for module, name in ((locality, "locality-speed"), (nearest, "nearest"), (reranking, "reranking-speed"), (rls, "rls-speed")):  # fmt: skip
        assert module.section(writing.read_results(name)) in text
