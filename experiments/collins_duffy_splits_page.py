"""The page of the 30 splits of Collins & Duffy's experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import report
from experiments.claims import Claim, section
from experiments.collins_duffy_claims_page import CORPUS, LATER, PAPER, shown
from experiments.collins_duffy_plan import FIRST
from experiments.collins_duffy_splits import AVERAGED, LAST, MIXED

__all__ = ["claims", "page", "picture"]

BEFORE = {
    "flights": "10 splits, averaged − last: +1.25 (-0.43 to +2.94) over splits, +1.25 (+0.87 to +1.64) over items: undecided",
    "questionbank": "10 splits, averaged − last: +1.22 (-0.64 to +3.08) over splits, +1.22 (+0.77 to +1.69) over items: undecided",
    "nbest": "5 splits, log p + γ score − first choice: +0.27 (-0.02 to +0.57) over splits, +0.28 (+0.06 to +0.49) over items: undecided",
}
SHOWN = 4  # maximum number of chosen settings listed per row


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    return report.page(
        [
            "# Reranking with 30 splits: voting, and a lexicalized parser (Collins & Duffy 2001, 2002)",
            report.made_by(results),
            _method(results),
            *(part for name, found in results["corpora"].items() for part in _corpus(name, found)),
            *section(claims(results)),
            f"![differences in each split]({results['stem']}.png)",
        ]
    )


def _method(results: dict[str, Any]) -> str:
    first, number = results["first_split"], results["splits"]
    quick = " **Quick run: small sets, few settings.**" if results["quick"] else ""
    return (
        f"Two claims were undecided with the five or ten splits of the other pages. Here they have {number} new random splits, numbers {first} to "
        f"{first + number - 1}. These settings were fixed before the run: the splits, the systems, and one grid of scales for all corpora, "
        f"λ in {', '.join(f'{lam:g}' for lam in results['scales'])}. "
        "Voting is tested with one pass, as in the paper. The lists of the lexicalized parser are ranked by log p + γ · score, with one or three "
        "passes and γ from 0.0001 to 1,000. "
        "The settings of each split are chosen on its development part. The models are then trained on both parts and tested once. "
        "The sentences are those of the other pages, whose figures were known before this run. "
        "The corrected t-test assumes that splits of one corpus are dependent. With a third as many test sentences as training sentences, "
        "more than 30 splits would hardly narrow its intervals."
        f"{quick}"
    )


def _corpus(name: str, found: dict[str, Any]) -> list[str]:
    rows = []
    for row in found["rows"]:
        settings = list(row["settings"].items())
        told = ", ".join(f"{what} ({times})" for what, times in settings[:SHOWN] if what)
        more = len(settings) - SHOWN
        at_edge = ", ".join(f"{what} ({times})" for what, times in row["edges"].items())
        rows.append((row["name"], report.plus_minus(row["score"]), told + (f" and {more} others" if more > 0 else ""), at_edge))  # fmt: skip
    tests = [
        (
            f"{test['a']} − {test['b']}",
            report.difference(test),
            report.p_value(test["p"]),
            f"{test['wins']} of {test['of']}",
            report.difference(test["items"]),
            report.p_value(test["items"]["p"]),
        )
        for test in found["tests"]
    ]
    sizes = "/".join(f"{size:.0f}" for size in found["sizes"])
    unit = "whole documents" if found["documents"] else "sentences"
    return [
        f"## {CORPUS[name]}",
        f"{found['title']}: splits by {unit}, about {sizes} sentences for training, development and test.",
        report.table(("system", "parse score", "chosen settings (splits)", "at an edge of the grid (splits)"), rows, right=(1,)),
        report.table(
            ("comparison", "over splits", "p", "better in", "over items", "p"),
            tests,
            right=range(1, 6),
        ),
        f"Before, on other splits: {BEFORE[name]}.",
    ]  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the two claims."""
    corpora = results["corpora"]

    def test(name: str, a: str, b: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in corpora[name]["tests"] if (each["a"], each["b"]) == (a, b))
        return found

    voting = {name: test(name, AVERAGED, LAST) for name in ("flights", "questionbank")}
    parser = test("nbest", MIXED, FIRST)
    return [
        Claim(
            PAPER,
            "Voting is better than the last weights of the perceptron.",
            "no figure",
            "; ".join(f"{CORPUS[name]}: averaged − last: {shown(each)}" for name, each in voting.items()),
            "greater",
            list(voting.values()),
            note="averaged weights",
        ),
        Claim(
            LATER,
            "Combined with the log probability, the tree kernel also improves on a lexicalized parser.",
            "significantly better on WSJ (abstract); the printed figures could not be checked",
            f"{CORPUS['nbest']}: log p + γ score − first choice: {shown(parser)}",
            "greater",
            [parser],
        ),
    ]


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the difference in each split, with the mean and both intervals. Requires matplotlib."""
    tests = [(CORPUS[name], test) for name, found in results["corpora"].items() for test in found["tests"]]
    with report.drawn(path, figsize=(9, 0.8 + 0.75 * len(tests))) as (_, axes):
        for place, (_, test) in enumerate(tests):
            axes.plot(test["splits"], [place] * len(test["splits"]), "|", color="0.6", markersize=12)
            for shift, interval, color in (
                (-0.18, test["interval"], "tab:blue"),
                (0.18, test["items"]["interval"], "tab:orange"),
            ):
                axes.plot(interval, [place + shift] * 2, color=color, linewidth=3)
                axes.plot(test["difference"], place + shift, "o", color=color, markersize=6)
        axes.axvline(0, color="0.3", linewidth=1)
        axes.set_yticks(
            range(len(tests)), [f"{corpus}:\n{test['a']} − {test['b']}" for corpus, test in tests], fontsize=8
        )
        axes.invert_yaxis()
        axes.set(xlabel="difference in parse score")
        axes.plot([], [], color="tab:blue", label="95 % interval over splits")
        axes.plot([], [], color="tab:orange", label="95 % interval over items")
        axes.plot([], [], "|", color="0.6", label="one split")
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, fontsize=8, frameon=False)  # fmt: skip
