"""Fits and parameter changes that are interrupted at any line leave the estimator as it was."""

from __future__ import annotations

import copy
import linecache
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import sklearn.base
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

import treelet as tl
from treelet.learn import RLS, KernelSVR, RankRLS, RankSVM, VotedPerceptron, fits
from treelet.learn.ranking import Ranker
from treelet.tasks import ParsedSentence, ParseLists, ParseRanker, dependency_ranking

SOURCE = Path(tl.__file__).parent
FITTING = tuple(map(str, (SOURCE / "learn", dependency_ranking.__file__)))
SETTING = (*FITTING, str(SOURCE / "kernels" / "base.py"), str(SOURCE / "kernels" / "tuning.py"), sklearn.base.__file__)
READERS = tuple(
    str(SOURCE / file)
    for file in ("learn/fits.py", "learn/persist.py", "learn/outputs.py", "fragments/model_fragments.py")
)
"""Files, besides those of the estimators' classes, with code that reads the attributes of estimators."""
COMMIT = "atomic_fit.<locals>.decorate.<locals>.fit"
"""The function that replaces an estimator's attributes; after that it has only to return."""
BY_INSTRUCTION = (COMMIT, "unchanged_on_error", "Tunable.theta")
"""Functions in which an exception is injected before each instruction, not only before each line."""

SST = tl.SubsetTree()
OLD = ["(A (B x) (C y))", "(A (B z) (C y))", "(D (B x))", "(D (E x) (B x))", "(A (B x))", "(D (E y))"]
NEW = ["(A (B v))", "(F (B v) (C w))", "(F (B x))", "(G (B y) (F z))", "(G (B v))", "(A (B x) (G u))", "(A u)"]
PROBES = ["(A (B x) (F (B v)))", "(D (B x) (C y))", "(G (E x))"]
OLD_VALUES, NEW_VALUES = [1.0, 2.0, 4.0, 3.0, 0.0, 1.5], [7.0, 5.0, 5.5, 3.0, 9.0, 8.0, 6.0]


pytestmark = pytest.mark.filterwarnings("ignore:.*no fragment in common with the model")


Line = tuple[str, str, int]
"""A file, a function in it, and a line; or, below 0, an instruction."""


class Injected(BaseException):
    """An exception that no code expects, as KeyboardInterrupt is."""


@contextmanager
def tracing(files: tuple[str, ...], at: Callable[[Line], None], by_instruction: bool) -> Iterator[None]:
    """Call a function before each line, or each instruction, of Python code in some files.

    The end of a ``with`` block is left out: Python handles no signal there, so that locks are always released. So are
    further rounds of a comprehension: from Python 3.12 on, an exception of a tracer there skips the end of the block.
    """

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(files):
            return None
        frame.f_trace_opcodes = by_instruction and code.co_qualname in BY_INSTRUCTION
        opened: set[int] = set()
        previous = 0

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal previous
            if event == "opcode":
                at((code.co_filename, code.co_qualname, -frame.f_lasti))
            elif event == "line" and frame.f_lineno not in opened and frame.f_lineno != previous:
                previous = frame.f_lineno
                if linecache.getline(code.co_filename, frame.f_lineno).lstrip().startswith("with "):
                    opened.add(frame.f_lineno)
                at((code.co_filename, code.co_qualname, frame.f_lineno))
            return step

        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def interrupted_at_every_line(
    call: Callable[[], Any], files: tuple[str, ...], by_instruction: bool = False, *, first_only: bool = False
) -> Iterator[Line]:
    """Interrupt a call at the first and at the last time that it reaches each line; yield the line after each."""
    events: list[Line] = []
    with tracing(files, events.append, by_instruction):
        call()
    yield ("", "", 0)  # the call has been completed
    last = {line: number for number, line in enumerate(events)}
    first = {line: number for number, line in reversed(list(enumerate(events)))}
    for target in sorted({*first.values()} if first_only else {*first.values(), *last.values()}):
        numbers = iter(range(target + 1))

        def stop(line: Line, numbers: Iterator[int] = numbers, target: int = target) -> None:
            if next(numbers, None) == target:
                raise Injected

        try:
            with tracing(files, stop, by_instruction):
                call()
        except Injected:
            yield events[target]


