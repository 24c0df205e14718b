"""Everything that experiments write: results as JSON, pages from Markdown templates, verdicts, and the provenance of figures.

Pages are written from stored results only, so ``python -m experiments --pages`` can write them again after a change of wording.
A test finds pages that are older than the code behind their figures: see `stale` and `explain`.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import lzma
import re
import subprocess
import sys
import textwrap
import tokenize
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from math import isinf
from pathlib import Path
from typing import Any, Literal, get_args

import treelet
from experiments import EXPERIMENTS
from treelet.formats.files import naming, open_target, whole_file

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
CHANGES = RESULTS / "changes.json"
TEMPLATES = Path(__file__).parent / "pages"


# --- Claims and verdicts --------------------------------------------------------------------------------------------

Verdict = Literal["holds", "partly", "weaker than printed", "undecided", "contradicted"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, with our result. The rules of the verdict are in ``pages/rules.md``.

    Attributes
    ----------
    paper, says, printed : str
        The paper, its claim in our words, and the printed figure.
    ours : str
        Our figure with its confidence interval, and the corpus.
    rule : {"greater", "alike", "within"}
        Rule of the verdict.
    tests : sequence of mapping
        For differences ``difference``, ``interval`` and ``p``; for a figure ``value`` and ``interval``. ``over``
        is the kind of uncertainty, "splits" or "items", and ``items`` the same test over items.
    margin : float, optional
        Largest difference that counts as none, for the rule ``"alike"``.
    low, high : float, optional
        Bounds of a figure, for the rule ``"within"``.
    effect : float, optional
        Effect printed in the paper, in the unit of the intervals. The smallest one if the paper gives several.
    note : str
        Conditions of the comparison.
    own : bool
        Whether this is our own question rather than a claim of a paper.
    decides : bool
        Whether the result can decide. Results on generated sentences are shown but decide nothing.
    other_readings : sequence of Claim
        The same claim by other readings. If the verdicts of the readings differ, the verdict is undecided.

    Examples
    --------
    >>> test = {"difference": 2.0, "interval": [0.5, 3.5], "p": 0.01}
    >>> Claim("A & B (2001)", "kernels help", "+3", "+2.0", "greater", [test], effect=3.0).verdict
    'holds'
    >>> Claim("A & B (2001)", "kernels help", "+9", "+2.0", "greater", [test], effect=9.0).verdict
    'weaker than printed'
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
    effect: float | None = None
    note: str = ""
    own: bool = False
    decides: bool = True
    other_readings: Sequence[Claim] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict on all comparisons together."""
        if not self.tests:
            raise ValueError(f"The claim {self.says!r} has no tests: a claim needs at least one test.")
        if not self.decides:
            return "undecided"
        if self.other_readings:
            readings = {each.verdict for each in (replace(self, other_readings=()), *self.other_readings)}
            return readings.pop() if len(readings) == 1 else "undecided"
        outcomes = [self._outcome(test) for test in self.tests]
        if "contradicted" in outcomes:
            return "contradicted"
        if self.effect is not None and all(test["interval"][1] < self.effect for test in self.tests):
            return "weaker than printed"
        if "undecided" not in outcomes:
            return "holds"
        return "partly" if "holds" in outcomes else "undecided"

    def _outcome(self, test: Mapping[str, Any]) -> Verdict:
        """Return whether one comparison holds, is contradicted, or neither."""
        if self.rule == "greater":
            if test["p"] >= 0.05:
                return "undecided"
            return "holds" if test["difference"] > 0 else "contradicted"
        low, high = self.low, self.high
        if self.rule == "alike":
            if self.margin is None:
                raise ValueError(f"The claim {self.says!r} has no margin, but the rule 'alike' needs a margin.")
            low, high = -self.margin, self.margin
        lower, upper = test["interval"]
        if low <= lower and upper <= high:
            return "holds"
        return "contradicted" if upper < low or lower > high else "undecided"

    @property
    def rule_text(self) -> str:
        """The rule with its margin or bounds, and those of other readings."""
        return "; other reading: ".join(dict.fromkeys(each._rule_text for each in (self, *self.other_readings)))

    @property
    def _rule_text(self) -> str:
        if self.rule == "alike":
            return f"alike, ± {self.margin:g}"
        if self.rule == "greater":
            return "greater"
        if isinf(self.low):
            return f"within: at most {self.high:g}"
        if isinf(self.high):
            return f"within: at least {self.low:g}"
        return f"within {self.low:g} to {self.high:g}"

    @property
    def rests_on(self) -> str:
        """The kinds of uncertainty that the verdict rests on."""
        return " and ".join(dict.fromkeys(str(test["over"]) for test in self.tests if "over" in test))

    @property
    def beside(self) -> dict[str, list[Mapping[str, Any]]]:
        """The tests of the other kind of uncertainty, which do not affect the verdict, by kind."""
        kinds: dict[str, list[Mapping[str, Any]]] = {}
        for test in self.tests:
            for kind in ("splits", "items"):
                if isinstance(test.get(kind), Mapping):
                    kinds.setdefault(kind, []).append(test[kind])
        return {
            kind: tests for kind, tests in kinds.items() if not any(test.get("over") == kind for test in self.tests)
        }

    @property
    def lacks(self) -> list[str]:
        """The kinds of uncertainty that no test has, if the verdict rests on one of them."""
        kinds = {*self.beside, *(test["over"] for test in self.tests if "over" in test)}
        return [kind for kind in ("splits", "items") if kinds & {"splits", "items"} and kind not in kinds]


