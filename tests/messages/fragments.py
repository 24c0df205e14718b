"""Messages of `treelet.fragments`: explanations, fragments and the places where they occur."""

from __future__ import annotations

NOT_FITTED = "got RLS, which is neither: call its fit first"
FITTED_TO_A_MATRIX = "fitted to a matrix"
VOTES = "vote"
SHARE_FROM_0_TO_1 = "from 0 to 1"
KERNELS_WITH_FRAGMENTS = "Subtree, SubsetTree, PartialTree, ForestKernel"
FRAGMENT_NEEDED = "'fragment' parameter of places must be a Tree or a bracketed string.* Got None instead"
KERNELS_WITH_PLACES = "Subtree, SubsetTree and PartialTree"
ONLY_MODELS_OF = f"models of {KERNELS_WITH_FRAGMENTS}"


def which_of_classes(classes: int) -> str:
    """A model of several classes needs to know which one to explain."""
    return f"{classes} classes: say of which"


def not_for(kernel: str) -> str:
    return f"not for {kernel}"