def outcome(estimator: Any, use: Callable[[Any], Any]) -> Any:
    """Return all that shows which fit an estimator has; or the error, which no whole estimator gives."""
    try:
        found = [np.asarray(values.todense() if hasattr(values, "todense") else values) for values in use(estimator)]
        names = sorted(name for name in vars(estimator) if name.endswith("_"))
    except Exception as error:
        return repr(error)
    return [(values.shape, values.dtype.str, values.tolist()) for values in found], names


class Case(NamedTuple):
    estimator: Any
    old: Callable[[Any], Any]
    new: Callable[[Any], Any]
    use: Callable[[Any], Any]


def predictions(model: Any) -> list[Any]:
    found = [model.predict(PROBES)]
    if hasattr(model, "classes_"):
        found += [model.classes_, model.decision_function(PROBES)]
    found.append(model.training_["examples"] if hasattr(model, "training_") else 0)
    return found


def ranked(model: Any) -> list[Any]:
    return [model.predict(PROBES, [0, 0, 0]), model.support_]


def vectors(model: Any) -> list[Any]:
    return [model.transform(PROBES), model.kernel_.lam if hasattr(model.kernel_, "lam") else 0]


def neighbors(model: Any) -> list[Any]:
    return [*model.kneighbors(PROBES), model.kneighbors_graph(PROBES)]


def of_columns(model: Any) -> list[Any]:
    columns = len(getattr(model, "feature_names_in_", NEW))
    return [model.predict(np.ones((2, columns))), model.classes_, getattr(model, "feature_names_in_", [])]


def named_matrix() -> pd.DataFrame:
    names = [f"tree {number}" for number in range(len(OLD))]
    return pd.DataFrame(SST(OLD), index=names, columns=names)


def streamed(model: Any) -> Any:
    return model.partial_fit(OLD, OLD_VALUES, [0, 0, 0, 1, 1, 1])


def continue_stream(model: Any) -> Any:
    return model.partial_fit(NEW, NEW_VALUES, [0, 0, 0, 1, 1, 1, 1])


LABELS_OLD, LABELS_NEW = ["a", "a", "b", "b", "a", "b"], ["x", "y", "z", "x", "y", "z", "x"]
CLASSIFY = (lambda m: m.fit(OLD, LABELS_OLD), lambda m: m.fit(NEW, LABELS_NEW), predictions)
REGRESS = (lambda m: m.fit(OLD, OLD_VALUES), lambda m: m.fit(NEW, NEW_VALUES), predictions)
RANK = (
    lambda m: m.fit(OLD, OLD_VALUES, [0, 0, 0, 1, 1, 1]),
    lambda m: m.fit(NEW, NEW_VALUES, [0, 0, 0, 1, 1, 1, 1]),
    ranked,
)
MAP = (lambda m: m.fit(OLD), lambda m: m.fit(NEW), vectors)
GROUPED = (lambda m: m.fit(OLD, OLD_VALUES, [0, 0, 1, 1, 2, 2]), *REGRESS[1:])

CASES = {
    "KernelSVC": Case(tl.KernelSVC(SST), *CLASSIFY),
    "KernelSVC precomputed": Case(
        tl.KernelSVC("precomputed"),
        lambda m: m.fit(named_matrix(), LABELS_OLD),
        lambda m: m.fit(SST(NEW), LABELS_NEW),
        of_columns,
    ),
    "KernelSVR": Case(KernelSVR(SST), *REGRESS),
    "RLS": Case(RLS(SST), *REGRESS),
    "RLS alphas, groups": Case(RLS(SST, alphas=[0.1, 1.0]), *GROUPED),
    "RLS then cg": Case(
        RLS(SST),
        lambda m: m.set_params(solver="eigen").fit(OLD, OLD_VALUES).set_params(solver="cg"),
        REGRESS[1],
        predictions,
    ),
    "RankRLS": Case(RankRLS(SST), *RANK),
    "RankSVM": Case(RankSVM(SST), *RANK),
    "VotedPerceptron": Case(VotedPerceptron(SST), *RANK),
    "VotedPerceptron voted": Case(VotedPerceptron(SST, prediction="voted"), *RANK),
    "VotedPerceptron partial_fit": Case(
        VotedPerceptron(SST),
        lambda m: streamed(m if m._stream is None else clone(m)),
        continue_stream,
        ranked,
    ),
    "Nystroem": Case(tl.Nystroem(SST, n_components=3, sampling="kmeans++", random_state=0), *MAP),
    "TreeSketch": Case(tl.TreeSketch(SST, n_components=64, random_state=0), *MAP),
    "KernelMatrix": Case(tl.KernelMatrix(SST), *MAP),
    "Nearest": Case(tl.Nearest(SST, n_neighbors=2), *MAP[:2], neighbors),
    "FragmentFeatures": Case(tl.FragmentFeatures(kernel=SST, n=8), *MAP),
    "FragmentFeatures of a model": Case(
        tl.FragmentFeatures(tl.KernelSVC(SST), n=8),
        CLASSIFY[0],
        CLASSIFY[1],
        lambda m: [m.transform(PROBES), m.coef_, m.classes_],
    ),
}


