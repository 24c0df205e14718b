"""How good found roles and relations are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treelet.errors import InputTypeError, ParameterError

DIRECTED = re.compile(r"(.+)\((e1,e2|e2,e1)\)")
Labeled = tuple[str, int, int]


@dataclass(frozen=True)
class Score:
    """How many were right, of how many that were found and that should be.

    Measures are in percent. Where nothing should be found and nothing was, they are 100.

    Examples
    --------
    >>> from treelet.metrics.relations import Score
    >>> score = Score(correct=3, predicted=4, gold=6)
    >>> score.precision, score.recall, score.f1
    (75.0, 50.0, 60.0)
    """

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Right ones, of those that were found."""
        return _percent(self.correct, self.predicted, self)

    @property
    def recall(self) -> float:
        """Right ones, of those that should be found."""
        return _percent(self.correct, self.gold, self)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return _percent(2 * self.correct, self.predicted + self.gold, self)


def _percent(part: int, whole: int, score: Score) -> float:
    if whole:
        return 100 * part / whole
    return 0.0 if score.predicted or score.gold else 100.0


@dataclass(frozen=True)
class RelationScores:
    """What `semeval_scores` finds.

    Attributes
    ----------
    relations : dict of str to Score
        By relation, whatever its direction.
    accuracy : float
        Right labels, Other and directions included, in percent.
    """

    relations: Mapping[str, Score]
    accuracy: float

    @property
    def precision(self) -> float:
        """The mean precision of the relations."""
        return self._mean("precision")

    @property
    def recall(self) -> float:
        """The mean recall of the relations."""
        return self._mean("recall")

    @property
    def f1(self) -> float:
        """The mean F1 of the relations: the official score."""
        return self._mean("f1")

    def _mean(self, name: str) -> float:
        return float(sum(getattr(score, name) for score in self.relations.values()) / len(self.relations))

    def __str__(self) -> str:
        width = max(map(len, self.relations), default=0)
        lines = [
            f"{name:{width}}  P {score.precision:6.2f}  R {score.recall:6.2f}  F1 {score.f1:6.2f}"
            for name, score in sorted(self.relations.items())
        ]
        last = f"{'mean':{width}}  P {self.precision:6.2f}  R {self.recall:6.2f}  F1 {self.f1:6.2f}"
        return "\n".join([*lines, last, f"accuracy {self.accuracy:.2f}"])


def semeval_scores(
    gold: Sequence[str],
    predicted: Sequence[str],
    *,
    other: str = "Other",
    relations: Iterable[str] | None = None,
) -> RelationScores:
    """The official score of SemEval-2010 task 8: (9+1)-way, with direction, macro-averaged (Hendrickx et al. 2010).

    A label is a relation with its direction, as in ``Cause-Effect(e2,e1)``, or `other`. For each relation,

    - correct: relation and direction are right,
    - precision: correct, of all that were labeled with this relation in either direction,
    - recall: correct, of all that have this relation in either direction.

    A right relation in the wrong direction thus counts in both denominators and is correct in neither. The score is the
    mean F1 of the relations. `other` is no relation and has no F1, but what is confused with it lowers the precision or
    the recall of the relation.

    Parameters
    ----------
    gold, predicted : sequence of str
        The right labels, and those that were found. A label without a direction is a relation with only one.
    other : str
        The label of what is in none of the relations.
    relations : iterable of str, optional
        The relations that count, without direction; by default all that occur in `gold`, as in the task's own program.
        Those that occur in neither do not count.

    Returns
    -------
    RelationScores

    Examples
    --------
    >>> from treelet.metrics.relations import semeval_scores
    >>> gold = ["Cause(e1,e2)", "Cause(e2,e1)", "Part(e1,e2)", "Other"]
    >>> scores = semeval_scores(gold, ["Cause(e1,e2)", "Cause(e1,e2)", "Part(e1,e2)", "Part(e2,e1)"])
    >>> scores.relations["Cause"].f1, round(scores.relations["Part"].f1, 2), round(scores.f1, 2)
    (50.0, 66.67, 58.33)
    """
    gold, predicted = _labels("gold", gold), _labels("predicted", predicted)
    if len(gold) != len(predicted):
        raise ParameterError(f"there are {len(gold):,} right labels and {len(predicted):,} found ones: each needs one")
    right, guessed, should = Counter[str](), Counter[str](), Counter[str]()
    for truth, answer in zip(gold, predicted, strict=True):
        should[_relation(truth)] += 1
        guessed[_relation(answer)] += 1
        right[_relation(truth)] += truth == answer
    names = dict.fromkeys(should if relations is None else relations)
    scores = {
        name: Score(right[name], guessed[name], should[name])
        for name in names
        if name != other and (should[name] or guessed[name])
    }
    if not scores:
        raise ParameterError(f"none of the {len(gold):,} labels is a relation that counts: there is nothing to score")
    return RelationScores(scores, 100 * right.total() / len(gold))