def count_verdicts(claims: Iterable[Claim]) -> str:
    """Return the number of claims with each verdict, as a phrase.

    >>> test = {"difference": 2.0, "interval": [0.5, 3.5], "p": 0.01}
    >>> count_verdicts([Claim("A & B (2001)", "kernels help", "+3", "+2.0", "greater", [test])])
    '1 holds, 0 partly, 0 weaker than printed, 0 undecided, 0 contradicted'
    """
    verdicts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)


# --- Figures as text ------------------------------------------------------------------------------------------------


def p_value(value: float | None) -> str:
    """Format a p-value.

    >>> p_value(0.03), p_value(0.00001), p_value(None)
    ('0.0300', '< 0.0001', '')
    """
    return "" if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def plus_minus(score: Mapping[str, float], digits: int = 2) -> str:
    """Format a mean over splits with the standard deviation.

    >>> plus_minus({"mean": 61.234, "std": 0.5})
    '61.23 ± 0.50'
    """
    return f"{score['mean']:.{digits}f} ± {score['std']:.{digits}f}"


def interval(ends: Sequence[float], digits: int = 2) -> str:
    """Format the ends of an interval.

    >>> interval([-0.5, 1.25])
    '-0.50 to +1.25'
    """
    return f"{ends[0]:+.{digits}f} to {ends[1]:+.{digits}f}"


def difference(test: Mapping[str, Any], digits: int = 2) -> str:
    """Format a difference with its interval.

    >>> difference({"difference": 1.0, "interval": [0.5, 1.5]}, 1)
    '+1.0 (+0.5 to +1.5)'
    """
    return f"{test['difference']:+.{digits}f} ({interval(test['interval'], digits)})"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """Return a Markdown table. The columns in `right` are aligned to the right."""
    lines = [
        f"| {' | '.join(header)} |",
        "|" + "|".join("---:" if k in right else "---" for k in range(len(header))) + "|",
    ]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


# --- Pages ----------------------------------------------------------------------------------------------------------


