"""Messages of `treelet.learn`: estimators, their parameters and data, given matrices, selection and model files."""

from __future__ import annotations

# --- parameters ---------------------------------------------------------------------------------------------------

A_KERNEL_OR_NONE = "a kernel or None"
A_KERNEL_FOR_PARTIAL_FIT = f"{A_KERNEL_OR_NONE} for partial_fit"
A_KERNEL_OR_PRECOMPUTED = "a kernel, 'precomputed' or None"
A_KERNEL_WITH_BRACKETS = rf"{A_KERNEL_OR_PRECOMPUTED}, such as SubsetTree\(\), with brackets"
POSITIVE_NUMBERS = "a sequence of positive numbers"
ALPHAS_NOT_POSITIVE = f"alphas must be {POSITIVE_NUMBERS}"
A_NUMBER = "a number"
NO_KERNEL_BESIDE_A_MODEL = "None where there is a model"
AN_ESTIMATOR = "an estimator"


def at_least_and_less(least: int, most: int) -> str:
    return f"at least {least} and less than {most}"


def columns(last: int) -> str:
    return f"ints from 0 to {last}"


A_WEIGHT_PER_CLASS = "a dict from the classes"
A_POSITIVE_WEIGHT_PER_CLASS = ".*positive numbers"


def unknown_parameter(name: str, hint: str = "", *, of: str = "") -> str:
    """There is no parameter of this name; `hint` names those that there are."""
    return f"{of}no parameter '{name}'{hint}"


THE_KERNEL_WITHIN_HAS_LAM = r"\. Did you mean 'lam'\?$"
ITS_KERNEL_HAS_LAM = ", its kernel has: kernel__lam"
MADE_WITH_A_FACTOR = r"\. Multiply by a number to add a factor: 1\.0 \* kernel\."


def a_basis(examples: int) -> str:
    return f"None, a number of examples from 1 to {examples}, or distinct rows"


KERNELS_ARE_NOT_IN_THE_GRID = "Kernels are given by themselves"
TWO_FOLDS = "at least 2 folds"
A_SCORER = "a name"
WRONG_RANDOM_STATE = r"3\.5|random_state"
A_KERNEL_TO_SKETCH = r"SubsetTree\(...\) or PartialTree"


def at_least_for_a_sketch(least: str) -> str:
    return f"at least {least} for a sketch"


# --- examples, targets and groups ---------------------------------------------------------------------------------

EMPTY_X = "X is empty"
Y_IS_MISSING = "fit needs y"
NEEDS_Y = "needs y"


def lengths_differ(examples: int, name: str, values: int) -> str:
    """An array beside X has another length."""
    return f"X has {examples} examples and {name} has {values}"


def missing_value(name: str, example: int, missing: int = 1) -> str:
    """An array beside X has no value for an example; `missing` of them, if more than one."""
    return f"{name} has no value for example {example}" + (rf" \({missing} missing\)" if missing > 1 else "")


def infinite_value(name: str, example: int) -> str:
    """An array beside X has an infinite value."""
    return f"{name} is infinite for example {example} "


COMPLEX_VALUES = "holds complex numbers"


def value_count(name: str, count: int) -> str:
    """An array has another length than the training data."""
    return f"{name} has {count} values"


def one_dimension(name: str) -> str:
    return f"{name} must have one dimension"


NOT_CLASSES = "does not hold classes"
Y_IS_NOT_NUMBERS = "y must hold numbers"
Y_HAS_NO_OUTPUTS = "y has no outputs"
QID_OF_WRONG_TYPE = "qid must hold numbers or texts"


def one_class_only(label: str) -> str:
    """All examples have one label."""
    return f"one class only, {label}"


def too_few_for_probabilities(labels: str) -> str:
    """Probabilities need two examples per class."""
    return f"two examples of each class.* one only of {labels}"


WRONG_SAMPLE_WEIGHT = "sample_weight"
NEEDS_QID = "needs qid"
QID_IS_NEEDED = "qid is needed"
RANKER_NEEDS_QID = "a ranker needs qid"
VOTED_NEEDS_QID = "'voted' needs qid"


def not_a_ranker(estimator: str, remedy: str = "") -> str:
    return f"{estimator} is no ranker{remedy}"


GIVE_GROUPS = ", and takes no qid: give groups="


def nothing_to_rank(groups: int) -> str:
    """No group has two candidates, one better than the other."""
    return f"none of the {groups} groups has two candidates of different goodness"


QUERIES_MUST_BE_WHOLE = "must hold whole queries"
TOO_FEW_GROUPS = "at least two groups with several candidates"
NOTHING_TO_LEARN = "there is nothing to learn"
HARDLY_ANY_SIMILARITY = "hardly any training example is like another"
NOT_OF_ONE_KIND = "must be of one kind"


def kernel_is_zero(examples: int) -> str:
    return f"there is nothing to learn from: the kernel is 0 for all {examples} examples"


def nothing_in_common(examples: int, all_examples: int) -> str:
    """Examples have no fragment in common with the model."""
    return f"{examples} of {all_examples} examples share nothing with the model"


# --- given matrices -----------------------------------------------------------------------------------------------

PRECOMPUTED = "precomputed"
OUTPUTS_OF_UNEQUAL_NUMBER = "equally many"
NOT_SQUARE = "must be a square matrix"
NOT_FINITE = "must hold finite numbers"
NOT_SYMMETRIC = "must be symmetric"
NOT_NUMBERS = "must be a matrix of numbers"
DISTANCES_INSTEAD_OF_VALUES = r"as distances have it.*: give kernel\(X\), not kernel.distance"


