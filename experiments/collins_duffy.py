"""Collins & Duffy (2001): reranking a PCFG's parses with the tree kernel, their tables beside ours."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import treelet
from experiments import report
from experiments.running import Say
from treelet.datasets import flights, question_bank, wsj_sample
from treelet.errors import ParameterError
from treelet.kernels import Kernel, SubsetTree
from treelet.learn import VotedPerceptron, save
from treelet.metrics import paired_bootstrap, relative_improvement
from treelet.parsing import PCFG
from treelet.structures import Treebank, read_trees
from treelet.tasks.rerank_parts import without_twins
from treelet.tasks.reranking import CandidateParses, Reranker, random_split, reranking_kernel

PAPER = {
    "pcfg": 74,
    "depth": {1: (73, -1, 4), 2: (79, 20, 6), 3: (80, 23, 3), 4: (79, 21, 4), 5: (79, 19, 4), 6: (78, 18, 3)},
    "scale": {
        0.1: (77, 11, 6), 0.2: (78, 17, 5), 0.3: (79, 20, 4), 0.4: (79, 21, 3), 0.5: (79, 21, 4), 0.6: (79, 22, 4),
        0.7: (79, 21, 4), 0.8: (79, 19, 4), 0.9: (78, 17, 5),
    },
    "test_depth": 80, "test_scale": 80, "two_passes": 81,
}  # fmt: skip
"""Parse score, relative improvement and its deviation, as printed."""
MARKOVISED = {"markov": 2, "parent": "tags"}
FEWER: dict[str, Any] = {  # depths, scales; scales and weights of the log probability together with it
    "wsj": ((2, 3), (0.3, 0.5), (0.3,), (0.01, 0.1, 1.0)),
    "wsj-markovised": ((), (0.3,), (0.3,), (0.1, 1.0)),
    "nbest": ((), (0.3,), (0.3,), (0.3, 3.0, 30.0)),
}


class Setting(NamedTuple):
    """What is tried on the development part."""

    table: str  # "depth", "scale" or "more"
    name: str
    lam: float
    max_depth: int | None = None
    logp: float = 0.0
    epochs: int = 1

    def reranker(self) -> Reranker:
        trees: Kernel = SubsetTree(lam=self.lam, max_depth=self.max_depth)
        return Reranker(VotedPerceptron(kernel=reranking_kernel(trees, self.logp), epochs=self.epochs))


def settings(kind: str, quick: bool) -> list[Setting]:
    """The paper's two tables, and what was not in it: the log probability as a feature, more passes."""
    depths: Iterable[int] = range(1, 7) if not quick else (1, 3)
    scales: Iterable[float] = [k / 10 for k in range(1, 10)] if not quick else [0.3, 0.6]
    weights: tuple[float, ...] = (0.1,) if quick else (0.01, 0.1, 1.0)
    lams: tuple[float, ...] = (0.3,) if quick else (0.3, 0.5)
    if not quick and kind in FEWER:  # larger data: fewer settings
        depths, scales, lams, weights = FEWER[kind]
    out = [Setting("depth", str(d), 1.0, d) for d in depths]
    out += [Setting("scale", f"{lam:g}", lam) for lam in scales]
    out += [
        Setting("more", f"scale {lam:g}, {w:g} x log probability, 3 passes", lam, None, w, 3)
        for lam in lams
        for w in weights
    ]
    return out


# --- data ---------------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Sentences, how they are split, and how grammars are estimated."""

    kind: str
    title: str
    bank: Treebank
    sizes: tuple[int, int, int]
    splits: int
    grammar: dict[str, Any]


