"""The page and the pictures of `benchmarks.clones`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.clone_packages import JSCPD, LARGE, PYSCN
from benchmarks.clone_tools import LENIENT_PYSCN, TOOLS
from benchmarks.clone_truth import COUNTS, SHARES
from experiments import writing

Found = dict[str, Any]
TITLES = {"python": "Python", "javascript": "JavaScript", "c": "C"}
COLORS = {"treelet": "tab:blue", "pyscn": "tab:orange", "jscpd": "tab:green"}


def share_of(rows: list[Found]) -> str:
    found, of = sum(row["found"] for row in rows), sum(row["of"] for row in rows)
    return f"{100 * found / of:.0f} %" if of else ""


def row_of(results: Found, language: str, tool: str) -> Found | None:
    rows = [row for row in results["truth"]["rows"] if row["language"] == language and row["tool"] == tool]
    return rows[0] if rows else None


def recall_tables(results: Found) -> list[str]:
    parts = []
    for language, title in TITLES.items():
        listed = [(tool, found) for tool in TOOLS if (found := row_of(results, language, tool))]
        parts += [
            f"### {title}",
            writing.table(
                ("tool", *COUNTS, *(f"{100 * share:.0f} %" for share in SHARES), "all"),
                [
                    (
                        tool,
                        *(share_of([r for r in found["recall"] if r["kind"] == kind]) for kind in COUNTS),
                        *(share_of([r for r in found["recall"] if r["share"] == share]) for share in SHARES),
                        share_of(found["recall"]),
                    )
                    for tool, found in listed
                ],
                right=range(1, len(COUNTS) + len(SHARES) + 2),
            ),
        ]
    return parts


def read_pairs(labels: Found, language: str | None, tool: str) -> tuple[int, int]:
    """Return how many pairs of a sample were real, and the size of the sample."""
    read = [pair for pair in labels["pairs"] if pair["tool"] == tool and language in (None, pair["language"])]
    return sum(pair["real"] for pair in read), len(read)


def precision_table(results: Found, labels: Found) -> str:
    rows = []
    for tool in TOOLS:
        for language, title in TITLES.items():
            found = row_of(results, language, tool)
            if found:
                real, of = read_pairs(labels, language, tool)
                rows.append(
                    (tool, title, f"{found['natural']:,}", f"{found['foreign']:,}", f"{real} of {of}" if of else "")
                )
    return writing.table(
        ("tool", "language", "pairs", "from different packages", "real in the sample"), rows, right=(2, 3, 4)
    )


def range_of(values: list[float], digits: int = 1) -> str:
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low}–{high}"


def scale_table(results: Found) -> str:
    rows = []
    for size in results["scale"]["lines"]:
        for tool in COLORS:
            runs = [row for row in results["scale"]["rows"] if row["functions"] == int(size) and row["tool"] == tool]
            if not runs:
                continue
            ended = all(row["finished"] for row in runs)
            rows.append((
                f"{int(size):,}", tool,
                range_of([row["seconds"] for row in runs]) if ended else f"did not finish in {results['scale']['limit'] // 60} minutes",
                range_of([row["cpu_seconds"] for row in runs]) if ended else f"more than {runs[0]['cpu_seconds']:,.0f}",
                range_of([row["peak_bytes"] / 2**20 for row in runs], 0), range_of([row["load"] for row in runs]),
                f"{runs[0]['pairs']:,}" if ended else "",
            ))  # fmt: skip
    return writing.table(("functions", "tool", "seconds", "CPU seconds", "peak memory, MiB", "load before", "pairs"), rows, right=(0, 2, 3, 4, 5, 6))  # fmt: skip


def families_parts(results: Found, labels: Found) -> list[str]:
    parts = []
    for name, found in results["families"].items():
        read = labels["families"][name]
        listed = []
        for family in found["largest"]:
            note = read.get(family["medoid"], {"real": None, "why": "not read"})
            verdict = "" if note["real"] is None else "real" if note["real"] else "not real"
            low, high = family["similarity"]
            listed.append((f"`{family['medoid']}`", family["members"], f"{low:.2f}–{high:.2f}", family["saved_lines"], verdict, note["why"]))  # fmt: skip
        real = sum(read.get(family["medoid"], {}).get("real") is True for family in found["largest"])
        parts += [
            f"### {name if name == 'networkx' else name.capitalize()}",
            f"{found['functions']:,} functions are compared. There are {found['families']:,} families with {found['members']:,} members. "
            f"{found['short_families']:,} families have a medoid of fewer than ten lines. With `--min-nodes {found['longer']['min_nodes']}`, {found['longer']['families']:,} families are left, with {found['longer']['saved_lines']:,} instead of {found['saved_lines']:,} lines to save. "
            f"**{real} of the {len(listed)} largest families are real.**",
            writing.table(
                ("medoid", "members", "similarity", "lines to save", "verdict", "reason"), listed, right=(1, 2, 3)
            ),
        ]
    return parts


def names_table(results: Found) -> str:
    rows = []
    for row in results["names"]:
        if row["names"] == "numbered":
            other = next(each for each in results["names"] if (each["language"], each["threshold"], each["names"]) == (row["language"], row["threshold"], "blind"))  # fmt: skip
            rows.append((TITLES[row["language"]], row["threshold"], *(f"{100 * each['recall']:.1f} %" for each in (row, other)), *(f"{each['natural']:,}" for each in (row, other)), *(each["foreign"] for each in (row, other))))  # fmt: skip
    return writing.table(("language", "similarity", "recall, numbered", "blind", "natural pairs, numbered", "blind", "different packages, numbered", "blind"), rows, right=range(1, 8))  # fmt: skip


def headline(results: Found, labels: Found) -> str:
    def overall(tool: str) -> str:
        return share_of([r for row in results["truth"]["rows"] if row["tool"] == tool for r in row["recall"]])

    texts = [f"treelet finds {overall('treelet')} of the changed copies at its defaults and {overall('treelet, 0.7')} at a similarity of 0.7"]  # fmt: skip
    texts.append(f"jscpd finds {overall('jscpd')} and {overall('jscpd, lenient')} with lenient settings")
    texts.append(f"pyscn finds {overall('pyscn')} and {overall('pyscn, lenient')} of the Python ones")
    real = {tool: read_pairs(labels, None, tool) for tool in TOOLS}
    read = ", ".join(f"{tool}: {hit} of {of}" for tool, (hit, of) in real.items() if of)
    return f"**{'; '.join(texts)}. Of the other pairs that the tools report, these were real when read: {read}.**"


def page(results: Found, labels: Found) -> str:
    """Return the results as a Markdown page."""
    last = results["made_by"]["commit"]
    others = [f"{part} at `{commit}`" for part, commit in results["commits"].items() if commit != last]
    earlier = f" Parts that were measured earlier: {', '.join(others)}." if others else ""
    truth, one = results["truth"]["languages"], results["one_file"]
    packages = "\n".join(f"- {TITLES[language]}: {', '.join(found['packages'])} ({found['files']:,} files, {found['copies']} copies)." for language, found in truth.items())  # fmt: skip
    clones, near, create, found, search = (
        [row for row in one["rows"] if row["command"] == name]
        for name in ("clones", "nearest", "create", "index clones", "index search")
    )

    def cost(rows: list[Found]) -> str:
        return f"{range_of([row['seconds'] for row in rows])} s of wall-clock time, {range_of([row['cpu_seconds'] for row in rows])} s of CPU time and {range_of([row['peak_bytes'] / 2**20 for row in rows], 0)} MiB"  # fmt: skip

    return writing.page(
        [
            "# Clone detection beside pyscn and jscpd",
            f"{writing.created(results['made_by'])}{earlier} The machine has {results['cores']} cores, on which other processes were running.",
            headline(results, labels),
            "## Ground truth",
            "Functions of pinned packages are copied with known changes. The copies are added to the packages, one file per copy, and all other functions of the packages are distractors. "
            "Test suites and database migrations are left out, because pyscn ignores them by default. The packages are:",
            packages,
            "The originals have 10 to 60 lines, at least 10 of them with code, and at least 8 statements. No original shares half of its runs of four tokens (Jaccard index, names and long literals ignored) with another candidate. "
            f"Each original is copied once, with one of these changes (seed 0; {COUNTS['layout']} copies per language for layout and for names, otherwise {COUNTS['inserted']} to {COUNTS['mixed, renamed']} per share of changed statements):",
            "- *layout*: other indentation, blank lines, comments, and braces on their own lines (type 1).\n"
            "- *renamed*: other names of parameters, local variables and the function itself, used consistently (type 2).\n"
            "- *inserted*, *deleted*, *replaced*, *moved*: one operation on 10, 20, 30 or 40 % of the statements (type 3). Inserted statements are real statements of other functions. A statement is replaced by one of the same kind. A moved statement goes to another place in the same block, not next to its old one.\n"
            "- *mixed*: a random operation for each statement. *mixed, renamed*: names are changed as well.",
            "Every copy parses without errors. Statements with a block inside them are not deleted, replaced or moved.",
            "## Recall",
            "The share of copies that a tool reports together with their originals: in one family, in one clone group, or as a pair. "
            "At least half of the lines of both functions must be reported. For jscpd, which reports parts of files, all parts that it reports for a copy are added up. "
            "The columns with percentages contain all copies with this share of changed statements.",
            *recall_tables(results),
            "![recall by share of changed statements](clones.png)",
            labels["notes"]["recall"],
            "## Precision",
            "Pairs that the tools report in the packages, apart from the copies: pairs of a medoid and a member for treelet, clone pairs for pyscn, and duplicates for jscpd. "
            "Pairs of functions from different packages are rarely copies. "
            f"Random samples of the pairs were read. {labels['notes']['rule']}",
            precision_table(results, labels),
            labels["notes"]["precision"],
            "## Numbered or blind names",
            "With `identifiers=\"anonymous\"`, the names that a function binds become `$0`, `$1`, … in the order of first appearance. "
            "A new variable at the beginning therefore changes all later numbers. The alternative is one label for all bound names (*blind*). "
            "The table compares both on all pairs of functions of the ground truth. *Recall* is the share of copies whose similarity with the original reaches the threshold.",
            names_table(results),
            labels["notes"]["names"],
            "## Time and memory",
            f"The files are taken at random from Python's standard library with its tests and from {', '.join(package.title for package in LARGE)}. *Functions* are those that treelet compares (at least 10 lines of code or 60 nodes). The other tools read the same files, but count differently. "
            f"The tools run one after the other, with their usual settings, treelet with two threads. 1,000 functions were measured {len({row['repeat'] for row in results['scale']['rows']})} times; the table has the range. "
            "Memory is the largest sum of the resident memory of all processes of a tool. "
            + " ".join(f"{int(size):,} functions are in {results['scale']['files'][size]:,} files with {lines:,} lines." for size, lines in results["scale"]["lines"].items()),
            scale_table(results),
            "![time and memory by number of functions](clones-scale.png)",
            labels["notes"]["scale"],
            "## One file against 100,000 functions",
            f"The file is `{one['file']}` with {one['lines']:,} lines. `treelet clones one.py --against FOLDER -j 2` takes {cost(clones)}. "
            f"`treelet nearest FOLDER --query one.py:LINE -j 2`, which finds the ten functions nearest to one, takes {cost(near)}. Both read the whole folder each time; the load was {range_of([row['load'] for row in one['rows']])}. {labels['notes']['one_file']}",
            f"An [index](../indexes.md) is faster, because the files are read only once. `treelet index create functions.index FOLDER --code --measure edit` takes {cost(create)}. "
            f"Then `treelet clones one.py --against functions.index -j 2` takes {cost(found)}, and `treelet index search functions.index one.py:LINE` takes {cost(search)}.",
            "## The ten largest families, read",
            f"The families of `treelet clones` with default options that save most lines, without test suites. {labels['notes']['families']}",
            *families_parts(results, labels),
            labels["notes"]["short"],
            "## Commands",
            f"pyscn {PYSCN.version} and jscpd {JSCPD.version} run with their usual settings and with lenient ones:",
            writing.table(("name", "command"), [(name, f"`{command}`") for name, command in TOOLS.items()]),
            "jscpd runs with `--format` for one language at a time, and with `--similarity` only for JavaScript, where it compares syntax trees. By default, pyscn does not report clones of its type 3. The lenient settings of pyscn:",
            f"```toml\n{LENIENT_PYSCN.strip()}\n```",
        ]
    )  # fmt: skip


def draw(results: Found, folder: Path) -> None:
    with writing.saved_figure(folder / "clones.png", figsize=(12, 4), columns=3) as (_, axes):
        for axis, (language, title) in zip(axes, TITLES.items(), strict=True):
            for tool in TOOLS:
                found = row_of(results, language, tool)
                if not found:
                    continue
                program, _, setting = tool.partition(", ")
                style = {"": "o-", "0.9": "v:", "0.7": "s--", "lenient": "s--"}[setting]
                values = []
                for share in SHARES:
                    some = [row for row in found["recall"] if row["share"] == share]
                    values.append(100 * sum(r["found"] for r in some) / sum(r["of"] for r in some))
                axis.plot(
                    [100 * share for share in SHARES], values, style, color=COLORS[program], label=tool, alpha=0.9
                )
            axis.set_title(title)
            axis.set_xlabel("changed statements, %")
            axis.set_xticks([100 * share for share in SHARES])
            axis.set_ylim(-3, 103)
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("copies found, %")
        axes[-1].legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="upper left", bbox_to_anchor=(1.02, 1))
    with writing.saved_figure(folder / "clones-scale.png", figsize=(9, 4), columns=2) as (_, axes):
        for tool, color in COLORS.items():
            rows = [row for row in results["scale"]["rows"] if row["tool"] == tool and row["finished"]]
            sizes = sorted({row["functions"] for row in rows})
            for axis, key, factor in ((axes[0], "cpu_seconds", 1), (axes[1], "peak_bytes", 2**-20)):
                means = [[factor * row[key] for row in rows if row["functions"] == size] for size in sizes]
                axis.loglog(sizes, [sum(some) / len(some) for some in means], "o-", color=color, label=tool)
        for axis, title in zip(axes, ("CPU seconds", "peak memory, MiB"), strict=True):
            axis.set_xlabel("functions")
            axis.set_ylabel(title)
            axis.grid(alpha=0.3, which="both")
            axis.legend(fontsize=8)
