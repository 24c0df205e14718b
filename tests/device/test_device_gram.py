"""Matrices by a device: the device code in its CPU build, beside the core, for every kernel there is."""

import numpy as np
import pytest

import treelet as tl
from treelet.testing.cases import KERNELS, examples

CLOSE = 1e-12


def agree(found, wanted, close=CLOSE):
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0) <= close * np.abs(wanted).max(initial=1e-300)
    there = np.abs(wanted) > 1e-6 * np.abs(wanted).max(initial=0)
    assert (np.abs(found - wanted)[there] <= close * np.abs(wanted)[there]).all()


@pytest.mark.parametrize("name", KERNELS)
def test_matrices_agree_with_the_core(name):
    case = KERNELS[name]
    X, Y = examples(case.kind, 18, 5), examples(case.kind, 11, 6)
    agree(tl.gram(case.kernel, X, device="emulated"), tl.gram(case.kernel, X))
    agree(tl.gram(case.kernel, X, Y, device="emulated"), tl.gram(case.kernel, X, Y))
