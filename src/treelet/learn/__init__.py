"""Learning with kernels, the scikit-learn way; models that need no support trees, and files to keep them in."""

from treelet.learn.model import CompressedModel
from treelet.learn.parts import linear_parts
from treelet.learn.perceptron import VotedPerceptron
from treelet.learn.persist import ModelFileError, load, save
from treelet.learn.rank_svm import RankSVM
from treelet.learn.svm import KernelSVC, KernelSVR
from treelet.learn.transform import KernelMatrix

__all__ = [
    "CompressedModel",
    "KernelMatrix",
    "KernelSVC",
    "KernelSVR",
    "ModelFileError",
    "RankSVM",
    "VotedPerceptron",
    "linear_parts",
    "load",
    "save",
]
