"""Pictures of the fragments that kernels count, and of edits, for docs/kernels. Dashed boxes are categories that a fragment does not expand.

    python tools/kernel_pictures.py [FOLDER]

Trees are drawn by treelet.draw, and the fragments are those that `shared_fragments` finds: nothing is listed by hand. Without a folder
docs/images/kernels is written.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, product
from pathlib import Path

import treelet as tl
from treelet.drawing import Drawing, draw, heat_svg
from treelet.drawing.sheets import _Panel as Part
from treelet.drawing.sheets import _sheet as sheet
from treelet.drawing.sheets import _text as text
from treelet.drawing.svg import escaped, svg_document
from treelet.edits import EditScript
from treelet.fragments import shared_fragments
from treelet.kernels import Kernel
from treelet.tasks import find_clones

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "kernels"
MARGIN = 12.0
PANELS, COLUMNS = 810.0, (12.0, 288.0, 580.0)  # width of the picture with three examples, and their left edges
FONT, HEADING = 13.0, 14.0
INK, GRAY, BLUE, PALE = "#1b1b1b", "#667077", "#0072b2", "#e8f1f9"

BROUGHT = "(VP (V brought) (NP (D a) (N cat)))"
CAT, BIG_CAT, DOG = "(NP (D the) (N cat))", "(NP (D the) (J big) (N cat))", "(NP (D the) (N dog))"


def drawn(thing: object, caption: str = "", scale: float = 0.75, **options: float) -> Part:
    """Return a reduced drawing of a tree, a forest or an edit script."""
    captioned = isinstance(thing, tl.Forest | EditScript)
    drawing = thing if isinstance(thing, Drawing) else draw(thing, caption=False) if captioned else draw(thing)
    return Part.of(drawing, caption, scale, **options)


# --- weights --------------------------------------------------------------------------------------------------------


def powers(**exponents: int) -> str:
    """Return a product of powers as text; the empty product is 1."""
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    said = [name + (str(power).translate(digits) if power > 1 else "") for name, power in exponents.items() if power]
    return " · ".join(said) or "1"


def weighted(a: str, b: str, kernel: Callable[[float, float], Kernel]) -> list[tuple[tl.Tree, int, int]]:
    """Return the shared fragments that occur once in each tree, with the exponents of λ and μ, smallest first."""
    by_lam = shared_fragments(a, b, kernel(0.5, 1.0))
    by_mu = {str(one.tree): one.contribution for one in shared_fragments(a, b, kernel(1.0, 0.5))}
    assert by_lam.complete
    assert all(one.counts == (1, 1) for one in by_lam)
    found = [(one.tree, -round(math.log2(one.contribution)), -round(math.log2(by_mu[str(one.tree)]))) for one in by_lam]
    return sorted(found, key=lambda one: (sum(1 for _ in one[0].nodes()), str(one[0])))


def fragments(a: str, b: str, kernel: Callable[[float, float], Kernel]) -> list[Part]:
    return [drawn(tree, powers(λ=lam, μ=mu)) for tree, lam, mu in weighted(a, b, kernel)]


def counted(many: list[Part], what: str) -> str:
    return f"{len(many)} {what}, and what each is worth"


# --- trees and forests ----------------------------------------------------------------------------------------------


def subtree() -> str:
    parts = fragments(BROUGHT, BROUGHT, lambda lam, _: tl.Subtree(lam))
    return sheet(("A tree", [drawn(BROUGHT)]), (counted(parts, "complete subtrees"), parts))


def subset_tree() -> str:
    parts = fragments(BROUGHT, BROUGHT, lambda lam, _: tl.SubsetTree(lam))
    return sheet(("A tree", [drawn(BROUGHT)]), (counted(parts, "subset trees"), parts))


def subset_tree_depth() -> str:
    groups = []
    seen: set[str] = set()
    for depth in (1, 2, 3):
        found = weighted(BROUGHT, BROUGHT, lambda lam, _, depth=depth: tl.SubsetTree(lam, max_depth=depth))  # type: ignore[misc]
        new = [drawn(tree, powers(λ=lam)) for tree, lam, _ in found if str(tree) not in seen]
        seen |= {str(tree) for tree, _, _ in found}
        groups.append((f"max_depth={depth}" + (" and all above" if depth > 1 else ""), new))
    return sheet(*groups)


def partial_tree() -> str:
    parts = fragments(CAT, BIG_CAT, tl.PartialTree)
    return sheet(("Two trees", [drawn(CAT), drawn(BIG_CAT)]), (counted(parts, "partial trees that they share"), parts))


def smoothed() -> str:
    """Draw smoothed partial trees, where one word stands for two similar words."""
    both = "cat≈dog"
    tree = CAT.replace("cat", both)
    found = weighted(tree, tree, tl.PartialTree)
    parts = [drawn(tree, powers(λ=lam, μ=mu, σ=int(both in str(tree)))) for tree, lam, mu in found]
    sigma, lam, mu = 0.8, 0.5, 0.25
    vectors = {"cat": [1.0, 0.0], "dog": [sigma, math.sqrt(1 - sigma**2)]}
    value = math.fsum(lam**a * mu**b * sigma ** (both in str(tree)) for tree, a, b in found)
    assert math.isclose(value, tl.Smoothed(vectors, lam, mu)([CAT], [DOG])[0, 0])
    heading = counted(parts, "partial trees that they share, σ being how alike cat and dog are")
    return sheet(("Two trees", [drawn(CAT), drawn(DOG)]), (heading, parts))


def forest() -> str:
    trees = [("(NP (V flying) (N planes))", 0.7), ("(NP (J flying) (N planes))", 0.3)]
    expected: dict[tl.Tree, float] = {}
    for tree, chance in trees:
        for fragment in shared_fragments(tree, tree, tl.SubsetTree(1)):
            expected[fragment.tree] = expected.get(fragment.tree, 0) + chance
    order = sorted(expected, key=lambda tree: (len(str(tree).split()), -expected[tree], str(tree)))
    parts = [drawn(tree, f"{expected[tree]:.1f}") for tree in order]
    packed = tl.Forest.from_trees(trees)
    assert math.isclose(math.fsum(value**2 for value in expected.values()), tl.ForestKernel(1)([packed])[0, 0])
    heading = f"{len(parts)} subset trees, and how often a tree of the forest is expected to have each"
    return sheet(("A packed forest of two trees", [drawn(packed, scale=0.8)]), (heading, parts))


def edit_distance() -> str:
    """Draw two trees, and the trees between them: one operation per step."""
    steps = [
        ("(S (NP (D the) (N cat)) (V sat))", ""),
        ("(S (D the) (N cat) (V sat))", "delete NP"),
        ("(S (D the) (N dog) (V sat))", "rename cat -> dog"),
        ("(S (D the) (N dog) (VP (V sat)))", "insert VP"),
    ]
    trees = [tree for tree, _ in steps]
    script = tl.edit_script(trees[0], trees[-1])
    assert [str(operation) for operation in script.changes()] == [operation for _, operation in steps[1:]]
    assert all(tl.edit_script(*pair).cost == 1 for pair in pairwise(trees))
    parts = [drawn(tree, operation.replace("->", "→")) for tree, operation in steps[1:]]
    return sheet(
        ("Two trees", [drawn(trees[0]), drawn(trees[-1])]),
        (f"From the first to the second in {script.cost:g} operations", parts),
    )


def front() -> str:
    """Draw the introductory picture."""
    rome = "(SBARQ (WHADVP (WRB where)) (SQ (VBZ is) (NP (NNP Rome))))"
    mozart = "(SBARQ (WHADVP (WRB where)) (SQ (VBD was) (NP (NNP Mozart)) (VP (VBN born))))"
    return draw(shared_fragments(rome, mozart), caption=False)


SUMS = (
    """\
