"""Learning with kernels, the scikit-learn way; models that need no support trees, and files to keep them in."""

from treelet.learn.model import CompressedModel
from treelet.learn.perceptron import VotedPerceptron
from treelet.learn.persist import ModelFileError, load, save
from treelet.learn.rank_rls import RankRLS
from treelet.learn.rank_svm import RankSVM
from treelet.learn.rls import RLS
from treelet.learn.rls_path import RLSPath
from treelet.learn.summands import linear_parts
from treelet.learn.svm import KernelSVC, KernelSVR
from treelet.learn.transform import KernelMatrix

__all__ = [
    "RLS",
    "CompressedModel",
    "KernelMatrix",
    "KernelSVC",
    "KernelSVR",
    "ModelFileError",
    "RLSPath",
    "RankRLS",
    "RankSVM",
    "VotedPerceptron",
    "linear_parts",
    "load",
    "save",
]
