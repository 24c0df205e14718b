"""Messages of `treelet.device`: choosing a device, its memory and its limits."""

from __future__ import annotations

CLIENT_OR_DEVICE = "client= and device='emulated' cannot be combined"
INSTALL_CUPY = r"pip install 'treelet\[cuda\]'"
USE_THE_CPU = "device='cpu'"
NEEDS_CUPY = (
    rf"needs CuPy, which (is not installed|cannot be imported \(.*\))\. "
    rf"Install it with {INSTALL_CUPY}, or use {USE_THE_CPU}\."
)
MEMORY_IS_FOR_CUDA = "device_memory= requires device='cuda'"
NO_GPU_FOUND = r"needs an NVIDIA GPU, but CuPy does not find one \(.*\)\. Use device='cpu'\."
SCALE_THE_FEATURES_DOWN = "is too large for a float64. Scale the features down"
BYTES_OF_VALUES = "is full: the values take .* bytes"
MEMORY_OPTION_IS_FOR_CUDA = "--device-memory requires --device cuda"


def is_full(device: str) -> str:
    return f"device='{device}' is full"


def out_of_memory(device: str) -> str:
    return (
        rf"The memory of {is_full(device)}: Out of memory allocating 7 bytes\. "
        f"Increase device_memory= if it is set, or use {USE_THE_CPU}"
    )


def takes(size: str) -> str:
    return f"take {size} of working memory, .* Use {USE_THE_CPU}"


def no_code_for(kernel: str) -> str:
    return f"{kernel} cannot be computed with device='emulated'. One CPU thread computes"
