"""Claims of the papers, our results, and verdicts by fixed rules. Pages and index use the same rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from experiments import report

Verdict = Literal["holds", "partly", "weaker than printed", "undecided", "contradicted"]
KINDS = ("splits", "items")
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

RULES = """\
A claim names one or more comparisons. The rule decides for each comparison whether the claim holds, is contradicted, or neither:

- *greater*: the paper claims that one method is better than another. A comparison **holds** if the difference is positive with p < 0.05. It is **contradicted** if the difference is negative with p < 0.05.
- *alike*: the paper claims that two methods do not differ. A comparison **holds** if the 95 % confidence interval of the difference lies within the named margin, whether or not the interval contains 0. It is **contradicted** if the interval lies wholly outside the margin.
- *within*: the paper gives a figure or the shape of a curve. A comparison **holds** if our 95 % confidence interval lies within the named bounds. It is **contradicted** if the interval lies wholly outside the bounds.

The verdict on the claim is the first of these that applies:

- **contradicted**: at least one comparison is contradicted.
- **weaker than printed**: the effect printed in the paper lies above every interval. The effect may be in the right direction, or there may be none.
- **holds**: every comparison holds. A claim that holds only if all comparisons hold needs no correction for their number (intersection–union test).
- **partly**: at least one comparison holds.
- **undecided**: no comparison holds or is contradicted. The data are not sufficient for a decision."""

UNCERTAINTY = """\
There are two kinds of uncertainty. All intervals have a level of 95 %.

- *splits*: the models are trained again on several splits, and the figures of the splits are compared (corrected resampled t-test of Nadeau & Bengio 2003). The interval includes the variation of training.
- *items*: sentences or documents are drawn with replacement from all test items, with the models as trained (paired bootstrap). Most tests in the papers are of this kind.

The verdict rests on items where a corpus has an official test set or where there is one split, and otherwise on splits. The tables name the kind. Times are measured on samples of trees or documents, which have neither items nor splits. The interval of the other kind is shown beside it and does not affect the verdict."""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, with our result.

    Attributes
    ----------
    paper, says, printed : str
        The paper, its claim in our words, and the printed figure.
    ours : str
        Our figure with its confidence interval, and the corpus.
    rule : {"greater", "alike", "within"}
        Rule of the verdict.
    tests : sequence of mapping
        For differences ``difference``, ``interval`` and ``p``; for a figure ``value`` and ``interval``. ``over``
        is the kind of uncertainty, "splits" or "items", and ``items`` the same test over items.
    margin : float, optional
        Largest difference that counts as none, for the rule ``"alike"``.
    low, high : float, optional
        Bounds of a figure, for the rule ``"within"``.
    effect : float, optional
        Effect printed in the paper, in the unit of the intervals. The smallest one if the paper gives several.
    note : str
        Conditions of the comparison.
    own : bool
        Whether this is our own question rather than a claim of a paper.

    Examples
    --------
    >>> test = {"difference": 2.0, "interval": [0.5, 3.5], "p": 0.01}
    >>> Claim("A & B (2001)", "kernels help", "+3", "+2.0", "greater", [test], effect=3.0).verdict
    'holds'
    >>> Claim("A & B (2001)", "kernels help", "+9", "+2.0", "greater", [test], effect=9.0).verdict
    'weaker than printed'
    """

    paper: str
    says: str
    printed: str
    ours: str
    rule: Literal["greater", "alike", "within"]
    tests: Sequence[Mapping[str, Any]] = field(default_factory=list)
    margin: float | None = None
    low: float = float("-inf")
    high: float = float("inf")
    effect: float | None = None
    note: str = ""
    own: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict, by `RULES`."""
        if not self.tests:
            raise ValueError(f"The claim {self.says!r} has no tests: a claim needs at least one test.")
        outcomes = [self._outcome(test) for test in self.tests]
        if "contradicted" in outcomes:
            return "contradicted"
        if self.effect is not None and all(test["interval"][1] < self.effect for test in self.tests):
            return "weaker than printed"
        if "undecided" not in outcomes:
            return "holds"
        return "partly" if "holds" in outcomes else "undecided"

    def _outcome(self, test: Mapping[str, Any]) -> Verdict:
        """Return whether one comparison holds, is contradicted, or neither."""
        if self.rule == "greater":
            if test["p"] >= 0.05:
                return "undecided"
            return "holds" if test["difference"] > 0 else "contradicted"
        low, high = self.low, self.high
        if self.rule == "alike":
            if self.margin is None:
                raise ValueError(f"The claim {self.says!r} has no margin, but the rule 'alike' needs a margin.")
            low, high = -self.margin, self.margin
        least, most = test["interval"]
        if low <= least and most <= high:
            return "holds"
        return "contradicted" if most < low or least > high else "undecided"

    @property
    def rests_on(self) -> str:
        """The kinds of uncertainty that the verdict rests on."""
        return " and ".join(dict.fromkeys(str(test["over"]) for test in self.tests if "over" in test))

    @property
    def beside(self) -> dict[str, list[Mapping[str, Any]]]:
        """The tests of the other kind of uncertainty, which do not affect the verdict, by kind."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for test in self.tests:
            for kind in KINDS:
                if isinstance(test.get(kind), Mapping):
                    found.setdefault(kind, []).append(test[kind])
        return {
            kind: tests for kind, tests in found.items() if not any(test.get("over") == kind for test in self.tests)
        }

    @property
    def lacks(self) -> list[str]:
        """The kinds of uncertainty that no test has, if the verdict rests on one of them."""
        kinds = {*self.beside, *(test["over"] for test in self.tests if "over" in test)}
        return [kind for kind in KINDS if kinds & set(KINDS) and kind not in kinds]


def counted(claims: Iterable[Claim]) -> str:
    """Return the number of claims with each verdict, as a phrase.

    >>> test = {"difference": 2.0, "interval": [0.5, 3.5], "p": 0.01}
    >>> counted([Claim("A & B (2001)", "kernels help", "+3", "+2.0", "greater", [test])])
    '1 holds, 0 partly, 0 weaker than printed, 0 undecided, 0 contradicted'
    """
    verdicts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)


def section(claims: Sequence[Claim]) -> list[str]:
    """Return the section of a page with the verdicts on its claims."""
    rows = [(claim.says, claim.printed, f"**{claim.verdict}**", claim.rests_on) for claim in claims]
    return [
        "## Verdicts",
        "The [rules of the verdicts](index.md) are the same on all pages. On the index, the verdict on a claim takes the "
        "comparisons of all pages together.",
        report.table(("claim", "figure in the paper", "verdict", "rests on"), rows),
    ]
