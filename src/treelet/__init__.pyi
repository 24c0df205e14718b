"""What users type, listed once: type checkers and editors read this file, and so does `__init__.py`.

A name that stands here is loaded from its package when it is first used. At most 60: what is rarer is in its package.
"""

from treelet import (
    corpora as corpora,
    cuts as cuts,
    datasets as datasets,
    drawing as drawing,
    errors as errors,
    formats as formats,
    fragments as fragments,
    kernels as kernels,
    learn as learn,
    matrices as matrices,
    metrics as metrics,
    parsing as parsing,
    report as report,
    structures as structures,
    tasks as tasks,
    testing as testing,
)
from treelet.corpora import diff as diff, families as families
from treelet.drawing import draw as draw
from treelet.edits import EditDistance as EditDistance, edit_script as edit_script
from treelet.errors import TreeletError as TreeletError
from treelet.fragments import (
    explain as explain,
    shared_fragments as shared_fragments,
    top_fragments as top_fragments,
)
from treelet.matrices import gram as gram, lazy_gram as lazy_gram, nearest as nearest
from treelet.kernels import (
    Bag as Bag,
    Crossed as Crossed,
    ForestKernel as ForestKernel,
    Linear as Linear,
    Locality as Locality,
    On as On,
    PartialTree as PartialTree,
    Polynomial as Polynomial,
    Smoothed as Smoothed,
    StatementOverlap as StatementOverlap,
    Subsequence as Subsequence,
    SubsetTree as SubsetTree,
    Subtree as Subtree,
    Sum as Sum,
    Tagging as Tagging,
)
from treelet.learn import (
    RLS as RLS,
    FragmentFeatures as FragmentFeatures,
    KernelMatrix as KernelMatrix,
    KernelSVC as KernelSVC,
    KernelSVR as KernelSVR,
    Nystroem as Nystroem,
    Nearest as Nearest,
    RankRLS as RankRLS,
    RankSVM as RankSVM,
    TreeSketch as TreeSketch,
    VotedPerceptron as VotedPerceptron,
    load as load,
    save as save,
)
from treelet.parsing import PCFG as PCFG, LinkParser as LinkParser
from treelet.resources import config_context as config_context, get_config as get_config, set_config as set_config
from treelet.structures import (
    Dependencies as Dependencies,
    Forest as Forest,
    ForestBank as ForestBank,
    Tagged as Tagged,
    Tree as Tree,
    Treebank as Treebank,
    iter_examples as iter_examples,
    iter_trees as iter_trees,
    read_code as read_code,
    read_examples as read_examples,
    read_forests as read_forests,
    read_tagged as read_tagged,
    read_trees as read_trees,
)

__version__: str
