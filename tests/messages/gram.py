"""Messages of `treelet.gram`: parameters, cost limits, memory, matrices in files and Dask clusters."""

from __future__ import annotations

# --- parameters ---------------------------------------------------------------------------------------------------

A_DASK_CLIENT = "a dask.distributed.Client"
DTYPE_MUST_BE_THAT_OF_OUT = "must be float64, the dtype of 'out'"
A_FILE_NAME = r"a path ending in \.npy"
OUT_SHARES_MEMORY = "Got an array that shares memory with the examples instead"


def wrong_out(shape: str, got: str) -> str:
    """The whole message, as plain text: an array that cannot take the result."""
    return (
        f"The 'out' parameter of gram must be a writable float64 or float32 array of shape {shape} with contiguous, "
        f"non-overlapping rows. Got {got} instead."
    )


def neither_array_nor_path(got: str) -> str:
    """The whole message, as plain text: a wrong file name or another object."""
    return f"The 'out' parameter of gram must be an array or a path ending in .npy. Got {got} instead."


OUT_IS_FOR_VALUES_ONLY = "Omit Y and out="
GIVE_OUT = ".*out="

# --- kernels and examples -----------------------------------------------------------------------------------------

COMPLEX_VECTORS = "cannot be multiplied by complex vectors"


def does_not_fit(value: str, dtype: str) -> str:
    """A kernel value is too large for the type of the matrix."""
    return f"{value} is too large for a {dtype}"


USE_FLOAT64 = r"\. Use dtype='float64' or kernel\.normalized\(\)\."

# --- memory ---------------------------------------------------------------------------------------------------------


def result_takes(size: str, remedy: str = "") -> str:
    """The matrix does not fit into memory."""
    return f"takes {size} bytes{remedy}"


FEWER_EXAMPLES_OR_FLOAT32_OR_OUT = (
    r".*Use fewer examples, treelet.gram\(..., dtype='float32'\).*or out='K.npy' for a file"
)
TRAIN_ON_FEWER = "Train on fewer examples, or train a linear model of scikit-learn on the vectors of treelet.TreeSketch"
SMALLER_BASIS = "Use a smaller basis= of examples."
GRAM_INTO_A_FILE = "treelet.gram(..., out='K.npy')"

# --- matrices in files --------------------------------------------------------------------------------------------

ANOTHER_PROCESS_WRITES = "another process or thread is writing this file"
NOT_A_FILE = "not a file"
NOT_A_MATRIX = "not a float64 or float32 matrix"
NOT_COMPARABLE = "The content of an? .* cannot be compared, as resume= requires"
FLOAT64_INSTEAD_OF_FLOAT32 = "has float64 values instead of float32"
OTHER_EXAMPLES = "was computed from other examples"


def not_the_matrix(difference: str) -> str:
    """The file contains another matrix than the requested one."""
    return rf"{difference}\. Choose another name, or remove K\.npy.* and K\.npy.*json to start over\."


def other_kernel(stored: str, wanted: str) -> str:
    return f"was computed with another kernel, {stored}, instead of {wanted}"


def other_shape(stored: str, wanted: str) -> str:
    return f"has {stored} values instead of {wanted}"


def tiles_take_more(stored: int, memory: int) -> str:
    """The interrupted call had more memory than the resumed call."""
    return (
        rf"the interrupted call had memory={stored}, more than the {memory} bytes of this call\. Pass at least the same"
    )


def other_version(stored: str, this: str) -> str:
    return f"was computed by treelet {stored} instead of {this}"


NOT_A_MANIFEST = "not a valid manifest of a matrix"
PART_CUT_SHORT = r"not a float64 or float32 matrix \(.*115,200 bytes.*4,872"
TILES_CHANGED = r"the file has changed since it was written\. Computing again: 1 tile\."

# --- Dask ---------------------------------------------------------------------------------------------------------

CLIENT_CLOSED_MIDWAY = "([Cc]lient is closed|after closing)[^\n]*$"
CLIENT_CLOSED = "The Dask client is closed. Create a new client"
CLUSTER_LOST = "The connection to the Dask cluster is lost"
WORKERS_DIED = "Dask workers.* Reduce memory=, the limit of treelet per worker"
NOT_PICKLABLE = "must be picklable for Dask workers: cannot pickle"
DAMAGED_STORE = r"do not fit together|does not come before it|outside 0\.\."

# --- damaged and unreadable matrices ------------------------------------------------------------------------------

COMPUTED_AGAIN = r"The whole matrix is computed again\."
NOT_AS_WRITTEN = rf"the file has changed since it was written\. {COMPUTED_AGAIN}"
CANNOT_BE_MAPPED = "the matrix is complete, but cannot be mapped into memory"


def no_memory_for_threads(threads: str, free: str) -> str:
    return f"Not enough memory to start {threads}: only {free} are free"


CANNOT_START_THREADS = r"^The system cannot start a thread\. Raise the limit on memory"
