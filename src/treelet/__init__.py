"""treelet: learning from trees, by the pieces they share.

>>> import treelet as tl
>>> tl.SubsetTree(lam=1)(["(NP (D the) (N apple))", "(NP (D the) (N pear))"])
array([[6., 3.],
       [3., 6.]])

Names are loaded when they are first used, so that ``import treelet`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from treelet import datasets, explain, formats, gram, kernels, learn, metrics, parsing, structures, tasks, testing
    from treelet.errors import (
        FileError,
        FormatError,
        InputTypeError,
        KernelOverflowError,
        ParameterError,
        TreeError,
        TreeletError,
    )
    from treelet.kernels import (
        Bag,
        Constant,
        ForestKernel,
        Gaussian,
        Kernel,
        Linear,
        Normalized,
        On,
        PartialTree,
        Polynomial,
        PolynomialOf,
        Product,
        Scale,
        Smoothed,
        SubsetTree,
        Subtree,
        Sum,
        Tagging,
    )
    from treelet.learn import (
        RLS,
        KernelMatrix,
        KernelSVC,
        KernelSVR,
        ModelFileError,
        RankRLS,
        RankSVM,
        RLSPath,
        VotedPerceptron,
        load,
        save,
    )
    from treelet.parsing import PCFG
    from treelet.structures import (
        Dependencies,
        DependencyBank,
        Forest,
        ForestBank,
        Link,
        Table,
        Tagged,
        TaggedBank,
        Tree,
        Treebank,
        WordVectors,
        as_dependencybank,
        as_forestbank,
        as_taggedbank,
        as_treebank,
        bag_of_words,
        dependency_tree,
        dependency_trees,
        feature_sequences,
        read_conllu,
        read_examples,
        read_forests,
        read_tagged,
        read_trees,
    )

_HOMES = {
    "treelet.errors": [
        "FileError",
        "FormatError",
        "InputTypeError",
        "KernelOverflowError",
        "ParameterError",
        "TreeError",
        "TreeletError",
    ],
    "treelet.kernels": [
        "Bag",
        "Constant",
        "ForestKernel",
        "Gaussian",
        "Kernel",
        "Linear",
        "Normalized",
        "On",
        "PartialTree",
        "Polynomial",
        "PolynomialOf",
        "Product",
        "Scale",
        "Smoothed",
        "SubsetTree",
        "Subtree",
        "Sum",
        "Tagging",
    ],
    "treelet.learn": [
        "KernelMatrix",
        "KernelSVC",
        "KernelSVR",
        "ModelFileError",
        "RLS",
        "RLSPath",
        "RankRLS",
        "RankSVM",
        "VotedPerceptron",
        "load",
        "save",
    ],
    "treelet.parsing": ["PCFG"],
    "treelet.structures": [
        "Dependencies",
        "DependencyBank",
        "Link",
        "as_dependencybank",
        "dependency_tree",
        "dependency_trees",
        "feature_sequences",
        "read_conllu",
        "Forest",
        "ForestBank",
        "Table",
        "Tagged",
        "TaggedBank",
        "Tree",
        "Treebank",
        "WordVectors",
        "as_forestbank",
        "as_taggedbank",
        "as_treebank",
        "bag_of_words",
        "read_examples",
        "read_forests",
        "read_tagged",
        "read_trees",
    ],
}
_PACKAGES = [
    "datasets",
    "explain",
    "formats",
    "gram",
    "kernels",
    "learn",
    "metrics",
    "parsing",
    "structures",
    "tasks",
    "testing",
]
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "PCFG",
    "RLS",
    "Bag",
    "Constant",
    "Dependencies",
    "DependencyBank",
    "FileError",
    "Forest",
    "ForestBank",
    "ForestKernel",
    "FormatError",
    "Gaussian",
    "InputTypeError",
    "Kernel",
    "KernelMatrix",
    "KernelOverflowError",
    "KernelSVC",
    "KernelSVR",
    "Linear",
    "Link",
    "ModelFileError",
    "Normalized",
    "On",
    "ParameterError",
    "PartialTree",
    "Polynomial",
    "PolynomialOf",
    "Product",
    "RLSPath",
    "RankRLS",
    "RankSVM",
    "Scale",
    "Smoothed",
    "SubsetTree",
    "Subtree",
    "Sum",
    "Table",
    "Tagged",
    "TaggedBank",
    "Tagging",
    "Tree",
    "TreeError",
    "Treebank",
    "TreeletError",
    "VotedPerceptron",
    "WordVectors",
    "__version__",
    "as_dependencybank",
    "as_forestbank",
    "as_taggedbank",
    "as_treebank",
    "bag_of_words",
    "datasets",
    "dependency_tree",
    "dependency_trees",
    "explain",
    "feature_sequences",
    "formats",
    "gram",
    "kernels",
    "learn",
    "load",
    "metrics",
    "parsing",
    "read_conllu",
    "read_examples",
    "read_forests",
    "read_tagged",
    "read_trees",
    "save",
    "structures",
    "tasks",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
    elif name in _PACKAGES:
        value = import_module(f"treelet.{name}")
    else:
        raise AttributeError(f"module 'treelet' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
