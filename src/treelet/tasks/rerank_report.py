"""The report of a reranking experiment: as text for a terminal, and as an HTML page."""

from __future__ import annotations

import math
import textwrap
from html import escape

from treelet.checks import plural
from treelet.drawing.drawing import Drawing
from treelet.report.gold_comparison import marked, marked_svg
from treelet.report.page import page, paragraphs, table
from treelet.tasks.rerank_job import Mended, Outcome, Scores

_WIDTH = 100
_BESIDE = 640  # maximum width, in pixels, of two pictures that are placed side by side
_HEADER = ("", "parse score", "labeled F1", "exact match")


# --- texts shared by both forms --------------------------------------------------------------------------------


def _rows(outcome: Outcome) -> list[tuple[str, Scores]]:
    """Return the three rows of the table."""
    return [
        ("parser's first choice", outcome.first),
        ("reranked", outcome.reranked),
        ("best candidate (oracle)", outcome.best),
    ]


def _proposals(outcome: Outcome) -> str:
    """Describe the candidates and the scores of the parser."""
    test = outcome.parts.test
    parser = "A grammar of the training trees" if "grammar" in outcome.parts.seconds else "A parser"
    most = _most(outcome)
    return (
        f"{parser} proposes up to {most:,} candidate parses per sentence, {len(test.trees) / len(test):.0f} on average, "
        f"each with a probability. On the {plural(len(test), 'sentence')} of the test set, its first choice has a parse "
        f"score of {outcome.first.parse_score:.1f} (of 100) and is completely correct for {outcome.first.exact:.0f} % of "
        f"the sentences. For {outcome.best.exact:.0f} %, the correct parse is among the candidates. Choosing the best "
        f"candidate of every sentence would give a parse score of {outcome.best.parse_score:.1f}."
    )


def _learning(outcome: Outcome) -> str:
    """Describe the training and the score of the reranker."""
    train = len(outcome.parts.train) + len(outcome.parts.development)
    return (
        f"treelet learned from {train:,} other sentences which tree fragments are typical of correct parses. "
        f"Choosing among the same candidates, it has a parse score of {outcome.reranked.parse_score:.1f}."
    )


def _verdict(outcome: Outcome) -> str:
    """State whether reranking helps, and by how much."""
    gain = outcome.test.difference
    low, high = outcome.test.interval
    reduction = outcome.error_reduction
    if abs(gain) < 0.05:
        effect = "Reranking makes no difference to the parse score (below 0.05 points)."
    elif gain > 0 and outcome.test.p_value < 0.05:
        effect = f"Reranking improves the parse score by {gain:.1f} points, an error reduction of {reduction:.0f} %."
    elif gain > 0:
        effect = f"The parse score after reranking is {gain:.1f} points higher."
    else:
        effect = f"Reranking lowers the parse score by {-gain:.1f} points, so it does not help here."
    significance = (
        f"The 95 % confidence interval of the difference is {low:+.1f} to {high:+.1f} points (paired bootstrap over "
        f"sentences, p {_p(outcome.test.p_value)}{'' if outcome.test.p_value < 0.05 else ', not significant'})."
    )
    return (
        f"{effect} {significance} Another parse was chosen for {outcome.changed:,} of "
        f"{plural(len(outcome.parts.test), 'sentence')}: {outcome.better:,} are better, {outcome.worse:,} are worse, and "
        f"{outcome.changed - outcome.better - outcome.worse:,} are equally good."
    )


_MEASURES = (
    "The parse score of Collins & Duffy (2001) is the mean of two percentages: the phrases of the parse that are correct "
    "(precision), and the phrases of the gold tree that were found (recall). Longer sentences have a larger weight. "
    "F1 is the harmonic mean of precision and recall. Exact match counts the sentences without any wrong or missing phrase."
)


_LABELS = {
    "NP": "a noun phrase",
    "VP": "a verb phrase",
    "PP": "a prepositional phrase",
    "S": "a clause",
    "SBAR": "a subordinate clause",
    "SQ": "a question",
}


def _labels(mended: list[Mended]) -> str:
    """Explain the common labels of English treebanks that occur in the trees."""
    names = {node.label for item in mended for tree in (item.before, item.after) for node in tree.nodes()}
    named = [f"{label} is {meaning}" for label, meaning in _LABELS.items() if label in names]
    return f" In the trees, {', '.join(named)}." if named else ""


