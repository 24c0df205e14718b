"""A reranking result in plain words: for a terminal, as Markdown, and as one HTML page."""

from __future__ import annotations

import textwrap
from html import escape

from treelet.draw.drawing import Drawing
from treelet.report.gold_comparison import marked, marked_svg
from treelet.report.page import page, paragraphs, table
from treelet.tasks.rerank_job import Mended, Outcome, Scores

WIDTH = 100
BESIDE = 640  # pixels: pictures up to this width may stand side by side
HEADER = ("", "parse score", "labeled F1", "wholly right")


# --- words that all three share -----------------------------------------------------------------------------------


def rows(outcome: Outcome) -> list[tuple[str, Scores]]:
    """The three lines of the table."""
    return [
        ("parser's first choice", outcome.first),
        ("reranked", outcome.reranked),
        ("best of the proposals (oracle)", outcome.best),
    ]


def proposals(outcome: Outcome) -> str:
    """What the task is."""
    test = outcome.parts.test
    who = "A grammar, read off the training trees," if "grammar" in outcome.parts.seconds else "A parser"
    most = _most(outcome)
    return (
        f"{who} proposes up to {most:,} parses a sentence, {len(test.trees) / len(test):.0f} on average, and gives each a "
        f"probability. Its own first choice gets {outcome.first.parse_score:.1f} of 100 points on {len(test):,} sentences "
        f"that were kept for this test, and is wholly right for {outcome.first.exact:.0f} % of them. But for "
        f"{outcome.best.exact:.0f} % the right parse is somewhere among the proposals: always taking the best one would get "
        f"{outcome.best.parse_score:.1f} points."
    )


def learning(outcome: Outcome) -> str:
    """What was done about it."""
    train = len(outcome.parts.train) + len(outcome.parts.development)
    return (
        f"treelet has looked at {train:,} other sentences, learned which pieces of trees are typical of right parses, and "
        f"chosen anew among the same proposals: {outcome.reranked.parse_score:.1f} points."
    )


def verdict(outcome: Outcome) -> str:
    """Whether it is better, and by how much."""
    gain = outcome.test.difference
    low, high = outcome.test.interval
    missing = outcome.error_reduction
    if gain > 0:
        first = f"Reranking gains {gain:.1f} points: {missing:.0f} % of what the first choice lacked."
    elif gain < 0:
        first = f"Reranking loses {-gain:.1f} points: it does not help here."
    else:
        first = "Reranking gains nothing here."
    sure = (
        f"The 95 % interval of the difference is {low:+.1f} to {high:+.1f} points (paired bootstrap over sentences, "
        f"p {_p(outcome.test.p_value)}{'' if outcome.test.p_value < 0.05 else ': this may well be chance'})."
    )
    return (
        f"{first} {sure} Another parse was chosen for {outcome.changed:,} of {len(outcome.parts.test):,} sentences: "
        f"{outcome.better:,} are better now, {outcome.worse:,} worse, {outcome.changed - outcome.better - outcome.worse:,} "
        "as good as before."
    )


MEASURES = (
    "Points are the parse score of Collins & Duffy (2001): the mean of how many phrases of the parse are right, and how "
    "many phrases of the right tree were found, longer sentences counting for more. F1 is the other common mean of the two. "
    "Wholly right: sentences without any wrong or missing phrase."
)


LABELS = {
    "NP": "a noun phrase",
    "VP": "a verb phrase",
    "PP": "a phrase with a preposition",
    "S": "a clause",
    "SBAR": "a subordinate clause",
    "SQ": "a question",
}


def labels(mended: list[Mended]) -> str:
    """What the usual labels of English treebanks mean, as far as they occur."""
    names = {node.label for item in mended for tree in (item.before, item.after) for node in tree.nodes()}
    named = [f"{label} is {meaning}" for label, meaning in LABELS.items() if label in names]
    return f" In the trees, {', '.join(named)}." if named else ""


def settings(outcome: Outcome) -> str:
    """How the setting was chosen."""
    chosen = outcome.setting
    depth = "" if chosen.max_depth is None else f" and are at most {chosen.max_depth} levels deep"
    logp = (
        f"the parser's log probability counts with weight {chosen.logp:g}"
        if chosen.logp
        else "the parser's log probability does not count"
    )
    how = f"Chosen on the development sentences among {len(outcome.tried)} settings" if outcome.tried else "As given"
    return f"{how}: larger pieces count less by {chosen.lam:g} a step (lam){depth}; {logp}."


