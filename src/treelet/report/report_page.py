"""A report as one HTML page, readable on screen, without JavaScript, and on paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from treelet.draw import web
from treelet.draw.excerpts import excerpt
from treelet.draw.layout import width_of
from treelet.draw.shaded import heat_svg, signed, tint
from treelet.draw.svg import captioned_svg
from treelet.draw.web.pictures import AttributedStructure, attributed_structures, explained, largest_share
from treelet.report.model_report import ExplainedCase, FragmentExample, ModelReport, OutputFragments
from treelet.report.notebook import picture
from treelet.report.page import Html, data_block, page, paragraphs, said, table
from treelet.structures import Forest, Tree

SHOWN = 10  # fragments of a case
CELLS = 30  # classes of a matrix that is drawn
CONFUSIONS = 20  # of one that is not
SMALL = 0.64  # of a fragment's picture
WORDS = 14  # beside a fragment's span
LONGEST = 200  # letters of a heading
STYLE = """
.confusion { display: block; max-width: 100%; height: auto; margin: 1rem 0; }
.confusion text { fill: var(--ink); } .confusion .light { fill: #ffffff; } .confusion rect { stroke: var(--line); }
.fragments td, .fragments th { vertical-align: middle; text-align: left; padding-top: .15rem; padding-bottom: .15rem; } .fragments td:first-child { text-align: right; white-space: nowrap; }
.fragments svg { display: block; border-radius: 6px; } .fragments ul { margin: 0; padding-left: 1.1rem; font-size: .92rem; }
.fragments code { font-size: .84rem; margin-right: .8rem; } .fragments .aside { font-size: .84rem; white-space: nowrap; }
.plus { color: var(--for); font-weight: 600; } .minus { color: var(--against); font-weight: 600; }
.below { text-decoration: underline; text-decoration-color: var(--line); text-underline-offset: .2em; } .aside { color: var(--faint); }
nav { color: var(--faint); overflow-wrap: anywhere; } nav a { color: var(--accent); text-decoration: none; } nav a:hover { text-decoration: underline; }
.case { margin-bottom: 2rem; } .case svg { max-width: 100%; height: auto; } .case > figure { margin: .6rem 0; }
.verdict b { overflow-wrap: anywhere; } .card td { text-align: left; overflow-wrap: anywhere; } .card td:first-child { overflow-wrap: normal; } .figures td:first-child { white-space: nowrap; }
@media print { .case { break-inside: avoid; } nav { display: none; } }
@media screen and (max-width: 36rem) { .fragments svg { display: none; } th, td { padding-left: .35rem; padding-right: .35rem; } .fragments .aside { white-space: normal; }
  .fragments ul { padding-left: .8rem; } .card { font-size: .85rem; } }
"""

TITLES = {"classify": "The worst errors", "regress": "The largest residuals", "rank": "The worst first choices"}


def report_page(report: ModelReport, *, title: str, source: str, card: Mapping[str, Any], command: str = "") -> str:
    """A report as a page.

    Parameters
    ----------
    report : Report
    title, source : str
        The heading, and the line below it.
    card : mapping
        What the model's file says of the model: `treelet.learn.card`.
    command : str
        What made it.

    Returns
    -------
    str
        HTML that asks nobody for anything. All texts are escaped.
    """
    told: list[Any] = []
    parts = [f'<h1>{said(title)}</h1>\n<p class="source">{said(source)}</p>']
    parts.append(_contents(report))
    parts += _figures(report)
    parts += [section for learnt in report.learnt for section in _learnt(learnt, report)]
    parts += _cases(report, told)
    parts.append(_section("model", report))
    parts.append(table(("", ""), list(_flat(card)), kind="card"))
    if command:
        parts.append(f"<p>Made by <code>{said(command)}</code>.</p>")
    script = f'<script type="module">\n{web.script("report.js")}</script>'
    scripts = [data_block("told", told), script] if any(told) else []
    return page(title, parts, style=STYLE + web.style(), scripts=scripts)


def _contents(report: ModelReport) -> str:
    """Return links to the sections of the page."""
    names = ["scores"] if report.figures is not None else []
    names += ["confusions"] if "confusion" in (report.figures or {}) else []
    names += ["fragments"] if report.learnt else []
    names += ["cases"] if report.cases else []
    links = [f'<a href="#{name}">{_heading(name, report)}</a>' for name in [*names, "model"]]
    return f"<nav>{' · '.join(links)}</nav>"


def _heading(name: str, report: ModelReport) -> str:
    cases = TITLES[report.task] if report.figures is not None else "Some examples"
    return {
        "scores": "How good it is",
        "confusions": "What is taken for what",
        "fragments": "What weighs most",
        "cases": cases,
        "model": "The model",
    }[name]


def _section(name: str, report: ModelReport) -> str:
    return f'<h2 id="{name}">{_heading(name, report)}</h2>'


# --- how good it is -------------------------------------------------------------------------------------------------


def _figures(report: ModelReport) -> Iterator[str]:
    figures = report.figures
    if figures is None:
        yield paragraphs(f"{report.examples:,} examples without labels: nothing can be said of how good the model is.")
    elif report.task == "classify":
        low, high = figures["interval"]
        yield _section("scores", report)
        yield paragraphs(
            Html(
                f"<b>{100 * figures['accuracy']:.1f} %</b> of {figures['examples']:,} examples are right "
                f"({figures['correct']:,}; 95 % interval {100 * low:.1f} to {100 * high:.1f}, Wilson's)."
            )
        )
        yield _class_table(figures)
        yield _section("confusions", report)
        yield _confusion(**figures["confusion"])
    else:
        yield _section("scores", report)
        yield table(("", ""), list(_figure_rows(figures)), kind="figures")


def _class_table(figures: dict[str, Any]) -> Html:
    rows: list[tuple[object, ...]] = [
        (name, *(f"{100 * row[field]:.1f}" for field in ("precision", "recall", "f1")), f"{row['support']:,}")
        for name, row in figures["classes"].items()
    ]
    mean = figures["macro"]
    rows.append(("mean of the classes", *(f"{100 * mean[field]:.1f}" for field in ("precision", "recall", "f1")), ""))
    return table(("class", "precision", "recall", "F1", "examples"), rows, chosen=[len(rows) - 1])


def _figure_rows(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    names = {
        "tau": "Kendall's tau, mean over queries",
        "best_first": "queries whose best is first",
        "queries": "queries",
        "rmse": "root mean squared error",
        "mean_absolute_error": "mean absolute error",
        "correlation": "correlation (Pearson's)",
        "r2": "R²",
        "examples": "examples",
    }
    for key, name in names.items():
        value = figures.get(key)
        if value is not None:
            shown = (
                f"{100 * value:.1f} %"
                if key == "best_first"
                else f"{value:,}"
                if isinstance(value, int)
                else f"{value:.4g}"
            )
            yield name, shown


def _confusion(labels: list[str], matrix: list[list[int]]) -> Html:
    """Counts in cells, true classes in rows; the shade is the share of the row."""
    if len(labels) > CELLS:
        wrong = [
            (f"{count:,}", labels[i], labels[j])
            for count, i, j in sorted(
                ((count, i, j) for i, row in enumerate(matrix) for j, count in enumerate(row) if i != j and count),
                key=lambda entry: -entry[0],
            )[:CONFUSIONS]
        ]
        return table(("times", "true", "predicted"), wrong)
    names = [label if len(label) <= 18 else f"{label[:17]}…" for label in labels]
    cell = max(34, min(64, 640 // len(labels)))
    longest = max(width_of(name, 13) for name in names)
    left, top = round(longest) + 12, 26 + (0 if cell > 50 else round(0.8 * longest))
    width, height = left + cell * len(labels) + 70, top + cell * len(labels) + 8
    out = [
        f'<svg class="confusion" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" font-size="13" '
        'aria-label="confusion matrix" font-family="Helvetica, Arial, sans-serif">'
    ]
    for k, name in enumerate(names):
        x = left + cell * (k + 0.5)
        turned = "" if cell > 50 else f' transform="rotate(-50 {x:.0f} {top - 8})"'
        anchor = "middle" if cell > 50 else "start"
        out.append(f'<text x="{x:.0f}" y="{top - 8}" text-anchor="{anchor}"{turned}>{said(name)}</text>')
    for i, row in enumerate(matrix):
        total = sum(row)
        y = top + cell * i
        out.append(f'<text x="{left - 8}" y="{y + cell / 2 + 4:.0f}" text-anchor="end">{said(names[i])}</text>')
        for j, count in enumerate(row):
            share = count / total if total else 0.0
            color = "#0072b2" if i == j else "#d95f02"
            about = f"{labels[i]} taken for {labels[j]}: {count:,} of {total:,}"
            out.append(
                f'<g><title>{said(about)}</title><rect x="{left + cell * j}" y="{y}" width="{cell}" height="{cell}" fill="{color}" '
                f'fill-opacity="{0.9 * share**0.6 if count else 0:.3f}"/>'
            )
            if count:
                light = ' class="light"' if share > 0.5 else ""
                weight = ' font-weight="600"' if i == j else ""
                x = left + cell * (j + 0.5)
                out.append(
                    f'<text x="{x:.0f}" y="{y + cell / 2 + 5:.0f}" text-anchor="middle"{light}{weight}>{count:,}</text>'
                )
            out.append("</g>")
        out.append(f'<text x="{left + cell * len(row) + 8}" y="{y + cell / 2 + 4:.0f}">{total:,}</text>')
    said_of = "Rows are the true classes, columns what the model says; blue is right, orange wrong, stronger where it is more of the row."
    return Html("\n".join([*out, "</svg>"]) + paragraphs(said_of))


# --- what it has learned ---------------------------------------------------------------------------------------------


def _learnt(learnt: OutputFragments, report: ModelReport) -> Iterator[str]:
    if learnt is report.learnt[0]:
        yield _section("fragments", report)
        what = {"classify": "a class", "regress": "a higher value", "rank": "a better rank"}[report.task]
        yield paragraphs(
            Html(
                f'Fragments of trees that speak <span class="plus">for</span> {what} and <span class="minus">against</span> it, the heaviest first, '
                "with trees of the data that have them. Words of the fragment are bold, those below it underlined."
            )
        )
        if len(report.learnt) > 1:
            links = [f'<a href="#class-{k}">{said(fragment.name)}</a>' for k, fragment in enumerate(report.learnt)]
            yield f"<nav>{' · '.join(links)}</nav>"
    if learnt.name:
        yield f'<h3 id="class-{report.learnt.index(learnt)}">{said(learnt.name)}</h3>'
    rows = []
    for fragment, seen in zip(learnt.top, learnt.seen, strict=True):
        text = f"<code>{said(_cut(fragment.tree))}</code>"
        if seen is not None:
            where = f"in {seen.trees:,} of {report.examples:,} trees" if seen.trees else "in none of these trees"
            listed = "".join(f"<li>{_sentence(example)}</li>" for example in seen.examples)
            text += f'<span class="aside">{where}</span>' + (f"<ul>{listed}</ul>" if listed else "")
        rows.append((_colored(fragment.weight), _fragment(fragment.tree), Html(text)))
    if rows:
        yield table(("weight", "", "fragment, and examples"), rows, kind="fragments")
    else:
        yield paragraphs("No fragment has any weight.")
    if not learnt.top.exact:
        yield paragraphs("These are the heaviest of those that were looked at.")


def _colored(value: float) -> Html:
    return Html(f'<span class="{"plus" if value > 0 else "minus"}">{signed(value)}</span>')


def _fragment(tree: Any) -> Html:
    if not isinstance(tree, Tree):
        return Html("")
    small, _ = excerpt(tree, leaves=12, levels=8)
    drawing = captioned_svg(small)
    head, _, tail = str(drawing).partition(f'width="{drawing.width:.0f}" height="{drawing.height:.0f}"')
    size = f'width="{SMALL * drawing.width:.0f}" height="{SMALL * drawing.height:.0f}"'
    return Html(f"{head}{size}{tail}")


def _sentence(example: FragmentExample) -> Html:
    """Return the words around a fragment, with those in it in bold."""
    begin, end = example.span
    first, last = max(0, begin - WORDS // 2), min(len(example.words), max(end, begin + 1) + WORDS // 2)
    if end - begin > 2 * WORDS:
        last = begin + 2 * WORDS
    out = ["… "] if first else []
    for position in range(first, last):
        word = said(example.words[position])
        if position in example.inside:
            word = Html(f"<b>{word}</b>")
        out.append((f'<span class="below">{word}</span>' if begin <= position < end else word) + " ")
    if last < len(example.words):
        out.append("…")
    label = f' <span class="aside">({said(example.label)})</span>' if example.label is not None else ""
    return Html("".join(out).rstrip() + label)


# --- where it errs --------------------------------------------------------------------------------------------------


def _cases(report: ModelReport, told: list[Any]) -> Iterator[str]:
    if not report.cases:
        if report.figures is not None and not report.wrong and report.task != "regress":
            yield "<h2>Errors</h2>"
            yield paragraphs("There are none.")
        return
    yield _section("cases", report)
    yield paragraphs(_about(report))
    for case in report.cases:
        yield _case(case, report.task, told)


def _about(report: ModelReport) -> str:
    count = f"{len(report.cases):,} of {report.wrong:,}: " if report.figures is not None else ""
    what = {
        "classify": "blue nodes pulled towards the class that was predicted, orange ones towards the "
        + ("right one" if report.figures is not None else "next one"),
        "regress": "blue nodes raise the value, orange ones lower it",
        "rank": "blue nodes speak for the tree that they are in, orange ones against it"
        if report.figures is None
        else "the model's first choice, and the one that would have been best; blue nodes raise the difference of their scores, orange ones lower it",
    }[report.task]
    return f"{count}{what}. The number in a node is the share of all fragments that begin there; point at a fragment to see where it is."


def _case(case: ExplainedCase, task: str, told: list[Any]) -> str:
    words = case.words if len(case.words) <= LONGEST else f"{case.words[: LONGEST - 1]}…"
    number = ", ".join(f"{number + 1:,}" for number in case.numbers)
    lines = [f'<section class="case"><h3>{said(words or "(no words)")}</h3>', f'<p class="verdict">{_verdict(case, task)} '
             f'<span class="aside">Example {number}.</span></p>']  # fmt: skip
    trees = attributed_structures(case.why, case.example)
    if trees:
        told.append(explained(case.why, case.example, limit=SHOWN))
        lines.append(f'<div data-told="{len(told) - 1}">')
        names = ["first choice", "best"] if len(trees) == 2 and len(case.numbers) == 2 else [""] * len(trees)
        if len(case.numbers) == 2:
            for structure, name in zip(told[-1]["trees"], names, strict=True):
                structure["title"] = name or structure["title"]
        lines += [_figure(structure, name, largest_share(trees)) for name, structure in zip(names, trees, strict=True)]
    rows = [
        (_colored(structure.share), Html(f"<code>{said(_cut(structure.tree))}</code>"))
        for structure in case.why.fragments[:SHOWN]
    ]
    lines.append(table(("share", "fragment"), rows, kind="fragments"))
    left = case.why.score - sum(structure.share for structure in case.why.fragments[:SHOWN])
    lines.append(
        paragraphs(
            f"Together {signed(case.why.score)}; all else {signed(left)}, of which intercept {signed(case.why.intercept)}."
        )
    )
    if trees:
        lines.append("</div>")
    return "\n".join([*lines, "</section>"])


def _figure(structure: AttributedStructure, name: str, scale: float) -> str:
    """Return the static picture: a tree or words in colors."""
    caption = name or ("" if structure.column is None else str(structure.column))
    if isinstance(structure.thing, Tree):
        return f"<figure>{heat_svg(structure.thing, structure.heat, caption=caption, scale=scale)}</figure>"
    head = f"<figcaption>{said(caption)}</figcaption>" if caption else ""
    if isinstance(structure.thing, Forest):
        drawing = picture(structure.thing)
        return f"<figure>{head}{drawing or ''}</figure>"
    words = " ".join(
        f'<span style="background:{tint(share / (scale or 1.0))};color:#1b1b1b" title="{signed(share)}">{said(word)}</span>'
        for word, share in zip(structure.thing.words, structure.heat, strict=True)
    )
    return f"<figure>{head}<p>{words}</p></figure>"


def _cut(tree: Any) -> str:
    return str(excerpt(tree).tree) if isinstance(tree, Tree) else str(tree)


def _verdict(case: ExplainedCase, task: str) -> Html:
    facts = case.facts
    if task == "rank" and "query" in facts:
        return Html(
            f"Query <b>{said(facts['query'])}</b>: the first choice is worth {facts['first']:.4g}, the best {facts['best']:.4g}; "
            f"tau {facts['tau']:.2f}; the first is ahead by {case.why.score:.3g}."
        )
    if task == "classify":
        other = f"true <b>{said(facts['true'])}</b>" if "true" in facts else f"next <b>{said(facts['next'])}</b>"
        ahead = f", ahead by {case.why.score:.3g}" if isinstance(case.why.output, tuple) else ""
        return Html(f"Predicted <b>{said(facts['predicted'])}</b>, {other}{ahead}.")
    true = f", true <b>{facts['true']:.4g}</b>" if "true" in facts else ""
    return Html(f"Predicted <b>{facts['predicted']:.4g}</b>{true}.")


# --- the model ------------------------------------------------------------------------------------------------------


def _flat(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a card says, line by line."""
    stack: list[tuple[str, Any]] = [("", card)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, Mapping):
            stack += [(f"{name}, {key}" if name else str(key), inner) for key, inner in reversed(list(value.items()))]
        elif value is not None:
            yield name, f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