def _settings(outcome: Outcome) -> str:
    """Describe the setting and how it was chosen."""
    chosen = outcome.setting
    depth = "" if chosen.max_depth is None else f", maximum depth of fragments {chosen.max_depth}"
    terms = [f"log probability of the parser as a feature (logp) {chosen.logp:g}"] * bool(chosen.logp)
    terms += [f"fixed weight of the log probability (fixed logp) {chosen.fixed_logp:g}"] * bool(chosen.fixed_logp)
    logp = ", ".join(terms) or "without log probabilities"
    origin = f"Best of {len(outcome.tried)} settings on the development set" if outcome.tried else "Setting"
    return " ".join([f"{origin}: decay per production (lam) {chosen.lam:g}{depth}, {logp}.", *_edges(outcome)])


def _edges(outcome: Outcome) -> list[str]:
    """Return a sentence for each chosen value that is the largest or smallest one tried, and better than the next one."""
    sentences = []
    for name, low, high in (
        ("lam", 0, 1),
        ("max_depth", 1, math.inf),
        ("logp", 0, math.inf),
        ("fixed_logp", 0, math.inf),
    ):
        best_of: dict[float, float] = {}  # the best score with each value
        for setting, score in outcome.tried:
            value = _number(getattr(setting, name))
            best_of[value] = max(score, best_of.get(value, -math.inf))
        chosen, values = _number(getattr(outcome.setting, name)), sorted(best_of)
        for ordered, bound, side, more in (
            (values[::-1], high, "largest", "larger"),
            (values, low, "smallest", "smaller"),
        ):
            if (
                chosen != bound
                and ordered[:1] == [chosen]
                and len(values) > 1
                and best_of[chosen] > best_of[ordered[1]]
            ):
                shown = {"max_depth": "depth"}.get(name, name.replace("_", " "))
                sentences.append(f"The best {shown}, {chosen:g}, is the {side} value tried; try {more} values as well.")
    return sentences


def _number(value: float | None) -> float:
    return math.inf if value is None else value  # no limit of the depth


def _sizes(outcome: Outcome) -> str:
    """Describe how the sentences were split."""
    parts, notes = outcome.parts, outcome.parts.notes
    text = (
        f"Random split: {len(parts.train):,} training, {len(parts.development):,} development and "
        f"{len(parts.test):,} test sentences"
    )
    if "documents" in notes:
        text += f", from {plural(notes['documents'], 'document')} that were not split"
    labels = {
        "twins": "Removed because a later set has the same words: {}",
        "long": "Skipped because they are too long: {}",
        "missing": "Skipped because they are missing or a single word: {}",
    }
    more = [labels[name].format(f"{notes[name]:,}") for name in labels if notes.get(name)]
    return ". ".join([text, *more]) + "."


def _phases(outcome: Outcome) -> str:
    """Return the durations of the phases."""
    total = sum(outcome.seconds.values())
    durations = ", ".join(f"{name} {value:.1f}" for name, value in outcome.seconds.items())
    return f"Run time {total:.1f} seconds: {durations}."


def _most(outcome: Outcome) -> int:
    counts = [0] * len(outcome.parts.test)
    for sentence in outcome.parts.test.qid.tolist():
        counts[sentence] += 1
    return max(counts)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _cells(scores: Scores) -> list[str]:
    return [f"{scores.parse_score:.2f}", f"{scores.f1:.2f}", f"{scores.exact:.1f} %"]


def _score_change(item: Mended) -> str:
    after = "100 (completely correct)" if item.score_after == 100 else f"{item.score_after:.0f}"
    return f"parse score: first choice {item.score_before:.0f}, reranked {after}"


# --- for a terminal -----------------------------------------------------------------------------------------------


def text(outcome: Outcome, mended: list[Mended], title: str, source: str, *, colour: bool = False) -> str:
    """Return the report for a terminal, with some improved sentences (`Outcome.mended`)."""

    def wrapped(*paragraphs: str) -> list[str]:
        return [line for part in paragraphs for line in (*textwrap.wrap(part, _WIDTH), "")]

    out = [title, "", *wrapped(source, _sizes(outcome), _proposals(outcome), _learning(outcome))]
    out.append(f"{_HEADER[0]:<32}" + "".join(f"{name:>14}" for name in _HEADER[1:]))
    out += [f"{name:<32}" + "".join(f"{cell:>14}" for cell in _cells(scores)) for name, scores in _rows(outcome)]
    out += ["", *wrapped(_verdict(outcome), _MEASURES, _settings(outcome))]
    if mended:
        key = "* marks a wrong phrase, + a phrase that was missing before."
        out += wrapped(
            f"{_count(mended)} {key} Phrases that are correct in both trees are on one line.{_labels(mended)}"
        )
    for number, item in enumerate(mended, 1):
        out += [f"{number}. {item.words}", f"   {_score_change(item)}", ""]
        for name, drawn in (
            ("first choice", marked(item.before, item.gold, item.after, new=False, colour=colour)),
            ("reranked", marked(item.after, item.gold, item.before, colour=colour)),
        ):
            out += [f"   {name}", *(f"     {line}" for line in drawn.splitlines()), ""]
    return "\n".join([*out, *textwrap.wrap(_phases(outcome), _WIDTH)])


