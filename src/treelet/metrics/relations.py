"""Measures of semantic roles and relations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treelet.checks import article, plural
from treelet.errors import InputTypeError, ParameterError
from treelet.printable import shortened

_DIRECTED = re.compile(r"(.+)\((e1,e2|e2,e1)\)")
Labeled = tuple[str, int, int]


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1 in percent, from the numbers of correct, predicted and gold items.

    If there are neither predicted nor gold items, all three are 100.

    Attributes
    ----------
    correct, predicted, gold : int
        Number of correct predictions, of all predictions, and of all gold items.

    Examples
    --------
    >>> from treelet.metrics import Score
    >>> score = Score(correct=3, predicted=4, gold=6)
    >>> score.precision, score.recall, score.f1
    (75.0, 50.0, 60.0)
    """

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Percentage of predicted items that are correct."""
        return _percent(self.correct, self.predicted, self)

    @property
    def recall(self) -> float:
        """Percentage of gold items that were found."""
        return _percent(self.correct, self.gold, self)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _percent(2 * self.correct, self.predicted + self.gold, self)


def _percent(part: int, whole: int, score: Score) -> float:
    if whole:
        return 100 * part / whole
    return 0.0 if score.predicted or score.gold else 100.0


@dataclass(frozen=True)
class RelationScores:
    """Result of `semeval_scores`.

    Attributes
    ----------
    relations : dict of str to Score
        Score of each relation, over both directions.
    accuracy : float
        Percentage of correct labels, including Other and the direction.
    """

    relations: Mapping[str, Score]
    accuracy: float

    @property
    def precision(self) -> float:
        """Mean precision of the relations."""
        return self._mean("precision")

    @property
    def recall(self) -> float:
        """Mean recall of the relations."""
        return self._mean("recall")

    @property
    def f1(self) -> float:
        """Mean F1 of the relations: the official score."""
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
    """Compute the official score of SemEval-2010 task 8: (9+1)-way, with direction, macro-averaged.

    A label is a relation with its direction, such as ``Cause-Effect(e2,e1)``, or `other`. For each relation:

    - correct: relation and direction are right,
    - precision: correct items, divided by all items that are labeled with this relation in either direction,
    - recall: correct items, divided by all items that have this relation in either direction.

    A right relation with the wrong direction thus counts in both denominators and is never correct. The score
    is the mean F1 of the relations. `other` is not a relation and has no F1, but confusions with it lower the
    precision or the recall of relations. See Hendrickx et al. (2010).

    Parameters
    ----------
    gold, predicted : sequence of str
        Gold labels and predicted labels. A label without a direction is a relation with a single direction.
    other : str, default "Other"
        Label of pairs that have none of the relations.
    relations : iterable of str, optional
        Relations that count, without direction. Relations that do not occur are ignored. Default: all that
        occur in `gold`, as in the official scorer.

    Returns
    -------
    RelationScores
        Scores of each relation, and their means.

    Examples
    --------
    >>> from treelet.metrics import semeval_scores
    >>> gold = ["Cause(e1,e2)", "Cause(e2,e1)", "Part(e1,e2)", "Other"]
    >>> scores = semeval_scores(gold, ["Cause(e1,e2)", "Cause(e1,e2)", "Part(e1,e2)", "Part(e2,e1)"])
    >>> scores.relations["Cause"].f1, round(scores.relations["Part"].f1, 2), round(scores.f1, 2)
    (50.0, 66.67, 58.33)
    """
    gold, predicted = _labels("gold", gold), _labels("predicted", predicted)
    if len(gold) != len(predicted):
        raise ParameterError(
            f"gold and predicted must have the same length. Got {plural(len(gold), 'gold label')} and "
            f"{plural(len(predicted), 'predicted label')}."
        )
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
        raise ParameterError(
            f"None of the {plural(len(gold), 'label')} is a relation that counts, so there is nothing to score. Check 'other' "
            "and 'relations'."
        )
    return RelationScores(scores, 100 * right.total() / len(gold))


def _labels(name: str, labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str):
        raise InputTypeError(
            f"The {name!r} parameter must be a list of labels. Got the string {shortened(labels)} instead."
        )
    texts = [str(label) if isinstance(label, str) else label for label in labels]
    for index, label in enumerate(texts):
        if not isinstance(label, str):
            raise InputTypeError(
                f"Label {index} of {name!r} is {article(type(label).__name__)} ({label!r}), but a string is needed."
            )
    return texts


def _relation(label: str) -> str:
    directed = _DIRECTED.fullmatch(label)
    return directed[1] if directed else label


@dataclass(frozen=True)
class RoleScores:
    """Result of `role_scores`.

    Attributes
    ----------
    overall : Score
        Score over all arguments. An argument is correct if its span and its label are.
    unlabelled : Score
        Score over all arguments, regardless of labels.
    labels : dict of str to Score
        Score of each label.
    """

    overall: Score
    unlabelled: Score
    labels: Mapping[str, Score]

    @property
    def precision(self) -> float:
        """Precision over all arguments."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """Recall over all arguments."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """F1 over all arguments."""
        return self.overall.f1


def role_scores(gold: Iterable[Iterable[Labeled]], predicted: Iterable[Iterable[Labeled]]) -> RoleScores:
    """Compute precision, recall and F1 of labeled arguments, as in the CoNLL-2005 shared task.

    An argument is correct if its label, its first word and its last word are. Gold arguments that are not
    constituents of the parse are included, so they lower the recall.

    Parameters
    ----------
    gold, predicted : iterable of lists of (str, int, int)
        Arguments of each predicate: label, first word, and the word after the last.

    Returns
    -------
    RoleScores
        Scores over all arguments, and for each label.

    Examples
    --------
    >>> from treelet.metrics import role_scores
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
            f"gold and predicted must have one list per predicate. Got {plural(len(should), 'gold list')} and "
            f"{plural(len(guessed), 'predicted list')}. Pass an empty list for a predicate without arguments."
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
            "An argument must be (label, first word, word after the last), in one list per predicate. Got "
            f"{repr(argument)[:80]} instead."
        ) from None


def _spans(arguments: Counter[Labeled]) -> Counter[tuple[int, int]]:
    spans = Counter[tuple[int, int]]()
    for (_, begin, end), count in arguments.items():
        spans[begin, end] += count
    return spans