def traced_files(case: Case) -> tuple[str, ...]:
    """Return the files in which a fit is interrupted: those of the estimator's classes, or all for `partial_fit`.

    Fits spend thousands of lines in code that never sees the estimator. An exception there reaches the estimator's own
    lines, and is injected there.
    """
    if case.new is continue_stream:
        return FITTING
    modules = [sys.modules[kind.__module__] for kind in type(case.estimator).__mro__ if "treelet" in kind.__module__]
    return tuple({module.__file__ or "" for module in [*modules, sys.modules["treelet.learn.fits"]]})


def counted(case: Case, files: tuple[str, ...], by_instruction: bool = False) -> tuple[Counter[str], list[Any]]:
    """Interrupt a second fit everywhere: how often the estimator was the old one, the new one or a mixture, and where."""
    estimator = case.old(clone(case.estimator))
    holder = [estimator]
    old = outcome(estimator, case.use)
    counts: Counter[str] = Counter()
    wrong: list[Any] = []
    new = None
    for line in interrupted_at_every_line(lambda: case.new(holder[0]), files, by_instruction):
        found = outcome(holder[0], case.use)
        if not line[0]:
            new = found
            assert new != old
        elif found == old:
            counts["old"] += 1
            continue
        elif found == new:
            counts["new"] += 1
            if line[1] != COMMIT:
                wrong.append(line)
        else:
            counts["mixed"] += 1
            wrong.append((line, found))
        holder[0] = case.old(clone(case.estimator))
        assert outcome(holder[0], case.use) == old
    case.new(holder[0])
    assert outcome(holder[0], case.use) == new  # and nothing that was not seen has been left behind
    return counts, wrong


@pytest.mark.parametrize("name", CASES)
def test_an_interrupted_fit_leaves_the_earlier_fit(name: str) -> None:
    counts, wrong = counted(CASES[name], traced_files(CASES[name]), by_instruction=name == "KernelMatrix")
    assert counts["old"] > 20
    assert not wrong, (dict(counts), wrong[:3])


@pytest.mark.parametrize("name", CASES)
def test_an_interrupted_first_fit_is_not_a_fit(name: str) -> None:
    case, fitted = CASES[name], []
    holder = [clone(case.estimator)]
    for line in interrupted_at_every_line(lambda: case.new(holder[0]), traced_files(case), first_only=True):
        try:
            check_is_fitted(holder[0])
        except NotFittedError:
            continue
        holder[0] = clone(case.estimator)
        if line[0] and line[1] != COMMIT:
            fitted.append(line)
    assert not fitted


@pytest.mark.serial
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_an_interrupt_by_a_signal_leaves_the_earlier_fit() -> None:
    old_trees, new_trees = tl.datasets.flights(60)[:30], tl.datasets.flights(60)[30:]
    old_labels, new_labels = np.arange(30) % 2, np.array(["x", "y", "z"] * 10)
    model = tl.KernelSVC(SST).fit(old_trees, old_labels)
    old = outcome(model, predictions)
    started = time.perf_counter()
    new = outcome(clone(model).fit(new_trees, new_labels), predictions)
    seconds = time.perf_counter() - started
    interrupts = 0
    for delay in np.linspace(0, seconds, 30):

        def interrupt(delay: float = delay) -> None:
            time.sleep(delay)
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=interrupt)
        try:
            sender.start()
            model.fit(new_trees, new_labels)
            sender.join()
            time.sleep(0.1)  # the signal is handled here at the latest
        except KeyboardInterrupt:
            interrupts += 1
        sender.join()
        assert outcome(model, predictions) in (old, new)
        model = tl.KernelSVC(SST).fit(old_trees, old_labels)
    assert interrupts >= 25  # Python ignores an interrupt in a finalizer or in a callback of the garbage collector