def render(template: str, results: Mapping[str, Any], **values: Any) -> str:
    """Fill in the template ``TEMPLATE.md`` (Jinja2) of ``experiments/pages`` or ``benchmarks/pages``, and wrap its paragraphs.

    The template can use all keys of the results, the given values, and these filters and functions: ``fmt`` (a format
    such as ".1f"), ``pm`` (mean ± standard deviation), ``interval``, ``difference``, ``p_value`` and ``table``.
    ``{% include "created.md" %}`` and ``{% include "verdicts.md" %}`` write the provenance and the verdicts. Write
    ``test["items"]`` for a key that is also a method of dict.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([TEMPLATES, ROOT / "benchmarks" / "pages"], encoding="utf-8"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "fmt": format,
        "pm": plus_minus,
        "interval": interval,
        "difference": difference,
        "p_value": p_value,
        "other_test": _other_test,
    }
    environment.globals |= {"table": table, "results": results}
    return page([environment.get_template(f"{template}.md").render({**results, **values})])


def page(parts: Iterable[str]) -> str:
    r"""Join the parts of a Markdown page, and wrap its paragraphs and list items.

    >>> print(page(["# Title", "| a |\n|---|", "word " * 25]), end="")
    # Title
    <BLANKLINE>
    | a |
    |---|
    <BLANKLINE>
    word word word word word word word word word word word word word word word word word word word word
    word word word word word
    """
    text = "\n\n".join(part for part in parts if part)
    blocks: list[str] = []
    for piece in re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE):  # code stays in one block
        blocks += [piece] if piece.startswith("```") else re.split(r"\n\n+", piece.strip("\n"))
    return "\n\n".join(_wrap(block) for block in blocks if block) + "\n"


def _wrap(block: str) -> str:
    """Wrap a paragraph or a list at 100 characters. Headings, tables, pictures and code stay as they are."""
    if block.startswith(("#", "|", "!", "```", "<")):
        return block
    lines: list[str] = []
    for item in re.split(r"\n(?=\s*- )", block):
        indent = item[: len(item) - len(item.lstrip())]
        rest = indent + "  " if item.lstrip().startswith("- ") else ""
        # A line must not begin with a character that starts a list, a quotation or a heading.
        glued = re.sub(r" (?=(?:[-+*>#]|\d+[.)]) )", "\0", " ".join(item.split()))
        glued = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), glued)
        lines += textwrap.wrap(
            glued, 100, initial_indent=indent, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines).replace("\0", " ")


@contextmanager
def saved_figure(path: Path, columns: int = 1, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, and save the figure as PNG at the end. Requires matplotlib."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, **options)
    try:
        yield figure, axes
        figure.tight_layout()
        with whole_file(path) as temporary:
            figure.savefig(temporary, dpi=110, format="png")
    finally:
        plt.close(figure)


# --- Result files ---------------------------------------------------------------------------------------------------


def write_results(
    folder: Path, name: str, results: dict[str, Any], page: str, items: Sequence[Any] = (), page_name: str = ""
) -> list[Path]:
    """Write ``NAME.json``, the page (``NAME.md`` by default) and the results per item. A file appears only when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{name}.json": json.dumps(results, indent=1) + "\n", f"{page_name or name}.md": page}
    if items:
        texts[f"{name}.items.json.xz"] = json.dumps(items, separators=(",", ":")) + "\n"
    for file, text in texts.items():
        with open_target(folder / file) as stream:
            stream.write(text)
    return [folder / file for file in texts]


def read_results(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Read the results of an experiment or a benchmark."""
    results: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return results


def read_items(name: str, folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Read the result of each system on each item of each split, for `evaluation.compare`."""
    with lzma.open(folder / f"{name}.items.json.xz", "rt", encoding="utf-8") as stream:
        items: list[dict[str, Any]] = json.load(stream)
    return items


def experiment_results(folder: Path = RESULTS, page: str | None = None) -> dict[str, dict[str, Any]]:
    """Read the results of each experiment that has been run, or of those on one page."""
    names = [name for name in EXPERIMENTS if page is None or page_name(name) == page]
    return {name: read_results(name, folder) for name in names if (folder / f"{name}.json").exists()}


def page_name(experiment: str) -> str:
    """Return the name of the page that shows an experiment. A page with several experiments has the name of the first."""
    return EXPERIMENTS[experiment].page or experiment


def benchmark_results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Read the results of each benchmark that has a page."""
    names = [path.stem for path in sorted(folder.glob("*.json")) if path.stem not in (*EXPERIMENTS, CHANGES.stem)]
    return {name: read_results(name, folder) for name in names}


class Checkpoint:
    """Finished parts of a run on disk, one per line with a checksum. An interrupted run resumes if the code is unchanged."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.done: dict[int, dict[str, Any]] = {}
        self.file = None if folder is None else folder / f".{name}-{code_digest()}.partial"
        if self.file is not None and self.file.exists():
            for line in self.file.read_bytes().splitlines():
                checksum, _, text = line.partition(b" ")
                if checksum == b"%08x" % zlib.crc32(text):  # otherwise the line is incomplete or damaged
                    number, result = json.loads(text)
                    self.done[number] = result

    def add(self, number: int, result: dict[str, Any]) -> None:
        self.done[number] = result
        if self.file is not None:
            text = json.dumps([number, result]).encode()
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with naming(self.file, self.file), open(self.file, "ab") as stream:
                stream.write(b"\n%08x %s\n" % (zlib.crc32(text), text))  # the previous line may be incomplete

    def remove(self) -> None:
        if self.file is not None:
            self.file.unlink(missing_ok=True)


# --- Provenance: command, commit, and fingerprints of the source files --------------------------------------------------

GONE = "gone"
MOVED = {
    f"experiments/{old}.py": f"experiments/{new}.py"
    for new, names in {
        "baselines": "flat_features plain",
        "collins_duffy": "collins_duffy_data collins_duffy_fits collins_duffy_model collins_duffy_plan collins_duffy_tests",
        "data": "forest_treebanks",
        "evaluation": "climbing differences documents",
        "forest_relations": "forest_relations_data",
        "forest_roles": "forest_coverage forest_examples forest_parsers",
        "locality": "locality_curves locality_trials",
        "locality_data": "locality_goodness",
        "locality_kernels": "locality_grid",
        "moschitti": "moschitti_choice moschitti_data",
        "pair_kernels": "recursions",
        "questions": "questions_systems vectors",
    }.items()
    for old in names.split()
}
"""Files that were renamed since a page was created: their successors are checked instead. Remove an entry when no page has it."""
_WITHOUT_FIGURES = re.compile(r"treelet\.(cli|drawing|explorer|report|shown)\b|experiments(\.(__main__|writing))?$")
_PAGE_SECTION = re.compile(r"^# --- Page\b.*", re.DOTALL | re.MULTILINE)
_CPP_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)


