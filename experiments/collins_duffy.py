"""Collins & Duffy (2001): reranking a parser's candidates with the tree kernel, their tables beside ours."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import treelet
from experiments.baselines import flat_features
from experiments.collins_duffy_data import Data, load
from experiments.collins_duffy_fits import Fitted, Point, Pool, answers, by_way, joined, passes_of, scaled
from experiments.collins_duffy_model import model_growth
from experiments.collins_duffy_plan import (
    FIRST,
    ORACLE,
    Grids,
    Plan,
    at_edge,
    first_plan,
    grids_of,
    own_rows,
    second_plan,
    told,
)
from experiments.collins_duffy_tests import summary
from experiments.differences import counted, part
from experiments.running import Kept, Say
from treelet.metrics import best_of_group
from treelet.tasks import CandidateParses, CandidateSplit
from treelet.tasks.reranking import Rows

__all__ = ["run"]

CANDIDATES = 20  # of a sentence, to learn from


# --- one split ----------------------------------------------------------------------------------------------------


class Split:
    """The candidates of one split: sampled ones to learn from, all to choose among."""

    def __init__(self, data: Data, seed: int, k: int) -> None:
        self.seed = seed
        self.parts: CandidateSplit = data.parts(seed, k)
        sampled = [self._sampled(self.parts.train, 0), self._sampled(self.parts.development, 1)]
        others = data.learnt_from_too(self.parts)
        self.more = None if others is None else Pool(self._sampled(others, 2))
        whole = [*sampled, self.parts.development, self.parts.test]
        flat = flat_features([parses.trees for parses in whole])
        pools = [Pool(parses, features) for parses, features in zip(whole, flat, strict=True)]
        self.train, tuned, self.development, self.test = pools
        self.both = joined([self.train, tuned])

    def _sampled(self, parses: CandidateParses, number: int) -> CandidateParses:
        return parses.sample(CANDIDATES, 3 * self.seed + number)

    def answers(self, points: Iterable[Point], learnt: Pool, asked: Pool) -> dict[Point, Rows]:
        """Return the choices at each point, with one model per way."""
        found: dict[Point, Rows] = {}
        matrix, of = None, None  # of the last kernel whose matrix was needed
        for way, own in by_way(points).items():
            pool = self._with_more(learnt) if way.more else learnt
            if way.C and way._replace(C=0.0) != of:
                matrix, of = scaled(way, pool), way._replace(C=0.0)
            found |= answers(Fitted(way, pool, passes_of(own), matrix if way.C else None), asked, own)
        return found

    def _with_more(self, pool: Pool) -> Pool:
        if self.more is None:
            raise ValueError("The system 'questions too' needs other candidate lists, but there are none.")
        return joined([self.more, pool])


def one_split(data: Data, seed: int, k: int, grids: Grids) -> dict[str, Any]:
    """Every setting on the development part; the best ones, trained on both parts, once on the test part."""
    begin = time.process_time()
    split = Split(data, seed, k)
    ready = time.process_time()
    plan = first_plan(grids, data.more is not None)
    dev = split.development.parses
    found = split.answers(plan.points(), split.train, split.development)
    scores = {point: dev.score(each) for point, each in found.items()}
    later = second_plan(grids, best_point(plan.rows["best scale"], scores).way.lam)
    for point, each in split.answers(later.points(), split.train, split.development).items():
        scores[point] = dev.score(each)
    rows = plan.rows | later.rows
    rows["best of all"] = [point for name in own_rows(rows) for point in rows[name]]
    chosen = {name: best_point(points, scores) for name, points in rows.items()}
    test = split.test.parses
    tested = split.answers(dict.fromkeys(chosen.values()), split.both, split.test)
    systems: dict[str, Rows] = end_choices(test) | {name: tested[point] for name, point in chosen.items()}
    sizes = [len(each) for each in (split.parts.train, dev, test)]
    tables = {
        name: {key: scores[point] for key, point in table.items()} for name, table in plan.tables.items() if table
    }
    names = data.names(split.parts.rows[2])
    return {
        "tables": tables,
        "dev": {name: dev.score(each) for name, each in end_choices(dev).items()},
        "chosen": {name: told(point) for name, point in chosen.items()},
        "edges": {name: at_edge(point, _origin(point, rows)) for name, point in chosen.items()},
        "tried": {name: len(set(points)) for name, points in rows.items()},
        "fits": len(by_way(scores)),
        "sizes": sizes,
        "twins": split.parts.notes["twins"],
        "others": 0 if split.more is None else len(split.more.parses),
        "items": [
            part(f"split {seed}", sum(sizes[:2]), names, {n: counted(test.counts[r]) for n, r in systems.items()}),
            _development(seed, sizes[0], data.names(split.parts.rows[1]), dev, plan, found),
        ],
        "candidate_seconds": ready - begin,
        "cpu_seconds": time.process_time() - begin,
    }


def best_point(points: list[Point], scores: dict[Point, float]) -> Point:
    return max(points, key=lambda point: scores[point])


def _origin(point: Point, rows: dict[str, list[Point]]) -> list[Point]:
    """Return the choices of the first row that contains this point."""
    return next(points for points in rows.values() if point in points)


def end_choices(parses: CandidateParses) -> dict[str, Rows]:
    """Return the choices of the parser, and the best choices (oracle)."""
    return {FIRST: parses.first(), ORACLE: best_of_group(parses.counts.goodness, parses.qid)}


def _development(
    seed: int, train: int, names: list[str], dev: CandidateParses, plan: Plan, found: dict[Point, Rows]
) -> dict[str, Any]:
    """Each setting of the tables on each sentence of the development part."""
    systems = {FIRST: dev.first()}
    for table, points in plan.tables.items():
        systems |= {f"{table} {key}": found[point] for key, point in points.items()}
    counts = {name: counted(dev.counts[rows]) for name, rows in systems.items()}
    return part(f"split {seed}, development", train, names, counts)


# --- the whole ----------------------------------------------------------------------------------------------------


def run(
    *,
    quick: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    say: Say = lambda text: None,
    treebank: str | None = None,
    nbest: str | None = None,
    splits: int | None = None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """All splits and settings; what was found, ready for JSON.

    Finished splits are kept in a file in `folder` until all are there: after an interrupt, the same call goes on.
    """
    from joblib import Parallel, delayed

    k = 30 if quick else 100
    data = load(treebank, nbest, quick)
    grids = grids_of(data.kind, quick)
    numbers = range(splits or data.splits)
    key = hashlib.sha256(repr([data.kind, data.title, grids, seed, quick, k, treelet.__version__]).encode())
    kept = Kept(folder, f"collins-duffy-{key.hexdigest()[:16]}")
    todo = [s for s in numbers if s not in kept.done]
    elsewhere = list(numbers) if n_jobs != 1 else [s for s in numbers if s in kept.done]
    if kept.done:
        say(f"{len(kept.done)} of {len(numbers)} splits were done before and are kept")
    points = first_plan(grids, data.more is not None).points()
    say(f"{data.title}: {len(numbers)} splits, {len(points):,} settings of {len(by_way(points))} fits each")
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_work)(data, seed, s, k, grids) for s in todo
    )
    for s, result in work:
        kept.add(s, result)
        say(f"split {s}: {result['cpu_seconds']:.0f} s, chosen as best of all: {result['chosen']['best of all']}")
    done = [kept.done[s] for s in numbers]
    results = summary(done)
    results |= {"kind": data.kind, "title": data.title, "left_out": data.notes, "documents": data.documents is not None}
    results["model"] = model_growth(quick) if data.kind == "flights" else []
    results["cpu_seconds_before"] = sum(kept.done[s]["cpu_seconds"] for s in elsewhere)
    kept.forget()
    return results


def _work(data: Data, seed: int, number: int, k: int, grids: Grids) -> tuple[int, dict[str, Any]]:
    return number, one_split(data, seed + number, k, grids)
