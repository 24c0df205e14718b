"""Devices: where arrays are stored, and how device code is launched. All launches go through this module.

The device code (``cuda/*.cu``) is CUDA without library headers. `_Cuda` compiles the code for a GPU with CuPy. `_Emulated`
uses a CPU build of the same source, which runs the threads one after the other, so tests need no GPU. Python code that
prepares the work is written once, with the functions that NumPy and CuPy share (`Device.xp`).
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import DeviceMemoryError, TreeletError

_SOURCES = Path(__file__).parent / "cuda"
_PIECE = 1 << 26  # bytes that are copied to the host at once
_PIECES = 6  # copies in progress at the same time
_LETTERS = {"int32": "I", "int64": "L", "float32": "F", "float64": "D"}
Array = Any
"""An array of the device."""


class Device(ABC):
    """Hardware, or its emulation, that stores arrays and runs device code."""

    name: str
    xp: Any
    """The array module of the device: NumPy or CuPy."""

    @abstractmethod
    def _start(self, kernel: str, blocks: int, threads: int, letters: str, pointers: Any) -> None:
        """Launch a kernel. The pointers are the addresses of its parameters, and `letters` their types."""

    def launch(self, kernel: str, blocks: int, threads: int, *parameters: Any) -> None:
        """Launch a kernel with `threads` threads per block, a multiple of 32. Parameters are arrays, ints and floats."""
        self.series(kernel, threads, *parameters)(blocks)

    def series(self, kernel: str, threads: int, *parameters: Any) -> Callable[..., None]:
        """Return a function that launches a kernel repeatedly, with different leading ints.

        ``start(blocks, 3, 4)`` passes the ints 3 and 4 before the other parameters.
        """
        # With the parameters themselves, because arrays must live as long as their addresses are used.
        fixed = [(*_as_parameter(parameter), parameter) for parameter in parameters]
        letters = "".join(letter for letter, _, _ in fixed)

        def start(blocks: int, *numbers: int) -> None:
            values = [*(ctypes.c_longlong(number) for number in numbers), *(value for _, value, _ in fixed)]
            pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
            if blocks:
                self._start(kernel, blocks, threads, "l" * len(numbers) + letters, pointers)

        return start

    @abstractmethod
    def exact_product(self, A: Array, B: Array) -> Array:
        """Return A B' in float32, which is exact for float16 matrices of integers whose products stay below 2**24."""

    @abstractmethod
    def to_host(self, array: Array) -> NDArray[Any]:
        """Return a copy of the array in host memory."""

    @abstractmethod
    def free_bytes(self) -> int:
        """Return the number of bytes that can be allocated."""

    def described(self) -> str:
        """Return the name of the device and the size of its memory."""
        return self.name

    def copy(self, values: Array, out: NDArray[Any]) -> None:
        """Copy values to an array in host memory."""
        out[...] = self.to_host(values)

    @contextmanager
    def limited(self, memory: int | None) -> Iterator[None]:
        """Limit the allocated bytes inside a ``with`` block. None means no limit."""
        yield

    def mirror(self, matrix: Array, begin: int, end: int) -> None:
        """Copy the values below the diagonal of a square matrix to columns ``begin..end`` above the diagonal."""
        blocks = -(-end * (end - begin) // 256)
        step = matrix.strides[0] // matrix.itemsize
        kernel = "mirror" if matrix.dtype == np.float64 else "mirror_single"
        self.launch(kernel, blocks, 256, matrix, step, begin, end)

    def out_of_memory(self, error: BaseException) -> DeviceMemoryError | None:
        """Return the error to raise if `error` means that the memory of the device is full, else None."""
        if isinstance(error, DeviceMemoryError):
            return error
        if type(error).__name__ != "OutOfMemoryError" and not isinstance(error, MemoryError):
            return None
        reason = str(error).rstrip(".")
        return DeviceMemoryError(
            f"The memory of device={self.name!r} is full: {reason}. Increase device_memory= if it is set, "
            f"or use device='cpu'."
        )

    def array(self, values: Any, dtype: Any = None) -> Array:
        """Return the values as a contiguous array on the device."""
        return self.xp.asarray(np.ascontiguousarray(values, dtype))


class _Emulated(Device):
    """The CPU build of the device code, for tests."""

    name = "emulated"
    xp = np

    def __init__(self, free: int = 1 << 32) -> None:
        library = Path(_core.__file__).with_name("emulated.so")
        if not library.exists():
            raise TreeletError(
                "device='emulated' is only for tests. Run 'make setup' in a source checkout to build it."
            )
        self._launch = ctypes.CDLL(str(library)).treelet_launch
        self._launch.argtypes = [
            ctypes.c_char_p,
            ctypes.c_longlong,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_void_p),
        ]
        self._free = free

    def _start(self, kernel: str, blocks: int, threads: int, letters: str, pointers: Any) -> None:
        if self._launch(kernel.encode(), blocks, threads, letters.encode(), pointers):
            raise TypeError(f"The device code has no kernel {kernel!r} with parameters of the types {letters!r}.")

    def exact_product(self, A: Array, B: Array) -> Array:
        return A.astype(np.float32) @ B.astype(np.float32).T

    def to_host(self, array: Array) -> NDArray[Any]:
        return np.asarray(array)

    def free_bytes(self) -> int:
        return self._free

    @contextmanager
    def limited(self, memory: int | None) -> Iterator[None]:
        before = self._free
        self._free = before if memory is None else min(before, memory)
        try:
            yield
        finally:
            self._free = before


