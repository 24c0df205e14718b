"""Devices: where arrays are, and how device code is started on them. All launches go through here.

The device code (``cuda/*.cu``) is CUDA without any library's headers. `Cuda` compiles it for a GPU by CuPy; `Emulated` has it compiled for
the CPU, where one thread after the other does what the threads of a GPU do, so that the same source is tested without one. What prepares
the work is written once, in the functions that NumPy and CuPy share (`Device.xp`).
"""

from __future__ import annotations

import ctypes
import sys
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
from treelet.vocabulary import keyword

SOURCES = Path(__file__).parent / "cuda"
PIECE = 1 << 26  # bytes that are copied to the host at once
PIECES = 6  # of them under way
_LETTERS = {"int32": "I", "int64": "L", "float32": "F", "float64": "D"}
Array = Any
"""One of the device's."""


class Device(ABC):
    """A place where arrays are and device code runs."""

    name: str
    xp: Any
    """NumPy's functions, for the device's arrays."""

    @abstractmethod
    def _start(self, kernel: str, blocks: int, threads: int, given: str, pointers: Any) -> None:
        """Start device code that gets what the pointers point to."""

    def launch(self, kernel: str, blocks: int, threads: int, *parameters: Any) -> None:
        """Start device code, `threads` (a multiple of 32) a block. Arrays, ints and floats are its parameters."""
        self.series(kernel, threads, *parameters)(blocks)

    def series(self, kernel: str, threads: int, *parameters: Any) -> Callable[..., None]:
        """The same several times, with other numbers first: ``start(blocks, 3, 4)`` has the ints 3 and 4 before the parameters."""
        fixed = [_as_parameter(parameter) for parameter in parameters]
        letters = "".join(letter for letter, _ in fixed)

        def start(blocks: int, *numbers: int) -> None:
            values = [*(ctypes.c_longlong(number) for number in numbers), *(value for _, value in fixed)]
            pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
            if blocks:
                self._start(kernel, blocks, threads, "l" * len(numbers) + letters, pointers)

        return start

    @abstractmethod
    def exact_product(self, A: Array, B: Array) -> Array:
        """A B' in float32, of float16 matrices of whole numbers whose products stay below 2**24: exact."""

    @abstractmethod
    def to_host(self, array: Array) -> NDArray[Any]:
        """A copy in the host's memory."""

    @abstractmethod
    def free_bytes(self) -> int:
        """How much memory can be had."""

    def described(self) -> str:
        """What it is called, and how much memory it has."""
        return self.name

    def copy(self, values: Array, out: NDArray[Any]) -> None:
        """Copy to an array in the host's memory."""
        out[...] = self.to_host(values)

    @contextmanager
    def limited(self, memory: int | None) -> Iterator[None]:
        """Take no more than so many bytes; None for all there are."""
        yield

    def mirror(self, matrix: Array, begin: int, end: int) -> None:
        """Complete columns ``begin..end`` of a square matrix above the diagonal from what lies below it."""
        blocks = -(-end * (end - begin) // 256)
        step = matrix.strides[0] // matrix.itemsize
        kernel = "mirror" if matrix.dtype == np.float64 else "mirror_single"
        self.launch(kernel, blocks, 256, matrix, step, begin, end)

    def array(self, values: Any, dtype: Any = None) -> Array:
        """The values, on the device, contiguous."""
        return self.xp.asarray(np.ascontiguousarray(values, dtype))


class Emulated(Device):
    """The CPU build of the device code."""

    name = "emulated"
    xp = np

    def __init__(self, free: int = 1 << 32) -> None:
        library = Path(_core.__file__).with_name("emulated.so")
        if not library.exists():
            raise TreeletError("device='emulated' is for the tests, and there only in an installation by 'make setup'")
        self._launch = ctypes.CDLL(str(library)).treelet_launch
        self._launch.argtypes = [
            ctypes.c_char_p,
            ctypes.c_longlong,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_void_p),
        ]
        self._free = free

    def _start(self, kernel: str, blocks: int, threads: int, given: str, pointers: Any) -> None:
        if self._launch(kernel.encode(), blocks, threads, given.encode(), pointers):
            raise TypeError(f"no device code {kernel} takes {given}")

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