def total(rows, limit):
    result = 0
    for row in rows:
        if row.price > limit:
            result += row.price
    return result""",
    """\
def weight(parts, most):
    s = 0
    for part in parts:
        if part.price > most:
            s += part.price
    log(s)
    return s""",
)


def tasks() -> str:
    """Draw one example each of finding, comparing and learning. All values are computed."""
    functions, similarity = listings(*SUMS)
    script = tl.edit_script("(table (tr td td))", "(table (tr th th) (tr td td))")
    kinds = {"where is Rome": "place", "where is Oslo": "place", "who is Mozart": "person", "who is Goethe": "person"}
    model = tl.KernelSVC().fit([question(words) for words in kinds], list(kinds.values()))
    asked = tl.Tree.parse(question("where is Bach"))
    why = tl.explain(model, asked)
    examples = [
        ("Find", "similar functions", functions, f"similarity {similarity:.2f}"),
        ("Compare", "tables, pages, parses", drawn(script, scale=0.85, below=0), f"similarity {script.similarity:.2f}"),
        ("Learn", "classes, with reasons", drawn(heat_svg(asked, [node.share for node in why.heat])), f"predicted class: {model.predict([asked])[0]}"),
    ]  # fmt: skip
    high = max(part.height for _, _, part, _ in examples)
    lines, top = [], MARGIN + 40
    for (verb, thing, part, result), x in zip(examples, COLUMNS, strict=True):
        heading = f'<tspan font-size="17" font-weight="bold" fill="{BLUE}">{verb}</tspan>\u2002{thing}'
        lines.append(
            f'<text x="{x:g}" y="{MARGIN + 14:g}" font-size="14" text-anchor="start" fill="{GRAY}">{heading}</text>'
        )
        lines += part.placed(x, top)
        lines.append(text(x, top + high + 22, result, HEADING, INK, "start"))
    return svg_document(PANELS, top + high + 22 + MARGIN, "Find, compare, learn", lines)


def listings(first: str, second: str) -> tuple[Part, float]:
    """Draw two functions one above the other, mark the lines that only the second has, and return the similarity."""
    with tempfile.TemporaryDirectory() as name:
        for file, source in zip(("a.py", "b.py"), (first, second), strict=True):
            Path(name, file).write_text(source, encoding="utf-8")
        family = find_clones(name, min_lines=5).families[0]
        assert [Path(member.file).name for member in family.members] == ["a.py", "b.py"]
        assert family.medoid == 0
        new = {number for one in family.differences(1) if one.member_lines for number in one.member_lines}
    line, wide, y, lines = 15.0, 238.0, 0.0, list[str]()
    for rows, marked in ((first.split("\n"), set[int]()), (second.split("\n"), new)):
        frame = f'height="{line * len(rows) + 9:g}" rx="5" fill="#f6f8fa" stroke="#d3dae0"'
        lines.append(f'<rect x="0.5" y="{y + 0.5:.1f}" width="{wide - 1:g}" {frame}/>')
        for number, row in enumerate(rows, 1):
            base = y + 5 + line * (number - 1)
            if number in marked:
                lines.append(f'<rect x="1" y="{base:.1f}" width="{wide - 2:g}" height="{line:g}" fill="#c9ead1"/>')
            shown = escaped(row).replace(" ", "\u00a0")
            style = 'font-size="11.5" text-anchor="start" font-family="Menlo, Consolas, DejaVu Sans Mono, monospace"'
            lines.append(f'<text x="8" y="{base + 11.5:.1f}" {style} fill="{INK}">{shown}</text>')
        y += line * len(rows) + 18
    return Part("".join(lines), wide, y - 8), family.members[1].similarity


def question(words: str) -> str:
    first, verb, name = words.split()
    wh = f"(WHADVP (WRB {first}))" if first == "where" else f"(WHNP (WP {first}))"
    return f"(SBARQ {wh} (SQ (VBZ {verb}) (NP (NNP {name}))))"


def overview() -> str:
    kernels: list[tuple[str, Callable[[float, float], Kernel]]] = [
        ("complete subtrees (ST)", lambda lam, _: tl.Subtree(lam)),
        ("more subset trees (SST)", lambda lam, _: tl.SubsetTree(lam)),
        ("more partial trees (PT)", tl.PartialTree),
    ]
    groups, seen = [("A tree", [drawn(CAT)])], set[tl.Tree]()
    for name, kernel in kernels:
        trees = [tree for tree, _, _ in weighted(CAT, CAT, kernel)]
        assert seen <= set(trees)
        parts = [drawn(tree) for tree in trees if tree not in seen]
        groups.append((f"{len(parts)} {name}", parts))
        seen |= set(trees)
    return sheet(*groups)


# --- sequences and vectors ------------------------------------------------------------------------------------------

CELL, HIGH = 30.0, 26.0


def box(x: float, y: float, wide: float, said: str, on: bool = True) -> str:
    fill, line = (PALE, BLUE) if on else ("#ffffff", "#c3cad0")
    rect = f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{HIGH:g}" rx="5" fill="{fill}" stroke="{line}"/>'
    return rect + text(x + wide / 2, y + 17.5, said, FONT, INK if on else "#9aa3ad")


def row(features: list[str], chosen: set[int], x: float = 1, y: float = 1) -> str:
    return "".join(box(x + place * (CELL + 4), y, CELL, said, place in chosen) for place, said in enumerate(features))


def tagging() -> str:
    first, second = [("the", "D"), ("dog", "N")], [("a", "D"), ("dog", "N")]

    def pieces(tagged: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], ...]]:
        for begin, end in combinations(range(len(tagged) + 1), 2):
            yield from product(*[((("", tag)), (word, tag)) for word, tag in tagged[begin:end]])

    def part(piece: tuple[tuple[str, str], ...], on: bool, caption: str) -> Part:
        wide, drawn_here = 44.0, []
        for place, (word, tag) in enumerate(piece):
            x = 1 + place * (wide + 4)
            drawn_here.append(box(x, 1, wide, tag, on))
            drawn_here.append(text(x + wide / 2, HIGH + 18, word, FONT, INK if on else "#9aa3ad"))
        return Part("".join(drawn_here), len(piece) * (wide + 4) - 2, HIGH + 24, caption)

    shared = set(pieces(second))
    order = sorted(pieces(first), key=lambda piece: (len(piece), sum(bool(word) for word, _ in piece)))
    parts = [part(piece, piece in shared, powers(λ=len(piece)) if piece in shared else "0") for piece in order]
    common = sum(piece in shared for piece in order)
    assert tl.Tagging(1)(["the/D dog/N"], ["a/D dog/N"])[0, 0] == common
    return sheet(
        ("Two tagged sequences", [part(tuple(first), True, ""), part(tuple(second), True, "")]),
        (f"The {len(parts)} features of the first; {common} of them, in blue, are the second's too", parts),
        width=700,
    )


def subsequence() -> str:
    one, other, length = list("cat"), list("cart"), 2
    found = [
        (left, right, left[-1] - left[0] + 1, right[-1] - right[0] + 1)
        for left in combinations(range(len(one)), length)
        for right in combinations(range(len(other)), length)
        if [one[place] for place in left] == [other[place] for place in right]
    ]
    value = math.fsum(0.5 ** (left + right) for _, _, left, right in found)
    assert math.isclose(value, tl.Subsequence(0.5, length)([one], [other])[0, 0])
    wide = len(other) * (CELL + 4) - 2
    parts = [
        Part(
            row(one, set(left)) + row(other, set(right), y=HIGH + 9),
            wide,
            2 * HIGH + 12,
            f"λ^({spans} + {others}) = {powers(λ=spans + others)}",
        )
        for left, right, spans, others in found
    ]
    return sheet((f"{len(parts)} subsequences of two features that “cat” and “cart” share", parts), width=520)


def panels(one: list[str], other: list[str], theta: float = 0.5) -> list[Part]:
    """Draw each pair of equal features with its windows of three and the features that the windows share."""
    parts, value = [], 0.0
    places, low = list(product(range(len(one)), range(len(other)))), 2 * HIGH + 20
    for i, k in places:
        if one[i] != other[k]:
            continue
        pairs = [(m, n) for m, n in places if one[m] == other[n] and abs(m - i) <= 1 and abs(n - k) <= 1]
        value += math.prod(1 + math.exp(-(((m - i - n + k) / theta) ** 2)) for m, n in pairs)
        lines = [
            f'<path d="M{middle(m):.1f} {HIGH + 4:.1f}L{middle(n):.1f} {low - 2:.1f}" stroke="{BLUE}" stroke-width="2"/>'
            for m, n in pairs
        ]
        shown = [window(i, 4.0, len(one)), window(k, low, len(other)), *lines]
        shown += [row(one, {m for m, _ in pairs}, 5, 5), row(other, {n for _, n in pairs}, 5, low + 1)]
        said = ", ".join(f"{one[m]} with d = {(m - i) - (n - k)}" for m, n in pairs)
        parts.append(
            Part(
                "".join(shown), max(map(len, (one, other))) * (CELL + 4) + 8, low + HIGH + 8, f"around {one[i]}: {said}"
            )
        )
    assert math.isclose(value, tl.Locality(window=3, theta=theta)([one], [other])[0, 0])
    return parts


def locality() -> str:
    return sheet(
        ("a b c and a b d, windows of three: each pair of equal features sees the other", panels([*"abc"], [*"abd"])),
        ("a b c and a x b: x is in the way, and each sees only itself", panels([*"abc"], [*"axb"])),
        width=660,
    )


def middle(place: int) -> float:
    return 5 + place * (CELL + 4) + CELL / 2


def window(place: int, y: float, length: int) -> str:
    """Draw a frame around a position and its neighbors."""
    left = middle(max(place - 1, 0)) - CELL / 2 - 4
    right = middle(min(place + 1, length - 1)) + CELL / 2 + 4
    return (
        f'<rect x="{left:.1f}" y="{y - 2.5:.1f}" width="{right - left:.1f}" height="{HIGH + 7:g}" rx="7" fill="none" '
        f'stroke="{GRAY}" stroke-dasharray="4 3"/>'
    )


def vectors() -> str:
    names = ["x₁", "x₂"]
    groups = [("Linear(): two features", names)]
    squares = ["x₁²", "√2 x₁x₂", "x₂²"]
    groups.append(("Polynomial(degree=2): their products", squares))
    groups.append(("Polynomial(degree=2, coef0=1): and shorter ones", [*squares, "√2 x₁", "√2 x₂", "1"]))
    x, y = (0.3, 0.7), (-0.2, 0.5)

    def mapped(v: tuple[float, float]) -> list[float]:
        two = math.sqrt(2)
        return [v[0] ** 2, two * v[0] * v[1], v[1] ** 2, two * v[0], two * v[1], 1]

    value = math.fsum(a * b for a, b in zip(mapped(x), mapped(y), strict=True))
    assert math.isclose(value, tl.Polynomial(degree=2, coef0=1)([x], [y])[0, 0])
    wide = 76.0
    return sheet(
        *(
            (said, [Part(box(1, 1, wide, name), wide + 2, HIGH + 2) for name in all_names])
            for said, all_names in groups
        ),
        width=600,
    )


SHEETS: dict[str, Callable[[], str]] = {
    "tasks": tasks,
    "front": front,
    "overview": overview,
    "subtree": subtree,
    "subset-tree": subset_tree,
    "subset-tree-depth": subset_tree_depth,
    "partial-tree": partial_tree,
    "smoothed": smoothed,
    "forest": forest,
    "edit-distance": edit_distance,
    "tagging": tagging,
    "subsequence": subsequence,
    "locality": locality,
    "vectors": vectors,
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in SHEETS.items():
        (folder / f"{name}.svg").write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
