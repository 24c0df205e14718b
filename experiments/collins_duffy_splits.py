"""Two claims of Collins & Duffy (2001, 2002), tested on 30 new splits: voting, and the lists of a lexicalized parser.

The other experiments have five or ten splits, too few to decide these claims. All settings were fixed before the run: the numbers of
the splits, one grid of scales for all corpora, and the compared systems.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from experiments import Log, writing
from experiments.collins_duffy import (
    CORPUS_NAMES,
    FIRST,
    GAMMAS,
    LATER_PAPER,
    MEASURE,
    PAPER,
    Corpus,
    Setting,
    Split,
    Training,
    at_edge,
    best_setting,
    describe,
    find_test,
    load_corpus,
    run_parts,
)
from experiments.evaluation import compare, count_rows, mean_score, split_items
from experiments.writing import Checkpoint, Claim

SPLITS, FIRST_SPLIT = 30, 1000  # the other experiments have splits 0 to 9
SCALES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
AVERAGED, VOTED, LAST, MIXED = "averaged", "voted", "last", "log p + γ score"
VOTING = {  # one pass, as in the paper
    name: [Setting(Training(lam), 1, name) for lam in SCALES] for name in (AVERAGED, VOTED, LAST)
}
SYSTEMS: dict[str, dict[str, list[Setting]]] = {
    "flights": VOTING,
    "questionbank": VOTING,
    "nbest": {
        MIXED: [
            Setting(Training(lam), passes, AVERAGED, gamma)
            for lam in SCALES
            for passes in (1, 3)
            for gamma in (*GAMMAS, 0.0, None)
        ]
    },
}
COMPARISONS = {
    "flights": [(AVERAGED, LAST), (VOTED, LAST)],
    "questionbank": [(AVERAGED, LAST), (VOTED, LAST)],
    "nbest": [(MIXED, FIRST)],
}


def run(
    *,
    quick: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    log: Log = lambda text: None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Run all splits of all corpora. With `quick`, two splits of small sets, and two scales.

    Finished splits are stored in a file in `folder` until all are finished. An interrupted run can be resumed by repeating it.
    """
    checkpoint = Checkpoint(folder, f"collins-duffy-splits-{seed}-{quick}")
    numbers = range(FIRST_SPLIT + seed, FIRST_SPLIT + seed + (2 if quick else SPLITS))
    corpora = {name: load_corpus(name, None, quick) for name in SYSTEMS}
    tasks = dict(enumerate((name, number) for name in SYSTEMS for number in numbers))
    results, cpu_seconds = run_parts(
        checkpoint,
        {k: (run_split, corpora[name], number, quick) for k, (name, number) in tasks.items()},
        n_jobs,
        lambda k, result: log(f"{tasks[k][0]}, split {tasks[k][1]}: {result['cpu_seconds']:.0f} s, {result['chosen']}"),
    )
    by_corpus = {name: [results[k] for k in tasks if tasks[k][0] == name] for name in SYSTEMS}
    summary = {
        "corpora": {name: _summarize(corpora[name], name, splits) for name, splits in by_corpus.items()},
        "scales": list(SCALES),
        "splits": len(numbers),
        "first_split": numbers[0],
        "cpu_seconds_before": cpu_seconds,
        "items": [split["items"] for split in results],
    }
    checkpoint.remove()
    return summary


def run_split(data: Corpus, number: int, quick: bool) -> dict[str, Any]:
    """Choose the setting of each system on the development set, train on both sets, and test once."""
    begin = time.process_time()
    split = Split(data, number, 30 if quick else 100)
    systems = {
        name: [setting for setting in settings if not quick or setting.training.lam in (0.3, 0.5)]
        for name, settings in SYSTEMS[data.kind].items()
    }
    distinct = list(dict.fromkeys(setting for settings in systems.values() for setting in settings))
    development, test = split.development.parses, split.test.parses
    scores = {setting: development.score(rows) for setting, rows in split.tune(distinct).items()}
    chosen = {name: best_setting(settings, scores) for name, settings in systems.items()}
    counts = {name: count_rows(test.counts[rows]) for name, rows in split.test_choices(chosen).items()}
    ids = data.sentence_ids(split.parts.rows[2])
    return {
        "chosen": {name: describe(setting) for name, setting in chosen.items()},
        "edges": {name: at_edge(setting, systems[name]) for name, setting in chosen.items()},
        "sizes": split.sizes,
        "items": split_items(f"{data.kind}, split {number}", sum(split.sizes[:2]), ids, counts),
        "cpu_seconds": time.process_time() - begin,
    }


