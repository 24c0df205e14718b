"""Tiles computed by threads of this process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treelet.gram.executors.base import Executor, TileSearch
from treelet.gram.plan import Block, Plan, Tile, column_blocks
from treelet.gram.sinks import FunctionSink
from treelet.gram.tiles import Job, Sink, bind, fill_tile, plan_matrix
from treelet.kernels.pairwise import Evaluator, Needs, Pairwise
from treelet.progress import Advance
from treelet.work import run


class ThreadExecutor(Executor):
    """Computes tiles in threads. Blocks of columns are computed in turn; all tiles of a block share an index."""

    def plan(self, job: Job, **options: Any) -> Plan:
        return plan_matrix(job, threads=self.resources.threads, memory=self.resources.memory, **options)

    def compute(self, job: Job, blocks: Iterable[Block], sink: Sink, advance: Advance) -> None:
        threads = self.resources.threads
        for block in blocks:
            evaluator = bind(job, block, threads).ready(threads)
            evaluator.memory = self.resources.memory

            def work(tile: Tile, evaluator: Evaluator = evaluator) -> None:
                with sink.tile(tile) as out:
                    fill_tile(job.kernel, evaluator, tile, out, advance)

            run(work, block.tiles, threads, lambda done: None)

    def search(self, job: Job, search: TileSearch, needs: Needs | None = None) -> None:
        plan = self.plan(job, buffers=1, needs=needs)
        self.compute_all(job, plan, FunctionSink(search.take))

    def prepare(self, kernel: Pairwise, columns: Any, needs: Needs) -> None:
        if len(column_blocks(len(columns), needs.index + needs.thread, self.resources.memory)) <= 1:
            kernel.evaluator(columns[:0], columns).ready()