def provenance(command: str) -> dict[str, Any]:
    """Return the provenance of a result: command, commit (with + if files differ from it), date and source files."""

    def git(*arguments: str) -> str:
        try:
            run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        return run.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    commit += "+" if git("status", "--porcelain", "--", "src", "native", "experiments") else ""
    made = {"command": command, "commit": commit, "date": date.today().isoformat(), "version": treelet.__version__}
    return made | {"sources": imported_sources()}


def created(made_by: Mapping[str, Any]) -> str:
    """Return a sentence with the command, the commit and the date of a result."""
    return f"Created with `{made_by['command']}` at commit `{made_by['commit']}` on {made_by['date']}."


def imported_sources() -> dict[str, str]:
    """Return the fingerprints of all imported files of treelet and of the experiments that can alter a figure."""
    names = [name for name in sys.modules if name.split(".")[0] in ("treelet", "experiments")]
    names = [name for name in names if not _WITHOUT_FIGURES.match(name)]
    files = [Path(file) for name in names if (file := str(getattr(sys.modules[name], "__file__", ""))).endswith(".py")]
    files += [path.with_suffix(".cpp") for path in files if path.with_suffix(".cpp").exists()]
    inside = {path.resolve().relative_to(ROOT).as_posix() for path in files if path.resolve().is_relative_to(ROOT)}
    return {path: fingerprint(ROOT / path) for path in sorted({*inside, *_native()})}


def code_digest() -> str:
    """Return one fingerprint of all code that can alter a figure, imported or not."""
    files = [ROOT / path for path in _native()]
    for top, package in ((ROOT / "src", "treelet"), (ROOT, "experiments")):
        modules = (top / package).rglob("*.py")
        files += [p for p in modules if not _WITHOUT_FIGURES.match(".".join(p.relative_to(top).with_suffix("").parts))]
    return hashlib.sha256("".join(fingerprint(path) for path in sorted(files)).encode()).hexdigest()[:12]


def _native() -> list[str]:
    return [f"native/{path.name}" for path in (ROOT / "native").iterdir() if path.suffix in (".hpp", ".cpp", ".h")]


def fingerprint(path: Path) -> str:
    """Return a fingerprint of the code of a file, without comments, docstrings and blank lines.

    The part of an experiment after the line ``# --- Page`` is ignored, too: it writes the page from stored results.
    """
    if not path.exists():
        return GONE
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        bare = _without_comments(_PAGE_SECTION.sub("", text))
    else:
        bare = _CPP_COMMENT.sub(lambda match: match[1] or " ", text)
    lines = [line.rstrip() for line in bare.splitlines()]
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()[:12]


