"""Verification of matrices in files, by checksums of tiles and by symmetry."""

from __future__ import annotations

import zlib

import numpy as np

from treelet.checks import plural
from treelet.gram.plan import Plan, Span, Tile, mirrored
from treelet.gram.stored.manifest import Manifest
from treelet.gram.stored.matrix_file import MatrixFile
from treelet.gram.tiles import Values


def checksum(values: Values, tile: Tile, symmetric: bool) -> int:
    """Return a checksum of the values. In a symmetric matrix, values above the diagonal are first set to 0."""
    if symmetric:  # the mirror image, whose last bits may differ, will overwrite these values
        for row, line in enumerate(values, tile.rows.begin):
            line[max(0, row + 1 - tile.columns.begin) :] = 0
    return zlib.crc32(np.ascontiguousarray(values).data)


def copied_checksum(matrix: MatrixFile, plan: Plan, memory: int) -> int:
    """Return a checksum of the rows that were copied from an existing matrix, read in parts of `memory` bytes."""
    size, value = begin_of(plan), 0
    height = max(1, memory // (4 * matrix.dtype.itemsize * max(1, size)))
    for begin in range(0, size, height):
        value = zlib.crc32(matrix.read(Tile(Span(begin, min(begin + height, size)), Span(0, size))).data, value)
    return value


def begin_of(plan: Plan) -> int:
    """Return the first row that is computed, not copied."""
    return min((tile.rows.begin for tile in plan.tiles), default=plan.shape[0])


def images(manifest: Manifest, threads: int) -> list[Tile]:
    """Return the tiles above the diagonal, which are mirrored from below by the given number of threads."""
    plan = manifest.plan
    return mirrored(plan.shape[0], manifest.memory // 2, threads, begin_of(plan)) if plan.symmetric else []


def forget_changes(matrix: MatrixFile, manifest: Manifest) -> str:
    """Remove changed tiles from a manifest. Return a list of the changes for a message, or ""."""
    changed = [number for number in manifest.done if not _is_tile(matrix, manifest, number)]
    for number in changed:
        del manifest.done[number]
    tiles = images(manifest, manifest.threads) if manifest.mirrored else []
    intact = [n for n in manifest.mirrored if not changed and n < len(tiles) and _is_image(matrix, tiles[n])]
    lost, manifest.mirrored = len(manifest.mirrored) - len(intact), intact
    changes = [plural(len(changed), "tile")] if changed else [plural(lost, "mirrored tile")] * (lost > 0)
    if manifest.copied is not None and not _is_copy(matrix, manifest):
        manifest.copied = None
        changes.append("the copied rows")
    return " and ".join(changes)


def is_intact(matrix: MatrixFile, manifest: Manifest) -> bool:
    """Return whether all values of a complete matrix are unchanged since the matrix was completed."""
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
        above, below = matrix.read(tile), matrix.read(Tile(tile.columns, tile.rows)).T
    except OSError:
        return False
    bits = f"u{above.itemsize}"
    same = above.view(bits) == below.view(bits)
    if tile.rows.end > tile.columns.begin:  # otherwise the whole tile is above the diagonal
        for row, line in enumerate(same, tile.rows.begin):
            line[: max(0, row + 1 - tile.columns.begin)] = True
    return bool(same.all())


def _is_copy(matrix: MatrixFile, manifest: Manifest) -> bool:
    try:
        return copied_checksum(matrix, manifest.plan, manifest.memory) == manifest.copied
    except OSError:
        return False