def sentences(number: int) -> ParseLists:
    """Return sentences with two parses each, the first of which is better."""
    words, tags = ["see", "the", "dog"], ["V", "D", "N"]
    good = tl.Dependencies(words, tags, [(1, 2, "D"), (0, 2, "O")])
    bad = tl.Dependencies(words, tags, [(0, 1, "D"), (1, 2, "O")])
    return ParseLists([ParsedSentence(f"{n}", None, (good, bad), (1.0, 0.5), (0, 1)) for n in range(number)])


def test_an_interrupted_fit_of_a_parse_ranker_leaves_the_earlier_fit() -> None:
    kernels = [tl.On("parse", tl.Locality(window, 0.5)) for window in (1, 3)]
    ranker = ParseRanker(kernels, alphas=(0.1, 1.0), folds=2).fit(sentences(3))
    second = sentences(2)
    parts = ("refused_", "choices_", "choice_", "model_")
    old = {name: getattr(ranker, name) for name in parts}
    for line in interrupted_at_every_line(lambda: ranker.fit(second), FITTING[-1:]):
        kept = [getattr(ranker, name) is old[name] for name in parts]
        assert all(kept) or not any(kept), line
        old = {name: getattr(ranker, name) for name in parts}


def shown_parameters(*owners: Any) -> list[dict[str, str]]:
    """Return all parameters of some objects as text, nested ones included."""
    return [{name: repr(value) for name, value in owner.get_params().items()} for owner in owners]


PARAMETERS = {
    "kernel": (tl.PartialTree, {"lam": 0.3, "mu": 0.2, "lam_bounds": (0.1, 0.5)}),
    "nested kernel": (
        lambda: tl.PartialTree().normalized() + 2 * tl.On("words", tl.Linear()),
        {"k1__lam": 0.3, "k1__mu": 0.2, "k2__factor": 3.0, "k2": 4 * tl.On("words", tl.Linear())},
    ),
    "KernelSVC": (
        lambda: tl.KernelSVC(tl.PartialTree()),
        {"C": 3.0, "kernel__lam": 0.3, "kernel__mu": 0.2, "tol": 0.1},
    ),
    "KernelSVC default kernel": (tl.KernelSVC, {"C": 3.0, "kernel__lam": 0.3, "tol": 0.1}),
    "KernelSVC new kernel": (
        lambda: tl.KernelSVC(tl.SubsetTree()),
        {"kernel": tl.PartialTree().normalized(), "kernel__lam": 0.3, "kernel__mu": 0.2, "C": 2.0},
    ),
    "FragmentFeatures of a pipeline": (
        lambda: tl.FragmentFeatures(make_pipeline(tl.KernelMatrix(tl.SubsetTree()), LinearSVC())),
        {"n": 7, "model__linearsvc__C": 3.0, "model__kernelmatrix__kernel__lam": 0.3, "depth": 2},
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_interrupted_parameter_changes_change_nothing(name: str) -> None:
    make, given = PARAMETERS[name]

    def fresh() -> tuple[Any, dict[str, Any], list[Any]]:
        owner, values = make(), copy.deepcopy(given)
        return owner, values, [owner, *(value for value in values.values() if hasattr(value, "get_params"))]

    owner, values, objects = fresh()
    old = new = shown_parameters(*objects)
    for line in interrupted_at_every_line(lambda: owner.set_params(**values), SETTING, by_instruction=True):
        found = shown_parameters(*objects)
        if not line[0]:
            new = found
        assert found in (old, new), line
        if found != old:
            owner, values, objects = fresh()
    assert new != old


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (tl.PartialTree, {"lam": 0.3, "mu": "much"}),
        (lambda: tl.PartialTree().normalized() + tl.SubsetTree(), {"k1__lam": 0.3, "k2__lam": 0.2, "k2__no": 1}),
        (tl.KernelSVC, {"C": 3.0, "kernel__lam": "much"}),
        (tl.KernelSVC, {"C": 3.0, "kernel__lam": 0.3, "no": 1}),
        (lambda: tl.KernelSVC(tl.PartialTree()), {"C": 3.0, "kernel__lam": 0.3, "kernel__mu": "much"}),
        (lambda: tl.KernelSVC(tl.PartialTree()), {"kernel": 3, "kernel__lam": 0.3}),
    ],
)
def test_refused_parameters_change_nothing(make: Callable[[], Any], given: dict[str, Any]) -> None:
    owner = make()
    before = shown_parameters(owner)
    with pytest.raises((ValueError, AttributeError)):
        owner.set_params(**given)
    assert shown_parameters(owner) == before