def load(treebank: str | None, grammar: dict[str, Any], quick: bool) -> Data:
    """By name (flights, questionbank, wsj, wsj-markovised), or a file of trees."""
    if treebank in (None, "flights"):
        data = Data("flights", "Flights: a GENERATED treebank of travel questions, made to be ambiguous", flights(), (800, 200, 336), 10, grammar)  # fmt: skip
    elif treebank == "questionbank":
        title = "QuestionBank (Judge, Cahill & van Genabith 2006)"
        data = Data("questionbank", title, question_bank(), (800, 200, 336), 10, grammar)
    elif treebank in ("wsj", "wsj-markovised"):
        bank, _ = wsj_sample()
        short = bank[[n for n, tree in enumerate(bank) if tree is not None and len(tree.words()) <= 40]]
        annotated = treebank == "wsj-markovised"
        if annotated:
            grammar = MARKOVISED | grammar
        n = len(short)
        title = f"Penn Treebank sample (WSJ), sentences of at most 40 words{', annotated grammar' if annotated else ''}"
        data = Data(
            str(treebank), title, short, (int(0.7 * n), int(0.1 * n), n - int(0.7 * n) - int(0.1 * n)), 5, grammar
        )
    else:
        bank = read_trees(str(treebank))
        n = len(bank)
        sizes = (800, 200, 336) if n >= 1336 else (int(0.6 * n), int(0.15 * n), n - int(0.6 * n) - int(0.15 * n))
        data = Data("file", f"{treebank}", bank, sizes, 10, grammar)
    return data._replace(sizes=(120, 40, 60), splits=2) if quick else data


def prepared(data: Data, seed: int, k: int) -> tuple[CandidateParses, CandidateParses, CandidateParses]:
    """Candidates of a random split: jack-knifed for training; by the training part's grammar for the others.

    No sentence has the same words as one of a later part: it would be trained on and tested with.
    """
    words = [tuple(tree.words()) if tree is not None else () for tree in data.bank]
    (train, dev, test), _ = without_twins(random_split(len(data.bank), data.sizes, seed), words)
    bank = data.bank[train]
    grammar = PCFG.from_treebank(bank, **data.grammar)
    return (
        CandidateParses.jackknifed(bank, k, **data.grammar),
        CandidateParses.parsed(grammar, data.bank[dev], k),
        CandidateParses.parsed(grammar, data.bank[test], k),
    )


def prepared_nbest(
    parses: CandidateParses, documents: list[str], seed: int, quick: bool
) -> tuple[CandidateParses, CandidateParses, CandidateParses]:
    """Another parser's lists, split at random by document: 70, 10 and 20 in a hundred."""
    names = sorted(set(documents))
    parts = random_split(len(names), (int(0.7 * len(names)), int(0.1 * len(names)), len(names) - int(0.7 * len(names)) - int(0.1 * len(names))), seed)  # fmt: skip
    if quick:
        parts = [part[:8] for part in parts]
    chosen = [{names[n] for n in part} for part in parts]
    words = [tuple(tree.words()) if tree is not None else () for tree in parses.gold]
    rows = [np.array([n for n, name in enumerate(documents) if name in some]) for some in chosen]
    train, dev, test = (parses.sentences(part) for part in without_twins(rows, words)[0])
    return train, dev, test


# --- one split ----------------------------------------------------------------------------------------------------


def one_split(
    train: CandidateParses, dev: CandidateParses, test: CandidateParses, tried: list[Setting]
) -> dict[str, Any]:
    """Every setting on the development part; the best ones, trained on both parts, on the test part."""
    begin = time.perf_counter()
    rows = []
    for setting in tried:
        reranker = setting.reranker().fit(train)
        rows.append({"score": dev.score(reranker.choose(dev)), "updates": int(reranker.ranker.n_updates_)})
    both = CandidateParses.concat([train, dev])
    tested: dict[str, dict[str, Any]] = {}
    chosen: dict[str, Setting] = {}
    for table in ("depth", "scale", "more"):
        inside = [n for n, setting in enumerate(tried) if setting.table == table]
        if inside:
            chosen[table] = tried[max(inside, key=lambda n: rows[n]["score"])]
    chosen["best"] = tried[max(range(len(tried)), key=lambda n: rows[n]["score"])]
    if "depth" in chosen:
        chosen["two_passes"] = Setting("depth", "3, two passes", 1.0, 3, 0.0, 2)
    first = test.counts[test.first()]
    for name, setting in chosen.items():
        twin = next((other for other in tested.values() if other["setting"] == setting._asdict()), None)
        if twin is not None:
            tested[name] = twin
            continue
        rows_chosen = setting.reranker().fit(both).choose(test)
        result = paired_bootstrap(first, test.counts[rows_chosen], "parse_score", n=2000)
        by_f1 = test.counts[rows_chosen].sentence_f1 - first.sentence_f1
        tested[name] = {
            "setting": setting._asdict(),
            "score": test.score(rows_chosen),
            "p": result.p_value,
            "better": int((by_f1 > 1e-12).sum()),
            "worse": int((by_f1 < -1e-12).sum()),
        }
    return {
        "dev": {"pcfg": dev.first_score, "oracle": dev.oracle_score, "rows": rows},
        "test": {"pcfg": test.first_score, "oracle": test.oracle_score, "chosen": tested},
        "sizes": [len(train), len(dev), len(test)],
        "seconds": time.perf_counter() - begin,
    }


