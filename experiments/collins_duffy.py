"""Collins & Duffy (2001): reranking a PCFG's parses with the tree kernel, their tables beside ours."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import treelet
from experiments.collins_duffy_page import page, picture
from experiments.running import Kept, Say
from treelet.datasets import flights, question_bank, wsj_sample
from treelet.errors import ParameterError
from treelet.kernels import SubsetTree
from treelet.learn import save
from treelet.metrics import paired_bootstrap, relative_improvement
from treelet.parsing import PCFG
from treelet.structures import Treebank, read_trees
from treelet.tasks.rerank_job import Setting
from treelet.tasks.rerank_parts import SIZES, Parts, parts_of_lists, parts_of_treebank
from treelet.tasks.reranking import CandidateParses, Reranker

__all__ = ["page", "picture", "run"]

PAPER_SIZES = (800, 200, 336)
MARKOVISED: dict[str, Any] = {"markov": 2, "parent": "tags"}
FEWER: dict[str, Any] = {  # depths, scales; scales and weights of the log probability together with it
    "wsj": ((2, 3), (0.3, 0.5), (0.3,), (0.01, 0.1, 1.0)),
    "wsj-markovised": ((), (0.3,), (0.3,), (0.1, 1.0)),
    "nbest": ((), (0.3,), (0.3,), (0.3, 3.0, 30.0)),
}


class Trial(NamedTuple):
    """What is tried on the development part: a setting of `treelet rerank`, in a table, for some passes."""

    table: str  # "depth", "scale" or "more"
    name: str
    setting: Setting
    epochs: int = 1

    def reranker(self) -> Reranker:
        """What learns."""
        return self.setting.reranker(epochs=self.epochs)


def trials(kind: str, quick: bool) -> list[Trial]:
    """The paper's two tables, and what was not in it: the log probability as a feature, more passes."""
    depths: Iterable[int] = range(1, 7) if not quick else (1, 3)
    scales: Iterable[float] = [k / 10 for k in range(1, 10)] if not quick else [0.3, 0.6]
    weights: tuple[float, ...] = (0.1,) if quick else (0.01, 0.1, 1.0)
    lams: tuple[float, ...] = (0.3,) if quick else (0.3, 0.5)
    if not quick and kind in FEWER:  # larger data: fewer settings
        depths, scales, lams, weights = FEWER[kind]
    out = [Trial("depth", str(d), Setting(1.0, d)) for d in depths]
    out += [Trial("scale", f"{lam:g}", Setting(lam)) for lam in scales]
    out += [
        Trial("more", f"scale {lam:g}, {w:g} x log probability, 3 passes", Setting(lam, None, w), 3)
        for lam in lams
        for w in weights
    ]
    return out


# --- data ---------------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Sentences and how they are split: a treebank and how its grammars are estimated, or another parser's lists."""

    kind: str
    title: str
    sizes: tuple[float, float, float]
    splits: int
    bank: Treebank | None = None
    grammar: dict[str, Any] = {}  # noqa: RUF012  # not changed
    max_words: int | None = None
    lists: CandidateParses | None = None
    documents: list[str] | None = None

    def parts(self, seed: int, k: int) -> Parts:
        """Candidates of a random split."""
        if self.lists is not None:
            return parts_of_lists(self.lists, self.documents, self.sizes, max_words=None, random_state=seed)
        return parts_of_treebank(
            self.bank, self.sizes, k=k, max_words=self.max_words, random_state=seed, **self.grammar
        )


def load(treebank: str | None, nbest: str | None, quick: bool) -> Data:
    """By name (flights, questionbank, wsj, wsj-markovised), a file of trees, or a file of lists."""
    if nbest is not None:
        if treebank is not None:
            raise ParameterError("give a treebank or n-best lists, not both")
        lists, documents = CandidateParses.read(nbest)
        if quick:
            lists, documents = lists.sentences(range(min(len(lists), 320))), documents[:320]
        title = f"{len(lists):,} sentences with another parser's lists, split by document"
        return Data("nbest", title, (0.7, 0.1, 0.2), 1 if quick else 5, lists=lists, documents=documents)
    data = _treebank(treebank or "flights")
    return data._replace(sizes=(120, 40, 60), splits=2) if quick else data


