"""``treelet gram``: compute a matrix of kernel values or edit distances and write it to a file."""

from __future__ import annotations

import errno
import json as json_format
import os
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli.inputs import contents_of, read_bank
from treelet.cli.options import READ, WRITTEN, Reading, command, edit_measure, warn_if_empty
from treelet.errors import ParameterError
from treelet.printable import readable_number

if TYPE_CHECKING:
    from treelet.kernels.pairwise import Matrix

_SEPARATORS = {".tsv": "\t", ".csv": ",", ".txt": " "}
_PRINTED = 20  # maximum number of rows and columns to print without --output


@command(main="out kernel lam normalize measure columns n_jobs memory format json")
def _gram(
    ctx: typer.Context,
    file: Annotated[list[str], "TREES...", READ],
    *,
    out: Annotated[str | None, "--output -o OUT", WRITTEN] = None,
    measure: str = "kernel",
    base_kernel: Any,
    normalize: bool = True,
    columns: Annotated[str | None, "FILE2", READ] = None,
    threads: int,
    memory: str | None = None,
    dtype: Annotated[str, "float64|float32"] = "float64",
    resume: bool = False,
    column: str | None = None,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Compute the kernel matrix of all pairs of trees, or the matrix of their edit distances.

    The kernel is normalized unless you pass --no-normalize.
    With --kernel forest, tagging or locality, TREES are forests, tagged sentences or dependency parses.

    Example: treelet gram "(NP (D the) (N apple))" "(NP (D the) (N pear))"

    Example: treelet gram "the/D dog/N" "a/D dog/N" --kernel tagging

    Example: treelet gram trees.mrg -o K.npy --lam 0.4 --jobs 2

    Example: treelet gram trees.mrg -o D.npy --measure edit-distance

    Parameters
    ----------
    file
        Trees in brackets, or files or folders of trees. Use - for standard input.
    out
        Output file, ending in .npy, .tsv, .csv or .txt. Use - to print all values in full. [default: print a matrix
        of at most 20 x 20 values, rounded]
    columns
        Tree or file of trees for the columns of the matrix. [default: TREES]
    memory
        Memory limit of the computation, without the trees themselves, e.g. 512MiB. A .npy matrix does not count
        toward the limit. [default: 1GiB]
    dtype
        Number type of the matrix. float32 takes half the space.
    resume
        Save finished parts on disk. Pass --resume in the first run; after an interruption, repeat the same command.
        For .npy only.
    json
        Print a summary of the result as JSON on standard output.
    """
    edits = edit_measure(ctx, measure, "normalize")
    kernel = base_kernel.normalized() if normalize else base_kernel
    chosen = kernel if edits is None else edits
    _check_output(out)
    if json and out in (None, "-"):
        raise ParameterError("--json and the matrix both go to standard output. Pass a file name to --output.")

    if resume and not _is_binary(out):
        got = "" if out is None else f" Got --output {out} instead."
        raise ParameterError(f"--resume needs an output file that ends in .npy.{got}")

    from treelet.formats.files import whole_file
    from treelet.matrices import gram
    from treelet.matrices.executors import checked_dtype, executor_for
    from treelet.matrices.stored import NotOpenedError
    from treelet.matrices.tiles import Job
    from treelet.resources import Resources

    executor = executor_for(Resources.of(threads, memory))
    begin = time.perf_counter()
    text = None if out in (None, "-") or _is_binary(out) else out
    with nullcontext() if text is None else whole_file(Path(text)) as temporary:
        contents = contents_of(kernel if edits is None else None)
        rows = read_bank(file, "TREES", reading, contents, column=column)
        others = None if columns is None else read_bank([columns], "--columns", reading, contents, column=column)
        warn_if_empty(file, len(rows))
        if columns is not None and others is not None:
            warn_if_empty([columns], len(others))
        shape = len(rows), len(rows if others is None else others)
        if out is None and max(shape) > _PRINTED:
            raise ParameterError(
                f"A matrix of {shape[0]:,} x {shape[1]:,} values is too large to print. Write it to a file, for example with "
                "--output K.npy, or pass --output - to print it anyway."
            )
        read = time.perf_counter()
        options: dict[str, Any] = {"memory": memory, "dtype": dtype, "n_jobs": threads}
        if _is_binary(out):
            with suppress(NotOpenedError):  # the file is complete; only opening it again failed
                gram(chosen, rows, others, out=out, resume=resume, **options)
        else:
            matrix = executor.host_matrix(Job(chosen, rows, others, checked_dtype(dtype)))
            if out is None:
                _print_aligned(matrix)
            else:
                _write_text(matrix, out, temporary)
    end = time.perf_counter()

    if json:
        summary = {
            "measure": measure,
            "kernel": repr(kernel) if edits is None else None,
            "shape": shape,
            "output": out,
            "rows": rows.stats(),
            "columns": None if others is None else others.stats(),
            "seconds": {"read": read - begin, "matrix": end - read},
        }
        print(json_format.dumps(summary))
        return
    where = "standard output" if out in (None, "-") else out
    lines = [f"rows: {rows.stats()}"] + ([] if others is None else [f"columns: {others.stats()}"])
    lines.append(f"{shape[0]} x {shape[1]} values of {chosen!r} in {end - read:.2f} s (reading: {read - begin:.2f} s)")
    lines.append(f"matrix: {where}")
    print("\n".join(lines), file=sys.stderr)


# --- matrices in files --------------------------------------------------------------------------------------------


def _is_binary(output: str | None) -> bool:
    """Whether the file is a .npy matrix, which `treelet.gram` writes itself."""
    return output is not None and Path(output).suffix.lower() == ".npy"


def _check_output(output: str | None) -> None:
    """Raise an error if the suffix of the output is unknown, or its folder cannot be written."""
    if output is None:
        return
    if output != "-" and not _is_binary(output) and Path(output).suffix.lower() not in _SEPARATORS:
        raise ParameterError(
            f"{output}: the name of a matrix must end in .npy, .tsv, .csv or .txt. Use - to print the matrix."
        )
    folder = Path(output).parent
    if output != "-" and not os.access(folder, os.W_OK):  # checked first, because the computation may take hours
        from treelet.formats.files import naming

        with naming(output, Path(output), folder):
            os.stat(folder)
            raise PermissionError(errno.EACCES, "permission denied")


def _print_aligned(matrix: Matrix) -> None:
    """Print a small matrix with rounded values in aligned columns."""
    rows = [[readable_number(value) for value in row.tolist()] for row in matrix]
    width = max((len(value) for row in rows for value in row), default=0)
    for row in rows:
        print("  ".join(value.rjust(width) for value in row))


def _write_text(matrix: Matrix, output: str, temporary: Path | None) -> None:
    """Write a matrix as text, one row per line, to the temporary file or to standard output, without rounding."""
    if temporary is None:
        _write_rows(matrix, sys.stdout, "\t")
        return
    with temporary.open("w", encoding="ascii", newline="\n") as stream:
        _write_rows(matrix, stream, _SEPARATORS[Path(output).suffix.lower()])


def _write_rows(matrix: Matrix, stream: IO[str], separator: str) -> None:
    for row in matrix:
        stream.write(separator.join(map(repr, row.tolist())) + "\n")
