"""Messages of `treelet.gram`: parameters, cost limits, memory, matrices in files and Dask clusters."""

from __future__ import annotations

# --- parameters ---------------------------------------------------------------------------------------------------

A_DASK_CLIENT = "a dask.distributed.Client"
DTYPE_MUST_BE_THAT_OF_OUT = "must be that of 'out', float64"
A_FILE_NAME = "the name of a file"
OUT_IS_THE_MEMORY_OF_THE_EXAMPLES = "Got the memory of the examples instead"


def wrong_out(shape: str, got: str) -> str:
    """The whole message, as plain text: an array that cannot take the result, or a wrong file name."""
    return (
        f"The 'out' parameter must be a writable float64 or float32 array of shape {shape}, rows contiguous and apart, or "
        f"the name of a .npy or .zarr file. Got {got} instead."
    )


OUT_IS_FOR_VALUES_ONLY = "Omit Y and out="
GIVE_OUT = ".*out="

# --- kernels and examples -----------------------------------------------------------------------------------------

COMPLEX_VECTORS = "not by complex ones"


def does_not_fit(value: str, dtype: str) -> str:
    """A kernel value is too large for the type of the matrix."""
    return f"{value} does not fit a {dtype}"


USE_FLOAT64 = r"\. Use dtype='float64' or kernel\.normalized\(\)\."

# --- cost and memory ----------------------------------------------------------------------------------------------


def costs_more_pairs(limit: str, shape: str = "", kernel: str = "") -> str:
    """A matrix compares more pairs of parts than `limit` allows."""
    return f"{shape} values of {kernel}.* pairs of parts, more than the {limit} pairs"


def costs_more_memory(limit: str) -> str:
    """A matrix needs more memory than `limit` allows."""
    return f"takes about .* KiB, more than the {limit} of limit=: take fewer"


def result_takes(size: str, remedy: str = "") -> str:
    """The matrix does not fit into memory."""
    return f"takes {size} bytes{remedy}"


FEWER_EXAMPLES_OR_FLOAT32_OR_OUT = r".*fewer examples; treelet.gram\(..., dtype='float32'\).*out="
TRAIN_ON_FEWER = "train on fewer examples"
SMALLER_BASIS = "give a smaller basis="
GRAM_INTO_A_FILE = "treelet.gram(..., out='K.npy')"

# --- matrices in files --------------------------------------------------------------------------------------------

ANOTHER_PROCESS_WRITES = "another process or thread is writing it"
NOT_A_FILE = "is no file"
NOT_THE_SAME_MATRIX = "is not the matrix"
NOT_A_ZARR_MATRIX = "is no matrix of float64 or float32 in Zarr's form"
NOT_A_MATRIX = "is no matrix of float64 or float32"
NOT_COMPARABLE = "whose content can be compared"
OF_OTHER_EXAMPLES = "it is of other examples"
OTHER_EXAMPLES = "other examples"


def not_the_matrix(difference: str) -> str:
    """The file has another matrix than the one to compute."""
    return f"{difference}: give another name, or remove K.npy.* and K.npy.*json to start over"


def other_kernel(stored: str, wanted: str) -> str:
    return f"another kernel, {stored}, not {wanted}"


def other_shape(stored: str, wanted: str) -> str:
    return f"{stored} values, not {wanted}"


def tiles_take_more(stored: int, memory: int) -> str:
    """A matrix was begun in tiles that need more than the memory that is given now."""
    return f"was begun in tiles that take memory={stored}, more than {memory}: give that, or"


def other_version(stored: str, this: str) -> str:
    return f"treelet {stored}, not {this}"


OTHER_DTYPE = "its values are float64: give that as dtype"
ONLY_SYMMETRIC_CAN_GROW = "only the matrix of a collection with itself can be extended"


def cannot_shrink(wanted: str, stored: str) -> str:
    return f"cannot be extended to {wanted} values: it has {stored}"


NOT_A_MANIFEST = "is no manifest of a matrix"
PART_CUT_SHORT = "was cut short"
TILES_CHANGED = "1 tiles are not as they were written; they are computed again"

# --- Dask ---------------------------------------------------------------------------------------------------------

CLIENT_CLOSED_MIDWAY = "[Cc]lient is closed"
CLIENT_CLOSED = "the Dask client is closed"
CLUSTER_LOST = "the Dask cluster is lost"
WORKERS_DIED = "Dask workers.* memory= says how much the work of one may take"
NOT_PICKLABLE = "must be picklable: cannot pickle"
DAMAGED_STORE = r"do not fit together|does not come before it|outside 0\.\."

# --- damaged and unreadable matrices ------------------------------------------------------------------------------

NOT_A_FOLDER = "is no folder"
COMPUTED_AGAIN = "computed from its beginning"
NOT_AS_WRITTEN = f"is not as it was written; the matrix is {COMPUTED_AGAIN}"
COMPUTE_IT_AGAIN = r"not as it was written; compute it again, or, if it is right, remove K\.npy\.json"
CHECKSUM = "checksum"
CANNOT_BE_MAPPED = "is complete, but cannot be mapped"


def no_memory_for_threads(threads: int, free: str) -> str:
    return f"no memory for {threads} threads: {free} are free"