def _work(data: Data, seed: int, k: int, tried: list[Setting]) -> dict[str, Any]:
    begin = time.perf_counter()
    parts = prepared(data, seed, k)
    ready = time.perf_counter() - begin
    return one_split(*parts, tried) | {"candidate_seconds": ready}


def _work_nbest(
    parses: CandidateParses, documents: list[str], seed: int, quick: bool, tried: list[Setting]
) -> dict[str, Any]:
    return one_split(*prepared_nbest(parses, documents, seed, quick), tried)


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
    if nbest is not None:
        if treebank is not None:
            raise ParameterError("give a treebank or n-best lists, not both")
        parses, documents = CandidateParses.read(nbest)
        kind, title, planned = "nbest", f"{len(parses):,} sentences with another parser's lists, split by document", 5
        tried = settings(kind, quick)
        jobs = [
            (s, delayed(_work_nbest)(parses, documents, seed + s, quick, tried))
            for s in range(splits or (1 if quick else planned))
        ]
    else:
        data = load(treebank, {}, quick)
        kind, title, planned = data.kind, data.title, data.splits
        tried = settings(kind, quick)
        jobs = [(s, delayed(_work)(data, seed + s, k, tried)) for s in range(splits or planned)]
    key = hashlib.sha256(
        json.dumps([kind, title, [s._asdict() for s in tried], seed, quick, k, treelet.__version__]).encode()
    ).hexdigest()[:16]
    kept = Kept(folder, key)
    todo = [(s, job) for s, job in jobs if s not in kept.done]
    if kept.done:
        say(f"{len(kept.done)} of {len(jobs)} splits were done before and are kept")
    say(f"{title}: {len(jobs)} splits, {len(tried)} settings each")
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(_numbered)(s, job) for s, job in todo)
    for s, result in work:
        kept.add(s, result)
        best = result["test"]["chosen"]["best"]["score"]
        say(
            f"split {s}: parser {result['test']['pcfg']:.2f}, reranked {best:.2f}, oracle {result['test']['oracle']:.2f}"
        )
    results = summary([kept.done[s] for s, _ in jobs], tried)
    results |= {
        "kind": kind,
        "title": title,
        "model": model_growth(quick) if kind == "flights" else [],
    }
    kept.forget()
    return results


def _numbered(s: int, job: Any) -> tuple[int, dict[str, Any]]:
    function, arguments, keywords = job
    return s, function(*arguments, **keywords)


class Kept:
    """Finished splits on disk, one a line, so that an interrupted run goes on where it was."""

    def __init__(self, folder: Path | None, key: str) -> None:
        self.done: dict[int, dict[str, Any]] = {}
        self.file = None if folder is None else folder / f".collins-duffy-{key}.partial"
        if self.file is not None and self.file.exists():
            for line in self.file.read_text(encoding="utf-8").splitlines():
                try:
                    number, result = json.loads(line)
                except ValueError:
                    continue  # a line that was being written
                self.done[number] = result

    def add(self, number: int, result: dict[str, Any]) -> None:
        self.done[number] = result
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with open(self.file, "a", encoding="utf-8") as stream:
                stream.write(json.dumps([number, result]) + "\n")

    def forget(self) -> None:
        if self.file is not None:
            self.file.unlink(missing_ok=True)


def _spread(values: Iterable[float]) -> dict[str, float]:
    array = np.array(list(values), dtype=float)
    return {"mean": float(array.mean()), "std": float(array.std(ddof=1)) if len(array) > 1 else 0.0}


