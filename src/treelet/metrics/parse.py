"""How much of the gold trees parses find: the parse score, PARSEVAL, and both for lists of candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treelet.checks import check_one_of, wrong
from treelet.errors import ParameterError, TreeError
from treelet.metrics.constituents import PARSEVAL, PLAIN, Convention, Scorer
from treelet.metrics.counts import BracketCounts
from treelet.metrics.ranking import best_of_group
from treelet.structures import Treebank


@dataclass(frozen=True)
class ParsevalResult:
    """What `parseval` finds, in percent where nothing else is said.

    Attributes
    ----------
    precision, recall, f1 : float
        Of labeled constituents, over all sentences together.
    exact_match : float
        Sentences whose constituents are all found, and no others.
    tagging_accuracy : float
        Words with the gold tag, of all that spans do not leave out. A missing parse has no tag right. NaN if there are none.
    crossing : float
        Proposed constituents that cross a gold one, a sentence that has a parse (a number, not percent).
    no_crossing : float
        Sentences without any, of those that have a parse.
    sentences : int
    coverage : float
        Sentences that have a parse.
    counts : BracketCounts
        Of each sentence, as `paired_bootstrap` takes them.
    """

    precision: float
    recall: float
    f1: float
    exact_match: float
    tagging_accuracy: float
    crossing: float
    no_crossing: float
    sentences: int
    coverage: float
    counts: BracketCounts

    def __str__(self) -> str:
        return (
            f"P {self.precision:.2f} R {self.recall:.2f} F {self.f1:.2f}, exact {self.exact_match:.2f} %, "
            f"tags {self.tagging_accuracy:.2f} %, {self.sentences:,} sentences, coverage {self.coverage:.2f} %"
        )


def parse_score(gold: object, parsed: object, convention: Convention = PLAIN) -> float:
    """The parse score of Collins & Duffy (2001): 100·(1/Σg_i)·Σ g_i·½(c_i/p_i + c_i/g_i).

    Sentence i has g_i gold constituents, p_i proposed ones and c_i correct ones: the mean of precision and recall, each
    sentence with the weight of its gold constituents.

    Parameters
    ----------
    gold, parsed : Treebank, list of trees, ...
        One tree a sentence, over the same words. A parse may be None, and is worth 0.
    convention : Convention
        What a constituent is. By default every node but words and pre-terminals, with its label and all its words:
        punctuation and the root count, as the paper leaves nothing out. ``PARSEVAL`` leaves them out; see `constituents`.

    Returns
    -------
    float
        In percent. The scores of single sentences are in ``bracket_counts(gold, parsed).goodness``.

    Examples
    --------
    The gold tree has S, NP, VP, NP; the parse finds S, NP, VP and lacks the last NP: ½(3/3 + 3/4).

    >>> from treelet.metrics import parse_score
    >>> gold = "(S (NP (N John)) (VP (V saw) (NP (N Mary))))"
    >>> parse_score([gold], ["(S (NP (N John)) (VP (V saw) (N Mary)))"])
    87.5
    """
    return bracket_counts(gold, parsed, convention).parse_score


def labelled_f1(gold: object, parsed: object, convention: Convention = PARSEVAL) -> float:
    """The F1 of labeled constituents in percent, as `parseval` has it.

    Examples
    --------
    >>> from treelet.metrics import labelled_f1
    >>> gold = "(S (NP (N John)) (VP (V saw) (NP (N Mary))))"
    >>> round(labelled_f1([gold], ["(S (NP (N John)) (VP (V saw) (N Mary)))"]), 2)
    85.71
    """
    return bracket_counts(gold, parsed, convention).f1


def bracket_counts(gold: object, parsed: object, convention: Convention = PLAIN) -> BracketCounts:
    """How many constituents match, sentence by sentence.

    Parameters
    ----------
    gold, parsed, convention
        As in `parse_score`.

    Returns
    -------
    BracketCounts

    Examples
    --------
    >>> from treelet.metrics import bracket_counts
    >>> counts = bracket_counts(["(S (NP (N John)) (VP (V ran)))"], ["(S (NP (N John)) (V ran))"])
    >>> counts.matched, counts.gold, counts.proposed
    (array([2]), array([3]), array([2]))
    """
    return _counts(_pairs(gold, parsed, convention))


def parseval(gold: object, parsed: object, convention: Convention = PARSEVAL) -> ParsevalResult:
    """Labeled precision, recall and F1 of parses, with what else the program evalb prints.

    Parameters
    ----------
    gold, parsed, convention
        As in `parse_score`, but with the convention ``PARSEVAL``; `constituents` says what it leaves out.

    Returns
    -------
    ParsevalResult

    Notes
    -----
    evalb leaves out of its totals each sentence without a parse, and each in which gold tree and parse disagree on which words are
    punctuation. Here the first has a recall of 0, and in the second the gold tree's tags decide.

    Examples
    --------
    >>> from treelet.metrics import parseval
    >>> gold = ["(S (NP (N John)) (VP (V ran)) (. .))", "(S (NP (N Mary)) (VP (V saw) (PRT (RP on))) (. .))"]
    >>> print(parseval(gold, ["(S (NP (N John)) (VP (N ran)) (. .))", "(S (NP (N Mary)) (VP (V saw) (RP on)) (. .))"]))
    P 100.00 R 85.71 F 92.31, exact 50.00 %, tags 80.00 %, 2 sentences, coverage 100.00 %
    """
    table = _pairs(gold, parsed, convention)
    counts = _counts(table)
    crossing, right, words = table[:, 3], table[:, 4], table[:, 5].sum()
    has_parse = table[:, 6] > 0
    return ParsevalResult(
        precision=counts.precision,
        recall=counts.recall,
        f1=counts.f1,
        exact_match=100 * float((counts.exact & has_parse).mean()),
        tagging_accuracy=float(100 * right.sum() / words) if words else float("nan"),
        crossing=float(crossing[has_parse].mean()) if has_parse.any() else float("nan"),
        no_crossing=float(100 * (crossing[has_parse] == 0).mean()) if has_parse.any() else float("nan"),
        sentences=len(counts),
        coverage=100 * float(has_parse.mean()),
        counts=counts,
    )


def tree_scores(gold_tree: object, candidates: object, convention: Convention = PLAIN) -> BracketCounts:
    """How many constituents of one gold tree each of its candidate parses finds.

    Examples
    --------
    >>> from treelet.metrics import tree_scores
    >>> tree_scores("(S (NP (N John)) (VP (V ran)))", ["(S (NP (N John)) (V ran))", None]).goodness
    array([0.83333333, 0.        ])
    """
    bank = Treebank.of(candidates)
    return candidate_scores([gold_tree], bank, np.zeros(len(bank), np.int64), convention)


def candidate_scores(gold: object, candidates: object, qid: ArrayLike, convention: Convention = PLAIN) -> BracketCounts:
    """How many constituents of its sentence's gold tree each candidate parse finds.

    Candidates of one sentence share most subtrees, and each is looked at once: 78,277 parses of 3,914 sentences take about 4 s.

    Parameters
    ----------
    gold : Treebank, list of trees, ...
        One tree a sentence.
    candidates : Treebank, list of trees, ...
        The parses of all sentences, in any order; None is a missing parse, and matches nothing.
    qid : array-like of int
        For each candidate the number of its sentence in `gold`, counted from 0.
    convention : Convention
        What a constituent is; see `constituents`.

    Returns
    -------
    BracketCounts
        One entry a candidate; ``.goodness`` is ½(c/p + c/g), ``.sentence_f1`` the F1.

    Examples
    --------
    >>> from treelet.metrics import candidate_scores, oracle
    >>> gold = ["(S (NP (N John)) (VP (V ran)))", "(S (NP (N Mary)) (VP (V ran)))"]
    >>> candidates = ["(S (N John) (V ran))", gold[0], "(S (N Mary) (VP (V ran)))", "(S (N Mary) (V ran))"]
    >>> counts = candidate_scores(gold, candidates, qid=[0, 0, 1, 1])
    >>> counts.matched
    array([1, 3, 2, 1])
    >>> round(oracle(counts, [0, 0, 1, 1]).parse_score, 2)
    91.67
    """
    right, bank = Treebank.of(gold), Treebank.of(candidates)
    group = np.asarray(qid)
    if group.shape != (len(bank),) or (group.dtype.kind not in "iu" and group.size):
        raise ParameterError(
            f"The 'qid' parameter must be one integer for each of the {len(bank)} candidates. "
            f"Got {group.dtype} of shape {group.shape} instead."
        )
    if group.size and not 0 <= group.min() <= group.max() < len(right):
        raise ParameterError(
            f"The 'qid' parameter must number the {len(right)} gold trees from 0. "
            f"Got {group.min()} to {group.max()} instead."
        )
    return _counts(_table(right, bank, group.astype(np.int64), convention, "candidate {1} (sentence {0})"))


def oracle(counts: BracketCounts, qid: ArrayLike, measure: str = "goodness") -> BracketCounts:
    """The counts of the best candidate of each sentence: no choice among these candidates can do better.

    Parameters
    ----------
    counts : BracketCounts
        From `candidate_scores`.
    qid : array-like
        The sentence of each candidate. A sentence without any is left out; let it have None for a candidate if it should count.
    measure : {"goodness", "f1"}
        What is best: the highest ½(c/p + c/g), or the highest F1; of equal ones the first.

    Returns
    -------
    BracketCounts
        One entry a sentence: ``oracle(counts, qid).parse_score``, ``oracle(counts, qid, "f1").f1``.
    """
    check_one_of("measure", measure, ("goodness", "f1"))
    return counts[best_of_group(counts.goodness if measure == "goodness" else counts.sentence_f1, qid)]


def relative_improvement(before: float, after: float) -> float:
    """How many percent of what was missing to 100 has been gained: 100·(y − x)/(100 − x).

    If nothing was missing (x = 100), it is 0 for no change, and -inf for a loss.

    Examples
    --------
    >>> from treelet.metrics import relative_improvement
    >>> round(relative_improvement(74, 80), 1)
    23.1
    """
    for name, value in (("before", before), ("after", after)):
        if not 0 <= value <= 100:
            raise wrong(name, "a score from 0 to 100", value)
    if before == 100:
        return 0.0 if after == 100 else float("-inf")
    return 100 * (after - before) / (100 - before)


def _pairs(gold: object, parsed: object, convention: Convention) -> NDArray[np.int64]:
    right, bank = Treebank.of(gold), Treebank.of(parsed)
    if len(right) != len(bank):
        raise ParameterError(
            f"there must be one parse a gold tree, None where there is none. Got {len(bank)} for {len(right)} instead."
        )
    if not len(right):
        raise ParameterError("there are no sentences: a score needs at least one")
    return _table(right, bank, np.arange(len(right)), convention, "sentence {0}")


def _table(
    gold: Treebank, parsed: Treebank, sentence: NDArray[np.int64], convention: Convention, where: str
) -> NDArray[np.int64]:
    """For each parse: matched, gold, proposed, crossing, right tags, words, whether it is there."""
    scorer = Scorer([gold, parsed], convention)
    roots = np.asarray(scorer.roots[len(gold) :], np.int64)
    out = np.zeros((len(parsed), 7), np.int64)
    order = np.argsort(sentence, kind="stable")
    for candidates in np.split(order, np.flatnonzero(np.diff(sentence[order])) + 1) if len(order) else []:
        number = int(sentence[candidates[0]])
        if scorer.roots[number] < 0:
            raise TreeError(f"sentence {number} has no gold tree: leave it out, of the parses too")
        right = scorer.gold(scorer.roots[number])
        names = [where.format(number, candidate) for candidate in candidates]
        counts = np.array(scorer.compare(right, roots[candidates].tolist(), names), np.int64)
        out[candidates, 0], out[candidates, 2:5] = counts[:, 0], counts[:, 1:]
        out[candidates, 1], out[candidates, 5] = right.brackets.total(), right.words_before[-1]
    out[:, 6] = roots >= 0
    return out


def _counts(table: NDArray[np.int64]) -> BracketCounts:
    return BracketCounts(table[:, 0], table[:, 1], table[:, 2])