def sizes(outcome: Outcome) -> str:
    """How the sentences were split."""
    parts, notes = outcome.parts, outcome.parts.notes
    text = (
        f"{len(parts.train):,} sentences to learn from, {len(parts.development):,} to choose settings on, "
        f"{len(parts.test):,} to test; drawn at random"
    )
    if "documents" in notes:
        text += f", whole documents ({notes['documents']:,}) at a time"
    said = {
        "twins": "Taken out, because the same words are kept for choosing or testing: {}",
        "long": "Left out as too long: {}",
        "missing": "Missing, or a single word: {}",
    }
    more = [said[name].format(f"{notes[name]:,}") for name in said if notes.get(name)]
    return ". ".join([text, *more]) + "."


def phases(outcome: Outcome) -> str:
    """Where the time went."""
    total = sum(outcome.seconds.values())
    return f"{total:.1f} seconds: " + ", ".join(f"{name} {value:.1f}" for name, value in outcome.seconds.items()) + "."


def _most(outcome: Outcome) -> int:
    counts = [0] * len(outcome.parts.test)
    for sentence in outcome.parts.test.qid.tolist():
        counts[sentence] += 1
    return max(counts)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _cells(scores: Scores) -> list[str]:
    return [f"{scores.parse_score:.2f}", f"{scores.f1:.2f}", f"{scores.exact:.1f} %"]


def _said(item: Mended) -> str:
    now = "now wholly right" if item.score_after == 100 else f"now {item.score_after:.0f}"
    return f"first choice {item.score_before:.0f} of 100 points, {now}"


# --- for a terminal -----------------------------------------------------------------------------------------------


def text(outcome: Outcome, mended: list[Mended], title: str, source: str, *, colour: bool = False) -> str:
    """The result for a terminal, with some mended sentences (`Outcome.mended`)."""

    def wrapped(*paragraphs: str) -> list[str]:
        return [line for part in paragraphs for line in (*textwrap.wrap(part, WIDTH), "")]

    out = [title, "", *wrapped(source, sizes(outcome), proposals(outcome), learning(outcome))]
    out.append(f"{HEADER[0]:<32}" + "".join(f"{name:>14}" for name in HEADER[1:]))
    out += [f"{name:<32}" + "".join(f"{cell:>14}" for cell in _cells(scores)) for name, scores in rows(outcome)]
    out += ["", *wrapped(verdict(outcome), MEASURES, settings(outcome))]
    if mended:
        key = "* is a wrong phrase, + one that was missing and is now there"
        out += wrapped(f"{_count(mended)} {key}. What is right in both is in one line, with its words.{labels(mended)}")
    for number, item in enumerate(mended, 1):
        out += [f"{number}. {item.words}", f"   {_said(item)}", ""]
        for name, drawn in (
            ("first choice", marked(item.before, item.gold, item.after, new=False, colour=colour)),
            ("reranked", marked(item.after, item.gold, item.before, colour=colour)),
        ):
            out += [f"   {name}", *(f"     {line}" for line in drawn.splitlines()), ""]
    return "\n".join([*out, *textwrap.wrap(phases(outcome), WIDTH)])


def _count(mended: list[Mended]) -> str:
    return "A mended sentence:" if len(mended) == 1 else f"{len(mended)} mended sentences:"


# --- as Markdown --------------------------------------------------------------------------------------------------


def markdown(outcome: Outcome, mended: list[Mended], title: str, source: str, command: str) -> str:
    """The report as Markdown; pictures are those of `pictures`."""
    lines = [f"# {title}", "", source, "", sizes(outcome), "", proposals(outcome), "", learning(outcome), ""]
    lines += [f"| {' | '.join(HEADER)} |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {' | '.join(_cells(scores))} |" for name, scores in rows(outcome)]
    lines += ["", verdict(outcome), "", MEASURES, ""]
    if mended:
        lines += [
            "## Mended sentences",
            "",
            f"Red: a wrong phrase. Green: one that was missing and is now there.{labels(mended)}",
            "",
        ]
    for number, item in enumerate(mended, 1):
        lines += [f"### {number}. {item.words}", "", f"{_said(item).capitalize()}.", ""]
        for name in ("first", "reranked"):
            lines += [f"![{name}](mended-{number}-{name}.svg)", ""]
    lines += ["## Settings", "", settings(outcome), ""]
    if outcome.tried:
        lines += ["| setting | parse score, development |", "|---|---:|"]
        lines += [f"| {setting} | {score:.2f} |" for setting, score in outcome.tried]
        lines.append("")
    return "\n".join([*lines, phases(outcome), "", f"Made by `{command}`.", ""])


