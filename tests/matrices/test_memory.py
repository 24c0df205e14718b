"""Peak memory of a process that computes a matrix: within `memory`, besides the examples, a result in memory, and a constant."""

from __future__ import annotations

import os
import sys

import pytest

from conftest import run_python

pytestmark = pytest.mark.serial

MIB = 1 << 20
CONSTANT = 24 * MIB  # what the documentation of gram states
MEASURE = """
import numpy as np, treelet as tl
from treelet.datasets import flights
def field(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
bank = flights(1500, random_state=1)
bank = tl.Treebank.concat([bank] * 2)
bank.weights()
kernel = {kernel}
out = np.lib.format.open_memmap({path!r}, "w+", np.float64, (len(bank), len(bank)))
kernel(bank[:200], n_jobs={jobs})  # whatever is loaded on first use
before = field("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
tl.gram(kernel, bank, out=out, memory={memory}, n_jobs={jobs})
print(field("VmHWM") - before)
print(abs(out - out.T).max(), float(np.abs(out[:200, :200] - kernel(bank[:200])).max() / np.abs(out[:200, :200]).max()))
"""
KERNELS = {
    "sst": "tl.SubsetTree(0.4)",
    "pt": "tl.PartialTree()",
    "normalized sum": "(tl.SubsetTree(0.4) + tl.SubsetTree(0.3, max_depth=2)).normalized()",
    "forests": "tl.ForestKernel(0.4)",
}


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_a_matrix_on_disk_keeps_within_its_memory(name: str, jobs: int, tmp_path: os.PathLike[str]) -> None:
    """The matrix has 69 MiB, and the budget 32."""
    memory = 32 * MIB
    code = MEASURE.format(kernel=KERNELS[name], path=os.path.join(tmp_path, "K.npy"), memory=memory, jobs=jobs)
    above, values = run_python(code).splitlines()
    assert int(above) <= memory + CONSTANT, f"{int(above) / MIB:.1f} MiB"
    apart, off = map(float, values.split())
    assert apart == 0
    assert off < 1e-12


def test_free_memory_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    from treelet import resources

    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}

    def sysconf(name: str) -> int:
        if name not in pages:
            raise ValueError("unrecognized configuration name")
        return pages[name]

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert resources._elsewhere() == 4096 * 1000  # macOS does not know what is free
    pages["SC_AVPHYS_PAGES"] = 10
    assert resources._elsewhere() == 4096 * 10
    monkeypatch.delattr(os, "sysconf")
    assert resources._elsewhere() == sys.maxsize