class Cuda(Device):
    """An NVIDIA GPU, by CuPy."""

    name = "cuda"

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            raise TreeletError(
                f"{keyword('device', 'cuda')} needs CuPy: pip install 'treelet[cuda]' ({error}); {keyword('device', 'cpu')} needs nothing"
            ) from None
        try:
            if cupy.cuda.runtime.getDeviceCount() < 1:
                raise RuntimeError("there is none")
        except Exception as error:  # whatever the driver says
            raise TreeletError(
                f"{keyword('device', 'cuda')} needs an NVIDIA GPU, and CuPy finds none ({error}); use {keyword('device', 'cpu')}"
            ) from None
        self.xp = cupy
        self._modules: list[Any] = []
        self._kernels: dict[str, Any] = {}
        self._buffers: dict[int, Any] = {}
        self._copying = Lock()
        try:
            self._compile(cupy)
        except Exception as error:  # whatever is wrong with the toolkit
            said = " ".join(str(error).split())[:500]
            raise TreeletError(
                f"{keyword('device', 'cuda')} needs the CUDA toolkit's compiler and cuBLAS, as pip install 'treelet[cuda]' puts them "
                f"beside CuPy ({said}); {keyword('device', 'cpu')} needs nothing"
            ) from error

    def _compile(self, cupy: Any) -> None:
        from cupy_backends.cuda.api import driver
        from cupy_backends.cuda.libs import cublas

        self._driver, self._cublas = driver, cublas
        for source in sorted(SOURCES.glob("*.cu")):
            module = cupy.RawModule(code=source.read_text(), options=("--std=c++17", f"-I{SOURCES}"))
            self._modules.append(module)
            for kernel in _kernels_in(source):
                self._kernels[kernel] = module.get_function(kernel).kernel.ptr

    def described(self) -> str:
        properties = self.xp.cuda.runtime.getDeviceProperties(self.xp.cuda.runtime.getDevice())
        return f"{properties['name'].decode()}, {properties['totalGlobalMem'] / (1 << 30):.0f} GiB"

    def _start(self, kernel: str, blocks: int, threads: int, given: str, pointers: Any) -> None:
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
        cublas.gemmEx(  # column by column: out' = B A'
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
        """By pieces through memory that the GPU can write to, while threads write what has come."""
        values = self.xp.ascontiguousarray(values)
        if values.nbytes < PIECE or not len(out):
            out[...] = self.to_host(values)
            return
        rows = max(1, PIECE // (values.nbytes // len(out)))
        pieces = [slice(begin, min(begin + rows, len(out))) for begin in range(0, len(out), rows)]
        shape = rows, *values.shape[1:]
        with self._copying:
            self._copy_pieces(values, out, pieces, shape)

    def _copy_pieces(self, values: Array, out: NDArray[Any], pieces: list[slice], shape: tuple[int, ...]) -> None:
        buffers = [self._pinned(number, shape, values.dtype) for number in range(PIECES)]
        stream = self.xp.cuda.Stream(non_blocking=True)
        self.xp.cuda.get_current_stream().synchronize()
        with ThreadPoolExecutor(PIECES, "treelet-copy") as pool:
            waiting: list[Any] = [None] * PIECES

            def written(event: Any, buffer: NDArray[Any], piece: slice) -> None:
                event.synchronize()
                np.copyto(out[piece], buffer)

            for number, piece in enumerate(pieces):
                slot = number % PIECES
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
        kept = self._buffers.get(number)
        if kept is None or kept.size() < size:
            kept = self._buffers[number] = self.xp.cuda.alloc_pinned_memory(size)
        return np.frombuffer(kept, dtype, int(np.prod(shape))).reshape(shape)

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
    """Its letter, and what it is for C: arrays by where they are."""
    if hasattr(value, "dtype") and getattr(value, "shape", ()) != ():
        address = value.ctypes.data if isinstance(value, np.ndarray) else value.data.ptr
        return _LETTERS[str(value.dtype)], ctypes.c_void_p(address)
    return ("d", ctypes.c_double(value)) if isinstance(value, float) else ("l", ctypes.c_longlong(int(value)))


def _kernels_in(source: Path) -> list[str]:
    """The names of the kernels that a file has."""
    return [line.split()[1].split("(")[0] for line in source.read_text().splitlines() if line.startswith("KERNEL ")]


@cache
def device_named(name: str) -> Device:
    """The device of that name, its code compiled."""
    return Cuda() if name == "cuda" else Emulated()


def functions_of(array: Array) -> Any:
    """NumPy, or what has its functions for such arrays."""
    return np if isinstance(array, np.ndarray) else sys.modules["cupy"]


def on_host(array: Array) -> NDArray[Any]:
    """The array itself, or a copy in the host's memory."""
    host: NDArray[Any] = array if isinstance(array, np.ndarray) else array.get()
    return host


def out_of_memory(device: Device, error: BaseException) -> DeviceMemoryError | None:
    """What to raise in place of an error that says that the device's memory is full; None for any other."""
    if isinstance(error, DeviceMemoryError):
        return error
    if type(error).__name__ != "OutOfMemoryError" and not isinstance(error, MemoryError):
        return None
    what = str(error).rstrip(".")
    return DeviceMemoryError(
        f"the memory of {keyword('device', device.name)} is full: {what}. Let more of it be taken ({keyword('device_memory')}), or "
        f"use {keyword('device', 'cpu')}"
    )