def not_a_matrix_to(training_examples: int) -> str:
    return f"must be a matrix of examples x {training_examples} training examples"


def row_is_not_column(number: int) -> str:
    return f", row {number} is not column {number}"


def other_column(number: int, name: str, fitted: str) -> str:
    """The columns of a given matrix have another order than in fit."""
    return f"column {number} is {name!r}, and was {fitted!r}"


# --- what a model can do ------------------------------------------------------------------------------------------

FITTED_WITHOUT_PROBABILITIES = "fitted without probabilities"
PROBABILITIES_ARE_OFF = "no predict_proba: .*fit it with probability=True"
FIT_AGAIN = "fit again"
CG_MAKES_NO_DECOMPOSITION = "needs the decomposition, which solver='cg' does not make"
CG_DOES_NOT_MAKE_IT = "which solver='cg' does not make"


def no_attribute(estimator: str, name: str) -> str:
    return f"'{estimator}' object has no attribute '{name}'"


def only_with_eigen(parameter: str) -> str:
    """A parameter of RLS that conjugate gradients cannot use."""
    return f"{parameter} of RLS.*solver='eigen'"


def not_from_cg(attribute: str) -> str:
    """A fitted attribute that conjugate gradients do not compute."""
    return f"this RLS has no {attribute}, which solver='cg'"


PARTIAL_FIT_AFTER_FIT = "partial_fit goes on from partial_fit alone"
OTHER_KERNEL_IN_PARTIAL_FIT = "cannot go on with another kernel"
COEFFICIENTS_NOT_FINITE = "finite numbers"


def coefficient_count(coefficients: int, examples: int) -> str:
    return f"{coefficients} coefficients an output for {examples}"


NOT_INDEPENDENT_OF_ORDER = "order|slice|alone"
FEWER_VALUES = "fewer values"
DOES_NOT_RETURN_ITSELF = "does not return"

# --- fragment features --------------------------------------------------------------------------------------------

NO_COLUMNS = "there are no columns"
GIVE_FIT_THE_EXAMPLES = "give fit the examples"
USE_NAMES_OF = "names_of"
USE_FEATURE_NAMES = "get_feature_names_out"
NOT_FEATURES_OF_A_MODEL = "not those of a model"
NO_FRAGMENTS_OF_THIS_MODEL = "fragments are listed for models of"


def too_many_fragments(subtrees: int) -> str:
    return f"{subtrees} distinct subtrees have more than"


# --- numbers and memory -------------------------------------------------------------------------------------------

USE_A_SMALLER_LAM_ONLY = "Use a smaller lam=$"


def score_overflow(example: int) -> str:
    """A score is too large for a float64."""
    return f"example {example} .*smaller lam"


def sketch_overflow(tree: int) -> str:
    """The vector of a tree is too large for its type."""
    return rf"vector of tree {tree} .* smaller lam=, or kernel\.normalized"


LARGER_MAX_ITER = "larger max_iter"
NOT_POSITIVE_SEMIDEFINITE = "not positive semi-definite"
BELOW_ROUNDING_ERRORS = "below the rounding errors"
LARGER_ALPHA = "larger alpha"
SCALE_Y_AND_KERNEL = "scale y and the kernel"


def not_converged(iterations: int) -> str:
    return f"not converged after {iterations} iterations: what is left of y is .*max_iter="


CANDIDATES_TAKE = "candidates takes .* bytes, "
USE_A_BASIS = ".*basis="
GIVE_MORE_MEMORY = ": give more memory="


def vectors_take(trees: int) -> str:
    """The vectors of a sketch do not fit into memory."""
    return rf"the vectors of {trees} trees take .* TreeSketch\.blocks"


def all_are_landmarks(wanted: int, examples: int) -> str:
    return f"{wanted} landmarks are wanted of {examples} examples: all are taken"


# --- selection ----------------------------------------------------------------------------------------------------


def fold(number: int, problem: str) -> str:
    return f"fold {number} of cv= {problem}"


SPLITS_A_QUERY = "takes a query apart"
NOTHING_TO_TEST_ON = "has nothing to test on"
NO_KERNEL = "no kernel"
DOES_NOT_SPLIT = "does not split"
NO_FOLDS = "gives no folds"
TESTS_ON_TRAINING_EXAMPLES = "tests on examples that it was fitted to"
SCORER_GIVES_NO_NUMBER = "gives no number"
NOT_EACH_EXAMPLE_ONCE = "do not test each example once"


def one_example_of(label: str) -> str:
    """A class is too small to be in every fold."""
    return f"{label} has one"


# --- model files --------------------------------------------------------------------------------------------------

SAVE_THE_BEST_ESTIMATOR = "save its best_estimator_"
KEEP_WITH_JOBLIB = "keep it with joblib"
KEEP_ITS_REPR = "repr"
MODEL_COMES_FIRST = "the model comes first"


def unknown_kernel(name: str) -> str:
    """A model file needs a kernel class that treelet does not have."""
    return rf"kernel '{name}' is unknown.*kernels=\[{name}\]"


def cannot_be_saved(kind: str, remedy: str = "") -> str:
    return f"type {kind} cannot be saved{remedy}"


CANNOT_BECOME_THE_TYPE = "cannot become"
OTHER_CONTENT_THAN_ITS_TYPE = "holds what"
NOT_A_MODEL = "no treelet model"
NONSENSE_IN_A_MODEL = "makes no sense"
WORD_VECTORS_MISSING = "word vectors are missing"
ALTERED = "altered"
UPGRADE_TREELET = "upgrade treelet"
BAD_HEADER = "header"


def of_format(version: int) -> str:
    return f"format {version}"
