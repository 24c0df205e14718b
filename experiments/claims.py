"""Claims of the papers, our results, and verdicts by fixed rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from experiments.differences import holm

RULES = """\
- *greater*: the paper claims that one method is better than another. **Holds** if the difference is positive with p < 0.05 in every named comparison, after Holm's correction for their number. **Partly** if this is so in at least one comparison and the opposite in none. Otherwise **not**. A positive difference that is not significant counts as **not**.
- *alike*: the paper claims that two methods do not differ. **Holds** if every 95 % confidence interval of the difference lies within the named margin. **Partly** if every interval contains 0, but one is wider than the margin. Otherwise **not**.
- *within*: the paper gives a figure or the shape of a curve. **Holds** if our 95 % confidence interval lies within the named bounds. **Partly** if the interval overlaps the bounds. Otherwise **not**."""

Verdict = Literal["holds", "partly", "not"]


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
        For differences ``difference``, ``interval`` and ``p``; for a figure ``value`` and ``interval``.
    margin : float, optional
        Largest difference that counts as none, for the rule ``"alike"``.
    low, high : float, optional
        Bounds of a figure, for the rule ``"within"``.
    note : str
        Conditions of the comparison.

    Examples
    --------
    >>> test = {"difference": 2.0, "interval": [0.5, 3.5], "p": 0.01}
    >>> claim = Claim("A & B (2001)", "kernels help", "+3", "+2.0", "greater", [test])
    >>> claim.verdict
    'holds'
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
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict, by the rule."""
        if not self.tests:
            raise ValueError(f"The claim {self.says!r} has no tests: a claim needs at least one test.")
        if self.rule == "greater":
            return _greater(self.tests)
        if self.rule == "alike":
            if self.margin is None:
                raise ValueError(f"The claim {self.says!r} has no margin, but the rule 'alike' needs a margin.")
            return _inside([test["interval"] for test in self.tests], -self.margin, self.margin, zero=True)
        return _inside([test["interval"] for test in self.tests], self.low, self.high)


def _greater(tests: Sequence[Mapping[str, Any]]) -> Verdict:
    sure = [p < 0.05 for p in holm([test["p"] for test in tests])]
    right = [yes and test["difference"] > 0 for yes, test in zip(sure, tests, strict=True)]
    against = [yes and test["difference"] < 0 for yes, test in zip(sure, tests, strict=True)]
    return "holds" if all(right) else "partly" if any(right) and not any(against) else "not"


def _inside(intervals: Sequence[Sequence[float]], low: float, high: float, *, zero: bool = False) -> Verdict:
    if all(low <= a and b <= high for a, b in intervals):
        return "holds"
    near = all(a <= 0 <= b for a, b in intervals) if zero else all(a <= high and b >= low for a, b in intervals)
    return "partly" if near else "not"