def summary(splits: list[dict[str, Any]], tried: list[Setting]) -> dict[str, Any]:
    """Means and standard deviations over splits."""
    tables: dict[str, Any] = {"depth": {}, "scale": {}, "more": {}}
    for n, setting in enumerate(tried):
        scores = [split["dev"]["rows"][n]["score"] for split in splits]
        gains = [relative_improvement(split["dev"]["pcfg"], score) for split, score in zip(splits, scores, strict=True)]
        tables[setting.table][setting.name] = {"score": _spread(scores), "improvement": _spread(gains)}
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
            "settings": [row["setting"]["name"] for row in rows],
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
    import tempfile

    bank = flights()
    train, test = bank[:800], bank[1000:1100]
    grammar = PCFG.from_treebank(train)
    found = CandidateParses.parsed(grammar, test, 20 if quick else 100)
    learnt = CandidateParses.parsed(grammar, train[: 60 if quick else 800], 20)
    rows = []
    for n in (20, 60) if quick else (50, 100, 200, 400, 800):
        part = learnt.sentences(range(n))
        ranker = Reranker(VotedPerceptron(kernel=reranking_kernel(SubsetTree(lam=0.4), 0.0))).fit(part).ranker
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


# --- pages --------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """The results as a Markdown page."""
    sizes = results["sizes"]
    real = results["kind"] != "nbest"
    parser = "the PCFG" if real else "the other parser"

    def pm(value: dict[str, float], digits: int = 1) -> str:
        return f"{value['mean']:.{digits}f} ± {value['std']:.{digits}f}"

    def table(name: str, what: str) -> str:
        paper: Any = PAPER[name]
        rows = []
        for key, row in results[name].items():
            theirs = paper.get(int(key) if name == "depth" else float(key))
            printed = (f"{theirs[0]}", f"{theirs[1]} ± {theirs[2]}") if theirs else ("", "")
            rows.append((key, pm(row["score"]), pm(row["improvement"], 0), *printed))
        return report.table((what, "score", "improvement, %", "paper: score", "paper: improvement, %"), rows, right=range(1, 5))  # fmt: skip

    test = results["test"]
    names = {
        "depth": "best depth", "scale": "best scale", "two_passes": "depth 3, two passes", "more": "with log probability", "best": "best of all",
    }  # fmt: skip
    paper_test = {"depth": "80 ± 1", "scale": "80 ± 1", "two_passes": "81 ± 1"}
    parts = [
        "# Reranking parses with the tree kernel (Collins & Duffy 2001)",
        report.made_by(results),
        f"**{results['title']}**; {results['splits']} random splits of {sizes[0]}/{sizes[1]}/{sizes[2]} sentences for training, "
        "development and test (sentences with the same words as one of a later part are left out)."
        + (f" **{results['note']}**" if "note" in results else "")
        + (" **Quick run: small parts, few settings.**" if results["quick"] else "")
        + (
            " The generator was written so that fragments help, and adjusted while looking at how much they do: read these figures as a "
            "check that everything works as in the paper, not as a result about language."
            if results["kind"] == "flights"
            else ""
        ),
        (
            "A PCFG of the training part proposes the 100 best parses of a sentence; for the training sentences themselves, "
            "grammars of nine tenths of the part parse the other tenth. "
            if real
            else ""
        )
        + "The perceptron is trained on 20 random candidates a sentence, the best among them, and chooses among all. Scores are the "
        "paper's parse scores, means and standard deviations over the splits; improvement is the share of the remaining error that "
        "goes.",
        f"On the test parts: {parser} **{results['pcfg']:.1f}** ± {results['deviations']['pcfg']:.1f}, reranked "
        f"**{results['reranked']:.1f}** ± {results['deviations']['reranked']:.1f}, best candidates {results['oracle']:.1f} ± "
        f"{results['deviations']['oracle']:.1f}. Relative improvement **{results['relative_improvement']:.1f} %** ± "
        f"{results['deviations']['relative_improvement']:.1f}.",
        f"## Development: {parser} {pm(results['dev_pcfg'])}" + (" (the paper's PCFG: 74, on ATIS)" if real else ""),
        *(["Maximum depth of fragments, one pass, scale 1:", table("depth", "depth")] if results["depth"] else []),
        "Scale λ, fragments of any depth, one pass:",
        table("scale", "λ"),
        "Not in the paper: the parser's log probability as a feature, and more passes:",
        report.table(
            ("setting", "score", "improvement, %"),
            [(key, pm(row["score"]), pm(row["improvement"], 0)) for key, row in results["more"].items()],
            right=(1, 2),
        ),
        "## Test",
        "Settings chosen on the development part of each split, trained on both parts. p: paired bootstrap against "
        f"{parser}'s first choice, in each split.",
        report.table(
            (
                "chosen",
                "score",
                "improvement, %",
                "paper",
                "splits with p < 0.05",
                "median p",
                "sentences better",
                "worse",
            ),
            [
                (
                    names[key],
                    pm(row["score"]),
                    pm(row["improvement"]),
                    paper_test.get(key, ""),
                    f"{row['significant']} of {results['splits']}",
                    f"{row['median_p']:.4f}",
                    row["better"],
                    row["worse"],
                )
                for key, row in test.items()
            ],
            right=(1, 2, 3, 4, 5, 6, 7),
        ),
        f"Chosen as best of all: {', '.join(sorted(set(test['best']['settings'])))}.",
        "![scores](collins-duffy.png)",
    ]
    if results["model"]:
        parts += [
            "## The compressed model",
            "Candidates of training sentences in the model, what its file takes beside the same trees in brackets, and the time to "
            "score a candidate by the graph (section 5 of the paper) or by the kernel's matrix with all support trees, CPU time "
            "of one thread.",
            report.table(
                ("training sentences", "support trees", "model, bytes", "trees, bytes", "graph, µs", "matrix, µs"),
                [
                    (r["sentences"], f"{r['support']:,}", f"{r['bytes']:,}", f"{r['bytes_of_trees']:,}", f"{r['graph_us']:.1f}", f"{r['matrix_us']:.1f}")
                    for r in results["model"]
                ],
                right=range(6),
            ),
        ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def picture(results: dict[str, Any], path: Path) -> None:
    """Improvement against depth and scale, the paper's beside ours; needs matplotlib."""
    with report.drawn(path, 3, figsize=(12, 3.8), sharey=True) as (figure, all_axes):
        for axes, name, what in zip(all_axes[:2], ("depth", "scale"), ("maximum depth", "scale λ"), strict=True):
            ours, theirs = results[name], PAPER[name]
            x = [float(key) for key in ours]
            mean = [row["improvement"]["mean"] for row in ours.values()]
            deviation = [row["improvement"]["std"] for row in ours.values()]
            axes.errorbar(x, mean, yerr=deviation, marker="o", capsize=3, label=f"here: {results['kind']}")
            paper: NDArray[np.float64] = np.array([(key, value[1], value[2]) for key, value in theirs.items()])  # type: ignore[attr-defined]
            axes.errorbar(
                paper[:, 0], paper[:, 1], yerr=paper[:, 2], marker="s", capsize=3, color="0.6", label="paper: ATIS"
            )
            axes.axhline(0, color="0.8", linewidth=1)
            axes.set(xlabel=what)
            axes.grid(alpha=0.3)
        short = {
            "depth": "depth",
            "scale": "scale",
            "more": "with log\nprobability",
            "best": "best",
            "two_passes": "depth 3,\ntwice",
        }
        test = results["test"]
        bars = all_axes[2].bar(
            range(len(test)),
            [row["improvement"]["mean"] for row in test.values()],
            yerr=[row["improvement"]["std"] for row in test.values()],
            capsize=3,
            color="tab:blue",
            alpha=0.8,
        )
        all_axes[2].set_xticks(range(len(bars)), [short[key] for key in test], fontsize=8)
        all_axes[2].axhline(0, color="0.8", linewidth=1)
        all_axes[2].set(title="test parts, chosen on development", xlabel="")
        all_axes[2].title.set_fontsize(9)
        all_axes[2].grid(alpha=0.3, axis="y")
        for axes in all_axes[:2]:
            axes.set_title("development parts", fontsize=9)
        all_axes[0].set(ylabel="relative improvement, %")
        all_axes[0].legend(fontsize=8)
        figure.suptitle("Improvement over the first choice, mean ± deviation over splits", fontsize=10)