def _summarize(data: Corpus, name: str, splits: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the scores of the systems, their settings and the tests, for one corpus."""
    items = [split["items"] for split in splits]
    return {
        "title": data.title,
        "documents": data.documents is not None,
        "sizes": [sum(split["sizes"][k] for split in splits) / len(splits) for k in range(3)],
        "rows": [
            {
                "name": system,
                "score": mean_score(items, system, MEASURE),
                "settings": dict(Counter(split["chosen"].get(system, "") for split in splits).most_common()),
                "edges": dict(Counter(parameter for split in splits for parameter in split["edges"].get(system, ()))),
                "tried": len(SYSTEMS[name].get(system, ())),
            }
            for system in items[0]["systems"]
        ],
        "tests": [compare(items, a, b, MEASURE) for a, b in COMPARISONS[name]],
    }


# --- Page -----------------------------------------------------------------------------------------------------------

BEFORE = {
    "flights": "10 splits, averaged − last: +1.25 (-0.43 to +2.94) over splits, +1.25 (+0.87 to +1.64) over items: undecided",
    "questionbank": "10 splits, averaged − last: +1.22 (-0.64 to +3.08) over splits, +1.22 (+0.77 to +1.69) over items: undecided",
    "nbest": "5 splits, log p + γ score − first choice: +0.27 (-0.02 to +0.57) over splits, +0.28 (+0.06 to +0.49) over items: undecided",
}


def section(results: dict[str, Any]) -> str:
    """Return the section of the page of `collins_duffy`."""
    return writing.render("collins_duffy_splits", results, names=CORPUS_NAMES, before=BEFORE, shown=4)


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the two claims."""
    corpora = results["corpora"]
    voting = {
        name: [find_test(corpora[name]["tests"], kind, LAST) for kind in (VOTED, AVERAGED)]
        for name in ("questionbank", "flights")
    }
    parser = find_test(corpora["nbest"]["tests"], MIXED, FIRST)
    return [
        Claim(
            PAPER,
            "Voting, or averaging in its place, is better than the last weights of the perceptron.",
            "no figure",
            "; ".join(
                f"{CORPUS_NAMES[name]}: "
                + ", ".join(f"{test['a']} − {test['b']} {writing.difference(test)}" for test in tests)
                for name, tests in voting.items()
            ),
            "greater",
            voting["questionbank"],
            note="the paper votes; the generated sentences decide nothing",
        ),
        Claim(
            LATER_PAPER,
            "Combined with the log probability, the tree kernel also improves on a lexicalized parser.",
            "significantly better on WSJ (abstract); the printed figures could not be checked",
            f"{CORPUS_NAMES['nbest']}: log p + γ score − first choice: {writing.difference(parser)}",
            "greater",
            [parser],
        ),
    ]


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the difference in each split, with the mean and both intervals. Requires matplotlib."""
    tests = [(CORPUS_NAMES[name], test) for name, data in results["corpora"].items() for test in data["tests"]]
    with writing.saved_figure(path, figsize=(9, 0.8 + 0.75 * len(tests))) as (_, axes):
        for place, (_, test) in enumerate(tests):
            axes.plot(test["splits"], [place] * len(test["splits"]), "|", color="0.6", markersize=12)
            for shift, interval, color in (
                (-0.18, test["interval"], "tab:blue"),
                (0.18, test["items"]["interval"], "tab:orange"),
            ):
                axes.plot(interval, [place + shift] * 2, color=color, linewidth=3)
                axes.plot(test["difference"], place + shift, "o", color=color, markersize=6)
        axes.axvline(0, color="0.3", linewidth=1)
        labels = [f"{corpus}:\n{test['a']} − {test['b']}" for corpus, test in tests]
        axes.set_yticks(range(len(tests)), labels, fontsize=8)
        axes.invert_yaxis()
        axes.set(xlabel="difference in parse score")
        axes.plot([], [], color="tab:blue", label="95 % interval over splits")
        axes.plot([], [], color="tab:orange", label="95 % interval over items")
        axes.plot([], [], "|", color="0.6", label="one split")
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, fontsize=8, frameon=False)
