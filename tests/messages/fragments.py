"""Messages of `treelet.fragments`: explanations, fragments and the places where they occur."""

from __future__ import annotations

NOT_FITTED = r"This RLS is not fitted\. Call its fit method first"
NEITHER_ESTIMATOR_NOR_MODEL = (
    r"The 'model' parameter of (explain|top_fragments) must be a fitted classifier, .*\. Got an int instead"
)
NO_BEST_ESTIMATOR = r"This GridSearchCV has no best_estimator_\. Call its fit method first, with refit=True"
TRANSFORMS_FIRST = r"This Pipeline transforms its examples .*\. Pass the last step, pipeline\[-1\]"


def nothing_to_explain(kind: str) -> str:
    return rf"must be a fitted classifier, regressor or ranker of treelet, such as KernelSVC\. Got an? {kind} instead"


FITTED_TO_A_MATRIX = "This RLS cannot be explained, because it was fitted to a precomputed kernel matrix"
VOTES = "This VotedPerceptron cannot be explained, because it predicts by votes of many weight vectors"
INDEX_FROM_0_TO_1 = "'output' parameter of (explain|top_fragments) must be the index of an output, from 0 to 1. Got "
KERNELS_WITH_FRAGMENTS = "Subtree, SubsetTree, PartialTree, ForestKernel"
FRAGMENT_NEEDED = "'fragment' parameter of places must be a Tree or a bracketed string.* Got None instead"
KERNELS_WITH_PLACES = "Subtree, SubsetTree or PartialTree"
ONLY_MODELS_OF = rf"The fragments of .* cannot be listed\. Use one of the kernels {KERNELS_WITH_FRAGMENTS}"


def which_of_classes(classes: int) -> str:
    """A model of several classes needs to know which one to explain."""
    return rf"The model has {classes} classes\. Choose one of them, for example output="


def not_for(kernel: str) -> str:
    return rf"The 'kernel' parameter of \w+ must be a kernel with fragments: .*\. Got {kernel}\b"
