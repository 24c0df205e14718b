"""Pictures of confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence

from treelet.drawing.drawing import Drawing
from treelet.drawing.leaves import shortened
from treelet.drawing.svg import MARGIN, escaped, svg_document, width_of

_CELL = 60.0
_FONT = 13.0
_LONGEST = 24  # characters of a class name
_STEPS = 20  # of the color bar
_BLUES = ("f7fbff", "deebf7", "c6dbef", "9ecae1", "6baed6", "4292c6", "2171b5", "08519c", "08306b")
_DARK = 0.55  # share above which the count is white
INK, MUTED, LINE = "#1a1a1a", "#444444", "#dde6f0"


def confusion_svg(
    labels: Sequence[str], matrix: Sequence[Sequence[int]], *, title: str = "", subtitle: str = ""
) -> Drawing:
    """Draw a confusion matrix: one row per true class, one column per predicted class.

    Cells contain counts. Colors show the share of the true class.

    >>> confusion_svg(["no", "yes"], [[3, 1], [0, 4]], title="Accuracy 87.5 %")
    <Drawing: 334 x 227>
    """
    n = len(labels)
    names = [shortened(label, _LONGEST) for label in labels]
    cell = _CELL if n <= 12 else max(29.0, 12 * _CELL / n)
    size = _FONT if n <= 12 else max(9.0, 12 * _FONT / n)
    totals = [sum(row) for row in matrix]
    row_names = [f"{name}  ({total:,})" for name, total in zip(names, totals, strict=True)]
    longest = max(width_of(name, size) for name in names)
    tilted = longest > cell - 6
    left = 2 * MARGIN + 20 + max(width_of(name, size) for name in row_names)
    top = MARGIN + (26 if title else 0) + (20 if subtitle else 0)
    side = n * cell
    right, bottom = left + side, top + side
    below = bottom + (0.8 * longest + size if tilted else size + 8) + 14
    bar, bar_height = right + 26, min(side, 300.0)
    width = max(bar + 70, 2 * MARGIN + width_of(subtitle, 12), 2 * MARGIN + width_of(title, 16))
    height = below + 14 + MARGIN
    middle = left + side / 2

    def text(x: float, y: float, content: str, size: float, color: str = INK, more: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.3g}" fill="{color}"{more}>{escaped(content)}</text>'

    lines = [text(max(middle, width_of(title, 16) / 2 + MARGIN), MARGIN + 14, title, 16, more=' font-weight="bold"')] * bool(title)  # fmt: skip
    lines += [text(max(middle, width_of(subtitle, 12) / 2 + MARGIN), top - 10, subtitle, 12, MUTED)] * bool(subtitle)
    for i, row in enumerate(matrix):
        y = top + i * cell
        for j, count in enumerate(row):
            share = count / max(totals[i], 1)
            about = f"{labels[i]}, predicted as {labels[j]}: {count:,} of {totals[i]:,} ({100 * share:.1f} %)"
            lines.append(
                f'<g><title>{escaped(shortened(about))}</title><rect x="{left + j * cell:.1f}" y="{y:.1f}" '
                f'width="{cell:.1f}" height="{cell:.1f}" fill="{_color(share)}" stroke="{LINE}"/></g>'
            )
            if count:
                weight = ' font-weight="bold"' if i == j else ""
                ink = "#ffffff" if share > _DARK else INK
                lines.append(text(left + (j + 0.5) * cell, y + cell / 2 + 0.35 * size, f"{count:,}", size, ink, weight))
        lines.append(text(left - 8, y + cell / 2 + 0.35 * size, row_names[i], size, more=' text-anchor="end"'))
    for j, name in enumerate(names):
        x, y = left + (j + 0.5) * cell, bottom + size + 6
        turned = f' text-anchor="end" transform="rotate(-50 {x:.1f} {y:.1f})"' if tilted else ""
        lines.append(text(x, y, name, size, more=turned))
    lines.append(text(middle, below, "predicted class", _FONT, MUTED))
    x, y = MARGIN + 6, top + side / 2
    lines.append(text(x, y, "true class (examples)", _FONT, MUTED, f' transform="rotate(-90 {x:.1f} {y:.1f})"'))
    for step in range(_STEPS):
        lines.append(
            f'<rect x="{bar:.1f}" y="{top + bar_height * step / _STEPS:.1f}" width="12" '
            f'height="{bar_height / _STEPS + 0.5:.1f}" fill="{_color(1 - (step + 0.5) / _STEPS)}"/>'
        )
    for percent in (0, 50, 100):
        y = top + bar_height * (1 - percent / 100) + 4
        lines.append(text(bar + 18, y, f"{percent} %", 11, MUTED, ' text-anchor="start"'))
    x, y = bar + 62, top + bar_height / 2
    share_text = "share of the true class" if side >= 3 * cell else "share"
    lines.append(text(x, y, share_text, 11, MUTED, f' transform="rotate(-90 {x:.1f} {y:.1f})"'))
    return Drawing(svg_document(width, height, f"Confusion matrix. {title}".strip(), lines))


def _color(share: float) -> str:
    """Return a color from nearly white (0) to dark blue (1)."""
    position = share * (len(_BLUES) - 1)
    index = min(int(position), len(_BLUES) - 2)
    low, high = (bytes.fromhex(color) for color in _BLUES[index : index + 2])
    return "#" + "".join(f"{round(a + (b - a) * (position - index)):02x}" for a, b in zip(low, high, strict=True))
