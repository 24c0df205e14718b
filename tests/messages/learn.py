"""Messages of `treelet.learn`: estimators, their parameters and data, given matrices, selection and model files."""

from __future__ import annotations

# --- parameters ---------------------------------------------------------------------------------------------------

A_KERNEL_OR_A_DISTANCE = "a kernel, a distance or None"
MODES_OF_A_DISTANCE = "'distance' or 'connectivity' for a distance"
A_KERNEL_OR_NONE = "a kernel or None"
A_KERNEL_FOR_PARTIAL_FIT = f"{A_KERNEL_OR_NONE} for partial_fit"
A_KERNEL_OR_PRECOMPUTED = "a kernel, 'precomputed' or None"
POSITIVE_NUMBERS = "a sequence of positive numbers"
A_NUMBER = "a number"
NO_KERNEL_BESIDE_A_MODEL = "None if there is a model"
AN_ESTIMATOR = "an estimator"


def at_least_and_less(least: int, most: int) -> str:
    return f"at least {least} and less than {most}"


CLASS_WEIGHTS = "None, 'balanced' or a dict from classes of y to positive numbers"


def kernel_object(name: str) -> str:
    """The name of a kernel was passed instead of an object."""
    return rf".* Did you mean {name}\(\)\?"


def short_kernel_name(name: str) -> str:
    """The name of a kernel on the command line was passed, where it stands for a normalized kernel."""
    return rf".* Did you mean {name}\(\)\.normalized\(\)\?"


def kernel_class(name: str) -> str:
    """The class of a kernel was passed instead of an object."""
    return rf".*Got the class {name} instead\. Did you mean {name}\(\), with parentheses\?"


def not_a_class(label: str, classes: str) -> str:
    return rf"'{label}' is not a class of y\. The classes are {classes}\."


def weight_of_class(label: str, weight: str) -> str:
    return rf"The weight of the class '{label}' is {weight}\."


def unknown_parameter(name: str, hint: str = "") -> str:
    """A kernel has no parameter of this name; `hint` names those that there are."""
    return f"no parameter '{name}'{hint}"


THE_KERNEL_WITHIN_HAS_LAM = r"\. Did you mean 'kernel__syntax__lam'\?$"
MADE_WITH_A_FACTOR = r"\. Multiply by a number to add a factor: 1\.0 \* kernel\."


def no_parameter(estimator: str, name: str, hint: str = "") -> str:
    """An estimator has no parameter of this name."""
    return f"{estimator} has no parameter '{name}'{hint}"


LAM_IS_IN_THE_KERNEL = r"\. It is a parameter of the kernel: use kernel__lam\."
PASS_LAM_TO_THE_KERNEL = r"\. It is a parameter of the kernel: use KernelSVC\(SubsetTree\(lam=\.\.\.\)\)\."
IN_THE_GRID = " for the grid"
KERNELS_ARE_NOT_IN_THE_GRID = rf"{IN_THE_GRID}\. Pass kernels as the first argument\."


def did_you_mean(name: str) -> str:
    return rf"\. Did you mean '{name}'\?"


def a_basis(examples: int) -> str:
    return f"None, an int from 1 to {examples}, or a list of distinct rows from 0 to {examples - 1}"


TWO_FOLDS = "an int of at least 2, a splitter or a list of splits"
A_SCORER = r"a name in sklearn.metrics.get_scorer_names\(\), a function or None"
WRONG_RANDOM_STATE = r"3\.5|random_state"
A_KERNEL_TO_SKETCH = "a SubsetTree or PartialTree kernel, normalized or not, or None"


def at_least_for_a_sketch(least: str) -> str:
    return f"at least {least} for TreeSketch"


NORMALIZED_FOR_UNIT_VECTORS = r"normalized for TreeSketch\.unit_vectors"


# --- examples, targets and groups ---------------------------------------------------------------------------------

