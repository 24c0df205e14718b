"""Learning with kernels: estimators in the style of scikit-learn, compressed models, and model files."""

from treelet.kernels.terms import linear_parts as linear_parts
from treelet.learn.approximate import KernelMatrix as KernelMatrix
from treelet.learn.approximate import Nystroem as Nystroem
from treelet.learn.approximate import TreeSketch as TreeSketch
from treelet.learn.fragment_features import FragmentFeatures as FragmentFeatures
from treelet.learn.least_squares import RLSPath as RLSPath
from treelet.learn.model import CompressedModel as CompressedModel
from treelet.learn.model import ModelStats as ModelStats
from treelet.learn.nearest import Nearest as Nearest
from treelet.learn.perceptron import VotedPerceptron as VotedPerceptron
from treelet.learn.perceptron import VotingModel as VotingModel
from treelet.learn.perceptron import whole_groups as whole_groups
from treelet.learn.persist import ModelFileError as ModelFileError
from treelet.learn.persist import card as card
from treelet.learn.persist import load as load
from treelet.learn.persist import save as save
from treelet.learn.rank_rls import RankRLS as RankRLS
from treelet.learn.ranking import RankSVM as RankSVM
from treelet.learn.rls import RLS as RLS
from treelet.learn.selection import Selection as Selection
from treelet.learn.selection import Trial as Trial
from treelet.learn.selection import select as select
from treelet.learn.svm import KernelSVC as KernelSVC
from treelet.learn.svm import KernelSVR as KernelSVR