def pictures(mended: list[Mended]) -> dict[str, Drawing]:
    """The SVG documents that the Markdown page shows, by file name."""
    files = {}
    for number, item in enumerate(mended, 1):
        files[f"mended-{number}-first.svg"] = marked_svg(item.before, item.gold, item.after, new=False)
        files[f"mended-{number}-reranked.svg"] = marked_svg(item.after, item.gold, item.before)
    return files


# --- as HTML ------------------------------------------------------------------------------------------------------


def html(outcome: Outcome, mended: list[Mended], title: str, source: str, command: str) -> str:
    """The report as one HTML page that needs nothing else."""
    cells = [(name, *_cells(scores)) for name, scores in rows(outcome)]
    out: list[str] = [
        f'<h1>{escape(title)}</h1>\n<p class="source">{escape(source)}</p>',
        paragraphs(sizes(outcome), proposals(outcome), learning(outcome)),
        _bars(outcome),
        table(HEADER, cells, chosen=[number for number, (name, *_) in enumerate(cells) if name == "reranked"]),
        paragraphs(verdict(outcome), MEASURES),
    ]
    drawn = pictures(mended)
    if mended:
        out.append(
            '<h2>Mended sentences</h2>\n<p><span class="key wrong">Red</span> is a wrong phrase, '
            '<span class="key new">green</span> one that was missing and is now there.'
            f"{labels(mended)}</p>"
        )
    for number, item in enumerate(mended, 1):
        out.append(f'<p class="sentence">{number}. {escape(item.words)}</p>\n<p>{_said(item).capitalize()}.</p>')
        wide = any(drawn[f"mended-{number}-{name}.svg"].width > BESIDE for name in ("first", "reranked"))
        out.append(f'<div class="{"pair" if wide else "pair beside"}">')
        for name, said in (("first", "The parser’s first choice"), ("reranked", "Reranked")):
            picture = drawn[f"mended-{number}-{name}.svg"]
            out.append(f"<figure><figcaption>{said}</figcaption>\n{picture}</figure>")
        out.append("</div>")
    out.append(f"<h2>Settings</h2>\n{paragraphs(settings(outcome))}")
    if outcome.tried:
        chosen = [number for number, (setting, _) in enumerate(outcome.tried) if setting == outcome.setting]
        tried = [(setting, f"{score:.2f}") for setting, score in outcome.tried]
        out.append(table(("setting", "parse score, development"), tried, chosen=chosen))
    out.append(f"<p>{escape(phases(outcome))}</p>\n<p>Made by <code>{escape(command)}</code>.</p>")
    return page(title, out)


def _bars(outcome: Outcome) -> str:
    """The three parse scores as bars."""
    left, width, high = 120, 5.2, 30  # pixels: of the names, of a point, of a row
    lines = [
        f'<svg class="bars" viewBox="0 0 720 {3 * high + 34}" role="img" aria-label="parse scores" font-size="14" '
        'font-family="Helvetica, Arial, sans-serif">'
    ]
    lines += [
        f'<path d="M{left + width * score:.1f} 2V{3 * high + 6}" stroke="#e1e4e8"/><text x="{left + width * score:.1f}" '
        f'y="{3 * high + 24}" text-anchor="middle" fill="#57606a" font-size="12">{score}</text>'
        for score in range(0, 101, 20)
    ]
    named = zip(
        ("first choice", "reranked", "best possible"), ("#9aa3ad", "#2f6fb0", "#d4dae0"), rows(outcome), strict=True
    )
    for row, (name, color, (_, scores)) in enumerate(named):
        y, long = 6 + row * high, width * scores.parse_score
        lines.append(
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{name}</text>'
            f'<rect x="{left}" y="{y}" width="{long:.1f}" height="{high - 8}" rx="3" fill="{color}"/>'
            f'<text x="{left + long + 8:.1f}" y="{y + 16}" font-weight="600">{scores.parse_score:.1f}</text>'
        )
    return "\n".join([*lines, "</svg>"])