EMPTY_X = "X is empty"
Y_IS_MISSING = "y is missing: fit needs the class or value of each example"
NEEDS_Y = "y is missing: (fit needs the value|a ranker needs the quality) of each example"


def lengths_differ(examples: int, name: str, values: int) -> str:
    """An array beside X has another length."""
    return rf"X has {examples} examples, but {name} has {values} values\. Pass one value per example"


def missing_value(name: str, example: int, missing: int = 1) -> str:
    """An array beside X has no value for an example; `missing` of them, if more than one."""
    count = "1 missing value" if missing == 1 else f"{missing} missing values"
    return (
        rf"{name}\[{example}\] is missing \(None or NaN; {count} in total\)\. "
        f"Remove the examples without a value from X(, y)? and {name}"
    )


def infinite_value(name: str, example: int) -> str:
    """An array beside X has an infinite value."""
    return rf"{name}\[{example}\] is infinite \(\d+ infinite values? in total\)\. Remove such examples from X"


COMPLEX_VALUES = r"contains complex numbers \(complex128\)\. Pass real numbers"


def value_count(name: str, count: int) -> str:
    """An array has another length than the training data."""
    return f"{name} has {count} value"


def one_dimension(name: str) -> str:
    return f"{name} must have one dimension"


NOT_CLASSES = r"y does not contain classes \(.*\)\. Pass one string, int or bool per example"


def continuous_values(value: str, example: int) -> str:
    """A classifier got numbers to predict."""
    return (
        rf"y contains numbers that are not whole, such as y\[{example}\] = {value}, but KernelSVC predicts classes\. "
        r"To predict numbers, use KernelSVR or RLS\. To predict classes, pass one class label per example\."
    )


Y_IS_NOT_NUMBERS = r"y must contain one number per example\. Got (the string '.*'|an? \w+) for y\[\d+\] instead\."
Y_HAS_NO_OUTPUTS = "y has no columns: pass at least one value per example"
QID_OF_WRONG_TYPE = r"qid must contain numbers or strings\. Got an? \w+ for qid\[\d\] instead"


def one_class_only(label: str) -> str:
    """All examples have one label."""
    return (
        f"y contains only the class {label}, but KernelSVC needs at least two classes. "
        "Check y, or add examples of another class"
    )


ALL_WEIGHTS_ZERO = "All values of sample_weight are 0"


def negative_weight(got: str, example: int) -> str:
    return rf"sample_weight must contain numbers of at least 0\. Got {got} for sample_weight\[{example}\] instead"


NEEDS_QID = (
    r"qid is missing: (RankSVM|RankRLS|VotedPerceptron|a ranker) needs to know which examples belong to the same sentence "
    r"or query. Pass one group number per example, for example fit\(X, y, qid="
)
QID_IS_NEEDED = r"qid is missing: candidates are compared only within a sentence or query\. Pass the sentence or query"
VOTED_NEEDS_QID = (
    "qid is missing: with prediction='voted', predict needs to know which examples belong to the same sentence"
)


def not_a_ranker(estimator: str) -> str:
    return rf"{estimator} is not a ranker and does not accept qid\. Pass groups= instead"


def nothing_to_rank(groups: int) -> str:
    """No group has two candidates, one better than the other."""
    return f"There is nothing to learn: none of the {groups} groups has two candidates with different values of y"


NO_PAIR_IN_THE_ONLY_GROUP = "There is nothing to learn: the only group has no two candidates with different values of y"
QUERIES_MUST_BE_WHOLE = (
    r"The group of example \d+ contains only some of the candidates of a query\. Each group must contain whole queries"
)
TOO_FEW_GROUPS = "at least two groups with several candidates"
HARDLY_ANY_SIMILARITY = "Hardly any training examples are similar: .*0.05.*smaller lam="
NOT_OF_ONE_KIND = "Collections can be concatenated if they are of one kind"


def kernel_is_zero(examples: int) -> str:
    return f"There is nothing to learn: the kernel is 0 for all of {examples} examples."