@lru_cache(512)
def _without_comments(text: str) -> str:
    r"""Return Python code without comments and docstrings.

    >>> _without_comments('def f():  # adds\n    "Add."\n    return "#"\n').split()
    ['def', 'f():', 'return', '"#"']
    """
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):  # fmt: skip
                # Blank the lines of the docstring. Code before and after it on its lines stays.
                start, end = first.lineno - 1, (first.end_lineno or 0) - 1
                head = lines[start].encode()[: first.col_offset].decode()
                tail = lines[end].encode()[first.end_col_offset or 0 :].decode()
                lines[start : end + 1] = [head + tail, *[""] * (end - start)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.string in lines[token.start[0] - 1]:
            line = lines[token.start[0] - 1]
            lines[token.start[0] - 1] = line[: line.rindex(token.string)]
    return "\n".join(lines)


def explained_changes() -> list[dict[str, Any]]:
    """Return the changes that cannot alter a figure: date, reason, and the fingerprints of each file before and after."""
    return json.loads(CHANGES.read_text(encoding="utf-8")) if CHANGES.exists() else []


def changed_sources(
    sources: Mapping[str, str], changes: Iterable[Mapping[str, Any]] = ()
) -> dict[str, tuple[str, str]]:
    """Return the files that changed without an explanation since a page was created, with the fingerprints then and now."""
    steps: dict[tuple[str, str], set[str]] = {}
    for change in changes:
        for path, (before, after) in change["files"].items():
            steps.setdefault((path, before), set()).add(after)
    changed = {}
    for path, before in sources.items():
        # Follow the explained changes from the fingerprint of the page.
        now, reached, open_ends = fingerprint(ROOT / MOVED.get(path, path)), {before}, [before]
        while open_ends:
            for after in steps.get((path, open_ends.pop()), set()) - reached:
                reached.add(after)
                open_ends.append(after)
        if now not in reached:
            changed[path] = (before, now)
    return changed


def changes_since(pages: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the explained changes since any of these pages was created, each with the names of the pages as ``pages``.

    Changes before a page was created do not concern it. They are not needed any longer once all pages are newer.
    """
    changes = explained_changes()
    steps: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, change in enumerate(changes):
        for path, (before, after) in change["files"].items():
            steps.setdefault((path, before), []).append((number, after))
    files: dict[int, set[str]] = {}
    names: dict[int, dict[str, None]] = {}
    for name, results in pages.items():
        open_ends = list(results["made_by"]["sources"].items())
        reached = set(open_ends)
        while open_ends:
            path, before = open_ends.pop()
            for number, after in steps.get((path, before), []):
                files.setdefault(number, set()).add(path)
                names.setdefault(number, {})[name] = None
                if (path, after) not in reached:
                    reached.add((path, after))
                    open_ends.append((path, after))
    return [
        change | {"files": {path: ends for path, ends in change["files"].items() if path in files[number]}, "pages": list(names[number])}
        for number, change in enumerate(changes)
        if number in files
    ]  # fmt: skip


def stale(pages: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, tuple[str, str]]]:
    """Return, for each page that is older than its code, the files that changed without an explanation."""
    changes = explained_changes()
    changed = {name: changed_sources(results["made_by"]["sources"], changes) for name, results in pages.items()}
    return {name: files for name, files in changed.items() if files}


def explain(pages: Mapping[str, Mapping[str, Any]], why: str) -> list[str]:
    """Record why the changes since the pages were created cannot alter a figure. Return the changed files.

    Changes that no longer concern any page are removed.
    """
    changes = [{key: change[key] for key in ("date", "why", "files")} for change in changes_since(pages)]
    new: dict[tuple[str, str], str] = {
        (path, before): now for files in stale(pages).values() for path, (before, now) in files.items()
    }
    for origin in sorted({before for _, before in new}):
        files = {path: [before, now] for (path, before), now in sorted(new.items()) if before == origin}
        changes.append({"date": date.today().isoformat(), "why": why, "files": files})
    merged: list[dict[str, Any]] = []  # one entry per day and reason, unless a file would be in it twice
    for change in changes:
        for entry in merged:
            if (entry["date"], entry["why"]) == (change["date"], change["why"]) and not entry["files"].keys() & change["files"].keys():  # fmt: skip
                entry["files"] = dict(sorted((entry["files"] | change["files"]).items()))
                break
        else:
            merged.append(dict(change))
    with open_target(CHANGES) as stream:
        stream.write(json.dumps(merged, indent=1) + "\n")
    return sorted({path for path, _ in new})


# --- The index of claims, and all pages ---------------------------------------------------------------------------------


def write_pages(folder: Path = RESULTS) -> list[Path]:
    """Write all pages, pictures and the index again, from the stored results."""
    written = []

    def write(name: str, text: str) -> None:
        written.append(folder / f"{name}.md")
        with open_target(written[-1]) as stream:
            stream.write(text)

    experiments = experiment_results(folder)
    for page in dict.fromkeys(map(page_name, experiments)):
        write(page, experiment_module(page).page(*experiment_results(folder, page).values()))
    if find_spec("matplotlib"):
        for name, results in experiments.items():
            written.append(folder / f"{name}.png")
            experiment_module(name).picture(results, written[-1])
    write("index", index(experiments, folder))
    write(CHANGES.stem, code_changes(experiments | benchmark_results(folder)))
    return written


def experiment_module(name: str) -> Any:
    """Return the module of an experiment, with the functions ``run``, ``page``, ``picture`` and ``claims``.

    ``page`` takes the results of all experiments that are on the page.
    """
    return import_module(f"experiments.{EXPERIMENTS[name].module}")


def joined_claims(experiments: Mapping[str, dict[str, Any]]) -> list[tuple[Claim, dict[str, Claim]]]:
    """Return each claim with the tests of all experiments together, and the claim of each experiment by its name."""
    claims: dict[tuple[Any, ...], dict[str, Claim]] = {}
    for name, results in experiments.items():
        for claim in experiment_module(name).claims(results):
            key = (claim.paper, claim.says, claim.rule, claim.margin, claim.low, claim.high)
            claims.setdefault(key, {})[name] = claim
    joined = []
    for by_name in claims.values():
        deciding = [claim for claim in by_name.values() if claim.decides]
        tests = [test for claim in deciding or by_name.values() for test in claim.tests]
        joined.append((replace(next(iter(by_name.values())), tests=tests, decides=bool(deciding)), by_name))
    return joined


def index(experiments: Mapping[str, dict[str, Any]], folder: Path = RESULTS) -> str:
    """Return the index page: one table row per claim, and the results of all experiments that test the claim."""
    sections: dict[str, list[dict[str, Any]]] = {}
    joined = []
    for claim, by_name in joined_claims(experiments):
        joined.append(claim)
        notes = "; ".join(dict.fromkeys(each.note for each in by_name.values() if each.note))
        entry = {"number": len(joined), "claim": claim, "notes": notes, "by_name": by_name}
        sections.setdefault("Our own question: " * claim.own + claim.paper, []).append(entry)
    lacking: dict[str, list[str]] = {}
    for number, claim in enumerate(joined, 1):
        for kind in claim.lacks:
            lacking.setdefault(kind, []).append(str(number))
    return render(
        "index",
        {},
        theirs=[claim for claim in joined if not claim.own],
        ours=[claim for claim in joined if claim.own],
        sections=sections,
        lacking=lacking,
        experiments=experiments,
        benchmarks=benchmark_results(folder),
        benchmark_pages={path.stem for path in folder.glob("*.md")},
        changes=CHANGES.stem,
        page_name=page_name,
        count_verdicts=count_verdicts,
    )


def _other_test(test: Mapping[str, Any]) -> str:
    """Format a test of the other kind of uncertainty, with three significant digits."""
    digits = 2 if max(map(abs, test["interval"])) >= 1 else 3
    p = f", p {p_value(test['p'])}" if "p" in test else ""
    return f"{test.get('difference', test.get('value')):+.{digits}f} ({interval(test['interval'], digits)}{p})"


def code_changes(pages: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page on changes of the code since the pages were created."""
    reasons: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for change in changes_since(pages):
        lists = reasons.setdefault((change["date"], change["why"].rstrip(".")), {"pages": {}, "files": {}})
        lists["pages"] |= dict.fromkeys(change["pages"])
        lists["files"] |= dict.fromkeys(f"`{Path(path).name}`" for path in change["files"])
    return render("changes", {}, reasons=reasons, few=_few)


def _few(names: Iterable[str], most: int = 12) -> str:
    """List the first names, and count the others.

    >>> _few("abcd", 3)
    'a, b, c and 1 more'
    """
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