def test_an_interrupted_change_of_theta_changes_nothing() -> None:
    kernel = tl.PartialTree() + 2 * tl.SubsetTree()
    old = kernel.theta
    for line in interrupted_at_every_line(lambda: setattr(kernel, "theta", old - 1), SETTING, by_instruction=True):
        assert (kernel.theta == old).all() or np.allclose(kernel.theta, old - 1), line
        kernel = tl.PartialTree() + 2 * tl.SubsetTree()


# --- reading during a fit -----------------------------------------------------------------------------------------


def saved(model: Any) -> bytes:
    with TemporaryDirectory() as folder:
        tl.save(model, f"{folder}/model")
        return b"".join(file.read_bytes() for file in sorted(Path(folder).rglob("*")) if file.is_file())


QUERY = [0, 0, 0]
GROUPS = [0, 0, 0, 1, 1, 1]
READING: dict[str, Callable[[Any], Any]] = {
    "predict": lambda m: m.predict(PROBES if not isinstance(m.kernel, str) else np.ones((3, len(OLD))), *query(m)),
    "decision_function": lambda m: m.decision_function(PROBES),
    "score": lambda m: m.score(PROBES, ["a", "b", "x"] if hasattr(m, "classes_") else [1.0, 2.0, 3.0], *query(m)),
    "rank": lambda m: m.rank(PROBES, QUERY),
    "transform": lambda m: m.transform(PROBES),
    "blocks": lambda m: np.vstack(list(m.blocks(PROBES, 1))),
    "unit_vectors": lambda m: m.unit_vectors(PROBES),
    "linear": lambda m: list(vars(m.linear()).values()),
    "get_feature_names_out": lambda m: m.get_feature_names_out(),
    "path": lambda m: m.path([0.1, 1.0]).loo_predictions,
    "with_alpha": lambda m: m.with_alpha(0.3).predict(PROBES),
    "held_out": lambda m: m.held_out(GROUPS),
    "leave_pair_out": lambda m: m.leave_pair_out([0], [1])[0],
    "kneighbors": lambda m: m.kneighbors(PROBES)[0],
    "threshold_neighbors": lambda m: np.concatenate(m.threshold_neighbors(0.1, PROBES)[0]),
    "kneighbors_graph": lambda m: m.kneighbors_graph(PROBES),
}
"""The public methods that read several fitted attributes."""
FUNCTIONS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "KernelSVC": {"explain": lambda m: repr(tl.explain(m, PROBES[0])), "save": saved},
    "RLS": {
        "top_fragments": lambda m: str(tl.top_fragments(m, 3)),
        "FragmentFeatures": lambda m: tl.FragmentFeatures(m, n=3).fit().coef_,
    },
    "KernelMatrix": {"set_output": lambda m: m.set_output(transform="pandas").transform(PROBES)},
}
"""Functions and options that read several fitted attributes, by case."""
CHANGING = {
    "fit",
    "partial_fit",
    "fit_transform",
    "set_params",
    "set_limits",
    "set_output",
    "remove",
    "compact",
    "close",
}
OTHERS = CHANGING | {"each_fit", "get_params", "get_metadata_routing", "decisions", "labels", "names_of"}


def query(model: Any) -> list[Any]:
    return [QUERY] if isinstance(model, Ranker) else []


def shown(use: Callable[[Any], Any], model: Any) -> str:
    """Return a result in full, or the error."""
    try:
        found = use(model)
    except Exception as error:
        return repr(error)
    return repr(
        found
        if isinstance(found, list)
        else np.asarray(found.toarray() if hasattr(found, "toarray") else found).tolist()
    )