def nothing_in_common(examples: int, all_examples: int, labels: str = "") -> str:
    """Examples have no fragment in common with the model."""
    return rf"^{examples} of {all_examples} examples? ha(s|ve) no fragment in common with the model, so .*{labels}\.$"


def labels_differ(trained: str, here: str) -> str:
    return rf" Frequent node labels in training: {trained}; here: {here}"


# --- given matrices -----------------------------------------------------------------------------------------------

PRECOMPUTED = "precomputed"
OUTPUTS_OF_UNEQUAL_NUMBER = "y must contain the same number of values for every example"
NOT_SQUARE = r"must be a square matrix of the training examples\. Got an array of shape "
NOT_FINITE = r"must contain finite numbers\. Got (nan|inf) in row \d+, column \d+"
NOT_SYMMETRIC = "must be symmetric"
NOT_NUMBERS = "must be a matrix of numbers"
DISTANCES_INSTEAD_OF_VALUES = r"the diagonal is 0, as for distances\. Pass kernel\(X\) instead of kernel.distance"


def not_a_matrix_to(training_examples: int) -> str:
    return f"must be a matrix of examples x {training_examples} training examples"


def row_is_not_column(number: int) -> str:
    return f", but row {number} differs from column {number}"


def other_column(number: int, name: str, fitted: str) -> str:
    """The columns of a given matrix have another order than in fit."""
    return rf"Column {number} is {name!r} but was {fitted!r}\. Reorder them"


# --- what a model can do ------------------------------------------------------------------------------------------

FIT_AGAIN = (
    r"needs the eigendecomposition, which copies, pickles and model files do not contain\. Fit the estimator again"
)
NOT_COMPUTED_BY_CG = r"the eigendecomposition, which solver='cg' does not compute\. Fit with solver='eigen'"


def only_with_eigen(parameter: str) -> str:
    """A parameter of RLS that conjugate gradients cannot use."""
    return f"{parameter} of RLS needs {NOT_COMPUTED_BY_CG}"


PARTIAL_FIT_AFTER_FIT = "partial_fit can continue only from partial_fit, not from fit or from a model file"
OTHER_KERNEL_IN_PARTIAL_FIT = r"partial_fit cannot continue with .*: the earlier parts were fitted with "
COEFFICIENTS_NOT_FINITE = "coefficients of a model must be finite numbers"


def coefficient_count(coefficients: int, examples: int) -> str:
    return f"There are {coefficients} coefficients per output for {examples} example"


NOT_INDEPENDENT_OF_ORDER = "order|slice|alone"
FEWER_VALUES = "fewer values"
DOES_NOT_RETURN_ITSELF = "does not return"

# --- fragment features --------------------------------------------------------------------------------------------

NO_COLUMNS = "found no fragment with a nonzero weight, so the result has no columns"
GIVE_FIT_THE_EXAMPLES = r"is not fitted\. Pass the examples X and y to fit"
NOT_FEATURES_OF_A_MODEL = "The fragments were not selected from a model, so they have no weights"
NO_FRAGMENTS_OF_THIS_MODEL = (
    r"The fragments of Linear\(\) cannot be listed\. Use one of the kernels Subtree, SubsetTree"
)


# --- numbers and memory -------------------------------------------------------------------------------------------

USE_A_SMALLER_LAM_ONLY = r"Use a smaller lam=\.$"


def too_large_for_libsvm(value: str) -> str:
    """libsvm stores kernel values as float32."""
    return rf"^The kernel values reach {value}, but libsvm needs values below 1e\+30\. Use a normalized kernel or"


def score_overflow(example: int) -> str:
    """A score is too large for a float64."""
    return f"The score of item {example} is too large for a float64.*smaller lam"


def sketch_overflow(tree: int) -> str:
    """The vector of a tree is too large for its type."""
    return rf"vector of tree {tree} .* smaller lam=, or kernel\.normalized"


