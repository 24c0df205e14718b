"""Whether a matrix in a file is as it was written: by checksums of its tiles, and by what mirrors what."""

from __future__ import annotations

import zlib

import numpy as np

from treelet.gram.plan import Plan, Span, Tile, mirrored
from treelet.gram.stored.manifest import Manifest
from treelet.gram.stored.matrix_file import MatrixFile
from treelet.gram.tiles import Values


def checksum(values: Values, tile: Tile, symmetric: bool) -> int:
    """A number that changes with the values; what is right of the diagonal of a symmetric matrix is set to 0 before."""
    if symmetric:  # there the mirror image will be, whose last bits may be others
        for row, line in enumerate(values, tile.rows.begin):
            line[max(0, row + 1 - tile.columns.begin) :] = 0
    return zlib.crc32(np.ascontiguousarray(values).data)


def copied_checksum(matrix: MatrixFile, plan: Plan, memory: int) -> int:
    """Likewise of what comes before the tiles, which was copied from a matrix that is extended; so much is read at a time."""
    size, found = begin_of(plan), 0
    height = max(1, memory // (4 * matrix.dtype.itemsize * max(1, size)))
    for begin in range(0, size, height):
        found = zlib.crc32(matrix.read(Tile(Span(begin, min(begin + height, size)), Span(0, size))).data, found)
    return found


def begin_of(plan: Plan) -> int:
    """The first row that is computed."""
    return min((tile.rows.begin for tile in plan.tiles), default=plan.shape[0])


def images(manifest: Manifest, threads: int) -> list[Tile]:
    """The tiles above the diagonal that so many threads write from those below."""
    plan = manifest.plan
    return mirrored(plan.shape[0], manifest.memory // 2, threads, begin_of(plan)) if plan.symmetric else []


def forget_changes(matrix: MatrixFile, manifest: Manifest) -> str:
    """Strike out of a manifest what of a matrix is not as it says; in words what that was, or nothing."""
    changed = [number for number in manifest.done if not _is_tile(matrix, manifest, number)]
    for number in changed:
        del manifest.done[number]
    parts = images(manifest, manifest.threads) if manifest.mirrored else []
    alike = [n for n in manifest.mirrored if not changed and n < len(parts) and _is_image(matrix, parts[n])]
    lost, manifest.mirrored = len(manifest.mirrored) - len(alike), alike
    said = [f"{len(changed)} tiles"] * bool(changed) + [f"{lost} mirrored ones"] * (lost > 0 and not changed)
    if manifest.copied is not None and not _is_copy(matrix, manifest):
        manifest.copied = None
        said.append("what was copied")
    return " and ".join(said)


def is_intact(matrix: MatrixFile, manifest: Manifest) -> bool:
    """Whether a complete matrix is, value by value, as it was when it became that."""
    tiles = range(len(manifest.plan.tiles))
    return (
        (begin_of(manifest.plan) == 0 or _is_copy(matrix, manifest))
        and all(number in manifest.done and _is_tile(matrix, manifest, number) for number in tiles)
        and (matrix.mirrors or all(_is_image(matrix, tile) for tile in images(manifest, 2)))
    )


def _is_tile(matrix: MatrixFile, manifest: Manifest, number: int) -> bool:
    tile, symmetric = manifest.plan.tiles[number], manifest.plan.symmetric
    try:
        same = checksum(matrix.read(tile), tile, symmetric) == manifest.done[number]
    except OSError:
        return False
    return same and (not (symmetric and matrix.mirrors) or _is_image(matrix, Tile(tile.columns, tile.rows)))


def _is_image(matrix: MatrixFile, tile: Tile) -> bool:
    try:
        there, below = matrix.read(tile), matrix.read(Tile(tile.columns, tile.rows)).T
    except OSError:
        return False
    bits = f"u{there.itemsize}"
    same = there.view(bits) == below.view(bits)
    if tile.rows.end > tile.columns.begin:  # else all of it is right of the diagonal
        for row, line in enumerate(same, tile.rows.begin):
            line[: max(0, row + 1 - tile.columns.begin)] = True
    return bool(same.all())


def _is_copy(matrix: MatrixFile, manifest: Manifest) -> bool:
    try:
        return copied_checksum(matrix, manifest.plan, manifest.memory) == manifest.copied
    except OSError:
        return False
