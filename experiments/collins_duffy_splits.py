"""Two claims of Collins & Duffy, tested on 30 new splits: voting, and the lists of a lexicalized parser.

The other pages have five or ten splits, too few to decide these claims. All settings were fixed before
the run: the numbers of the splits, one grid of scales for all corpora, and the compared systems.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.collins_duffy import Split, best_point, end_choices
from experiments.collins_duffy_data import Data, load
from experiments.collins_duffy_fits import Point, Way
from experiments.collins_duffy_plan import FIRST, GAMMAS, at_edge, told
from experiments.collins_duffy_tests import SCORE
from experiments.differences import across, counted, part, summary
from experiments.running import Kept, Say

SPLITS, FIRST_SPLIT = 30, 1000  # the other pages have splits 0 to 9
CANDIDATES = 100
SCALES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
AVERAGED, VOTED, LAST, MIXED = "averaged", "voted", "last", "log p + γ score"
PASSES = (1, 3)
VOTING = {
    name: [Point(Way(lam), 1, name) for lam in SCALES] for name in (AVERAGED, VOTED, LAST)
}  # one pass, as in the paper
SYSTEMS: dict[str, dict[str, list[Point]]] = {
    "flights": VOTING,
    "questionbank": VOTING,
    "nbest": {
        MIXED: [
            Point(Way(lam), passes, AVERAGED, gamma)
            for lam in SCALES
            for passes in PASSES
            for gamma in (*GAMMAS, 0.0, None)
        ]
    },
}
PAIRS = {
    "flights": [(AVERAGED, LAST), (VOTED, LAST)],
    "questionbank": [(AVERAGED, LAST), (VOTED, LAST)],
    "nbest": [(MIXED, FIRST)],
}


def run(
    *,
    quick: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    say: Say = lambda text: None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Run all splits of all corpora. With `quick`, two splits of small parts, and two scales.

    Finished splits are stored in a file in `folder` until all are finished. An interrupted run can be resumed by repeating it.
    """
    from joblib import Parallel, delayed

    kept = Kept(folder, f"collins-duffy-splits-{seed}-{quick}")
    numbers = range(FIRST_SPLIT + seed, FIRST_SPLIT + seed + (2 if quick else SPLITS))
    tasks = {k: (name, number) for k, (name, number) in enumerate((name, n) for name in SYSTEMS for n in numbers)}
    corpora = {name: load(name, None, quick) for name in SYSTEMS}
    before = list(tasks) if n_jobs != 1 else list(kept.done)
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_numbered)(k, corpora[name], number, quick) for k, (name, number) in tasks.items() if k not in kept.done
    )
    for k, result in work:
        kept.add(k, result)
        say(f"{tasks[k][0]}, split {tasks[k][1]}: {result['cpu_seconds']:.0f} s, {result['chosen']}")
    done = {name: [kept.done[k] for k in tasks if tasks[k][0] == name] for name in SYSTEMS}
    found = {
        "corpora": {name: _corpus(corpora[name], name, splits) for name, splits in done.items()},
        "scales": list(SCALES),
        "splits": len(numbers),
        "first_split": numbers[0],
        "cpu_seconds_before": sum(kept.done[k]["cpu_seconds"] for k in before),
        "items": [split["items"] for splits in done.values() for split in splits],
    }
    kept.forget()
    return found


def _numbered(k: int, data: Data, number: int, quick: bool) -> tuple[int, dict[str, Any]]:
    return k, one_split(data, number, quick)


def one_split(data: Data, number: int, quick: bool) -> dict[str, Any]:
    """Choose the setting of each system on the development part, train on both parts, and test once."""
    begin = time.process_time()
    split = Split(data, number, 30 if quick else CANDIDATES)
    systems = {
        name: [point for point in points if not quick or point.way.lam in (0.3, 0.5)]
        for name, points in SYSTEMS[data.kind].items()
    }
    every = list(dict.fromkeys(point for points in systems.values() for point in points))
    development, test = split.development.parses, split.test.parses
    scores = {
        point: development.score(rows) for point, rows in split.answers(every, split.train, split.development).items()
    }
    chosen = {name: best_point(points, scores) for name, points in systems.items()}
    tested = split.answers(dict.fromkeys(chosen.values()), split.both, split.test)
    rows = end_choices(test) | {name: tested[point] for name, point in chosen.items()}
    sizes = [len(each) for each in (split.parts.train, development, test)]
    counts = {name: counted(test.counts[each]) for name, each in rows.items()}
    return {
        "chosen": {name: told(point) for name, point in chosen.items()},
        "edges": {name: at_edge(point, systems[name]) for name, point in chosen.items()},
        "sizes": sizes,
        "items": part(f"{data.kind}, split {number}", sum(sizes[:2]), data.names(split.parts.rows[2]), counts),
        "cpu_seconds": time.process_time() - begin,
    }


def _corpus(data: Data, name: str, splits: list[dict[str, Any]]) -> dict[str, Any]:
    """Scores of the systems, their settings and the tests, for one corpus."""
    items = [split["items"] for split in splits]
    return {
        "title": data.title,
        "documents": data.documents is not None,
        "sizes": [sum(split["sizes"][k] for split in splits) / len(splits) for k in range(3)],
        "rows": [
            {
                "name": system,
                "score": summary(items, system, SCORE),
                "settings": dict(Counter(split["chosen"].get(system, "") for split in splits).most_common()),
                "edges": dict(Counter(what for split in splits for what in split["edges"].get(system, ()))),
                "tried": len(SYSTEMS[name].get(system, ())),
            }
            for system in items[0]["systems"]
        ],
        "tests": [across(items, a, b, SCORE) for a, b in PAIRS[name]],
    }
