"""Pages of similar functions: what they show, what they leave out, and hostile source."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import fail, succeed
from treelet.report import clones_page as module
from treelet.report.clones_page import _clones_page, _compared, _SourceExcerpt, write

EVIL = "</script><script>window.hurt=1</script><img src=x onerror=hurt=1>&\"'-->"
FIRST = "def area(width, height):\n    size = width * height\n    log(size)\n    return size\n"
SECOND = "def volume(side, depth):\n    # like area\n    cube = side * depth\n    log(cube)\n    check(cube)\n    return round(cube)\n"


def difference(kind: str, medoid: tuple[int, int] | None, member: tuple[int, int] | None) -> Any:
    return SimpleNamespace(kind=kind, medoid_lines=medoid, member_lines=member)


def member(file: Path | str, line: int, end_line: int, name: str, similarity: float = 0.9) -> Any:
    statements = {"common_statements": "6 of 7 statements are the same"}
    return SimpleNamespace(file=str(file), line=line, end_line=end_line, name=name, similarity=similarity, **statements)


def family(members: list[Any], saved: int, differences: Sequence[Any] = (), medoid: int = 0) -> Any:
    return SimpleNamespace(
        members=members,
        medoid=medoid,
        similarity_range="0.81 to 0.90",
        saved_lines=saved,
        differences=lambda index: list(differences),
    )


def report(*families: Any, skipped: int = 0, **options: Any) -> Any:
    counts = {"files": 2, "functions": 7, "lines": 1234, "skipped_files": skipped, "skipped_functions": skipped // 2}
    return SimpleNamespace(families=list(families), **counts, seconds=0.25, options=options, revision=None)


@pytest.fixture
def pair(tmp_path: Path) -> Any:
    """A family of two functions in two files."""
    (tmp_path / "a.py").write_text(FIRST, encoding="utf-8")
    (tmp_path / "b.py").write_text("import math\n\n" + SECOND, encoding="utf-8")
    return family(
        [member(tmp_path / "b.py", 3, 8, "volume", 0.85), member(tmp_path / "a.py", 1, 4, "area", 1.0)],
        saved=6,
        medoid=1,
        differences=[difference("inserted", None, (7, 7)), difference("changed", (4, 4), (8, 8))],
    )


def data_of(page: str) -> list[Any]:
    return [
        json.loads(block) for block in re.findall(r'<script type="application/json" id="[^"]*">(.*?)</script>', page)
    ]


def test_the_summary_and_the_settings(pair: Any, tmp_path: Path) -> None:
    page = _clones_page(report(pair, skipped=2, similarity=0.8, min_lines=10, identifiers=EVIL), command=EVIL)
    assert "7 functions with 1,234 lines of code in 2 files, compared in 0.25 seconds" in page
    assert "Skipped because of errors: 2 files and 1 function." in page
    assert (
        "<b>6 lines</b> of code could be saved if each family became one function. 1 family contains 2 of 7 functions."
        in page
    )
    assert "2 functions in 2 files, similarity 0.81 to 0.90" in page
    assert "<td>min_lines</td><td>10</td>" in page
    assert f"relative to <code>{tmp_path}{os.sep}</code>" in page
    assert page.index("<code>a.py:1 area</code>") < page.index("<code>b.py:3 volume</code>")  # the medoid comes first
    assert page.count("6 of 7 statements are the same") == 1  # not for the medoid itself
    assert "leaves out" not in page
    assert EVIL not in page


def test_lines_are_aligned_and_marked(pair: Any) -> None:
    (data,) = data_of(_clones_page(report(pair)))
    assert data["sources"] == [
        {"first": 1, "lines": FIRST.split("\n")[:-1], "more": 0},
        {"first": 3, "lines": SECOND.split("\n")[:-1], "more": 0},
    ]
    assert data["pairs"] == [
        None,
        {
            "blocks": [[0, 1, 0, 1], [1, 1, 1, 2], [1, 3, 2, 4], [3, 3, 4, 5], [3, 4, 5, 6]],
            "left": "...~",
            "right": "....+~",
        },
    ]


def test_every_line_is_in_one_block() -> None:
    """Whatever the differences are: overlapping, in any order, or outside of the lines."""
    medoid = _SourceExcerpt(10, ["a = b", "", "if a:", "    f(a)", "    f(a)", "return a"], 0)
    other = _SourceExcerpt(3, ["c = d", "if c:", "    # why", "    f(c)", "", "return g(c)"], 0)
    differences = [
        difference("changed", (15, 99), (8, 80)),
        difference("deleted", (14, 14), (6, 6)),
        difference("inserted", (9, 12), (8, 8)),
        difference("changed", (1, 4), (1, 2)),
    ]
    pair = _compared(medoid, other, differences)
    assert [line for a, b, _, _ in pair["blocks"] for line in range(a, b)] == list(range(6))
    assert [line for _, _, c, d in pair["blocks"] for line in range(c, d)] == list(range(6))
    assert (pair["left"], pair["right"]) == (". ..-~", "...." + " ~")


def test_hostile_source_is_escaped(tmp_path: Path) -> None:
    nul, turn = "\0", "\u202e"
    text = f"def f{EVIL}():\n\tx = '{nul}{turn}\x1b[2J'\x0c\r\n    # {'long ' * 1000}\n"
    for name in (f"a{turn}.js", f"{EVIL.replace('/', '')}.js"):
        (tmp_path / name).write_bytes(text.encode())
    page = _clones_page(
        report(family([member(path, 1, 3, f"f{EVIL}{turn}{nul}") for path in tmp_path.iterdir()], 3), **{EVIL: EVIL})
    )
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", page)
    assert page.count("<script>") == page.count("<img") == 0
    assert page.count("</script>") == 2  # the data and the script of the page
    (data,) = data_of(page)
    first, second, third = data["sources"][1]["lines"]
    assert first == f"def f{EVIL}():"
    assert second == "\tx = '\\x00\\u202e\\x1b[2J'\\x0c"
    assert (len(third), third[-1]) == (1000, "…")


def test_files_that_vanished_or_changed(tmp_path: Path) -> None:
    kept, short, moved = (tmp_path / name for name in ("kept.py", "short.py", "moved.py"))
    kept.write_text(FIRST, encoding="utf-8")
    short.write_text("x = 1\n", encoding="utf-8")
    moved.write_text(f"# a new line\n{'#' * 9}\n" * 5 + SECOND, encoding="utf-8")
    places = [
        member(kept, 1, 4, "area"),
        member(tmp_path / "gone.py", 1, 4, "gone"),
        member(short, 1, 4, "area"),
        member(moved, 1, 6, "volume"),
        member(kept, 1, 1, "<lambda>"),
    ]
    page = _clones_page(report(family(places, 20)))
    assert "3 files cannot be read any more, or have changed since the search." in page
    assert page.count('class="problem"') == 3
    assert "The file does not exist" in page
    assert "it has only 2 lines" in page
    assert "do not contain the name of the function" in page
    (data,) = data_of(page)
    assert [source is not None for source in data["sources"]] == [True, False, True, True, True]
    gone = _clones_page(report(family(places[1:], 20)))
    assert data_of(gone) == []  # nothing can be compared without the medoid
    assert "<button" not in gone


def test_large_reports_are_shortened(pair: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, limit in {"_FAMILIES": 3, "_MEMBERS": 2, "_LINES": 5, "_SOURCE": 150}.items():
        monkeypatch.setattr(module, name, limit)
    crowd = family([pair.members[k] for k in (0, 1, 0, 0)], 99, pair.differences(0), medoid=1)
    page = _clones_page(report(*[pair] * 4, crowd))
    assert (
        "To stay small, this page leaves out 2 families with 12 lines that could be saved; 2 members of families with "
        "more than 2 members; the source of 4 members. The JSON output is complete." in page
    )
    assert page.index("saves 99 lines") < page.index("saves 6 lines")
    assert "… and 2 more members" in page
    (data,) = data_of(page)
    assert [(len(source["lines"]), source["more"]) for source in data["sources"]] == [(4, 0), (5, 1)]
    assert len(data["pairs"][1]["right"]) == 5


def test_moved_lines_are_marked_on_both_sides() -> None:
    medoid = _SourceExcerpt(1, ["f(a)", "g(a)", "h(a)", "k(a, b)"], 0)
    other = _SourceExcerpt(5, ["g(a)", "h(a)", "f(a)", "k(b, a)"], 0)
    pair = _compared(medoid, other, [difference("variables", (4, 4), (8, 8)), difference("moved", (1, 1), (7, 7))])
    assert (pair["left"], pair["right"]) == ("m  v", "  mv")
    assert pair["blocks"] == [(0, 1, 0, 0), (1, 3, 0, 2), (3, 3, 2, 3), (3, 4, 3, 4)]


def test_no_family() -> None:
    page = _clones_page(report())
    assert "No two functions are similar enough" in page
    assert "<script" not in page


def test_a_named_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("# coding: ascii\ndef f():\n    return 'é'\n".encode("utf-16"))
    page = _clones_page(report(family([member(tmp_path / "a.py", 2, 3, "f")] * 2, 3)), encoding="utf-16")
    assert data_of(page)[0]["sources"][0]["lines"] == ["def f():", "    return 'é'"]


def test_the_sign_of_one_side_holds_for_both() -> None:
    medoid, other = _SourceExcerpt(1, ["f(0)", "", "g(1)"], 0), _SourceExcerpt(1, ["f(-0)", "# why", "g(2)"], 0)
    pair = _compared(medoid, other, [difference("inserted", None, (1, 1))])
    assert (pair["left"], pair["right"]) == (" ..", "+..")


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.py", "# coding: latin-1\ndef f():\r    return 'é'\r".encode("latin-1"), "    return 'é'"),
        ("b.py", b"# coding: unheard-of\ndef f():\n    return 1\n", "    return 1"),
        ("c.c", b"// \r a comment\nint f()\r\n    { return 1; }\n", "    { return 1; }"),
        ("d.js", b"\n{\n    \xff() // f", "    \N{REPLACEMENT CHARACTER}() // f"),
    ],
)
def test_lines_are_those_of_the_parser(tmp_path: Path, name: str, content: bytes, line: str) -> None:
    (tmp_path / name).write_bytes(content)
    (data,) = data_of(_clones_page(report(family([member(tmp_path / name, 2, 3, "f")] * 2, 3))))
    assert data["sources"][1]["lines"][1] == line


def test_the_file_is_written_whole(pair: Any, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    write(report(pair), target, command="treelet clones")
    assert target.read_text(encoding="utf-8") == _clones_page(report(pair), command="treelet clones")
    pair.members.append(None)  # an error while the page is created leaves the old file
    with pytest.raises(AttributeError):
        write(report(pair), target)
    assert "volume" in target.read_text(encoding="utf-8")


# --- treelet clones --html ------------------------------------------------------------------------------------------


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    steps = "".join(f"    step_{number}(a, {number})\n" for number in range(12))
    (tmp_path / "one.py").write_text(f"def one(a):\n{steps}    return a\n", encoding="utf-8")
    (tmp_path / "two.py").write_text(
        f"def two(b):\n{steps.replace('(a', '(b')}    log(b)\n    return b\n", encoding="utf-8"
    )
    target = tmp_path / "page.html"
    printed = succeed("clones", tmp_path, "--html", target).stdout
    assert "1 family of similar functions" in printed
    (data,) = data_of(target.read_text(encoding="utf-8"))
    (pair,) = filter(None, data["pairs"])
    longer = max(data["sources"], key=lambda source: len(source["lines"]))
    signs = pair["right"] if longer == data["sources"][1] else pair["left"]
    assert [line for line, sign in zip(longer["lines"], signs, strict=True) if sign in "+-~"] == ["    log(b)"]


def test_the_command_never_replaces_a_source_file(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(FIRST, encoding="utf-8")
    assert "must be a file name that ends in .html" in fail("clones", tmp_path, "--html", tmp_path / "one.py")
    assert (tmp_path / "one.py").read_text(encoding="utf-8") == FIRST
