"""Temporary: old names of the shared modules."""

from __future__ import annotations

from experiments import Log as Say  # noqa: F401
from experiments.__main__ import run  # noqa: F401
from experiments.writing import Checkpoint


class Kept(Checkpoint):
    def forget(self) -> None:
        self.remove()