def _treebank(name: str) -> Data:
    if name == "flights":
        title = "Flights: a GENERATED treebank of travel questions, made to be ambiguous"
        return Data("flights", title, PAPER_SIZES, 10, flights())
    if name == "questionbank":
        return Data(name, "QuestionBank (Judge, Cahill & van Genabith 2006)", PAPER_SIZES, 10, question_bank())
    if name in ("wsj", "wsj-markovised"):
        annotated = name == "wsj-markovised"
        title = f"Penn Treebank sample (WSJ), sentences of at most 40 words{', annotated grammar' if annotated else ''}"
        return Data(name, title, (0.7, 0.1, 0.2), 5, wsj_sample()[0], MARKOVISED if annotated else {}, 40)
    bank = read_trees(name)
    return Data("file", name, PAPER_SIZES if len(bank) >= sum(PAPER_SIZES) else SIZES, 10, bank)


# --- one split ----------------------------------------------------------------------------------------------------


def one_split(data: Data, seed: int, k: int, tried: list[Trial]) -> dict[str, Any]:
    """Every setting on the development part; the best ones, trained on both parts, on the test part."""
    begin = time.perf_counter()
    parts = data.parts(seed, k)
    train, dev, test = parts.train, parts.development, parts.test
    ready = time.perf_counter()
    scores = [dev.score(trial.reranker().fit(train).choose(dev)) for trial in tried]

    def best(table: str | None = None) -> Trial:
        inside = [n for n, trial in enumerate(tried) if table in (None, trial.table)]
        return tried[max(inside, key=lambda n: scores[n])]

    tables = dict.fromkeys(trial.table for trial in tried)
    chosen = {table: best(table) for table in tables} | {"best": best()}
    if "depth" in chosen:
        chosen["two_passes"] = Trial("depth", "3, two passes", Setting(1.0, 3), 2)
    both = CandidateParses.concat([train, dev])
    tested = {trial: _tested(trial, both, test) for trial in dict.fromkeys(chosen.values())}
    return {
        "dev": {"pcfg": dev.first_score, "oracle": dev.oracle_score, "scores": scores},
        "test": {
            "pcfg": test.first_score,
            "oracle": test.oracle_score,
            "chosen": {name: tested[trial] for name, trial in chosen.items()},
        },
        "sizes": [len(train), len(dev), len(test)],
        "seconds": time.perf_counter() - ready,
        "candidate_seconds": ready - begin,
    }


def _tested(trial: Trial, both: CandidateParses, test: CandidateParses) -> dict[str, Any]:
    first, rows = test.counts[test.first()], trial.reranker().fit(both).choose(test)
    by_f1 = test.counts[rows].sentence_f1 - first.sentence_f1
    return {
        "setting": trial.name,
        "score": test.score(rows),
        "p": paired_bootstrap(first, test.counts[rows], "parse_score", n=2000).p_value,
        "better": int((by_f1 > 1e-12).sum()),
        "worse": int((by_f1 < -1e-12).sum()),
    }


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
    tried = trials(data.kind, quick)
    numbers = range(splits or data.splits)
    key = hashlib.sha256(repr([data.kind, data.title, tried, seed, quick, k, treelet.__version__]).encode())
    kept = Kept(folder, f"collins-duffy-{key.hexdigest()[:16]}")
    todo = [s for s in numbers if s not in kept.done]
    if kept.done:
        say(f"{len(kept.done)} of {len(numbers)} splits were done before and are kept")
    say(f"{data.title}: {len(numbers)} splits, {len(tried)} settings each")
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_work)(data, seed, s, k, tried) for s in todo
    )
    for s, result in work:
        kept.add(s, result)
        best = result["test"]["chosen"]["best"]["score"]
        say(
            f"split {s}: parser {result['test']['pcfg']:.2f}, reranked {best:.2f}, oracle {result['test']['oracle']:.2f}"
        )
    results = summary([kept.done[s] for s in numbers], tried)
    results |= {"kind": data.kind, "title": data.title}
    results["model"] = model_growth(quick) if data.kind == "flights" else []
    kept.forget()
    return results