def _count(mended: list[Mended]) -> str:
    return "An improved sentence:" if len(mended) == 1 else f"{len(mended)} improved sentences:"


# --- as HTML ------------------------------------------------------------------------------------------------------


def pictures(mended: list[Mended]) -> dict[str, Drawing]:
    """Return the drawings of the improved sentences as SVG documents, by file name."""
    files = {}
    for number, item in enumerate(mended, 1):
        files[f"mended-{number}-first.svg"] = marked_svg(item.before, item.gold, item.after, new=False)
        files[f"mended-{number}-reranked.svg"] = marked_svg(item.after, item.gold, item.before)
    return files


def html(outcome: Outcome, mended: list[Mended], title: str, source: str, command: str) -> str:
    """Return the report as a self-contained HTML page."""
    cells = [(name, *_cells(scores)) for name, scores in _rows(outcome)]
    out: list[str] = [
        f'<h1>{escape(title)}</h1>\n<p class="source">{escape(source)}</p>',
        paragraphs(_sizes(outcome), _proposals(outcome), _learning(outcome)),
        _bars(outcome),
        table(_HEADER, cells, chosen=[number for number, (name, *_) in enumerate(cells) if name == "reranked"]),
        paragraphs(_verdict(outcome), _MEASURES),
    ]
    drawn = pictures(mended)
    if mended:
        out.append(
            '<h2>Improved sentences</h2>\n<p><span class="key wrong">Red</span> marks a wrong phrase, '
            '<span class="key new">green</span> a phrase that was missing before.'
            f"{_labels(mended)}</p>"
        )
    for number, item in enumerate(mended, 1):
        out.append(
            f'<p class="sentence">{number}. {escape(item.words)}</p>\n<p>{_score_change(item).capitalize()}.</p>'
        )
        wide = any(drawn[f"mended-{number}-{name}.svg"].width > _BESIDE for name in ("first", "reranked"))
        out.append(f'<div class="{"pair" if wide else "pair beside"}">')
        for name, caption in (("first", "The parser’s first choice"), ("reranked", "Reranked")):
            picture = drawn[f"mended-{number}-{name}.svg"]
            out.append(f"<figure><figcaption>{caption}</figcaption>\n{picture}</figure>")
        out.append("</div>")
    out.append(f"<h2>Settings</h2>\n{paragraphs(_settings(outcome))}")
    if outcome.tried:
        chosen = [number for number, (setting, _) in enumerate(outcome.tried) if setting == outcome.setting]
        tried = [(setting, f"{score:.2f}") for setting, score in outcome.tried]
        out.append(table(("setting", "parse score, development"), tried, chosen=chosen))
    out.append(f"<p>{escape(_phases(outcome))}</p>\n<p>Created with <code>{escape(command)}</code>.</p>")
    return page(title, out)


def _bars(outcome: Outcome) -> str:
    """Return a bar chart of the three parse scores, as SVG."""
    left, width, high = 120, 5.2, 30  # pixels: width of the names, width per point, height of a row
    lines = [
        f'<svg class="bars" viewBox="0 0 720 {3 * high + 34}" role="img" aria-label="parse scores" font-size="14" '
        'font-family="Helvetica, Arial, sans-serif">'
    ]
    lines += [
        f'<path d="M{left + width * score:.1f} 2V{3 * high + 6}" stroke="#e1e4e8"/><text x="{left + width * score:.1f}" '
        f'y="{3 * high + 24}" text-anchor="middle" fill="#57606a" font-size="12">{score}</text>'
        for score in range(0, 101, 20)
    ]
    named = zip(("first choice", "reranked", "oracle"), ("#9aa3ad", "#2f6fb0", "#d4dae0"), _rows(outcome), strict=True)
    for row, (name, color, (_, scores)) in enumerate(named):
        y, long = 6 + row * high, width * scores.parse_score
        lines.append(
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{name}</text>'
            f'<rect x="{left}" y="{y}" width="{long:.1f}" height="{high - 8}" rx="3" fill="{color}"/>'
            f'<text x="{left + long + 8:.1f}" y="{y + 16}" font-weight="600">{scores.parse_score:.1f}</text>'
        )
    return "\n".join([*lines, "</svg>"])