LARGER_MAX_ITER = "larger max_iter"
NOT_POSITIVE_SEMIDEFINITE = "not positive semi-definite"
BELOW_ROUNDING_ERRORS = "below the rounding errors"
LARGER_ALPHA = "larger alpha"
SCALE_Y_AND_KERNEL = "scale y and the kernel"


def not_converged(iterations: int) -> str:
    return (
        f"not converged after {iterations} iterations?: the relative residual is .*, but the tolerance is .*max_iter="
    )


CANDIDATES_TAKE = r"The matrix of \d+ candidates takes .* bytes, "
USE_A_BASIS = r"\. Increase memory=, or use a smaller basis="
INCREASE_MEMORY = r"\. Increase memory=, or "


def vectors_take(trees: int) -> str:
    """The vectors of a sketch do not fit into memory."""
    return rf"The vectors of {trees} trees take .* bytes and do not fit in memory\. .* TreeSketch\.blocks"


def all_are_landmarks(wanted: int, examples: int) -> str:
    return (
        f"n_components={wanted} exceeds the number of training examples, {examples}, so all examples become landmarks"
    )


# --- selection ----------------------------------------------------------------------------------------------------


def fold(number: int, problem: str) -> str:
    return f"Fold {number} of cv= {problem}"


SPLITS_A_QUERY = "splits a query into training and test candidates"
NOTHING_TO_TEST_ON = "has no test examples"
NO_KERNEL = "kernels is empty: select needs at least one kernel"
CANNOT_SPLIT = "cv= cannot split"
NO_FOLDS = "cv= contains no folds"
TESTS_ON_TRAINING_EXAMPLES = r"has example \d+ in both its training and its test examples"
SCORER_GIVES_NO_NUMBER = r"scoring= returns NaN for the fold that tests example \d+"
NOT_EACH_EXAMPLE_ONCE = "do not test each example exactly once per round"


def one_example_of(label: str) -> str:
    """A class is too small to be in every fold."""
    return rf"Cross-validation needs at least two examples per class\. Class {label} has only one"


# --- model files --------------------------------------------------------------------------------------------------

SAVE_THE_BEST_ESTIMATOR = r"save cannot store a GridSearchCV\. Save its best_estimator_ instead"
SAVE_THE_BEST_LAST_STEP = r"save cannot store a GridSearchCV\. Save its best_estimator_\[-1\] instead"
SAVE_THE_LAST_STEP = r"save cannot store a Pipeline\. Save its last step, pipeline\[-1\], instead"
KEEP_WITH_JOBLIB = r"save cannot store a Pipeline, because .*\. Use joblib.dump instead"
KEEP_ITS_REPR = r"save cannot store a kernel \(SubsetTree\)\. Store its repr instead"
MODEL_COMES_FIRST = r"save needs the model as the first argument and the file as the second\. Got a str first"


def unknown_kernel(name: str) -> str:
    """A model file needs a kernel class that treelet does not have."""
    return rf"kernel '{name}' is unknown.*kernels=\[{name}\]"


def cannot_be_saved(kind: str, remedy: str = "") -> str:
    return rf"save cannot store {kind}\. It accepts these types: {remedy}"


def cannot_be_in_a_model(kind: str) -> str:
    return f"A model file cannot store {kind}: "


CANNOT_BECOME_THE_TYPE = "cannot be converted to"
OTHER_CONTENT_THAN_ITS_TYPE = "contains values that do not fit"
NOT_A_MODEL = "the file is not a treelet model"
TREES_INSTEAD_OF_A_MODEL = "the file contains trees, not a saved model"
INVALID_MODEL = "the checksum is correct, but the content is invalid"
WORD_VECTORS_MISSING = "word vectors are missing"
ALTERED = "the model was altered"
UPGRADE_TREELET = "Upgrade treelet"
BAD_HEADER = "header"


def of_format(version: int) -> str:
    return f"format {version}"