def _work(data: Data, seed: int, number: int, k: int, tried: list[Trial]) -> tuple[int, dict[str, Any]]:
    return number, one_split(data, seed + number, k, tried)


def _spread(values: Iterable[float]) -> dict[str, float]:
    array = np.array(list(values), dtype=float)
    return {"mean": float(array.mean()), "std": float(array.std(ddof=1)) if len(array) > 1 else 0.0}


def summary(splits: list[dict[str, Any]], tried: list[Trial]) -> dict[str, Any]:
    """Means and standard deviations over splits."""
    tables: dict[str, Any] = {"depth": {}, "scale": {}, "more": {}}
    for n, trial in enumerate(tried):
        scores = [split["dev"]["scores"][n] for split in splits]
        gains = [relative_improvement(split["dev"]["pcfg"], score) for split, score in zip(splits, scores, strict=True)]
        tables[trial.table][trial.name] = {"score": _spread(scores), "improvement": _spread(gains)}
    tests = {}
    for name in splits[0]["test"]["chosen"]:
        rows = [split["test"]["chosen"][name] for split in splits]
        gains = [relative_improvement(s["test"]["pcfg"], row["score"]) for s, row in zip(splits, rows, strict=True)]
        tests[name] = {
            "score": _spread(row["score"] for row in rows),
            "improvement": _spread(gains),
            "largest_p": max(row["p"] for row in rows),
            "median_p": float(np.median([row["p"] for row in rows])),
            "significant": sum(row["p"] < 0.05 and row["better"] >= row["worse"] for row in rows),
            "better": sum(row["better"] for row in rows),
            "worse": sum(row["worse"] for row in rows),
            "settings": [row["setting"] for row in rows],
        }
    best = tests["best"]
    return {
        "pcfg": _spread(s["test"]["pcfg"] for s in splits)["mean"],
        "reranked": best["score"]["mean"],
        "oracle": _spread(s["test"]["oracle"] for s in splits)["mean"],
        "relative_improvement": best["improvement"]["mean"],
        "deviations": {
            "pcfg": _spread(s["test"]["pcfg"] for s in splits)["std"],
            "reranked": best["score"]["std"],
            "oracle": _spread(s["test"]["oracle"] for s in splits)["std"],
            "relative_improvement": best["improvement"]["std"],
        },
        "dev_pcfg": _spread(s["dev"]["pcfg"] for s in splits),
        "depth": tables["depth"],
        "scale": tables["scale"],
        "more": tables["more"],
        "test": tests,
        "sizes": splits[0]["sizes"],
        "splits": len(splits),
        "split_seconds": [s["seconds"] for s in splits],
    }


def model_growth(quick: bool) -> list[dict[str, Any]]:
    """Size of the compressed model and time to score with it, against the number of support trees."""
    bank = flights()
    train, test = bank[:800], bank[1000:1100]
    grammar = PCFG.from_treebank(train)
    found = CandidateParses.parsed(grammar, test, 20 if quick else 100)
    learnt = CandidateParses.parsed(grammar, train[: 60 if quick else 800], 20)
    rows = []
    for n in (20, 60) if quick else (50, 100, 200, 400, 800):
        part = learnt.sentences(range(n))
        ranker = Setting(0.4).reranker(epochs=1).fit(part).ranker
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.treelet"
            save(ranker, path)
            size = path.stat().st_size
        begin = time.process_time()
        ranker.predict(found.table())
        graph = time.process_time() - begin
        support = part.trees[ranker.support_]
        begin = time.process_time()
        SubsetTree(lam=0.4)(found.trees, support)
        pairs = time.process_time() - begin
        rows.append(
            {
                "sentences": n,
                "support": len(ranker.support_),
                "bytes": size,
                "bytes_of_trees": sum(len(text) + 1 for text in support.strings()),
                "graph_us": 1e6 * graph / len(found.trees),
                "matrix_us": 1e6 * pairs / len(found.trees),
            }
        )
    return rows
