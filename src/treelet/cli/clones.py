"""``treelet clones``: find families of similar functions in source code."""

from __future__ import annotations

import json as json_format
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli.clone_settings import cache_folder, check_outputs, clone_settings, print_left_out, write_outputs
from treelet.cli.options import READ, WRITTEN, among, at_least, command
from treelet.errors import TreeletWarning
from treelet.printable import printable_name

if TYPE_CHECKING:
    from treelet.tasks.clone_report import CloneFamily, CloneReport

_TOO_MANY = 1  # exit code if there are more families than --fail-over allows
_MEMBERS = 10  # members to show of a family


@command(
    main="similarity min_lines languages against exclude fail_over n_jobs json sarif html output",
    exclusive=[("json", "sarif"), ("cache", "no_cache")],
)
def _clones(
    ctx: typer.Context,
    paths: Annotated[list[str] | None, "PATH...", READ] = None,
    *,
    similarity: Annotated[float, "NUMBER"] = 0.65,
    min_lines: Annotated[int, "N"] = 10,
    languages: Annotated[str | None, "LIST"] = None,
    identifiers: Annotated[str, "anonymous|keep", among("anonymous", "keep")] = "anonymous",
    against: Annotated[list[str] | None, "PATH", READ] = None,
    exclude: list[str] | None = None,
    vendored: bool = False,
    encoding: str = "utf-8",
    baseline: Annotated[str | None, "FILE", READ] = None,
    fail_over: Annotated[int | None, "N", at_least(0)] = None,
    top: Annotated[int, "N", at_least(0)] = 20,
    n_jobs: int = 1,
    cache: Annotated[str | None, "FOLDER"] = None,
    no_cache: bool = False,
    progress: bool = True,
    json: bool = False,
    sarif: bool = False,
    html: Annotated[str | None, "FILE", WRITTEN] = None,
    output: Annotated[list[str] | None, "--output -o FILE", WRITTEN] = None,
) -> None:
    """Find families of similar functions in source code.

    All functions of a family are similar to one of them, the medoid. The similarity is the share of statements that two functions have in common. A statement that is the same except for names or literals counts half, and larger statements have more weight. Layout, comments, the order of statements and, by default, the names of variables do not matter. Functions in different languages are not compared.

    Families are sorted by the lines of code that could be saved if one common function replaced all members.

    The section [tool.treelet.clones] of pyproject.toml may contain paths, exclude, languages, similarity, min_lines, identifiers, vendored and encoding; options of the command line win. A comment "treelet: ignore[clones] REASON" in a function, or on the line before it, leaves the function out.

    Exit codes: 0 on success, 1 if there are more families than --fail-over allows, 2 on errors.

    Example: treelet clones src --exclude tests --jobs 2

    Parameters
    ----------
    paths
        Files or folders of source code. [default: the paths in pyproject.toml, or the current folder]
    similarity
        Smallest similarity of a function and the medoid of its family, in (0, 1].
    min_lines
        Compare functions with at least N lines of code.
    languages
        Languages to read, separated by commas, e.g. python,java. [default: all]
    identifiers
        Ignore the names of parameters and local variables (anonymous), or compare them (keep).
    against
        Compare the functions of PATH... with those of this file or folder only, or of an index that treelet index
        create --code has written. Can be repeated.
    vendored
        Also read vendored and minified files in folders: those in folders such as node_modules, vendor and third_party,
        those called *.min.js, and those with very long lines.
    cache
        Folder for the functions that were read, so that the next run reads only files that have changed.
        [default: .treelet_cache in the repository of git that contains the first PATH; none outside of a repository]
    no_cache
        Read all files.
    baseline
        Report only families that are new since this file was written by --json.
    fail_over
        Exit with code 1 if there are more than N families.
    top
        Number of families to show; --json and --sarif show all.
    sarif
        Print the result in SARIF 2.1.0 on standard output.
    html
        Also write an HTML page with the source of similar functions side by side.
    output
        Also write the result to a file that ends in .json, .sarif or .html. Can be repeated.
    """
    files = check_outputs(output, html)
    from treelet.tasks.clones import find_clones

    values: dict[str, Any] = {"paths": paths, "similarity": similarity, "min_lines": min_lines, "languages": languages}
    values |= {"identifiers": identifiers, "exclude": exclude or (), "vendored": vendored, "encoding": encoding}
    values = clone_settings(ctx, values)
    searched = values.pop("paths") or ["."]
    folder = cache_folder(cache, no_cache, searched[0])
    report = find_clones(searched, **values, against=against or None, cache=folder, n_jobs=n_jobs)
    if not report.functions:
        warnings.warn(
            f"No function has at least {values['min_lines']} lines of code (--min-lines).",
            TreeletWarning,
            stacklevel=2,
        )
    if baseline is not None:
        report = report.new_since(baseline)
    write_outputs(report, files, values["encoding"])
    if json or sarif:
        print(json_format.dumps(report.as_json() if json else report.as_sarif(), indent=1))
    else:
        _print(report, top, new=baseline is not None)
    if fail_over is not None and len(report.families) > fail_over:
        from treelet.checks import plural

        families = plural(len(report.families), "new family" if baseline is not None else "family")
        print(f"treelet: {families}, more than --fail-over {fail_over} allows", file=sys.stderr)
        raise typer.Exit(_TOO_MANY)


def _print(report: CloneReport, top: int, new: bool) -> None:
    from treelet.checks import plural

    for number, family in enumerate(report.families[:top], 1):
        print("\n".join(_text(number, family)), end="\n\n")
    if report.families[:top]:
        print("The medoid of a family is the function that its other functions are compared with.")
    if len(report.families) > top:
        print(f"{plural(len(report.families) - top, 'more family')}; increase --top to show them.")
    kind = "new families" if new else "families"
    found = f"{len(report.families):,} {kind}" if len(report.families) != 1 else f"1 {'new ' if new else ''}family"
    saved = f", {plural(report.saved_lines, 'line')} of code could be saved" if report.families else ""
    where = f"{plural(report.functions, 'function')} with {plural(report.lines, 'line')} of code"
    print(f"{found} of similar functions{saved}.")
    print(f"{where} in {plural(report.files, 'file')} were compared in {report.seconds:.1f} s.")
    print_left_out(report)


def _text(number: int, family: CloneFamily) -> list[str]:
    saved = f"{family.saved_lines:,} {'line' if family.saved_lines == 1 else 'lines'} could be saved"
    lines = [f"{number}. {len(family.members):,} functions, similarity {family.similarity_range}, {saved}"]
    places = [printable_name(str(member)) for member in family.members]
    for at in family.new_members:
        places[at] += " (new)"
    lines.append(f"   medoid  {places[family.medoid]}")
    others = [at for at in range(len(family.members)) if at != family.medoid]
    for at in others[: _MEMBERS - 1]:
        lines.append(f"     {family.members[at].similarity:.2f}  {places[at]}")
        if reason := family.reason(at):
            lines.append(f"           {reason}")
    if len(others) >= _MEMBERS:
        lines.append(f"           and {len(others) - _MEMBERS + 1:,} more; --json lists all")
    return lines
