"""Self-contained HTML pages: their style, and the elements of reports.

Texts come from untrusted files, so they are escaped here, unless they are `Html` already.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from treelet.drawing.leaves import shortened
from treelet.drawing.svg import escaped

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --ground: #ffffff; --faint: #57606a; --line: #e1e4e8; --chosen: #eef5fc; --accent: #0072b2;
  --for: #2f86c1; --against: #e08a1e; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --ground: #101214; --faint: #a3adb8; --line: #343a40; --chosen: #1b2a3a;
  --accent: #6cb8f0; } }
body { font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: var(--ink); background: var(--ground);
  max-width: 62rem; margin: 2rem auto 4rem; padding: 0 1.25rem; }
h1, h2, h3, p, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
p { max-width: 46rem; margin: .6rem 0; }
.source { color: var(--faint); margin-top: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th { font-weight: 600; color: var(--faint); }
tr.chosen td { font-weight: 600; background: var(--chosen); }
.bars { width: 100%; max-width: 46rem; height: auto; display: block; margin: 1rem 0; }
.bars text { fill: var(--ink); }
.sentence { font-size: 1.05rem; font-style: italic; margin-bottom: .2rem; }
.beside figure { flex-basis: 24rem; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem; margin: .8rem 0 1.8rem; }
figure { flex: 1 1 100%; min-width: 0; margin: 0; padding: .6rem .8rem .8rem; border: 1px solid var(--line); border-radius: 8px;
  overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption { color: var(--faint); font-size: .9rem; margin-bottom: .4rem; }
.key { display: inline-block; padding: 0 .4rem; border-radius: 4px; border: 1.5px solid; color: #1f2328; }
.wrong { background: #fbdcd6; border-color: #c0341d; }
.new { background: #d8f0dc; border-color: #1d7a3a; }
code { font-size: .92em; overflow-wrap: anywhere; }
@media print { body { max-width: none; margin: 0; font-size: 11pt; } h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


class Html(str):
    """HTML markup that is not escaped again."""

    __slots__ = ()


def said(text: object) -> Html:
    """Escape a text for a page, and shorten it if it is very long."""
    return text if isinstance(text, Html) else Html(escaped(shortened(str(text))))


def paragraphs(*texts: str) -> Html:
    """Return one paragraph per text."""
    return Html("\n".join(f"<p>{said(text)}</p>" for text in texts))


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, chosen: Collection[int] = (), kind: str = ""
) -> Html:
    """Return a table. The rows in `chosen` are emphasized."""
    names = "".join(f"<th>{said(name)}</th>" for name in head)
    top = f"<thead><tr>{names}</tr></thead>\n" if any(head) else ""
    body = "\n".join(
        f"<tr{' class=chosen' * (number in chosen)}>{''.join(f'<td>{said(cell)}</td>' for cell in row)}</tr>"
        for number, row in enumerate(rows)
    )
    style = f' class="{kind}"' if kind else ""
    return Html(f'<div class="wide"><table{style}>\n{top}<tbody>\n{body}\n</tbody>\n</table></div>')


def page(title: str, parts: Iterable[str], *, style: str = "", scripts: Iterable[str] = ()) -> str:
    """Return a complete page. Parts, scripts and style are inserted unchanged."""
    out = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{said(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>",
        *parts,
        *scripts,
        "</body>\n</html>\n",
    ]
    return "\n".join(out)


def data_block(name: str, value: Any) -> str:
    r"""Return a block of JSON for the script of a page. No text in it can end the block.

    >>> data_block("cases", ["</script>"])
    '<script type="application/json" id="cases">["\\u003c/script\\u003e"]</script>'
    """
    text = json.dumps(value, allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'
