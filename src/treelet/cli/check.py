"""``treelet check``: find new and changed functions that resemble existing ones."""

from __future__ import annotations

import json as json_format
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli.clone_settings import cache_folder, check_outputs, clone_settings, print_left_out, write_outputs
from treelet.cli.options import READ, WRITTEN, among, command
from treelet.printable import printable_name

if TYPE_CHECKING:
    from treelet.tasks.clone_report import CloneReport

_FOUND = 1  # exit code if a new function resembles an existing one


@command(
    main="staged paths similarity min_lines languages exclude n_jobs json sarif html output",
    exclusive=[("json", "sarif"), ("cache", "no_cache"), ("changes", "staged")],
)
def _check(
    ctx: typer.Context,
    changes: Annotated[list[str] | None, "RANGE|PATH..."] = None,
    *,
    staged: bool = False,
    paths: Annotated[list[str] | None, "--paths PATH", READ] = None,
    similarity: Annotated[float, "NUMBER"] = 0.65,
    min_lines: Annotated[int, "N"] = 10,
    languages: Annotated[str | None, "LIST"] = None,
    identifiers: Annotated[str, "anonymous|keep", among("anonymous", "keep")] = "anonymous",
    exclude: list[str] | None = None,
    vendored: bool = False,
    encoding: str = "utf-8",
    n_jobs: int = 1,
    cache: Annotated[str | None, "FOLDER"] = None,
    no_cache: bool = False,
    progress: bool = True,
    json: bool = False,
    sarif: bool = False,
    html: Annotated[str | None, "FILE", WRITTEN] = None,
    output: Annotated[list[str] | None, "--output -o FILE", WRITTEN] = None,
) -> None:
    """Find new and changed functions that resemble existing functions of the repository.

    For each new or changed function, the most similar other function is shown, with its place, the similarity and the lines that differ. The similarity is that of treelet clones.

    A function is new or changed if its file has changed and no former version of a changed file has an equal function. If two functions were already similar before the change, a note asks whether the other one needs the same change; this is not a finding.

    The section [tool.treelet.clones] of pyproject.toml and comments that leave out a function apply as in treelet clones.

    Exit codes: 0 if no new function resembles another one, 1 if one does, 2 on errors.

    Example: treelet check main...HEAD

    Parameters
    ----------
    changes
        A range of revisions of git, such as main..HEAD or main...HEAD; or one revision, which is compared with the files
        as they are; or files and folders, whose functions all count as new. [default: HEAD, so the changes that were
        not committed, with untracked files]
    staged
        Check what is staged for the next commit.
    paths
        Compare with the functions of this file or folder, and check the changed files in it. Can be repeated. [default: the
        paths in pyproject.toml, or the whole repository]
    similarity
        Smallest similarity to report, in (0, 1].
    min_lines
        Compare functions with at least N lines of code.
    languages
        Languages to read, separated by commas, e.g. python,java. [default: all]
    identifiers
        Ignore the names of parameters and local variables (anonymous), or compare them (keep).
    vendored
        Also compare with vendored and minified files.
    cache
        Folder for the functions that were read, so that the next run reads only files that have changed.
        [default: .treelet_cache in the repository]
    no_cache
        Read all files.
    sarif
        Print the result in SARIF 2.1.0 on standard output.
    html
        Also write an HTML page with the source of similar functions side by side.
    output
        Also write the result to a file that ends in .json, .sarif or .html. Can be repeated.
    """
    files = check_outputs(output, html)
    from treelet.tasks.check import check_clones

    values: dict[str, Any] = {"paths": paths, "similarity": similarity, "min_lines": min_lines, "languages": languages}
    values |= {"identifiers": identifiers, "exclude": exclude or (), "vendored": vendored, "encoding": encoding}
    values = clone_settings(ctx, values)
    report = check_clones(
        *(changes or ()), staged=staged, **values, cache=cache_folder(cache, no_cache, "."), n_jobs=n_jobs
    )
    write_outputs(report, files, values["encoding"])
    if json or sarif:
        print(json_format.dumps(report.as_json() if json else report.as_sarif(), indent=1))
    else:
        _print(report)
    if found := sum(bool(family.new_members) for family in report.families):
        if json or sarif or files:
            print(f"treelet: {_found(found)}", file=sys.stderr)
        raise typer.Exit(_FOUND)


def _found(count: int) -> str:
    return f"{count:,} new or changed {'function resembles' if count == 1 else 'functions resemble'} existing ones"


def _print(report: CloneReport) -> None:
    from treelet.checks import plural

    for family in report.families:
        existing, own = (printable_name(str(member)) for member in family.members)
        print(own)
        print(f"     {family.members[1].similarity:.2f}  {existing}")
        reason = family.reason(1) or "all statements are the same"
        print(f"           {reason.replace('of the medoid deleted', 'there is missing here')}")
        if not family.new_members:
            print("           They were similar before this change: does the other one need it, too?")
        print()
    found = sum(bool(family.new_members) for family in report.families)
    print(f"{_found(found) if found else 'No new or changed function resembles an existing one'}.")
    if not report.files:
        print("No source file has changed.")
        return
    changed = plural(report.changed_functions or 0, "new or changed function")
    where = f"{plural(report.functions, 'function')} in {plural(report.files, 'file')}"
    were = "was" if report.changed_functions == 1 else "were"
    print(f"{changed} {were} compared with {where} in {report.seconds:.1f} s.")
    print_left_out(report)