@pytest.mark.parametrize(
    "name", [name for name in CASES if not name.endswith(("longer calibrated", "groups", "partial_fit"))]
)
@pytest.mark.filterwarnings("ignore")
def test_a_result_during_a_fit_is_of_one_model(name: str) -> None:
    case = CASES[name]
    model = case.old(clone(case.estimator))
    old, new = dict(vars(model)), dict(vars(case.new(model)))
    methods = {method for method in dir(type(model)) if callable(getattr(type(model), method)) and method[0] != "_"}
    assert {method for method in methods if not method.endswith("_request")} <= READING.keys() | OTHERS
    readers = {method: READING[method] for method in methods & READING.keys() if hasattr(model, method)}
    files, differing = (*traced_files(case), *READERS), 0
    for use in (readers | FUNCTIONS.get(name, {})).values():
        model.__dict__ = dict(new)
        after = shown(use, model)
        model.__dict__ = dict(old)
        events: list[Line] = []
        with tracing(files, events.append, by_instruction=False):
            before = shown(use, model)
        differing += before != after
        for target in {line: number for number, line in reversed(list(enumerate(events)))}.values():
            numbers = iter(range(target + 1))

            def fit(line: Line, numbers: Iterator[int] = numbers, target: int = target) -> None:
                if next(numbers, None) == target:
                    model.__dict__ = dict(new)  # as another thread's fit does at its end

            model.__dict__ = dict(old)
            with tracing(files, fit, by_instruction=False):
                found = shown(use, model)
            assert found in (before, after), events[target]
    assert differing


def test_a_subclass_can_override_what_reads_a_fit() -> None:
    class Logging(tl.KernelSVC):  # type: ignore[misc]  # scikit-learn has no types
        def decision_function(self, X: Any) -> Any:
            self.calls_ = getattr(self, "calls_", 0) + len(X)
            return -super().decision_function(X)

    model = Logging(SST).fit(OLD, LABELS_OLD)
    plain = tl.KernelSVC(SST).fit(OLD, LABELS_OLD)
    assert (model.predict(OLD) != plain.predict(OLD)).all()
    assert model.score(OLD, LABELS_OLD) == 1 - plain.score(OLD, LABELS_OLD)
    assert model.calls_ == 2 * len(OLD)


def test_attributes_that_another_thread_adds_do_not_end_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tl.KernelMatrix(SST)

    class Names(frozenset[str]):
        def __contains__(self, name: object) -> bool:
            setattr(model, f"note_{len(vars(model))}", 1)
            return super().__contains__(name)

    monkeypatch.setattr(fits, "_fitted_names", lambda estimator: Names(estimator._fitted))
    assert model.fit(OLD).transform(PROBES).shape == (len(PROBES), len(OLD))


# --- attributes that are not the fit's ----------------------------------------------------------------------------


class Counting(tl.KernelSVC):  # type: ignore[misc]  # scikit-learn has no types
    """A subclass as users write them: with an attribute and a parameter that end with an underscore."""

    def __init__(self, kernel: Any = None, C: float = 1.0, lambda_: float = 2.0) -> None:
        super().__init__(kernel=kernel, C=C)
        self.lambda_ = lambda_

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen_ = len(X)
        return super().fit(X, y, sample_weight)


def test_attributes_of_users_and_subclasses_stay() -> None:
    trees, labels = ["(A a)", "(B b)", "(A c)", "(B d)"], ["x", "y", "x", "y"]
    model = Counting(lambda_=3)
    model.mine_ = 2
    for count in (4, 2):
        model.fit(trees[:count], labels[:count])
        assert (model.seen_, model.lambda_, model.mine_) == (count, 3, 2)


def test_changes_during_a_fit_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    model, gram = tl.KernelSVC(), tl.KernelSVC._solved

    def interfering(self: Any, *args: Any, **kwargs: Any) -> Any:
        model.set_params(C=77.0)  # as another thread might
        model.note = 5
        return gram(self, *args, **kwargs)

    monkeypatch.setattr(tl.KernelSVC, "_solved", interfering)
    model.fit(["(A a)", "(B b)"], ["x", "y"])
    assert (model.C, model.note, model.classes_.tolist()) == (77.0, 5, ["x", "y"])