def _labels(name: str, labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str):
        raise InputTypeError(f"The {name!r} parameter must be a list of labels, got one str")
    texts = [str(label) if isinstance(label, str) else label for label in labels]
    for index, label in enumerate(texts):
        if not isinstance(label, str):
            raise InputTypeError(f"label {index} of {name!r} is a {type(label).__name__}, not a str: {label!r}")
    return texts


def _relation(label: str) -> str:
    directed = DIRECTED.fullmatch(label)
    return directed[1] if directed else label


@dataclass(frozen=True)
class RoleScores:
    """What `role_scores` finds.

    Attributes
    ----------
    overall : Score
        Over all arguments: right are those with the right span and the right label.
    unlabelled : Score
        Over all arguments, whatever their labels.
    labels : dict of str to Score
        By label.
    """

    overall: Score
    unlabelled: Score
    labels: Mapping[str, Score]

    @property
    def precision(self) -> float:
        """Of all arguments."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """Of all arguments."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """Of all arguments."""
        return self.overall.f1


def role_scores(gold: Iterable[Iterable[Labeled]], predicted: Iterable[Iterable[Labeled]]) -> RoleScores:
    """Precision, recall and F1 of labeled arguments, as in the CoNLL-2005 shared task.

    An argument is right if its label, its first and its last word are. Arguments that no constituent of a parse has
    stay in the gold lists, and so lower the recall.

    Parameters
    ----------
    gold, predicted : iterable of lists of (str, int, int)
        For each predicate its arguments: label, first word, first word behind.

    Returns
    -------
    RoleScores

    Examples
    --------
    >>> from treelet.metrics.relations import role_scores
    >>> scores = role_scores([[("ARG0", 0, 1), ("ARG1", 2, 4)]], [[("ARG0", 0, 1), ("ARG2", 2, 4), ("ARG1", 5, 6)]])
    >>> round(scores.f1, 1), round(scores.unlabelled.f1, 1), scores.labels["ARG0"].f1
    (40.0, 80.0, 100.0)
    """
    should, guessed = (
        [Counter(map(_argument, each)) for each in gold],
        [Counter(map(_argument, each)) for each in predicted],
    )
    if len(should) != len(guessed):
        raise ParameterError(
            f"there are right arguments of {len(should):,} predicates and found ones of {len(guessed):,}: each predicate "
            "needs both, if only an empty list"
        )
    sides = tuple(zip(should, guessed, strict=True))
    right, proposed, wanted = Counter[str](), Counter[str](), Counter[str]()
    spans = 0
    for truth, answer in sides:
        for (label, _, _), count in (truth & answer).items():
            right[label] += count
        for (label, _, _), count in answer.items():
            proposed[label] += count
        for (label, _, _), count in truth.items():
            wanted[label] += count
        spans += (_spans(truth) & _spans(answer)).total()
    labels = {label: Score(right[label], proposed[label], wanted[label]) for label in sorted({*proposed, *wanted})}
    overall = Score(right.total(), proposed.total(), wanted.total())
    return RoleScores(overall, Score(spans, overall.predicted, overall.gold), labels)


def _argument(argument: Labeled) -> Labeled:
    try:
        label, begin, end = argument
        if not isinstance(label, str):
            raise TypeError
        return label, int(begin), int(end)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"an argument is (label, first word, first word behind), in a list for each predicate; got {argument!r}"
        ) from None


def _spans(arguments: Counter[Labeled]) -> Counter[tuple[int, int]]:
    spans = Counter[tuple[int, int]]()
    for (_, begin, end), count in arguments.items():
        spans[begin, end] += count
    return spans
