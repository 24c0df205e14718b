"""What the papers claim, what we found, and whether it holds: by rules, the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from experiments.differences import holm

RULES = """\
- *greater*: the paper says that one thing is better than another. **Holds** if it is so here with p < 0.05 in every comparison that is
  named, after Holm's correction for their number; **partly** if it is so in at least one and the contrary in none; else **not**.
  A difference in the right direction that may be chance is **not** shown.
- *alike*: the paper says that a thing makes no difference. **Holds** if every 95 % interval of the difference lies within the margin that
  is named; **partly** if every interval contains 0 but one is wider; else **not**.
- *within*: the paper gives a figure or a shape. **Holds** if our 95 % interval lies within the bounds that are named; **partly** if it
  overlaps them; else **not**."""

Verdict = Literal["holds", "partly", "not"]


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper, and what became of it here.

    Attributes
    ----------
    paper, says, printed : str
        Who, what (in our words), and the printed figure.
    ours : str
        Our figure with its interval, and the corpus.
    rule : {"greater", "alike", "within"}
        How the verdict is found.
    tests : sequence of mapping
        For differences ``difference``, ``interval`` and ``p``; for a figure ``value`` and ``interval``.
    margin : float, optional
        What is no difference.
    low, high : float, optional
        The bounds of a figure.
    note : str
        What a reader must know to believe it.

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
        """By the rule."""
        if not self.tests:
            raise ValueError(f"a claim needs a test: {self.says}")
        if self.rule == "greater":
            return _greater(self.tests)
        if self.rule == "alike":
            if self.margin is None:
                raise ValueError(f"a claim that things are alike needs a margin: {self.says}")
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
