"""Executors compute the tiles of a matrix: threads, the workers of a Dask cluster, or a device."""

from __future__ import annotations

from typing import Any

from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.matrices.executors.base import Executor, ThreadExecutor, TileSearch
from treelet.matrices.tiles import Job
from treelet.resources import PLAIN, Resources

__all__ = ["Executor", "ThreadExecutor", "TileSearch", "executor_for", "host_matrix"]


def host_matrix(kernel: Pairwise, X: Any, Y: Any | None = None, resources: Resources = PLAIN) -> Matrix:
    """Return the float64 matrix of coerced examples as a NumPy array, for any executor."""
    return executor_for(resources).host_matrix(Job(kernel, X, Y))


def executor_for(resources: Resources) -> Executor:
    """Return the executor for the given resources."""
    if resources.device != "cpu":
        from treelet.matrices.executors.device import DeviceExecutor

        return DeviceExecutor(resources)
    if resources.client is not None:
        from treelet.matrices.executors.dask import DaskExecutor

        return DaskExecutor(resources)
    return ThreadExecutor(resources)