class _Cuda(Device):
    """An NVIDIA GPU, used through CuPy."""

    name = "cuda"

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            absent = isinstance(error, ModuleNotFoundError) and error.name == "cupy"
            problem = "is not installed" if absent else f"cannot be imported ({error})"
            raise TreeletError(
                f"device='cuda' needs CuPy, which {problem}. "
                f"Install it with pip install 'treelet[cuda]', or use device='cpu'."
            ) from None
        try:
            if cupy.cuda.runtime.getDeviceCount() < 1:
                raise RuntimeError("no device")
        except Exception as error:  # the driver can raise anything
            raise TreeletError(
                f"device='cuda' needs an NVIDIA GPU, but CuPy does not find one ({error}). Use device='cpu'."
            ) from None
        self.xp = cupy
        self._modules: list[Any] = []
        self._kernels: dict[str, Any] = {}
        self._buffers: dict[int, Any] = {}
        self._copying = Lock()
        try:
            self._compile(cupy)
        except Exception as error:  # a broken toolkit can raise anything
            reason = " ".join(str(error).split())[:500]
            raise TreeletError(
                f"device='cuda' needs the compiler and cuBLAS of the CUDA toolkit ({reason}). Install them "
                f"with pip install 'treelet[cuda]', or use device='cpu'."
            ) from error

    def _compile(self, cupy: Any) -> None:
        from cupy_backends.cuda.api import driver
        from cupy_backends.cuda.libs import cublas

        self._driver, self._cublas = driver, cublas
        for source in sorted(_SOURCES.glob("*.cu")):
            module = cupy.RawModule(code=source.read_text(encoding="utf-8"), options=("--std=c++17", f"-I{_SOURCES}"))
            self._modules.append(module)
            for kernel in _kernels_in(source):
                self._kernels[kernel] = module.get_function(kernel).kernel.ptr

    def described(self) -> str:
        properties = self.xp.cuda.runtime.getDeviceProperties(self.xp.cuda.runtime.getDevice())
        return f"{properties['name'].decode()}, {properties['totalGlobalMem'] / (1 << 30):.0f} GiB"

    def _start(self, kernel: str, blocks: int, threads: int, letters: str, pointers: Any) -> None:
        stream = self.xp.cuda.get_current_stream().ptr
        self._driver.launchKernel(
            *(self._kernels[kernel], blocks, 1, 1, threads, 1, 1, 0, stream, ctypes.addressof(pointers), 0)
        )

    def exact_product(self, A: Array, B: Array) -> Array:
        cublas = self._cublas
        (m, k), n = A.shape, B.shape[0]
        out = self.xp.empty((m, n), np.float32)
        if not k:
            out[...] = 0
            return out
        unit, zero = np.ones((), np.float32), np.zeros((), np.float32)
        half, single, exact = 2, 0, 68  # CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F
        cublas.gemmEx(  # cuBLAS stores matrices by column, so it computes out' = B A'
            self.xp.cuda.device.get_cublas_handle(),
            *(cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N),
            *(n, m, k, unit.ctypes.data),
            *(B.data.ptr, half, k, A.data.ptr, half, k, zero.ctypes.data),
            *(out.data.ptr, single, n, exact, -1),
        )
        return out

    def to_host(self, array: Array) -> NDArray[Any]:
        host: NDArray[Any] = self.xp.asnumpy(array)
        return host

    def copy(self, values: Array, out: NDArray[Any]) -> None:
        """Copy values to an array in host memory.

        Large arrays are copied in pieces to pinned memory, while threads move finished pieces to `out`.
        """
        values = self.xp.ascontiguousarray(values)
        if values.nbytes < _PIECE or not len(out):
            out[...] = self.to_host(values)
            return
        rows = max(1, _PIECE // (values.nbytes // len(out)))
        pieces = [slice(begin, min(begin + rows, len(out))) for begin in range(0, len(out), rows)]
        shape = rows, *values.shape[1:]
        with self._copying:
            self._copy_pieces(values, out, pieces, shape)

    def _copy_pieces(self, values: Array, out: NDArray[Any], pieces: list[slice], shape: tuple[int, ...]) -> None:
        buffers = [self._pinned(number, shape, values.dtype) for number in range(_PIECES)]
        stream = self.xp.cuda.Stream(non_blocking=True)
        self.xp.cuda.get_current_stream().synchronize()
        with ThreadPoolExecutor(_PIECES, "treelet-copy") as pool:
            waiting: list[Any] = [None] * _PIECES

            def written(event: Any, buffer: NDArray[Any], piece: slice) -> None:
                event.synchronize()
                np.copyto(out[piece], buffer)

            for number, piece in enumerate(pieces):
                slot = number % _PIECES
                if waiting[slot] is not None:
                    waiting[slot].result()
                target = buffers[slot][: piece.stop - piece.start]
                values[piece].get(stream=stream, out=target, blocking=False)
                waiting[slot] = pool.submit(written, stream.record(), target, piece)
            for last in waiting:
                if last is not None:
                    last.result()

    def _pinned(self, number: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = self._buffers.get(number)
        if buffer is None or buffer.size() < size:
            buffer = self._buffers[number] = self.xp.cuda.alloc_pinned_memory(size)
        return np.frombuffer(buffer, dtype, int(np.prod(shape))).reshape(shape)

    @contextmanager
    def limited(self, memory: int | None) -> Iterator[None]:
        pool = self.xp.get_default_memory_pool()
        before = pool.get_limit()
        if memory is not None:
            pool.free_all_blocks()
            limit = pool.used_bytes() + memory
            pool.set_limit(size=min(limit, before) if before else limit)
        try:
            yield
        finally:
            if memory is not None:
                pool.set_limit(size=before)

    def free_bytes(self) -> int:
        pool = self.xp.get_default_memory_pool()
        free = int(self.xp.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
        limit = int(pool.get_limit())
        return min(free, limit - int(pool.used_bytes())) if limit else free


def _as_parameter(value: Any) -> tuple[str, Any]:
    """Return the letter of a parameter's type, and its C value. For an array, this is its address."""
    if hasattr(value, "dtype") and getattr(value, "shape", ()) != ():
        address = value.ctypes.data if isinstance(value, np.ndarray) else value.data.ptr
        return _LETTERS[str(value.dtype)], ctypes.c_void_p(address)
    return ("d", ctypes.c_double(value)) if isinstance(value, float) else ("l", ctypes.c_longlong(int(value)))


def _kernels_in(source: Path) -> list[str]:
    """Return the names of the kernels in a source file."""
    return [
        line.split()[1].split("(")[0]
        for line in source.read_text(encoding="utf-8").splitlines()
        if line.startswith("KERNEL ")
    ]


@cache
def device_named(name: str) -> Device:
    """Return the device with this name, with its code compiled."""
    return _Cuda() if name == "cuda" else _Emulated()
